"""The published variants by name: each a composition of the same stages, its knobs as parameters."""

from __future__ import annotations

from workbench.registry import register
from workbench.retrieval.channels import (
    SEMANTIC_LIMIT,
    lexical,
    lexical_bm25,
    lexical_engine_bm25,
    lexical_fields,
    lexical_sparse_bm25,
    nearest_list,
    semantic,
)
from workbench.retrieval.context import Context
from workbench.retrieval.derived import all_terms, verbatim
from workbench.retrieval.fusions import RRF_K, rrf, verbatim_first
from workbench.retrieval.policies import (
    CANDIDATE_CAP,
    all_terms_then_by_id,
    all_terms_then_commonest,
    all_terms_then_rarest,
    any_term,
    by_bm25,
    rarest_first,
)
from workbench.retrieval.variant import Variant, known, variant
from workbench.types import Query, Ranking

# ---- The published variants by name: each a composition of the same stages, its knobs as pa ----

__all__ = ["adr_0005", "adr_0172", "known", "variant"]


@register("variant")
def adr_0005(
    *,
    cap: int = CANDIDATE_CAP,
    semantic_limit: int = SEMANTIC_LIMIT,
    k: float = RRF_K,
    repeats: bool = False,
) -> Variant:
    """The first 256 points with any term by point id, 256 nearest, two lists, RRF: search before ADR 0172."""
    return Variant(
        "adr_0005",
        rrf(k=k),
        lexical(policy=any_term(cap=cap), repeats=repeats),
        semantic(limit=semantic_limit),
        source="ADR 0172, Context",
    )


@register("variant")
def adr_0172(
    *,
    cap: int = CANDIDATE_CAP,
    semantic_limit: int = SEMANTIC_LIMIT,
    k: float = RRF_K,
    repeats: bool = False,
) -> Variant:
    """All terms, then the rarest first, to 256; 256 nearest; verbatim matches as a third list; RRF: ADR 0172.

    `repeats`: a term that the query repeats counts as often in the lexical scores; the record counts distinct terms.
    """
    return Variant(
        "adr_0172",
        rrf(k=k),
        lexical(policy=all_terms_then_rarest(cap=cap), repeats=repeats),
        semantic(limit=semantic_limit),
        derived=(verbatim(repeats=repeats),),
        source="ADR 0172, Decision",
    )


def _amended(
    name: str, source: str, *, policy=None, fusion=None, derived=None, channel=None
) -> Variant:
    """ADR 0172 with one part exchanged: what every alternative of the record is."""
    base = adr_0172.entry.function()
    return base.replace(
        name=name,
        source=source,
        fusion=fusion or base.fusion,
        lexical=channel or (lexical(policy=policy) if policy else base.lexical),
        derived=base.derived if derived is None else derived,
    )


@register("variant")
def two_lists(*, cap: int = CANDIDATE_CAP, k: float = RRF_K) -> Variant:
    """ADR 0172's candidates without the third list: its first rejected alternative."""
    return _amended(
        "two_lists",
        "ADR 0172, Rejected 1",
        policy=all_terms_then_rarest(cap=cap),
        fusion=rrf(k=k),
        derived=(),
    )


@register("variant")
def cap_n(*, cap: int = 1024) -> Variant:
    """ADR 0005 with a larger candidate cap: the second rejected alternative."""
    return adr_0005.entry.function(cap=cap).replace(name="cap_n", source="ADR 0172, Rejected 2")


@register("variant")
def third_list_all_terms() -> Variant:
    """A third list of the points that hold every term, in place of the verbatim one: the third rejected alternative."""
    return _amended("third_list_all_terms", "ADR 0172, Rejected 3", derived=(all_terms(),))


@register("variant")
def verbatim_outright() -> Variant:
    """Verbatim matches first, outright: the fourth rejected alternative."""
    return _amended("verbatim_outright", "ADR 0172, Rejected 4", fusion=verbatim_first())


@register("variant")
def verbatim_weighted(*, weight: float = 0.5) -> Variant:
    """The verbatim list weighted lower: the remedy of the record's third condition."""
    return _amended(
        "verbatim_weighted", "ADR 0172, Invalidation 3", fusion=rrf(weights=(("verbatim", weight),))
    )


@register("variant")
def verbatim_titles() -> Variant:
    """The verbatim list only for queries shaped like titles and identifiers: the other remedy of that condition."""
    return _amended(
        "verbatim_titles", "ADR 0172, Invalidation 3", derived=(verbatim(titles_only=True),)
    )


@register("variant")
def all_terms_by_id() -> Variant:
    """A partial fix: points with every term, then any term by point id."""
    return _amended("all_terms_by_id", "half of ADR 0172", policy=all_terms_then_by_id())


@register("variant")
def all_terms_commonest() -> Variant:
    """A partial fix: points with every term, then the commonest terms first."""
    return _amended("all_terms_commonest", "half of ADR 0172", policy=all_terms_then_commonest())


@register("variant")
def rarest_without_all_terms() -> Variant:
    """A partial fix: the rarest term first, without reading the points with every term."""
    return _amended("rarest_without_all_terms", "half of ADR 0172", policy=rarest_first())


@register("variant")
def counts_approximate() -> Variant:
    """ADR 0172 with approximate counts: a remedy of the record's second condition."""
    return _amended(
        "counts_approximate",
        "ADR 0172, Invalidation 2",
        policy=all_terms_then_rarest(counts="approximate"),
    )


@register("variant")
def counts_rarest(*, counted: int = 3) -> Variant:
    """ADR 0172 counting only the terms that are rarest in the whole collection: the other remedy of that condition."""
    return _amended(
        "counts_rarest", "ADR 0172, Invalidation 2", policy=all_terms_then_rarest(counted=counted)
    )


@register("variant")
def bm25_order() -> Variant:
    """BM25 as candidate order, the verbatim list kept: half of the record's first condition."""
    return _amended(
        "bm25_order", "ADR 0172, Invalidation 1", channel=lexical(policy=by_bm25(), repeats=True)
    )


@register("variant")
def bm25_ranking() -> Variant:
    """BM25 from the catalog in place of the candidate order and the third list: the first condition followed."""
    return _amended("bm25_ranking", "ADR 0172, Invalidation 1", channel=lexical_bm25(), derived=())


@register("variant")
def bm25_engine() -> Variant:
    """Qdrant's own full-text BM25 in place of the candidate order and the third list: the first condition as worded."""
    return _amended(
        "bm25_engine", "ADR 0172, Invalidation 1", channel=lexical_engine_bm25(), derived=()
    )


@register("variant")
def bm25_sparse() -> Variant:
    """BM25 as sparse vectors in Qdrant, of a load with them, in place of the candidate order and the third list."""
    return _amended(
        "bm25_sparse", "ADR 0172, Invalidation 1", channel=lexical_sparse_bm25(), derived=()
    )


@register("variant")
def bm25_fields(*, title_weight: float = 3.0) -> Variant:
    """BM25 over title and content as separate fields, no third list."""
    return _amended(
        "bm25_fields",
        "ADR 0172, Invalidation 1",
        channel=lexical_fields(title_weight=title_weight),
        derived=(),
    )


# ---- A second model beside the first: its list of nearest points, in place of the first one ----

MULTILINGUAL = "multilingual-e5-small-q4"


@register("channel")
def semantic_by(
    query: Query,
    ctx: Context,
    *,
    model: str = MULTILINGUAL,
    name: str = "second",
    limit: int = SEMANTIC_LIMIT,
    floor: float | None = None,
) -> Ranking:
    """The nearest points by exact cosine in the space of the model that is named; ties by point id.

    The collection was loaded with that model, as its first (`--model`) or its second (`--also`). `name` is the list's;
    in the semantic list's place it is "semantic".
    """
    return nearest_list(name, model, query, ctx, limit, floor)


@register("variant")
def adr_0172_multilingual(*, model: str = MULTILINGUAL) -> Variant:
    """ADR 0172 with the semantic list by a multilingual model, of a load with one."""
    semantic = semantic_by(model=model, name="semantic")
    return variant("adr_0172").replace(
        name="adr_0172_multilingual", semantic=semantic, source="ADR 0172, another model"
    )
