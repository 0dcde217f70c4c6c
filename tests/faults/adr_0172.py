"""Faults that the claims of ADR 0172 must notice."""

from __future__ import annotations

from functools import partial
from typing import Any

from pytest import MonkeyPatch

from faults import Fault, stage
from workbench.retrieval import derived, policies
from workbench.retrieval.context import Candidates, Context
from workbench.stores.catalog.catalog import Catalog
from workbench.types import Query, Ranking


def no_verbatim(patch: MonkeyPatch) -> None:
    stage(
        patch,
        "derived",
        "verbatim",
        lambda real: lambda query, ctx, **given: Ranking("verbatim", (), ()),
    )


def rrf_of(k: int, patch: MonkeyPatch) -> None:
    stage(
        patch, "fusion", "rrf", lambda real: lambda lists, **given: real(lists, **given | {"k": k})
    )


def counts_without_filters(patch: MonkeyPatch) -> None:
    real = Context.count
    patch.setattr(
        Context,
        "count",
        lambda self, stage, terms, match, query, **more: real(
            self, stage, terms, match, Query(query.text), **more
        ),
    )


def three_scrolls(patch: MonkeyPatch) -> None:
    real = policies._every_term

    def thrice(*given: Any) -> None:
        for _ in range(3):
            real(*given)

    patch.setattr(policies, "_every_term", thrice)


def no_all_terms_read(patch: MonkeyPatch) -> None:
    patch.setattr(policies, "_every_term", lambda *given: None)


def verbatim_key_of(change: Any, patch: MonkeyPatch) -> None:
    patch.setattr(derived, "verbatim_key", change)


def source_not_matched(patch: MonkeyPatch) -> None:
    key = derived.verbatim_key
    patch.setattr(
        derived,
        "holds_verbatim",
        lambda point, needle: needle in key(point.payload.get("content") or ""),
    )


def verbatim_by_id(patch: MonkeyPatch) -> None:
    def by_id(real: Any) -> Any:
        def listed(query: Query, ctx: Context, **given: Any) -> Ranking:
            ids = tuple(sorted(real(query, ctx, **given).ids, key=str))
            return Ranking("verbatim", ids, tuple(float(-n) for n in range(len(ids))))

        return listed

    stage(patch, "derived", "verbatim", by_id)


def third_list_of_one_term(patch: MonkeyPatch) -> None:
    def any_length(real: Any) -> Any:
        def listed(query: Query, ctx: Context, **given: Any) -> Ranking:
            needle = derived.verbatim_key(query.normalised)
            held = {
                i: p for i, p in derived._read(ctx).items() if derived.holds_verbatim(p, needle)
            }
            return derived._ordered_as_lexical("verbatim", held, ctx, ctx.terms(query), 1.2, 0.75)

        return listed

    stage(patch, "derived", "verbatim", any_length)


def channel_without_filters(name: str, patch: MonkeyPatch) -> None:
    def unfiltered(real: Any) -> Any:
        return lambda query, ctx, **given: real(Query(query.text), ctx, **given)

    stage(patch, "channel", name, unfiltered)


def verbatim_of_any_term(patch: MonkeyPatch) -> None:
    patch.setattr(
        derived,
        "holds_verbatim",
        lambda point, needle: any(
            t in (point.payload.get("content") or "").casefold() for t in needle.split()
        ),
    )


def document_frequencies_off_by_one(patch: MonkeyPatch) -> None:
    real = Catalog.df
    patch.setattr(
        Catalog, "df", lambda self, terms: {t: n + 1 for t, n in real(self, terms).items()}
    )


def old_policy_is_the_new_one(patch: MonkeyPatch) -> None:
    stage(
        patch,
        "policy",
        "any_term",
        lambda real: (
            lambda query, ctx, terms, *, cap: policies.all_terms_then_rarest(cap=cap)(
                query, ctx, terms
            )
        ),
    )


def old_policy_without_a_cap(patch: MonkeyPatch) -> None:
    def uncut(real: Any) -> Any:
        def read(query: Query, ctx: Context, terms: Any, *, cap: int) -> Candidates:
            return real(query, ctx, terms, cap=ctx.stores.catalog.n)

        return read

    stage(patch, "policy", "any_term", uncut)


def old_policy_reads_five_times(patch: MonkeyPatch) -> None:
    def repeated(real: Any) -> Any:
        def read(query: Query, ctx: Context, terms: Any, *, cap: int) -> Candidates:
            return [real(query, ctx, terms, cap=cap) for _ in range(5)][0]

        return read

    stage(patch, "policy", "any_term", repeated)


def semantic_without_a_limit(patch: MonkeyPatch) -> None:
    stage(
        patch,
        "channel",
        "semantic",
        lambda real: (
            lambda query, ctx, **given: real(query, ctx, **given | {"limit": ctx.stores.catalog.n})
        ),
    )


def idf_without_its_half(patch: MonkeyPatch) -> None:
    from math import log

    from records.adr_0172 import costs
    from workbench import bm25

    for module in (costs, bm25):
        patch.setattr(module, "idf", lambda n, df: log(1 + n / (df + 1)) / 2)


def counts_made_many_times(times: int, patch: MonkeyPatch) -> None:
    real = Context.count

    def again(self: Context, *given: Any, **more: Any) -> int:
        return [real(self, *given, **more) for _ in range(times)][0]

    patch.setattr(Context, "count", again)


def all_terms_list_is_empty(patch: MonkeyPatch) -> None:
    stage(
        patch,
        "derived",
        "all_terms",
        lambda real: lambda query, ctx, **given: Ranking("all_terms", (), ()),
    )


def outright_is_rrf(patch: MonkeyPatch) -> None:
    from workbench.retrieval.fusions import rrf

    stage(patch, "fusion", "verbatim_first", lambda real: lambda lists, **given: rrf()(lists))


def new_candidates_are_the_worst(patch: MonkeyPatch) -> None:
    def worst(real: Any) -> Any:
        def read(query: Query, ctx: Context, terms: Any, **given: Any) -> Candidates:
            found = real(query, ctx, terms, **given)
            keep = slice(-max(1, len(found.points) // 20), None)
            return Candidates(found.points[keep], found.origin[keep], found.cap, found.counts)

        return read

    stage(patch, "policy", "all_terms_then_rarest", worst)


def bm25_order_is_by_id(patch: MonkeyPatch) -> None:
    stage(
        patch,
        "policy",
        "by_bm25",
        lambda real: (
            lambda query, ctx, terms, *, cap: policies.any_term(cap=cap)(query, ctx, terms)
        ),
    )


SPACES = partial(verbatim_key_of, str.casefold)
CASE = partial(verbatim_key_of, lambda text: " ".join(text.split()))
FAULTS = [
    Fault(
        "verbatim list dropped", ("A07", "A09", "A17", "A19", "A24"), no_verbatim, quick=("A17",)
    ),
    Fault(
        "RRF with k = 61", ("A05", "A06", "A07", "A17"), partial(rrf_of, 61), quick=("A06", "A17")
    ),
    Fault("counts ignore the filters", ("A10", "A24"), counts_without_filters),
    Fault("three scrolls for “all terms” in place of one", ("A10",), three_scrolls),
    Fault(
        "the all-terms read removed",
        ("A05", "A07", "A10", "A17", "A18"),
        no_all_terms_read,
        quick=("A17",),
    ),
    Fault("verbatim match made case-sensitive", ("A17", "A19"), CASE, quick=("A17",)),
    Fault("verbatim match made sensitive to white space", ("A17", "A19"), SPACES),
    Fault("`source` not matched by the verbatim list", ("A17",), source_not_matched, quick=True),
    Fault("verbatim list ordered by id", ("A19",), verbatim_by_id),
    Fault("third list for a single term", ("A19",), third_list_of_one_term),
    Fault(
        "the semantic channel ignores the filter",
        ("A24",),
        partial(channel_without_filters, "semantic"),
    ),
    Fault(
        "the lexical channel ignores the filter",
        ("A24",),
        partial(channel_without_filters, "lexical"),
    ),
    Fault("verbatim list of any term", ("A09", "A15"), verbatim_of_any_term),
    Fault("document frequencies too high by one", ("A01",), document_frequencies_off_by_one),
    Fault(
        "the old order reads as the new one",
        ("A02", "A08", "A12", "A17", "A23"),
        old_policy_is_the_new_one,
    ),
    Fault("the old order ignores its cap", ("A02", "A12", "A23"), old_policy_without_a_cap),
    Fault("the semantic channel returns all memories", ("A04", "A07"), semantic_without_a_limit),
    Fault("another idf", ("A03",), idf_without_its_half, quick=True),
    Fault("the old order reads its points five times", ("A10", "A11"), old_policy_reads_five_times),
    Fault("each count is made twice", ("A21",), partial(counts_made_many_times, 2)),
    Fault("the list of all terms is empty", ("A13",), all_terms_list_is_empty),
    Fault("verbatim first, outright, is plain RRF", ("A14",), outright_is_rrf),
    Fault("the new order keeps its worst candidates", ("A16",), new_candidates_are_the_worst),
    Fault("BM25 as candidate order reads by id", ("A20",), bm25_order_is_by_id),
    Fault("the third list is dropped for common phrases", ("A22",), no_verbatim),
]
