"""Writing and reading of requests and answers: plain functions over a connection, inside the caller's transaction."""

from __future__ import annotations

import json
import sqlite3

from workbench.matching.fingerprint import Prepared, digest, shape_text, words_text
from workbench.matching.request import Answer, json_text
from workbench.matching.schema import UNINDEXED, has_fts5
from workbench.text import well_formed

EVERY_ENTRY = ""
"""The word of `word_counts` that counts the entries."""

_ANSWER = "a.text, a.calls, a.finish, a.body, a.events, a.created"
SERVE_EXACT = f"""SELECT f.request_id, {_ANSWER} FROM fingerprints f JOIN answers a ON a.request_id = f.request_id
    WHERE f.exact = ? AND a.ordinal = 1 ORDER BY f.request_id LIMIT 1"""
SERVE_ENTRY = f"SELECT a.request_id, {_ANSWER} FROM answers a WHERE a.request_id = ? AND a.ordinal = 1"


def answer_of(row: tuple) -> Answer:
    """The answer from a row of SERVE_EXACT or SERVE_ENTRY."""
    _, text, calls, finish, body, events, created = row
    return Answer(
        text, tuple(map(tuple, json.loads(calls))) if calls != "[]" else (), finish, body, events, created
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


def put_request(db: sqlite3.Connection, ask: Prepared, *, answered: bool, source: str, number: int) -> int:
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
        (request_id, known + 1, well_formed(answer.text), json_text(answer.calls), well_formed(answer.finish),
         well_formed(answer.body), well_formed(answer.events), answer.created, digest(answer.meaning)),
    )  # fmt: skip
    return done.rowcount == 1


def close_answered(db: sqlite3.Connection, normalised: str, at: float) -> None:
    """An answered request closes its own candidates (ADR-0003, SEM-E6)."""
    db.execute(
        "UPDATE candidates SET state = 'answered', decided = ? WHERE state = 'open' AND request_id IN "
        "(SELECT request_id FROM fingerprints WHERE normalised = ?)",
        (at, normalised),
    )
