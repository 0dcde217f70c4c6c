"""How alike two rankings are, without any judgement.

Rankings are our own order: the tie rule has been applied, so no two documents share a rank, and a difference
within a tie counts as a difference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from math import log
from typing import TYPE_CHECKING, Any

from workbench.analysis.evaluate.judged import Judged
from workbench.analysis.evaluate.metrics import Range, Scored, documents, metric_range, split_by
from workbench.errors import BadParameter
from workbench.retrieval.fusions import falling_scores
from workbench.retrieval.search import Collection
from workbench.retrieval.variant import Variant, variant
from workbench.sources.base import JudgedQuery
from workbench.types import PointId, Result

if TYPE_CHECKING:
    import polars as pl

# ---- How alike two rankings are, without any judgement ----

# The persistence that Webber, Moffat and Zobel use throughout: the first ten ranks hold 86 % of the weight.
PERSISTENCE = 0.9

PAGE = 8

Ids = Sequence[PointId]


@dataclass(frozen=True, slots=True)
class Overlap:
    """Two rankings compared. `rbo` is extrapolated; `tau` is over the `common` documents, None under two of
    them; `first_difference` is the first 1-based rank that differs, None where the rankings are the same;
    `at_k` the overlap of the first `k`; `only_a`, `only_b` count documents that one side alone has."""

    rbo: float
    tau: float | None
    first_difference: int | None
    at_k: float
    k: int
    common: int
    only_a: int
    only_b: int


def overlap(a: Ids, b: Ids, *, k: int = PAGE, p: float = PERSISTENCE) -> Overlap:
    """Everything about two rankings. Raises BadParameter for a document that stands twice in one."""
    common = len(set(a) & set(b))
    return Overlap(
        rbo(a, b, p=p),
        kendall_tau(a, b),
        first_difference(a, b),
        overlap_at(a, b, k),
        k,
        common,
        len(a) - common,
        len(b) - common,
    )


def rbo(a: Ids, b: Ids, *, p: float = PERSISTENCE) -> float:
    """Rank-biased overlap, extrapolated (RBO_ext), top-weighted: 1 for the same order, 0 for no overlap.

    `(1 - p) * sum of p^(d-1) * agreement(d)`, where beyond the shorter list its missing documents are taken
    to agree as far as its own did, and beyond the longer one the last agreement goes on. Lists may differ in
    length and documents; two empty lists agree (1), an empty and a filled one do not (0).
    Source: Webber, Moffat, Zobel, "A Similarity Measure for Indefinite Rankings", 2010, equation 32.
    Raises BadParameter unless 0 < p < 1, or for a document that stands twice in a list.
    """
    if not 0 < p < 1:
        raise BadParameter(f"the persistence p of RBO lies between 0 and 1, not {p}")
    _distinct(a)
    _distinct(b)
    shorter, longer = sorted((a, b), key=len)
    if not longer:
        return 1.0
    if not shorter:
        return 0.0
    seen_short: set[PointId] = set()
    seen_long: set[PointId] = set()
    total, weight, found, at_short, agreement = 0.0, 1 - p, 0, 0, 0.0
    for depth, document in enumerate(longer, 1):
        seen_long.add(document)
        if depth <= len(shorter):
            other = shorter[depth - 1]
            seen_short.add(other)
            found += (document in seen_short) + (other in seen_long and other != document)
            at_short = found
            assumed = 0.0
        else:
            found += document in seen_short
            assumed = at_short * (depth - len(shorter)) / len(shorter)
        agreement = (found + assumed) / depth
        total += weight * agreement
        weight *= p
    return total + p ** len(longer) * agreement


def rbo_weight(depth: int, *, p: float = PERSISTENCE) -> float:
    """The share of RBO's weight that the first `depth` ranks hold (Webber et al. 2010, equation 21)."""
    if not 0 < p < 1 or depth < 1:
        raise BadParameter(f"depth {depth} must be at least 1 and p {p} lie between 0 and 1")
    rest = -log(1 - p) - sum(p**i / i for i in range(1, depth))
    return 1 - p ** (depth - 1) + (1 - p) / p * depth * rest


def kendall_tau(a: Ids, b: Ids) -> float | None:
    """Kendall's tau of the order of the common documents (scipy; no ties exist), None under two of them."""
    from scipy import stats

    places = {document: rank for rank, document in enumerate(b)}
    order = [places[document] for document in a if document in places]
    return float(stats.kendalltau(range(len(order)), order).statistic) if len(order) > 1 else None


def first_difference(a: Ids, b: Ids) -> int | None:
    """The first 1-based rank at which two rankings differ or one has ended; None where they are equal."""
    ended = object()
    return next(
        (r for r, (x, y) in enumerate(zip_longest(a, b, fillvalue=ended), 1) if x != y), None
    )


def overlap_at(a: Ids, b: Ids, k: int = PAGE) -> float:
    """The documents that the first k of both share, over the longer of the two pages; 1 if both are empty."""
    if k < 1:
        raise BadParameter(f"overlap at {k}: k must be at least 1")
    pages = set(a[:k]), set(b[:k])
    longest = max(map(len, pages))
    return len(pages[0] & pages[1]) / longest if longest else 1.0


def overlap_table(
    runs: Mapping[str, Mapping[str, Ids]], *, k: int = PAGE, p: float = PERSISTENCE
) -> pl.DataFrame:
    """One row a pair of variants and query that either answers: a, b, query_id and the fields of `Overlap`;
    pairs in the order of the runs, queries by id."""
    import polars as pl

    names = list(runs)
    rows = [
        {
            "a": a,
            "b": b,
            "query_id": q,
            **asdict(overlap(runs[a].get(q, ()), runs[b].get(q, ()), k=k, p=p)),
        }
        for i, a in enumerate(names)
        for b in names[i + 1 :]
        for q in sorted({*runs[a], *runs[b]})
    ]
    schema = {
        "a": pl.String,
        "b": pl.String,
        "query_id": pl.String,
        "rbo": pl.Float64,
        "tau": pl.Float64,
        "first_difference": pl.Int64,
        "at_k": pl.Float64,
        "k": pl.Int64,
        "common": pl.Int64,
        "only_a": pl.Int64,
        "only_b": pl.Int64,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def _distinct(ids: Ids) -> None:
    if len(set(ids)) != len(ids):
        twice = next(i for n, i in enumerate(ids) if i in ids[:n])
        raise BadParameter(f"{twice!r} stands twice in a ranking")


# ---- Two variants side by side: which rows stand where, and over a query set which queries  ----

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
        raise BadParameter(
            "two rankings are compared on one query",
            do="Search both with the same text and filters",
        )
    ids = dict.fromkeys([*left.fused.ids[:first], *right.fused.ids[:first]])
    sides = [_sides(r) for r in (left, right)]
    rows = tuple(ComparedRow(i, sides[0](i), sides[1](i)) for i in ids)
    return RankComparison(
        left.variant, right.variant, first, rows, overlap(left.fused.ids, right.fused.ids, k=first)
    )


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
    collection: Collection,
    queries: Iterable[JudgedQuery],
    left: str | Variant,
    right: str | Variant,
    *,
    first: int = PAGE,
    judged: Judged | None = None,
    metric: str = "nDCG@10",
) -> SetComparison:
    """Search every query with both variants and compare their rankings of documents; with `judged` the metric's
    least and most over all orders of the ties, too. Raises BadParameter for two variants of one name."""
    import polars as pl

    chosen = [variant(left), variant(right)]
    if chosen[0].name == chosen[1].name:
        raise BadParameter(
            f"both variants are named {chosen[0].name!r}",
            do="Give one another name: variant.replace(name=…)",
        )
    asked = list(queries)
    runs = scored_runs(collection, asked, chosen)
    rows = []
    for query in asked:
        sides = [runs[v.name][query.id] for v in chosen]
        ids = [[document for document, _ in side] for side in sides]
        found = overlap(*ids, k=first)
        split = [split_by([score for _, score in side], first) for side in sides]
        rows.append(
            {
                "query_id": query.id,
                "text": query.text,
                "rbo": found.rbo,
                "tau": found.tau,
                "first_difference": found.first_difference,
                f"at_{first}": found.at_k,
                "common": found.common,
                "only_left": found.only_a,
                "only_right": found.only_b,
                "split_left": split[0].size if split[0] else 0,
                "split_right": split[1].size if split[1] else 0,
            }
        )
    schema = {
        "query_id": pl.String,
        "text": pl.String,
        "rbo": pl.Float64,
        "tau": pl.Float64,
        "first_difference": pl.Int64,
        f"at_{first}": pl.Float64,
        "common": pl.Int64,
        "only_left": pl.Int64,
        "only_right": pl.Int64,
        "split_left": pl.Int64,
        "split_right": pl.Int64,
    }
    table = pl.DataFrame(rows, schema=schema, orient="row").sort("rbo", "query_id")
    ranges = (
        {}
        if judged is None
        else {v.name: metric_range(runs[v.name], judged.grades, metric) for v in chosen}
    )
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
            entity = (
                dict(zip(ids, collection.stores.catalog.entities(ids), strict=True)) if ids else {}
            )
            best: dict[str, float] = {}
            scores = falling_scores(v.fusion, result.lists, result.fused)
            for point, score in zip(ids, scores, strict=True):
                best.setdefault(entity[point], score)
            kept = documents(ids, entity, own=query.own_document)
            out[v.name][query.id] = [(document, best[document]) for document in kept]
    return out
