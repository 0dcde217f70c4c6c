"""What a stage may ask: the two stores and the model, every call a span, and a memo that variants share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.registry import Stage
from workbench.stores.collections import Stores
from workbench.stores.filters.values import READ_FIELDS, Match, Point
from workbench.trace import Trace, payload_bytes
from workbench.types import PointId, Query, Ranking, Span

if TYPE_CHECKING:
    from workbench.stores.vectors.embedder import Embedder

ID_BYTES = 8
SCORE_BYTES = 8


@dataclass(frozen=True, slots=True)
class Candidates:
    """Points that a policy read, in the order in which it read them, and why each came in.

    `origin[i]` names the read that brought point i ("all terms", "term 2026", "any term"). `counts` are the
    exact counts that were made; `cap` is the limit that ended the reading, `full` whether it was reached.
    """

    points: tuple[Point, ...]
    origin: tuple[str, ...]
    cap: int
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def ids(self) -> tuple[PointId, ...]:
        return tuple(p.id for p in self.points)

    @property
    def full(self) -> bool:
        return len(self.points) >= self.cap

    def first(self, cap: int) -> Candidates:
        """The same reading ended at a smaller cap: every policy reads in an order that its cap only cuts."""
        return replace(self, points=self.points[:cap], origin=self.origin[:cap], cap=cap)


@dataclass(slots=True)
class Context:
    """One search's view of a collection. `memo` may outlive the search: variants over the same query and filters
    (the `scope`) share what their stages have in common; a shared stage's spans are told again, marked so.
    `fields` are the payload fields that every read brings; () reads ids alone. `lists` are the channels' lists, once
    they are made: what derived lists and priors are made of."""

    stores: Stores
    scope: str = ""
    trace: Trace = field(default_factory=Trace)
    memo: dict[Any, tuple[Any, tuple[Span, ...]]] = field(default_factory=dict)
    fields: tuple[str, ...] = READ_FIELDS
    evidence: dict[str, Any] = field(default_factory=dict)
    lists: tuple[Ranking, ...] = ()

    def once(self, key: Any, compute: Callable[[], Any]) -> Any:
        """The value under this key, computed at most once per memo."""
        key = (self.scope, key)
        if key in self.memo:
            value, spans = self.memo[key]
            self.trace.spans.extend(replace(s, note=(s.note + " shared").strip()) for s in spans)
            return value
        mark = self.trace.mark()
        value = compute()
        self.memo[key] = (value, self.trace.since(mark))
        return value

    # -- what frozen lists answer by themselves -----------------------------------------------------------------
    def rank(self, channel: Stage, query: Query) -> Ranking:
        """The list of one channel."""
        return channel(query, self)

    def fact(self, key: Any, compute: Callable[[], Any]) -> Any:
        """What holds of a point and the query whatever the knobs are, computed at most once per memo."""
        known = self.memo.setdefault((self.scope, "facts"), ({}, ()))[0]
        if key not in known:
            known[key] = compute()
        return known[key]

    # -- the query ---------------------------------------------------------------------------------------------
    def terms(self, query: Query, *, repeats: bool = False) -> list[str]:
        """The query's terms by the collection's own tokenizer: the distinct ones, or with `repeats` as BM25 counts them."""
        tokenizer = self.stores.tokenizer
        return (
            tokenizer.terms(query.normalised)
            if repeats
            else tokenizer.query_terms(query.normalised)
        )

    def vector(self, query: Query, model: str = "", stage: str = "semantic") -> np.ndarray | None:
        """The query's unit vector by one of the collection's models, None for a text without a character."""
        text = query.normalised
        if not text:
            self.trace.note(stage, "the query is empty: there is nothing to embed")
            return None
        embedder, _ = self._space(model)

        def embed() -> np.ndarray:
            with self.trace.span(stage, "embed", "model") as span:
                span.rows, span.note = 1, model
                return embedder.embed_query(text)

        return self.once(("vector", text, model), embed)

    def _space(self, model: str) -> tuple[Embedder, str]:
        return self.stores.space(model) if model else (self.stores.embedder, "")

    # -- the stages' own readings -------------------------------------------------------------------------------
    def candidates(self, policy: Stage, query: Query, terms: Sequence[str]) -> Candidates:
        """What the policy reads for these terms, read once for all variants that share it."""
        return self.once(("candidates", policy, tuple(terms)), lambda: policy(query, self, terms))

    # -- Qdrant ------------------------------------------------------------------------------------------------
    def scroll(
        self, stage: str, terms: Sequence[str], match: Match, query: Query, limit: int
    ) -> list[Point]:
        """The first points in point-id order that hold any / all of the terms within the query's filters."""
        with self.trace.span(stage, "scroll", "qdrant") as span:
            found = self.stores.points.scroll(
                terms, match, query.filters, limit, fields=self.fields
            )
            _told(span, found, f"{match} of {len(terms)} terms")
            self._limited(span, query, limit, terms, match)
        return found

    def count(
        self, stage: str, terms: Sequence[str], match: Match, query: Query, *, exact: bool = True
    ) -> int:
        """How many points hold any / all of the terms within the query's filters."""
        with self.trace.span(stage, "count", "qdrant") as span:
            span.bytes, span.note = ID_BYTES, " ".join(terms) + ("" if exact else " (approximate)")
            return self.stores.points.count(terms, match, query.filters, exact=exact)

    def nearest(
        self, query: Query, limit: int, model: str = "", stage: str = "semantic"
    ) -> list[tuple[Point, float]]:
        """The nearest points within the query's filters, score descending, then point id: the query and the points by
        one and the same model. Raises NotAvailable for a model that the collection was not loaded with."""
        vector = self.vector(query, model, stage)
        if vector is None:
            return []
        with self.trace.span(stage, "query", "qdrant") as span:
            space = self._space(model)[1]
            found = self.stores.points.nearest(
                vector, query.filters, limit, fields=self.fields, space=space
            )
            _told(span, [p for p, _ in found], f"nearest by {model}" if model else "nearest")
            self._limited(span, query, limit)
        return found

    def engine_bm25(
        self, terms: Sequence[str], query: Query, limit: int
    ) -> list[tuple[Point, float]]:
        """The best points by the engine's own BM25 over its text index, with the payload that is read back."""
        with self.trace.span("lexical", "query", "qdrant") as span:
            found = self.stores.points.bm25(terms, query.filters, limit, fields=self.fields)
            _told(span, [p for p, _ in found], "bm25 in the engine")
            self._limited(span, query, limit, terms)
        return found

    def sparse_bm25(
        self, terms: Sequence[str], query: Query, limit: int
    ) -> list[tuple[Point, float]]:
        """The best points by their sparse BM25 vectors, with the payload that is read back. Raises NotAvailable."""
        with self.trace.span("lexical", "query", "qdrant") as span:
            found = self.stores.points.sparse(terms, query.filters, limit, fields=self.fields)
            _told(span, [p for p, _ in found], "sparse bm25")
            self._limited(span, query, limit, terms)
        return found

    def read(self, stage: str, ids: Sequence[PointId]) -> list[Point]:
        """These points with the payload that is read back."""
        with self.trace.span(stage, "retrieve", "qdrant") as span:
            found = self.stores.points.retrieve(ids, fields=self.fields)
            _told(span, found, "by id")
        return found

    # -- DuckDB ------------------------------------------------------------------------------------------------
    def bm25_of(
        self, stage: str, ids: Sequence[PointId], terms: Sequence[str], k1: float, b: float
    ) -> dict[PointId, float]:
        """Exact BM25 scores of the given points; those that hold no term are absent."""
        with self.trace.span(stage, "sql", "duckdb") as span:
            found = self.stores.catalog.bm25_of(ids, terms, k1=k1, b=b)
            span.rows, span.bytes, span.note = (
                len(found),
                len(found) * (ID_BYTES + SCORE_BYTES),
                "bm25 of ids",
            )
        return found

    def entities(self, ids: Sequence[PointId]) -> dict[PointId, str]:
        """The entity of each of these points."""
        with self.trace.span("page", "sql", "duckdb") as span:
            found = dict(zip(ids, self.stores.catalog.entities(ids), strict=True)) if ids else {}
            span.rows, span.note = len(found), "entities of ids"
            span.bytes = sum(ID_BYTES + payload_bytes(e) for e in found.values())
        return found

    def ranked_sql(
        self, stage: str, note: str, call: Callable[[int], list[tuple[PointId, float]]], limit: int
    ) -> list[tuple[PointId, float]]:
        """The first `limit` rows (id, score) of a catalog call, traced. It is asked for one more, which shows whether
        the limit cut something off."""
        with self.trace.span(stage, "sql", "duckdb") as span:
            all_found = call(limit + 1)
            found = all_found[:limit]
            span.rows, span.bytes, span.note = (
                len(found),
                len(found) * (ID_BYTES + SCORE_BYTES),
                note,
            )
            if len(all_found) > limit:
                span.limit, span.dropped = f"limit {limit}", None
        return found

    # -- limits ------------------------------------------------------------------------------------------------
    def more_than(
        self, limit: int, query: Query, terms: Sequence[str] = (), match: Match = "any"
    ) -> bool:
        """Whether more than `limit` points within the filters hold any / all of the terms (of all, without terms)."""
        catalog = self.stores.catalog
        if catalog.n <= limit or (not terms and not query.filters):
            return catalog.n > limit
        count = self.fact(
            ("count", tuple(terms), match), lambda: catalog.count(terms, match, query.filters)
        )
        return count > limit

    def _limited(
        self, span: Any, query: Query, limit: int, terms: Sequence[str] = (), match: Match = "any"
    ) -> None:
        """Put the limit on the span of a read where it cut something off; how much, an engine does not tell."""
        if span.rows >= limit and self.more_than(limit, query, terms, match):
            span.limit, span.dropped = f"limit {limit}", None


def _told(span: Any, points: Sequence[Point], note: str) -> None:
    span.rows, span.note = len(points), note
    span.bytes = sum(ID_BYTES + payload_bytes(p.payload) for p in points)
