"""A log of real queries as rows: JSON lines, CSV, TSV or Parquet, with time, text, filters and what was shown.

A row that cannot be read as a query is left out, with its reason and line; nothing of it is guessed. An empty list of
what was shown means that nothing was; no list at all, or an empty cell, means that it is not known.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from math import isfinite
from pathlib import Path
from typing import Any

from workbench.errors import BadParameter
from workbench.sources.base import SourceError
from workbench.sources.files import existing_file, json_rows, missing_columns, named_rows, suffix_of
from workbench.sources.judgements import FILTER_COLUMN, filters_from, filters_of
from workbench.stores.filters.values import moment_of, range_of, rfc3339, values_of
from workbench.types import content_hash

COLUMNS = {
    "text": ("text", "query", "q", "search", "search_query", "query_text", "question"),
    "time": ("time", "timestamp", "ts", "at", "when", "datetime", "created_at", "date"),
    "filters": ("filters", "filter", "where"),
    "id": ("id", "query_id", "qid"),
    "self": ("self", "own_document"),
    "shown": ("shown", "results", "result_ids", "shown_ids", "hits", "ids"),
}
"""What a column may be called; case, blanks and hyphens do not count. The first that is there is taken."""

FORMATS = (".jsonl", ".ndjson", ".csv", ".tsv", ".parquet")
LINES_SHOWN = 3
_ID_FIELDS = ("id", "entity_id", "document_id", "doc_id", "point_id")
# A number of seconds since 1970 above this lies in the year 5138: such a number counts milliseconds.
_MILLISECONDS_FROM = 1e11
_PARQUET_BATCH = 2_000
_SEPARATORS = re.compile(r"[\s,;|]+")


@dataclass(frozen=True, slots=True)
class Logged:
    """One query of a log. `line` is its 1-based line or row; `time` RFC 3339 in UTC, "" where none was read; `shown` the
    ids, None where they are not known; `times` how often the log holds this text with these filters."""

    line: int
    text: str
    time: str = ""
    filters: Mapping[str, Any] = field(default_factory=dict)
    shown: tuple[str, ...] | None = None
    times: int = 1
    own_document: str = ""
    id: str = ""

    @property
    def key(self) -> str:
        """Equal for equal text, filters and own document, which is left out of the page."""
        return content_hash(self.text, dict(self.filters), self.own_document)


@dataclass(frozen=True)
class Log:
    """What was read: the distinct queries in the order of their first line, each as it was asked last, and how many
    rows there were. `notes` says what did not fit, with counts and the first lines."""

    location: str
    queries: tuple[Logged, ...]
    rows: int
    notes: tuple[str, ...]

    @property
    def hash(self) -> str:
        return content_hash(
            [(q.text, dict(q.filters), q.shown, q.time, q.times) for q in self.queries]
        )


def read_log(
    location: str | Path, columns: Mapping[str, str] | None = None, limit: int | None = None
) -> Log:
    """The log's queries. `columns` names the column of a role (time, text, filters, shown) where its name does not
    tell; `limit` reads so many rows. Raises SourceError for a file that is no such table, BadParameter for a role.

    A mapped column that no row has, and a log of which no row is a query, are SourceErrors too: nothing read is no
    ground to pass anything.
    """
    path = existing_file(location, "the log")
    for role in columns or {}:
        if role not in COLUMNS:
            raise BadParameter(f"a log has no {role!r}", do=f"Map one of {', '.join(COLUMNS)}")
    reader = _Reader(path, dict(columns or {}))
    for number, row in _rows(path):
        if limit is not None and reader.rows >= limit:
            reader.cut = True
            break
        reader.add(number, row)
    reader.check()
    return reader.log(limit)


class _Reader:
    """Rows taken so far, each query once."""

    def __init__(self, path: Path, columns: dict[str, str]) -> None:
        self.path, self.columns = path, columns
        self.rows, self.cut = 0, False
        self.queries: dict[str, Logged] = {}
        self.odd: dict[str, list[int]] = {}
        self.seen: set[str] = set()

    def add(self, number: int, row: Mapping[str, Any]) -> None:
        self.rows += 1
        self.seen.update(row)
        names = self._names(row, number)
        text = row.get(names["text"])
        if not isinstance(text, str):
            return self._odd("rows without a text, left out", number)
        time = ""
        if (written := row.get(names.get("time", ""))) not in (None, ""):
            time = _moment(written)
            if not time:
                self._odd("times that cannot be read, taken as none", number)
        try:
            filters = _filters(row.get(names.get("filters", "")), row)
        except BadParameter as error:
            return self._odd(
                f"rows with filters that cannot be read ({error.what}), left out", number
            )
        try:
            shown = _shown(row.get(names.get("shown", "")))
        except ValueError:
            shown = None
            self._odd("lists of what was shown that cannot be read, taken as not known", number)
        own, named = (row.get(names.get(role, "")) for role in ("self", "id"))
        own_document, query_id = ("" if value is None else str(value) for value in (own, named))
        self._keep(Logged(number, text, time, filters, shown, 1, own_document, query_id))
        return None

    def _keep(self, row: Logged) -> None:
        known = self.queries.get(row.key)
        if known is None:
            self.queries[row.key] = row
            return
        # The last one asked stands for all: by its time where both have one, else by its line.
        last = known if known.time and row.time and row.time < known.time else row
        shown = last.shown if last.shown is not None else known.shown if last is row else row.shown
        self.queries[row.key] = replace(
            row, line=known.line, time=last.time or known.time, shown=shown, times=known.times + 1
        )

    def _names(self, row: Mapping[str, Any], number: int) -> dict[str, str]:
        """The column of each role that this row has. Raises SourceError where there is none for the text."""
        by_spelling = {_spelling(name): name for name in reversed(list(row))}
        names = {}
        for role, spellings in COLUMNS.items():
            if role in self.columns:
                if self.columns[role] not in row and suffix_of(self.path) not in (
                    ".jsonl",
                    ".ndjson",
                ):
                    raise missing_columns(
                        [self.columns[role]],
                        list(row),
                        str(self.path),
                        "Name a column that is there",
                    )
                names[role] = self.columns[role]
            else:
                found = next((by_spelling[s] for s in spellings if s in by_spelling), None)
                if found is not None:
                    names[role] = found
        if "text" not in names:
            raise missing_columns(
                ["text"], list(row), f"{self.path}:{number}", "Name it: --map text=COLUMN"
            )
        return names

    def check(self) -> None:
        """Raises SourceError where a mapped column is in no row, or no row is a query."""
        for role, column in self.columns.items() if self.rows else ():
            if column not in self.seen:
                known = ", ".join(sorted(self.seen)) or "none"
                raise SourceError(
                    f"no row has the column {column!r}",
                    where=str(self.path),
                    do=f"Map {role} to one of: {known}",
                )
        if not self.queries:
            why = (
                "; ".join(f"{what}: {len(lines)}" for what, lines in self.odd.items())
                or "it has no rows"
            )
            raise SourceError(
                f"the log holds no query ({why})",
                where=str(self.path),
                do="Name its column: --map text=COLUMN",
            )

    def _odd(self, what: str, line: int) -> None:
        self.odd.setdefault(what, []).append(line)

    def log(self, limit: int | None) -> Log:
        notes = [
            f"{what}: {len(lines)} (line {', '.join(map(str, lines[:LINES_SHOWN]))}{', …' if len(lines) > LINES_SHOWN else ''})"
            for what, lines in self.odd.items()
        ]
        repeated = sum(q.times - 1 for q in self.queries.values())
        if repeated:
            notes.append(f"rows that repeat an earlier query, run once: {repeated}")
        if self.cut:
            notes.append(f"only the first {limit:,} rows were read")
        return Log(str(self.path), tuple(self.queries.values()), self.rows, tuple(notes))


def _rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    suffix = suffix_of(path)
    if suffix in (".jsonl", ".ndjson"):
        return json_rows(path)
    if suffix in (".csv", ".tsv"):
        return named_rows(path, "\t" if suffix == ".tsv" else ",")
    if suffix == ".parquet":
        return _parquet_rows(path)
    raise SourceError(
        f"a log does not end in {suffix or path.name!r}",
        where=str(path),
        do=f"Use {', '.join(FORMATS)}",
    )


def _parquet_rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        file = pq.ParquetFile(path)
        for batch in file.iter_batches(_PARQUET_BATCH):
            for row in batch.to_pylist():
                number += 1
                yield number, row
    except (pa.ArrowException, OSError) as error:
        raise SourceError(f"not Parquet: {error}", where=f"{path}: row {number + 1}") from None


def _moment(value: Any) -> str:
    """A time as RFC 3339 in UTC: ISO 8601 text, a date or time, or a number of seconds or milliseconds since 1970."""
    try:
        if isinstance(value, datetime):
            return rfc3339(value)
        if isinstance(value, date):
            return rfc3339(datetime(value.year, value.month, value.day))
        if isinstance(value, str) and not re.fullmatch(r"\d{9,}(\.\d+)?", value.strip()):
            return moment_of(value.strip()) or ""
        number = float(value)
        if isinstance(value, bool) or not isfinite(number):
            return ""
        return rfc3339(
            datetime.fromtimestamp(
                number / 1000 if abs(number) >= _MILLISECONDS_FROM else number, UTC
            )
        )
    except (ValueError, TypeError, OverflowError, OSError):
        return ""


def _filters(value: Any, row: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the column of filters, and those that a file of judged queries has elsewhere: in columns `filter.FIELD` and
    in its metadata. Raises BadParameter also for what no search takes as a filter."""
    held = row.get("metadata")
    columns = {name: cell for name, cell in row.items() if name.startswith(FILTER_COLUMN)}
    filters = filters_from(value) | filters_of(
        {**(held if isinstance(held, Mapping) else {}), **columns}
    )
    for name, asked in filters.items():
        if isinstance(asked, Mapping):
            range_of(name, asked)
        elif any(isinstance(v, Mapping | list) for v in values_of(asked)):
            raise BadParameter(f"{name} is compared with a list of lists")
    return filters


def _shown(value: Any) -> tuple[str, ...] | None:
    """Ids in their order, each once: a list of ids or of objects with an id, its JSON, or words with marks between."""
    if value is None or value == "":
        return None
    if isinstance(value, str):
        value = (
            json.loads(value)
            if value.lstrip().startswith("[")
            else [w for w in _SEPARATORS.split(value.strip()) if w]
        )
    if not isinstance(value, list | tuple):
        raise ValueError(value)
    return tuple(dict.fromkeys(map(_id, value)))


def _id(value: Any) -> str:
    if isinstance(value, Mapping):
        value = next((value[f] for f in _ID_FIELDS if value.get(f) is not None), None)
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError(value)
    return str(value)


def _spelling(name: str) -> str:
    return name.strip().lower().replace("-", "_").replace(" ", "_")
