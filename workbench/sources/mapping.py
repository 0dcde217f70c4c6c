"""Which column, or payload key, holds what: one mapping for tables and running collections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.errors import BadParameter

# What a column can be read as. Every other column goes to the metadata under its own name.
ROLES = ("id", "text", "title", "source", "entity_id", "chunk_index", "source_type",
         "project", "note_type", "tags", "status", "created", "updated", "path")  # fmt: skip
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
            raise BadParameter(f"{pair!r} is no column mapping", do="Write role=column, each role once")
        mapped[role.strip()] = column.strip()
    unknown = [role for role in mapped if role not in ROLES]
    if unknown:
        raise BadParameter(f"unknown roles: {', '.join(unknown)}", do=f"The roles are {', '.join(ROLES)}")
    return mapped


def resolve(columns: Mapping[str, str], defaults: Mapping[str, str], found: Sequence[str]) -> dict[str, str]:
    """Role to column: what was mapped, else the default where it is found and not mapped to something else."""
    taken = set(columns.values())
    resolved = {r: c for r, c in defaults.items() if c in found and c not in taken and r not in columns}
    return {**resolved, **columns}


def split_row(row: Mapping[str, Any], roles: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
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
