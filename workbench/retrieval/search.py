"""Search: a query through a variant over an opened collection, to a result that explains itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.retrieval.context import Context
from workbench.retrieval.distinct import distinct
from workbench.retrieval.fusions import Fused
from workbench.retrieval.variant import Variant, variant
from workbench.stores.home import Stores, open_stores
from workbench.types import Hit, PointId, Query, Ranking, Result, content_hash

DEFAULT_VARIANT = "adr_0172"


class Collection:
    """An opened collection: its two stores, its model, and the searches over them. Use as a context manager."""

    def __init__(self, stores: Stores) -> None:
        self.stores = stores
        self.name = stores.manifest.name

    def __enter__(self) -> Collection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.stores.close()

    @property
    def inputs(self) -> dict[str, str]:
        """The content hashes that every result over this collection records."""
        manifest = self.stores.manifest
        return {
            "collection": manifest.name, "content": manifest.content_hash, "model": manifest.model["sha256"],
            "tokenizer": self.stores.tokenizer.name,
        }  # fmt: skip

    def search(
        self, query: Query | str, variant: str | Variant = DEFAULT_VARIANT, *, with_chunks: bool = True,
        memo: dict[Any, Any] | None = None, **fields: Any,
    ) -> Result:  # fmt: skip
        """Run one search. `fields` are Query's (filters, limit, offset, mode) when `query` is a string.

        Pass the same `memo` to several variants of one query to run their common stages once. Chunks are read
        for the page only.
        """
        if isinstance(query, str):
            query = Query(query, **fields)
        ctx = Context(self.stores, scope(query), memo={} if memo is None else memo)
        return run(ctx, query, variant, self.inputs, with_chunks=with_chunks)


def open_collection(name: str) -> Collection:
    """Open a loaded collection read-only. Raises a named error that lists those there are."""
    return Collection(open_stores(name))


def search(collection: str | Collection, text: str, *, variant: str | Variant = DEFAULT_VARIANT, **fields: Any) -> Result:
    """Search a collection by name or as opened; `fields` are Query's filters, limit, offset and mode."""
    if isinstance(collection, Collection):
        return collection.search(text, variant, **fields)
    with open_collection(collection) as opened:
        return opened.search(text, variant, **fields)


def scope(query: Query) -> str:
    """What two searches must have in common to share their stages: the text as it is looked for, and the filters."""
    return content_hash(query.normalised, dict(query.filters))


def run(
    ctx: Context, query: Query, spec: str | Variant, inputs: Mapping[str, str], *, with_chunks: bool = True
) -> Result:
    """The one path of every search: channels, derived lists, fusion, page."""
    chosen = variant(spec)
    channels, derived, fusion = chosen.stages(query.mode)
    with ctx.trace.span("search", "search") as span:
        ctx.lists = tuple(ctx.rank(channel, query) for channel in channels)
        lists = ctx.lists + tuple(d(query, ctx) for d in derived)
        fused = fusion(lists)
        if chosen.distinct:
            fused, ctx.evidence["deduplicated"] = distinct(fused, ctx.entities(fused.ranking.ids))
        page = fused.ranking.ids[query.offset : query.offset + query.limit]
        chunks = {}
        if with_chunks and page:
            with ctx.trace.span("page", "sql", "duckdb") as read:
                chunks = {c.id: c for c in ctx.stores.catalog.chunks(page)}
                read.rows = len(chunks)
                read.bytes = sum(len(c.text.encode("utf-8", "surrogatepass")) for c in chunks.values())
        span.rows = len(page)
        beyond = len(fused.ranking) - len(page)
        span.limit, span.dropped = (f"page {query.offset + 1}–{query.offset + query.limit}", beyond) if beyond else ("", 0)
    return Result(
        query, chosen.name, _hits(query, page, fused, lists, chunks), fused.ranking, lists, tuple(ctx.trace.spans),
        {**ctx.evidence, "terms": tuple(ctx.terms(query)), "variant": chosen, "fused": fused},
        {**inputs, "variant": chosen.hash},
    )  # fmt: skip


def _hits(
    query: Query, page: tuple[PointId, ...], fused: Fused, lists: tuple[Ranking, ...], chunks: Mapping[PointId, Any]
) -> tuple[Hit, ...]:
    ranks = {r.name: r.ranks() for r in lists}
    scores = {r.name: dict(zip(r.ids, r.scores, strict=True)) for r in lists}
    totals = fused.ranking.scores[query.offset :]
    return tuple(
        Hit(
            rank, point_id, total,
            tuple(n for n in ("lexical", "semantic") if point_id in ranks.get(n, {})),
            {n: r[point_id] for n, r in ranks.items() if point_id in r},
            {n: s[point_id] for n, s in scores.items() if point_id in s},
            fused.contributions[point_id], chunks.get(point_id),
        )
        for rank, (point_id, total) in enumerate(zip(page, totals, strict=False), query.offset + 1)
    )  # fmt: skip
