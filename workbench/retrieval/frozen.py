"""Frozen lists: one deep retrieval, over which every knob within that depth answers without an engine.

A reading at a larger cap holds each smaller one as its beginning, and so does a list of nearest points; a variant
whose knobs stay within the depth therefore runs over the frozen reading as it would over the engines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from workbench.errors import WorkbenchError
from workbench.registry import Stage
from workbench.retrieval.context import Candidates, Context
from workbench.retrieval.search import Collection, run, scope
from workbench.retrieval.variant import Variant, composed
from workbench.stores.filters.values import Match, Point
from workbench.types import PointId, Query, Ranking, Result

# ---- A context whose every reading comes from frozen lists; what they do not hold it refuse ----

Constants = tuple[tuple[str, ...], float, float]
"""What BM25 scored by: the terms, repeats as they counted, k1 and b."""

# What a smaller reading only cuts; every other parameter of a channel changes what is read or how it is scored.
_CUTS = {"limit": 1, "floor": None}


class BeyondFrozen(WorkbenchError):
    """The knob asks for more than was frozen: another query, filter or policy, or a deeper limit. Retrieve again."""


@dataclass(slots=True)
class FrozenContext(Context):
    """Answers each call of a stage from `frozen`. Raises BeyondFrozen."""

    frozen: Frozen = field(kw_only=True)

    def rank(self, channel: Stage, query: Query) -> Ranking:
        if channel in self.frozen.own:
            ranking = self.frozen.own[channel]
            if ranking.name in self.frozen.deep.evidence:
                self.evidence[ranking.name] = self.frozen.deep.evidence[ranking.name]
            return ranking
        of = self.frozen.variant
        if not any(
            own is not None and _uncut(own) == _uncut(channel) for own in (of.lexical, of.semantic)
        ):
            raise BeyondFrozen(f"the frozen lists hold no list of {channel}", do="Retrieve again")
        return channel(query, self)

    def fact(self, key: Any, compute: Callable[[], Any]) -> Any:
        if key not in self.frozen.facts:
            self.frozen.facts[key] = compute()
        return self.frozen.facts[key]

    def entities(self, ids: Sequence[PointId]) -> dict[PointId, str]:
        return {i: self.frozen.entities[i] for i in ids}

    def candidates(self, policy: Stage, query: Query, terms: Sequence[str]) -> Candidates:
        return self._first("lexical", policy["cap"])

    def nearest(
        self, query: Query, limit: int, model: str = "", stage: str = "semantic"
    ) -> list[tuple[Point, float]]:
        return self._ranked("semantic", limit)

    def engine_bm25(
        self, terms: Sequence[str], query: Query, limit: int
    ) -> list[tuple[Point, float]]:
        return self._ranked("lexical", limit)

    def sparse_bm25(
        self, terms: Sequence[str], query: Query, limit: int
    ) -> list[tuple[Point, float]]:
        return self._ranked("lexical", limit)

    def ranked_sql(
        self, stage: str, note: str, call: Callable[[int], list[tuple[PointId, float]]], limit: int
    ) -> list[tuple[PointId, float]]:
        return [(p.id, s) for p, s in self._ranked("lexical", limit)]

    def more_than(
        self, limit: int, query: Query, terms: Sequence[str] = (), match: Match = "any"
    ) -> bool:
        return len(self._known("lexical").points) > limit

    def read(self, stage: str, ids: Sequence[PointId]) -> list[Point]:
        known = {p.id: p for p in self._known("lexical").points}
        return [known[i] for i in ids]

    def bm25_of(
        self, stage: str, ids: Sequence[PointId], terms: Sequence[str], k1: float, b: float
    ) -> dict[PointId, float]:
        scores = self.frozen.bm25.get((tuple(terms), k1, b))
        if scores is None:
            raise BeyondFrozen(
                f"nothing was scored with k1={k1:g} and b={b:g}", do="Retrieve again"
            )
        return {i: scores[i] for i in ids if i in scores}

    def scroll(
        self, stage: str, terms: Sequence[str], match: Match, query: Query, limit: int
    ) -> list[Point]:
        raise BeyondFrozen("frozen lists ask no engine", do="Retrieve again")

    def count(
        self, stage: str, terms: Sequence[str], match: Match, query: Query, *, exact: bool = True
    ) -> int:
        raise BeyondFrozen("frozen lists ask no engine", do="Retrieve again")

    def _known(self, name: str) -> Candidates:
        return self.frozen.deep.evidence[name]

    def _first(self, name: str, asked: int) -> Candidates:
        known = self._known(name)
        # A reading that its limit did not end holds all there is, so any larger limit reads the same.
        if asked > known.cap and known.full:
            raise BeyondFrozen(
                f"a limit of {asked:,} is beyond the frozen depth of {known.cap:,}",
                do="Retrieve again",
            )
        return known.first(asked)

    def _ranked(self, name: str, limit: int) -> list[tuple[Point, float]]:
        first = self._first(name, limit)
        ranking = next(r for r in self.frozen.deep.lists if r.name == name)
        points = {p.id: p for p in first.points}
        return [(points[i], s) for i, s in zip(ranking.ids[:limit], ranking.scores, strict=False)]


def _uncut(channel: Stage) -> Stage:
    """The channel without its limits: two that are equal read the same in the same order."""
    policy = channel.get("policy")
    cuts = {name: same for name, same in _CUTS.items() if name in dict(channel.params)}
    return channel.replace(
        **cuts, **({"policy": policy.replace(cap=1)} if policy is not None else {})
    )


# ---- Frozen lists: one deep retrieval, over which every knob within that depth answers with ----

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
        query = Query(
            q.text,
            dict(q.filters),
            page.get("limit", q.limit),
            page.get("offset", q.offset),
            page.get("mode", q.mode),
        )
        ctx = FrozenContext(self.collection.stores, scope(query), frozen=self)
        return run(ctx, query, composed(changed), self.collection.inputs, with_chunks=False)

    @cached_property
    def own(self) -> dict[Any, Ranking]:
        """The lists of the variant's own channels, as they were retrieved."""
        channels, _, _ = self.variant.stages("hybrid")
        return {
            stage: ranking
            for stage, ranking in zip(channels, self.deep.lists, strict=False)
            if stage in self.variant.own
        }


def freeze(collection: Collection, query: Query, spec: str | Variant, depth: int = DEPTH) -> Frozen:
    """Retrieve once in hybrid mode, `depth` deep or as deep as the variant's own limits where they are deeper.

    Raises NotComposed for a variant that is searched as a whole.
    """
    chosen = composed(spec)
    hybrid = Query(query.text, dict(query.filters), query.limit, query.offset)
    deep = collection.search(hybrid, deepened(chosen, depth), with_chunks=False)
    read = [
        p.id for n in ("lexical", "semantic") if n in deep.evidence for p in deep.evidence[n].points
    ]
    ids = list(dict.fromkeys([*read, *(i for r in deep.lists for i in r.ids)]))
    catalog, ctx = collection.stores.catalog, Context(collection.stores)
    asked = [
        (tuple(ctx.terms(hybrid, repeats=repeats)), k1, b) for k1, b, repeats in _constants(chosen)
    ]
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

    stages: Sequence[Any] = [
        s for s in (chosen.lexical, *chosen.derived) if s is not None and s.get("k1") is not None
    ]
    return list(
        dict.fromkeys(
            [*((s["k1"], s["b"], s.get("repeats", True)) for s in stages), (K1, B, False)]
        )
    )
