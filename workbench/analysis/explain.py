"""Why does it stand there, or why not: read from a result's trace; nothing is searched again but for true ranks.

A present target is explained by its lists, the rows above it and what would pass the row above; an absent one by
the first limit or rule that removed it, one of `REASONS`, with the number that would have let it in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.analysis.evidence import Evidence, evidence_of
from workbench.errors import WorkbenchError
from workbench.retrieval.context import Context
from workbench.retrieval.search import Collection, scope
from workbench.retrieval.variant import Variant
from workbench.stores.catalog_errors import UnknownPoint
from workbench.types import PointId, Result

REASONS = {
    "not in the collection": "no point of the collection has this id",
    "filtered out": "a filter of the query does not admit it",
    "holds no term": "none of the query's terms stands in its text, so the lexical channel cannot read it",
    "candidate cap": "it holds terms, but the candidate policy's reading ended before it",
    "below the semantic limit": "it is further from the query than the last row that the semantic channel holds",
    "below a floor": "a score floor of the variant refused it",
    "beyond the page": "it is ranked, after the last row of the page",
    "deduplicated": "another chunk of its entity stands for it",
    "not yet indexed": "it is known to the catalog and waits for an engine to index it",
}
"""The closed list of reasons for an absence."""


class NotExplained(WorkbenchError):
    """The result cannot be explained: it was made over another state of the collection."""


@dataclass(frozen=True, slots=True)
class Absence:
    """One reason that kept the target out of a list or page. `needed` is the number that would have let it in, in
    the unit that `knob` names; `exact` marks a rank that one further exact query found."""

    reason: str
    where: str
    detail: str
    knob: str = ""
    needed: float | None = None
    exact: bool = False


@dataclass(frozen=True, slots=True)
class Above:
    """A row above the target: by which lists it gains on the target, and by how much."""

    rank: int
    id: PointId
    score: float
    gains: Mapping[str, float]

    @property
    def by(self) -> str:
        """The list that gains it most; the alphabetically first of equals."""
        return max(sorted(self.gains), key=lambda n: self.gains[n])


@dataclass(frozen=True, slots=True)
class Explanation:
    """One target under one result. `rank` is its fused rank, None where no list holds it; `on_page` whether it
    is shown. `absences` are empty for a row on the page; the first is the one that removed it."""

    target: PointId
    variant: str
    rank: int | None
    score: float | None
    on_page: bool
    ranks: Mapping[str, int] = field(default_factory=dict)
    scores: Mapping[str, float] = field(default_factory=dict)
    contributions: Mapping[str, float] = field(default_factory=dict)
    evidence: Evidence | None = None
    above: tuple[Above, ...] = ()
    to_pass: Mapping[str, int | None] = field(default_factory=dict)
    absences: tuple[Absence, ...] = ()


def explain(collection: Collection, result: Result, target: PointId) -> Explanation:
    """Explain a target's place in a result, or its absence. Raises NotExplained for another collection's result."""
    if result.inputs["content"] != collection.inputs["content"]:
        raise NotExplained("the result was made over another content of the collection", do="Search again, then explain")
    try:
        chunk = collection.stores.catalog.chunks([target])[0]
    except UnknownPoint:
        absent = Absence("not in the collection", "collection", f"no point has the id {target!r}")
        return Explanation(target, result.variant, None, None, False, absences=(absent,))
    rank = result.rank_of(target)
    common = {
        "ranks": {r.name: p for r in result.lists if (p := r.ranks().get(target))},
        "evidence": evidence_of(collection, result, chunk),
    }
    if rank is None:
        return Explanation(target, result.variant, None, None, False, absences=_absences(collection, result, target), **common)
    fused = result.evidence["fused"]
    score = result.fused.scores[rank - 1]
    on_page = result.query.offset < rank <= result.query.offset + result.query.limit
    return Explanation(
        target, result.variant, rank, score, on_page,
        scores={r.name: dict(zip(r.ids, r.scores, strict=True))[target] for r in result.lists if target in r.ranks()},
        contributions=fused.contributions[target], above=_above(result, target, rank), to_pass=_to_pass(result, target, rank),
        absences=() if on_page else (_beyond(result, rank),), **common,
    )  # fmt: skip


def _above(result: Result, target: PointId, rank: int) -> tuple[Above, ...]:
    parts = result.evidence["fused"].contributions
    mine = parts[target]
    return tuple(
        Above(place, i, result.fused.scores[place - 1],
              {n: parts[i].get(n, 0.0) - mine.get(n, 0.0) for n in sorted({*parts[i], *mine})})
        for place, i in enumerate(result.fused.ids[: rank - 1], 1)
    )  # fmt: skip


def _to_pass(result: Result, target: PointId, rank: int) -> dict[str, int | None]:
    """By list, the worst rank in it with which the target would pass the row above, its other lists unchanged.

    Found by running the fusion on the changed list, from the back of the list to its front; None where not even
    the first place does. Empty for the first row.
    """
    if rank == 1:
        return {}
    variant: Variant = result.evidence["variant"]
    fusion = variant.stages(result.query.mode)[2]
    rival = result.fused.ids[rank - 2]
    return {r.name: _worst_rank(fusion, result.lists, r.name, target, rival) for r in result.lists}


def _worst_rank(fusion: Any, lists: tuple[Any, ...], name: str, target: PointId, rival: PointId) -> int | None:
    from workbench.retrieval.moved import moved

    own = next(r for r in lists if r.name == name)
    low, high, found = 1, (own.ranks().get(target) or len(own) + 1), None
    while low <= high:  # a better place never hurts, so the passing places are a beginning of the list
        middle = (low + high) // 2
        order = fusion(tuple(moved(r, target, middle) if r.name == name else r for r in lists)).ranking.ranks()
        if order[target] < order.get(rival, len(order) + 1):
            found, low = middle, middle + 1
        else:
            high = middle - 1
    return found


def _beyond(result: Result, rank: int) -> Absence:
    page = f"rows {result.query.offset + 1} to {result.query.offset + result.query.limit}"
    return Absence("beyond the page", "page", f"it is ranked {rank}; the page shows {page}", "limit", rank - result.query.offset)


def _absences(collection: Collection, result: Result, target: PointId) -> tuple[Absence, ...]:
    """Why no list holds a target of the collection: its filters first, else each channel's own reason."""
    for name, value in result.query.filters.items():
        if not collection.stores.catalog.admits(target, {name: value}):
            return (Absence("filtered out", "filters", f"the filter {name}={value!r} does not admit it", name),)
    variant: Variant = result.evidence["variant"]
    channels, _, _ = variant.stages(result.query.mode)
    found = [
        _lexical(collection, result, variant, target) if channel == variant.lexical
        else _semantic(collection, result, channel, target) if channel == variant.semantic
        else Absence("below a floor", channel.name, "the channel did not return it")
        for channel in channels
    ]  # fmt: skip
    return tuple(found)


def _lexical(collection: Collection, result: Result, variant: Variant, target: PointId) -> Absence:
    terms = list(result.evidence["terms"])
    scored = collection.stores.catalog.bm25_of([target], terms) if terms else {}
    if not scored:
        what = "its text holds none of " + ", ".join(terms) if terms else "the query has no terms after the stop list"
        return Absence("holds no term", "lexical", what)
    stage = variant.lexical
    policy = stage.get("policy")
    if policy is None:
        place = collection.stores.catalog.bm25_rank(terms, target, result.query.filters)
        return Absence("candidate cap", "lexical", f"it is {place.rank:,} by BM25 (score {place.score:.3f}); the channel "
                       f"holds {stage['limit']}", "limit", place.rank, exact=True)  # fmt: skip
    full = policy.replace(cap=collection.stores.catalog.n)
    ctx = Context(collection.stores, scope(result.query), fields=())
    position = full(result.query, ctx, terms).ids.index(target) + 1
    return Absence(
        "candidate cap", "lexical",
        f"it is number {position:,} in the order that {policy.name} reads; the cap ended the reading at {policy['cap']}",
        "cap", position, exact=True,
    )  # fmt: skip


def _semantic(collection: Collection, result: Result, channel: Any, target: PointId) -> Absence:
    ctx = Context(collection.stores, scope(result.query))
    vector = ctx.vector(result.query)
    if vector is None:
        return Absence("below the semantic limit", "semantic", "the query is empty: nothing was embedded")
    place = collection.stores.catalog.true_rank(vector, target, result.query.filters)
    last = next(r for r in result.lists if r.name == "semantic").scores
    cut = f"; the last row held has {last[-1]:.4f}" if last else ""
    return Absence(
        "below the semantic limit", "semantic", f"its true rank is {place.rank:,} (cosine {place.score:.4f}){cut}",
        "semantic limit", place.rank, exact=True,
    )  # fmt: skip
