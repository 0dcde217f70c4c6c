"""Fusions: ranked lists to one ranking, on our side, with one stated tie rule.

Ties: score descending (compared exactly, not as rounded floats), then best single rank ascending, then point id.
A fusion returns the fused ranking and each row's contributions by list name.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import fsum
from typing import Any

from workbench.errors import BadParameter
from workbench.registry import register
from workbench.types import PointId, Ranking, point_order

TIE_RULE = "score descending, then best single rank ascending, then point id ascending"

RRF_K = 60
"""Cormack, Clarke and Büttcher 2009; the records use it. Qdrant's engine counts from 0, so its k = 61 is this."""

MAX_MIN_BONUS = 0.3
"""The notes search adds 0.3 of the weaker score to the stronger."""

# Two float sums of exact fractions that differ by less than this, or by this share of the larger one, may be the
# same fraction, or swapped.
_NEAR = 1e-12


@dataclass(frozen=True, slots=True)
class Fused:
    """A fused ranking with what each list added to each row; `math.fsum` of a row's parts is its score."""

    ranking: Ranking
    contributions: Mapping[PointId, Mapping[str, float]]


@register("fusion")
def rrf(
    lists: Sequence[Ranking], *, k: float = RRF_K, weights: tuple[tuple[str, float], ...] = ()
) -> Fused:
    """Reciprocal rank fusion: score = Σ weight / (k + rank), ranks 1-based, lists not named weigh 1."""
    weight = _weights(lists, k, weights)
    parts: dict[PointId, dict[str, float]] = {}
    for ranking in lists:
        w = weight[ranking.name]
        if w == 0:
            continue
        for rank, point_id in enumerate(ranking.ids, 1):
            parts.setdefault(point_id, {})[ranking.name] = w / (k + rank)
    return _fused(f"rrf(k={k:g})", parts, lists, _held(lists, weight), partial(_exact_rrf, k))


@register("fusion")
def rrf_priors(
    lists: Sequence[Ranking], *, priors: tuple[str, ...], k: float = RRF_K,
    weights: tuple[tuple[str, float], ...] = (),
) -> Fused:  # fmt: skip
    """RRF, plus weight × value / (k + 1) for each list named in `priors`, whose ranks do not count.

    Values lie between 0 and 1, so a whole prior of weight 1 counts as a first rank in one list does. A row that no
    other list ranks, or only lists of weight 0, is not ranked.
    """
    weight = _weights(lists, k, weights)
    ranked = [r for r in lists if r.name not in priors]
    parts = {i: dict(row) for i, row in rrf(k=k, weights=weights)(ranked).contributions.items()}
    values = {r.name: dict(zip(r.ids, r.scores, strict=True)) for r in lists if r.name in priors and weight[r.name]}
    for name, of in values.items():
        for point_id in parts.keys() & of.keys():
            parts[point_id][name] = weight[name] * of[point_id] / (k + 1)
    ranks = _held(ranked, weight)

    def held(point_id: PointId) -> Hashable:
        return ranks(point_id), tuple((weight[n], of[point_id]) for n, of in values.items() if point_id in of)

    def exact(of: Any) -> Fraction:
        by_rank, by_value = of
        added = (Fraction(w) * Fraction(v) / (Fraction(k) + 1) for w, v in by_value)
        return sum(added, _exact_rrf(k, by_rank))

    return _fused(f"rrf_priors(k={k:g})", parts, ranked, held, exact)


@register("fusion")
def max_min(lists: Sequence[Ranking], *, bonus: float = MAX_MIN_BONUS) -> Fused:
    """max + bonus × min of the lexical score over the best lexical score, and the raw cosine (notes search).

    Lists other than `lexical` and `semantic` take no part. Range 0 to 1 + bonus for scores of at least 0.
    """
    if bonus < 0:
        raise BadParameter(f"max_min needs a bonus of at least 0, not {bonus:g}")
    shares: dict[PointId, dict[str, float]] = {}
    for ranking in lists:
        if ranking.name not in ("lexical", "semantic"):
            continue
        top = max(ranking.scores, default=0.0) if ranking.name == "lexical" else 1.0
        for point_id, score in zip(ranking.ids, ranking.scores, strict=True):
            shares.setdefault(point_id, {})[ranking.name] = score / top if top > 0 else 0.0
    parts = {}
    for point_id, row in shares.items():
        weaker = min(row, key=lambda n: (row[n], n)) if len(row) == 2 else None
        parts[point_id] = {n: s * bonus if n == weaker else s for n, s in row.items()}

    def held(point_id: PointId) -> Hashable:
        return tuple(sorted(shares[point_id].values()))

    def exact(row: Any) -> Fraction:
        return Fraction(row[-1]) + (Fraction(bonus) * Fraction(row[0]) if len(row) == 2 else 0)

    return _fused(f"max_min(bonus={bonus:g})", parts, lists, held, exact)


@register("fusion")
def verbatim_first(lists: Sequence[Ranking], *, k: float = RRF_K) -> Fused:
    """Rows of the verbatim list first, outright, in its order; the rest by RRF: ADR 0172's rejected alternative.

    A row of the verbatim list gains a constant larger than any RRF sum; its part is named `verbatim`.
    """
    first = next((r for r in lists if r.name == "verbatim"), Ranking("verbatim", (), ()))
    rest = [r for r in lists if r.name != "verbatim"]
    parts = {i: dict(row) for i, row in rrf(k=k)(rest).contributions.items()} if rest else {}
    step = len(rest) / (k + 1) + 1.0
    places = {point_id: place for place, point_id in enumerate(reversed(first.ids), 1)}
    for point_id, place in places.items():
        parts.setdefault(point_id, {})["verbatim"] = step * place
    of_rest = _held(rest, dict.fromkeys((r.name for r in rest), 1))

    def held(point_id: PointId) -> Hashable:
        return places.get(point_id, 0), of_rest(point_id)

    def exact(of: Any) -> Fraction:
        place, ranks = of
        return Fraction(step) * place + _exact_rrf(k, ranks)

    return _fused(f"verbatim_first(k={k:g})", parts, lists, held, exact)


@register("fusion")
def single(lists: Sequence[Ranking], *, name: str) -> Fused:
    """One list as it is: lexical and semantic mode, and each list judged alone."""
    ranking = next((r for r in lists if r.name == name), Ranking(name, (), ()))
    parts = {i: {name: s} for i, s in zip(ranking.ids, ranking.scores, strict=True)}
    return Fused(ranking, parts)


def _weights(
    lists: Sequence[Ranking], k: float, weights: tuple[tuple[str, float], ...]
) -> dict[str, float]:
    if k < 0:
        raise BadParameter(f"RRF needs k of at least 0, not {k:g}")
    given = dict(weights)
    if any(w < 0 for w in given.values()):
        raise BadParameter(f"a list's weight must be at least 0: {given}")
    names = [r.name for r in lists]
    if len(set(names)) != len(names):
        raise BadParameter(f"two lists have the same name: {names}", do="Give each list its own name")
    return {n: given.get(n, 1) for n in names}


def _held(lists: Sequence[Ranking], weight: Mapping[str, float]) -> Callable[[PointId], Hashable]:
    """A row's (weight, rank) pairs in order, whichever lists they are of."""
    ranks = [(weight[r.name], r.ranks()) for r in lists if weight[r.name]]
    return lambda point_id: tuple(sorted((w, of[point_id]) for w, of in ranks if point_id in of))


def _exact_rrf(k: float, held: Any) -> Fraction:
    return sum((Fraction(w) / (Fraction(k) + rank) for w, rank in held), Fraction(0))


def _fused(
    name: str, parts: Mapping[PointId, Mapping[str, float]], lists: Sequence[Ranking],
    held: Callable[[PointId], Hashable], exact: Callable[[Any], Fraction],
) -> Fused:  # fmt: skip
    """Order the rows. fsum is independent of the lists' order; sums that nearly touch are compared exactly.

    `held` is what a row's score is made of, equal for rows that must tie; `exact` its exact score.
    """
    best: dict[PointId, int] = {}
    for ranking in lists:
        for rank, point_id in enumerate(ranking.ids, 1):
            best[point_id] = min(rank, best.get(point_id, rank))
    scores = {i: fsum(row.values()) for i, row in parts.items()}
    ids = sorted(scores, key=lambda i: (-scores[i], best[i], point_order(i)))
    out: list[PointId] = []
    for run in _nearly_equal(ids, scores):
        made = {i: held(i) for i in run} if len(run) > 1 else {}
        # Most runs are the same ranks in exchanged lists: a true tie, which is ordered already.
        if len(set(made.values())) > 1:
            sums = {of: exact(of) for of in set(made.values())}
            run.sort(key=lambda i: (-sums[made[i]], best[i], point_order(i)))
        out += run
    return Fused(Ranking(name, tuple(out), tuple(scores[i] for i in out), TIE_RULE), parts)


def _nearly_equal(ids: list[PointId], scores: Mapping[PointId, float]) -> Iterator[list[PointId]]:
    """The ids cut into runs of float sums that nearly touch."""
    start = 0
    for end in range(1, len(ids) + 1):
        above = scores[ids[end - 1]]
        if end == len(ids) or above - scores[ids[end]] > _NEAR * max(1.0, above):
            yield ids[start:end]
            start = end
