"""The published variants by name: each a composition of the same stages, its knobs as parameters."""

from __future__ import annotations

from workbench.registry import register
from workbench.retrieval.channels import SEMANTIC_LIMIT, lexical, semantic
from workbench.retrieval.derived import verbatim
from workbench.retrieval.fusions import RRF_K, rrf
from workbench.retrieval.policies import CANDIDATE_CAP, all_terms_then_rarest, any_term
from workbench.retrieval.variant import Variant, known, variant

__all__ = ["adr_0005", "adr_0172", "known", "variant"]


@register("variant")
def adr_0005(
    *, cap: int = CANDIDATE_CAP, semantic_limit: int = SEMANTIC_LIMIT, k: float = RRF_K
) -> Variant:
    """The first 256 points with any term by point id, 256 nearest, two lists, RRF: search before ADR 0172."""
    return Variant(
        "adr_0005", rrf(k=k), lexical(policy=any_term(cap=cap)), semantic(limit=semantic_limit),
        source="ADR 0172, Context",
    )  # fmt: skip


@register("variant")
def adr_0172(
    *, cap: int = CANDIDATE_CAP, semantic_limit: int = SEMANTIC_LIMIT, k: float = RRF_K
) -> Variant:
    """All terms, then the rarest first, to 256; 256 nearest; verbatim matches as a third list; RRF: ADR 0172."""
    return Variant(
        "adr_0172", rrf(k=k), lexical(policy=all_terms_then_rarest(cap=cap)), semantic(limit=semantic_limit),
        derived=(verbatim(),), source="ADR 0172, Decision",
    )  # fmt: skip
