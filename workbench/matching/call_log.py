"""The call log: one row a call, with tier, score, thresholds, and why each tier before did not answer.

A hit must not wait for the disk, so rows of hits are handed to a writer thread that keeps at most LAG seconds of
them; rows of misses are written with the miss, in its transaction. `flush` waits for all that was handed over.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.matching.schema import connect, transaction

LAG = 0.05
"""Seconds of hits that a kill can lose from the log; answers and queue are never deferred."""

_INSERT = """INSERT INTO call_log(at, fingerprint, outcome, tier, score, serve, review, entry_id, steps)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_SELECT = (
    "SELECT id, at, fingerprint, outcome, tier, score, serve, review, entry_id, steps FROM call_log"
)

LogRow = tuple[
    float, str, str, str, "float | None", "float | None", "float | None", "int | None", str
]


@dataclass(frozen=True, slots=True)
class Logged:
    """A row of the log. `steps` are (tier, verdict, score, why) in the order in which the tiers were asked."""

    id: int
    at: float
    fingerprint: str
    outcome: str
    tier: str
    score: float | None
    serve: float | None
    review: float | None
    entry_id: int | None
    steps: tuple[tuple[Any, ...], ...]


def write_rows(db: sqlite3.Connection, rows: Sequence[LogRow]) -> None:
    """Write inside the caller's transaction."""
    db.executemany(_INSERT, rows)


def read_log(db: sqlite3.Connection, limit: int = 50, before: int | None = None) -> list[Logged]:
    """The newest rows first, at most `limit`, those with an id below `before`."""
    rows = db.execute(
        f"{_SELECT} WHERE id < ? ORDER BY id DESC LIMIT ?", (before or 1 << 62, limit)
    ).fetchall()
    return [Logged(*row[:-1], tuple(map(tuple, json.loads(row[-1])))) for row in rows]


class LogWriter:
    """The thread that writes the rows of hits, on a connection of its own. Without a path it writes at once."""

    def __init__(self, path: Path | None, db: sqlite3.Connection) -> None:
        self._path, self._db = path, db
        self._rows: deque[LogRow] = deque()  # append and popleft are atomic
        self._wake, self._lock = threading.Event(), threading.Lock()
        self._stopped = False
        self._thread: threading.Thread | None = None
        self.error: BaseException | None = None

    def put(self, row: LogRow) -> None:
        if self._path is None:
            write_rows(self._db, [row])
            return
        self._rows.append(row)
        if self._thread is None:
            self._start()

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="call-log", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        db = connect(self._path)
        try:
            while not self._stopped:
                self._wake.wait(LAG)
                self._write(db)
        except BaseException as error:  # handed to the next flush, in the thread that can say it
            self.error = error
        finally:
            db.close()

    def _write(self, db: sqlite3.Connection) -> None:
        with self._lock:
            rows = [self._rows.popleft() for _ in range(len(self._rows))]
            if rows:
                with transaction(db):
                    write_rows(db, rows)

    def flush(self) -> None:
        """Write all rows handed over so far; raises what the thread ran into."""
        if self.error is not None:
            raise self.error
        if self._path is not None:
            self._write(self._db)

    def close(self) -> None:
        self._stopped = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
        self.flush()
