"""Frozen lists: one deep retrieval, over which every knob within that depth answers without an engine.

A reading at a larger cap holds each smaller one as its beginning, and so does a list of nearest points; a variant
whose knobs stay within the depth therefore runs over the frozen reading as it would over the engines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from workbench.retrieval.context import Context
from workbench.retrieval.frozen_context import BeyondFrozen, Constants, FrozenContext
from workbench.retrieval.search import Collection, run, scope
from workbench.retrieval.variant import Variant, composed
from workbench.types import PointId, Query, Ranking, Result

__all__ = ["DEPTH", "BeyondFrozen", "Frozen", "deepened", "freeze"]

DEPTH = 2048
"""Points that a frozen list holds beyond a variant's own limits: eight times the records' 256."""


@dataclass(frozen=True)
class Frozen:
    """One query's deep reading under one variant. `deep` is the result at `depth`; `replay` runs the same query
    under changed knobs over it. `bm25` maps (terms, k1, b) to the scores of all that was read, `entities` a point that
    was read to its entity; `facts` remembers what no knob changes."""

    collection: Collection
    query: Query
    variant: Variant
    depth: int
    deep: Result
    bm25: Mapping[Constants, Mapping[PointId, float]]
    entities: Mapping[PointId, str]
    facts: dict[Any, Any] = field(default_factory=dict)

    def replay(self, changed: str | Variant, **page: Any) -> Result:
        """The result of a variant with other knobs, from the frozen lists alone. `page`: limit, offset and mode.

        What no knob of a fusion, list, cap or limit is (another policy, scoring or channel) was not retrieved:
        raises BeyondFrozen, as for a cap or limit beyond the depth.
        """
        q = self.query
        query = Query(q.text, dict(q.filters), page.get("limit", q.limit), page.get("offset", q.offset), page.get("mode", q.mode))
        ctx = FrozenContext(self.collection.stores, scope(query), frozen=self)
        return run(ctx, query, composed(changed), self.collection.inputs, with_chunks=False)

    @cached_property
    def own(self) -> dict[Any, Ranking]:
        """The lists of the variant's own channels, as they were retrieved."""
        channels, _, _ = self.variant.stages("hybrid")
        return {
            stage: ranking for stage, ranking in zip(channels, self.deep.lists, strict=False) if stage in self.variant.own
        }


def freeze(collection: Collection, query: Query, spec: str | Variant, depth: int = DEPTH) -> Frozen:
    """Retrieve once in hybrid mode, `depth` deep or as deep as the variant's own limits where they are deeper.

    Raises NotComposed for a variant that is searched as a whole.
    """
    chosen = composed(spec)
    hybrid = Query(query.text, dict(query.filters), query.limit, query.offset)
    deep = collection.search(hybrid, deepened(chosen, depth), with_chunks=False)
    read = [p.id for n in ("lexical", "semantic") if n in deep.evidence for p in deep.evidence[n].points]
    ids = list(dict.fromkeys([*read, *(i for r in deep.lists for i in r.ids)]))
    catalog, ctx = collection.stores.catalog, Context(collection.stores)
    asked = [(tuple(ctx.terms(hybrid, repeats=repeats)), k1, b) for k1, b, repeats in _constants(chosen)]
    bm25 = {at: catalog.bm25_of(ids, *at) if at[0] and ids else {} for at in asked}
    entities = dict(zip(ids, catalog.entities(ids), strict=True)) if ids else {}
    return Frozen(collection, query, chosen, depth, deep, bm25, entities)


def deepened(chosen: Variant, depth: int) -> Variant:
    """The variant with the cap and the limits of its two channels raised to at least `depth`, and without a floor:
    it reads all that a variant with smaller ones reads, and more."""
    return chosen.replace(
        lexical=chosen.lexical and _deeper(chosen.lexical, depth),
        semantic=chosen.semantic and _deeper(chosen.semantic, depth),
    )


def _deeper(stage: Any, depth: int) -> Any:
    policy, limit = stage.get("policy"), stage.get("limit")
    if policy is not None:
        return stage.replace(policy=policy.replace(cap=max(depth, policy["cap"])))
    changes = {} if limit is None else {"limit": max(depth, limit)}
    return stage.replace(**changes, **({"floor": None} if stage.get("floor") is not None else {}))


def _constants(chosen: Variant) -> list[tuple[float, float, bool]]:
    """Every (k1, b, repeats) by which the variant's stages score, the default's for a derived list that is added later."""
    from workbench.bm25 import K1, B

    stages: Sequence[Any] = [s for s in (chosen.lexical, *chosen.derived) if s is not None and s.get("k1") is not None]
    return list(dict.fromkeys([*((s["k1"], s["b"], s.get("repeats", True)) for s in stages), (K1, B, False)]))
