"""A small collection of notes whose every ranking is worked out in plain Python: three source types, all facets."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from helpers.catalog_world import DIM, Bm25, made, unit_rows
from workbench.retrieval.fusions import max_min
from workbench.retrieval.notes.duckdb import fuse
from workbench.retrieval.search import Collection
from workbench.stores.catalog.catalog import Catalog
from workbench.text import DEFAULT
from workbench.types import Chunk, Facets, Query

WORDS = ["alpha", "beta", "gamma", "delta", "eins", "zwei", "drei", "vier", "fünf", "sechs"]
NOTES = 40

Key = tuple[str, str]


def notes(seed: int = 3, count: int = NOTES) -> list[Chunk]:
    """Notes of 1 to 7 chunks, half of them with an observation and a third with a relation."""
    chance = random.Random(seed)
    chunks: list[Chunk] = []

    def add(entity: str, index: int, kind: str, facets: Facets, title: str, **more: Any) -> None:
        text = " ".join(chance.choices(WORDS, weights=range(len(WORDS), 0, -1), k=chance.randint(2, 9)))
        chunks.append(Chunk(len(chunks) + 1, entity, index, text, title, facets.path or "", kind, facets, **more))

    for n in range(count):
        note = f"{n:03d}.md"
        facets = Facets(
            "a" if n % 4 else "b", ("idea", "log", None)[n % 3], ("x",) * (n % 2) + (f"t{n % 5}",),
            ("open", None)[n % 2], f"2026-0{n % 9 + 1}-01", None, f"folder{n % 3}/{note}", {"weight": n},
        )  # fmt: skip
        for index in range(chance.randint(1, 7)):
            add(note, index, "entity", facets, f"Note {n}")
        own = Facets(**{f: getattr(facets, f) for f in ("project", "note_type", "tags", "status", "created", "path")},
                     metadata={"note": note})  # fmt: skip
        if n % 2:
            add(f"{note}#observation/1", 0, "observation", own, f"Note {n}")
        if n % 3 == 0:
            add(f"{note}#relation/1", 0, "relation", own, f"Note {n}")
    return chunks


class FakeEmbedder:
    """A query's vector by its text, always the same."""

    def embed_query(self, text: str) -> np.ndarray:
        return unit_rows(1, seed=sum(text.encode("utf-8", "replace")))[0]


class Fts5Bm25(Bm25):
    """BM25 as FTS5 has it."""

    def idf(self, df: int) -> float:
        n = len(self.ids)
        found = math.log((n - df + 0.5) / (df + 0.5))
        return found if found > 0 else 1e-6


class World:
    """The chunks, their vectors, and the ranking that every engine must give."""

    def __init__(self, chunks: Sequence[Chunk], vectors: np.ndarray | None = None, engine: str = "duckdb") -> None:
        self.chunks = list(chunks)
        self.vectors = unit_rows(len(self.chunks)) if vectors is None else vectors
        self._bm25 = (Fts5Bm25 if engine == "sqlite" else Bm25)(self.chunks)

    def catalog(self, directory: Path) -> Catalog:
        return made(directory, self.chunks, self.vectors)

    def collection(self, directory: Path) -> Collection:
        """The chunks as an opened collection: a real catalog, a double of the model, no points."""
        manifest = SimpleNamespace(name="notes", content_hash="made of these notes", model={"sha256": "made"})
        catalog = self.catalog(directory)
        return Collection(SimpleNamespace(
            manifest=manifest, catalog=catalog, embedder=FakeEmbedder(), tokenizer=DEFAULT, close=catalog.close,
        ))  # fmt: skip

    def legs(
        self, text: str, admits: Callable[[Chunk], bool], k: int
    ) -> tuple[list[tuple[int, float]], list[tuple[int, float]]]:
        """(row number, score) of both legs, by score, then row."""
        text = Query(text).normalised
        scores = self._bm25.scores(DEFAULT.terms(text))
        rows = [n for n, c in enumerate(self.chunks) if admits(c)]
        fts = [(n, scores[self.chunks[n].id]) for n in rows if self.chunks[n].id in scores]
        cosines = self.vectors @ FakeEmbedder().embed_query(text)
        vec = [(n, float(cosines[n])) for n in rows]
        return tuple(sorted(leg, key=lambda r: (-float(f"{r[1]:.6g}"), r[0]))[:k] for leg in (fts, vec))

    def ranking(
        self, text: str, admits: Callable[[Chunk], bool] = lambda c: c.source_type == "entity", k: int = 1000,
        fusion: Any = None, key: Callable[[Chunk], Key] = lambda c: (c.source_type, c.entity_id),
    ) -> list[tuple[Key, float]]:  # fmt: skip
        """(key, score): legs, best chunk a row, fusion."""
        fts, vec = self.legs(text, admits, k)
        shares: dict[Key, list[float | None]] = {}
        best = max((s for _, s in fts), default=0.0)
        for leg, rows in enumerate((fts, vec)):
            for n, score in rows:
                share = shares.setdefault(key(self.chunks[n]), [None, None])
                value = score / best if leg == 0 else max(score, 0.0)
                share[leg] = value if share[leg] is None else max(share[leg], value)
        return fuse({k_: tuple(s) for k_, s in shares.items()}, fusion or max_min())


def keys(ranking: Sequence[tuple[Key, float]]) -> list[Key]:
    return [key for key, _ in ranking]


def same_order(found: Sequence[Key], wanted: Sequence[tuple[Key, float]]) -> bool:
    """Equal but for rows whose scores differ by rounding alone."""
    score: Mapping[Key, float] = dict(wanted)
    return len(found) == len(wanted) and all(
        abs(score[key] - value) < 1e-6 for key, (_, value) in zip(found, wanted, strict=True)
    )


__all__ = ["DIM", "FakeEmbedder", "World", "keys", "notes", "same_order"]
