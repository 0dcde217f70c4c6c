"""The small interface that every Qdrant engine stands behind, and the payload that every point carries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from workbench.stores.moments import moment_of
from workbench.types import Chunk, PointId

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

    def count(self, terms: Sequence[str], match: Match, filters: Mapping[str, Any], *, exact: bool = True) -> int:
        """How many points hold any / all of the terms within the filters; no terms: all points within them."""

    def scroll(
        self, terms: Sequence[str], match: Match, filters: Mapping[str, Any], limit: int,
        *, fields: Sequence[str] = READ_FIELDS,
    ) -> list[Point]:  # fmt: skip
        """The first `limit` such points in point-id order, with these payload fields (() for ids only)."""

    def nearest(
        self, vector: Sequence[float], filters: Mapping[str, Any], limit: int,
        *, fields: Sequence[str] = READ_FIELDS, space: str = "",
    ) -> list[tuple[Point, float]]:  # fmt: skip
        """The `limit` nearest points by exact cosine to the vectors of one space, ordered by score descending, then
        point id ascending. The vector must be of the space's own model. Raises NotAvailable where the points have no
        such space."""

    def bm25(
        self, terms: Sequence[str], filters: Mapping[str, Any], limit: int, *, fields: Sequence[str] = ()
    ) -> list[tuple[Point, float]]:
        """The `limit` best points by the engine's own BM25 over its text index, score descending, then id. The engine
        counts a repeated term once."""

    def sparse(
        self, terms: Sequence[str], filters: Mapping[str, Any], limit: int, *, fields: Sequence[str] = ()
    ) -> list[tuple[Point, float]]:
        """The `limit` best points by the product of BM25's weights as sparse vectors with the engine's IDF (k1 = 1.2,
        b = 0.75, fixed when they were loaded), score descending, then id. Raises NotAvailable where none were."""

    def retrieve(self, ids: Sequence[PointId], *, fields: Sequence[str] = READ_FIELDS) -> list[Point]:
        """The points with these ids that exist, in the order asked."""

    def all_points(self, batch: int = 1000) -> Iterator[tuple[PointId, Mapping[str, Any], list[float] | None]]:
        """Every point in point-id order with whole payload and vector, read in batches."""

    def close(self) -> None: ...


def payload_of(chunk: Chunk, terms: Sequence[str]) -> dict[str, Any]:
    """The payload of a chunk's point; absent facets are left out."""
    f = chunk.facets
    flat = {
        "content": chunk.text, "source": chunk.source, "title": chunk.title, TERMS_FIELD: " ".join(terms),
        "entity_id": chunk.entity_id, "chunk_index": chunk.chunk_index, "source_type": chunk.source_type,
        "project": f.project, "note_type": f.note_type, "tags": list(f.tags) or None, "status": f.status,
        "created": f.created, "updated": f.updated, "path": f.path, "metadata": dict(f.metadata) or None,
        MOMENT_FIELDS["created"]: moment_of(f.created), MOMENT_FIELDS["updated"]: moment_of(f.updated),
    }  # fmt: skip
    return {k: v for k, v in flat.items() if v is not None}
