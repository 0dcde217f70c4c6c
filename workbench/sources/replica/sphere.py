"""The arithmetic of composed vectors: a weight a direction, a sum brought to unit length, residuals drawn by number."""

from __future__ import annotations

import numpy as np


def on_the_sphere(centre: np.ndarray, own: np.ndarray) -> np.ndarray:
    """centre + t · own, t > 0 such that the row has unit length.

    Scaling the whole sum would scale the centre too, and so move short sums towards every query. A centre is a
    mean of unit vectors, so shorter than 1, and such a t exists; it is 1 where own is nothing.
    """
    a = np.maximum((own * own).sum(1), 1e-12)
    b = (centre * own).sum(1)
    c = (centre * centre).sum(1) - 1
    out = centre + ((np.sqrt(b * b - a * c) - b) / a)[:, None] * own
    return (out / np.linalg.norm(out, axis=1, keepdims=True)).astype(np.float32)


def weights_by_direction(y: np.ndarray, h: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The (dim, dim) matrices that weigh h and s by principal direction of y, each direction by least squares.

    y, h and s are (n, dim), centred.
    """
    _, _, directions = np.linalg.svd(y, full_matrices=False)
    yd, hd, sd = (m @ directions.T for m in (y, h, s))
    weights = np.stack([np.linalg.lstsq(np.stack([hd[:, d], sd[:, d]], 1), yd[:, d], rcond=None)[0]
                        for d in range(len(directions))])  # fmt: skip
    return tuple(directions.T @ (weights[:, [n]] * directions) for n in (0, 1))


def draws(seed: int, items: np.ndarray, residuals: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two residual numbers and an angle for each item, by a fixed mixing of its number and the seed."""
    mixed = _mix(items.astype(np.uint64) ^ _mix(np.asarray([seed & 0xFFFFFFFF], np.uint64)))
    first = (mixed >> np.uint64(40)) % np.uint64(residuals)
    second = (first + np.uint64(1) + (mixed >> np.uint64(20)) % np.uint64(residuals - 1)) % np.uint64(residuals)
    angle = (mixed & np.uint64(0xFFFFF)).astype(np.float64) / 0x100000 * (np.pi / 2)
    return first.astype(np.int64), second.astype(np.int64), angle.astype(np.float32)


def _mix(x: np.ndarray) -> np.ndarray:
    """SplitMix64's finaliser (Steele, Lea and Flood 2014)."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
