"""The doubles as a row of integers: neighbours differ by one, so that a search over them ends and misses none."""

from __future__ import annotations

import struct
import sys
from fractions import Fraction

LARGEST = sys.float_info.max


def ordinal(value: float) -> int:
    """The place of a finite double: 0 for 0.0, 1 for the smallest above it, negative below."""
    bits = struct.unpack("<q", struct.pack("<d", abs(value)))[0]
    return bits if value > 0 else -bits


def double(place: int) -> float:
    """The double at a place: the inverse of `ordinal`."""
    value = struct.unpack("<d", struct.pack("<q", abs(place)))[0]
    return value if place >= 0 else -value


def around(value: Fraction) -> tuple[int, int]:
    """The places of the two doubles next to a number, below and above; twice the same where it is a double."""
    if abs(value) > LARGEST:
        raise OverflowError(value)
    near = float(value)
    place, exact = ordinal(near), Fraction(near)
    if exact == value:
        return place, place
    return (place, place + 1) if exact < value else (place - 1, place)


def plainest(low: float, high: float, near: float) -> float:
    """The number of [low, high] with the fewest decimals; of equals the one nearest to `near`.

    `near` is one of the two ends or lies between them.
    """
    for decimals in range(0, 18):
        step = Fraction(1, 10**decimals)
        below, above = (Fraction(near) // step) * step, -((-Fraction(near)) // step) * step
        held = [float(v) for v in (below, above) if low <= float(v) <= high]
        if held:
            return min(held, key=lambda v: (abs(Fraction(v) - Fraction(near)), v))
    return near
