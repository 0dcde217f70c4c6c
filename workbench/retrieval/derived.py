"""Derived lists: made of the candidates that the channels read already, in hybrid mode only, no engine asked
for anything but the lexical scores of semantic candidates."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from workbench.bm25 import K1, B
from workbench.registry import register
from workbench.retrieval.context import Context
from workbench.stores.filters.values import Point
from workbench.text import verbatim_key
from workbench.types import PointId, Query, Ranking


@register("derived")
def verbatim(
    query: Query,
    ctx: Context,
    *,
    k1: float = K1,
    b: float = B,
    titles_only: bool = False,
    repeats: bool = False,
) -> Ranking:
    """Candidates whose content or source holds the query verbatim, ordered as the lexical list is (ADR 0172).

    Case and runs of white space are ignored; `repeats` as the lexical channel has it. A query of fewer than two terms has no such list; with
    `titles_only` only a query that is shaped like a title or identifier has one (the record's third condition).
    """
    terms = ctx.terms(query)
    if len(terms) < 2 or (titles_only and not title_shaped(query.normalised)):
        return Ranking("verbatim", (), ())
    needle = verbatim_key(query.normalised)
    held = {
        i: p
        for i, p in _read(ctx).items()
        if ctx.fact(("verbatim", i), partial(holds_verbatim, p, needle))
    }
    return _ordered_as_lexical("verbatim", held, ctx, ctx.terms(query, repeats=repeats), k1, b)


@register("derived")
def all_terms(
    query: Query, ctx: Context, *, k1: float = K1, b: float = B, repeats: bool = False
) -> Ranking:
    """Candidates that hold every term, ordered as the lexical list is: ADR 0172's rejected third list."""
    terms = ctx.terms(query)
    if len(terms) < 2:
        return Ranking("all_terms", (), ())

    def holds(point: Point) -> bool:
        return ctx.stores.tokenizer.holds_all(point.payload.get("content") or "", terms)

    held = {i: p for i, p in _read(ctx).items() if ctx.fact(("all terms", i), partial(holds, p))}
    return _ordered_as_lexical("all_terms", held, ctx, ctx.terms(query, repeats=repeats), k1, b)


def title_shaped(text: str) -> bool:
    """Whether a query looks like a title or identifier: it holds a digit, or at least half of its words begin
    with a capital, or it has inner marks (`a.b`, `a_b`, `A-1`); and it does not end as a question."""
    words = text.split()
    if not words:
        return False
    capital = sum(w[:1].isupper() for w in words) * 2 >= len(words)
    marked = any(not c.isalnum() for w in words for c in w[1:-1])
    return any(c.isdigit() for c in text) or marked or (capital and len(words) > 1)


def holds_verbatim(point: Point, needle: str) -> bool:
    """Whether a point's content or source holds the needle (already a verbatim key)."""
    return any(needle in verbatim_key(point.payload.get(f) or "") for f in ("content", "source"))


def _read(ctx: Context) -> Mapping[PointId, Point]:
    """Every candidate of both channels, by id."""
    return {
        p.id: p
        for name in ("lexical", "semantic")
        if name in ctx.evidence
        for p in ctx.evidence[name].points
    }


def _ordered_as_lexical(
    name: str, held: Mapping[PointId, Point], ctx: Context, terms: list[str], k1: float, b: float
) -> Ranking:
    if not held:
        return Ranking(name, (), ())
    ids = tuple(held)
    scores = ctx.once(
        ("bm25", ids, tuple(terms), k1, b), lambda: ctx.bm25_of(name, ids, terms, k1, b)
    )
    # A phrase that stands only in the source holds no term of the content: it ranks last in its list.
    return Ranking.ordered(name, {i: scores.get(i, 0.0) for i in ids})
