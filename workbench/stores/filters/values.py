"""What the values of a filter mean, before any engine: one reading for the catalog and for Qdrant.

- text is equal by every character, numbers as numbers (1 is 1.0), a boolean only to a boolean;
- None is absent: missing, null or an empty list;
- `path` with a `*` at its end is everything that starts so;
- a list is any of its values, an empty list nothing;
- {"gte", "gt", "lte", "lt"} is a range of numbers (metadata) or of moments (`created`, `updated`, metadata).
  A time without zone is UTC, a date is its first moment; text that is no ISO 8601 time is in no range.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Literal, Protocol

from workbench.errors import BadParameter
from workbench.types import Chunk, PointId

# ---- When a facet's text is a moment: one reading of written times, whatever each engine wo ----

_HOUR = r"([01]\d|2[0-3])"
# Years 0001 to 9999, which every store and Python can hold. Written for Python's re and for RE2 alike.
ISO_8601 = (
    r"(\d{3}[1-9]|\d{2}[1-9]0|\d[1-9]00|[1-9]000)-\d\d-\d\d"
    rf"([T ]{_HOUR}:[0-5]\d(:[0-5]\d(\.\d{{1,9}})?)?(Z|[+-]{_HOUR}(:?[0-5]\d)?)?)?"
)
_MOMENT = re.compile(ISO_8601, re.ASCII)


def moment_of(text: str | None) -> str | None:
    """The moment that a text names, as RFC 3339 in UTC to the microsecond; None where it names none."""
    if text is None or not _MOMENT.fullmatch(text):
        return None
    try:
        return rfc3339(datetime.fromisoformat(text))
    except (ValueError, OverflowError):  # no such day, or beyond the first or last year in UTC
        return None


def rfc3339(moment: datetime) -> str:
    """A moment in UTC with a `Z`; one without zone is UTC."""
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return moment.isoformat().replace("+00:00", "Z")


# ---- The small interface that every Qdrant engine stands behind, and the payload that every ----

Match = Literal["any", "all"]

# The one text-indexed field: the chunk's terms joined by blanks, split by white space only, so that a term in
# Qdrant is a term in DuckDB by construction. `content` and `source` are what a search reads back.
TERMS_FIELD = "terms"
READ_FIELDS = ("content", "source")
KEYWORD_FIELDS = ("entity_id", "source_type", "project", "note_type", "tags", "status", "path")
DATETIME_FIELDS = ("created", "updated")
ALSO = "also"
"""The space of the vectors of a second model, under this name in both stores; that of the collection's own model is ""."""
# Ranges of times are asked of these fields: the facet's text as a moment, absent where it names none.
MOMENT_FIELDS = {"created": "created_at", "updated": "updated_at"}


@dataclass(frozen=True, slots=True)
class Point:
    """A point as a search reads it: id, and the payload fields asked for (empty when none were)."""

    id: PointId
    payload: Mapping[str, Any]


class Points(Protocol):
    """One collection of points. Ids ascend in point-id order (integers, then UUIDs); counts are exact unless
    asked otherwise; an engine that cannot do something raises NotAvailable by name. Filters are
    `Query.filters`: facet (or source_type, entity_id, or `metadata` key) to a value or list of values."""

    engine: str

    def count(
        self, terms: Sequence[str], match: Match, filters: Mapping[str, Any], *, exact: bool = True
    ) -> int:
        """How many points hold any / all of the terms within the filters; no terms: all points within them."""

    def scroll(
        self,
        terms: Sequence[str],
        match: Match,
        filters: Mapping[str, Any],
        limit: int,
        *,
        fields: Sequence[str] = READ_FIELDS,
    ) -> list[Point]:
        """The first `limit` such points in point-id order, with these payload fields (() for ids only)."""

    def nearest(
        self,
        vector: Sequence[float],
        filters: Mapping[str, Any],
        limit: int,
        *,
        fields: Sequence[str] = READ_FIELDS,
        space: str = "",
    ) -> list[tuple[Point, float]]:
        """The `limit` nearest points by exact cosine to the vectors of one space, ordered by score descending, then
        point id ascending. The vector must be of the space's own model. Raises NotAvailable where the points have no
        such space."""

    def bm25(
        self,
        terms: Sequence[str],
        filters: Mapping[str, Any],
        limit: int,
        *,
        fields: Sequence[str] = (),
    ) -> list[tuple[Point, float]]:
        """The `limit` best points by the engine's own BM25 over its text index, score descending, then id. The engine
        counts a repeated term once."""

    def sparse(
        self,
        terms: Sequence[str],
        filters: Mapping[str, Any],
        limit: int,
        *,
        fields: Sequence[str] = (),
    ) -> list[tuple[Point, float]]:
        """The `limit` best points by the product of BM25's weights as sparse vectors with the engine's IDF (k1 = 1.2,
        b = 0.75, fixed when they were loaded), score descending, then id. Raises NotAvailable where none were."""

    def retrieve(
        self, ids: Sequence[PointId], *, fields: Sequence[str] = READ_FIELDS
    ) -> list[Point]:
        """The points with these ids that exist, in the order asked."""

    def all_points(
        self, batch: int = 1000
    ) -> Iterator[tuple[PointId, Mapping[str, Any], list[float] | None]]:
        """Every point in point-id order with whole payload and vector, read in batches."""

    def close(self) -> None: ...


def payload_of(chunk: Chunk, terms: Sequence[str]) -> dict[str, Any]:
    """The payload of a chunk's point; absent facets are left out."""
    f = chunk.facets
    flat = {
        "content": chunk.text,
        "source": chunk.source,
        "title": chunk.title,
        TERMS_FIELD: " ".join(terms),
        "entity_id": chunk.entity_id,
        "chunk_index": chunk.chunk_index,
        "source_type": chunk.source_type,
        "project": f.project,
        "note_type": f.note_type,
        "tags": list(f.tags) or None,
        "status": f.status,
        "created": f.created,
        "updated": f.updated,
        "path": f.path,
        "metadata": dict(f.metadata) or None,
        MOMENT_FIELDS["created"]: moment_of(f.created),
        MOMENT_FIELDS["updated"]: moment_of(f.updated),
    }
    return {k: v for k, v in flat.items() if v is not None}


# ---- What the values of a filter mean, before any engine: one reading for the catalog and f ----

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
        raise BadParameter(
            f"{name} is text, {value!r} is not", do="Write the value in quotation marks"
        )
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
        raise BadParameter(
            f"{what} in the filter of {name}", do=f"Use {', '.join(RANGE_OPERATORS)}"
        )
    if name in KEYWORD_FIELDS:
        raise BadParameter(
            f"{name} is text and has no range", do="Ranges are for created, updated and metadata"
        )
    if name not in DATETIME_FIELDS and all(_is_number(b) for b in bounds.values()):
        return dict(bounds)
    return {op: _moment(name, bound) for op, bound in bounds.items()}


def _is_number(value: Any) -> bool:
    # Written so that NaN, an infinity and an integer that no double can hold are none.
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and abs(value) <= sys.float_info.max
    )


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
