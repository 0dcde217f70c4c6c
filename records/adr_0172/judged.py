"""ADR 0172 on judged queries: titles and ordinary questions (A13 to A16, A22)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from records.adr_0172.incident import FIRST, listed
from records.subjects import JUDGED, Incident, incident, judged, loaded, size_of, titles_of
from workbench.analysis.evaluate import known_items
from workbench.analysis.evaluate.comparison import Comparison, compare
from workbench.analysis.evaluate.judged import Judged, judge
from workbench.analysis.evaluate.query_sets import query_set
from workbench.analysis.ledger.run import Run
from workbench.analysis.ledger.verdict import NOT_MEASURABLE, Measured, returns
from workbench.analysis.runs import VariantRuns, run_variants
from workbench.retrieval.fusions import single
from workbench.retrieval.policies import CANDIDATE_CAP
from workbench.retrieval.search import Collection
from workbench.retrieval.variant import Variant, variant
from workbench.sources.base import JudgedQuery
from workbench.text import verbatim_key
from workbench.types import Query, content_hash

TITLES_METRIC, QUESTIONS_METRIC = "Success@1", "nDCG@10"
"""What alternatives are compared by: a title has one document, a question may have many."""

METRICS = ("nDCG@10", "R@100", "RR", "Success@1", "Success@8")
ALTERNATIVES = (
    "adr_0005",
    "adr_0172",
    "two_lists",
    "third_list_all_terms",
    "verbatim_outright",
    "verbatim_weighted",
    "verbatim_titles",
    "bm25_order",
    "bm25_ranking",
    "bm25_engine",
    "bm25_fields",
)
QUERIES = {"full": 400, "small": 60, "tiny": 30}
"""Queries asked of each set, chosen by hash, by the run's size: 400 resolve about two points of success@8."""

PHRASE = "error handling"
"""The record's example of a short common phrase; the replica has it in many chunks."""

WEIGHTS = (0.0, 0.25, 0.5, 1.0, 2.0)


def with_single_lists() -> list[Variant]:
    """Every alternative, and each single list of ADR 0172 as a variant of its own."""
    base = variant("adr_0172")
    lone = [
        base.replace(
            name=f"{name} list alone",
            fusion=single(name=name),
            derived=(),
            source="one list",
            **{other: None for other in ("lexical", "semantic") if other != name},
        )
        for name in ("lexical", "semantic")
    ]
    return [*map(variant, ALTERNATIVES), *lone]


class Trial:
    """A judged query set run through every alternative: rankings, costs and the comparison against ADR 0172."""

    def __init__(
        self, name: str, collection: Collection, judged_set: Judged, ran: VariantRuns, seed: int
    ) -> None:
        self.name, self.collection, self.judged, self.ran = name, collection, judged_set, ran
        others = [v for v in ran.runs if v not in ("adr_0005", "adr_0172")]
        pairs = [("adr_0005", "adr_0172"), *(("adr_0172", v) for v in others)]
        self.comparison: Comparison = compare(ran.runs, judged_set, METRICS, seed=seed, pairs=pairs)

    def differ(self, a: str, b: str, first: int = 8) -> int:
        """How many queries have another first page."""
        return sum(
            self.ran.runs[a][q][:first] != self.ran.runs[b][q][:first] for q in self.judged.ids
        )


def question_trials(run: Run) -> tuple[dict[str, Trial], list[str]]:
    """Ordinary questions: one trial for each judged collection that is there, and why the others are not."""

    def make() -> tuple[dict[str, Trial], list[str]]:
        trials, absent = {}, []
        for archive in JUDGED:
            collection = judged(run, archive)
            if isinstance(collection, str):
                absent.append(collection)
            else:
                asked = query_set(
                    collection, chosen(run, collection.stores.catalog.queries())
                ).judged
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
                items = known_items.titles(
                    known_items.chunks_of(collection.stores.catalog),
                    limit=_limit(run),
                    seed=run.seed,
                )
                trials[name] = _trial(run, name, collection, items.judged())
        return trials, absent

    return run.once("title trials", make)


def chosen(run: Run, queries: Sequence[JudgedQuery]) -> list[JudgedQuery]:
    """At most the run's number of queries, those with the smallest hash of seed and id, in their own order."""
    kept = set(
        sorted((q.id for q in queries), key=lambda i: content_hash(run.seed, i))[: _limit(run)]
    )
    return [q for q in queries if q.id in kept]


def _limit(run: Run) -> int:
    return QUERIES[size_of(run)]


def _trial(run: Run, name: str, collection: Collection, judged_set: Judged) -> Trial:
    return Trial(
        name,
        collection,
        judged_set,
        run_variants(collection, judged_set.queries, with_single_lists()),
        run.seed,
    )


@returns("reorders_ordinary_questions", "reorders_titles", "first_pages_that_differ_from_two_lists")
def third_list_of_all_terms(run: Run) -> Measured:
    """A13: a third list of all-terms points, on titles and on questions: how often it reorders, what it gains."""
    return alternative(run, "third_list_all_terms")


@returns(
    "every_verbatim_row_above_the_best_other_answer",
    "best_other_answer_on_the_first_page",
    "rank_of_the_best_other_answer",
    "verbatim_rows",
    "first_pages_that_differ_from_two_lists",
)
def verbatim_first_outright(run: Run) -> Measured:
    """A14: verbatim matches first, outright: a short common phrase on the incident, and real questions and titles."""
    at = incident(run)
    ranks, rows, above = common_phrase(at, PHRASE)
    pages = alternative(run, "verbatim_outright")
    return Measured(
        {
            "every_verbatim_row_above_the_best_other_answer": above == rows > 0,
            "best_other_answer_on_the_first_page": ranks["verbatim_outright"] <= FIRST,
            "rank_of_the_best_other_answer": ranks,
            "verbatim_rows": rows,
            "first_pages_that_differ_from_two_lists": pages.value[
                "first_pages_that_differ_from_two_lists"
            ],
        },
        f"{at.where}; {pages.where}",
        f"The phrase is “{PHRASE}”; the best other answer is the nearest chunk without it. "
        f"{pages.note}",
    )


def common_phrase(at: Incident, text: str) -> tuple[dict[str, int], int, int]:
    """Where the nearest chunk without the phrase ranks by variant; the verbatim rows, and those above it outright."""
    found = {v: at.search(Query(text), v) for v in ("two_lists", "adr_0172", "verbatim_outright")}
    outright = found["verbatim_outright"]
    rows = set(listed(outright, "verbatim").ids)
    best = next(i for i in listed(outright, "semantic").ids if i not in rows)
    ranks = {v: r.rank_of(best) or len(r.fused) + 1 for v, r in found.items()}
    above = sum(i in rows for i in outright.fused.ids[: ranks["verbatim_outright"] - 1])
    return ranks, len(rows), above


@returns("queries_verbatim", "others_are_untouched", "by_collection")
def verbatim_queries(run: Run) -> Measured:
    """A15: how many benchmark queries are verbatim in their corpus; rankings of the others are untouched."""
    trials, absent = question_trials(run)
    if not trials:
        return Measured(None, "judged collections", "; ".join(absent), NOT_MEASURABLE)
    counted, equal = {}, []
    for name, trial in trials.items():
        held = standing_verbatim(trial.collection, {q.id: q.text for q in trial.judged.queries})
        runs = trial.ran.runs
        equal += [
            runs["adr_0172"][q] == runs["two_lists"][q] for q in trial.judged.ids if not held[q]
        ]
        counted[name] = {"queries": len(held), "verbatim": sum(held.values())}
    return Measured(
        {
            "queries_verbatim": sum(c["verbatim"] for c in counted.values()),
            "others_are_untouched": all(equal) and bool(equal),
            "by_collection": counted,
        },
        where(trials),
        "; ".join(["The record's own benchmark (46 queries) is not public", *absent]),
    )


@returns("lowest_end_of_the_intervals", "by_collection")
def benchmark_effect(run: Run) -> Measured:
    """A16: the effect on benchmark scores that the record left unmeasured, by a bound of non-inferiority."""
    trials, absent = question_trials(run)
    if not trials:
        return Measured(None, "judged collections", "; ".join(absent), NOT_MEASURABLE)
    rows = {
        n: t.comparison.pair("adr_0005", "adr_0172", QUESTIONS_METRIC) for n, t in trials.items()
    }
    uncut = [n for n, t in trials.items() if t.collection.stores.catalog.n <= CANDIDATE_CAP]
    said = [
        f"{n}: {t.comparison.sentence('adr_0005', 'adr_0172', m)}."
        for n, t in trials.items()
        for m in METRICS[:3]
    ]
    if uncut:
        said.append(
            f"No cap of {CANDIDATE_CAP} can cut in {', '.join(uncut)}: it has no more chunks."
        )
    lows = [r["low"] if r["low"] is not None else r["difference"] for r in rows.values()]
    value = {
        "lowest_end_of_the_intervals": round(min(lows), 4),
        "by_collection": {
            n: {k: round(r[k], 4) for k in ("value_a", "value_b")} for n, r in rows.items()
        },
    }
    return Measured(value, where(trials), " ".join([*said, *absent]))


@returns(
    "common_phrase_pushes_out",
    "planted_questions_push_out",
    "real_questions_push_out",
    "rank_of_the_best_other_answer",
    "planted_by_weight",
)
def pushed_out(run: Run) -> Measured:
    """A22: do verbatim matches push better answers off the first page?

    A common phrase on the replica, questions planted verbatim in chat lines (the worst case), and real ones.
    """
    at = incident(run)
    ranks = {text: common_phrase(at, text)[0] for text in (PHRASE, f"who changed the {PHRASE}")}
    two, three = (ranks[PHRASE][v] for v in ("two_lists", "adr_0172"))
    value: dict[str, Any] = {
        "common_phrase_pushes_out": any(
            r["two_lists"] <= FIRST < r["adr_0172"] for r in ranks.values()
        ),
        "rank_of_the_best_other_answer": {
            text: {v: r[v] for v in ("two_lists", "adr_0172")} for text, r in ranks.items()
        },
    }
    note = f"“{PHRASE}”: the nearest chunk without the phrase ranks {two} with two lists and {three} with three."
    planted = planted_worst_case(run)
    trials, absent = question_trials(run)
    if isinstance(planted, str) or not trials:
        return Measured(value, at.where, " ".join([note, *absent]), NOT_MEASURABLE)
    compared = {
        n: t.comparison.pair("adr_0172", "two_lists", "Success@8") for n, t in trials.items()
    }
    without, with_list = planted["weight 0"], planted["weight 1"]
    value |= {
        "planted_questions_push_out": with_list["Success@8"] < without["Success@8"],
        "real_questions_push_out": any(
            r["low"] is not None and r["low"] > 0 for r in compared.values()
        ),
        "planted_by_weight": planted,
    }
    note += (
        f" Planted questions: Success@1 {without['Success@1']:.3f} without the list, "
        f"{with_list['Success@1']:.3f} with "
        f"it; Success@8 {without['Success@8']:.3f} and {with_list['Success@8']:.3f}. Each of them "
        "is verbatim in an "
        "unanswered chat line; real questions hardly ever are (A15)."
    )
    return Measured(value, f"{at.where}; {where(trials)}", " ".join([note, *absent]))


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
    rows = [
        {"id": c.entity_id, "title": c.title, "text": c.text}
        for c in known_items.chunks_of(catalog)()
    ]
    rows += [
        {
            "id": f"chat-{q.id}",
            "title": "",
            "text": f"Chat, unanswered: {q.text} Nobody knew, asked again next week.",
        }
        for q in planted
    ]
    path.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    collection = loaded(run, "planted-questions", str(path))
    judged_set = judge(
        planted, [r for r in catalog.qrels() if r.query_id in {q.id for q in planted}]
    )
    swept = [variant("verbatim_weighted", weight=w).replace(name=f"weight {w:g}") for w in WEIGHTS]
    ran = run_variants(collection, planted, [*swept, "verbatim_titles", "verbatim_outright"])
    compared = compare(
        ran.runs, judged_set, ("Success@1", "Success@8", "RR"), seed=run.seed, pairs=[]
    )
    table: dict[str, dict[str, float]] = {}
    for row in compared.per_variant.to_dicts():
        table.setdefault(row["variant"], {})[row["metric"]] = round(row["value"], 4)
    return table


def alternative(run: Run, name: str) -> Measured:
    """What an alternative does to first pages of questions and titles, and its difference from ADR 0172."""
    questions, absent = question_trials(run)
    titles, absent_titles = title_trials(run)
    sets = [(n, t, QUESTIONS_METRIC) for n, t in questions.items()] + [
        (n, t, TITLES_METRIC) for n, t in titles.items()
    ]
    differ = {n: t.differ("two_lists", name) for n, t, _ in sets}
    value: dict[str, Any] = {
        "reorders_titles": any(differ[n] for n in titles),
        "first_pages_that_differ_from_two_lists": differ,
    }
    said = [f"{n}: {t.comparison.sentence('adr_0172', name, m)}." for n, t, m in sets]
    measured_on = where({**questions, **titles})
    if not questions:
        return Measured(value, measured_on, "; ".join(absent), NOT_MEASURABLE)
    value["reorders_ordinary_questions"] = any(differ[n] for n in questions)
    few = pages_text({n: (differ[n], len(t.judged.ids)) for n, t in questions.items()})
    return Measured(value, measured_on, " ".join([few, *said, *absent, *absent_titles]))


def pages_text(differ: Mapping[str, tuple[int, int]]) -> str:
    """On how many first pages of ordinary questions something differs, in all and by set. Values: (differ, asked)."""
    each = ", ".join(f"{d} of {n} in {name}" for name, (d, n) in differ.items())
    changed, asked = (sum(pair[i] for pair in differ.values()) for i in (0, 1))
    return f"The first page differs from two lists on {changed} of {asked} ordinary questions ({each})."


def where(trials: Mapping[str, Trial]) -> str:
    return "; ".join(
        f"{n}, {len(t.judged.ids)} queries, {t.collection.stores.catalog.n:,} chunks"
        for n, t in trials.items()
    )
