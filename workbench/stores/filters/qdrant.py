"""Terms and filters as one Qdrant filter: the REST API's own JSON form, then either engine's classes.

What a filter's value means is in `filter_values`; here it becomes what Qdrant asks. A range of times is asked of the
moment kept beside the facet, which is read by `moments`; in metadata and in foreign collections there is none, and
Qdrant's own reader decides which texts are times.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any

from workbench.errors import BadParameter, NotAvailable
from workbench.stores.filters.values import (
    DATETIME_FIELDS,
    KEYWORD_FIELDS,
    MOMENT_FIELDS,
    TERMS_FIELD,
    Kind,
    Match,
    kind_of,
    range_of,
    rfc3339,
    values_of,
)

# ---- Where a collection of points keeps what a search needs: the workbench's own layout, or ----

_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")
_PLAIN_PATH = re.compile(r"[^.\[\]\"]+(\.[^.\[\]\"]+)*")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
READABLE = ("content", "source", "title", "terms")


@dataclass(frozen=True, slots=True)
class PayloadNames:
    """The names of one collection's payload fields; a dot descends ("metadata.source").

    `terms` is the text field that terms are looked for in. It may be the content itself: then what a term is
    follows the server's own text index, not the workbench's tokenizer. `facets` maps a facet, `source_type` or
    `entity_id` to its field where the names differ, `ranges` a facet of times to the field that its ranges are asked
    of where that is another one. `metadata` is the object that every other filter's key is
    sought in, "" where such keys lie in the payload itself. `vector` names the vector, "" the unnamed one.
    """

    content: str = "content"
    source: str = "source"
    title: str = "title"
    terms: str = TERMS_FIELD
    facets: Mapping[str, str] = field(default_factory=dict)
    ranges: Mapping[str, str] = field(default_factory=dict)
    metadata: str = "metadata"
    vector: str = ""

    def __post_init__(self) -> None:
        for facet in [*self.facets, *self.ranges]:
            if facet not in KEYWORD_FIELDS + DATETIME_FIELDS:
                known = ", ".join(KEYWORD_FIELDS + DATETIME_FIELDS)
                raise BadParameter(
                    f"a payload mapping names no facet {facet!r}", do=f"Facets are: {known}"
                )
        paths = [
            self.content,
            self.source,
            self.title,
            self.terms,
            *self.facets.values(),
            *self.ranges.values(),
        ]
        for path in paths + ([self.metadata] if self.metadata else []):
            if not _PLAIN_PATH.fullmatch(path):
                raise BadParameter(
                    f"{path!r} is no payload field", do="Write field or object.field"
                )
        object.__setattr__(self, "facets", MappingProxyType(dict(self.facets)))
        object.__setattr__(self, "ranges", MappingProxyType(dict(self.ranges)))

    def read_path(self, name: str) -> str:
        """The field behind a name that a search reads back; a name it does not know is a field as it stands."""
        return getattr(self, name) if name in READABLE else self.facets.get(name, name)

    def filter_path(self, name: str) -> str:
        """The JSON path behind a filter's name: a facet's field, else a key of the metadata, quoted where needed.

        Raises NotAvailable for a key that Qdrant's paths cannot write: it holds a quotation mark
        or half a surrogate pair.
        """
        if name in KEYWORD_FIELDS + DATETIME_FIELDS:
            return self.facets.get(name, name)
        if '"' in name or _LONE_SURROGATE.search(name):
            raise NotAvailable(
                f"Qdrant cannot filter by the key {name!r}: its paths cannot write such a key"
            )
        key = name if _PLAIN_KEY.fullmatch(name) else f'"{name}"'
        return f"{self.metadata}.{key}" if self.metadata else key

    def range_path(self, name: str) -> str:
        """The JSON path that a range is asked of. Raises NotAvailable as `filter_path`."""
        return self.ranges.get(name) or self.filter_path(name)

    def renamed(self, payload: Mapping[str, Any], fields: Sequence[str]) -> dict[str, Any]:
        """The payload under the workbench's names; a field that the point does not hold is left out."""
        found = {name: _pull(payload, self.read_path(name).split(".")) for name in fields}
        return {name: value for name, value in found.items() if value is not None}


OWN = PayloadNames(ranges=MOMENT_FIELDS)


def _pull(value: Any, keys: Sequence[str]) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


# ---- Terms and filters as one Qdrant filter: the REST API's own JSON form, then either engi ----

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
    options = [
        condition for kind, values in kinds.items() for condition in _options(path, kind, values)
    ]
    return options[0] if len(options) == 1 else {"should": options} if options else _NOTHING


def _options(path: str, kind: Kind, values: Sequence[Any]) -> list[dict[str, Any]]:
    if kind == "absent":
        return [{"is_empty": {"key": path}}]
    if kind == "text":
        return [
            {
                "key": path,
                "match": {"value": values[0]} if len(values) == 1 else {"any": list(values)},
            }
        ]
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
            key=form["key"],
            range=edge.RangeDateTime(**bounds) if timed else edge.RangeFloat(**bounds),
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
        "value": edge.MatchValue,
        "any": edge.MatchAny,
        "text": edge.MatchText,
        "text_any": edge.MatchTextAny,
        "prefix": edge.MatchPrefix,
    }
    return classes[how](value)
