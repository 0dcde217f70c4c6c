"""Vectors of a captured incident: made so that their cosines to the query are the recorded ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from workbench.sources.replica.layout import Layout
from workbench.sources.source import Embed
from workbench.types import Query

BATCH = 4096
MARGIN = 1e-5
"""A cosine below the ceiling by less than a float32 vector keeps would not stay below it."""


def constructed(layout: Layout, embed: Embed) -> Iterator[np.ndarray]:
    """Batches of (rows, dim) float32 unit vectors in point-id order.

    The law: v = c · q + √(1 − c²) · u with q the first query's own vector, u a random unit vector orthogonal to it
    and c the recorded cosine; chunks without one get a normal draw with the recorded mean and spread, folded
    below the recorded ceiling, so that none of them enters the semantic list.
    """
    captured = layout.incident.captured
    query = embed([Query(layout.incident.queries[0].text).normalised])[0].astype(np.float64)
    rng = np.random.default_rng([layout.seed, layout.incident.size, 1])
    cosine = rng.normal(captured.cosine_mean, captured.cosine_spread, layout.incident.size)
    # Folded, not clipped: clipping would leave ties at the ceiling.
    cosine = np.clip(captured.cosine_ceiling - np.abs(captured.cosine_ceiling - MARGIN - cosine) - MARGIN, -1, 1)
    for row in captured.rows:
        if row.cosine is not None:
            cosine[row.position - 1] = row.cosine
    for start in range(0, len(cosine), BATCH):
        c = cosine[start : start + BATCH, None]
        u = rng.normal(size=(len(c), len(query)))
        u -= (u @ query)[:, None] * query
        u /= np.linalg.norm(u, axis=1, keepdims=True)
        yield (c * query + np.sqrt(1 - c * c) * u).astype(np.float32)
