"""Why does it stand there, or why not: read from a result's trace; nothing is searched again but for true ranks.

A present target is explained by its lists, the rows above it and what would pass the row above; an absent one by
the first limit or rule that removed it, one of `REASONS`, with the number that would have let it in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.analysis.explain.absences import (
    NOT_THERE,
    Absence,
    absences,
    channel_absences,
    leg_absences,
    notes_absences,
    off_the_page,
)
from workbench.analysis.explain.evidence import Evidence, evidence_of
from workbench.errors import WorkbenchError
from workbench.retrieval.search import Collection
from workbench.retrieval.variant import Variant
from workbench.stores.catalog.errors import UnknownPoint
from workbench.types import PointId, Result


class NotExplained(WorkbenchError):
    """The result cannot be explained: it was made over another state of the collection."""


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
    """One target under one result. `rank` is its fused rank, None where the fused ranking lacks it; `on_page`
    whether it is shown. `ranks`, `scores` and `contributions` are by list; the contributions' `math.fsum` is the
    score. `above` are the rows above it, first row first; `to_pass` is by list the worst rank there with which it
    would pass the row above, None where no rank does. `absences` are empty for a row on the page; the first is the
    one that removed it. `missing` says of a ranked row why a channel's list lacks it."""

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
    missing: tuple[Absence, ...] = ()


def explain(collection: Collection, result: Result, target: PointId) -> Explanation:
    """Explain a target's place in a result, or its absence. Raises NotExplained for another collection's result."""
    if result.inputs["content"] != collection.inputs["content"]:
        raise NotExplained(
            "the result was made over another content of the collection",
            do="Search again, then explain",
        )
    try:
        chunk = collection.stores.catalog.chunks([target])[0]
    except UnknownPoint:
        absent = Absence(NOT_THERE, "collection", f"no point has the id {target!r}")
        return Explanation(target, result.variant, None, None, False, absences=(absent,))
    whole = not isinstance(result.evidence["variant"], Variant)
    removed_by, lacks = (notes_absences, leg_absences) if whole else (absences, channel_absences)
    rank = result.rank_of(target)
    common = {
        "ranks": {r.name: p for r in result.lists if (p := r.ranks().get(target))},
        "evidence": evidence_of(collection, result, chunk),
    }
    if rank is None:
        return Explanation(
            target,
            result.variant,
            None,
            None,
            False,
            absences=removed_by(collection, result, target),
            **common,
        )
    fused = result.evidence["fused"]
    score = result.fused.scores[rank - 1]
    on_page = result.query.offset < rank <= result.query.offset + result.query.limit
    return Explanation(
        target,
        result.variant,
        rank,
        score,
        on_page,
        scores={
            r.name: dict(zip(r.ids, r.scores, strict=True))[target]
            for r in result.lists
            if target in r.ranks()
        },
        contributions=fused.contributions[target],
        above=_above(result, target, rank),
        to_pass=_to_pass(result, target, rank),
        absences=() if on_page else (off_the_page(result, rank),),
        missing=lacks(collection, result, target),
        **common,
    )


def _above(result: Result, target: PointId, rank: int) -> tuple[Above, ...]:
    parts = result.evidence["fused"].contributions
    mine = parts[target]
    return tuple(
        Above(
            place,
            i,
            result.fused.scores[place - 1],
            {n: parts[i].get(n, 0.0) - mine.get(n, 0.0) for n in sorted({*parts[i], *mine})},
        )
        for place, i in enumerate(result.fused.ids[: rank - 1], 1)
    )


def _to_pass(result: Result, target: PointId, rank: int) -> dict[str, int | None]:
    """By list, the worst rank in it with which the target would pass the row above, its other lists unchanged.

    Found by running the fusion on the changed list, from the back of the list to its front; None where not even
    the first place does. Empty for the first row.
    """
    if rank == 1:
        return {}
    fusion, rival = result.evidence["fusion"], result.fused.ids[rank - 2]
    return {r.name: _worst_rank(fusion, result.lists, r.name, target, rival) for r in result.lists}


def _worst_rank(
    fusion: Any, lists: tuple[Any, ...], name: str, target: PointId, rival: PointId
) -> int | None:
    from workbench.retrieval.fusions import moved

    own = next(r for r in lists if r.name == name)
    low, high, found = 1, (own.ranks().get(target) or len(own) + 1), None
    while (
        low <= high
    ):  # a better place never hurts, so the passing places are a beginning of the list
        middle = (low + high) // 2
        order = fusion(
            tuple(moved(r, target, middle) if r.name == name else r for r in lists)
        ).ranking.ranks()
        if order[target] < order.get(rival, len(order) + 1):
            found, low = middle, middle + 1
        else:
            high = middle - 1
    return found
