"""SMART's files: records that begin with `.I ID`, with fields that begin with `.T`, `.W`, …"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import regex

from workbench.sources.files import byte_lines, text_lines
from workbench.sources.source import JudgedQuery, SourceError

_RECORD, _FIELD = regex.compile(r"^\.I(?:\s+(.*\S))?\s*$"), regex.compile(r"^\.([A-Z])\s*$")


class Record(NamedTuple):
    """One record; `line` is that of its `.I`. A field that stands twice is joined by a line end."""

    line: int
    id: str
    fields: dict[str, str]


def is_smart(path: Path) -> bool:
    """Whether the first line that is not blank begins a record."""
    first = next((line for _, line in byte_lines(path) if line.strip()), b"")
    return _RECORD.match(first.decode("latin-1")) is not None


def records(path: Path) -> Iterator[Record]:
    """The records of a file, streamed. Raises SourceError with file and line for a record without an id or a field, and
    for text outside of a field."""
    record: Record | None = None
    lines: list[str] | None = None
    fields: dict[str, list[str]] = {}
    for number, line in enumerate(text_lines(path), 1):
        where = f"{path}:{number}"
        if begins := _RECORD.match(line):
            if record:
                yield _whole(record, fields, path)
            if not begins.group(1):
                raise SourceError(
                    "a record without an id", where=where, do="Write .I and the id on one line"
                )
            record, lines, fields = Record(number, begins.group(1), {}), None, {}
        elif (named := _FIELD.match(line)) and record:
            lines = fields.setdefault(named.group(1), [])
        elif lines is not None:
            lines.append(line)
        elif line.strip():
            raise SourceError(
                "text outside of a field",
                where=where,
                do="A record is .I ID, then fields such as .T and .W",
            )
    if record:
        yield _whole(record, fields, path)


def _whole(record: Record, fields: dict[str, list[str]], path: Path) -> Record:
    if not fields:
        raise SourceError(f"the record {record.id!r} has no field", where=f"{path}:{record.line}")
    return record._replace(fields={name: "".join(lines).strip() for name, lines in fields.items()})


def asked(path: Path) -> Iterator[tuple[int, JudgedQuery]]:
    """(line, query) of every record of a file of queries: its title and its text."""
    for record in records(path):
        text = f"{record.fields.get('T', '')} {record.fields.get('W', '')}"
        yield record.line, JudgedQuery(record.id, " ".join(text.split()))
