"""What a reader hands over: chunks to stream, judged queries, warnings, and the settings that made them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from workbench.errors import WorkbenchError
from workbench.types import Chunk, Query

if TYPE_CHECKING:
    import numpy as np

Embed = Callable[[Sequence[str]], "np.ndarray"]
"""Texts to an (n, dim) float32 array of unit vectors."""


class SourceError(WorkbenchError):
    """A source that cannot be read as what it claims to be; names the file and the line or row."""


@dataclass(frozen=True, slots=True)
class JudgedQuery:
    """A query of a collection's own query set. `attributes` are what slices can be made by. `where` is the file and line
    that it was read from, "" where it was not read from a file."""

    id: str
    text: str
    attributes: Mapping[str, Any] = field(default_factory=dict)
    where: str = field(default="", compare=False)

    @property
    def filters(self) -> Mapping[str, Any]:
        """The filters that the query is searched with, by its attribute `filters`."""
        return self.attributes.get("filters") or {}

    @property
    def search(self) -> Query:
        """The search that every evaluation makes of this query: its text within its filters."""
        return Query(self.text, self.filters, limit=1)

    @property
    def own_document(self) -> str:
        """The document that the query is itself, by its attribute `self`; "" where it has none."""
        value = self.attributes.get("self")
        return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""


@dataclass(frozen=True, slots=True)
class Qrel:
    """One judgement: grade > 0 is relevant. `entity_id` is the document's own id, not a point id."""

    query_id: str
    entity_id: str
    grade: int


@dataclass(frozen=True, slots=True)
class Source:
    """A readable collection. `chunks()` streams from the start at every call, in point-id order (integers
    ascending, then UUIDs), and is deterministic. `vectors(embed)`, where given, yields (chunk count, dim)
    batches in the same order in place of embedding each text. `warnings` is filled while reading."""

    kind: str
    location: str
    settings: Mapping[str, Any]
    chunks: Callable[[], Iterator[Chunk]]
    queries: tuple[JudgedQuery, ...] = ()
    qrels: tuple[Qrel, ...] = ()
    warnings: list[str] = field(default_factory=list)
    vectors: Callable[[Embed], Iterator[np.ndarray]] | None = None
    count: int | None = None
