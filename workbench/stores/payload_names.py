"""Where a collection of points keeps what a search needs: the workbench's own layout, or a foreign one's."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from workbench.errors import BadParameter, NotAvailable
from workbench.stores.points import DATETIME_FIELDS, KEYWORD_FIELDS, MOMENT_FIELDS, TERMS_FIELD

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
                raise BadParameter(f"a payload mapping names no facet {facet!r}", do=f"Facets are: {known}")
        paths = [self.content, self.source, self.title, self.terms, *self.facets.values(), *self.ranges.values()]
        for path in paths + ([self.metadata] if self.metadata else []):
            if not _PLAIN_PATH.fullmatch(path):
                raise BadParameter(f"{path!r} is no payload field", do="Write field or object.field")
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
            raise NotAvailable(f"Qdrant cannot filter by the key {name!r}: its paths cannot write such a key")
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
