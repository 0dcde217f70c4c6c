"""Terms and filters as one Qdrant filter: the REST API's own JSON form, then either engine's classes.

What a filter's value means is in `filter_values`; here it becomes what Qdrant asks. A range of times is asked of the
moment kept beside the facet, which is read by `moments`; in metadata and in foreign collections there is none, and
Qdrant's own reader decides which texts are times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from workbench.errors import BadParameter
from workbench.stores.filter_values import Kind, kind_of, range_of, values_of
from workbench.stores.moments import rfc3339
from workbench.stores.payload_names import OWN, PayloadNames
from workbench.stores.points import Match

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
    must += [_condition(names, name, value) for name, value in filters.items()]
    return {"must": must} if must else None


def _condition(names: PayloadNames, name: str, value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping):
        bounds = {op: _bound(b) for op, b in range_of(name, value).items()}
        return {"key": names.range_path(name), "range": bounds}
    path = names.filter_path(name)
    kinds: dict[Kind, list[Any]] = {}
    for option in values_of(value):
        kinds.setdefault(kind_of(name, option), []).append(option)
    options = [condition for kind, values in kinds.items() for condition in _options(path, kind, values)]
    return options[0] if len(options) == 1 else {"should": options} if options else _NOTHING


def _options(path: str, kind: Kind, values: Sequence[Any]) -> list[dict[str, Any]]:
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


def _bound(bound: float | datetime) -> float | str:
    return rfc3339(bound) if isinstance(bound, datetime) else bound


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
