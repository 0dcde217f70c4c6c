"""Pass 1 of a load: the source's chunks checked one by one, tokenised, and written as Parquet parts.

Memory is one part and one key a chunk, however large the source. The hash runs over what was written, so equal
chunks have an equal hash whatever the parts' sizes.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from workbench.sources.base import Source, SourceError
from workbench.text import Tokenizer, well_formed
from workbench.types import SOURCE_TYPES, Chunk, PointId, point_order

if TYPE_CHECKING:
    import pyarrow as pa

PART_ROWS = 10_000
PART_CHARACTERS = 64 << 20  # so that a part of very long texts stays small too
LARGEST_ID = 2**64 - 1  # Qdrant's integer ids are unsigned 64-bit
LARGEST_INDEX = 2**31 - 1
NAMED = 5  # entities that a warning names

_ENCODE = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=str
).encode


FACTS = (
    "point_id",
    "entity_id",
    "chunk_index",
    "source_type",
    "title",
    "source",
    "text",
    "project",
    "note_type",
    "tags",
    "status",
    "created",
    "updated",
    "path",
    "metadata",
    "links",
)
"""What is stored of a chunk, and what a content's hash runs over; ids and metadata as text, links as pairs."""


def encoded(facts: Sequence[Any]) -> bytes:
    """Facts as canonical JSON: equal facts, equal bytes."""
    return _ENCODE(facts).encode("utf-8")


class BadChunk(SourceError):
    """A chunk that neither store could hold as it is; names the entity."""


@dataclass(slots=True)
class Staged:
    """What pass 1 found. `entities` are all that were seen, those whose every chunk is empty included."""

    digest: str = ""
    chunks: int = 0
    skipped_empty: int = 0
    stored_entities: int = 0
    entities: set[str] = field(default_factory=set)
    warnings: list[str] = field(default_factory=list)


def stage(
    source: Source, directory: Path, tokenizer: Tokenizer, tick: Callable[[int], None]
) -> Staged:
    """Write `chunks-00000.parquet` and so on into a new directory; `tick` is told the rows of each part.

    A chunk without a visible character is counted and not stored: it has no terms, and its vector would only
    be noise that can rank above text. Raises BadChunk for a bad or repeated id or key, an id out of
    point-id order, or a metadata value that JSON cannot hold.
    """
    directory.mkdir(parents=True)
    checked = Checked(tokenizer)
    for number, rows in enumerate(_batches(source.chunks(), checked)):
        _write(directory / f"chunks-{number:05d}.parquet", rows)
        tick(len(rows))
    return checked.finish()


def parts_of(directory: Path) -> list[Path]:
    """The parts in order."""
    return sorted(directory.glob("chunks-*.parquet"))


def texts_of(parts: Sequence[Path], batch: int) -> Iterator[tuple[list[str], list[str]]]:
    """Entity ids and texts in cid order, in batches of at most that many."""
    import pyarrow.parquet as pq

    for part in parts:
        with pq.ParquetFile(part) as file:
            for found in file.iter_batches(batch, columns=["entity_id", "text"]):
                yield found.column("entity_id").to_pylist(), found.column("text").to_pylist()


def _batches(chunks: Iterator[Chunk], checked: Checked) -> Iterator[list[tuple]]:
    rows, characters = [], 0
    for chunk in chunks:
        row = checked.row(chunk)
        if row is None:
            continue
        rows.append(row)
        characters += len(chunk.text)
        if len(rows) == PART_ROWS or characters >= PART_CHARACTERS:
            yield rows
            rows, characters = [], 0
    if rows:
        yield rows


class Checked:
    """Turns chunks into facts and rows, and keeps what can only be said at the end."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer, self.staged = tokenizer, Staged()
        self._keys: set[tuple[str, str, int]] = set()
        self._stored: set[str] = set()
        self._last: tuple[int, PointId] | None = None
        self._hash = hashlib.sha256()
        self._empty: list[str] = []
        self._mended = self._dropped = 0

    def row(self, chunk: Chunk) -> tuple | None:
        """The row of a chunk in the order of `schema`, None for an empty one."""
        facts = self.facts(chunk)
        if facts is None:
            return None
        self._hash.update(encoded(facts))
        self._stored.add(facts[1])
        cid = self.staged.chunks
        self.staged.chunks += 1
        return (cid, *facts, " ".join(self.tokenizer.terms(facts[6])))

    def facts(self, chunk: Chunk) -> tuple | None:
        """What is stored of a chunk, in the order of FACTS, None for an empty one. Raises BadChunk."""
        self._check(chunk)
        entity = self._clean(chunk.entity_id)
        self.staged.entities.add(entity)
        text = self._clean(chunk.text)
        if not text or text.isspace():
            self.staged.skipped_empty += 1
            if len(self._empty) < NAMED:
                self._empty.append(entity)
            return None
        f = chunk.facets
        return (
            str(chunk.id),
            entity,
            chunk.chunk_index,
            chunk.source_type,
            self._clean(chunk.title),
            self._clean(chunk.source),
            text,
            self._clean(f.project),
            self._clean(f.note_type),
            [self._clean(t) for t in f.tags],
            self._clean(f.status),
            self._clean(f.created),
            self._clean(f.updated),
            self._clean(f.path),
            self._metadata(f.metadata, entity),
            [(self._clean(kind), self._clean(target)) for kind, target in chunk.links],
        )

    def finish(self) -> Staged:
        out = self.staged
        out.digest, out.stored_entities = self._hash.hexdigest(), len(self._stored)
        if out.skipped_empty:
            out.warnings.append(
                f"{out.skipped_empty} empty chunks are not stored: {some(self._empty, out.skipped_empty)}"
            )
        if self._mended:
            out.warnings.append(
                f"{self._mended} texts held half a surrogate pair, which became U+FFFD"
            )
        if self._dropped:
            out.warnings.append(
                f"{self._dropped} metadata values were NaN or infinite and are absent"
            )
        return out

    def _check(self, chunk: Chunk) -> None:
        where = f"entity {chunk.entity_id!r}, chunk {chunk.chunk_index}"
        if not chunk.entity_id:
            raise BadChunk("a chunk has no entity id", where=f"point {chunk.id!r}")
        if chunk.source_type not in SOURCE_TYPES:
            raise BadChunk(
                f"unknown source type {chunk.source_type!r}",
                where=where,
                do=f"Known: {', '.join(SOURCE_TYPES)}",
            )
        if not 0 <= chunk.chunk_index <= LARGEST_INDEX:
            raise BadChunk(
                f"a chunk's index must be at least 0 and at most {LARGEST_INDEX}", where=where
            )
        if not _is_point_id(chunk.id):
            raise BadChunk(
                f"{chunk.id!r} is neither an unsigned 64-bit integer nor a canonical UUID",
                where=where,
            )
        if chunk.key in self._keys:
            raise BadChunk(
                "the same document stands twice",
                where=f"{chunk.source_type} {chunk.entity_id!r}, chunk {chunk.chunk_index}",
                do="Give each its own id",
            )
        self._keys.add(chunk.key)
        order = point_order(chunk.id)
        if self._last is not None and order <= self._last:
            fault = "stands twice" if order == self._last else f"comes after {self._last[1]!r}"
            raise BadChunk(
                f"point id {chunk.id!r} {fault}",
                where=where,
                do="Ids must ascend, integers before UUIDs",
            )
        self._last = order

    def _clean(self, text: str | None) -> Any:
        if text is None or text.isascii():
            return text
        clean = well_formed(text)
        self._mended += clean is not text
        return clean

    def _metadata(self, metadata: Mapping[str, Any], entity: str) -> str:
        if not metadata:
            return "{}"
        kept = {}
        for key, value in metadata.items():
            if isinstance(value, float) and not math.isfinite(value):
                self._dropped += 1
            else:
                kept[key] = value
        try:
            found = _ENCODE(kept)
        except (TypeError, ValueError) as error:
            raise BadChunk(
                f"metadata cannot be kept as JSON: {error}", where=f"entity {entity!r}"
            ) from error
        return self._clean(found)


def _is_point_id(value: Any) -> bool:
    if isinstance(value, str):
        try:
            return str(UUID(value)) == value
        except ValueError:
            return False
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST_ID


def some(names: Sequence[str], total: int) -> str:
    """The first names of that many."""
    return ", ".join(names) + (" …" if total > len(names) else "")


def schema() -> pa.Schema:
    """The columns of a part."""
    import pyarrow as pa

    texts = {
        name: pa.string()
        for name in (
            "title",
            "source",
            "text",
            "project",
            "note_type",
            "status",
            "created",
            "updated",
            "path",
            "metadata",
            "terms",
        )
    }
    link = pa.struct([("kind", pa.string()), ("target", pa.string())])
    columns = {
        "cid": pa.int32(),
        "point_id": pa.string(),
        "entity_id": pa.string(),
        "chunk_index": pa.int32(),
        "source_type": pa.string(),
        **{n: texts[n] for n in ("title", "source", "text", "project", "note_type")},
        "tags": pa.list_(pa.string()),
        **{n: texts[n] for n in ("status", "created", "updated", "path", "metadata")},
        "links": pa.list_(link),
        "terms": texts["terms"],
    }
    return pa.schema(columns)


def _write(path: Path, rows: list[tuple]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    shape = schema()
    columns = zip(*rows, strict=True)
    arrays = []
    for field_, column in zip(shape, columns, strict=True):
        values = column
        if field_.name == "links":
            values = [[{"kind": k, "target": t} for k, t in links] for links in column]
        arrays.append(pa.array(values, field_.type))
    pq.write_table(
        pa.Table.from_arrays(arrays, schema=shape), path, compression="zstd", compression_level=1
    )
