"""Candidate policies: which points the lexical channel reads, at most `cap` of them, and in which order.

Every policy reads in an order that the cap only cuts, so a reading at a larger cap holds each smaller one as
its beginning. All reads are in point-id order within one read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from workbench.errors import BadParameter
from workbench.registry import register
from workbench.retrieval.context import Candidates, Context
from workbench.stores.filters.values import Point
from workbench.types import Query

CANDIDATE_CAP = 256
"""Points that the lexical channel reads at most (ADR 0005, kept by ADR 0172)."""

Counts = Literal["exact", "approximate"]


@register("policy")
def any_term(
    query: Query, ctx: Context, terms: Sequence[str], *, cap: int = CANDIDATE_CAP
) -> Candidates:
    """The first `cap` points that hold any term, in point-id order (ADR 0005)."""
    reading = _Reading(cap)
    reading.take("any term", ctx.scroll("lexical", terms, "any", query, cap))
    return reading.done()


@register("policy")
def all_terms_then_rarest(
    query: Query,
    ctx: Context,
    terms: Sequence[str],
    *,
    cap: int = CANDIDATE_CAP,
    counts: Counts = "exact",
    counted: int = 0,
) -> Candidates:
    """Points that hold every term, then each term's points from the rarest by count within the filters (ADR 0172).

    Counts are made only while room is left; a term that no point holds is not scrolled; a single term needs
    neither the first read nor a count. `counts`: "exact" or "approximate"; `counted` > 0 counts only that many
    terms, those that are rarest in the whole collection by the catalog's frequencies.
    """
    reading = _Reading(cap)
    _every_term(reading, query, ctx, terms)
    if not reading.full:
        _by_count(reading, query, ctx, terms, rarest=True, counts=counts, counted=counted)
    return reading.done()


@register("policy")
def all_terms_then_commonest(
    query: Query, ctx: Context, terms: Sequence[str], *, cap: int = CANDIDATE_CAP
) -> Candidates:
    """Points that hold every term, then each term's points from the commonest: half of ADR 0172's change."""
    reading = _Reading(cap)
    _every_term(reading, query, ctx, terms)
    if not reading.full:
        _by_count(reading, query, ctx, terms, rarest=False)
    return reading.done()


@register("policy")
def all_terms_then_by_id(
    query: Query, ctx: Context, terms: Sequence[str], *, cap: int = CANDIDATE_CAP
) -> Candidates:
    """Points that hold every term, then points that hold any, by id: half of ADR 0172's change."""
    reading = _Reading(cap)
    _every_term(reading, query, ctx, terms)
    if not reading.full:
        reading.take("any term", ctx.scroll("lexical", terms, "any", query, cap))
    return reading.done()


@register("policy")
def rarest_first(
    query: Query, ctx: Context, terms: Sequence[str], *, cap: int = CANDIDATE_CAP
) -> Candidates:
    """Each term's points from the rarest, without reading the points that hold every term first."""
    reading = _Reading(cap)
    _by_count(reading, query, ctx, terms, rarest=True)
    return reading.done()


@register("policy")
def by_bm25(
    query: Query, ctx: Context, terms: Sequence[str], *, cap: int = CANDIDATE_CAP
) -> Candidates:
    """The `cap` best points by BM25 over exact document frequencies (ADR 0172's first condition, in DuckDB)."""
    asked = ctx.terms(query, repeats=True)
    best = ctx.ranked_sql(
        "lexical",
        "bm25 top",
        lambda most: ctx.stores.catalog.bm25_top(asked, query.filters, most),
        cap,
    )
    reading = _Reading(cap)
    reading.take("bm25", ctx.read("lexical", [i for i, _ in best]))
    return reading.done()


@register("policy")
def by_engine_bm25(
    query: Query, ctx: Context, terms: Sequence[str], *, cap: int = CANDIDATE_CAP
) -> Candidates:
    """The `cap` best points by Qdrant's own full-text BM25 (ADR 0172's first condition, as the engine has it)."""
    reading = _Reading(cap)
    asked = ctx.terms(query, repeats=True)
    reading.take("bm25 in the engine", [p for p, _ in ctx.engine_bm25(asked, query, cap)])
    return reading.done()


class _Reading:
    """Points taken so far, each once, up to the cap."""

    def __init__(self, cap: int) -> None:
        if cap < 1:
            raise BadParameter(f"a candidate cap of {cap} reads nothing", do="Use at least 1")
        self.cap, self.points, self.origin = cap, {}, []
        self.counts: dict[str, int] = {}

    @property
    def full(self) -> bool:
        return len(self.points) >= self.cap

    def take(self, origin: str, found: Iterable[Point]) -> None:
        for point in found:
            if self.full:
                return
            if point.id not in self.points:
                self.points[point.id] = point
                self.origin.append(origin)

    def done(self) -> Candidates:
        return Candidates(tuple(self.points.values()), tuple(self.origin), self.cap, self.counts)


def _every_term(reading: _Reading, query: Query, ctx: Context, terms: Sequence[str]) -> None:
    if len(terms) > 1:
        reading.take("all terms", ctx.scroll("lexical", terms, "all", query, reading.cap))


def _by_count(
    reading: _Reading,
    query: Query,
    ctx: Context,
    terms: Sequence[str],
    *,
    rarest: bool,
    counts: str = "exact",
    counted: int = 0,
) -> None:
    """Read term by term in the order of their counts; equal counts in the order of the query's terms."""
    ordered = list(terms)
    if len(terms) > 1:
        chosen = list(terms)
        if counted:
            df = ctx.stores.catalog.df(terms)
            chosen = sorted(terms, key=lambda t: (df.get(t, 0), terms.index(t)))[:counted]
        for term in chosen:
            reading.counts[term] = ctx.count(
                "lexical", [term], "all", query, exact=counts == "exact"
            )
        sign = 1 if rarest else -1
        uncounted = [t for t in terms if t not in reading.counts]
        ordered = (
            sorted(chosen, key=lambda t: (sign * reading.counts[t], terms.index(t))) + uncounted
        )
    for term in ordered:
        if reading.full:
            return
        if reading.counts.get(term) != 0:
            # A scroll cannot leave out what is read already, so it asks for the whole cap to fill the room.
            found = ctx.scroll("lexical", [term], "all", query, reading.cap)
            reading.take(f"term {term}", found)
