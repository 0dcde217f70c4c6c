"""Sources made in a test: chunks from plain values, with whatever is wrong about them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from workbench.sources.base import JudgedQuery, Qrel, Source
from workbench.types import Chunk


def source_of(
    chunks: Iterable[Chunk] | Callable[[], Iterator[Chunk]], *, queries: tuple[JudgedQuery, ...] = (),
    qrels: tuple[Qrel, ...] = (), location: str = "in a test", vectors: Any = None, **settings: Any,
) -> Source:  # fmt: skip
    """A source that hands over these chunks as they are."""
    if callable(chunks):
        return Source("test", location, settings, chunks, queries, qrels, vectors=vectors)
    kept = tuple(chunks)
    return Source("test", location, settings, lambda: iter(kept), queries, qrels, vectors=vectors, count=len(kept))


def chunks_of(*texts: str, first: int = 0, **fields: Any) -> list[Chunk]:
    """A chunk a text, ids ascending from `first`, entity `e<id>`."""
    return [Chunk(i, f"e{i}", 0, text, **fields) for i, text in enumerate(texts, first)]


def numbered(count: int) -> list[Chunk]:
    """That many chunks whose short texts all differ."""
    return chunks_of(*(f"note {n} of the harbour, ferry {n % 7}" for n in range(count)))
