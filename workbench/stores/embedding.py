"""Texts to unit vectors, each text alone in its batch, kept in a cache by content and model.

The law: the same text has bitwise the same vector, alone or among others, today or from the cache. An int8 model
scales its activations by batch, so texts that share one change each other's vectors (cosine 0.99 to itself);
one text a batch, one thread a text, one worker a core is exact and the fastest too.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import NotAvailable
from workbench.stores.embedding_cache import CacheError, EmbeddingCache
from workbench.stores.model import NO_VECTORS, Model, open_model
from workbench.text import well_formed

if TYPE_CHECKING:
    import numpy as np

UNIT_TOLERANCE = 1e-4  # a float32 norm over some hundred dimensions errs by less than 1e-6
BLOCK = 256  # texts embedded between two commits to the cache: about 2 to 5 s of work to lose


def default_workers() -> int:
    """One worker a core that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Embedder:
    """One model and its cache; the model is opened at the first text that the cache does not know.

    Safe to share between threads. `cache` None keeps nothing.
    """

    def __init__(self, model: Model, cache: Path | None = None, *, workers: int | None = None) -> None:
        self.model, self.workers = model, workers or default_workers()
        self._path = cache
        self._cache: EmbeddingCache | None = None

    @property
    def dim(self) -> int:
        return self.model.dim

    def embed(self, texts: Sequence[str], *, tick: Callable[[int], None] | None = None) -> np.ndarray:
        """float32 (n, dim) of unit length, rows in the order of the texts, each with the model's passage prefix.
        `tick` is told how many are done."""
        return self.embed_marked(texts, tick=tick)[0]

    def embed_query(self, text: str) -> np.ndarray:
        """float32 (dim,) of unit length: the query with the model's query prefix. Raises NotAvailable where the collection
        was loaded without vectors."""
        if self.model.key == NO_VECTORS.key:
            raise NotAvailable(
                "the semantic list needs vectors, and the collection was loaded without them",
                do="Load it again without --no-vectors, or search by terms alone: --mode lexical, or --variant lexical_bm25",
            )
        texts = [self.model.query_prefix + text]
        try:
            return self._embed(texts)[0][0]
        except CacheError:  # a search needs no cache: it may be damaged, or its disk full
            self._path = None
            return self._embed(texts)[0][0]

    def embed_marked(
        self, texts: Sequence[str], *, tick: Callable[[int], None] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """`embed`, and a boolean (n,): whether the text was longer than the model reads, so that its end was cut."""
        return self._embed([self.model.passage_prefix + t for t in texts], tick)

    def _embed(
        self, texts: Sequence[str], tick: Callable[[int], None] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        import numpy as np

        vectors, cut = np.empty((len(texts), self.dim), np.float32), np.zeros(len(texts), bool)
        if self.model.key == NO_VECTORS.key:
            vectors[:] = 1
            if tick:
                tick(len(texts))
            return vectors, cut
        for start in range(0, len(texts), BLOCK):
            block = [well_formed(t) for t in texts[start : start + BLOCK]]
            hashes = [hashlib.sha256(t.encode("utf-8")).digest() for t in block]
            known = self._known(dict(zip(hashes, block, strict=True)))
            for row, digest in enumerate(hashes, start):
                raw, cut[row] = known[digest]
                vectors[row] = np.frombuffer(raw, np.float32)
            if tick:
                tick(len(block))
        return vectors, cut

    def truncated(self, texts: Sequence[str]) -> int:
        """How many of the texts are longer than the model reads."""
        tokenizer = open_model(self.model).model.tokenizer
        return sum(self._cut(tokenizer, self.model.passage_prefix + well_formed(t)) for t in texts)

    def close(self) -> None:
        if self._cache:
            self._cache.close()
            self._cache = None

    def _known(self, by_hash: dict[bytes, str]) -> dict[bytes, tuple[bytes, bool]]:
        """All of them, the missing ones made and kept."""
        if self._path is None:
            return self._make(by_hash)
        if self._cache is None:
            self._cache = EmbeddingCache(self._path, self.model.key, self.model.name)
        known = self._cache.get(list(by_hash))
        missing = {h: t for h, t in by_hash.items() if h not in known}
        if missing:
            made = self._make(missing)
            self._cache.put(made)
            known.update(made)
        return known

    def _make(self, by_hash: dict[bytes, str]) -> dict[bytes, tuple[bytes, bool]]:
        import numpy as np

        opened = open_model(self.model)
        tokenizer = opened.model.tokenizer

        def one(text: str) -> tuple[bytes, bool]:
            vector = np.asarray(next(iter(opened.embed([text], batch_size=1))), np.float32)
            norm = float(np.linalg.norm(vector))
            if norm and abs(norm - 1) > UNIT_TOLERANCE:  # some of fastembed's own models do not normalise
                vector = vector / np.float32(norm)
            return vector.tobytes(), self._cut(tokenizer, text)

        if len(by_hash) == 1:
            return {digest: one(text) for digest, text in by_hash.items()}
        pool = ThreadPoolExecutor(self.workers)
        try:
            return dict(zip(by_hash, pool.map(one, by_hash.values()), strict=True))
        finally:
            pool.shutdown(cancel_futures=True)  # Ctrl-C waits for the texts under way, not for the block

    def _cut(self, tokenizer: Any, text: str) -> bool:
        # An ASCII text has no more tokens than characters, besides the two special ones and SentencePiece's first blank.
        if text.isascii() and len(text) <= self.model.max_tokens - 3:
            return False
        return bool(tokenizer.encode(text).overflowing)
