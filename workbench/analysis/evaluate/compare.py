"""Compare variants and runs of other systems on judged queries: run, evaluate, test pair by pair, and say why the
queries differ most."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.analysis.canonical import plain
from workbench.analysis.evaluate.comparison import DIFFER_MOST, Comparison, compare
from workbench.analysis.evaluate.formats import ForeignRuns, foreign_runs
from workbench.analysis.evaluate.known_items import SEED
from workbench.analysis.evaluate.metrics import DEFAULT_METRICS, DEPTH, Range, deepest, metric_names
from workbench.analysis.evaluate.query_sets import QuerySet, query_set, query_set_of_files
from workbench.analysis.evaluate.result_table import ResultTable
from workbench.analysis.evaluate.significance import CONFIDENCE, RESAMPLES, TIE_WIDTH
from workbench.analysis.explain.explain import Explanation, explain
from workbench.analysis.explain.targets import explain_command
from workbench.analysis.runs import VariantRuns, run_variants
from workbench.errors import BadParameter
from workbench.retrieval.search import Collection, open_collection
from workbench.retrieval.variant import Variant, distinct_variants
from workbench.sources.base import JudgedQuery, Qrel
from workbench.text import counted
from workbench.types import PointId, Query

if TYPE_CHECKING:
    import polars as pl

PAGE = 8
"""The first page of the records' searches."""

MOST_PAIRS = 6
"""Pairs whose queries are laid out and explained; each takes a second or two."""


@dataclass(frozen=True, slots=True)
class Shown:
    """One document of a page; `grade` is None where nobody judged it."""

    rank: int
    entity_id: str
    title: str
    grade: int | None


@dataclass(frozen=True, slots=True)
class Side:
    """One variant's answer to a query: the first page, the target's rank among documents within the depth (None where
    it is absent), what explains it, and the command that tells the whole."""

    variant: str
    value: float
    page: tuple[Shown, ...]
    rank: int | None
    told: str
    command: str


@dataclass(frozen=True, slots=True)
class Difference:
    """One query on which two variants differ, by `difference` = b - a of the metric. `target` is the relevant document
    whose rank differs most."""

    query_id: str
    text: str
    metric: str
    difference: float
    target: str
    target_title: str
    target_grade: int
    a: Side
    b: Side


@dataclass(frozen=True, repr=False)
class Compared:
    """A comparison with what it was made of; it shows as the table of its runs.

    `collection` is "" where runs alone were evaluated. `costs` and `listed` as in `VariantRuns`; `plans` by variant;
    `inputs` are content hashes of the collection and of the files; `differences` the queries that differ most by the
    first metric, pair by pair; `ranges` what the ties of each run from a file leave open, by metric.
    """

    collection: str
    inputs: Mapping[str, str]
    queries: QuerySet
    comparison: Comparison
    runs: VariantRuns
    plans: Mapping[str, str]
    differences: tuple[Difference, ...]
    ranges: Mapping[str, Mapping[str, Range]] = field(default_factory=dict)
    file_notes: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Everything that did not fit, one sentence each."""
        short = self.runs.short(self.comparison.metrics, self.comparison.depth)
        return tuple(
            dict.fromkeys([*self.queries.notes, *self.comparison.notes, *self.file_notes, *short])
        )

    @property
    def table(self) -> ResultTable:
        """One row a run: metrics with letters of significance, Judged@k, and what a search costs."""
        costs = {row["variant"]: row for row in self.runs.costs if row["calls"] is not None}
        return ResultTable(self.comparison, costs)

    def to_frame(self) -> pl.DataFrame:
        """The table as a polars frame."""
        return self.table.to_frame()

    def to_latex(self) -> str:
        """The table as LaTeX with the rules of booktabs."""
        return self.table.to_latex()

    def _repr_html_(self) -> str:
        return self.table.to_html()

    def __repr__(self) -> str:
        return self.table.to_text()

    def to_dict(self) -> dict[str, Any]:
        """All of it but the rankings as JSON-ready data."""
        return plain(
            {
                "collection": self.collection,
                "inputs": dict(self.inputs),
                "origin": self.queries.origin,
                "queries_hash": self.queries.hash,
                "plans": dict(self.plans),
                **self.comparison.to_dict(),
                "notes": list(self.notes),
                "own_documents": self.queries.own,
                "leaked": self.queries.leaked,
                "costs": [dict(c) for c in self.runs.costs],
                "listed": self.runs.listed,
                "tie_ranges": [
                    {
                        "variant": name,
                        "metric": m,
                        "value": r.value,
                        "low": r.low,
                        "high": r.high,
                        "moved": len(r.moved),
                        "exact": r.exact,
                    }
                    for name, of in self.ranges.items()
                    for m, r in of.items()
                ],
                "differences": self.differences,
            }
        )


def compare_variants(
    collection: str | Collection,
    variants: Sequence[str | Variant],
    queries: str | Sequence[JudgedQuery] = "",
    qrels: str | Sequence[Qrel] = "",
    metrics: Sequence[str] = DEFAULT_METRICS,
    *,
    runs: Mapping[str, str | Path] | None = None,
    pairs: Sequence[tuple[str, str]] | None = None,
    slices: Sequence[str] | None = None,
    limit: int | None = None,
    seed: int = SEED,
    tie_width: float = TIE_WIDTH,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
    differing: int = DIFFER_MOST,
    depth: int = DEPTH,
    keep_own: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Compared:
    """Run the variants over a judged query set (see `query_set`) and compare them pair by pair.

    A metric without a cutoff reads the first `depth` documents of a ranking. A query's own document is left out of
    its ranking, unless `keep_own`. `runs` are other systems' rankings by name, TREC or ranx files, compared as the
    variants are. Stages that variants share run once a query. `progress(done, of)` is called after every query. Raises
    BadParameter for an unknown variant, metric or slice, and a run called as a variant is; see `query_set` for the rest.
    """
    names, chosen = metric_names(metrics), distinct_variants(variants)
    foreign = foreign_runs(runs or {}, deepest(names, depth))
    if taken := set(foreign.files) & {v.name for v in chosen}:
        raise BadParameter(
            f"a run and a variant are both called {min(taken)!r}", do="Name the run otherwise"
        )
    with (
        nullcontext(collection)
        if isinstance(collection, Collection)
        else open_collection(collection) as opened
    ):
        found = query_set(opened, queries, qrels, limit=limit, seed=seed, keep_own=keep_own)
        of = len(found.queries)
        ran = run_variants(
            opened,
            found.queries,
            chosen,
            depth=deepest(names, depth),
            progress=progress and (lambda done: progress(done, of)),
        )
        ran = replace(ran, runs={**ran.runs, **foreign.runs})
        compared = compare(
            ran.runs,
            found.judged,
            names,
            seed=seed,
            tie_width=tie_width,
            pairs=pairs,
            slices=slices,
            resamples=resamples,
            confidence=confidence,
            depth=depth,
        )
        told = differences(opened, chosen, compared, ran, differing)
        plans = {v.name: v.plan() for v in chosen}
        return _with_ties(
            Compared(opened.name, opened.inputs, found, compared, ran, plans, told), foreign
        )


def evaluate_runs(
    runs: Mapping[str, str | Path],
    qrels: str | Path,
    queries: str | Path = "",
    metrics: Sequence[str] = DEFAULT_METRICS,
    *,
    pairs: Sequence[tuple[str, str]] | None = None,
    slices: Sequence[str] | None = None,
    seed: int = SEED,
    tie_width: float = TIE_WIDTH,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
    differing: int = DIFFER_MOST,
    depth: int = DEPTH,
) -> Compared:
    """Evaluate and compare runs from files against judgements, without a collection.

    Every query with a relevant judgement is evaluated: one that a run lacks counts as 0. `queries` is a file of their
    texts. Raises SourceError for a file that is not what it claims, NothingToEvaluate without a relevant judgement.
    """
    names = metric_names(metrics)
    foreign = foreign_runs(runs, deepest(names, depth))
    found = query_set_of_files(qrels, queries)
    compared = compare(
        foreign.runs,
        found.judged,
        names,
        seed=seed,
        tie_width=tie_width,
        pairs=pairs,
        slices=slices,
        resamples=resamples,
        confidence=confidence,
        depth=depth,
    )
    ran = VariantRuns(foreign.runs, (), {})
    told = differences(None, (), compared, ran, differing)
    return _with_ties(Compared("", {}, found, compared, ran, {}, told), foreign)


def _with_ties(compared: Compared, foreign: ForeignRuns) -> Compared:
    c = compared.comparison
    ranges = foreign.ranges(c.judged, c.metrics, c.depth, c.seed)
    inputs = {
        **compared.inputs,
        **{f"run {name}": digest for name, digest in foreign.hashes.items()},
    }
    return replace(compared, inputs=inputs, ranges=ranges, file_notes=foreign.notes(ranges))


def differences(
    collection: Collection | None,
    variants: Sequence[Variant],
    compared: Comparison,
    ran: VariantRuns,
    limit: int,
) -> tuple[Difference, ...]:
    """The queries that differ most by the first metric, of the first MOST_PAIRS pairs, each explained on both sides; a
    run from a file has nothing to explain."""
    known = {v.name: v for v in variants}
    asked = {q.id: Query(q.text, q.filters) for q in compared.judged.queries}
    metric = compared.metrics[0]
    pairs = compared.per_pair.filter(metric=metric).select("a", "b").rows()[:MOST_PAIRS]
    out = []
    for a, b in pairs:
        for row in compared.most_different(a, b, metric, limit).to_dicts():
            grades = compared.judged.grades[row["query_id"]]
            pages = [ran.runs[n].get(row["query_id"], ()) for n in (a, b)]
            target = _target(grades, pages)
            sides = [
                _side(
                    collection, n, known.get(n), asked[row["query_id"]], value, page, target, grades
                )
                for n, value, page in zip(
                    (a, b), (row["value_a"], row["value_b"]), pages, strict=True
                )
            ]
            out.append(
                Difference(
                    row["query_id"],
                    row["text"],
                    metric,
                    row["difference"],
                    target,
                    titles_of(collection, [target])[target],
                    grades[target],
                    *sides,
                )
            )
    return tuple(out)


def explained(told: Explanation) -> str:
    """An explanation in one line: a row's rank and lists, or what kept it out."""
    if told.rank is None:
        return "absent: " + "; ".join(f"{a.reason}, {a.detail}" for a in told.absences)
    lists = ", ".join(
        f"{n} {r} (+{told.contributions.get(n, 0.0):.4f})" for n, r in told.ranks.items()
    )
    lacking = "".join(f"; not in {a.where}: {a.reason}, {a.detail}" for a in told.missing)
    return f"row {told.rank}, by {lists or 'no list'}{lacking}"


def _side(
    collection: Collection | None,
    name: str,
    variant: Variant | None,
    query: Query,
    value: float,
    page: Sequence[str],
    target: str,
    grades: Mapping[str, int],
) -> Side:
    titles = titles_of(collection, page[:PAGE])
    shown = tuple(Shown(n, d, titles[d], grades.get(d)) for n, d in enumerate(page[:PAGE], 1))
    rank = page.index(target) + 1 if target in page else None
    if collection is None or variant is None:
        told = (
            "no results for this query"
            if not page
            else f"{counted(len(page), 'document')} in the run"
        )
        return Side(name, value, shown, rank, told, "")
    result = collection.search(query, variant, with_chunks=False)
    point = best_row(collection, result.fused.ids, target)
    told = (
        "not in the collection" if point is None else explained(explain(collection, result, point))
    )
    command = "" if point is None else explain_command(collection.name, query, point, variant.name)
    return Side(name, value, shown, rank, told, command)


def best_row(collection: Collection, ids: Sequence[PointId], document: str) -> PointId | None:
    """A document's best row in a ranking, its first chunk where none is ranked, None where it does not exist."""
    chunks = collection.stores.catalog.entity(document)
    held = set(chunks)
    return next((i for i in ids if i in held), chunks[0] if chunks else None)


def _target(grades: Mapping[str, int], pages: Sequence[Sequence[str]]) -> str:
    """The relevant document whose rank differs most; of equals the higher grade, then the smaller id."""

    def moved(document: str) -> int:
        ranks = [page.index(document) if document in page else len(page) for page in pages]
        return abs(ranks[0] - ranks[1])

    relevant = [d for d, g in grades.items() if g > 0]
    return min(relevant, key=lambda d: (-moved(d), -grades[d], d))


def titles_of(collection: Collection | None, documents: Sequence[str]) -> dict[str, str]:
    """The title of each document, the beginning of its text where it has none, "" where it does not exist."""
    if collection is None:
        return dict.fromkeys(documents, "")
    firsts = {d: next(iter(collection.stores.catalog.entity(d)), None) for d in documents}
    points = [p for p in firsts.values() if p is not None]
    chunks = {c.entity_id: c for c in collection.stores.catalog.chunks(points)} if points else {}
    return {
        d: (chunks[d].title or " ".join(chunks[d].text[:400].split())[:80]) if d in chunks else ""
        for d in documents
    }
