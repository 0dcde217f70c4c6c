"""How true composed vectors are: judged by their cosine to the queries and by who enters the first rows.

A composed vector can be near the document's own vector and still nearer to every query than any true vector is;
so the cosine to the document alone says little.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from workbench.errors import BadParameter
from workbench.retrieval.search import Collection
from workbench.types import PointId

DEPTH = 256
"""As many rows as the semantic channel holds (ADR 0172)."""
SAMPLE = 400
SAME = 0.99999
"""A cosine from which on two float32 unit vectors are the same embedding."""


@dataclass(frozen=True, slots=True)
class QueryFidelity:
    """One query: mean and standard deviation of its cosine to the sample, by true and by stored vectors, and the
    correlation of the two; then of its first `DEPTH` rows, how many are composed, and how many of those would be
    there by their true vector too.

    `overlap` is the share of the first rows that exact vectors put there, `target_rank` and `exact_target_rank`
    the target's 1-based rank; None where no exact collection was given, or the query has no target.
    """

    id: str
    true_mean: float
    true_spread: float
    stored_mean: float
    stored_spread: float
    correlation: float
    composed_in_first: int
    of_those_true: int
    target_rank: int | None
    exact_target_rank: int | None = None
    overlap: float | None = None


@dataclass(frozen=True, slots=True)
class Fidelity:
    """A collection's stored vectors against the model's own on a random sample of `sample` chunks."""

    sample: int
    composed: int
    document_mean: float
    document_p05: float
    queries: tuple[QueryFidelity, ...]


def fidelity(
    collection: Collection, *, exact: Collection | None = None, sample: int = SAMPLE, seed: int = 0
) -> Fidelity:
    """Measure the stored vectors of a collection on its own queries.

    `exact` is the same collection with every text embedded. Document cosines are over the sample's composed
    chunks; where none is composed they are 1. Raises BadParameter where `exact` holds other chunks.
    """
    catalog, embedder = collection.stores.catalog, collection.stores.embedder
    ids = catalog.ids_where()
    if exact is not None and exact.stores.catalog.ids_where() != ids:
        raise BadParameter(
            f"{exact.name} does not hold the chunks of {collection.name}",
            do="Build both from the same file, size and seed",
        )
    rng = np.random.default_rng(seed)
    chosen = [ids[i] for i in np.sort(rng.choice(len(ids), min(sample, len(ids)), replace=False))]
    true, stored = _both(collection, chosen)
    near = (true * stored).sum(1)
    composed = near < SAME
    targets = {q.query_id: q.entity_id for q in catalog.qrels() if q.grade > 0}
    queries = []
    for query in catalog.queries():
        vector = embedder.embed_query(query.text)
        a, b = true @ vector, stored @ vector
        target = catalog.entity(targets[query.id])[:1] if query.id in targets else []
        first = [i for i, _ in catalog.nearest(vector, {}, DEPTH)]
        held, kept = _entered(collection, first, vector)
        queries.append(
            QueryFidelity(
                query.id,
                float(a.mean()),
                float(a.std()),
                float(b.mean()),
                float(b.std()),
                _correlation(a, b),
                held,
                kept,
                catalog.true_rank(vector, target[0]).rank if target else None,
                exact.stores.catalog.true_rank(vector, target[0]).rank
                if exact and target
                else None,
                _overlap(first, exact, vector) if exact else None,
            )
        )
    own = near[composed] if composed.any() else np.ones(1)
    return Fidelity(
        len(chosen),
        int(composed.sum()),
        float(own.mean()),
        float(np.quantile(own, 0.05)),
        tuple(queries),
    )


def _both(collection: Collection, ids: Sequence[PointId]) -> tuple[np.ndarray, np.ndarray]:
    """(n, dim) the model's vectors of the chunks' texts, and those stored."""
    catalog = collection.stores.catalog
    texts = [c.text for c in catalog.chunks(ids)]
    return collection.stores.embedder.embed(texts).astype(np.float64), catalog.vectors(ids).astype(
        np.float64
    )


def _entered(
    collection: Collection, first: Sequence[PointId], query: np.ndarray
) -> tuple[int, int]:
    """Of the first rows: how many are composed, and how many of those reach the last row's cosine truly."""
    true, stored = _both(collection, first)
    composed = (true * stored).sum(1) < SAME
    last = (stored @ query).min()
    return int(composed.sum()), int((true[composed] @ query >= last).sum())


def _overlap(first: Sequence[PointId], exact: Collection, query: np.ndarray) -> float:
    others = {i for i, _ in exact.stores.catalog.nearest(query, {}, DEPTH)}
    return len(others & set(first)) / len(first)


def _correlation(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.corrcoef(a, b)[0, 1]) if a.std() and b.std() else 1.0
