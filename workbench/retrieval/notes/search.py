"""The rebuilt notes search: rank by id inside the engine, fetch text only for the page that is returned."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from workbench.errors import BadParameter, WorkbenchError
from workbench.registry import Stage
from workbench.retrieval.fusions import max_min
from workbench.retrieval.notes.model import (
    EXCERPT_CHUNKS,
    LABEL_CHARS,
    RETURNS,
    TIE_RULE,
    Ask,
    Budget,
    Engine,
    Floors,
    Key,
    Leg,
    NoteHit,
    NotesResult,
    NotesSpan,
    Ranked,
    Returns,
)
from workbench.trace import Trace, payload_bytes
from workbench.types import SOURCE_TYPES, PointId, Query, Ranking, content_hash

if TYPE_CHECKING:
    from workbench.retrieval.search import Collection
    from workbench.stores.vectors.embedder import Embedder

# ---- Reranking of a fixed prefix by bounded text: the same rows on every page, so that page ----


class RerankFailed(WorkbenchError):
    """The reranker gave no score, too many, or one that is no number; nothing is served in its place."""


class Scorer(Protocol):
    """A cross-encoder: one score a text, in their order."""

    def scores(self, query: str, texts: Sequence[str]) -> list[float]: ...


def reranked(
    query: str, prefix: Sequence[Ranked], texts: Sequence[str], scorer: Scorer
) -> list[tuple[Ranked, float]]:
    """The prefix by score descending, then type, then id. Raises RerankFailed; never falls back."""
    if len(texts) != len(prefix):
        raise RerankFailed(f"{len(texts)} texts came back for {len(prefix)} rows")
    try:
        scores = [float(s) for s in scorer.scores(query, texts)]
    except WorkbenchError:
        raise
    except Exception as error:  # onnxruntime and tokenizers raise their own kinds
        raise RerankFailed(f"the reranker failed: {error}") from error
    if len(scores) != len(texts):
        raise RerankFailed(f"the reranker gave {len(scores)} scores for {len(texts)} texts")
    for score, row in zip(scores, prefix, strict=True):
        if not math.isfinite(score):
            raise RerankFailed(f"the reranker scored {row.type} {row.id!r} as {score}")
    rows = zip(prefix, scores, strict=True)
    return sorted(rows, key=lambda pair: (-pair[1], pair[0].type, pair[0].id))


# ---- The rebuilt notes search: rank by id inside the engine, fetch text only for the page t ----

DEFAULT_TYPES = ("entity",)
"""Without a `source_type` in its filters a search returns notes (notes search rebuild, 6)."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How the new path searches, as data. `returns`: an observation or relation that was asked for stands for
    itself, or for its note. `excerpt_chunks` are a row's best chunks that its excerpt is made of."""

    fusion: Stage = field(default_factory=max_min)
    floors: Floors = Floors()
    budget: Budget = Budget()
    returns: Returns = "itself"
    excerpt_chunks: int = 1

    def __post_init__(self) -> None:
        if self.returns not in RETURNS:
            raise BadParameter(
                f"unknown `returns` {self.returns!r}", do=f"Use {' or '.join(RETURNS)}"
            )
        if not 1 <= self.excerpt_chunks <= EXCERPT_CHUNKS:
            raise BadParameter(
                f"an excerpt of {self.excerpt_chunks} chunks", do=f"Use 1 to {EXCERPT_CHUNKS}"
            )

    def replace(self, **changes: Any) -> Plan:
        return replace(self, **changes)

    @property
    def hash(self) -> str:
        return content_hash(
            str(self.fusion), self.floors, self.budget, self.returns, self.excerpt_chunks
        )


class Notes:
    """A collection as the notes search sees it: an engine and the model for queries. A context manager."""

    def __init__(self, engine: Engine, embedder: Embedder) -> None:
        self.engine, self.embedder = engine, embedder

    @classmethod
    def of(cls, collection: Collection) -> Notes:
        """A loaded collection's own catalog, by a connection of this search's own."""
        from workbench.retrieval.notes.duckdb import DuckNotes

        return cls(DuckNotes.open(Path(collection.stores.catalog.path)), collection.stores.embedder)

    def __enter__(self) -> Notes:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.engine.close()

    def search(
        self,
        query: Query | str,
        plan: Plan = Plan(),
        *,
        rerank: Scorer | None = None,
        lists: bool = False,
        **fields: Any,
    ) -> NotesResult:
        """Run one search. `fields` are Query's (filters, limit, offset) where `query` is a string.

        `rerank` orders the first `rerank_candidates` rows by their best chunks; `lists` returns both legs too.
        Raises BadParameter for a page beyond the budget, RerankFailed where the reranker fails.
        """
        if isinstance(query, str):
            query = Query(query, **fields)
        _check(query, plan.budget)
        trace = Trace()
        with trace.span("search", "search") as span:
            ask = self._ask(query, plan, rerank is not None, trace)
            result = _run(self.engine, query, ask, plan, rerank, trace)
            span.rows, span.bytes = len(result.hits), result.span.bytes
        told = replace(result.span, seconds=trace.spans[-1].seconds)
        if lists:
            legs, chunks = _lists(self.engine, ask, trace)
            result = replace(result, lists=legs, chunks=chunks)
            told = replace(told, bytes_lists=trace.spans[-1].bytes)
        return replace(result, span=told, spans=tuple(trace.spans))

    def place(
        self, query: Query, row: Key, filters: Mapping[str, Any]
    ) -> tuple[Leg | None, Leg | None]:
        """The best chunk of a row in each leg as if nothing cut it, among all that the filters admit (see Engine)."""
        return self.engine.place(
            replace(self._ask(query, Plan(), False, Trace()), filters=filters), row
        )

    def _ask(self, query: Query, plan: Plan, reranks: bool, trace: Trace) -> Ask:
        text, vector = query.normalised, None
        if text:
            with trace.span("embed", "embed", "model") as span:
                vector, span.rows = self.embedder.embed_query(text), 1
        end = query.offset + query.limit
        k_fts, k_vec = plan.budget.k(end)
        prefix = plan.budget.rerank_candidates if reranks else 0
        # A page that meets the reranked prefix needs all of it.
        first = 0 if query.offset < prefix else query.offset
        return Ask(
            tuple(self.engine.tokenizer.terms(text)),
            vector,
            typed(query.filters),
            k_fts,
            k_vec,
            first,
            max(end, prefix if first < prefix else 0),
            plan.fusion,
            plan.floors,
            plan.returns,
            plan.excerpt_chunks,
        )


def typed(filters: Any) -> dict[str, Any]:
    """The filters with a source type: notes, where the caller names none. Raises BadParameter for an unknown one."""
    given = {"source_type": list(DEFAULT_TYPES), **filters}
    types = given["source_type"]
    for name in types if isinstance(types, list | tuple | set | frozenset) else [types]:
        if name not in SOURCE_TYPES:
            raise BadParameter(
                f"unknown source type {name!r}", do=f"Known: {', '.join(SOURCE_TYPES)}"
            )
    return given


def check_hybrid(query: Query) -> None:
    """Raises BadParameter for another mode: each path is both legs."""
    if query.mode != "hybrid":
        raise BadParameter(
            f"the notes search is hybrid, not {query.mode}",
            do="Use a variant for one channel alone",
        )


def _check(query: Query, budget: Budget) -> None:
    check_hybrid(query)
    if query.limit > budget.page_rows:
        raise BadParameter(
            f"a page of {query.limit} rows exceeds the budget of {budget.page_rows}",
            do="Ask for fewer, or give more page_rows",
        )


def _run(
    engine: Engine, query: Query, ask: Ask, plan: Plan, rerank: Scorer | None, trace: Trace
) -> NotesResult:
    budget, end = plan.budget, query.offset + query.limit
    with trace.span("rank", "sql", engine.name) as span:
        before = engine.statements
        found = engine.ranked(ask)
        rounds = engine.statements - before
        span.rows, span.bytes = len(found.rows), sum(payload_bytes(list(row)) for row in found.rows)
        ids = span.bytes
        if found.read is not None:
            span.limit, span.dropped = "overfetch", None
            span.note = (
                f"{found.read:,} nearest chunks read before the filter, which admits {found.vec:,}"
            )
    rows: list[tuple[Ranked, float | None]] = [(row, None) for row in found.rows]
    read = 0
    if rerank is not None and ask.first == 0 and rows:
        prefix = found.rows[: budget.rerank_candidates]
        with trace.span("rerank", "sql", engine.name) as span:
            texts = engine.documents([row.best for row in prefix], budget.document_chars)
            span.rows, span.bytes = len(texts), payload_bytes(texts)
            read = span.bytes
        with trace.span("rerank", "score", "model") as span:
            rows[: len(prefix)] = reranked(query.normalised, prefix, texts, rerank)
            span.rows = len(prefix)
    page = rows[query.offset - ask.first : end - ask.first]
    with trace.span("page", "sql", engine.name) as span:
        shown = engine.page([row for row, _ in page], budget.excerpt_chars, LABEL_CHARS)
        span.rows, span.bytes = len(shown), sum(payload_bytes(list(row)) for row in shown)
        text = span.bytes
    hits = tuple(
        NoteHit(
            rank,
            row.type,
            row.id,
            row.score,
            s.point_id,
            s.title,
            s.path,
            s.note_type,
            s.excerpt,
            reranked=score,
        )
        for rank, ((row, score), s) in enumerate(zip(page, shown, strict=True), query.offset + 1)
    )
    told = NotesSpan(
        ask.k_fts,
        ask.k_vec,
        rounds,
        found.admitted,
        len(hits),
        found.read,
        ids,
        text,
        read,
        bytes_lists=0,
        seconds=0.0,
    )
    more: bool | None = found.admitted > end
    if not more and (found.fts >= ask.k_fts or found.vec >= ask.k_vec or found.read is not None):
        more = None  # a leg ended at its k, or the fallback may have missed rows
    return NotesResult(query, hits, more, told, ())


def _lists(
    engine: Engine, ask: Ask, trace: Trace
) -> tuple[tuple[Ranking, ...], dict[PointId, tuple[str, str, int]]]:
    with trace.span("lists", "sql", engine.name) as span:
        legs: Sequence = engine.legs(ask)
        span.rows = sum(map(len, legs))
        span.bytes = sum(payload_bytes(list(row)) for leg in legs for row in leg)
        caps = zip(("k_fts", "k_vec"), (ask.k_fts, ask.k_vec), legs, strict=True)
        if full := [f"{name} {k:,}" for name, k, leg in caps if len(leg) == k]:
            span.limit, span.dropped = ", ".join(full), None
    rankings = tuple(
        Ranking(
            name,
            tuple(r.point_id for r in leg),
            tuple(r.score for r in leg),
            "score descending, then point id ascending",
        )
        for name, leg in zip(("lexical", "semantic"), legs, strict=True)
    )
    return rankings, {r.point_id: (r.type, r.entity_id, r.chunk_index) for leg in legs for r in leg}


__all__ = ["DEFAULT_TYPES", "TIE_RULE", "Notes", "Plan", "check_hybrid", "typed"]
