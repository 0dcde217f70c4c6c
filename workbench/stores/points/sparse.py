"""BM25 as sparse vectors: a chunk's weights, whose product with the query's counts and the engine's IDF is its score.

A term's index is its place, from 1, among the collection's terms in the order of their code points: no two share
one, as they could by a hash of 32 bits. The table of terms stands beside the points.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.bm25 import K1, B
from workbench.errors import NotAvailable
from workbench.stores.catalog.build import TF_MAX
from workbench.stores.manifest import BrokenCollection, write_whole
from workbench.stores.points.staged import staged_terms

SPARSE = "bm25"
"""The vector's name."""

TERMS_FILE = "bm25-terms.json"

SETTINGS: dict[str, Any] = {"sparse": {"vector": SPARSE, "k1": K1, "b": B}}
"""What a load's key and its manifest say of the engine: the weights are made with these constants."""

# The engine's IDF counts points with a sparse vector that is not empty. A chunk without a term holds this index,
# which no query names, so that it is a document as it is in the catalog.
NO_TERM = 0


@dataclass(frozen=True, slots=True)
class Weights:
    """A collection's table of terms and its mean length over all chunks, an empty one as 0."""

    index: Mapping[str, int]
    avgdl: float

    @classmethod
    def of(cls, parts: Sequence[Path]) -> Weights:
        """Read the staged terms through once. Raises StagingError."""
        known: set[str] = set()
        chunks = words = 0
        for terms in staged_terms(parts):
            held = _split(terms)
            known.update(held)
            chunks, words = chunks + 1, words + len(held)
        return cls(
            {term: i for i, term in enumerate(sorted(known), 1)}, words / chunks if chunks else 0.0
        )

    def vector(self, terms: str) -> tuple[list[int], list[float]]:
        """Indices, ascending, and tf·(k1+1)/(tf+k1·(1−b+b·dl/avgdl)) of terms joined by one blank."""
        held = _split(terms)
        if not held:
            return [NO_TERM], [1.0]
        norm = K1 * (1 - B + B * len(held) / self.avgdl)
        counted = sorted((self.index[t], min(n, TF_MAX)) for t, n in Counter(held).items())
        return [i for i, _ in counted], [n * (K1 + 1) / (n + norm) for _, n in counted]

    def write(self, path: Path) -> None:
        """Write the table of terms, whole or not at all."""
        write_whole(path, json.dumps(list(self.index)))


class TermTable:
    """The terms' indices for queries, read when first asked for; `path` is None where the points have no vectors."""

    def __init__(self, path: Path | None, where: str) -> None:
        self._path, self._where = path, where
        self._index: dict[str, int] | None = None

    def query(self, terms: Sequence[str]) -> tuple[list[int], list[float]]:
        """Indices, ascending, of those terms that the collection holds, and how often each is repeated.

        Raises NotAvailable where the points carry no sparse vectors, BrokenCollection for a table that is gone.
        """
        if self._path is None:
            how = "Load the collection with them: workbench load … --sparse, or load(..., sparse=True)"
            raise NotAvailable(
                f"these points carry no sparse vectors {SPARSE!r}", where=self._where, do=how
            )
        if self._index is None:
            self._index = _read(self._path)
        counted = sorted(Counter(self._index[t] for t in terms if t in self._index).items())
        return [i for i, _ in counted], [float(n) for _, n in counted]


def _read(path: Path) -> dict[str, int]:
    try:
        return {term: i for i, term in enumerate(json.loads(path.read_text(encoding="utf-8")), 1)}
    except (OSError, ValueError) as error:
        what = f"the table of terms cannot be read: {error}"
        raise BrokenCollection(what, where=str(path), do="Load the collection again") from error


def _split(terms: str) -> list[str]:
    return terms.split(" ") if terms else []
