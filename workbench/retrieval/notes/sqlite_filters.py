"""Filters on SQLite: one predicate over `chunk`, and the part of it that vec0's metadata columns take.

What a value means is in stores.filter_values, as for the catalog and Qdrant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.stores.filter_values import COLUMNS, RANGE_OPERATORS, kind_of, range_of, values_of
from workbench.stores.points import DATETIME_FIELDS

PUSHED_TEXT = ("source_type", "project", "note_type", "status")
"""Facets with a metadata column in vec0; lists (tags), prefixes (path) and free metadata have none."""
ABSENT = "\x01"
"""An absent facet in a metadata column, which holds no NULL."""
NO_MOMENT = -1e18
"""An absent time in a metadata column: 31 billion years ago."""

_NUMBER, _TEXT = "('integer', 'real')", "'text'"


@dataclass(slots=True)
class Clause:
    """A predicate and its parameters (:f0, :f1, …); `sql` is "" where every chunk is admitted."""

    sql: str = ""
    params: dict[str, Any] = field(default_factory=dict)

    def add(self, value: Any) -> str:
        name = f"f{len(self.params)}"
        self.params[name] = value
        return f":{name}"


def where(filters: Mapping[str, Any]) -> Clause:
    """The predicate over `chunk` of filters that all hold. Raises BadParameter like the catalog's."""
    bound = Clause()
    bound.sql = " AND ".join(f"({_clause(bound, name, value)})" for name, value in filters.items())
    return bound


def pushed(filters: Mapping[str, Any]) -> tuple[Clause, bool]:
    """(what vec0 can be asked for beside the vector, whether that is all of it)."""
    bound, parts, whole = Clause(), [], True
    for name, value in filters.items():
        part = _pushed_clause(bound, name, value)
        whole &= part is not None
        parts += [part] if part else []
    # Parameters share one statement with the whole predicate's.
    renamed = {n.replace("f", "v", 1): v for n, v in bound.params.items()}
    return Clause("".join(f" AND {p}" for p in parts).replace(":f", ":v"), renamed), whole


def _pushed_clause(bound: Clause, name: str, value: Any) -> str | None:
    if isinstance(value, Mapping):
        if name not in DATETIME_FIELDS:
            return None
        bounds = range_of(name, value)
        given = [f"{name}_at {RANGE_OPERATORS[op]} {bound.add(b.timestamp())}" for op, b in bounds.items()]
        return " AND ".join([*given, f"{name}_at > {NO_MOMENT / 2!r}"])
    if name not in PUSHED_TEXT:
        return None
    options = [ABSENT if v is None else v for v in values_of(value) if kind_of(name, v) in ("absent", "text")]
    if not options:
        return None
    return f"{name} IN ({', '.join(bound.add(o) for o in options)})"


def _clause(bound: Clause, name: str, value: Any) -> str:
    if isinstance(value, Mapping):
        bounds = range_of(name, value)
        if name in DATETIME_FIELDS:
            return _between(bound, f"{name}_at", bounds)
        return _in_metadata(bound, name, lambda v, kind: _in_range(bound, v, kind, bounds))
    options = [(kind_of(name, v), v) for v in values_of(value)]
    if name in COLUMNS:
        return _any_of(_column(bound, name, kind, v) for kind, v in options)
    present = [(kind, v) for kind, v in options if kind != "absent"]
    clauses = [_in_metadata(bound, name, lambda v, kind: _any_of(_equal(bound, v, kind, *o) for o in present))] if present else []
    if len(present) < len(options):
        held = f"SELECT 1 FROM json_each(metadata) m WHERE m.key = {_key(bound, name)} AND m.type <> 'null'"
        clauses.append(f"NOT EXISTS ({held} AND NOT (m.type = 'array' AND json_array_length(m.value) = 0))")
    return _any_of(clauses)


def _any_of(clauses: Iterable[str]) -> str:
    return " OR ".join(clauses) or "0"


def _column(bound: Clause, name: str, kind: str, value: Any) -> str:
    if kind == "never":
        return "0"
    if kind == "absent":
        return "tags = '[]'" if name == "tags" else f"{name} IS NULL"
    if name == "tags":
        return f"EXISTS (SELECT 1 FROM json_each(tags) t WHERE t.value = {bound.add(value)})"
    if kind == "prefix":
        prefix = bound.add(value[:-1])
        return f"substr(path, 1, length({prefix})) = {prefix}"
    return f"{name} = {bound.add(value)}"


def _key(bound: Clause, name: str) -> str:
    # A key that no store can hold is bound as one that is not there.
    return bound.add(name if kind_of("", name) != "never" else "\x00")


def _in_metadata(bound: Clause, key: str, holds: Callable[[str, str], str]) -> str:
    """`holds(value, type)` of the key's value, or of any element where the value is a list."""
    scalar, element = holds("m.value", "m.type"), holds("e.value", "e.type")
    return (
        f"EXISTS (SELECT 1 FROM json_each(metadata) m WHERE m.key = {_key(bound, key)} AND (({scalar})"
        f" OR (m.type = 'array' AND EXISTS (SELECT 1 FROM json_each(m.value) e WHERE {element}))))"
    )


def _equal(bound: Clause, value_sql: str, type_sql: str, kind: str, value: Any) -> str:
    if kind == "text":
        return f"({type_sql} = {_TEXT} AND {value_sql} = {bound.add(value)})"
    if kind == "boolean":
        return f"{type_sql} = '{'true' if value else 'false'}'"
    if kind in ("integer", "number"):
        return f"({type_sql} IN {_NUMBER} AND {value_sql} = {bound.add(value)})"
    return "0"


def _between(bound: Clause, moment: str, bounds: Mapping[str, Any]) -> str:
    return " AND ".join(f"{moment} {RANGE_OPERATORS[op]} {bound.add(b.timestamp())}" for op, b in bounds.items())


def _in_range(bound: Clause, value_sql: str, type_sql: str, bounds: Mapping[str, Any]) -> str:
    if all(isinstance(b, int | float) for b in bounds.values()):
        inner = " AND ".join(f"{value_sql} {RANGE_OPERATORS[op]} {bound.add(b)}" for op, b in bounds.items())
        return f"({type_sql} IN {_NUMBER} AND {inner})"
    return f"({type_sql} = {_TEXT} AND {_between(bound, f'moment({value_sql})', bounds)})"
