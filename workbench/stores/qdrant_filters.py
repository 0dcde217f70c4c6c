"""Filters and terms as one Qdrant filter: the REST API's own JSON form, then either engine's classes.

What a filter means, on every engine:

- a value is equal to the field, or to one of the field's values where it holds several; text by every
  character, numbers as numbers (1 is 1.0), a boolean only to a boolean;
- a list is any of its values, an empty list nothing; None is absent (missing, null or an empty list);
- `path` with a `*` at its end is everything that starts so;
- {"gte", "gt", "lte", "lt"} is a range of numbers (metadata) or of times (`created`, `updated`, metadata). A time
  without zone is UTC, a date is its first moment. A field whose text is no ISO 8601 date or time is in no range.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

from workbench.errors import BadParameter
from workbench.stores.payload_names import OWN, PayloadNames
from workbench.stores.points import DATETIME_FIELDS, KEYWORD_FIELDS, Match

RANGE_OPERATORS = ("gte", "gt", "lte", "lt")
# Doubles hold every integer up to here; a larger one is compared as an integer.
_EXACT_IN_DOUBLE = 2**53
# Qdrant's integers in a payload are signed 64 bits.
_INTEGER = range(-(2**63), 2**63)
_NOTHING: dict[str, Any] = {"has_id": []}


def filter_json(
    terms: Sequence[str], match: Match, filters: Mapping[str, Any], names: PayloadNames = OWN
) -> dict[str, Any] | None:
    """The filter of points that hold any / all of the terms and satisfy every filter; None where all points do.

    Raises BadParameter for an unknown match, operator or type of value, NotAvailable for a key Qdrant cannot name.
    """
    if match not in ("any", "all"):
        raise BadParameter(f"unknown match {match!r}", do="Use any or all")
    must: list[dict[str, Any]] = []
    if terms:
        how = "text" if match == "all" else "text_any"
        must.append({"key": names.terms, "match": {how: " ".join(terms)}})
    must += [_condition(name, names.filter_path(name), value) for name, value in filters.items()]
    return {"must": must} if must else None


def _condition(name: str, path: str, value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return {"key": path, "range": _range(name, value)}
    if not isinstance(value, list | tuple | set | frozenset):
        value = (value,)
    options = [option for kind in _by_kind(name, value).items() for option in _options(path, *kind)]
    return options[0] if len(options) == 1 else {"should": options} if options else _NOTHING


def _by_kind(name: str, values: Sequence[Any]) -> dict[str, list[Any]]:
    """The values of one filter by the kind of condition that each needs."""
    kinds: dict[str, list[Any]] = {}
    for value in values:
        kinds.setdefault(_kind(name, value), []).append(value)
    return kinds


def _kind(name: str, value: Any) -> str:
    if value is None:
        return "absent"
    if isinstance(value, str):
        if not _storable(value):
            return "never"
        return "prefix" if name == "path" and value.endswith("*") else "text"
    if name in KEYWORD_FIELDS + DATETIME_FIELDS:
        raise BadParameter(f"{name} is text, {value!r} is not", do="Write the value in quotation marks")
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int) and abs(value) > _EXACT_IN_DOUBLE:
        return "integer" if value in _INTEGER else "never"
    if isinstance(value, int | float) and math.isfinite(value):
        return "number"
    raise BadParameter(f"{name} cannot be compared with {value!r}", do="Use text, a finite number, true or false")


def _options(path: str, kind: str, values: Sequence[Any]) -> list[dict[str, Any]]:
    if kind == "absent":
        return [{"is_empty": {"key": path}}]
    if kind == "text":
        return [{"key": path, "match": {"value": values[0]} if len(values) == 1 else {"any": list(values)}}]
    if kind == "prefix":
        return [{"key": path, "match": {"prefix": v[:-1]}} for v in values]
    if kind in ("boolean", "integer"):
        return [{"key": path, "match": {"value": v}} for v in values]
    if kind == "number":
        return [{"key": path, "range": {"gte": v, "lte": v}} for v in values]
    return []


def _storable(text: str) -> bool:
    """A lone surrogate is in no stored text: both stores keep UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _range(name: str, bounds: Mapping[str, Any]) -> dict[str, Any]:
    unknown = [op for op in bounds if op not in RANGE_OPERATORS]
    if unknown or not bounds:
        what = f"unknown operator {unknown[0]!r}" if unknown else "an empty range"
        raise BadParameter(f"{what} in the filter of {name}", do=f"Use {', '.join(RANGE_OPERATORS)}")
    if name in KEYWORD_FIELDS:
        raise BadParameter(f"{name} is text and has no range", do="Ranges are for created, updated and metadata")
    if name not in DATETIME_FIELDS and all(_is_number(b) for b in bounds.values()):
        return dict(bounds)
    return {op: _moment(name, bound) for op, bound in bounds.items()}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _moment(name: str, bound: Any) -> str:
    """A bound as RFC 3339 in UTC."""
    try:
        if isinstance(bound, datetime):
            moment = bound
        elif isinstance(bound, date):
            moment = datetime(bound.year, bound.month, bound.day)
        else:
            moment = datetime.fromisoformat(bound)
    except (TypeError, ValueError):
        hint = "Write it as 2026-11-11 or 2026-11-11T09:58:00Z"
        raise BadParameter(f"the bound {bound!r} of {name} is no date or time", do=hint) from None
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return moment.isoformat().replace("+00:00", "Z")


def client_filter(form: Mapping[str, Any] | None) -> Any:
    """The JSON form as qdrant-client's `Filter`; None stays None."""
    from qdrant_client import models

    return None if form is None else models.Filter.model_validate(form)


def edge_filter(form: Mapping[str, Any] | None) -> Any:
    """The JSON form as qdrant-edge's `Filter`; None stays None."""
    import qdrant_edge as edge

    if form is None:
        return None
    return edge.Filter(
        must=[_edge_condition(c) for c in form.get("must") or ()] or None,
        should=[_edge_condition(c) for c in form.get("should") or ()] or None,
        must_not=[_edge_condition(c) for c in form.get("must_not") or ()] or None,
    )


def _edge_condition(form: Mapping[str, Any]) -> Any:
    import qdrant_edge as edge

    if "key" not in form:
        if "is_empty" in form:
            return edge.IsEmptyCondition(form["is_empty"]["key"])
        return edge.HasIdCondition(set(form["has_id"])) if "has_id" in form else edge_filter(form)
    if "range" in form:
        bounds = form["range"]
        timed = any(isinstance(b, str) for b in bounds.values())
        return edge.FieldCondition(
            key=form["key"], range=edge.RangeDateTime(**bounds) if timed else edge.RangeFloat(**bounds)
        )
    return edge.FieldCondition(key=form["key"], match=_edge_match(form["match"]))


def _edge_match(form: Mapping[str, Any]) -> Any:
    import numpy as np
    import qdrant_edge as edge

    ((how, value),) = form.items()
    if isinstance(value, bool):
        # qdrant-edge 0.9.0 reads Python's True as the integer 1, which equals no boolean; numpy's stays one.
        value = np.bool_(value)
    classes = {
        "value": edge.MatchValue, "any": edge.MatchAny, "text": edge.MatchText, "text_any": edge.MatchTextAny,
        "prefix": edge.MatchPrefix,
    }  # fmt: skip
    return classes[how](value)
