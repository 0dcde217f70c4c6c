"""Search: a query through a variant over an opened collection, to a result that explains itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from workbench.retrieval.context import Context
from workbench.retrieval.fusions import Fused
from workbench.retrieval.variant import AnyVariant, Variant
from workbench.retrieval.variant import variant as as_variant
from workbench.stores.collections import Stores, open_stores
from workbench.types import Chunk, Hit, PointId, Query, Ranking, Result, content_hash

# ---- Each entity once: a ranking without the rows for which a better row of the same entity ----


def distinct(
    fused: Fused, entity_of: Mapping[PointId, str]
) -> tuple[Fused, dict[PointId, PointId]]:
    """The fused ranking with each entity's best row alone, and for every row left out the one that stands for it."""
    best: dict[str, PointId] = {}
    left_out: dict[PointId, PointId] = {}
    for point_id in fused.ranking.ids:
        stands = best.setdefault(entity_of[point_id], point_id)
        if stands != point_id:
            left_out[point_id] = stands
    pairs = [
        p for p in zip(fused.ranking.ids, fused.ranking.scores, strict=True) if p[0] not in left_out
    ]
    ranking = replace(
        fused.ranking, ids=tuple(i for i, _ in pairs), scores=tuple(s for _, s in pairs)
    )
    return Fused(ranking, fused.contributions), left_out


# ---- The rows of a page: what every list says of each, and what each list added to its scor ----


def hits(
    query: Query,
    page: Sequence[PointId],
    fused: Fused,
    lists: Sequence[Ranking],
    chunks: Mapping[PointId, Chunk],
) -> tuple[Hit, ...]:
    """The hits of a page that is cut from the fused ranking at the query's offset; `chunks` are what is shown of them."""
    ranks = {r.name: r.ranks() for r in lists}
    scores = {r.name: dict(zip(r.ids, r.scores, strict=True)) for r in lists}
    totals = fused.ranking.scores[query.offset :]
    return tuple(
        Hit(
            rank,
            point_id,
            total,
            tuple(n for n in ("lexical", "semantic") if point_id in ranks.get(n, {})),
            {n: r[point_id] for n, r in ranks.items() if point_id in r},
            {n: s[point_id] for n, s in scores.items() if point_id in s},
            fused.contributions[point_id],
            chunks.get(point_id),
        )
        for rank, (point_id, total) in enumerate(zip(page, totals, strict=False), query.offset + 1)
    )


# ---- Search: a query through a variant over an opened collection, to a result that explains ----

DEFAULT_VARIANT = "adr_0172"


class Collection:
    """An opened collection: its two stores, its model, and the searches over them. Use as a context manager."""

    def __init__(self, stores: Stores) -> None:
        self.stores = stores
        self.name = stores.manifest.name
        self._kept: dict[Any, Any] = {}
        self._closing = ExitStack()
        self._closing.callback(stores.close)

    def __enter__(self) -> Collection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._closing.close()

    def kept(self, key: Any, opened: Callable[[], Any]) -> Any:
        """What `opened` opens beside the two stores, once under its key, closed with the collection."""
        if key not in self._kept:
            self._kept[key] = made = opened()
            self._closing.callback(made.close)
        return self._kept[key]

    @property
    def inputs(self) -> dict[str, str]:
        """The content hashes that every result over this collection records."""
        manifest = self.stores.manifest
        return {
            "collection": manifest.name,
            "content": manifest.content_hash,
            "model": manifest.model["sha256"],
            "tokenizer": self.stores.tokenizer.name,
        }

    def search(
        self,
        query: Query | str,
        variant: str | AnyVariant = DEFAULT_VARIANT,
        *,
        with_chunks: bool = True,
        memo: dict[Any, Any] | None = None,
        **fields: Any,
    ) -> Result:
        """Run one search. `fields` are Query's (filters, limit, offset, mode) when `query` is a string.

        Pass the same `memo` to several variants of one query to run their common stages once. Chunks are read
        for the page only. A variant that is searched as a whole shares nothing, and always reads its page.
        """
        if isinstance(query, str):
            query = Query(query, **fields)
        chosen = as_variant(variant)
        if not isinstance(chosen, Variant):
            return chosen.search(self, query)
        ctx = Context(self.stores, scope(query), memo={} if memo is None else memo)
        return run(ctx, query, chosen, self.inputs, with_chunks=with_chunks)


def open_collection(name: str) -> Collection:
    """Open a loaded collection read-only. Raises a named error that lists those there are."""
    return Collection(open_stores(name))


def search(
    collection: str | Collection,
    text: str,
    *,
    variant: str | AnyVariant = DEFAULT_VARIANT,
    **fields: Any,
) -> Result:
    """Search a collection by name or as opened; `fields` are Query's filters, limit, offset and mode."""
    if isinstance(collection, Collection):
        return collection.search(text, variant, **fields)
    with open_collection(collection) as opened:
        return opened.search(text, variant, **fields)


def scope(query: Query) -> str:
    """What two searches must have in common to share their stages: the text as it is looked for, and the filters."""
    return content_hash(query.normalised, dict(query.filters))


def run(
    ctx: Context,
    query: Query,
    chosen: Variant,
    inputs: Mapping[str, str],
    *,
    with_chunks: bool = True,
) -> Result:
    """The path of every composed variant: channels, derived lists, fusion, page."""
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
                read.bytes = sum(
                    len(c.text.encode("utf-8", "surrogatepass")) for c in chunks.values()
                )
        span.rows = len(page)
        beyond = len(fused.ranking) - len(page)
        span.limit, span.dropped = (
            (f"page {query.offset + 1}–{query.offset + query.limit}", beyond) if beyond else ("", 0)
        )
    return Result(
        query,
        chosen.name,
        hits(query, page, fused, lists, chunks),
        fused.ranking,
        lists,
        tuple(ctx.trace.spans),
        {
            **ctx.evidence,
            "terms": tuple(ctx.terms(query)),
            "variant": chosen,
            "fusion": fusion,
            "fused": fused,
        },
        {**inputs, "variant": chosen.hash},
    )
