"""ADR 0172's incident, measured on its replica (A01, A02, A04, A05, A07 to A10)."""

from __future__ import annotations

from typing import Any

from records.adr_0172.spread import SEED_SIZE, seed_range
from records.subjects import Incident, full_size, incident
from workbench.analysis.run import Run
from workbench.analysis.verdict import NOT_MEASURABLE, Measured, returns
from workbench.types import Query, Result

TITLE, SECOND = "title", "notes"
"""The incident's two queries by their id in data/incidents/adr-0172.toml."""

DEEP = 50
"""The record looked at the first 50."""


@returns("memories", "qdrant_counts_agree", "terms")
def collection_counts(run: Run) -> Measured:
    """A01: the replica's size and the exact counts of the five terms, in DuckDB and in Qdrant."""
    at = incident(run)
    terms = at.collection.stores.tokenizer.query_terms(at.queries[TITLE].text)
    df = at.collection.stores.catalog.df(terms)
    engine = {t: at.collection.stores.points.count([t], "all", {}) for t in terms}
    value = {"memories": at.collection.stores.catalog.n, "terms": [df.get(t, 0) for t in terms],
             "qdrant_counts_agree": engine == {t: df.get(t, 0) for t in terms}}  # fmt: skip
    if not full_size(run):
        return Measured(value, at.where, verdict=NOT_MEASURABLE, note="This run built a smaller replica; the full size has the record's counts.")
    return Measured(value, at.where, f"terms in the order {', '.join(terms)}")


@returns("candidates", "first_eight_from_another_project", "target_among_candidates")
def first_by_id(run: Run) -> Measured:
    """A02: ADR 0005's candidates do not hold the meeting, and its first eight come from other projects."""
    at = incident(run)
    result = at.search(TITLE, "adr_0005")
    own = at.spec.target.project
    projects = [c.facets.project for c in at.of(h.id for h in result.hits)]
    candidates = result.evidence["lexical"].ids
    return Measured(
        {"target_among_candidates": at.target in candidates, "candidates": len(candidates),
         "first_eight_from_another_project": all(p != own for p in projects)},
        at.where, f"The first eight come from {', '.join(sorted({str(p) for p in projects}))}; the meeting is in {own}.",
    )  # fmt: skip


@returns("in_semantic_256", "true")
def semantic_absence(run: Run) -> Measured:
    """A04: the semantic channel does not hold the meeting among its 256; its true rank by an exact query."""
    at = incident(run)
    stores = at.collection.stores
    ranks = {}
    for name, query in at.queries.items():
        vector = stores.embedder.embed_query(query.normalised)
        rank, score = stores.catalog.true_rank(vector, at.target, query.filters)
        ranks[name] = {"rank": rank, "cosine": round(float(score), 4)}
    chunk = at.of([at.target])[0]
    cut = stores.embedder.truncated([chunk.text])
    return Measured(
        {"in_semantic_256": ranks[TITLE]["rank"] <= 256, "true": ranks},
        at.where,
        f"The target's first chunk has {len(chunk.text):,} characters"
        + ("; the model's token limit cuts its end off." if cut else "; the model reads it whole."),
    )


@returns("eighth_score", "lexical_rank", "over_seeds", "rank")
def two_lists_rank(run: Run) -> Measured:
    """A05: with the candidates fixed and two lists the meeting is found and stays outside the first eight."""
    at = incident(run)
    result = at.search(TITLE, "two_lists", limit=DEEP)
    rows = rows_above(at, result)
    lexical_rank = next(r for r in result.lists if r.name == "lexical").ranks().get(at.target)
    rank = result.rank_of(at.target)
    eighth = result.fused.scores[7]
    return Measured(
        {"rank": rank, "lexical_rank": lexical_rank, "eighth_score": round(eighth, 4),
         "over_seeds": seed_range(run, TITLE, "two_lists")},
        at.where,
        f"The record's rank is 25 on its own corpus. {len(rows)} rows stand above; {sum(r['semantic'] is not None for r in rows)} "
        "of them stand in both lists. The target stands in the lexical list alone. "
        f"Over seeds: other replicas of {SEED_SIZE:,} memories, which tell how far chance moves a rank; size shifts it too.",
        data=rows,
    )  # fmt: skip


@returns("in_semantic_list", "rank", "score")
def three_lists_rank(run: Run) -> Measured:
    """A07: with all three lists the meeting is first, with the score of two first places."""
    at = incident(run)
    result = at.search(TITLE, "adr_0172", limit=DEEP)
    ranks = {r.name: r.ranks().get(at.target) for r in result.lists}
    return Measured(
        {"rank": result.rank_of(at.target), "score": round(result.fused.scores[0], 4), "in_semantic_list": ranks["semantic"] is not None},
        at.where, f"Per-list ranks of the meeting: {told(ranks)}. 2/61 = {2 / 61:.4f}.",
        data=per_list_ranks(at, result),
    )  # fmt: skip


@returns("in_first_50", "rank")
def absent_before(run: Run) -> Measured:
    """A08: before, the meeting was absent from the first 50."""
    at = incident(run)
    result = at.search(TITLE, "adr_0005", limit=DEEP)
    rank = result.rank_of(at.target)
    return Measured({"in_first_50": rank is not None and rank <= DEEP, "rank": rank}, at.where)


@returns("in_first_50_before", "over_seeds", "rank", "rows_in_verbatim_list", "spellings_agree")
def second_query(run: Run) -> Measured:
    """A09: terms without the phrase find the meeting by the lexical list alone; no third list takes part."""
    at = incident(run)
    before, after = (at.search(SECOND, v, limit=DEEP) for v in ("adr_0005", "adr_0172"))
    text = at.queries[SECOND].text
    cedilla = text.translate(str.maketrans("șțȘȚ", "şţŞŢ"))
    plain = text.replace("ședință", "sedinta")
    # The vectors of other spellings differ; the terms, and so the lexical list, must not.
    lexical = {t: at.search(Query(t, mode="lexical"), "adr_0172").fused.ids for t in (text, cedilla, plain)}
    rank = after.rank_of(at.target)
    rank_before = before.rank_of(at.target)
    return Measured(
        {"rank": rank, "in_first_50_before": rank_before is not None and rank_before <= DEEP,
         "rows_in_verbatim_list": len(next(r for r in after.lists if r.name == "verbatim")),
         "spellings_agree": len(set(lexical.values())) == 1, "over_seeds": seed_range(run, SECOND, "adr_0172")},
        at.where, "The record's rank is 29 on its own corpus.",
        data=per_list_ranks(at, after),
    )  # fmt: skip


@returns(
    {"1 term": ["counts", "payload_bytes", "scrolls"]},
    {"2 terms": ["counts", "payload_bytes", "scrolls"]},
    {"5 terms": ["counts", "payload_bytes", "scrolls"]},
)
def engine_calls(run: Run) -> Measured:
    """A10: scrolls, exact counts and payload bytes of a hybrid search with 1, 2 and 5 terms, before and after."""
    at = incident(run)
    texts = {"1 term": "meeting", "2 terms": "meeting 58", "5 terms": at.queries[TITLE].text}
    value: dict[str, Any] = {}
    for label, text in texts.items():
        before, after = (at.search(Query(text), v) for v in ("adr_0005", "adr_0172"))
        value[label] = {
            "scrolls": [len(before.calls("scroll")), len(after.calls("scroll"))],
            "counts": [len(before.calls("count")), len(after.calls("count"))],
            "payload_bytes": [sum(s.bytes for s in r.calls("scroll")) for r in (before, after)],
        }
    return Measured(
        value, at.where,
        "Pairs are before, after. Counts are made while room is left after the points with every term; a scroll asks "
        "for the whole cap, as it cannot leave out what is read already.",
    )  # fmt: skip


def rows_above(at: Incident, result: Result) -> list[dict[str, Any]]:
    """The rows that stand above the target, with their rank in each list."""
    rank = result.rank_of(at.target)
    return per_list_ranks(at, result)[: rank - 1 if rank else None]


def per_list_ranks(at: Incident, result: Result, depth: int = DEEP) -> list[dict[str, Any]]:
    """The first rows of a result: fused rank, score, rank in each list, whether it is the target, project, title."""
    ranks = {r.name: r.ranks() for r in result.lists}
    ids = result.fused.ids[:depth]
    chunks = {c.id: c for c in at.of(ids)}
    return [
        {"rank": place, "score": score, "target": i == at.target, "project": chunks[i].facets.project,
         "title": chunks[i].title, **{n: r.get(i) for n, r in ranks.items()}}
        for place, (i, score) in enumerate(zip(ids, result.fused.scores, strict=False), 1)
    ]  # fmt: skip


def told(ranks: dict[str, int | None]) -> str:
    return ", ".join(f"{n} {r if r is not None else 'absent'}" for n, r in ranks.items())
