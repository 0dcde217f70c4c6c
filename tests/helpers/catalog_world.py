"""Small catalogs made from chunks, and the plain Python reading of BM25 that they must agree with."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

import numpy as np

from workbench.sources.base import Source
from workbench.stores.catalog.build import build_catalog
from workbench.stores.catalog.catalog import Catalog
from workbench.stores.staging import parts_of, stage
from workbench.text import DEFAULT, Tokenizer
from workbench.types import Chunk, Facets, PointId, point_order

DIM = 8


def unit_rows(count: int, seed: int = 7, dim: int = DIM) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=(count, dim)) if count else np.empty((0, dim))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def numbered(
    texts: Sequence[str], titles: Sequence[str] | None = None, facets: Sequence[Facets] | None = None
) -> list[Chunk]:
    """Chunks in point-id order; every third id is a UUID, so that both kinds stand in each collection."""
    ids: list[PointId] = [
        str(UUID(int=n * 2654435761 + 1)) if n % 3 == 2 else n * 10 + 9 for n in range(len(texts))
    ]
    return [
        Chunk(i, f"e{n // 2}", n, text, titles[n] if titles else "", facets=facets[n] if facets else Facets())
        for n, (i, text) in enumerate(zip(sorted(ids, key=point_order), texts, strict=True))
    ]


def staged(
    directory: Path, chunks: Sequence[Chunk], rows: np.ndarray, tokenizer: Tokenizer = DEFAULT
) -> tuple[list[Path], Path]:
    """The parts and vectors of these chunks, as the loader stages them."""
    stage(Source("test", "test", {}, lambda: iter(chunks)), directory, tokenizer, lambda rows: None)
    np.save(directory / "vectors.npy", rows)
    return parts_of(directory), directory / "vectors.npy"


def made(directory: Path, chunks: Sequence[Chunk], rows: np.ndarray | None = None, **options) -> Catalog:
    """The catalog of these chunks, built in this directory and opened."""
    directory.mkdir(parents=True, exist_ok=True)
    rows = unit_rows(len(chunks)) if rows is None else rows
    build_catalog(directory / "catalog.duckdb", *staged(directory / "staged", chunks, rows), **options)
    return Catalog.open(directory / "catalog.duckdb")


class Bm25:
    """BM25 and BM25F from the chunks alone; sums in the order of the terms."""

    def __init__(self, chunks: Sequence[Chunk], tokenizer: Tokenizer = DEFAULT) -> None:
        self.ids = [c.id for c in chunks]
        self.text = [Counter(tokenizer.terms(c.text)) for c in chunks]
        self.title = [Counter(tokenizer.terms(c.title)) for c in chunks]

    def df(self, term: str) -> int:
        return sum(term in held for held in self.text)

    def idf(self, df: int) -> float:
        return math.log(1 + (len(self.ids) - df + 0.5) / (df + 0.5))

    def scores(self, terms: Sequence[str], k1: float = 1.2, b: float = 0.75) -> dict[PointId, float]:
        mean = _mean(self.text)
        found: dict[PointId, float] = {}
        for term in terms:
            idf = self.idf(self.df(term))
            for i, held in zip(self.ids, self.text, strict=True):
                if term in held:
                    tf, dl = held[term], held.total()
                    found[i] = found.get(i, 0.0) + idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * dl / mean))
        return found

    def field_scores(
        self,
        terms: Sequence[str],
        title_weight: float,
        text_weight: float,
        k1: float,
        b: float,
        title_b: float,
    ) -> dict[PointId, float]:
        means = _mean(self.text), _mean(self.title)
        found: dict[PointId, float] = {}
        for term in terms:
            idf = self.idf(sum(term in t or term in h for t, h in zip(self.text, self.title, strict=True)))
            for i, text, title in zip(self.ids, self.text, self.title, strict=True):
                weighted = 0.0
                for held, weight, own_b, mean in (
                    (text, text_weight, b, means[0]), (title, title_weight, title_b, means[1]),
                ):  # fmt: skip
                    if term in held:
                        weighted += weight * held[term] / (1 - own_b + own_b * held.total() / mean)
                if weighted:
                    found[i] = found.get(i, 0.0) + idf * weighted * (k1 + 1) / (k1 + weighted)
        return found


def _mean(field: Sequence[Counter]) -> float:
    return sum(held.total() for held in field) / len(field) if field else 0.0


def ranked(scores: dict[PointId, float]) -> list[PointId]:
    """Score descending, then point id; scores equal to 1e-9 are one score."""
    return sorted(scores, key=lambda i: (-round(scores[i], 9), point_order(i)))
