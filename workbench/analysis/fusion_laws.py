"""The fusions as formulas of one row: exact scores, scores of whole columns, and score differences as polynomials.

A law says the same as the fusion of its name, which stays the judge: what is found with a law is run with the
fusion before it is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from workbench.analysis.sign_changes import Polynomial, polynomial, times
from workbench.registry import Stage
from workbench.retrieval.knobs import WEIGHT
from workbench.types import PointId, point_order


class Row(NamedTuple):
    """One row: by list its 1-based rank, and its score there."""

    id: PointId
    ranks: Mapping[str, int]
    scores: Mapping[str, float]


Columns = Mapping[str, tuple[np.ndarray, np.ndarray]]
"""By list: (ranks, 0 where a row is absent; scores), one entry a row."""


@dataclass(frozen=True)
class Law:
    """One fusion's law. `knobs` are those of its knobs under which a score is a rational function."""

    fusion: Stage

    @property
    def knobs(self) -> tuple[str, ...]:
        return ()

    def counts(self, row: Row) -> bool:
        """Whether the fused ranking holds the row."""
        return bool(row.ranks)

    def tie(self, row: Row) -> tuple[int, Any]:
        """What decides between rows of the same score: the smaller stands first. The best single rank, then the id."""
        return min(row.ranks.values()), point_order(row.id)

    def exact(self, row: Row) -> Fraction:
        raise NotImplementedError

    def column(self, lists: Columns) -> np.ndarray:
        """The scores of all rows as doubles; -inf where the fused ranking lacks a row."""
        raise NotImplementedError

    def difference(self, knob: str, target: Row, rival: Row) -> Polynomial:
        """A polynomial in the knob whose sign, at every value of at least 0, is that of the target's score less the
        rival's."""
        raise NotImplementedError


@dataclass(frozen=True)
class Rrf(Law):
    """Σ weight / (k + rank)."""

    def _weight(self, name: str) -> float:
        return dict(self.fusion.get("weights", ())).get(name, 1)

    @property
    def knobs(self) -> tuple[str, ...]:
        return ("k", WEIGHT)

    def counts(self, row: Row) -> bool:
        return any(self._weight(n) for n in row.ranks)

    def exact(self, row: Row) -> Fraction:
        k = Fraction(self.fusion["k"])
        return sum((Fraction(self._weight(n)) / (k + r) for n, r in row.ranks.items()), Fraction(0))

    def column(self, lists: Columns) -> np.ndarray:
        counted = {n: ranks for n, (ranks, _) in lists.items() if self._weight(n)}
        if not counted:
            return np.full(len(next(iter(lists.values()))[0]), -np.inf)
        total = np.zeros(len(next(iter(counted.values()))))
        held = np.zeros(len(total), bool)
        for name, ranks in counted.items():
            total += _shares(self.fusion["k"], self._weight(name), len(ranks))[ranks]
            held |= ranks > 0
        total[~held] = -np.inf
        return total

    def difference(self, knob: str, target: Row, rival: Row) -> Polynomial:
        if knob == "k":
            return self.over_k(target, rival)
        name = knob.removeprefix(WEIGHT)

        def line(row: Row) -> tuple[Fraction, Fraction]:
            rest = {n: r for n, r in row.ranks.items() if n != name}
            return self.exact(Row(row.id, rest, row.scores)), self.slope(name, row)

        (fixed, slope), (other_fixed, other_slope) = line(target), line(rival)
        return polynomial([fixed - other_fixed, slope - other_slope])

    def slope(self, name: str, row: Row) -> Fraction:
        """What the row gains by one more of a list's weight."""
        return 1 / (Fraction(self.fusion["k"]) + row.ranks[name]) if name in row.ranks else Fraction(0)

    def shares(self, row: Row) -> Iterable[tuple[int, Fraction]]:
        """(rank, share) of every part: the row's score is the sum of share / (k + rank)."""
        return ((rank, Fraction(self._weight(name))) for name, rank in row.ranks.items())

    def over_k(self, target: Row, rival: Row) -> Polynomial:
        """The numerator over the product of all (k + rank), which is positive: equal ranks are one pole."""
        poles: dict[int, Fraction] = {}
        for row, sign in ((target, 1), (rival, -1)):
            for rank, share in self.shares(row):
                poles[rank] = poles.get(rank, Fraction(0)) + sign * share
        poles = {rank: share for rank, share in poles.items() if share}
        total = [Fraction(0)] * max(len(poles), 1)
        for rank, share in poles.items():
            part = [share]
            for other in poles:
                if other != rank:
                    part = times(part, [Fraction(other), Fraction(1)])
            total = [a + b for a, b in zip(total, part, strict=True)]
        return polynomial(total)


@dataclass(frozen=True)
class RrfPriors(Rrf):
    """RRF, and weight × value / (k + 1) of every prior."""

    def _prior(self, name: str) -> bool:
        return name in self.fusion["priors"]

    def _ranked(self, row: Row) -> Row:
        return Row(row.id, {n: r for n, r in row.ranks.items() if not self._prior(n)}, row.scores)

    def counts(self, row: Row) -> bool:
        return super().counts(self._ranked(row))

    def tie(self, row: Row) -> tuple[int, Any]:
        return super().tie(self._ranked(row))

    def exact(self, row: Row) -> Fraction:
        of_priors = (Fraction(self._weight(n)) * self.slope(n, row) for n in row.ranks if self._prior(n))
        return super().exact(self._ranked(row)) + sum(of_priors, Fraction(0))

    def column(self, lists: Columns) -> np.ndarray:
        total = super().column({n: c for n, c in lists.items() if not self._prior(n)})
        for name, (ranks, values) in lists.items():
            if self._prior(name):
                total = total + np.where(ranks > 0, self._weight(name) * np.where(ranks > 0, values, 0.0) / (self.fusion["k"] + 1), 0.0)
        return total

    def slope(self, name: str, row: Row) -> Fraction:
        if not self._prior(name):
            return super().slope(name, row)
        return Fraction(row.scores[name]) / (Fraction(self.fusion["k"]) + 1) if name in row.ranks else Fraction(0)

    def shares(self, row: Row) -> Iterable[tuple[int, Fraction]]:
        yield from super().shares(self._ranked(row))
        yield from ((1, Fraction(self._weight(n)) * Fraction(row.scores[n])) for n in row.ranks if self._prior(n))


@dataclass(frozen=True)
class MaxMin(Law):
    """max + bonus × min of the two scores, the lexical one over the best."""

    top: float = 1.0

    @property
    def knobs(self) -> tuple[str, ...]:
        return ("bonus",)

    def counts(self, row: Row) -> bool:
        return bool({"lexical", "semantic"} & set(row.ranks))

    def _shares(self, row: Row) -> list[Fraction]:
        tops = {"lexical": self.top, "semantic": 1.0}
        return sorted(
            Fraction(row.scores[n] / top if top > 0 else 0.0) for n, top in tops.items() if n in row.ranks
        )

    def exact(self, row: Row) -> Fraction:
        strong, weak = self._line(row)
        return strong + Fraction(self.fusion["bonus"]) * weak

    def _line(self, row: Row) -> tuple[Fraction, Fraction]:
        shares = self._shares(row)
        return shares[-1], (shares[0] if len(shares) == 2 else Fraction(0))

    def column(self, lists: Columns) -> np.ndarray:
        found = []
        for name, top in (("lexical", self.top), ("semantic", 1.0)):
            if name in lists:
                ranks, scores = lists[name]
                share = scores / top if top > 0 else np.zeros(len(scores))
                found.append(np.where(ranks > 0, share, -np.inf))
        strong, weak = np.maximum.reduce(found), np.minimum.reduce(found)
        alone = ~np.isfinite(weak) if len(found) == 2 else np.ones(len(weak), bool)
        return strong + self.fusion["bonus"] * np.where(alone, 0.0, weak)

    def difference(self, knob: str, target: Row, rival: Row) -> Polynomial:
        (strong, weak), (other_strong, other_weak) = self._line(target), self._line(rival)
        return polynomial([strong - other_strong, weak - other_weak])


@dataclass(frozen=True)
class VerbatimFirst(Rrf):
    """The verbatim list's rows in its order, then the rest by RRF."""

    @property
    def knobs(self) -> tuple[str, ...]:
        return ("k",)

    # A row of the verbatim list stands above every other: a step is more than any RRF sum of a few lists.
    _STEP, _LAST = 1_000, 10**9

    def exact(self, row: Row) -> Fraction:
        rest = super().exact(_without_verbatim(row))
        return rest + (self._STEP * (self._LAST - row.ranks["verbatim"]) if "verbatim" in row.ranks else 0)

    def column(self, lists: Columns) -> np.ndarray:
        rest = {n: c for n, c in lists.items() if n != "verbatim"}
        scores = super().column(rest)
        if "verbatim" not in lists:
            return scores
        ranks = lists["verbatim"][0]
        return np.where(ranks > 0, float(self._STEP) * (self._LAST - ranks), scores)

    def difference(self, knob: str, target: Row, rival: Row) -> Polynomial:
        places = [row.ranks.get("verbatim", self._LAST) for row in (target, rival)]
        if places[0] != places[1]:
            return (1,) if places[0] < places[1] else (-1,)
        return self.over_k(_without_verbatim(target), _without_verbatim(rival))


@dataclass(frozen=True)
class Single(Law):
    """One list as it is."""

    def counts(self, row: Row) -> bool:
        return self.fusion["name"] in row.ranks

    def exact(self, row: Row) -> Fraction:
        return Fraction(-row.ranks[self.fusion["name"]])

    def column(self, lists: Columns) -> np.ndarray:
        ranks = lists[self.fusion["name"]][0]
        return np.where(ranks > 0, -ranks.astype(float), -np.inf)


_LAWS = {"rrf": Rrf, "rrf_priors": RrfPriors, "max_min": MaxMin, "verbatim_first": VerbatimFirst, "single": Single}


def law_of(fusion: Stage, lexical_top: float = 1.0) -> Law | None:
    """The law of a fusion, None for one of one's own. `lexical_top` is the best lexical score."""
    made = _LAWS.get(fusion.name)
    if made is MaxMin:
        return MaxMin(fusion, lexical_top)
    return made(fusion) if made else None


@lru_cache(maxsize=32)
def _shares(k: float, weight: float, most: int) -> np.ndarray:
    """weight / (k + rank) of every rank up to `most`; 0 at 0, which is no rank."""
    shares = np.zeros(most + 1)
    shares[1:] = weight / (k + np.arange(1, most + 1))
    return shares


def _without_verbatim(row: Row) -> Row:
    return Row(row.id, {n: r for n, r in row.ranks.items() if n != "verbatim"}, row.scores)


def beats(law: Law, rival: Row, target: Row) -> bool:
    """Whether a rival stands above the target, by the exact scores and the tie rule."""
    mine, other = law.exact(target), law.exact(rival)
    return other > mine or (other == mine and law.tie(rival) < law.tie(target))
