"""Texts to unit vectors, each text alone in its batch, kept in a cache by content and model.

The law: the same text has bitwise the same vector, alone or among others, today or from the cache. An int8 model
scales its activations by batch, so texts that share one change each other's vectors (cosine 0.99 to itself);
one text a batch, one thread a text, one worker a core is exact and the fastest too.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from workbench.errors import NotAvailable, WorkbenchError
from workbench.stores.vectors.models import NO_VECTORS, Model, open_model
from workbench.text import well_formed

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

# ---- Vectors that were made once: a SQLite file keyed by the model's key and the text's sha ----

BUSY_SECONDS = (
    60.0  # a writer holds the file for one batch, milliseconds; this is for a machine that sleeps
)
_PER_LOOKUP = 500  # below SQLite's lowest limit of variables, 999

_SCHEMA = """
CREATE TABLE IF NOT EXISTS model(id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, name TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS embedding(
    model INTEGER NOT NULL, text BLOB NOT NULL, cut INTEGER NOT NULL, vector BLOB NOT NULL,
    PRIMARY KEY (model, text));
"""


class CacheError(WorkbenchError):
    """The cache of embeddings cannot be used."""


class EmbeddingCache:
    """`get` and `put` of one model's (vector as float32 bytes, whether the text was cut), by text hash."""

    def __init__(self, path: Path, model_key: str, model_name: str) -> None:
        self.path, self._lock = path, Lock()
        with self._named():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(
                path, timeout=BUSY_SECONDS, check_same_thread=False, isolation_level=None
            )
            if self._db.execute("PRAGMA journal_mode").fetchone() != ("wal",):
                self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")
            self._db.execute(
                "INSERT OR IGNORE INTO model(key, name) VALUES (?, ?)", (model_key, model_name)
            )
            self._model = self._db.execute(
                "SELECT id FROM model WHERE key = ?", (model_key,)
            ).fetchone()[0]

    def get(self, hashes: Sequence[bytes]) -> dict[bytes, tuple[bytes, bool]]:
        """What is known of these texts; unknown ones are left out."""
        found: dict[bytes, tuple[bytes, bool]] = {}
        with self._lock, self._named():
            for start in range(0, len(hashes), _PER_LOOKUP):
                some = hashes[start : start + _PER_LOOKUP]
                sql = f"SELECT text, vector, cut FROM embedding WHERE model = ? AND text IN ({','.join('?' * len(some))})"
                for text, vector, cut in self._db.execute(sql, (self._model, *some)):
                    found[text] = (vector, bool(cut))
        return found

    def put(self, made: Mapping[bytes, tuple[bytes, bool]]) -> None:
        """Keep these, in one transaction; one that another process kept meanwhile is the same and stays."""
        rows = [(self._model, text, cut, vector) for text, (vector, cut) in made.items()]
        with self._lock, self._named():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                self._db.executemany("INSERT OR IGNORE INTO embedding VALUES (?, ?, ?, ?)", rows)
                self._db.execute("COMMIT")
            except BaseException:
                self._db.execute("ROLLBACK")
                raise

    def close(self) -> None:
        self._db.close()

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            mend = (
                "Delete it: it is made again from the texts"
                if "disk" not in str(error)
                else "Make room"
            )
            raise CacheError(
                f"the cache of embeddings cannot be used: {error}", where=str(self.path), do=mend
            ) from error


# ---- Texts to unit vectors, each text alone in its batch, kept in a cache by content and mo ----

UNIT_TOLERANCE = 1e-4  # a float32 norm over some hundred dimensions errs by less than 1e-6
BLOCK = 256  # texts embedded between two commits to the cache: about 2 to 5 s of work to lose


def default_workers() -> int:
    """One worker a core that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Embedder:
    """One model and its cache; the model is opened at the first text that the cache does not know.

    Safe to share between threads. `cache` None keeps nothing.
    """

    def __init__(
        self, model: Model, cache: Path | None = None, *, workers: int | None = None
    ) -> None:
        self.model, self.workers = model, workers or default_workers()
        self._path = cache
        self._cache: EmbeddingCache | None = None

    @property
    def dim(self) -> int:
        return self.model.dim

    def embed(
        self, texts: Sequence[str], *, tick: Callable[[int], None] | None = None
    ) -> np.ndarray:
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
            if (
                norm and abs(norm - 1) > UNIT_TOLERANCE
            ):  # some of fastembed's own models do not normalise
                vector = vector / np.float32(norm)
            return vector.tobytes(), self._cut(tokenizer, text)

        if len(by_hash) == 1:
            return {digest: one(text) for digest, text in by_hash.items()}
        pool = ThreadPoolExecutor(self.workers)
        try:
            return dict(zip(by_hash, pool.map(one, by_hash.values()), strict=True))
        finally:
            pool.shutdown(
                cancel_futures=True
            )  # Ctrl-C waits for the texts under way, not for the block

    def _cut(self, tokenizer: Any, text: str) -> bool:
        # An ASCII text has no more tokens than characters, besides the two special ones and SentencePiece's first blank.
        if text.isascii() and len(text) <= self.model.max_tokens - 3:
            return False
        return bool(tokenizer.encode(text).overflowing)
