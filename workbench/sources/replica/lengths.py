"""How long made chunks are, in terms: log-normal, cut at both ends, with the mean that the average asks for."""

from __future__ import annotations

import numpy as np

from workbench.sources.replica.spec import Filler

ROUNDS = 20


def draw_lengths(rng: np.random.Generator, rows: int, mean: float, filler: Filler, least: np.ndarray) -> np.ndarray:
    """(rows,) whole lengths: log-normal with the filler's spread, cut to [shortest, longest] and not below
    `least` (rows,), scaled until their mean is `mean` as nearly as the cuts allow."""
    shape = np.exp(rng.normal(0.0, filler.spread, rows))
    low = np.maximum(filler.shortest, least)
    scale = mean / shape.mean() if rows else 1.0
    lengths = shape
    for _ in range(ROUNDS):
        lengths = np.clip(shape * scale, low, np.maximum(filler.longest, low))
        if not rows or abs(lengths.mean() - mean) < 0.01:
            break
        scale *= mean / lengths.mean()
    return np.rint(lengths).astype(np.int32)


def filler_mean(average: float, size: int, fixed_terms: float, fixed_rows: int, filler: Filler) -> float:
    """The mean length of the filler that brings all chunks to `average`, given those whose length is fixed."""
    rows = size - fixed_rows
    return max((average * size - fixed_terms) / rows, float(filler.shortest)) if rows else 0.0
