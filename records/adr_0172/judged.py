"""ADR 0172 on judged queries: titles and ordinary questions (A13 to A16, A22)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from records.subjects import JUDGED, Incident, incident, judged, loaded, size_of, titles_of
from workbench.analysis import known_items
from workbench.analysis.comparison import Comparison, compare
from workbench.analysis.judged import Judged, judge
from workbench.analysis.run import Run
from workbench.analysis.runs import VariantRuns, run_variants
from workbench.analysis.verdict import NOT_MEASURABLE, Measured, returns
from workbench.retrieval.fusions import single
from workbench.retrieval.policies import CANDIDATE_CAP
from workbench.retrieval.search import Collection
from workbench.retrieval.variant import Variant, variant
from workbench.sources.source import JudgedQuery
from workbench.text import verbatim_key
from workbench.types import Query, content_hash

TITLES_METRIC, QUESTIONS_METRIC = "Success@1", "nDCG@10"
"""What alternatives are compared by: a title has one document, a question may have many."""

METRICS = ("nDCG@10", "R@100", "RR", "Success@1", "Success@8")
ALTERNATIVES = (
    "adr_0005", "adr_0172", "two_lists", "third_list_all_terms", "verbatim_outright", "verbatim_weighted",
    "verbatim_titles", "bm25_order", "bm25_ranking", "bm25_engine", "bm25_fields",
)  # fmt: skip
QUERIES = {"full": 400, "small": 60, "tiny": 30}
"""Queries asked of each set, chosen by hash, by the run's size: 400 resolve about two points of success@8."""

WEIGHTS = (0.0, 0.25, 0.5, 1.0, 2.0)


def with_single_lists() -> list[Variant]:
    """Every alternative, and each single list of ADR 0172 as a variant of its own."""
    base = variant("adr_0172")
    lone = [
        base.replace(name=f"{name} list alone", fusion=single(name=name), derived=(), source="one list",
                     **{other: None for other in ("lexical", "semantic") if other != name})
        for name in ("lexical", "semantic")
    ]  # fmt: skip
    return [*map(variant, ALTERNATIVES), *lone]


class Trial:
    """A judged query set run through every alternative: rankings, costs and the comparison against ADR 0172."""

    def __init__(self, name: str, collection: Collection, judged_set: Judged, ran: VariantRuns, seed: int) -> None:
        self.name, self.collection, self.judged, self.ran = name, collection, judged_set, ran
        others = [v for v in ran.runs if v not in ("adr_0005", "adr_0172")]
        pairs = [("adr_0005", "adr_0172"), *(("adr_0172", v) for v in others)]
        self.comparison: Comparison = compare(ran.runs, judged_set, METRICS, seed=seed, pairs=pairs)

    def differ(self, a: str, b: str, first: int = 8) -> int:
        """How many queries have another first page."""
        return sum(self.ran.runs[a][q][:first] != self.ran.runs[b][q][:first] for q in self.judged.ids)


def question_trials(run: Run) -> tuple[dict[str, Trial], list[str]]:
    """Ordinary questions: one trial for each judged collection that is there, and why the others are not."""

    def make() -> tuple[dict[str, Trial], list[str]]:
        trials, absent = {}, []
        for archive in JUDGED:
            collection = judged(run, archive)
            if isinstance(collection, str):
                absent.append(collection)
            else:
                catalog = collection.stores.catalog
                asked = judge(chosen(run, catalog.queries()), catalog.qrels())
                trials[archive] = _trial(run, archive, collection, asked)
        return trials, absent

    return run.once("question trials", make)


def title_trials(run: Run) -> tuple[dict[str, Trial], list[str]]:
    """Known items: titles of each collection as queries for their documents, and why a collection is not there."""

    def make() -> tuple[dict[str, Trial], list[str]]:
        trials, absent = {}, []
        for name, collection in titles_of(run).items():
            if isinstance(collection, str):
                absent.append(collection)
            else:
                items = known_items.titles(known_items.chunks_of(collection.stores.catalog), limit=_limit(run), seed=run.seed)
                trials[name] = _trial(run, name, collection, items.judged())
        return trials, absent

    return run.once("title trials", make)


def chosen(run: Run, queries: Sequence[JudgedQuery]) -> list[JudgedQuery]:
    """At most the run's number of queries, those with the smallest hash of seed and id, in their own order."""
    kept = set(sorted((q.id for q in queries), key=lambda i: content_hash(run.seed, i))[: _limit(run)])
    return [q for q in queries if q.id in kept]


def _limit(run: Run) -> int:
    return QUERIES[size_of(run)]


def _trial(run: Run, name: str, collection: Collection, judged_set: Judged) -> Trial:
    return Trial(name, collection, judged_set, run_variants(collection, judged_set.queries, with_single_lists()), run.seed)


@returns("first_pages_that_differ_from_two_lists", "reorders_ordinary_questions")
def third_list_of_all_terms(run: Run) -> Measured:
    """A13: a third list of all-terms points, on titles and on questions: how often it reorders, what it gains."""
    return _alternative(run, "third_list_all_terms", "reorders_ordinary_questions")


@returns(
    "best_semantic_answer_adr_0172",
    "best_semantic_answer_outright",
    "every_verbatim_row_above_the_best_semantic_answer",
    "first_pages_that_differ_from_two_lists",
    "phrase",
    "reorders_ordinary_questions",
    "verbatim_rows",
    "verbatim_rows_above_it",
)
def verbatim_first_outright(run: Run) -> Measured:
    """A14: verbatim matches first, outright: a short common phrase on the incident, and real questions and titles."""
    phrase = common_phrase(incident(run))
    measured = _alternative(run, "verbatim_outright", "reorders_ordinary_questions")
    return Measured(
        {"every_verbatim_row_above_the_best_semantic_answer": phrase["verbatim_rows_above_it"] == phrase["verbatim_rows"],
         **{k: v for k, v in phrase.items() if k != "on"}, **measured.value},
        f"{phrase['on']}; {measured.where}", measured.note,
    )  # fmt: skip


def common_phrase(at: Incident, phrase: str = "error handling") -> dict[str, Any]:
    """The record's example of a short common phrase: where does the best semantic answer that does not hold it land?"""
    outright, fused = (at.search(Query(phrase), v) for v in ("verbatim_outright", "adr_0172"))
    rows = set(next(r for r in outright.lists if r.name == "verbatim").ids)
    best = next(i for i in next(r for r in outright.lists if r.name == "semantic").ids if i not in rows)
    rank = outright.rank_of(best)
    return {
        "phrase": phrase, "on": at.where, "verbatim_rows": len(rows),
        "verbatim_rows_above_it": sum(i in rows for i in outright.fused.ids[: rank - 1]),
        "best_semantic_answer_outright": rank, "best_semantic_answer_adr_0172": fused.rank_of(best),
    }  # fmt: skip


def verbatim_queries(run: Run) -> Measured:
    """A15: how many benchmark queries stand verbatim in their corpus; rankings of the others are untouched."""
    trials, absent = question_trials(run)
    if not trials:
        return Measured(None, "judged collections", verdict=NOT_MEASURABLE, note="; ".join(absent))
    value, equal = {}, []
    for name, trial in trials.items():
        held = standing_verbatim(trial.collection, {q.id: q.text for q in trial.judged.queries})
        others = [q for q in trial.judged.ids if not held[q]]
        equal.append(all(trial.ran.runs["adr_0172"][q] == trial.ran.runs["two_lists"][q] for q in others))
        value[name] = {"queries": len(held), "verbatim": sum(held.values())}
    return Measured({"by_collection": value, "others_are_untouched": all(equal)}, _where(trials),
                    "The record's own benchmark (46 queries) is not public. " + "; ".join(absent))  # fmt: skip


def standing_verbatim(collection: Collection, texts: Mapping[str, str]) -> dict[str, bool]:
    """For each text, whether it stands verbatim in any chunk (case and runs of white space ignored)."""
    needles = {i: verbatim_key(Query(t).normalised) for i, t in texts.items()}
    found = dict.fromkeys(texts, False)
    for batch in collection.stores.catalog.texts():
        for _, text in batch:
            haystack = verbatim_key(text)
            for i, needle in needles.items():
                if not found[i] and needle in haystack:
                    found[i] = True
    return found


def benchmark_effect(run: Run) -> Measured:
    """A16: the effect on benchmark scores that the record left unmeasured, with interval and paired test."""
    trials, absent = question_trials(run)
    if not trials:
        return Measured(None, "judged collections", verdict=NOT_MEASURABLE, note="; ".join(absent))
    rows = {n: t.comparison.pair("adr_0005", "adr_0172", "nDCG@10") for n, t in trials.items()}
    small = [n for n, t in trials.items() if t.collection.stores.catalog.n <= CANDIDATE_CAP]
    said = [f"{n}: {t.comparison.sentence('adr_0005', 'adr_0172', m)}." for n, t in trials.items() for m in METRICS[:3]]
    if small:
        said.append(f"No cap of {CANDIDATE_CAP} can cut in {', '.join(small)}: it holds no more chunks.")
    return Measured(
        {"lowers_ndcg": any(r["high"] is not None and r["high"] < 0 for r in rows.values()),
         "ndcg_before_after": {n: [round(r["value_a"], 4), round(r["value_b"], 4)] for n, r in rows.items()}},
        _where(trials), " ".join([*said, *absent]),
    )  # fmt: skip


def pushed_out(run: Run) -> Measured:
    """A22: do verbatim matches push better answers out for ordinary questions? Real sets, and a planted worst case."""
    trials, absent = question_trials(run)
    if not trials:
        return Measured(None, "judged collections", verdict=NOT_MEASURABLE, note="; ".join(absent))
    lowers = {}
    for name, trial in trials.items():
        row = trial.comparison.pair("adr_0172", "two_lists", "Success@8")
        lowers[name] = row["low"] is not None and row["low"] > 0
    planted = planted_worst_case(run)
    return Measured(
        {"pushes_answers_out_of_real_questions": any(lowers.values()), "planted": planted}, _where(trials),
        "Planted: each question stands verbatim in an unanswered chat line of the same collection, the worst case; "
        f"real questions hardly ever stand verbatim (A15). {'; '.join(absent)}",
    )  # fmt: skip


def planted_worst_case(run: Run) -> dict[str, Any] | str:
    """Success@8 and RR of the third list's weights where every question stands verbatim somewhere irrelevant."""
    import json

    from workbench.settings import home

    base = judged(run, "xquad-ro-en")
    if isinstance(base, str):
        return base
    catalog = base.stores.catalog
    by_document = {r.entity_id: r.query_id for r in reversed(catalog.qrels())}
    asked = {q.id: q for q in catalog.queries()}
    planted = [asked[q] for _, q in sorted(by_document.items())]
    path = home() / "made" / "planted-questions.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [{"id": c.entity_id, "title": c.title, "text": c.text} for c in known_items.chunks_of(catalog)()]
    rows += [{"id": f"chat-{q.id}", "title": "", "text": f"Chat, unanswered: {q.text} Nobody knew, asked again next week."} for q in planted]
    path.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    collection = loaded(run, "planted-questions", str(path))
    judged_set = judge(planted, [r for r in catalog.qrels() if r.query_id in {q.id for q in planted}])
    swept = [variant("verbatim_weighted", weight=w).replace(name=f"weight {w:g}") for w in WEIGHTS]
    ran = run_variants(collection, planted, [*swept, "verbatim_titles", "verbatim_outright"])
    compared = compare(ran.runs, judged_set, ("Success@1", "Success@8", "RR"), seed=run.seed, pairs=[])
    table: dict[str, dict[str, float]] = {}
    for row in compared.per_variant.to_dicts():
        table.setdefault(row["variant"], {})[row["metric"]] = round(row["value"], 4)
    return table


def _alternative(run: Run, name: str, flag: str) -> Measured:
    """What an alternative does to first pages of questions and titles, and its difference from ADR 0172."""
    questions, absent = question_trials(run)
    titles, absent_titles = title_trials(run)
    sets = [(n, t, QUESTIONS_METRIC) for n, t in questions.items()] + [(n, t, TITLES_METRIC) for n, t in titles.items()]
    differ = {n: t.differ("two_lists", name) for n, t, _ in sets}
    note = " ".join(f"{n}: {t.comparison.sentence('adr_0172', name, m)}." for n, t, m in sets)
    value = {flag: any(differ[n] for n in questions), "first_pages_that_differ_from_two_lists": differ}
    where = _where({**questions, **titles})
    if not questions:
        return Measured(value, where, verdict=NOT_MEASURABLE, note="; ".join(absent))
    few = pages_text({n: (differ[n], len(t.judged.ids)) for n, t in questions.items()})
    return Measured(value, where, " ".join([few, note, *absent, *absent_titles]))


def pages_text(differ: Mapping[str, tuple[int, int]]) -> str:
    """On how many first pages of ordinary questions something differs, in all and by set. Values: (differ, asked)."""
    each = ", ".join(f"{d} of {n} in {name}" for name, (d, n) in differ.items())
    changed, asked = (sum(pair[i] for pair in differ.values()) for i in (0, 1))
    return f"The first page differs from two lists on {changed} of {asked} ordinary questions ({each})."


def _where(trials: Mapping[str, Trial]) -> str:
    return "; ".join(f"{n}, {len(t.judged.ids)} queries, {t.collection.stores.catalog.n:,} chunks" for n, t in trials.items())

