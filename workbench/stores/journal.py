"""What waits to be indexed: changed documents that are on disk for good, and that no search finds yet.

A collection's journal is one SQLite file beside its catalog: what it holds is told against that very catalog, and goes
with it in the step that makes the next generation the current one. A transaction is durable when it has ended, and a
process that is killed in one leaves none of it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.stores.locks import StorageError

FILE = "waiting.sqlite"
ADDED, CHANGED, DELETED = "added", "changed", "deleted"

_SCHEMA = """
CREATE TABLE IF NOT EXISTS document(
    id INTEGER PRIMARY KEY, source_type TEXT NOT NULL, entity_id TEXT NOT NULL, title TEXT NOT NULL, change TEXT NOT NULL,
    UNIQUE (source_type, entity_id));
CREATE TABLE IF NOT EXISTS chunk(
    document INTEGER NOT NULL REFERENCES document ON DELETE CASCADE, chunk_index INTEGER NOT NULL, facts TEXT,
    PRIMARY KEY (document, chunk_index));
CREATE TABLE IF NOT EXISTS reading(facts TEXT NOT NULL);
"""

Document = tuple[str, str]
"""Source type and entity id."""

Rows = Mapping[int, str | None]
"""A document's chunks by index: facts but for the point id as JSON, None for one that stays as it stands."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """How many documents wait to be added, changed or deleted in both stores."""

    added: int = 0
    changed: int = 0
    deleted: int = 0

    @property
    def documents(self) -> int:
        return self.added + self.changed + self.deleted

    def __str__(self) -> str:
        return f"{self.documents} {'document waits' if self.documents == 1 else 'documents wait'} to be indexed"


@dataclass(frozen=True, slots=True)
class WaitingDocument:
    """One document that waits, and what is to become of it: added, changed or deleted."""

    source_type: str
    entity_id: str
    title: str
    change: str


class Journal:
    """The documents that wait, each once: what is put last counts. One process writes at a time, by the collection's
    lock."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    @staticmethod
    @contextmanager
    def open(generation: Path) -> Iterator[Journal]:
        """The journal of a generation; the block is one transaction, undone by an error. Raises StorageError."""
        path = generation / FILE
        fresh = not path.exists()
        with _named(path):
            db = sqlite3.connect(path, isolation_level=None)
            try:
                db.execute("PRAGMA foreign_keys = ON")
                db.executescript(f"BEGIN IMMEDIATE; {_SCHEMA}")
                yield Journal(db)
                db.execute("COMMIT")
                fresh = False
            finally:
                db.close()
                if fresh:
                    path.unlink(missing_ok=True)

    def put(self, document: Document, change: str, title: str, rows: Rows) -> None:
        """Let a document wait, in place of what waited of it."""
        self.drop(document)
        found = self._db.execute(
            "INSERT INTO document(source_type, entity_id, title, change) VALUES (?, ?, ?, ?)",
            (*document, title, change),
        )
        self._db.executemany(
            "INSERT INTO chunk VALUES (?, ?, ?)",
            [(found.lastrowid, index, facts) for index, facts in rows.items()],
        )

    def drop(self, document: Document) -> None:
        """Let nothing of a document wait."""
        self._db.execute("DELETE FROM document WHERE source_type = ? AND entity_id = ?", document)

    def clear(self) -> None:
        """Let nothing wait."""
        self._db.execute("DELETE FROM document")
        self._db.execute("DELETE FROM reading")

    def say(self, reading: Mapping[str, Any]) -> None:
        """Keep what a reading said beside its documents."""
        self._db.execute("INSERT INTO reading VALUES (?)", (json.dumps(reading),))

    def readings(self) -> list[dict[str, Any]]:
        """What the readings said, in their order."""
        return [
            json.loads(facts)
            for (facts,) in self._db.execute("SELECT facts FROM reading ORDER BY rowid")
        ]

    def documents(self) -> list[WaitingDocument]:
        """All that wait, in the order in which they were put."""
        return [WaitingDocument(*row) for row in self._db.execute(f"{_DOCUMENTS} ORDER BY id")]

    def kept(self) -> Iterator[tuple[str, str, int]]:
        """(source type, entity id, chunk index) of each chunk of these documents that stays as it stands."""
        yield from self._db.execute(
            "SELECT source_type, entity_id, chunk_index FROM chunk JOIN document ON document = document.id WHERE facts IS NULL"
        )

    def fresh(self) -> Iterator[list[Any]]:
        """The facts but for the point id of each new chunk, by document as they were put, then by index."""
        for (facts,) in self._db.execute(
            "SELECT facts FROM chunk WHERE facts IS NOT NULL ORDER BY document, chunk_index"
        ):
            yield json.loads(facts)


_DOCUMENTS = "SELECT source_type, entity_id, title, change FROM document"


def waiting_in(generation: Path) -> Waiting:
    """What waits in a generation. Raises StorageError for a journal that cannot be read."""
    with _reading(generation) as db:
        counts = (
            dict(db.execute("SELECT change, count(*) FROM document GROUP BY change")) if db else {}
        )
    return Waiting(**counts)


def waiting_documents(generation: Path, named: str | None = None) -> list[WaitingDocument]:
    """The documents that wait, or those under this entity id or whole title, in the order in which they were put."""
    where = "" if named is None else "WHERE :named IN (entity_id, title)"
    with _reading(generation) as db:
        found = db.execute(f"{_DOCUMENTS} {where} ORDER BY id", {"named": named}) if db else ()
        return [WaitingDocument(*row) for row in found]


@contextmanager
def _reading(generation: Path) -> Iterator[sqlite3.Connection | None]:
    path = generation / FILE
    if not path.exists():
        yield None
        return
    with _named(path):
        # What a killed process left half-written is undone by whoever opens next, so that this is no read-only mode.
        db = sqlite3.connect(path, isolation_level=None)
        try:
            made = db.execute("SELECT 1 FROM sqlite_master WHERE name = 'document'").fetchone()
            yield db if made else None
        finally:
            db.close()


@contextmanager
def _named(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        what = f"what waits to be indexed cannot be kept or read: {error}"
        raise StorageError(
            what, where=str(path), do="Mend that, or load the collection again"
        ) from error
