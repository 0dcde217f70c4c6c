"""Tables of documents or of chunks: JSON lines, CSV, TSV and Parquet, by a column mapping."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from workbench.errors import BadParameter
from workbench.registry import register
from workbench.sources.base import (
    Qrel,
    Source,
    SourceError,
    Tally,
    check_chunk_size,
    document_chunks,
)
from workbench.sources.chunking import OVERLAP
from workbench.sources.facets import facets_of
from workbench.sources.files import (
    existing_file,
    format_of,
    missing_columns,
    numbered,
    table_columns,
    table_rows,
)
from workbench.sources.judgements import Documents, check_queries, read_qrels, read_queries
from workbench.types import SOURCE_TYPES, Chunk

# ---- Which column, or payload key, holds what: one mapping for tables and running collectio ----

# What a column can be read as. Every other column goes to the metadata under its own name.
ROLES = (
    "id",
    "text",
    "title",
    "source",
    "entity_id",
    "chunk_index",
    "source_type",
    "project",
    "note_type",
    "tags",
    "status",
    "created",
    "updated",
    "path",
)
FACET_ROLES = ("project", "note_type", "tags", "status", "created", "updated", "path")
ROW_NUMBER = "#row"

Columns = Mapping[str, str] | Sequence[tuple[str, str] | str] | str | None
"""Role to column: a mapping, its pairs, or texts `role=column` (several in one, with commas between)."""


def parse_columns(columns: Columns) -> dict[str, str]:
    """Role to column. Raises BadParameter for an unknown role, and for text that is no `role=column`."""
    if isinstance(columns, str):
        columns = [part for part in columns.split(",") if part.strip()]
    pairs = columns.items() if isinstance(columns, Mapping) else columns or ()
    mapped: dict[str, str] = {}
    for pair in pairs:
        role, column = pair.partition("=")[::2] if isinstance(pair, str) else pair
        if not column or role.strip() in mapped:
            raise BadParameter(
                f"{pair!r} is no column mapping", do="Write role=column, each role once"
            )
        mapped[role.strip()] = column.strip()
    unknown = [role for role in mapped if role not in ROLES]
    if unknown:
        raise BadParameter(
            f"unknown roles: {', '.join(unknown)}", do=f"The roles are {', '.join(ROLES)}"
        )
    return mapped


def resolve(
    columns: Mapping[str, str], defaults: Mapping[str, str], found: Sequence[str]
) -> dict[str, str]:
    """Role to column: what was mapped, else the default where it is found and not mapped to something else."""
    taken = set(columns.values())
    resolved = {
        r: c for r, c in defaults.items() if c in found and c not in taken and r not in columns
    }
    return {**resolved, **columns}


def split_row(
    row: Mapping[str, Any], roles: Mapping[str, str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """(values by role, the rest by column)."""
    by_role = {role: row.get(column) for role, column in roles.items()}
    used = set(roles.values())
    return by_role, {key: value for key, value in row.items() if key not in used}


def text_value(value: Any) -> str | None:
    """A cell as a document's text: text, or a number as text; absent is empty; None for anything else."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


# ---- Tables of documents or of chunks: JSON lines, CSV, TSV and Parquet, by a column mappin ----

# A column is read as the role that it is named for; `_id`, as BEIR names it, is an id.
DEFAULTS = {role: role for role in ROLES}
ID_SPELLINGS = ("id", "_id")
HEADERLESS = ("id", "text")
"""The columns of a table without a header."""


@register("reader")
def table(
    location: str | Path,
    *,
    columns: Columns = None,
    table_format: str = "",
    chunk_size: int | None = None,
    overlap: int = OVERLAP,
    queries: str | Path | None = None,
    qrels: str | Path | None = None,
    header: bool | None = None,
) -> Source:
    """A table file, one document a row: .jsonl, .csv, .tsv, .parquet.

    `table_format` names the format where the file does not. `columns` maps roles to columns, as a mapping or as `id=Issue id,text=Description`; a role that is not mapped
    is the column of its own name, every other column goes to the metadata. Needed are `text` and either `id`
    (`#row` is the row's number) or `entity_id`. A chunk's text is title, blank line, text; where `chunk_index` is
    mapped the rows are chunks already, and their text is left as it is. `queries` and `qrels` name files (JSON
    lines, CSV, TSV, TREC, SMART). A .tsv of two columns whose first cell is a whole number is one of id and text without
    a header, as MS MARCO's; `header` says so of another, or that there is one.

    Raises SourceError with file and line for missing columns (listing those found), a bad row, and an id that
    stands twice.
    """
    check_chunk_size(chunk_size, overlap)
    path = existing_file(location, "the table")
    found_format = table_format or format_of(path)
    if found_format not in ("jsonl", "csv", "tsv", "parquet"):
        raise SourceError(
            "the name does not tell the table's format",
            where=str(path),
            do="Give -p table_format=jsonl, csv, tsv or parquet",
        )
    mapped = parse_columns(columns)
    if header is not None and found_format not in ("csv", "tsv"):
        raise SourceError(
            f"a {found_format} file has no header to leave out",
            where=str(path),
            do="Leave out header",
        )
    bare = found_format == "tsv" and not mapped and numbered(path) if header is None else not header
    names = HEADERLESS if bare else ()
    roles = _roles(mapped, names or table_columns(path, found_format), path)
    if chunk_size is not None and "chunk_index" in roles:
        raise SourceError(
            "rows that are chunks already cannot be cut again",
            where=str(path),
            do="Leave out chunk_size",
        )
    warnings: list[str] = []
    asked = read_queries(existing_file(queries, "the queries file")) if queries else ()
    judged = read_qrels(existing_file(qrels, "the qrels file"), warnings) if qrels else ()
    check_queries(asked, judged, warnings)
    plan = _Plan(path, found_format, roles, chunk_size, overlap, names)
    settings = {
        "columns": dict(roles),
        "table_format": found_format,
        "chunk_size": chunk_size,
        "overlap": overlap,
        "queries": str(queries or ""),
        "qrels": str(qrels or ""),
        "header": False if names else None,
    }
    return Source(
        "table",
        str(location),
        settings,
        partial(_chunks, plan, judged, warnings),
        asked,
        judged,
        warnings,
    )


@dataclass(frozen=True, slots=True)
class _Plan:
    path: Path
    table_format: str
    roles: Mapping[str, str]
    chunk_size: int | None
    overlap: int
    names: Sequence[str]


def _roles(columns: dict[str, str], found: Sequence[str], path: Path) -> dict[str, str]:
    absent = [column for column in columns.values() if column not in found and column != ROW_NUMBER]
    if absent:
        raise missing_columns(absent, found, str(path), "Map roles to columns that are there")
    spelled = next((name for name in ID_SPELLINGS if name in found), "id")
    roles = resolve(columns, {**DEFAULTS, "id": spelled}, found)
    missing = [role for role in ("text",) if role not in roles]
    if "id" not in roles and "entity_id" not in roles:
        missing.insert(0, "id")
    if missing:
        raise missing_columns(
            missing,
            found,
            str(path),
            f"Map them: {' '.join(f'--map {role}=COLUMN' for role in missing)}",
        )
    return roles


def _chunks(plan: _Plan, qrels: Sequence[Qrel], warnings: list[str]) -> Iterator[Chunk]:
    documents = Documents(plan.path, qrels)
    odd = Tally("rows were read with something odd")
    ids = count(1)
    for line, row in table_rows(plan.path, plan.table_format, plan.names):
        where = f"{plan.path}:{line}"
        values, rest = split_row(row, plan.roles)
        if plan.roles.get("id") == ROW_NUMBER:
            values["id"] = line
        title, text = text_value(values.get("title")), text_value(values["text"])
        if title is None or text is None:
            raise SourceError(f"the {'title' if title is None else 'text'} is no text", where=where)
        entity_id = _entity_id(values, where)
        if "entity_id" in plan.roles and values.get("id") not in (None, "", entity_id):
            rest["id"] = values["id"]
        try:
            reading = facets_of({role: values.get(role) for role in FACET_ROLES}, rest)
        except SourceError as error:
            raise SourceError(error.what, where=where) from None
        for facet, problem in reading.problems:
            if not (
                facet == "tags" and isinstance(values.get("tags"), str)
            ):  # a cell holds no list
                odd.add(f"line {line} ({problem})")
        source = text_value(values.get("source")) or entity_id
        source_type = _source_type(values, where)
        if "chunk_index" in plan.roles:
            index = _index(values["chunk_index"], where)
            documents.seen(entity_id, line, not text.strip(), (source_type, index))
            yield Chunk(
                next(ids), entity_id, index, text, title, source, source_type, reading.facets
            )
            continue
        part = (source_type, 0) if "source_type" in plan.roles else None
        documents.seen(entity_id, line, not (title + text).strip(), part)
        for chunk in document_chunks(
            ids,
            entity_id,
            title,
            text,
            source=source,
            facets=reading.facets,
            chunk_size=plan.chunk_size,
            overlap=plan.overlap,
        ):
            yield (
                chunk
                if source_type == chunk.source_type
                else replace(chunk, source_type=source_type)
            )
    odd.into(warnings)
    documents.into(warnings)


def _entity_id(values: Mapping[str, Any], where: str) -> str:
    value = values["entity_id"] if "entity_id" in values else values["id"]
    text = (
        str(value).strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""
    )
    if not text:
        raise SourceError(
            f"{value!r} is no id", where=where, do="An id is a text or a whole number"
        )
    return text


def _source_type(values: Mapping[str, Any], where: str) -> str:
    value = values.get("source_type") or SOURCE_TYPES[0]
    if value not in SOURCE_TYPES:
        raise SourceError(
            f"unknown source_type {value!r}", where=where, do=f"Use {', '.join(SOURCE_TYPES)}"
        )
    return value


def _index(value: Any, where: str) -> int:
    if isinstance(value, str) and value.strip().isdecimal():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise SourceError(f"the chunk_index {value!r} is not a whole number from 0", where=where)
    return value
