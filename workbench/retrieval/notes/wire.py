"""What crosses from the engine to Python: rows, bytes and seconds, by stage and round."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.retrieval.notes.file import NotesFile
from workbench.trace import payload_bytes

OUTSIDE = 0
"""The round of what runs once a search."""


@dataclass(frozen=True, slots=True)
class Crossing:
    """One statement's answer. `text` are the bytes of note and chunk text among `bytes`."""

    stage: str
    round: int
    rows: int
    bytes: int
    text: int
    seconds: float


@dataclass(slots=True)
class Wire:
    """Runs statements whose last column, where they have `text`, is text.

    With `weigh` that column is the text's stored length and no text crosses: the same counts in less time.
    """

    file: NotesFile
    weigh: bool = False
    crossings: list[Crossing] = field(default_factory=list)

    def read(
        self, stage: str, number: int, sql: str, params: Mapping[str, Any], *, text: bool = False
    ) -> Sequence[tuple]:
        """All rows, counted. Where the wire weighs, the last column of a `text` statement is a number of bytes."""
        start = time.perf_counter()
        rows = self.file.rows(sql, params)
        seconds = time.perf_counter() - start
        texts = 0
        if text:
            texts = sum(row[-1] if self.weigh else payload_bytes(row[-1]) for row in rows)
            rest = sum(payload_bytes(row[:-1]) for row in rows)
        else:
            rest = sum(map(payload_bytes, rows))
        self.crossings.append(Crossing(stage, number, len(rows), texts + rest, texts, seconds))
        return rows
