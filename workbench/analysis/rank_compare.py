"""Two variants side by side: which rows stand where, and over a query set which queries differ most, which ties a
cut splits, and how far a metric could move if the ties had fallen otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.analysis.judged import Judged
from workbench.analysis.metrics import documents
from workbench.analysis.overlap import PAGE, Overlap, overlap
from workbench.analysis.ties import Range, Scored, metric_range, split_by
from workbench.errors import BadParameter
from workbench.retrieval.fusions import falling_scores
from workbench.retrieval.search import Collection
from workbench.retrieval.variant import Variant, variant
from workbench.sources.source import JudgedQuery
from workbench.types import PointId, Result

if TYPE_CHECKING:
    import polars as pl

NO_LIST = "neither"


@dataclass(frozen=True, slots=True)
class Side:
    """A row under one variant: its 1-based rank, None where the ranking lacks it, and its rank in each list."""

    rank: int | None
    ranks: Mapping[str, int]

    @property
    def membership(self) -> str:
        """The lists that hold it, in their order: "lexical + semantic"."""
        return " + ".join(self.ranks) or NO_LIST


@dataclass(frozen=True, slots=True)
class ComparedRow:
    id: PointId
    left: Side
    right: Side


@dataclass(frozen=True, slots=True)
class RankComparison:
    """Two rankings of one query. `rows` are those in the first `first` of either, by their left rank, then those
    that only the right page has by theirs; `overlap` is over the whole fused rankings."""

    left: str
    right: str
    first: int
    rows: tuple[ComparedRow, ...]
    overlap: Overlap


def compare_results(left: Result, right: Result, *, first: int = PAGE) -> RankComparison:
    """Lay two results of one query side by side. Raises BadParameter where they are of different queries."""
    if (left.query.normalised, left.query.filters) != (right.query.normalised, right.query.filters):
        raise BadParameter("two rankings are compared on one query", do="Search both with the same text and filters")
    ids = dict.fromkeys([*left.fused.ids[:first], *right.fused.ids[:first]])
    sides = [_sides(r) for r in (left, right)]
    rows = tuple(ComparedRow(i, sides[0](i), sides[1](i)) for i in ids)
    return RankComparison(left.variant, right.variant, first, rows, overlap(left.fused.ids, right.fused.ids, k=first))


def _sides(result: Result) -> Any:
    fused, lists = result.fused.ranks(), {r.name: r.ranks() for r in result.lists}
    return lambda i: Side(fused.get(i), {n: ranks[i] for n, ranks in lists.items() if i in ranks})


@dataclass(frozen=True, eq=False)
class SetComparison:
    """Two variants over a query set, by documents. `table` has a row a query, the most different first (rbo
    ascending, then query id): query_id, text, the fields of `Overlap`, and for each side the size of the tie that
    the cut after `first` splits (0 where it splits none). `ranges` are the metric's ranges by variant, empty where
    nothing is judged."""

    left: str
    right: str
    first: int
    table: pl.DataFrame
    ranges: Mapping[str, Range]


def compare_over(
    collection: Collection, queries: Iterable[JudgedQuery], left: str | Variant, right: str | Variant, *,
    first: int = PAGE, judged: Judged | None = None, metric: str = "nDCG@10",
) -> SetComparison:  # fmt: skip
    """Search every query with both variants and compare their rankings of documents; with `judged` the metric's
    least and most over all orders of the ties, too. Raises BadParameter for two variants of one name."""
    import polars as pl

    chosen = [variant(left), variant(right)]
    if chosen[0].name == chosen[1].name:
        raise BadParameter(f"both variants are named {chosen[0].name!r}", do="Give one another name: variant.replace(name=…)")
    asked = list(queries)
    runs = scored_runs(collection, asked, chosen)
    rows = []
    for query in asked:
        sides = [runs[v.name][query.id] for v in chosen]
        ids = [[document for document, _ in side] for side in sides]
        found = overlap(*ids, k=first)
        split = [split_by([score for _, score in side], first) for side in sides]
        rows.append({
            "query_id": query.id, "text": query.text, "rbo": found.rbo, "tau": found.tau,
            "first_difference": found.first_difference, f"at_{first}": found.at_k, "common": found.common,
            "only_left": found.only_a, "only_right": found.only_b,
            "split_left": split[0].size if split[0] else 0, "split_right": split[1].size if split[1] else 0,
        })  # fmt: skip
    schema = {"query_id": pl.String, "text": pl.String, "rbo": pl.Float64, "tau": pl.Float64, "first_difference": pl.Int64,
              f"at_{first}": pl.Float64, "common": pl.Int64, "only_left": pl.Int64, "only_right": pl.Int64,
              "split_left": pl.Int64, "split_right": pl.Int64}  # fmt: skip
    table = pl.DataFrame(rows, schema=schema, orient="row").sort("rbo", "query_id")
    ranges = {} if judged is None else {v.name: metric_range(runs[v.name], judged.grades, metric) for v in chosen}
    return SetComparison(chosen[0].name, chosen[1].name, first, table, ranges)


def scored_runs(
    collection: Collection, queries: Sequence[JudgedQuery], variants: Sequence[Variant]
) -> dict[str, dict[str, Scored]]:
    """Variant to query id to (document, score): a document has the rank and the score of its best chunk; a query's
    own document is left out. Scores are equal exactly where the exact sums are."""
    out: dict[str, dict[str, Scored]] = {v.name: {} for v in variants}
    for query in queries:
        memo: dict[Any, Any] = {}
        for v in variants:
            result = collection.search(query.search, v, with_chunks=False, memo=memo)
            ids = result.fused.ids
            entity = dict(zip(ids, collection.stores.catalog.entities(ids), strict=True)) if ids else {}
            best: dict[str, float] = {}
            scores = falling_scores(v.fusion, result.lists, result.fused)
            for point, score in zip(ids, scores, strict=True):
                best.setdefault(entity[point], score)
            kept = documents(ids, entity, own=query.own_document)
            out[v.name][query.id] = [(document, best[document]) for document in kept]
    return out
