"""The staging directory's parts as points: read in small batches, so that memory does not grow with a collection."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from workbench.stores.catalog.errors import StagingError
from workbench.stores.filters.qdrant import OWN
from workbench.stores.filters.values import Point, payload_of
from workbench.stores.vectors.checks import check_vectors, read_vectors
from workbench.types import Chunk, Facets, PointId, point_order

if TYPE_CHECKING:
    import numpy as np

# ---- The staging directory's parts as points: read in small batches, so that memory does no ----

# Points a call: the engine takes 64 to 1,000 a call equally fast and 5,000 more slowly.
BATCH = 1000
# An index costs a second or two at 385,000 points; a filter by a key without one reads every payload instead.
INDEXED_METADATA_KEYS = 32
_LARGEST_ID = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Batch:
    """Points `start`, `start + 1`, … in point-id order; `vectors` is (len(ids), dim) float32."""

    start: int
    ids: list[PointId]
    payloads: list[dict[str, Any]]
    vectors: np.ndarray


def point_id_of(text: str) -> PointId:
    """The point id that a staged text names. Raises StagingError unless it is one's canonical form."""
    if text.isascii() and text.isdecimal() and str(int(text)) == text and int(text) <= _LARGEST_ID:
        return int(text)
    try:
        canonical = str(UUID(text))
    except ValueError:
        canonical = None
    if canonical != text:
        hint = "Point ids are integers below 2^64 or UUIDs in lower case with hyphens"
        raise StagingError(f"{text!r} is no point id", do=hint)
    return text


def check_staging(parts: Sequence[Path], vectors: Path) -> np.ndarray:
    """The vectors of the parts' rows, every one checked. Raises StagingError where the rows differ, VectorError."""
    from pyarrow import parquet

    rows = read_vectors(vectors)
    check_vectors(rows, where=str(vectors))
    staged = 0
    for part in parts:
        with _reading(part):
            staged += parquet.read_metadata(part).num_rows
    if staged != rows.shape[0]:
        raise StagingError(
            f"{staged} rows are staged and {rows.shape[0]} vectors", where=str(vectors)
        )
    return rows


def staged_points(parts: Sequence[Path], vectors: np.ndarray, size: int = BATCH) -> Iterator[Batch]:
    """The points of all parts in order, at most `size` at a time. Raises StagingError for a row out of place."""
    start = 0
    for part in parts:
        for rows in _rows(part, size):
            chunks = [_chunk(row) for row in rows]
            wrong = next((i for i, row in enumerate(rows) if row["cid"] != start + i), None)
            if wrong is not None:
                raise StagingError(
                    f"row {start + wrong} has cid {rows[wrong]['cid']}", where=str(part)
                )
            payloads = [
                payload_of(c, [row["terms"] or ""]) for c, row in zip(chunks, rows, strict=True)
            ]
            yield Batch(start, [c.id for c in chunks], payloads, vectors[start : start + len(rows)])
            start += len(rows)


def staged_terms(parts: Sequence[Path]) -> Iterator[str]:
    """Each row's terms, joined by one blank, of all parts in order. Raises StagingError."""
    for part in parts:
        for rows in _rows(part, BATCH, ["terms"]):
            yield from (row["terms"] or "" for row in rows)


def _rows(
    part: Path, size: int, columns: list[str] | None = None
) -> Iterator[list[dict[str, Any]]]:
    from pyarrow import parquet

    with _reading(part), parquet.ParquetFile(part) as file:
        for batch in file.iter_batches(batch_size=size, columns=columns):
            yield batch.to_pylist()


@contextmanager
def _reading(part: Path) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise StagingError(f"the part cannot be read: {error}", where=str(part)) from error


def _chunk(row: Mapping[str, Any]) -> Chunk:
    facets = Facets(
        project=row["project"],
        note_type=row["note_type"],
        tags=tuple(row["tags"] or ()),
        status=row["status"],
        created=row["created"],
        updated=row["updated"],
        path=row["path"],
        metadata=json.loads(row["metadata"] or "{}"),
    )
    return Chunk(
        id=point_id_of(row["point_id"]),
        entity_id=row["entity_id"],
        chunk_index=row["chunk_index"],
        text=row["text"] or "",
        title=row["title"] or "",
        source=row["source"] or "",
        source_type=row["source_type"],
        facets=facets,
    )


class MetadataKeys:
    """Which keys of the metadata get an index, and of which kind: those that hold a value most often, then by name."""

    def __init__(self) -> None:
        self._texts: Counter[str] = Counter()
        self._numbers: Counter[str] = Counter()

    def see(self, payloads: Sequence[Mapping[str, Any]]) -> None:
        for payload in payloads:
            for key, value in payload.get("metadata", {}).items():
                first = value[0] if isinstance(value, list) and value else value
                if isinstance(first, str):
                    self._texts[key] += 1
                elif isinstance(first, int | float) and not isinstance(first, bool):
                    self._numbers[key] += 1

    def paths(self) -> tuple[list[str], list[str]]:
        """The paths of the keys that are mostly text, and of those that are mostly numbers."""
        nameable = [
            (-count, key) for key, count in (self._texts + self._numbers).items() if '"' not in key
        ]
        chosen = [key for _, key in sorted(nameable)[:INDEXED_METADATA_KEYS]]
        numbers = [key for key in chosen if self._numbers[key] > self._texts[key]]
        texts = [key for key in chosen if key not in numbers]
        return [OWN.filter_path(k) for k in texts], [OWN.filter_path(k) for k in numbers]


# ---- A cut inside a tie is made by point id: engines return equal scores in an order of the ----

Scored = tuple[Point, float]

# How far beyond the cut the first read goes; enough for all but collections of copies, about a quarter of the
# 256 candidates that the records read.
BEYOND = 64
_WIDER = 4


def best(read: Callable[[int], list[Scored]], limit: int) -> list[Scored]:
    """The best `limit` of what `read(n)` gives best first: score descending, then point id ascending.

    Reads `limit + BEYOND` and goes on, four times as far each time, until the score at the cut has changed or the
    engine has no more: so the rule holds for every point, not only for those that the engine would have returned.
    """
    wanted = limit + BEYOND
    rows = read(wanted)
    while len(rows) == wanted and rows[-1][1] == rows[limit - 1][1]:
        wanted *= _WIDER
        rows = read(wanted)
    return sorted(rows, key=lambda row: (-row[1], point_order(row[0].id)))[:limit]
