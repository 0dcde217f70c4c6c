"""Ties: which of them a cut splits, and how far a metric could move if they had fallen otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from workbench.analysis.metrics import mean, measure, per_query
from workbench.errors import BadParameter

# Measures that only rise when a document of higher grade moves up past one of lower grade: for these the two
# extremes are the two sorted orders of each tie, so the range is exact.
MONOTONE = ("nDCG", "RR", "R", "AP", "P", "Success", "Rprec")

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
    ranking has a tie that the metric's cutoff splits; `moved` those with low < high.
    """

    metric: str
    value: float | None
    low: float | None
    high: float | None
    queries: tuple[str, ...]
    split: tuple[str, ...]
    moved: tuple[str, ...]


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


def metric_range(run: Mapping[str, Scored], grades: Mapping[str, Mapping[str, int]], metric: str) -> Range:
    """The exact least and most of a metric over all orders of tied documents, for every judged query.

    A query that the run lacks is 0 in all of them. Raises BadParameter for a metric that is not MONOTONE or
    changes its gains, and for scores that rise down a ranking.
    """
    found = measure(metric)
    if found.NAME not in MONOTONE or {"gains", "judged_only"} & set(found.params):
        raise BadParameter(
            f"the range over ties of {metric} is not the range of two orders", do=f"Use {', '.join(MONOTONE)}"
        )
    name, cutoff = str(found), found.params.get("cutoff")
    scores = {q: [score for _, score in run.get(q, ())] for q in grades}
    ours = {q: [document for document, _ in run.get(q, ())] for q in grades}
    groups = {q: ties(scores[q]) for q in grades}
    worst = {q: _reordered(ours[q], groups[q], grades[q], 1) for q in grades}
    best = {q: _reordered(ours[q], groups[q], grades[q], -1) for q in grades}
    value, low, high = (per_query(r, grades, [metric])[name] for r in (ours, worst, best))
    return Range(
        metric=name,
        value=mean(value.values()),
        low=mean(low.values()),
        high=mean(high.values()),
        queries=tuple(grades),
        split=tuple(q for q in grades if isinstance(cutoff, int) and split_by(scores[q], cutoff)),
        moved=tuple(q for q in grades if low[q] < high[q]),
    )


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
