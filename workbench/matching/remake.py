"""Everything that is derived from the stored requests, made anew after the rules or what is compared have changed."""

from __future__ import annotations

import json
import sqlite3

from workbench.matching import entries
from workbench.matching.fingerprint import Normal
from workbench.matching.redaction import Redaction
from workbench.matching.request import Answer, RecordedRequest, json_text
from workbench.matching.schema import ENTRY_WORDS, has_fts5
from workbench.matching.vectors import bump


def remake(db: sqlite3.Connection, normal: Normal) -> None:
    """Inside a transaction: clean what is stored by today's redaction, and derive fingerprints and words from it.

    Requests that the new rules make equal stay rows of their own; the oldest is the one that is found.
    """
    _clean_answers(db, normal.redaction)
    last = dict(db.execute("SELECT request_id, last FROM fingerprints"))
    if has_fts5(db):  # made new, because FTS5 keeps the words of deleted rows until it merges
        db.execute("DROP TABLE entry_words")
        db.execute(ENTRY_WORDS)
    db.execute("DELETE FROM word_counts")
    db.execute("DELETE FROM fingerprints")
    for request_id, body, source, answered in db.execute(
        "SELECT id, body, source, answered FROM requests ORDER BY id"
    ).fetchall():
        ask = normal.prepare(RecordedRequest.from_json(body))
        db.execute(
            "UPDATE requests SET body = ?, source = ? WHERE id = ?",
            (ask.request.as_json(), normal.redaction.text(source), request_id),
        )
        entries.put_fingerprints(db, request_id, ask)
        if answered:
            entries.put_words(db, request_id, ask)
        if last.get(request_id) != ask.last:
            db.execute("DELETE FROM entry_vector WHERE request_id = ?", (request_id,))
    bump(db)


def _clean_answers(db: sqlite3.Connection, redaction: Redaction) -> None:
    for answer_id, *row in db.execute("SELECT id, text, calls, finish, body, events FROM answers").fetchall():
        held = Answer(row[0], tuple(map(tuple, json.loads(row[1]))), *row[2:])
        clean = redaction.answer(held)
        if clean != held:
            db.execute(
                "UPDATE answers SET text = ?, calls = ?, finish = ?, body = ?, events = ? WHERE id = ?",
                (clean.text, json_text(clean.calls), clean.finish, clean.body, clean.events, answer_id),
            )
