"""What an investigation computes, as plain functions and value objects: no widget is needed to ask it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workbench.analysis.evaluate.rankings import RankComparison, compare_results
from workbench.analysis.explain.counterfactual import Counterfactual, counterfactuals
from workbench.analysis.explain.evidence import Evidence, evidence_of
from workbench.analysis.explain.explain import Explanation, explain
from workbench.reporting.widgets.session import Session
from workbench.retrieval.frozen import BeyondFrozen, Frozen, freeze
from workbench.retrieval.search import Collection, open_collection
from workbench.stores.hints import refuse_hopeless
from workbench.types import Chunk, PointId, Result

BELOW = 4
"""Rows shown below the first page: what stands at its door."""

KEPT = 8
"""Frozen readings that a bench keeps; the oldest goes first."""


@dataclass(frozen=True)
class RowView:
    """One row as it is shown. `was` is its rank in the look before, None where it was not ranked."""

    rank: int | None
    chunk: Chunk
    score: float | None
    ranks: Mapping[str, int]
    contributions: Mapping[str, float]
    evidence: Evidence
    was: int | None

    @property
    def key(self) -> str:
        """The point's id as text, as a browser can hold it whole."""
        return str(self.chunk.id)


@dataclass(frozen=True)
class View:
    """One look at a session: its result and the rows to show, the first page and a few below; `pinned` is the pinned
    document's row. `again` says why lists were retrieved anew, "" where the frozen ones answered; `seconds` is what
    the look took. `before` is the look before, of the same query."""

    session: Session
    result: Result
    lists: tuple[str, ...]
    rows: tuple[RowView, ...]
    pinned: RowView | None
    again: str
    seconds: float
    frozen: Frozen
    comparison: RankComparison | None = None
    before: View | None = None


class Bench:
    """An opened collection with the readings that were frozen of it."""

    def __init__(self, collection: str | Collection) -> None:
        self.collection = open_collection(collection) if isinstance(collection, str) else collection
        self._frozen: dict[Any, Frozen] = {}
        self._chunks: dict[PointId, Chunk] = {}

    def close(self) -> None:
        self.collection.close()

    def answered(
        self, session: Session, previous: Session | None = None
    ) -> tuple[Frozen, Result, str]:
        """The reading that a session stands on, its result and, where lists were retrieved now, why."""
        chosen = session.chosen
        key = (session.query, _hashable(session.filters), _reading(chosen), session.depth)
        found, reason = self._frozen.get(key), _reason(session, previous)
        if found is not None:
            try:
                return found, self._replayed(found, session), ""
            except BeyondFrozen as beyond:
                reason = beyond.what
        made = freeze(self.collection, session.asked, chosen, session.depth)
        self._frozen.pop(key, None)
        self._frozen[key] = made
        while len(self._frozen) > KEPT:
            self._frozen.pop(next(iter(self._frozen)))
        return made, self._replayed(made, session), reason

    def look(self, session: Session, before: View | None = None) -> View:
        """Answer a session from frozen lists, or retrieve where they do not hold what it asks."""
        start = time.perf_counter()
        frozen, result, again = self.answered(session, before.session if before else None)
        if not result.fused.ids:
            refuse_hopeless(self.collection.stores.catalog, session.filters)
        same = (
            before
            if before
            and (before.session.query, before.session.filters) == (session.query, session.filters)
            else None
        )
        if same and session.replace(pinned=same.session.pinned) == same.session:
            same = same.before  # to pin turns nothing: what was turned last is still what changed
        was = same.result.fused.ranks() if same else {}
        shown = result.fused.ids[: session.first + BELOW]
        wanted = [*shown, *([session.pinned] if session.pinned is not None else [])]
        self._fetch(wanted)
        rows = tuple(self._row(frozen, result, i, was) for i in shown)
        pinned = None if session.pinned is None else self._row(frozen, result, session.pinned, was)
        comparison = self._compared(session, result) if session.other else None
        lists = tuple(r.name for r in result.lists)
        return View(
            session,
            result,
            lists,
            rows,
            pinned,
            again,
            time.perf_counter() - start,
            frozen,
            comparison,
            same and replace(same, before=None),
        )

    def explained(self, view: View, target: PointId) -> Explanation:
        """Why a row stands there or is absent; a true rank beyond a limit is one exact query."""
        return explain(self.collection, view.result, target)

    def answers(self, view: View, target: PointId) -> tuple[Counterfactual, ...]:
        """What each knob would have to be for the target to be in the first page."""
        session = view.session
        return counterfactuals(
            view.frozen, target, session.chosen, first=session.first, mode=session.mode
        )

    def titles(self, ids: Sequence[PointId]) -> dict[PointId, str]:
        """The titles of points, an entity's id for one without."""
        self._fetch(ids)
        return {i: self._chunks[i].title or self._chunks[i].entity_id for i in ids}

    def chunk(self, point_id: PointId) -> Chunk:
        self._fetch([point_id])
        return self._chunks[point_id]

    def _fetch(self, ids: Sequence[PointId]) -> None:
        missing = [i for i in dict.fromkeys(ids) if i not in self._chunks]
        if missing:
            self._chunks.update({c.id: c for c in self.collection.stores.catalog.chunks(missing)})

    def _row(
        self, frozen: Frozen, result: Result, point_id: PointId, was: Mapping[PointId, int]
    ) -> RowView:
        chunk, rank = self._chunks[point_id], result.rank_of(point_id)
        key = ("evidence", point_id)
        if key not in frozen.facts:
            frozen.facts[key] = evidence_of(self.collection, result, chunk)
        fused = result.evidence["fused"]
        return RowView(
            rank,
            chunk,
            result.fused.scores[rank - 1] if rank else None,
            {r.name: p for r in result.lists if (p := r.ranks().get(point_id))},
            fused.contributions.get(point_id, {}) if rank else {},
            frozen.facts[key],
            was.get(point_id),
        )

    def _replayed(self, frozen: Frozen, session: Session) -> Result:
        return frozen.replay(session.chosen, mode=session.mode, limit=session.first, offset=0)

    def _compared(self, session: Session, result: Result) -> RankComparison:
        _, right, _ = self.answered(session.replace(variant=session.other, knobs={}, other=""))
        found = compare_results(result, right, first=session.first)
        self._fetch([r.id for r in found.rows])
        return found


def _reading(chosen: Any) -> tuple[Any, ...]:
    """What of a variant decides what is read: the rest are knobs of frozen lists."""
    lexical, semantic = chosen.lexical, chosen.semantic
    if lexical is not None:
        policy = lexical.get("policy")
        lexical = (
            lexical.replace(policy=policy.replace(cap=1))
            if policy
            else lexical.replace(**({"limit": 1} if lexical.get("limit") else {}))
        )
    if semantic is not None:
        semantic = semantic.replace(
            **{n: v for n, v in (("limit", 1), ("floor", None)) if n in dict(semantic.params)}
        )
    return lexical, semantic, chosen.own


def _reason(session: Session, previous: Session | None) -> str:
    if previous is None:
        return "the first look"
    for name, said in (
        ("query", "a new query"),
        ("filters", "another filter"),
        ("depth", "another depth"),
        ("variant", "another variant"),
    ):
        if getattr(session, name) != getattr(previous, name):
            return said
    return "another reading"


def _hashable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return tuple(sorted((k, _hashable(v)) for k, v in value.items()))
    return tuple(map(_hashable, value)) if isinstance(value, list | tuple) else value
