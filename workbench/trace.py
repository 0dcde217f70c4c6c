"""Spans: every engine call and every stage, with seconds, rows, bytes and what a limit dropped."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.types import Span


@dataclass(slots=True)
class OpenSpan:
    """The span being measured; the stage fills in what it learns."""

    rows: int = 0
    bytes: int = 0
    limit: str = ""
    dropped: int | None = 0
    note: str = ""


@dataclass(slots=True)
class Trace:
    """Collects spans in the order in which they ended. Not shared between searches."""

    spans: list[Span] = field(default_factory=list)

    @contextmanager
    def span(self, stage: str, call: str, engine: str = "") -> Iterator[OpenSpan]:
        """Time a block; the span is kept also when the block raises, so that a failing call is seen."""
        opened, start = OpenSpan(), time.perf_counter()
        try:
            yield opened
        finally:
            self.spans.append(
                Span(
                    stage,
                    call,
                    engine,
                    time.perf_counter() - start,
                    opened.rows,
                    opened.bytes,
                    opened.limit,
                    opened.dropped,
                    opened.note,
                )
            )

    def note(self, stage: str, note: str, **facts: Any) -> None:
        """A fact without a duration: a limit that cut, a query without terms."""
        self.spans.append(replace(Span(stage, "note"), note=note, **facts))

    def mark(self) -> int:
        return len(self.spans)

    def since(self, mark: int) -> tuple[Span, ...]:
        return tuple(self.spans[mark:])


def payload_bytes(value: Any) -> int:
    """Bytes of a value as it would cross a wire: UTF-8 length of text, 8 a number, containers by their parts."""
    if isinstance(value, str):
        return len(value.encode("utf-8", "surrogatepass"))
    if isinstance(value, bytes):
        return len(value)
    if isinstance(value, dict):
        return sum(payload_bytes(k) + payload_bytes(v) for k, v in value.items())
    if isinstance(value, list | tuple):
        return sum(map(payload_bytes, value))
    return 0 if value is None else 8
