"""Where a polynomial changes its sign among the doubles, exactly: integer arithmetic, no tolerance.

A polynomial is its integer coefficients, lowest degree first. Roots are counted by Sturm's theorem on the
square-free part, and each is closed in between two neighbouring doubles; where Descartes' rule of signs leaves one
positive root, its sign alone finds it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import reduce
from math import gcd, lcm

from workbench.analysis.doubles import LARGEST, around, double, ordinal

Polynomial = tuple[int, ...]


def polynomial(coefficients: Iterable[Fraction | int]) -> Polynomial:
    """The polynomial of these coefficients times a positive number that makes them whole and coprime: same signs."""
    found = [Fraction(c) for c in coefficients]
    while found and found[-1] == 0:
        found.pop()
    scale = lcm(*(c.denominator for c in found)) if found else 1
    return _primitive([int(c * scale) for c in found])


def times(a: Sequence[Fraction], b: Sequence[Fraction]) -> list[Fraction]:
    """The product of two polynomials."""
    out = [Fraction(0)] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            out[i + j] += x * y
    return out


def sign_at(p: Polynomial, value: float) -> int:
    """-1, 0 or 1: the sign at a double, exactly."""
    return _sign(p, *value.as_integer_ratio())


def constant_runs(p: Polynomial, low: int, high: int) -> list[tuple[int, int, int]]:
    """(first, last, sign) over the doubles of the places `low` to `high`, both at least 0: runs of one sign."""
    marks = [m for m in _roots(p, low, high) if m[1] >= low and m[0] <= high]
    runs: list[tuple[int, int, int]] = []
    start = low
    for below, above in marks:
        # A root between two doubles ends a run at the lower one; a root at a double is a run of its own.
        ends = [(start, below)] if below != above else [(start, below - 1), (below, below)]
        for first, last in ends:
            _add(runs, p, first, last)
        start = above if below != above else above + 1
    _add(runs, p, start, high)
    return runs


def _add(runs: list[tuple[int, int, int]], p: Polynomial, first: int, last: int) -> None:
    if first > last:
        return
    sign = sign_at(p, double(first))
    if runs and runs[-1][2] == sign:
        runs[-1] = (runs[-1][0], last, sign)
    else:
        runs.append((first, last, sign))


def _roots(p: Polynomial, low: int, high: int) -> list[tuple[int, int]]:
    """The two neighbouring places around each distinct root of the places `low` to `high`, ascending."""
    if len(p) < 2:
        return []
    if len(p) == 2:
        root = Fraction(-p[0], p[1])
        return [around(root)] if abs(root) <= LARGEST else []
    variations = _variations(p)
    if variations == 0:
        return [(0, 0)] if p[0] == 0 else []
    if variations == 1 and p[0] != 0:
        return _single(p, low, min(high, _bound(p)))
    chain = _sturm(p)
    found = [(low, low)] if sign_at(p, double(low)) == 0 else []
    end = max(low, min(high, _bound(p)))
    _close_in(chain, low, end, _changes(chain, low), _changes(chain, end), found)
    return sorted(set(found))


def _single(p: Polynomial, low: int, high: int) -> list[tuple[int, int]]:
    """The one root of the places `low` to `high`, by the sign at its two sides; none where both are the same."""
    if low > high:
        return []
    left, right = sign_at(p, double(low)), sign_at(p, double(high))
    if left == 0 or right == 0:
        place = low if left == 0 else high
        return [(place, place)]
    if left == right:
        return []
    while high - low > 1:
        middle = (low + high) // 2
        sign = sign_at(p, double(middle))
        if sign == 0:
            return [(middle, middle)]
        low, high = (middle, high) if sign == left else (low, middle)
    return [(low, high)]


def _close_in(
    chain: Sequence[Polynomial], low: int, high: int, at_low: int, at_high: int, found: list[tuple[int, int]]
) -> None:
    """Halve (low, high] until each part with a root is one step wide."""
    if at_low == at_high:
        return
    if high - low == 1:
        found.append((high, high) if sign_at(chain[0], double(high)) == 0 else (low, high))
        return
    middle = (low + high) // 2
    here = _changes(chain, middle)
    _close_in(chain, low, middle, at_low, here, found)
    _close_in(chain, middle, high, here, at_high, found)


def _sturm(p: Polynomial) -> list[Polynomial]:
    """Sturm's chain of the square-free part."""
    derived = _derivative(p)
    common = _common(p, derived)
    if len(common) > 1:
        p = _primitive(_divided(p, common))
        derived = _derivative(p)
    chain = [p, derived]
    while len(chain[-1]) > 1:
        rest = _primitive([-c for c in _remainder(chain[-2], chain[-1])])
        if not rest:
            break
        chain.append(rest)
    return chain


def _changes(chain: Sequence[Polynomial], place: int) -> int:
    ratio = double(place).as_integer_ratio()
    signs = [s for p in chain if (s := _sign(p, *ratio))]
    return sum(a != b for a, b in zip(signs, signs[1:], strict=False))


def _sign(p: Polynomial, n: int, d: int) -> int:
    total, scale = 0, 1
    for c in reversed(p):
        total = total * n + c * scale
        scale *= d
    return (total > 0) - (total < 0)


def _variations(p: Polynomial) -> int:
    signs = [c > 0 for c in p if c]
    return sum(a != b for a, b in zip(signs, signs[1:], strict=False))


def _bound(p: Polynomial) -> int:
    """The place of a double above every root (Cauchy)."""
    most = 1 + Fraction(max(map(abs, p[:-1]), default=0), abs(p[-1]))
    return ordinal(LARGEST) if most >= LARGEST else around(most)[1]


def _derivative(p: Polynomial) -> Polynomial:
    return tuple(i * c for i, c in enumerate(p))[1:]


def _remainder(a: Sequence[int], b: Sequence[int]) -> list[int]:
    """A positive multiple of the remainder of a by b."""
    rest, lead = list(a), b[-1]
    while len(rest) >= len(b):
        factor, shift = rest[-1], len(rest) - len(b)
        rest = [abs(lead) * c for c in rest]
        for i, c in enumerate(b):
            rest[i + shift] -= (factor if lead > 0 else -factor) * c
        rest.pop()
        while rest and rest[-1] == 0:
            rest.pop()
    return rest


def _divided(a: Sequence[int], b: Sequence[int]) -> list[int]:
    """A positive multiple of a over b, which divides it."""
    rest, out = [Fraction(c) for c in a], [Fraction(0)] * (len(a) - len(b) + 1)
    for shift in reversed(range(len(out))):
        out[shift] = rest[shift + len(b) - 1] / b[-1]
        for i, c in enumerate(b):
            rest[shift + i] -= out[shift] * c
    return list(polynomial(out))


def _common(a: Polynomial, b: Polynomial) -> Polynomial:
    while b:
        a, b = b, _primitive(_remainder(a, b))
    return a


def _primitive(p: Sequence[int]) -> Polynomial:
    common = reduce(gcd, p, 0)
    return tuple(c // common for c in p) if common > 1 else tuple(p)
