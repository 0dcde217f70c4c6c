"""Channels: a query to one ranked list. Each keeps what it read as evidence, under its list's name."""

from __future__ import annotations

from workbench.bm25 import K1, B
from workbench.registry import Stage, register
from workbench.retrieval.context import Candidates, Context
from workbench.types import Query, Ranking

SEMANTIC_LIMIT = 256
"""Nearest points that the semantic channel holds (ADR 0172: "among its 256")."""


@register("channel")
def lexical(
    query: Query,
    ctx: Context,
    *,
    policy: Stage,
    k1: float = K1,
    b: float = B,
    repeats: bool = False,
) -> Ranking:
    """The policy's candidates by BM25 over exact corpus-wide document frequencies; ties by point id.

    Without `repeats` a term that the query repeats counts once: ADR 0172 counts five terms in a title of six words. With
    it BM25 is that of the literature, which the channels that rank by BM25 alone always are.
    """
    terms = ctx.terms(query)
    if not terms:
        return _no_terms(ctx, policy["cap"])
    candidates = ctx.candidates(policy, query, terms)
    ctx.evidence["lexical"] = candidates
    if candidates.full and ctx.more_than(candidates.cap, query, terms):
        ctx.trace.note(
            "lexical",
            f"the cap ended the reading by {policy.name}",
            limit=f"cap {candidates.cap}",
            dropped=None,
        )
    asked = ctx.terms(query, repeats=repeats)
    scores = ctx.once(
        ("bm25", candidates.ids, tuple(asked), k1, b),
        lambda: ctx.bm25_of("lexical", candidates.ids, asked, k1, b) if candidates.ids else {},
    )
    return Ranking.ordered("lexical", scores)


@register("channel")
def lexical_fields(
    query: Query,
    ctx: Context,
    *,
    limit: int = SEMANTIC_LIMIT,
    title_weight: float = 3.0,
    k1: float = K1,
    b: float = B,
) -> Ranking:
    """The best points by BM25F over title and content as separate fields; ties by point id."""
    return _ranked_by_catalog(
        query,
        ctx,
        limit,
        "bm25 over fields",
        lambda terms, most: ctx.stores.catalog.bm25_fields_top(
            terms, query.filters, most, title_weight=title_weight, k1=k1, b=b
        ),
    )


@register("channel")
def lexical_bm25(
    query: Query, ctx: Context, *, limit: int = SEMANTIC_LIMIT, k1: float = K1, b: float = B
) -> Ranking:
    """The best points by BM25 over the catalog's postings, no candidate cap before it; ties by point id."""
    return _ranked_by_catalog(
        query,
        ctx,
        limit,
        "bm25 top",
        lambda terms, most: ctx.stores.catalog.bm25_top(terms, query.filters, most, k1=k1, b=b),
    )


@register("channel")
def lexical_engine_bm25(query: Query, ctx: Context, *, limit: int = SEMANTIC_LIMIT) -> Ranking:
    """The best points by Qdrant's own full-text BM25; ties by point id."""
    return _ranked_by_engine(query, ctx, limit, "bm25 in the engine", ctx.engine_bm25)


@register("channel")
def lexical_sparse_bm25(query: Query, ctx: Context, *, limit: int = SEMANTIC_LIMIT) -> Ranking:
    """The best points by BM25 as sparse vectors in Qdrant, where the collection was loaded with them; ties by point id."""
    return _ranked_by_engine(query, ctx, limit, "sparse bm25", ctx.sparse_bm25)


@register("channel")
def semantic(
    query: Query, ctx: Context, *, limit: int = SEMANTIC_LIMIT, floor: float | None = None
) -> Ranking:
    """The nearest points by exact cosine to the query's vector, none below the floor; ties by point id."""
    return nearest_list("semantic", "", query, ctx, limit, floor)


def nearest_list(
    name: str, model: str, query: Query, ctx: Context, limit: int, floor: float | None
) -> Ranking:
    """The list of that name of the nearest points by one of the collection's models ("" is the first)."""
    found = ctx.once(
        ("nearest", limit, query.normalised, model), lambda: ctx.nearest(query, limit, model, name)
    )
    if floor is not None:
        kept = [(p, s) for p, s in found if s >= floor]
        if len(kept) < len(found):
            ctx.trace.note(
                name,
                "the floor refused rows",
                limit=f"floor {floor:g}",
                dropped=len(found) - len(kept),
            )
        found = kept
    ctx.evidence[name] = Candidates(tuple(p for p, _ in found), ("nearest",) * len(found), limit)
    return Ranking(name, tuple(p.id for p, _ in found), tuple(s for _, s in found))


def _no_terms(ctx: Context, limit: int) -> Ranking:
    ctx.trace.note("lexical", "the query has no terms after the stop list")
    ctx.evidence["lexical"] = Candidates((), (), limit)
    return Ranking("lexical", (), ())


def _ranked_by_engine(query: Query, ctx: Context, limit: int, origin: str, best) -> Ranking:
    """A ranking made in Qdrant, read with its points' payload."""
    terms = ctx.terms(query, repeats=True)
    if not terms:
        return _no_terms(ctx, limit)
    found = ctx.once((origin, limit, tuple(terms)), lambda: best(terms, query, limit))
    ctx.evidence["lexical"] = Candidates(tuple(p for p, _ in found), (origin,) * len(found), limit)
    return Ranking.ordered("lexical", {p.id: s for p, s in found})


def _ranked_by_catalog(query: Query, ctx: Context, limit: int, note: str, top) -> Ranking:
    """A ranking made in SQL, its points' payload read from Qdrant so that derived lists can scan it."""
    terms = ctx.terms(query, repeats=True)
    if not terms:
        return _no_terms(ctx, limit)
    best = ctx.ranked_sql("lexical", note, lambda most: top(terms, most), limit)
    points = ctx.read("lexical", [i for i, _ in best]) if best else []
    ctx.evidence["lexical"] = Candidates(tuple(points), (note,) * len(points), limit)
    return Ranking("lexical", tuple(i for i, _ in best), tuple(s for _, s in best))
