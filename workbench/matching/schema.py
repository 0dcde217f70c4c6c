"""The SQLite file of one project: its tables, how it is opened, and its one kind of transaction.

`requests` and `answers` are what was recorded; `fingerprints` and `entry_words` are derived from them and made anew
when the rules change. A request without an answer is a missed one that waits in the review queue.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workbench.matching.fingerprint import Prepared, digest, shape_text, words_text
from workbench.matching.request import Answer, json_text
from workbench.matching.rules import CleanError
from workbench.text import well_formed

# ---- The SQLite file of one project: its tables, how it is opened, and its one kind of tran ----

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
                    f"the library has version {version}, newer than {VERSION}",
                    where=where,
                    do="Update the workbench",
                )
            elif version == 0:
                raise LibraryError(
                    "not a matching library", where=where, do="Name another file, or load it anew"
                )
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


# ---- Writing and reading of requests and answers: plain functions over a connection, inside ----

EVERY_ENTRY = ""
"""The word of `word_counts` that counts the entries."""

_ANSWER = "a.text, a.calls, a.finish, a.body, a.events, a.created"
SERVE_EXACT = f"""SELECT f.request_id, {_ANSWER} FROM fingerprints f JOIN answers a ON a.request_id = f.request_id
    WHERE f.exact = ? AND a.ordinal = 1 ORDER BY f.request_id LIMIT 1"""
SERVE_ENTRY = (
    f"SELECT a.request_id, {_ANSWER} FROM answers a WHERE a.request_id = ? AND a.ordinal = 1"
)


def answer_of(row: tuple) -> Answer:
    """The answer from a row of SERVE_EXACT or SERVE_ENTRY."""
    _, text, calls, finish, body, events, created = row
    return Answer(
        text,
        tuple(map(tuple, json.loads(calls))) if calls != "[]" else (),
        finish,
        body,
        events,
        created,
    )


def speakers_token(speakers: str) -> str:
    """The roles in order as one word of the index."""
    return "s" + digest(speakers)[:16]


def find_request(db: sqlite3.Connection, exact: str) -> tuple[int, bool] | None:
    """(id, answered) of the request with that exact fingerprint."""
    row = db.execute(
        "SELECT r.id, r.answered FROM fingerprints f JOIN requests r ON r.id = f.request_id "
        "WHERE f.exact = ? ORDER BY r.answered DESC, r.id LIMIT 1",
        (exact,),
    ).fetchone()
    return (row[0], bool(row[1])) if row else None


def put_request(
    db: sqlite3.Connection, ask: Prepared, *, answered: bool, source: str, number: int
) -> int:
    """The id of the request, inserted where it is new, and made an entry where it was only a missed one."""
    found = find_request(db, ask.exact)
    if found is None:
        made = db.execute(
            "INSERT INTO requests(body, answered, source, number) VALUES (?, ?, ?, ?)",
            (ask.request.as_json(), answered, well_formed(source), number),
        ).lastrowid
        put_fingerprints(db, made, ask)
    else:
        made, was = found
        if was or not answered:
            return made
        db.execute(
            "UPDATE requests SET answered = 1, source = ?, number = ? WHERE id = ?",
            (well_formed(source), number, made),
        )
    if answered:
        put_words(db, made, ask)
    return made


def put_fingerprints(db: sqlite3.Connection, request_id: int, ask: Prepared) -> None:
    db.execute(
        "INSERT INTO fingerprints VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            request_id,
            ask.exact,
            ask.normalised,
            ask.speakers,
            shape_text(ask.shape),
            words_text(ask.compared.words),
            ask.compared.marks,
            ask.last,
            " ".join(map(str, ask.compared.places)),
        ),
    )


def put_words(db: sqlite3.Connection, request_id: int, ask: Prepared) -> None:
    """Index an entry's words, and count them. Without FTS5 the words are only counted, and the file says so."""
    if has_fts5(db):
        db.execute(
            "INSERT INTO entry_words(rowid, words, speakers) VALUES (?, ?, ?)",
            (request_id, words_text(ask.words), speakers_token(ask.speakers)),
        )
    else:
        db.execute("INSERT OR IGNORE INTO settings VALUES (?, '')", (UNINDEXED,))
    db.executemany(
        "INSERT INTO word_counts VALUES (?, 1) ON CONFLICT(word) DO UPDATE SET entries = entries + 1",
        [(word,) for word in sorted({EVERY_ENTRY, *ask.words})],
    )


def put_answer(db: sqlite3.Connection, request_id: int, answer: Answer) -> bool:
    """Keep an answer behind those that are there; one that says the same is not kept twice. True if it is new."""
    known = db.execute(
        "SELECT coalesce(max(ordinal), 0) FROM answers WHERE request_id = ?", (request_id,)
    ).fetchone()[0]
    done = db.execute(
        "INSERT OR IGNORE INTO answers(request_id, ordinal, text, calls, finish, body, events, created, meaning) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            request_id,
            known + 1,
            well_formed(answer.text),
            json_text(answer.calls),
            well_formed(answer.finish),
            well_formed(answer.body),
            well_formed(answer.events),
            answer.created,
            digest(answer.meaning),
        ),
    )
    return done.rowcount == 1


def close_answered(db: sqlite3.Connection, normalised: str, at: float) -> None:
    """An answered request closes its own candidates (ADR-0003, SEM-E6)."""
    db.execute(
        "UPDATE candidates SET state = 'answered', decided = ? WHERE state = 'open' AND request_id IN "
        "(SELECT request_id FROM fingerprints WHERE normalised = ?)",
        (at, normalised),
    )
