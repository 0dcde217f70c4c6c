"""The SQLite file of one project: its tables, how it is opened, and its one kind of transaction.

`requests` and `answers` are what was recorded; `fingerprints` and `entry_words` are derived from them and made anew
when the rules change. A request without an answer is a missed one that waits in the review queue.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workbench.matching.redaction import CleanError

VERSION = 2
UNINDEXED = "unindexed"
"""A setting of a file in which a SQLite without FTS5 has recorded: the words are indexed when one with FTS5 opens it."""
BUSY_SECONDS = 30.0
"""A writer holds the file for one decision (microseconds) or one load (seconds)."""

SCHEMA = """
CREATE TABLE settings(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE requests(
    id INTEGER PRIMARY KEY, body TEXT NOT NULL, answered INTEGER NOT NULL, source TEXT NOT NULL, number INTEGER NOT NULL);
CREATE TABLE answers(
    id INTEGER PRIMARY KEY, request_id INTEGER NOT NULL REFERENCES requests(id), ordinal INTEGER NOT NULL,
    text TEXT NOT NULL, calls TEXT NOT NULL, finish TEXT NOT NULL, body TEXT NOT NULL, events TEXT NOT NULL,
    created REAL, meaning TEXT NOT NULL, UNIQUE(request_id, ordinal), UNIQUE(request_id, meaning));
CREATE TABLE fingerprints(
    request_id INTEGER PRIMARY KEY REFERENCES requests(id), exact TEXT NOT NULL, normalised TEXT NOT NULL,
    speakers TEXT NOT NULL, shape TEXT NOT NULL, words TEXT NOT NULL, marks TEXT NOT NULL, last TEXT NOT NULL, places TEXT NOT NULL);
CREATE INDEX by_exact ON fingerprints(exact, request_id);
CREATE INDEX by_normalised ON fingerprints(normalised, request_id);
CREATE TABLE candidates(
    id INTEGER PRIMARY KEY, request_id INTEGER NOT NULL REFERENCES requests(id),
    entry_id INTEGER NOT NULL REFERENCES requests(id), tier TEXT NOT NULL, score REAL NOT NULL, broken TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('open', 'approved', 'rejected', 'superseded', 'answered')),
    created REAL NOT NULL, decided REAL, decided_by TEXT, UNIQUE(request_id, entry_id));
CREATE INDEX by_state ON candidates(state, id);
CREATE TABLE aliases(
    request_id INTEGER PRIMARY KEY REFERENCES requests(id), entry_id INTEGER NOT NULL REFERENCES requests(id),
    candidate_id INTEGER NOT NULL REFERENCES candidates(id));
CREATE TABLE call_log(
    id INTEGER PRIMARY KEY, at REAL NOT NULL, fingerprint TEXT NOT NULL, outcome TEXT NOT NULL, tier TEXT NOT NULL,
    score REAL, serve REAL, review REAL, entry_id INTEGER, steps TEXT NOT NULL);
CREATE TABLE entry_vector(request_id INTEGER PRIMARY KEY REFERENCES requests(id), model TEXT NOT NULL, vector BLOB NOT NULL);
CREATE TABLE word_counts(word TEXT PRIMARY KEY, entries INTEGER NOT NULL) WITHOUT ROWID;
"""
ENTRY_WORDS = """CREATE VIRTUAL TABLE entry_words USING fts5(
    words, speakers, tokenize = "unicode61 remove_diacritics 0 categories 'L* M* N* P* S* Z* C*' separators ' '")"""
MIGRATIONS = {
    1: (
        "ALTER TABLE fingerprints ADD COLUMN places TEXT NOT NULL DEFAULT ''",
        "UPDATE settings SET value = '' WHERE name = 'normal'",  # redacted and derived anew when it is opened
        """UPDATE settings SET value = json_set(value, '$.gates', json('["same_order","same_marks","same_places"]'))
        WHERE name = 'settings' AND json_extract(value, '$.gates') = '["same_order","same_marks"]'""",
    ),
}
"""What makes a file of a version one of the next."""
# `word_counts`: in how many entries a word stands; the empty word stands in all of them.
# The words are joined by one blank and split at the blank only, so that a word of the one tokenizer is a word here.


class LibraryError(CleanError):
    """A matching library that is not there, is damaged, or is of another version."""


def connect(path: Path | str) -> sqlite3.Connection:
    """A connection in autocommit mode; a file is in WAL mode, so that readers never wait for a writer."""
    # The owner may close it from a thread of its own; each object uses its connection from one thread at a time.
    db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=NORMAL")
        db.execute("PRAGMA foreign_keys=ON")
        db.execute("PRAGMA secure_delete=ON")
    except sqlite3.DatabaseError as error:
        db.close()
        raise LibraryError(f"not a matching library: {error}", where=str(path)) from error
    return db


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """All or nothing, with the file locked for writing from the first statement on."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def prepare_file(db: sqlite3.Connection, where: str) -> None:
    """Make the tables where there are none. Raises LibraryError for another version or a foreign file."""
    try:
        with transaction(db):
            version = db.execute("PRAGMA user_version").fetchone()[0]
            tables = db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
            if version == 0 and tables == 0:
                for statement in SCHEMA.split(";\n"):
                    if statement.strip():
                        db.execute(statement)
                db.execute(f"PRAGMA user_version={VERSION}")
            elif version > VERSION:
                raise LibraryError(
                    f"the library has version {version}, newer than {VERSION}", where=where, do="Update the workbench"
                )
            elif version == 0:
                raise LibraryError("not a matching library", where=where, do="Name another file, or load it anew")
            for older in range(version or VERSION, VERSION):
                for statement in MIGRATIONS[older]:
                    db.execute(statement)
                db.execute(f"PRAGMA user_version={older + 1}")
            _index_words(db)
    except sqlite3.DatabaseError as error:
        raise LibraryError(f"the library cannot be used: {error}", where=where) from error


def has_fts5(db: sqlite3.Connection) -> bool:
    """Whether this connection can use the index of words: the table is there, and SQLite has the module for it."""
    try:
        db.execute("SELECT 1 FROM entry_words LIMIT 0")
    except sqlite3.OperationalError as error:
        if "no such module" in str(error) or "no such table" in str(error):
            return False
        raise
    return True


def _index_words(db: sqlite3.Connection) -> None:
    """Make the index of words where it is missing or behind and SQLite has FTS5; else the library scans."""
    behind = db.execute("SELECT count(*) FROM settings WHERE name = ?", (UNINDEXED,)).fetchone()[0]
    there = has_fts5(db)
    if there and not behind:
        return
    try:
        if there:
            db.execute("DROP TABLE entry_words")
        db.execute(ENTRY_WORDS)
    except sqlite3.OperationalError as error:
        if "no such module" in str(error) or "already exists" in str(error):
            return
        raise
    db.execute("UPDATE settings SET value = '' WHERE name = 'normal'")
    db.execute("DELETE FROM settings WHERE name = ?", (UNINDEXED,))
