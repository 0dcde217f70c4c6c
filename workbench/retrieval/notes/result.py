"""What a notes search returns: rows with capped text, whether there are more, and one span that tells its cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from workbench.types import PointId, Query, Ranking, Span


@dataclass(frozen=True, slots=True)
class NoteHit:
    """A row of the page; its key is (type, id). `reranked` is the cross-encoder's score where it was asked."""

    rank: int
    type: str
    id: str
    score: float
    best_chunk: PointId
    title: str
    path: str
    note_type: str
    excerpt: str
    reranked: float | None = None


@dataclass(frozen=True, slots=True)
class NotesSpan:
    """One search's budgets and what it took: chunks a leg may rank, chunks that the legs admitted, rows returned,
    and bytes that left the engine, each kind apart."""

    fts_k: int
    vec_k: int
    rows_admitted: int
    rows_returned: int
    bytes_ids: int
    bytes_page: int
    bytes_rerank: int
    bytes_lists: int
    seconds: float

    @property
    def bytes_materialised(self) -> int:
        """Bytes of text: the page's and the reranker's."""
        return self.bytes_page + self.bytes_rerank

    @property
    def bytes(self) -> int:
        """All that left the engine for the search itself; the trace level `lists` stands apart."""
        return self.bytes_ids + self.bytes_page + self.bytes_rerank

    def plain(self) -> dict[str, Any]:
        """For a dashboard: every count by name."""
        return {**asdict(self), "bytes_materialised": self.bytes_materialised, "bytes": self.bytes}


@dataclass(frozen=True, slots=True)
class NotesResult:
    """`more` tells of a next page. Where the trace level asked for them, `lists` are both legs by chunk, and `chunks`
    the key (type, entity, chunk index) of each chunk in them."""

    query: Query
    hits: tuple[NoteHit, ...]
    more: bool
    span: NotesSpan
    spans: tuple[Span, ...]
    lists: tuple[Ranking, ...] = ()
    chunks: Mapping[PointId, tuple[str, str, int]] = field(default_factory=dict)

    @property
    def keys(self) -> tuple[tuple[str, str], ...]:
        """The rows' (type, id) in order."""
        return tuple((h.type, h.id) for h in self.hits)
