"""A cut inside a tie is made by point id: engines return equal scores in an order of their own."""

from __future__ import annotations

from collections.abc import Callable

from workbench.stores.points import Point
from workbench.types import point_order

Scored = tuple[Point, float]

# How far beyond the cut the first read goes; enough for all but collections of copies, about a quarter of the
# 256 candidates that the records read.
BEYOND = 64
_WIDER = 4


def best(read: Callable[[int], list[Scored]], limit: int) -> list[Scored]:
    """The best `limit` of what `read(n)` gives best first: score descending, then point id ascending.

    Reads `limit + BEYOND` and goes on, four times as far each time, until the score at the cut has changed or the
    engine has no more: so the rule holds for every point, not only for those that the engine would have returned.
    """
    wanted = limit + BEYOND
    rows = read(wanted)
    while len(rows) == wanted and rows[-1][1] == rows[limit - 1][1]:
        wanted *= _WIDER
        rows = read(wanted)
    return sorted(rows, key=lambda row: (-row[1], point_order(row[0].id)))[:limit]
