"""ADR 0172 on paper, what it costs, and BM25 in its place (A03, A06, A11, A12, A20, A21, A23)."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import combinations
from math import log10
from statistics import median
from typing import Any

from records.adr_0172.incident import FIRST, SECOND, TITLE
from records.subjects import Incident, incident, size_of
from workbench.analysis.ledger.run import Run
from workbench.analysis.ledger.verdict import INCONCLUSIVE, Measured, returns
from workbench.bm25 import K1, B, idf, relative_length_for, term_weight
from workbench.retrieval.channels import SEMANTIC_LIMIT
from workbench.retrieval.fusions import rrf
from workbench.retrieval.variant import variant
from workbench.types import PointId, Ranking, Result

# ---- On paper ----

N = 384_885
DF = {"meeting": 1_180, "2026": 34_395, "11": 34_860, "09": 18_735, "58": 11_300}
TARGET_SCORE, BEST_RETURNED_SCORE, EIGHTH_SCORE = 11.65, 4.73, 0.0199
COUNT_MS, SEARCH_SECONDS = 16, {"title": 2.1, "notes": 1.2}
"""The record's figures, as it states them (Context, Consequences): a count takes at most 16 ms."""

PAPER = "arithmetic on the record's own figures"


@returns(
    "idf_sum_natural",
    "idf_sum_base_10",
    "meeting_score",
    "best_returned_score",
    "meeting_length",
    "best_returned_length",
)
def lexical_scores(run: Run) -> Measured:
    """A03: no plain IDF sum gives 11.65; BM25 gives it and 4.73 at plausible lengths. A reading, not a proof."""

    def length(score: float, terms: list[tuple[int, int]]) -> float | None:
        return relative_length_for(score, N, terms)

    once, twice = ([(d, n if t == "11" else 1) for t, d in DF.items()] for n in (1, 2))
    other = {
        " + ".join(held): found
        for size in (1, 2)
        for held in combinations(DF, size)
        if (found := length(BEST_RETURNED_SCORE, [(DF[t], 1) for t in held])) and 1 <= found <= 1.7
    }
    lengths = {
        "11 once": round(length(TARGET_SCORE, once), 3),
        "11 twice": round(length(TARGET_SCORE, twice), 3),
    }

    def score(terms: list[tuple[int, int]], at: float) -> float:
        return round(sum(term_weight(N, df, tf, at) for df, tf in terms), 2)

    return Measured(
        {
            "idf_sum_natural": round(sum(idf(N, d) for d in DF.values()), 2),
            "idf_sum_base_10": round(sum(log10(N / d) for d in DF.values()), 2),
            "meeting_score": score(once, lengths["11 once"]),
            "best_returned_score": score(
                [(DF["2026"], 1), (DF["11"], 1)], other.get("2026 + 11", 0)
            ),
            "meeting_length": lengths,
            "best_returned_length": {held: round(found, 2) for held, found in other.items()},
        },
        PAPER,
        "The record states no formula. Okapi BM25 (k1 1.2, b 0.75, corpus-wide frequencies) gives "
        "11.65 for a chunk "
        f"of {lengths['11 once']} or {lengths['11 twice']} average lengths, and 4.73 in "
        f"{len(other)} readings between "
        "1 and 1.7: an inference. The source's scoring function would decide it.",
        INCONCLUSIVE,
    )


@returns(
    "first_in_one_list",
    "last_rank_in_both_that_beats_it",
    "pairs_of_the_eighth_score",
    "nearest_pair",
)
def fusion_arithmetic(run: Run) -> Measured:
    """A06: by the workbench's own fusion, which ranks in two lists beat a single first place."""
    ids = tuple(range(256))
    one = Ranking("lexical", ids, tuple(256.0 - i for i in ids))
    single = rrf()([one]).ranking.scores
    both = rrf()([one, Ranking("semantic", ids, one.scores)]).ranking.scores
    pairs = [
        (a, b) for a in ids for b in ids[a:] if round(single[a] + single[b], 4) == EIGHTH_SCORE
    ]
    nearest = min(pairs, key=lambda p: p[1] - p[0])
    return Measured(
        {
            "first_in_one_list": round(single[0], 4),
            "last_rank_in_both_that_beats_it": sum(s > single[0] for s in both),
            "pairs_of_the_eighth_score": len(pairs),
            "nearest_pair": [n + 1 for n in nearest],
        },
        PAPER,
        f"{EIGHTH_SCORE} is the rounded score of {len(pairs)} pairs of ranks within 256.",
    )


# ---- What it costs ----

REPEATS = 15
CAPS = tuple(64 * 2**i for i in range(11))
SAFE = 0.95


@returns({"after_over_before": [TITLE, SECOND]}, "share_of_counts", "median_ms")
def time_before_and_after(run: Run) -> Measured:
    """A11: seconds of a search after over before, interleaved in one run, and the share of the counts in it."""
    at = incident(run)
    ratios, shares, milliseconds = {}, {}, {}
    for name in (TITLE, SECOND):
        seconds: dict[str, list[float]] = {"adr_0005": [], "adr_0172": []}
        counting: list[float] = []
        for _ in range(REPEATS):
            for v in seconds:
                start = time.perf_counter()
                result = at.search(name, v)
                seconds[v].append(time.perf_counter() - start)
                if v == "adr_0172":
                    counting.append(counting_seconds(result) / seconds[v][-1])
        ratios[name] = round(median(seconds["adr_0172"]) / median(seconds["adr_0005"]), 3)
        shares[name] = round(median(counting), 4)
        milliseconds[name] = {v: round(median(s) * 1e3, 1) for v, s in seconds.items()}
    return Measured(
        {"after_over_before": ratios, "share_of_counts": shares, "median_ms": milliseconds},
        at.where,
        "The record's searches (2.1 s and 1.2 s) were dominated by other stages over loopback "
        "HTTP; here the "
        "engine is in the process, so the same extra calls are a larger part of a much shorter "
        "search.",
        timing=("median_ms",),
        timing_ratios=("after_over_before", "share_of_counts"),
    )


@returns(
    "points_with_any_term",
    "found_from_cap",
    "commonest_term",
    "bytes_at_that_cap_over_bytes_at_256",
)
def cap_sweep(run: Run) -> Measured:
    """A12: with which cap ADR 0005's order reaches the meeting, and the payload read at each cap."""
    at = incident(run)
    terms = at.collection.stores.tokenizer.query_terms(at.queries[TITLE].text)
    union, place = at.collection.stores.points.count(terms, "any", {}), place_by_id(at, terms)
    rows = []
    for cap in sorted({*(c for c in CAPS if c < union), place - 1, place, union}):
        result = at.search(TITLE, variant("adr_0005", cap=cap))
        rows.append(
            {
                "cap": cap,
                "found": at.target in result.evidence["lexical"].ids,
                "rank": result.rank_of(at.target),
                "payload_bytes": sum(s.bytes for s in result.calls("scroll")),
            }
        )
    needed = min((r["cap"] for r in rows if r["found"]), default=None)
    payload = {r["cap"]: r["payload_bytes"] for r in rows}
    common = max(at.collection.stores.catalog.df(terms).values())
    ratio = needed and round(payload[needed] / payload[256], 1)
    return Measured(
        {
            "points_with_any_term": union,
            "found_from_cap": needed,
            "commonest_term": common,
            "bytes_at_that_cap_over_bytes_at_256": ratio,
        },
        at.where,
        f"The choice is by point id up to the whole union of {union:,} points, more than the "
        f"{common:,} of the "
        "commonest term here.",
        data=rows,
    )


@returns("record_share", "counts_of_seven_terms", "share_of_eight_terms", "embedded")
def counts_share(run: Run) -> Measured:
    """A21: the share of the counts by the record's milliseconds, and in the embedded engine."""
    at = incident(run)
    made = {q: len(at.search(q, "adr_0172").calls("count")) for q in (TITLE, SECOND)}
    paper = {q: round(n * COUNT_MS / 1e3 / SEARCH_SECONDS[q], 4) for q, n in made.items()}
    embedded = {}
    for name, v in (
        ("exact", "adr_0172"),
        ("approximate", "counts_approximate"),
        ("rarest three", "counts_rarest"),
    ):
        results = [at.search(SECOND, v) for _ in range(REPEATS)]
        share = round(median(counting_seconds(r) / r.seconds for r in results), 4)
        embedded[name] = {"share": share, "rank": results[0].rank_of(at.target)}
    return Measured(
        {
            "record_share": max(paper.values()),
            "counts_of_seven_terms": made[SECOND],
            "share_of_eight_terms": round(8 * COUNT_MS / 1e3 / SEARCH_SECONDS[SECOND], 4),
            "embedded": embedded,
        },
        f"the record's milliseconds, counts from the trace of {at.where}",
        "By the record's figures 7 terms stay under a tenth of a search and 8 can cross it. The "
        "embedded share is "
        "another engine's: shown, not compared. Parallel counts need a server.",
        timing_ratios=("embedded.*.share",),
    )


@returns(
    "found_at_this_size", "found_at_the_size_that_is_safe", "lost_for_half_from", "still_safe_to"
)
def size_curve(run: Run) -> Measured:
    """A23: whether the cap of 256 loses the meeting here, and from which size on, for random smaller collections."""
    from scipy.stats import hypergeom

    at = incident(run)
    terms = at.collection.stores.tokenizer.query_terms(at.queries[TITLE].text)
    n, cap = at.collection.stores.catalog.n, at.spec.limits.lexical
    before = place_by_id(at, terms) - 1

    def found(size: int) -> float:
        # The meeting is read when fewer than `cap` any-term points of the sample come before it by id.
        return float(hypergeom.cdf(cap - 1, n - 1, before, size - 1))

    sizes = sorted({int(round(n ** (i / 60))) for i in range(30, 61)} | {n})
    half, safe = (first_below(found, level, n) for level in (0.5, SAFE))
    read = at.search(TITLE, "adr_0005").evidence["lexical"].ids
    return Measured(
        {
            "found_at_this_size": at.target in read,
            "found_at_the_size_that_is_safe": found(safe - 1) >= SAFE,
            "lost_for_half_from": half,
            "still_safe_to": safe - 1,
        },
        at.where,
        f"Random subsets that keep the meeting: {before:,} points with any term come before it by "
        "id; the chance to "
        f"draw fewer than {cap} of them is computed, not simulated. Lost for half from: the "
        "smallest size at which "
        f"half of the subsets lose it. Still safe to: the largest at which {SAFE:.0%} of them "
        "read it.",
        data=[{"size": s, "found": found(s)} for s in sizes if s > 1],
    )


def counting_seconds(result: Result) -> float:
    return sum(s.seconds for s in result.calls("count"))


def place_by_id(at: Incident, terms: list[str]) -> int:
    """The meeting's place, 1-based, among the points with any term in point-id order."""
    points = at.collection.stores.points.scroll(
        terms, "any", {}, at.collection.stores.catalog.n, fields=()
    )
    return next(place for place, p in enumerate(points, 1) if p.id == at.target)


def first_below(found: Callable[[int], float], level: float, most: int) -> int:
    """The smallest size at which the chance falls below a level; `most` + 1 where it never does."""
    if found(most) >= level:
        return most + 1
    return bisect_left(range(most + 1), True, lo=2, key=lambda size: found(size) < level)


# ---- BM25 in its place ----

VARIANTS = ("two_lists", "adr_0172", "bm25_order", "bm25_ranking", "bm25_engine", "bm25_fields")
LENGTHS = (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 12, 15)
"""The target's length in average lengths."""

SPARSE_SIZES = {"full": 20_000, "small": 5_000, "tiny": 5_000}
"""Memories of the replica that has sparse vectors too, by the run's size."""


@returns(
    "rank",
    "sparse_rank",
    {"title_kept_by": ["bm25_order", "bm25_ranking"]},
    "title_lost_from_length",
)
def first_condition(run: Run) -> Measured:
    """A20: what BM25 in place of candidate order and third list does to the incident, and from which length on."""
    at, sparse_size = incident(run), SPARSE_SIZES[size_of(run)]
    ranks = {v: at.search(TITLE, v).rank_of(at.target) for v in VARIANTS}
    rows = length_sweep(at)
    lost = {
        kind: next((r["length"] for r in rows if r["scoring"] == kind and not r["found"]), None)
        for kind in ("plain", "fields")
    }
    sparse = incident(run, size=sparse_size, sparse=True)
    kept = {v: ranks[v] is not None and ranks[v] <= FIRST for v in ("bm25_order", "bm25_ranking")}
    return Measured(
        {
            "rank": ranks,
            "sparse_rank": {
                v: sparse.search(TITLE, v).rank_of(sparse.target)
                for v in ("bm25_sparse", "bm25_ranking")
            },
            "title_kept_by": kept,
            "title_lost_from_length": lost,
        },
        at.where,
        "Lengths are in average lengths of the replica; the target's score is computed at each "
        "length against the "
        "frozen scores of all other rows, two lists, first eight; – where every length keeps it. "
        "“plain” is BM25 over "
        "one field, “fields” over title and content. Sparse vectors: a replica of "
        f"{sparse_size:,} memories.",
        data=rows,
    )


def length_sweep(at: Incident) -> list[dict[str, Any]]:
    """The fused rank of the target at each length, its lexical rank by plain BM25 and by BM25 over fields."""
    catalog, tokenizer = at.collection.stores.catalog, at.collection.stores.tokenizer
    times = Counter(terms := tokenizer.terms(at.queries[TITLE].text))
    semantic = next(r for r in at.search(TITLE, "two_lists").lists if r.name == "semantic")
    chunk = at.of([at.target])[0]
    text, title = tokenizer.terms(chunk.text), tokenizer.terms(chunk.title)
    tf, title_tf = ({t: words.count(t) for t in terms} for words in (text, title))
    title_length = len(title) / catalog.sql("SELECT title_avgdl FROM corpus").item()
    rows = []
    for kind in ("plain", "fields"):
        top = catalog.bm25_top if kind == "plain" else catalog.bm25_fields_top
        others = [(i, s) for i, s in top(terms, {}, catalog.n) if i != at.target]
        for length in LENGTHS:
            if kind == "plain":
                df = catalog.df(terms)
                score = sum(
                    times[t] * term_weight(catalog.n, df[t], n, length) for t, n in tf.items()
                )
            else:
                score = fields_score(catalog, times, tf, title_tf, title_length, length)
            rank = 1 + bisect_left([-s for _, s in others], -score)
            fused = fused_rank(others, rank, at.target, semantic)
            found = fused is not None and fused <= FIRST
            rows.append(
                {
                    "scoring": kind,
                    "length": length,
                    "lexical_rank": rank,
                    "fused_rank": fused,
                    "found": found,
                }
            )
    return rows


def fields_score(
    catalog: Any,
    times: Mapping[str, int],
    tf: dict[str, int],
    title_tf: dict[str, int],
    title_length: float,
    length: float,
    title_weight: float = 3.0,
) -> float:
    """BM25F of the same chunk: its title keeps its own length while the content grows; `times` as in the query."""
    held = catalog.sql(
        "SELECT term, either_df FROM dict WHERE term IN (SELECT unnest($t::VARCHAR[]))",
        {"t": list(tf)},
    )
    df, total = dict(held.rows()), 0.0
    for term, n in tf.items():
        weighed = n / (1 - B + B * length) + title_weight * title_tf.get(term, 0) / (
            1 - B + B * title_length
        )
        total += times[term] * idf(catalog.n, df[term]) * weighed * (K1 + 1) / (weighed + K1)
    return total


def fused_rank(
    others: list[tuple[PointId, float]], rank: int, target: PointId, semantic: Ranking
) -> int | None:
    """The target's rank by RRF of the semantic list and a lexical list that has it at `rank`."""
    lexical = others[:SEMANTIC_LIMIT]
    if rank <= SEMANTIC_LIMIT:
        score = others[rank - 1][1] if rank <= len(others) else 0.0
        lexical = [*others[: rank - 1], (target, score), *others[rank - 1 : SEMANTIC_LIMIT - 1]]
    return (
        rrf()([Ranking("lexical", *map(tuple, zip(*lexical, strict=True))), semantic])
        .ranking.ranks()
        .get(target)
    )
