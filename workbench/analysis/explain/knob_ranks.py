"""A target's rank as a function of one parameter, over frozen lists.

Lists at a smaller cap, limit or floor are their deep selves with the rows left out that the setting does not read, so
a rank in them is a count. Under a parameter in which scores are rational, the values at which a row changes places
with the target are found among the floats: a difference of two scores is a polynomial over a positive denominator,
and its signs are found exactly between the places where its derivative changes sign.
"""

from __future__ import annotations

import struct
import sys
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby
from math import gcd, lcm
from typing import Any

import numpy as np

from workbench.registry import Stage
from workbench.retrieval.frozen import Frozen, deepened
from workbench.retrieval.fusions import Formula, Row, formula_of, share
from workbench.retrieval.variant import PRIOR, Variant
from workbench.types import Mode, PointId, Ranking, Result, point_order

NEVER = np.iinfo(np.int64).max
"""The position of a row that a reading never comes to."""

# Floats that differ by less than this, or by this share of the larger, are compared exactly.
_NEAR = 1e-9

Columns = Mapping[str, tuple[np.ndarray, np.ndarray]]
"""By list: (ranks, 0 where a row is absent; scores), one entry per row."""


@dataclass(frozen=True, slots=True)
class Setting:
    """The three cuts of a reading: rows of the lexical reading, nearest rows, and the least cosine."""

    lexical: int
    semantic: int
    floor: float = -np.inf


class ListColumns:
    """All rows of a variant's frozen lists. `ids` are the rows, `names` the lists in their order."""

    def __init__(self, frozen: Frozen, chosen: Variant, mode: Mode) -> None:
        self.variant = chosen
        whole = deepened(chosen, frozen.depth).replace(distinct=False)
        deep: Result = frozen.replay(whole, mode=mode, limit=1, offset=0)
        self.names = tuple(r.name for r in deep.lists)
        self.ids: list[PointId] = list(dict.fromkeys(i for r in deep.lists for i in r.ids))
        self.index = {i: n for n, i in enumerate(self.ids)}
        self._order = {
            r.name: np.array([self.index[i] for i in r.ids], dtype=np.int64) for r in deep.lists
        }
        self._scores = {r.name: self._spread(r) for r in deep.lists}
        channels, derived, self.fusion = chosen.stages(mode)
        made = list(zip(derived, deep.lists[len(channels) :], strict=True))
        self.derived = {stage: r.name for stage, r in made}
        self._priors = {r.name for stage, r in made if stage.kind == PRIOR}
        own = [r for stage, r in zip(channels, deep.lists, strict=False) if stage in chosen.own]
        self._own = np.isin(np.arange(len(self.ids)), [self.index[i] for r in own for i in r.ids])
        # Of one cut only its own lists change.
        self._last: dict[str, tuple[Any, tuple[np.ndarray, np.ndarray]]] = {}
        self.lexical = self._positions(deep, "lexical")
        self.semantic = self._positions(deep, "semantic")
        cosines = next(
            (np.array(r.scores) for r in deep.lists if r.name == "semantic"), np.zeros(0)
        )
        self.cosines = np.sort(cosines)[::-1]
        self.labels = [frozen.entities[i] for i in self.ids] if chosen.distinct else None

    def setting(self) -> Setting:
        """The variant's own cuts."""
        found = {"lexical": NEVER, "semantic": NEVER, "floor": -np.inf}
        lexical, semantic = self.variant.lexical, self.variant.semantic
        if lexical is not None:
            policy = lexical.get("policy")
            found["lexical"] = policy["cap"] if policy is not None else lexical.get("limit", NEVER)
        if semantic is not None:
            found["semantic"] = semantic.get("limit", NEVER)
            found["floor"] = -np.inf if semantic.get("floor") is None else semantic["floor"]
        return Setting(**found)

    def deepest(self, side: str) -> Setting:
        """The variant's own setting with the whole frozen reading of one side."""
        return replace(self.setting(), **{side: NEVER - 1})

    def at(self, setting: Setting) -> Columns:
        """The ranks and scores of all rows in every list at a setting."""
        read = self.lexical <= setting.lexical
        near = self.semantic <= setting.semantic
        if np.isfinite(setting.floor):
            cosines = self._scores.get("semantic", np.full(len(self.ids), -np.inf))
            near &= cosines >= setting.floor
        both = setting.lexical, setting.semantic, setting.floor
        keep = {"lexical": (read, both[:1]), "semantic": (near, both[1:])}
        keep |= dict.fromkeys(self.derived.values(), (read | near, both))
        # A prior has a value for whatever any channel found, a custom one too.
        keep |= dict.fromkeys(self._priors, (read | near | self._own, both))
        out = {}
        for name, order in self._order.items():
            kept, key = keep.get(name, (np.ones(len(self.ids), bool), ()))
            if self._last.get(name, (None,))[0] != key:
                ranks = np.zeros(len(self.ids), dtype=np.int64)
                held = kept[order]
                ranks[order] = np.where(held, np.cumsum(held), 0)
                self._last[name] = key, (ranks, self._scores[name])
            out[name] = self._last[name][1]
        return out

    def rank(self, columns: Columns, target: PointId, fusion: Stage | None = None) -> int | None:
        """The target's fused rank over these columns, exact; None if the ranking lacks it."""
        place = self.index.get(target)
        if place is None:
            return None
        formula = formula_of(fusion or self.fusion)
        if formula is None:
            return self._by_fusion(columns, target, fusion or self.fusion)
        rows = RowsOf(self, columns, formula)
        scores = rows.scores()
        mine = scores[place]
        if mine == -np.inf:
            return None
        near = np.abs(scores - mine) <= _NEAR * max(1.0, abs(mine))
        above = scores > mine
        above[near] = False
        for other in np.flatnonzero(near):
            above[other] = other != place and rows.beats(other, place)
        if self.labels is None:
            return int(above.sum()) + 1
        entities = {self.labels[n] for n in np.flatnonzero(above)}
        return None if self.labels[place] in entities else len(entities) + 1

    def lists(self, columns: Columns) -> tuple[Ranking, ...]:
        """The columns as the rankings that they are of."""
        out = []
        for name in self.names:
            ranks, scores = columns[name]
            order = self._order[name][ranks[self._order[name]] > 0]
            ids = tuple(self.ids[n] for n in order)
            out.append(Ranking(name, ids, tuple(float(scores[n]) for n in order)))
        return tuple(out)

    def _by_fusion(self, columns: Columns, target: PointId, fusion: Stage) -> int | None:
        ids = fusion(self.lists(columns)).ranking.ids
        if target not in ids:
            return None
        above = ids[: ids.index(target)]
        if self.labels is None:
            return len(above) + 1
        entities = {self.labels[self.index[i]] for i in above}
        return None if self.labels[self.index[target]] in entities else len(entities) + 1

    def _spread(self, ranking: Ranking) -> np.ndarray:
        out = np.full(len(self.ids), -np.inf)
        out[self._order[ranking.name]] = ranking.scores
        return out

    def _positions(self, deep: Result, name: str) -> np.ndarray:
        """The place of each row in what a channel read, before its list was ordered; NEVER if it was not read."""
        out = np.full(len(self.ids), NEVER, dtype=np.int64)
        if name in self.names:
            for place, point_id in enumerate(deep.evidence[name].ids, 1):
                if point_id in self.index:
                    out[self.index[point_id]] = place
        return out


class RowsOf:
    """The rows of columns as a fusion's formula sees them."""

    def __init__(self, lists: ListColumns, columns: Columns, formula: Formula) -> None:
        self.lists, self.columns, self.formula = lists, columns, formula
        self.sizes = {n: int(r.max(initial=0)) for n, (r, _) in columns.items()}
        self._tops = {
            n: float(np.max(s[r > 0], initial=0.0))
            for n, (r, s) in columns.items()
            if n in formula.traits.over_best
        }

    def row(self, place: int) -> Row:
        """One row."""
        ranks = {n: int(r[place]) for n, (r, _) in self.columns.items() if r[place]}
        return self.made(ranks, {n: float(self.columns[n][1][place]) for n in ranks})

    def made(self, ranks: Mapping[str, int], scores: Mapping[str, float]) -> Row:
        """A row of these ranks and raw scores."""
        ranked = {n: r for n, r in ranks.items() if n not in self.formula.priors}
        shares = {n: share(s, self._tops[n]) if n in self._tops else s for n, s in scores.items()}
        return Row(ranked, shares, self.sizes)

    def held(self) -> np.ndarray:
        """The places of the rows that some list has."""
        columns = [r > 0 for r, _ in self.columns.values()]
        return np.flatnonzero(np.logical_or.reduce(columns)) if columns else np.zeros(0, np.int64)

    def scores(self) -> np.ndarray:
        """(rows,) the scores as floats; -inf for rows that the fused ranking lacks."""
        if self.formula.traits.additive:
            return self._additive()
        out = np.full(len(self.lists.ids), -np.inf)
        names = list(self.columns)
        held = sum(((self.columns[n][0] > 0).astype(np.int64) << b for b, n in enumerate(names)))
        for pattern in np.unique(held):
            have = [n for b, n in enumerate(names) if pattern >> b & 1]
            chosen = held == pattern
            ranks = {
                n: self.columns[n][0][chosen].astype(float)
                for n in have
                if n not in self.formula.priors
            }
            scores = {n: self._share(n, self.columns[n][1][chosen]) for n in have}
            if parts := self.formula.parts(Row(ranks, scores, self.sizes)):
                out[chosen] = sum(parts.values())
        return out

    def _additive(self) -> np.ndarray:
        ranks, scores = {}, {}
        for name, (r, s) in self.columns.items():
            scores[name] = np.where(r > 0, s, 0.0)
            if name not in self.formula.priors:
                ranks[name] = np.where(r > 0, r, np.inf)
        parts = self.formula.parts(Row(ranks, scores, self.sizes))
        counted = [self.columns[n][0] > 0 for n in parts if n in ranks]
        if not counted:
            return np.full(len(self.lists.ids), -np.inf)
        return np.where(np.logical_or.reduce(counted), sum(parts.values()), -np.inf)

    def _share(self, name: str, scores: np.ndarray) -> np.ndarray:
        top = self._tops.get(name)
        return scores if top is None else scores / top if top > 0 else np.zeros(len(scores))

    def tie(self, place: int) -> tuple[Any, ...]:
        """What decides between rows of the same score: the best single rank, then the id; the smaller is first."""
        return min(self.row(place).ranks.values()), point_order(self.lists.ids[place])

    def beats(self, rival: int, target: int) -> bool:
        """True if a rival is above the target, by the exact scores and the tie rule."""
        mine, other = (self.formula.exact(self.row(p)) for p in (target, rival))
        return other > mine or (other == mine and self.tie(rival) < self.tie(target))


def differences(
    rows: RowsOf, parameter: str, target: int, rivals: Iterable[int]
) -> dict[int, Polynomial]:
    """By rival, a polynomial in a parameter whose sign, at every value of at least 0, is that of the target's score
    less the rival's. The parameter is one of the formula's `linear` or `rational` ones."""
    linear = parameter.partition(".")[0] in rows.formula.traits.linear
    samples: dict[tuple[int, int], Fraction] = {}
    made = {place: rows.row(place) for place in (target, *rivals)}

    def value(place: int, x: int) -> Fraction:
        if (place, x) not in samples:
            samples[place, x] = formulas(x).exact(made[place])
        return samples[place, x]

    known: dict[int, Formula] = {}

    def formulas(x: int) -> Formula:
        if x not in known:
            known[x] = rows.formula.at(parameter, x)
        return known[x]

    out = {}
    for rival in rivals:
        if linear:
            # Not at 0: a row that only lists of weight 0 have is not ranked, and loses its priors with that.
            one, two = (value(target, x) - value(rival, x) for x in (1, 2))
            out[rival] = polynomial([2 * one - two, two - one])
            continue
        poles = {1, *made[target].ranks.values(), *made[rival].ranks.values()}
        at = []
        for x in range(len(poles) + 1):
            scale = 1
            for pole in poles:
                scale *= x + pole
            at.append((value(target, x) - value(rival, x)) * scale)
        out[rival] = through(at)
    return out


Polynomial = tuple[int, ...]
"""Whole coefficients without a common factor, lowest degree first."""


def polynomial(coefficients: Iterable[Fraction | int]) -> Polynomial:
    """The polynomial times a positive number that makes its coefficients whole and coprime: the same signs."""
    found = [Fraction(c) for c in coefficients]
    while found and found[-1] == 0:
        found.pop()
    scale = lcm(*(c.denominator for c in found)) if found else 1
    whole = [int(c * scale) for c in found]
    common = gcd(*whole) or 1
    return tuple(c // common for c in whole)


def through(values: Sequence[Fraction]) -> Polynomial:
    """The polynomial with these values at 0, 1, 2, …: Newton's forward differences."""
    out, basis = [Fraction(0)] * len(values), [Fraction(1)]
    left = list(values)
    for n in range(len(values)):
        for degree, b in enumerate(basis):
            out[degree] += left[0] * b
        left = [b - a for a, b in zip(left, left[1:], strict=False)]
        # x (x - 1) … (x - n) / (n + 1)!
        grown = [Fraction(0), *basis]
        for degree, b in enumerate(basis):
            grown[degree] -= n * b
        basis = [g / (n + 1) for g in grown]
    return polynomial(out)


def sign_at(p: Polynomial, value: float) -> int:
    """-1, 0 or 1: the sign at a float, exactly."""
    n, d = value.as_integer_ratio()
    total, scale = 0, 1
    for c in reversed(p):
        total = total * n + c * scale
        scale *= d
    return (total > 0) - (total < 0)


def sign_runs(p: Polynomial, low: int, high: int) -> list[tuple[int, int, int]]:
    """(first, last, sign) over the floats from ordinal `low` to `high`, both at least 0: runs of one sign.

    Between two changes of its derivative's sign a polynomial is monotone, so its signs at both ends tell all.
    """
    signs = {(c > 0) - (c < 0) for c in p} - {0}
    if len(signs) < 2 and (low > 0 or len(p) < 2 or p[0]):
        return [(low, high, signs.pop() if signs else 0)]
    derivative = polynomial(n * c for n, c in enumerate(p) if n)
    runs: list[tuple[int, int, int]] = []

    def add(first: int, last: int, sign: int) -> None:
        if runs and runs[-1][2] == sign:
            first = runs.pop()[0]
        runs.append((first, last, sign))

    for first, last, _ in sign_runs(derivative, low, high):
        while first <= last:
            sign, end = sign_at(p, double(first)), last
            if sign_at(p, double(last)) != sign:
                below, above = first, last
                while above - below > 1:
                    middle = (below + above) // 2
                    below, above = (
                        (middle, above) if sign_at(p, double(middle)) == sign else (below, middle)
                    )
                end = below
            add(first, end, sign)
            first = end + 1
    return runs


LARGEST = sys.float_info.max


def ordinal(value: float) -> int:
    """Order-preserving map of finite floats to integers: 0 for 0.0, 1 for the smallest above it, negative below."""
    bits = struct.unpack("<q", struct.pack("<d", abs(value)))[0]
    return bits if value > 0 else -bits


def double(place: int) -> float:
    """The float of an ordinal: the inverse of `ordinal`."""
    value = struct.unpack("<d", struct.pack("<q", abs(place)))[0]
    return value if place >= 0 else -value


def plainest(low: float, high: float, near: float) -> float:
    """The number of [low, high] with the fewest decimals; of equals the one nearest to `near`, which is within."""
    for decimals in range(0, 18):
        step = Fraction(1, 10**decimals)
        below, above = (Fraction(near) // step) * step, -((-Fraction(near)) // step) * step
        held = [float(v) for v in (below, above) if low <= float(v) <= high]
        if held:
            return min(held, key=lambda v: (abs(Fraction(v) - Fraction(near)), v))
    return near


@dataclass(frozen=True, slots=True)
class Piece:
    """The target's rank at every place from `first` to `last`; None if the ranking lacks it.

    A place is a whole number: the parameter's value if it is whole, else the ordinal of a float.
    """

    first: int
    last: int
    rank: int | None


@dataclass(frozen=True, slots=True)
class Rival:
    """Another row and the places at which it is above the target. `label` is what takes up a rank: the row, or its
    entity if each counts once; `own` marks a row of the target's own entity."""

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
    """The place nearest to `now` at which the rank is within the first `first`, and the whole run of such places
    that it is in, with the rank at that place; None if there is none. Of two equally near the smaller. Near is meant
    in the parameter's values: `value` is the value at a place."""
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
    """The first piece of the best rank; None if the target is never ranked."""
    return min(
        (p for p in pieces if p.rank is not None), key=lambda p: (p.rank, p.first), default=None
    )
