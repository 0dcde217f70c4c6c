"""What a reader hands over: chunks to stream, judged queries, warnings, and the settings that made them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

from workbench.errors import WorkbenchError
from workbench.sources.chunking import OVERLAP, check_sizes, split_plain
from workbench.text import visible
from workbench.types import Chunk, Facets, Query

if TYPE_CHECKING:
    import numpy as np

# ---- What a reader hands over: chunks to stream, judged queries, warnings, and the settings ----

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
    made_from: str = ""
    """For a generated source, the hash of the file that, with `settings`, determines every chunk and
    vector. A load compares it and then generates nothing that is already loaded."""


# ---- A document of a title and a text as chunks: one law for every reader whose documents a ----


def titled(title: str, text: str) -> str:
    """Title, blank line, text; either alone where the other is empty."""
    return f"{title}\n\n{text}" if title and text else title or text


def document_chunks(
    ids: Iterable[int],
    entity_id: str,
    title: str,
    text: str,
    *,
    source: str = "",
    facets: Facets | None = None,
    chunk_size: int | None = None,
    overlap: int = OVERLAP,
) -> Iterator[Chunk]:
    """The chunks of one document, indexed from 0, each with the next of `ids`: one with all the text, or, with a
    `chunk_size`, as many as it takes. An empty document is one empty chunk."""
    whole = titled(title, text)
    parts = [whole] if chunk_size is None else split_plain(whole, chunk_size, overlap)
    for index, part, number in zip(count(), parts, ids, strict=False):
        yield Chunk(number, entity_id, index, part, title, source, facets=facets or Facets())


def check_chunk_size(chunk_size: int | None, overlap: int) -> None:
    """Raises BadParameter for sizes that cannot be; no chunk size means one chunk a document."""
    if chunk_size is not None:
        check_sizes(chunk_size, overlap)


# ---- Odd things found while reading: counted by kind, worded once, with the first examples ----

# How many examples a warning names. Notes are mended one by one, so more of them are named.
EXAMPLES = 3
NOTES_NAMED = 20
# An example longer than this is cut, so that a hostile id cannot fill a screen.
EXAMPLE_CHARS = 160


@dataclass(slots=True)
class Tally:
    """One kind of oddity: how often it was met, and the first `shown` examples in the order met."""

    what: str
    shown: int = EXAMPLES
    count: int = 0
    examples: list[str] = field(default_factory=list)

    def add(self, example: object) -> None:
        self.count += 1
        if len(self.examples) < self.shown:
            text = visible(str(example))
            self.examples.append(text if len(text) <= EXAMPLE_CHARS else text[:EXAMPLE_CHARS] + "…")

    def __str__(self) -> str:
        more = ", …" if self.count > len(self.examples) else ""
        return f"{self.what}: {self.count:,} ({', '.join(self.examples)}{more})"

    def into(self, warnings: list[str]) -> None:
        """Append the message where anything was met; a second reading of the same source adds nothing."""
        if self.count and str(self) not in warnings:
            warnings.append(str(self))
