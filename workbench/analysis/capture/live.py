"""A live collection as a capture reads it: loaded here, or a Qdrant at a URL; nothing is ever written to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, Protocol

import numpy as np

from workbench.bm25 import K1, B, idf
from workbench.errors import BadParameter, NotAvailable
from workbench.retrieval.context import Context
from workbench.retrieval.search import Collection, run, scope
from workbench.retrieval.variant import composed
from workbench.stores.filters.values import Points
from workbench.text import DEFAULT, Tokenizer
from workbench.types import PointId, Query, Result

SAMPLE = 2000
"""Chunks from which the spread of lengths and cosines is taken."""
ATTACHED_SAMPLE = 5000
"""Chunks of a server's collection, the first by point id, from which its average length is estimated."""


@dataclass(frozen=True, slots=True)
class Read:
    """One chunk as it was read."""

    id: PointId
    text: str
    source: str
    title: str
    project: str
    entity: str


class Live(Protocol):
    """What a capture asks of a collection; `average` is its mean length in terms, `places` every point's 1-based
    place in point-id order."""

    name: str
    points: Points
    size: int
    average: float
    places: Mapping[PointId, int]

    def search(self, query: Query, variant: Any) -> Result: ...
    def vector(self, text: str) -> np.ndarray: ...
    def read(self, ids: Sequence[PointId]) -> list[Read]: ...
    def cosines(self, ids: Sequence[PointId], vector: np.ndarray) -> list[float | None]: ...
    def sample(self) -> tuple[list[str], np.ndarray]: ...
    def best(self, terms: Sequence[str], limit: int) -> list[tuple[PointId, float]]: ...


class Loaded:
    """A collection that is loaded here: every figure is exact."""

    def __init__(self, collection: Collection) -> None:
        if collection.stores.tokenizer != DEFAULT:
            raise NotAvailable(
                f"{collection.name} was loaded with the tokenizer {collection.stores.tokenizer.name}",
                do=f"A replica is made with {DEFAULT.name}",
            )
        self.collection, self.name = collection, collection.name
        self.points, self._catalog = collection.stores.points, collection.stores.catalog
        self.size, self.average = self._catalog.n, float(self._catalog.avgdl)

    @cached_property
    def places(self) -> dict[PointId, int]:
        return {i: place for place, i in enumerate(self._catalog.ids_where(), 1)}

    def search(self, query: Query, variant: Any) -> Result:
        return self.collection.search(query, variant, with_chunks=False)

    def vector(self, text: str) -> np.ndarray:
        return self.collection.stores.embedder.embed_query(text)

    def read(self, ids: Sequence[PointId]) -> list[Read]:
        return [
            Read(c.id, c.text, c.source, c.title, c.facets.project or "", c.entity_id)
            for c in self._catalog.chunks(ids)
        ]

    def cosines(self, ids: Sequence[PointId], vector: np.ndarray) -> list[float | None]:
        return (self._catalog.vectors(ids).astype(np.float64) @ vector.astype(np.float64)).tolist()

    def sample(self) -> tuple[list[str], np.ndarray]:
        ids = list(self.places)
        chosen = [ids[i] for i in np.linspace(0, len(ids) - 1, min(SAMPLE, len(ids))).astype(int)]
        return [c.text for c in self._catalog.chunks(chosen)], self._catalog.vectors(chosen)

    def best(self, terms: Sequence[str], limit: int) -> list[tuple[PointId, float]]:
        return self._catalog.bm25_top(terms, {}, limit)


class Attached:
    """A Qdrant collection at a URL. Its average length is estimated from its first chunks by point id; cosines
    are known for the rows that the server returns as nearest."""

    def __init__(self, name: str, points: Any, embedder: Any) -> None:
        self.name, self.points, self._embedder = name, points, embedder
        self.size = points.count((), "all", {})
        if not self.size:
            raise BadParameter(f"{name} holds no points")
        if embedder.dim != points.dim:
            raise BadParameter(
                f"{name} has vectors of {points.dim} dimensions, the model makes {embedder.dim}",
                do="Name the collection's own model with --model",
            )
        texts = self.sample()[0]
        self.average = float(np.mean([len(DEFAULT.terms(t)) for t in texts]))

    @cached_property
    def places(self) -> dict[PointId, int]:
        found = self.points.scroll((), "all", {}, self.size, fields=())
        return {p.id: place for place, p in enumerate(found, 1)}

    @cached_property
    def _first(self) -> tuple[list[str], np.ndarray]:
        path = self.points.names.content.split(".")
        rows = list(islice(self.points.all_points(), min(self.size, ATTACHED_SAMPLE)))
        return [str(_pull(payload, path) or "") for _, payload, _ in rows], np.asarray(
            [v for *_, v in rows], np.float32
        )

    def search(self, query: Query, variant: Any) -> Result:
        stores = _Stores(
            self.points, self._embedder, _PointsCatalog(self.points, self.size, self.average)
        )
        return run(Context(stores, scope(query)), query, composed(variant), {}, with_chunks=False)  # type: ignore[arg-type]

    def vector(self, text: str) -> np.ndarray:
        return self._embedder.embed_query(text)

    def read(self, ids: Sequence[PointId]) -> list[Read]:
        found = self.points.retrieve(
            ids, fields=("content", "source", "title", "project", "entity_id")
        )
        return [
            Read(
                p.id,
                p.payload.get("content") or "",
                p.payload.get("source") or "",
                p.payload.get("title") or "",
                str(p.payload.get("project") or ""),
                str(p.payload.get("entity_id") or p.id),
            )
            for p in found
        ]

    def cosines(self, ids: Sequence[PointId], vector: np.ndarray) -> list[float | None]:
        near = {
            p.id: score
            for p, score in self.points.nearest(vector, {}, min(self.size, SAMPLE), fields=())
        }
        return [near.get(i) for i in ids]

    def sample(self) -> tuple[list[str], np.ndarray]:
        return self._first

    def best(self, terms: Sequence[str], limit: int) -> list[tuple[PointId, float]]:
        return []


@dataclass(frozen=True, slots=True)
class _PointsCatalog:
    """The catalog's lexical scores, computed from what the server counts and returns."""

    points: Any
    n: int
    avgdl: float

    def df(self, terms: Sequence[str]) -> dict[str, int]:
        return {t: self.points.count([t], "all", {}) for t in dict.fromkeys(terms)}

    def count(self, terms: Sequence[str], match: str, filters: Mapping[str, Any]) -> int:
        return self.points.count(terms, match, filters)

    def bm25_of(
        self, ids: Sequence[PointId], terms: Sequence[str], k1: float = K1, b: float = B
    ) -> dict[PointId, float]:
        df, out = self.df(terms), {}
        for point in self.points.retrieve(ids, fields=("content",)):
            words = DEFAULT.terms(point.payload.get("content") or "")
            norm = k1 * (1 - b + b * len(words) / self.avgdl)
            held = [(df[t], tf) for t in terms if (tf := words.count(t))]
            if held:
                out[point.id] = sum(idf(self.n, n) * tf * (k1 + 1) / (tf + norm) for n, tf in held)
        return out


@dataclass(frozen=True, slots=True)
class _Stores:
    """The part of opened stores that a search without page reads uses."""

    points: Any
    embedder: Any
    catalog: _PointsCatalog
    tokenizer: Tokenizer = DEFAULT


def _pull(value: Any, keys: Iterable[str]) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
