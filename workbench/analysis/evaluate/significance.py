"""Is a difference more than chance: interval, randomisation test, wins, and what the set can resolve.

Everything is paired by query, `difference = b - a`, and seeded. Swapping the two sides mirrors the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

from workbench.errors import BadParameter

if TYPE_CHECKING:
    import numpy as np

SEED = 20260101
CONFIDENCE = 0.95

# So many that a p-value near 0.05 has a standard error of 0.002; (9,999 + 1) makes the steps even.
RESAMPLES = 9_999

# Two values nearer than this are a tie. Equal ranks give equal values: only rounding lies below it.
TIE_WIDTH = 1e-9

# With fewer queries a bootstrap interval promises too much: at 5 queries a "95 %" interval covered 45 to 66 %
# of the truths in simulation, at 25 and more 92 to 96 %. So none is given.
LEAST_QUERIES = 10

# From 10 to here it covered 71 to 92 %, which a report has to say.
SMALL_SET = 25

# Up to so many differing queries every one of the 2^d sign patterns is tried: 8,192 are fewer than RESAMPLES.
_EXACT_UP_TO = 13

# Floats resampled at a time: 32 MB.
_BATCH_FLOATS = 4_000_000


@dataclass(frozen=True, slots=True)
class Paired:
    """What n paired queries say of `difference = mean(b) - mean(a)`.

    `low`, `high`: percentile bootstrap interval; None under LEAST_QUERIES. `p`: two-sided randomisation test;
    `p_floor`: the smallest that it could be, 2 / 2^d with d `differing` queries or 1 / (resamples + 1).
    `effect`: the difference in standard deviations of the queries' differences. `wins`: queries where b is
    better by more than `tie_width`. `resolution`: half the interval's width, the smallest difference that
    this query set can resolve; None where there is no interval, or where no query differs. All but the counts
    are None without queries."""

    n: int
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    p_floor: float
    effect: float | None
    wins: int
    ties: int
    losses: int
    differing: int
    resolution: float | None


def paired(
    a: Sequence[float],
    b: Sequence[float],
    *,
    seed: int = SEED,
    tie_width: float = TIE_WIDTH,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> Paired:
    """Compare two variants' values of the same queries in one order. Raises BadParameter for two lengths."""
    if len(a) != len(b):
        raise BadParameter(
            f"paired values need the same queries, not {len(a)} and {len(b)} of them"
        )
    import numpy as np

    differences = np.asarray(b, dtype=float) - np.asarray(a, dtype=float)
    return paired_rows(
        differences[None, :],
        seed=seed,
        tie_width=tie_width,
        resamples=resamples,
        confidence=confidence,
    )[0]


def paired_rows(
    differences: np.ndarray,
    *,
    seed: int = SEED,
    tie_width: float = TIE_WIDTH,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> list[Paired]:
    """`paired` for each row of differences, shape (comparisons, queries); rows share the resamples."""
    import numpy as np

    if tie_width < 0 or resamples < 1 or not 0 < confidence < 1:
        raise BadParameter(
            f"tie width {tie_width}, resamples {resamples} or confidence {confidence} is out of range"
        )
    if not np.isfinite(differences).all():
        raise BadParameter("a difference is not a finite number")
    bounds = intervals(differences, seed=seed, resamples=resamples, confidence=confidence)
    return [
        _paired(row, low, high, seed, tie_width, resamples)
        for row, (low, high) in zip(differences, bounds, strict=True)
    ]


def intervals(
    rows: np.ndarray,
    *,
    seed: int = SEED,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> list[tuple[float | None, float | None]]:
    """The bootstrap interval of each row's mean, rows of shape (comparisons, queries); (None, None) where
    there are fewer than LEAST_QUERIES.

    Percentile method, its level expanded so that small sets are not promised too narrow an interval
    (the expanded percentile interval of Hesterberg, "What Teachers Should Know About the Bootstrap", 2015).
    """
    count, n = rows.shape
    if n < LEAST_QUERIES or not count:
        return [(None, None)] * count
    import numpy as np
    from scipy import stats

    tail = stats.norm.cdf(sqrt(n / (n - 1)) * stats.t.ppf((1 - confidence) / 2, n - 1))
    found = stats.bootstrap(
        (rows,),
        np.mean,
        axis=-1,
        vectorized=True,
        n_resamples=resamples,
        method="percentile",
        confidence_level=1 - 2 * tail,
        batch=max(1, _BATCH_FLOATS // rows.size),
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return [(float(low), float(high)) for low, high in zip(found.low, found.high, strict=True)]


def randomisation_p(
    differences: np.ndarray, *, seed: int = SEED, resamples: int = RESAMPLES
) -> float:
    """Two-sided p of the paired randomisation test: how often random signs move the mean as far from 0.

    Exact over all sign patterns where few queries differ (queries that do not differ change nothing); else
    (hits + 1) / (resamples + 1). 1 where fewer than two queries differ.
    """
    import numpy as np
    from scipy import stats

    moved = differences[differences != 0]
    if len(moved) < 2:  # both signs of one difference are as far from 0
        return 1.0

    # The distance from 0, one-sided: so that swapping the variants gives the same p to the last digit.
    def distance(values: np.ndarray, axis: int) -> np.ndarray:
        return np.abs(values.sum(axis=axis))

    if len(moved) <= _EXACT_UP_TO:
        found = stats.permutation_test(
            (moved,),
            distance,
            permutation_type="samples",
            vectorized=True,
            n_resamples=np.inf,
            alternative="greater",
        )
    else:
        rng, sizes = np.random.default_rng(seed), np.abs(moved)
        found = stats.monte_carlo_test(
            moved,
            lambda size: sizes * (rng.integers(0, 2, size=size, dtype=np.int8) * 2.0 - 1.0),
            distance,
            vectorized=True,
            n_resamples=resamples,
            batch=max(1, _BATCH_FLOATS // len(moved)),
            alternative="greater",
        )
    return float(found.pvalue)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down adjusted p-values, in the order given; None stays None and counts as no comparison.

    The i-th smallest of m is multiplied by m - i + 1, never falls below the one before it, and ends at 1
    (Holm, "A Simple Sequentially Rejective Multiple Test Procedure", 1979).
    """
    order = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for done, (p, i) in enumerate(order):
        highest = max(highest, min(1.0, p * (len(order) - done)))
        adjusted[i] = highest
    return adjusted


def _paired(
    row: np.ndarray,
    low: float | None,
    high: float | None,
    seed: int,
    tie_width: float,
    resamples: int,
) -> Paired:
    n, differing = len(row), int((row != 0).sum())
    wins, losses = int((row > tie_width).sum()), int((row < -tie_width).sum())
    spread = float(row.std(ddof=1)) if n > 1 else 0.0
    difference = float(row.mean()) if n else None
    return Paired(
        n=n,
        difference=difference,
        low=low,
        high=high,
        p=randomisation_p(row, seed=seed, resamples=resamples) if n else None,
        p_floor=_floor(differing, resamples),
        effect=difference / spread if spread > 0 else None,
        wins=wins,
        ties=n - wins - losses,
        losses=losses,
        differing=differing,
        resolution=(high - low) / 2 if low is not None and differing else None,
    )


def _floor(differing: int, resamples: int) -> float:
    return min(1.0, 2.0 ** (1 - differing)) if differing <= _EXACT_UP_TO else 1 / (resamples + 1)
