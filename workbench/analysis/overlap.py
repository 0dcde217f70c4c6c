"""How alike two rankings are, without any judgement.

Rankings are our own order: the tie rule has been applied, so no two documents share a rank, and a difference
within a tie counts as a difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from math import log
from typing import TYPE_CHECKING

from workbench.errors import BadParameter
from workbench.types import PointId

if TYPE_CHECKING:
    import polars as pl

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
        rbo(a, b, p=p), kendall_tau(a, b), first_difference(a, b), overlap_at(a, b, k), k, common,
        len(a) - common, len(b) - common,
    )  # fmt: skip


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
    return next((r for r, (x, y) in enumerate(zip_longest(a, b, fillvalue=ended), 1) if x != y), None)


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
        {"a": a, "b": b, "query_id": q, **asdict(overlap(runs[a].get(q, ()), runs[b].get(q, ()), k=k, p=p))}
        for i, a in enumerate(names)
        for b in names[i + 1 :]
        for q in sorted({*runs[a], *runs[b]})
    ]
    schema = {
        "a": pl.String, "b": pl.String, "query_id": pl.String, "rbo": pl.Float64, "tau": pl.Float64,
        "first_difference": pl.Int64, "at_k": pl.Float64, "k": pl.Int64, "common": pl.Int64,
        "only_a": pl.Int64, "only_b": pl.Int64,
    }  # fmt: skip
    return pl.DataFrame(rows, schema=schema, orient="row")


def _distinct(ids: Ids) -> None:
    if len(set(ids)) != len(ids):
        twice = next(i for n, i in enumerate(ids) if i in ids[:n])
        raise BadParameter(f"{twice!r} stands twice in a ranking")
