"""Frozen lists: one deep retrieval, over which every knob within that depth answers without an engine.

A reading at a larger cap holds each smaller one as its beginning, and so does a list of nearest points; a variant
whose knobs stay within the depth therefore runs over the frozen reading as it would over the engines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.errors import WorkbenchError
from workbench.registry import Stage
from workbench.retrieval.context import Candidates, Context
from workbench.retrieval.search import Collection, run, scope
from workbench.retrieval.variant import Variant, variant
from workbench.stores.points import Match, Point
from workbench.types import PointId, Query, Result

DEPTH = 2048
"""Points that a frozen list holds beyond a variant's own limits: eight times the records' 256."""


class BeyondFrozen(WorkbenchError):
    """The knob asks for more than was frozen: another query, filter or policy, or a deeper limit. Retrieve again."""


@dataclass(frozen=True, slots=True)
class Frozen:
    """One query's deep reading under one variant. `deep` is the result at `depth`; `replay` runs the same query
    under changed knobs over it."""

    collection: Collection
    query: Query
    variant: Variant
    depth: int
    deep: Result
    bm25: dict[PointId, float]

    def replay(self, changed: Variant, **page: Any) -> Result:
        """The result of a variant with other knobs, from the frozen lists alone. `page`: limit and offset.

        Raises BeyondFrozen where it needs what was not retrieved.
        """
        query = Query(self.query.text, dict(self.query.filters), page.get("limit", self.query.limit),
                      page.get("offset", self.query.offset), page.get("mode", self.query.mode))  # fmt: skip
        ctx = _FrozenContext(self.collection.stores, scope(query), frozen=self)
        return run(ctx, query, changed, self.deep.inputs, with_chunks=False)


def freeze(collection: Collection, query: Query, spec: str | Variant, depth: int = DEPTH) -> Frozen:
    """Retrieve once, `depth` deep or as deep as the variant's own limits where they are deeper."""
    chosen = variant(spec)
    hybrid = Query(query.text, dict(query.filters), query.limit, query.offset)
    deep = collection.search(hybrid, deepened(chosen, depth), with_chunks=False)
    ids = [p.id for name in ("lexical", "semantic") if name in deep.evidence for p in deep.evidence[name].points]
    terms = deep.evidence["terms"]
    lexical = chosen.lexical
    scores = {}
    if terms and ids and lexical is not None:
        # A list of its own scoring (fields, the engine's) is frozen as it is; derived lists still order by BM25.
        scores = collection.stores.catalog.bm25_of(
            list(dict.fromkeys(ids)), list(terms), **{k: v for k in ("k1", "b") if (v := lexical.get(k)) is not None}
        )
    return Frozen(collection, query, chosen, depth, deep, scores)


def deepened(chosen: Variant, depth: int) -> Variant:
    """The variant with the cap and the limits of its two channels raised to at least `depth`."""
    return chosen.replace(
        lexical=chosen.lexical and _deeper(chosen.lexical, depth),
        semantic=chosen.semantic and _deeper(chosen.semantic, depth),
    )


def _deeper(stage: Stage, depth: int) -> Stage:
    policy = stage.get("policy")
    if policy is not None:
        return stage.replace(policy=policy.replace(cap=max(depth, policy["cap"])))
    limit = stage.get("limit")
    return stage if limit is None else stage.replace(limit=max(depth, limit))


@dataclass(slots=True)
class _FrozenContext(Context):
    """A context whose every reading comes from the frozen lists."""

    frozen: Frozen = field(kw_only=True)

    def candidates(self, policy: Stage, query: Query, terms: Sequence[str]) -> Candidates:
        known: Candidates = self.frozen.deep.evidence["lexical"]
        own = self.frozen.variant.lexical
        same = own is not None and own.get("policy") is not None and own["policy"].replace(cap=policy["cap"]) == policy
        if not same:
            raise BeyondFrozen(f"the frozen lists were not read by {policy}", do="Retrieve again")
        self._within(policy["cap"], known)
        return known.first(policy["cap"])

    def nearest(self, query: Query, limit: int) -> list[tuple[Point, float]]:
        known: Candidates = self.frozen.deep.evidence["semantic"]
        self._within(limit, known)
        return self._ranked("semantic", known, limit)

    def engine_bm25(self, terms: Sequence[str], query: Query, limit: int) -> list[tuple[Point, float]]:
        known: Candidates = self.frozen.deep.evidence["lexical"]
        self._within(limit, known)
        return self._ranked("lexical", known, limit)

    def ranked_sql(
        self, stage: str, note: str, call: Callable[[], list[tuple[PointId, float]]], limit: int
    ) -> list[tuple[PointId, float]]:
        return [(p.id, s) for p, s in self.engine_bm25((), self.frozen.query, limit)]

    def read(self, stage: str, ids: Sequence[PointId]) -> list[Point]:
        known = {p.id: p for p in self.frozen.deep.evidence["lexical"].points}
        return [known[i] for i in ids if i in known]

    def bm25_of(
        self, stage: str, ids: Sequence[PointId], terms: Sequence[str], k1: float, b: float
    ) -> dict[PointId, float]:
        return {i: self.frozen.bm25[i] for i in ids if i in self.frozen.bm25}

    def scroll(self, stage: str, terms: Sequence[str], match: Match, query: Query, limit: int) -> list[Point]:
        raise BeyondFrozen("frozen lists ask no engine", do="Retrieve again")

    def count(self, stage: str, terms: Sequence[str], match: Match, query: Query, *, exact: bool = True) -> int:
        raise BeyondFrozen("frozen lists ask no engine", do="Retrieve again")

    def _within(self, asked: int, known: Candidates) -> None:
        # A reading that its cap did not end holds all there is, so any larger cap reads the same.
        if asked > known.cap and known.full:
            raise BeyondFrozen(f"a limit of {asked} is beyond the frozen depth of {known.cap}", do="Retrieve again")

    def _ranked(self, name: str, known: Candidates, limit: int) -> list[tuple[Point, float]]:
        ranking = next(r for r in self.frozen.deep.lists if r.name == name)
        points = {p.id: p for p in known.points}
        return [(points[i], s) for i, s in list(zip(ranking.ids, ranking.scores, strict=True))[:limit]]
