"""What the values of a filter mean, before any engine: one reading for the catalog and for Qdrant.

- text is equal by every character, numbers as numbers (1 is 1.0), a boolean only to a boolean;
- None is absent: missing, null or an empty list;
- `path` with a `*` at its end is everything that starts so;
- a list is any of its values, an empty list nothing;
- {"gte", "gt", "lte", "lt"} is a range of numbers (metadata) or of moments (`created`, `updated`, metadata).
  A time without zone is UTC, a date is its first moment; text that is no ISO 8601 time is in no range.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any, Literal

from workbench.errors import BadParameter
from workbench.stores.points import DATETIME_FIELDS, KEYWORD_FIELDS

RANGE_OPERATORS = {"gte": ">=", "gt": ">", "lte": "<=", "lt": "<"}
COLUMNS = KEYWORD_FIELDS + DATETIME_FIELDS
"""The names with a column of their own; every other name is a key of the metadata."""

Kind = Literal["absent", "text", "prefix", "boolean", "integer", "number", "never"]

EXACT_IN_DOUBLE = 2**53
"""Doubles hold every integer up to here; a larger one is compared as an integer."""
STORED_INTEGERS = range(-(2**63), 2**63)
"""Qdrant's integers in a payload are signed 64 bits."""


def values_of(value: Any) -> list[Any]:
    """One value or a list of values as a list."""
    return list(value) if isinstance(value, list | tuple | set | frozenset) else [value]


def kind_of(name: str, value: Any) -> Kind:
    """How one value is compared; "never" is what no store can hold. Raises BadParameter for a type."""
    if value is None:
        return "absent"
    if isinstance(value, str):
        if not _storable(value):
            return "never"
        return "prefix" if name == "path" and value.endswith("*") else "text"
    if name in COLUMNS:
        raise BadParameter(f"{name} is text, {value!r} is not", do="Write the value in quotation marks")
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int) and abs(value) > EXACT_IN_DOUBLE:
        return "integer" if value in STORED_INTEGERS else "never"
    if _is_number(value):
        return "number"
    raise BadParameter(
        f"{name} cannot be compared with {value!r}", do="Use text, a finite number, true or false"
    )


def range_of(name: str, bounds: Mapping[str, Any]) -> dict[str, float | int | datetime]:
    """The bounds by operator: all numbers, or all moments in UTC.

    Raises BadParameter for an unknown operator, an empty range, a range of a text facet, or a bound that is
    neither a number nor an ISO 8601 date or time.
    """
    unknown = [op for op in bounds if op not in RANGE_OPERATORS]
    if unknown or not bounds:
        what = f"unknown operator {unknown[0]!r}" if unknown else "an empty range"
        raise BadParameter(f"{what} in the filter of {name}", do=f"Use {', '.join(RANGE_OPERATORS)}")
    if name in KEYWORD_FIELDS:
        raise BadParameter(
            f"{name} is text and has no range", do="Ranges are for created, updated and metadata"
        )
    if name not in DATETIME_FIELDS and all(_is_number(b) for b in bounds.values()):
        return dict(bounds)
    return {op: _moment(name, bound) for op, bound in bounds.items()}


def _is_number(value: Any) -> bool:
    # Written so that NaN, an infinity and an integer that no double can hold are none.
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _storable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _moment(name: str, bound: Any) -> datetime:
    try:
        if isinstance(bound, datetime):
            moment = bound
        elif isinstance(bound, date):
            moment = datetime(bound.year, bound.month, bound.day)
        else:
            moment = datetime.fromisoformat(bound)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        hint = "Write it as 2026-11-11 or 2026-11-11T09:58:00Z"
        raise BadParameter(f"the bound {bound!r} of {name} is no date or time", do=hint) from None
