"""What an engine is asked and what it answers, the same for every engine: ids first, text for the page only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from workbench.errors import BadParameter
from workbench.registry import Stage
from workbench.retrieval.fusions import max_min
from workbench.text import Tokenizer
from workbench.types import PointId, Query, Ranking, Span

if TYPE_CHECKING:
    import numpy as np

# ---- What an engine is asked and what it answers, the same for every engine: ids first, tex ----

Returns = Literal["itself", "note"]
RETURNS: tuple[Returns, ...] = ("itself", "note")

TIE_RULE = "score descending, then type, then id"

Key = tuple[str, str]
"""(type, id): what a row of the ranking is."""

EVERY = 2**31 - 1
"""A leg's k where nothing is to be cut: catalog ids have 32 bits."""


@dataclass(frozen=True, slots=True)
class Floors:
    """The weak-match floors of the vector leg, as cosines; None asks nothing.

    `every`: a chunk below it is not in the vector leg. `unsupported`: a row that full text does not support needs
    it. `alone`: where full text finds nothing at all, a row needs it (default: `unsupported`).
    """

    every: float | None = None
    unsupported: float | None = None
    alone: float | None = None

    def __post_init__(self) -> None:
        for name in ("every", "unsupported", "alone"):
            value = getattr(self, name)
            if value is not None and not -1 <= value <= 1:
                raise BadParameter(
                    f"the floor {name} is {value}", do="A cosine lies within -1 to 1"
                )

    def of_unsupported(self, *, alone: bool) -> float | None:
        """The floor of a row that full text does not support; `alone`: it supports none at all."""
        return self.alone if alone and self.alone is not None else self.unsupported


@dataclass(frozen=True, slots=True)
class Ask:
    """One search as an engine gets it. A repeated term counts as often in the full-text leg. `first` and `last` are 0-based: rows first … last, `last` being the one
    that tells of a next page. `chunks` is how many of a row's best chunks are named."""

    terms: tuple[str, ...]
    vector: np.ndarray | None
    filters: Mapping[str, Any]
    k_fts: int
    k_vec: int
    first: int
    last: int
    fusion: Stage = field(default_factory=max_min)
    floors: Floors = Floors()
    returns: Returns = "itself"
    chunks: int = 1

    @property
    def uncut(self) -> Ask:
        """The same with legs that nothing cuts."""
        return replace(self, k_fts=EVERY, k_vec=EVERY, floors=Floors())


class Ranked(NamedTuple):
    """A row of the ranking: ids only. `chunks` are the rows' catalog ids, best first; `best` is the first."""

    type: str
    id: str
    score: float
    chunks: tuple[int, ...]

    @property
    def best(self) -> int:
        return self.chunks[0]


@dataclass(frozen=True, slots=True)
class Found:
    """The answer to an Ask: rows in order, how many chunks each leg has, and how many rows the ranking has.

    `read` is the number of chunks that were read before a filter which the vector search cannot take; None if the
    filter was part of the search.
    """

    rows: tuple[Ranked, ...]
    fts: int
    vec: int
    admitted: int
    read: int | None = None


class Shown(NamedTuple):
    """A row's text for the page, each part capped."""

    point_id: PointId
    title: str
    path: str
    note_type: str
    excerpt: str


class Leg(NamedTuple):
    """A chunk of one leg at the trace level `lists`: its point, 1-based rank, score, and its key (type, entity, chunk index)."""

    point_id: PointId
    rank: int
    score: float
    type: str
    entity_id: str
    chunk_index: int


class Engine(Protocol):
    """A store that ranks in one statement and materialises late. Another one (Postgres with pgvector) stands
    behind the same five functions."""

    name: str
    dim: int
    tokenizer: Tokenizer

    @property
    def statements(self) -> int:
        """How many statements this thread has run so far."""

    def ranked(self, ask: Ask) -> Found:
        """Both legs, filtered, fused and grouped by (type, id), in one statement; ids only.

        Score descending, then type, then id; a leg's own ties by chunk.
        """

    def legs(self, ask: Ask) -> tuple[list[Leg], list[Leg]]:
        """The full-text and the vector leg of an ask, each score descending, then chunk."""

    def place(self, ask: Ask, row: Key) -> tuple[Leg | None, Leg | None]:
        """The best chunk of a row in each leg as if nothing cut it, neither k nor a floor; None where it is not in it.

        Two exact queries over all that the filters admit, for an explanation.
        """

    def page(self, rows: Sequence[Ranked], excerpt_chars: int, label_chars: int) -> list[Shown]:
        """The page's text in the order of the rows, cut in the engine."""

    def documents(self, chunks: Sequence[int], chars: int) -> list[str]:
        """The texts of these chunks in their order, each cut to `chars` in the engine."""

    def close(self) -> None: ...


# ---- What one search may take at the most: chunks a leg, rows a page, characters a row. Not ----

K_CAP = 1_000
"""Chunks that a leg ranks at the most ("capped (for example 1,000)", notes search rebuild, 7)."""
PAGE_ROWS = 10
"""Rows of a page ("ids plus about 10 excerpts", notes search rebuild, Expected effect)."""
EXCERPT_CHARS = 900
"""Characters of a row's excerpt: one chunk as Basic Memory cuts it (900 characters)."""
EXCERPT_CHUNKS = 3
"""Chunks that an excerpt is made of at the most ("top 2 to 3 chunks", 4)."""
LABEL_CHARS = 200
"""Characters of a title, a path and a note type on a page: a choice, so that a hostile title cannot fill it."""
RERANK_CANDIDATES = 20
DOCUMENT_CHARS = 2_000
"""Basic Memory's reranker_candidates and max_document_chars (config_models.py, August 2026)."""
LEAST_K = 260
CHUNKS_A_ROW = 10
"""The old path asks for 10 chunks a row: 260 for a page of 25 and one more that tells of a next page."""

ID_BYTES = 64
"""What a row of (type, id, score, best chunk) may take in a budget: three numbers, a type, an id of 30 bytes."""
UTF8_BYTES = 4
"""Bytes of one character at the most."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The fixed caps of a search.

    `k_fts` and `k_vec` are chunks a leg. With `growing` a page asks for `CHUNKS_A_ROW` chunks for each row up to
    its end, from `LEAST_K` up to these caps, as the document words it; without, every page asks for the caps, so
    that all pages are cut from one ranking. `excerpt_chars` is of the whole excerpt, however many chunks make it.
    """

    k_fts: int = K_CAP
    k_vec: int = K_CAP
    page_rows: int = PAGE_ROWS
    excerpt_chars: int = EXCERPT_CHARS
    rerank_candidates: int = RERANK_CANDIDATES
    document_chars: int = DOCUMENT_CHARS
    growing: bool = False

    def __post_init__(self) -> None:
        for name in ("k_fts", "k_vec"):
            if not 1 <= getattr(self, name) <= K_CAP:
                raise BadParameter(f"{name} is {getattr(self, name)}", do=f"Use 1 to {K_CAP:,}")
        for name in ("page_rows", "excerpt_chars", "rerank_candidates", "document_chars"):
            if getattr(self, name) < 1:
                raise BadParameter(f"{name} is {getattr(self, name)}", do="Use at least 1")

    def k(self, page_end: int) -> tuple[int, int]:
        """(k_fts, k_vec) of a page that ends at this row."""
        if not self.growing:
            return self.k_fts, self.k_vec
        wanted = max(LEAST_K, CHUNKS_A_ROW * (page_end + 1))
        return min(wanted, self.k_fts), min(wanted, self.k_vec)

    def bytes_at_most(self, rows: int) -> int:
        """Bytes of a page of `rows` with its ids, whatever the script; rerank texts stand apart."""
        page = rows * UTF8_BYTES * (self.excerpt_chars + 3 * LABEL_CHARS)
        return page + (rows + 1) * ID_BYTES

    @property
    def rerank_bytes_at_most(self) -> int:
        return self.rerank_candidates * self.document_chars * UTF8_BYTES


# ---- What a notes search returns: rows with capped text, whether there are more, and one sp ----


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
    """One search's budgets and what it took: chunks that a leg may rank, ranking statements, rows that the filters,
    legs and floors admit on all pages, rows returned, and bytes that left the engine, each kind apart.

    `read_before_filter` is the number of chunks that SQLite's fallback read before the filter, None without it.
    """

    fts_k: int
    vec_k: int
    rounds: int
    rows_admitted: int
    rows_returned: int
    read_before_filter: int | None
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
    """`more` is True if a next page has rows and False if the data ends here. It is None if the pages end because a
    leg ended at its k: more k may bring more rows. If the trace level asked for them, `lists` are both legs by chunk,
    and `chunks` the key (type, entity, chunk index) of each chunk in them."""

    query: Query
    hits: tuple[NoteHit, ...]
    more: bool | None
    span: NotesSpan
    spans: tuple[Span, ...]
    lists: tuple[Ranking, ...] = ()
    chunks: Mapping[PointId, tuple[str, str, int]] = field(default_factory=dict)

    @property
    def keys(self) -> tuple[tuple[str, str], ...]:
        """The rows' (type, id) in order."""
        return tuple((h.type, h.id) for h in self.hits)
