"""How far two judges agree beyond chance: Cohen's kappa over what both have judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from workbench.analysis.significance import LEAST_QUERIES, RESAMPLES, SEED
from workbench.errors import BadParameter
from workbench.sources.source import Qrel

Weights = Literal["none", "linear", "quadratic"]
_POWER = {"none": 0, "linear": 1, "quadratic": 2}

NAMES = ((0.0, "worse than chance"), (0.2, "slight"), (0.4, "fair"), (0.6, "moderate"), (0.8, "substantial"), (1.0, "almost perfect"))
"""Words for kappa up to each bound (Landis and Koch 1977): a custom, no law."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One pair that the judges graded differently."""

    query_id: str
    entity_id: str
    a: int
    b: int


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two judges over the pairs (query, document) that both judged. `share` is that of equal grades; `kappa` is over the
    grades as they are, `weighted` counts a distance by its square, `relevant` is over relevant or not (grade of at
    least 1); each is None where chance alone would make them agree. `low`, `high`: 95 % bootstrap interval of kappa,
    None for fewer than LEAST_QUERIES pairs. `table` maps (a's grade, b's grade) to pairs; `disagreements` come by
    distance, then ids."""

    both: int
    only_a: int
    only_b: int
    share: float | None
    kappa: float | None
    weighted: float | None
    relevant: float | None
    low: float | None
    high: float | None
    table: dict[tuple[int, int], int]
    disagreements: tuple[Disagreement, ...]

    @property
    def sentence(self) -> str:
        """The figures in one line."""
        if not self.both:
            return f"no pair was judged by both ({self.only_a} by the first alone, {self.only_b} by the second alone)"
        said = f"{self.both} pairs judged by both, {self.share:.0%} equal"
        if self.kappa is None:
            return f"{said}; kappa is not defined: both gave one and the same grade throughout"
        said += f"; kappa {self.kappa:.2f} ({named(self.kappa)})"
        if self.low is not None:
            said += f", 95% interval {self.low:.2f} to {self.high:.2f}"
        for what, value in (("weighted by squares", self.weighted), ("relevant or not", self.relevant)):
            said += f"; {what} {value:.2f}" if value is not None else ""
        return said


def agreement(a: Iterable[Qrel], b: Iterable[Qrel], *, seed: int = SEED, resamples: int = RESAMPLES) -> Agreement:
    """Compare two judges' grades. Raises BadParameter for a judge who graded one pair twice and differently."""
    first, second = _grades(a, "the first"), _grades(b, "the second")
    pairs = sorted(first.keys() & second.keys())
    x, y = [first[p] for p in pairs], [second[p] for p in pairs]
    low, high = _interval(x, y, seed, resamples)
    differing = [Disagreement(*p, first[p], second[p]) for p in pairs if first[p] != second[p]]
    return Agreement(
        len(pairs), len(first) - len(pairs), len(second) - len(pairs),
        sum(i == j for i, j in zip(x, y, strict=True)) / len(pairs) if pairs else None,
        kappa(x, y), kappa(x, y, "quadratic"), kappa([g > 0 for g in x], [g > 0 for g in y]), low, high,
        dict(sorted(Counter(zip(x, y, strict=True)).items())),
        tuple(sorted(differing, key=lambda d: (-abs(d.a - d.b), d.query_id, d.entity_id))),
    )  # fmt: skip


def kappa(a: Sequence[int], b: Sequence[int], weights: Weights = "none") -> float | None:
    """Cohen's kappa, 1 - observed / expected disagreement; from -1 to 1, 0 is what chance does, None where chance alone
    would agree throughout. `weights` count a disagreement by 1, its distance, or the distance's square.

    Source: Cohen, "A Coefficient of Agreement for Nominal Scales", 1960, and "Weighted Kappa", 1968. Raises
    BadParameter for two lengths.
    """
    if len(a) != len(b):
        raise BadParameter(f"two judges of the same pairs give as many grades, not {len(a)} and {len(b)}")
    if weights not in _POWER:
        raise BadParameter(f"unknown weights {weights!r}", do=f"Use {', '.join(_POWER)}")
    power, n = _POWER[weights], len(a)
    observed = sum(_distance(i, j, power) for i, j in zip(a, b, strict=True))
    of_a, of_b = Counter(a), Counter(b)
    expected = sum(p * q * _distance(i, j, power) for i, p in of_a.items() for j, q in of_b.items())
    return 1 - n * observed / expected if expected else None


def named(value: float) -> str:
    """The word for a kappa."""
    return next((word for bound, word in NAMES if value <= bound), NAMES[-1][1]) if value > 0 else NAMES[0][1]


def _distance(i: int, j: int, power: int) -> int:
    return abs(i - j) ** power if i != j else 0


def _grades(qrels: Iterable[Qrel], who: str) -> dict[tuple[str, str], int]:
    found: dict[tuple[str, str], int] = {}
    for q in qrels:
        if found.setdefault((q.query_id, q.entity_id), q.grade) != q.grade:
            raise BadParameter(f"{who} judge gave document {q.entity_id!r} two grades", where=f"query {q.query_id!r}", do="Keep one")
    return found


def _interval(a: Sequence[int], b: Sequence[int], seed: int, resamples: int) -> tuple[float | None, float | None]:
    """Percentile bootstrap over pairs, in the table of counts; resamples without a kappa are left out."""
    if len(a) < LEAST_QUERIES:
        return None, None
    import numpy as np

    grades = sorted({*a, *b})
    place = {g: n for n, g in enumerate(grades)}
    size = len(grades)
    counts = np.bincount([place[i] * size + place[j] for i, j in zip(a, b, strict=True)], minlength=size * size)
    drawn = np.random.default_rng(seed).multinomial(len(a), counts / len(a), size=resamples).reshape(resamples, size, size)
    observed = len(a) - np.trace(drawn, axis1=1, axis2=2)
    expected = len(a) - (drawn.sum(axis=2) * drawn.sum(axis=1)).sum(axis=1) / len(a)
    found = 1 - observed[expected > 0] / expected[expected > 0]
    if not len(found):
        return None, None
    low, high = np.percentile(found, [2.5, 97.5])
    return float(low), float(high)
