"""Filters as one SQL predicate over `chunk`: values and keys are parameters, never text of the statement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.stores.filters.values import (
    COLUMNS,
    DATETIME_FIELDS,
    ISO_8601,
    RANGE_OPERATORS,
    kind_of,
    range_of,
    values_of,
)


@dataclass(frozen=True, slots=True)
class Where:
    """A predicate and its parameters. `sql` is "" where every chunk is admitted."""

    sql: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)


def moment_sql(text: str) -> str:
    """The SQL of a text's moment (TIMESTAMPTZ; the session's zone is UTC), NULL where it is not ISO 8601."""
    return f"CASE WHEN regexp_full_match({text}, '{ISO_8601}') THEN try_cast({text} AS TIMESTAMPTZ) END"


def where(filters: Mapping[str, Any]) -> Where:
    """The predicate of filters that all hold; what a value means is in `filter_values`.

    Parameters are named $f0, $f1, …. Raises BadParameter for an unknown operator or a value of a bad type.
    """
    bound = _Bound()
    clauses = [_clause(bound, name, value) for name, value in filters.items()]
    return Where(" AND ".join(f"({c})" for c in clauses), bound.params)


class _Bound:
    """Parameters given so far."""

    def __init__(self) -> None:
        self.params: dict[str, Any] = {}

    def add(self, value: Any, sql_type: str) -> str:
        name = f"f{len(self.params)}"
        self.params[name] = value
        return f"${name}::{sql_type}"


def _clause(bound: _Bound, name: str, value: Any) -> str:
    if isinstance(value, Mapping):
        bounds = range_of(name, value)
        if name in DATETIME_FIELDS:
            return _between(bound, f"{name}_at", bounds)
        return _in_metadata(bound, name, lambda text, kind: _in_range(bound, text, kind, bounds))
    options = [(kind_of(name, v), v) for v in values_of(value)]
    if name in COLUMNS:
        return _any_of(_column(bound, name, kind, v) for kind, v in options)
    present = [(kind, v) for kind, v in options if kind != "absent"]
    clauses = []
    if present:
        clauses.append(
            _in_metadata(
                bound,
                name,
                lambda text, kind: _any_of(_equal(bound, text, kind, *o) for o in present),
            )
        )
    if len(present) < len(options):
        clauses.append(
            _absent(bound.add(_pointer(name), "VARCHAR")) if _storable_key(name) else "true"
        )
    return _any_of(clauses)


def _any_of(clauses: Any) -> str:
    return " OR ".join(clauses) or "false"


def _column(bound: _Bound, name: str, kind: str, value: Any) -> str:
    if kind == "never":
        return "false"
    if kind == "absent":
        return "len(tags) = 0" if name == "tags" else f"{name} IS NULL"
    if name == "tags":
        return f"list_contains(tags, {bound.add(value, 'VARCHAR')})"
    if kind == "prefix":
        return f"starts_with(path, {bound.add(value[:-1], 'VARCHAR')})"
    return f"{name} = {bound.add(value, 'VARCHAR')}"


def _pointer(key: str) -> str:
    """A metadata key as a JSON pointer (RFC 6901), in which every key can be written."""
    return "/" + key.replace("~", "~0").replace("/", "~1")


def _in_metadata(bound: _Bound, key: str, holds: Any) -> str:
    """The predicate `holds(text, kind)` of the key's value, or of any element where the value is a list.

    `text` and `kind` are the SQL of a JSON value's text and of its JSON type.
    """
    if not _storable_key(key):
        return "false"
    at = bound.add(_pointer(key), "VARCHAR")
    scalar = holds(f"json_extract_string(metadata, {at})", f"json_type(metadata, {at})")
    element = holds("json_extract_string(e, '$')", "json_type(e)")
    return (
        # Most metadata hold no list at all, and a look for the bracket is cheap.
        f"CASE WHEN contains(metadata, '[') AND json_type(metadata, {at}) = 'ARRAY'"
        f" THEN len(list_filter(json_extract(json_extract(metadata, {at}), '$[*]'), lambda e: {element})) > 0"
        f" ELSE {scalar} END"
    )


def _storable_key(key: str) -> bool:
    return kind_of("", key) != "never"


def _absent(at: str) -> str:
    # SQL's NULL for a missing key, JSON's null, and a list without elements.
    return (
        f"json_extract_string(metadata, {at}) IS NULL"
        f" OR (json_type(metadata, {at}) = 'ARRAY' AND json_array_length(metadata, {at}) = 0)"
    )


def _equal(bound: _Bound, text: str, json_type: str, kind: str, value: Any) -> str:
    if kind == "text":
        return f"({text} = {bound.add(value, 'VARCHAR')} AND {json_type} = 'VARCHAR')"
    if kind == "boolean":
        return f"({text} = '{'true' if value else 'false'}' AND {json_type} = 'BOOLEAN')"
    if kind in ("integer", "number"):
        return _number(
            bound, text, json_type, "=", value, "BIGINT" if kind == "integer" else "DOUBLE"
        )
    return "false"


def _number(
    bound: _Bound, text: str, json_type: str, operator: str, value: float, sql_type: str = "DOUBLE"
) -> str:
    parameter = bound.add(value if sql_type == "BIGINT" else float(value), sql_type)
    is_number = f"{json_type} IN ('UBIGINT', 'BIGINT', 'DOUBLE')"
    return f"({is_number} AND try_cast({text} AS {sql_type}) {operator} {parameter})"


def _between(bound: _Bound, moment: str, bounds: Mapping[str, Any]) -> str:
    return " AND ".join(
        f"{moment} {RANGE_OPERATORS[op]} {bound.add(b, 'TIMESTAMPTZ')}" for op, b in bounds.items()
    )


def _in_range(bound: _Bound, text: str, json_type: str, bounds: Mapping[str, Any]) -> str:
    if all(isinstance(b, int | float) for b in bounds.values()):
        return " AND ".join(
            _number(bound, text, json_type, RANGE_OPERATORS[op], b) for op, b in bounds.items()
        )
    return f"({json_type} = 'VARCHAR' AND {_between(bound, moment_sql(text), bounds)})"
