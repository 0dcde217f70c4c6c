"""BM25's law on paper: what one term adds, for arithmetic on figures that a record states."""

from __future__ import annotations

from math import log

K1 = 1.2
B = 0.75
"""Okapi BM25's usual constants; with them the incident's figures fit (an inference, CLAIMS A03)."""


def idf(n: int, df: int) -> float:
    """ln(1 + (N − df + 0.5) / (df + 0.5)), Lucene's form: never negative."""
    return log(1 + (n - df + 0.5) / (df + 0.5))


def term_weight(
    n: int, df: int, tf: int, relative_length: float, k1: float = K1, b: float = B
) -> float:
    """What one term adds to a chunk's score; `relative_length` is its length over the average length."""
    return idf(n, df) * tf * (k1 + 1) / (tf + k1 * (1 - b + b * relative_length))


def relative_length_for(score: float, n: int, terms: list[tuple[int, int]]) -> float | None:
    """The relative length at which terms of (df, tf) sum to `score`; None where no length above 0 does.

    The sum falls with length, so the root is bracketed and found by scipy's Brent method.
    """
    from scipy.optimize import brentq

    def gap(length: float) -> float:
        return sum(term_weight(n, df, tf, length) for df, tf in terms) - score

    if gap(0.0) < 0:
        return None
    return float(brentq(gap, 0.0, 1e4))
