"""A second model beside the first: its list of nearest points, in place of the first one's or as a list more.

The law: a query is compared only with vectors of the model that made its own; a model that the collection was not
loaded with is refused by name.
"""

from __future__ import annotations

from workbench.registry import register
from workbench.retrieval.channels import SEMANTIC_LIMIT, nearest_list
from workbench.retrieval.context import Context
from workbench.retrieval.variant import Variant, variant
from workbench.types import Query, Ranking

MULTILINGUAL = "multilingual-e5-small-q4"


@register("channel")
def semantic_by(
    query: Query, ctx: Context, *, model: str = MULTILINGUAL, name: str = "second", limit: int = SEMANTIC_LIMIT,
    floor: float | None = None,
) -> Ranking:  # fmt: skip
    """The nearest points by exact cosine in the space of the model that is named; ties by point id.

    The collection was loaded with that model, as its first (`--model`) or its second (`--also`). `name` is the list's;
    in the semantic list's place it is "semantic".
    """
    return nearest_list(name, model, query, ctx, limit, floor)


@register("variant")
def adr_0172_multilingual(*, model: str = MULTILINGUAL) -> Variant:
    """ADR 0172 with the semantic list by a multilingual model, of a load with one."""
    semantic = semantic_by(model=model, name="semantic")
    return variant("adr_0172").replace(name="adr_0172_multilingual", semantic=semantic, source="ADR 0172, another model")
