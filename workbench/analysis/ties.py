"""Ties: which of them a cut splits, and how far a metric could move if they had fallen otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, permutations, product
from math import factorial, prod
from random import Random

from workbench.analysis.metrics import DEPTH, mean, measure, per_query
from workbench.errors import BadParameter

# Measures that only rise when a document of higher grade moves up past one of lower grade: for these the two
# extremes are the two sorted orders of each tie, so the range is exact.
MONOTONE = ("nDCG", "RR", "R", "AP", "P", "Success", "Rprec", "Bpref", "IPrec")

# Of any other metric every order is tried up to so many a query, beyond that as many drawn ones.
MOST_ORDERS = 120

Scored = Sequence[tuple[str, float]]
"""(document id, score), best first: scores never rise."""


@dataclass(frozen=True, slots=True)
class Tie:
    """Documents of equal score at the 1-based ranks `first` to `last`."""

    first: int
    last: int
    score: float

    @property
    def size(self) -> int:
        return self.last - self.first + 1


@dataclass(frozen=True, slots=True)
class Range:
    """What a metric is in our order, and the least and the most that it could be over all orders of the ties.

    `value`, `low` and `high` are means over `queries`, None without any; `split` are the queries whose
    ranking has a tie that the metric's cutoff splits; `moved` those with low < high. Where `exact` is False
    some queries have too many orders to try: the range is at least as wide.
    """

    metric: str
    value: float | None
    low: float | None
    high: float | None
    queries: tuple[str, ...]
    split: tuple[str, ...]
    moved: tuple[str, ...]
    exact: bool = True


def ties(scores: Sequence[float]) -> list[Tie]:
    """The groups of two or more equal scores, best first; equal means equal floats, no width."""
    _falling(scores)
    found, rank = [], 1
    for score, group in groupby(scores):
        size = len(list(group))
        if size > 1:
            found.append(Tie(rank, rank + size - 1, score))
        rank += size
    return found


def split_by(scores: Sequence[float], k: int) -> Tie | None:
    """The tie that a cut after rank k splits: by the tie rule alone some of its documents stay, others fall.

    A tie that the retrieved list itself was cut in is seen only as far as the list goes.
    """
    return next((t for t in ties(scores) if t.first <= k < t.last), None)


def metric_range(
    run: Mapping[str, Scored],
    grades: Mapping[str, Mapping[str, int]],
    metric: str,
    depth: int = DEPTH,
    seed: int = 0,
) -> Range:
    """The least and most of a metric over all orders of tied documents, for every judged query.

    Exact for Judged and the MONOTONE metrics, and for any other where a query's ties have at most MOST_ORDERS orders; `seed`
    draws the orders beyond. A metric without a cutoff reads `depth` documents. A query that the run lacks is 0 in all of them. Raises
    BadParameter for scores that rise down a ranking.
    """
    found = measure(metric)
    name, cutoff = str(found), found.params.get("cutoff")
    judged = found.NAME == "Judged"
    monotone = judged or found.NAME in MONOTONE and not {"gains", "judged_only"} & set(found.params)
    scores = {q: [score for _, score in run.get(q, ())] for q in grades}
    ours = {q: [document for document, _ in run.get(q, ())] for q in grades}
    groups = {q: ties(scores[q]) for q in grades}
    exact = monotone or all(_orders(groups[q]) <= MOST_ORDERS for q in grades)
    tried: dict[str, list[Sequence[str]]] = {}
    for q in grades:
        if not groups[q]:
            tried[q] = [ours[q]]
        elif monotone or _orders(groups[q]) > MOST_ORDERS:
            worth = dict.fromkeys(grades[q], 1) if judged else grades[q]
            sorted_orders = [_reordered(ours[q], groups[q], worth, sign) for sign in (1, -1)]
            drawn = [] if monotone else list(_drawn(ours[q], groups[q], Random(f"{seed} {q}")))
            tried[q] = [ours[q], *sorted_orders, *drawn]
        else:
            tried[q] = [ours[q], *_every(ours[q], groups[q])]
    keys = [(q, n) for q, orders in tried.items() for n in range(len(orders))]
    names = {key: str(place) for place, key in enumerate(keys)}
    values = per_query(
        {names[q, n]: tried[q][n] for q, n in keys}, {names[q, n]: grades[q] for q, n in keys}, [metric], depth
    )[name]
    of = {q: [values[names[q, n]] for n in range(len(orders))] for q, orders in tried.items()}
    return Range(
        metric=name,
        value=mean(v[0] for v in of.values()),
        low=mean(min(v) for v in of.values()),
        high=mean(max(v) for v in of.values()),
        queries=tuple(grades),
        split=tuple(q for q in grades if isinstance(cutoff, int) and split_by(scores[q], cutoff)),
        moved=tuple(q for q in grades if min(of[q]) < max(of[q])),
        exact=exact,
    )


def _orders(groups: Sequence[Tie]) -> int:
    return prod(factorial(tie.size) for tie in groups)


def _every(ids: Sequence[str], groups: Sequence[Tie]) -> Iterator[list[str]]:
    """All orders of the ties, the ranking's own first."""
    for parts in product(*(permutations(ids[t.first - 1 : t.last]) for t in groups)):
        out = list(ids)
        for tie, part in zip(groups, parts, strict=True):
            out[tie.first - 1 : tie.last] = part
        yield out


def _drawn(ids: Sequence[str], groups: Sequence[Tie], random: Random) -> Iterator[list[str]]:
    """MOST_ORDERS random orders of the ties."""
    for _ in range(MOST_ORDERS):
        out = list(ids)
        for tie in groups:
            out[tie.first - 1 : tie.last] = random.sample(out[tie.first - 1 : tie.last], tie.size)
        yield out


def _reordered(ids: Sequence[str], groups: Sequence[Tie], grades: Mapping[str, int], sign: int) -> list[str]:
    """The ranking with each tie sorted by grade, ascending for sign 1 and descending for -1."""
    out = list(ids)
    for tie in groups:
        here = slice(tie.first - 1, tie.last)
        out[here] = sorted(out[here], key=lambda d: sign * max(0, grades.get(d, 0)))
    return out


def _falling(scores: Sequence[float]) -> None:
    for rank, (above, below) in enumerate(zip(scores, scores[1:], strict=False), 1):
        if not above >= below:
            raise BadParameter(f"the score of rank {rank} ({above}) is below the next one ({below})")
