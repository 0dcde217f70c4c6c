"""Vectors that were made once: a SQLite file keyed by the model's key and the text's sha256.

Several processes may share it. A crash loses at most the batch that was being written.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from workbench.errors import WorkbenchError

if TYPE_CHECKING:
    from collections.abc import Iterator

BUSY_SECONDS = 60.0  # a writer holds the file for one batch, milliseconds; this is for a machine that sleeps
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
            self._db = sqlite3.connect(path, timeout=BUSY_SECONDS, check_same_thread=False, isolation_level=None)
            if self._db.execute("PRAGMA journal_mode").fetchone() != ("wal",):
                self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")
            self._db.execute("INSERT OR IGNORE INTO model(key, name) VALUES (?, ?)", (model_key, model_name))
            self._model = self._db.execute("SELECT id FROM model WHERE key = ?", (model_key,)).fetchone()[0]

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
            mend = "Delete it: it is made again from the texts" if "disk" not in str(error) else "Make room"
            raise CacheError(f"the cache of embeddings cannot be used: {error}", where=str(self.path), do=mend) from error
