"""A target's rank as a function of one knob: constant on pieces, all of them, from end to end.

A place is a whole number: the knob's value where it is whole, else the place of a double in the row of all doubles.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby


@dataclass(frozen=True, slots=True)
class Piece:
    """The target's rank at every place from `first` to `last`; None where the ranking lacks it."""

    first: int
    last: int
    rank: int | None


@dataclass(frozen=True, slots=True)
class Rival:
    """A row beside the target and the places at which it stands above it. `label` is what takes up a rank: the row,
    or its entity where each stands once; `own` marks a row of the target's own entity."""

    label: Hashable
    above: tuple[tuple[int, int], ...]
    own: bool = False


def swept(rivals: Iterable[Rival], low: int, high: int) -> list[Piece]:
    """The pieces over `low` to `high`, ascending: rank = 1 + labels above; None where a row of its own is above."""
    steps: dict[int, list[tuple[Rival, int]]] = {low: []}
    for rival in rivals:
        for first, last in rival.above:
            steps.setdefault(max(first, low), []).append((rival, 1))
            if last < high:
                steps.setdefault(last + 1, []).append((rival, -1))
    active: Counter[Hashable] = Counter()
    labels = own = 0
    pieces: list[Piece] = []
    places = sorted(steps)
    for place, following in zip(places, [*places[1:], high + 1], strict=True):
        for rival, step in steps[place]:
            if rival.own:
                own += step
                continue
            before = active[rival.label] > 0
            active[rival.label] += step
            labels += (active[rival.label] > 0) - before
        pieces.append(Piece(place, following - 1, None if own else labels + 1))
    return merged(pieces)


def merged(pieces: Sequence[Piece]) -> list[Piece]:
    """Neighbours of one rank as one piece."""
    groups = ([*g] for _, g in groupby(pieces, key=lambda p: p.rank))
    return [Piece(g[0].first, g[-1].last, g[0].rank) for g in groups]


def nearest_within(
    pieces: Sequence[Piece], first: int, now: int, value: Callable[[int], Fraction]
) -> tuple[int, Piece] | None:
    """The place nearest to the place `now` at which the rank is within the first `first`, and the whole run of such
    places that it is in, with the rank at the place found. Of two equally near the smaller; None where there is
    none. Near is meant in the knob's values: `value` is the value at a place."""
    found = []
    for within, group in groupby(pieces, key=lambda p: p.rank is not None and p.rank <= first):
        if within:
            run = [*group]
            place = min(max(now, run[0].first), run[-1].last)
            found.append((abs(value(place) - value(now)), place, run))
    if not found:
        return None
    _, place, run = min(found, key=lambda f: f[:2])
    return place, Piece(run[0].first, run[-1].last, rank_at(run, place))


def rank_at(pieces: Sequence[Piece], place: int) -> int | None:
    """The rank at a place; None outside of all pieces too."""
    return next((p.rank for p in pieces if p.first <= place <= p.last), None)


def best(pieces: Sequence[Piece]) -> Piece | None:
    """The first piece of the best rank; None where the target is never ranked."""
    return min((p for p in pieces if p.rank is not None), key=lambda p: (p.rank, p.first), default=None)
