"""A context whose every reading comes from frozen lists; what they do not hold it refuses by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from workbench.errors import WorkbenchError
from workbench.registry import Stage
from workbench.retrieval.context import Candidates, Context
from workbench.stores.points import Match, Point
from workbench.types import PointId, Query, Ranking

if TYPE_CHECKING:
    from workbench.retrieval.frozen import Frozen

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
        if not any(own is not None and _uncut(own) == _uncut(channel) for own in (of.lexical, of.semantic)):
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

    def engine_bm25(self, terms: Sequence[str], query: Query, limit: int) -> list[tuple[Point, float]]:
        return self._ranked("lexical", limit)

    def sparse_bm25(self, terms: Sequence[str], query: Query, limit: int) -> list[tuple[Point, float]]:
        return self._ranked("lexical", limit)

    def ranked_sql(
        self, stage: str, note: str, call: Callable[[int], list[tuple[PointId, float]]], limit: int
    ) -> list[tuple[PointId, float]]:
        return [(p.id, s) for p, s in self._ranked("lexical", limit)]

    def more_than(self, limit: int, query: Query, terms: Sequence[str] = (), match: Match = "any") -> bool:
        return len(self._known("lexical").points) > limit

    def read(self, stage: str, ids: Sequence[PointId]) -> list[Point]:
        known = {p.id: p for p in self._known("lexical").points}
        return [known[i] for i in ids]

    def bm25_of(
        self, stage: str, ids: Sequence[PointId], terms: Sequence[str], k1: float, b: float
    ) -> dict[PointId, float]:
        scores = self.frozen.bm25.get((tuple(terms), k1, b))
        if scores is None:
            raise BeyondFrozen(f"nothing was scored with k1={k1:g} and b={b:g}", do="Retrieve again")
        return {i: scores[i] for i in ids if i in scores}

    def scroll(self, stage: str, terms: Sequence[str], match: Match, query: Query, limit: int) -> list[Point]:
        raise BeyondFrozen("frozen lists ask no engine", do="Retrieve again")

    def count(self, stage: str, terms: Sequence[str], match: Match, query: Query, *, exact: bool = True) -> int:
        raise BeyondFrozen("frozen lists ask no engine", do="Retrieve again")

    def _known(self, name: str) -> Candidates:
        return self.frozen.deep.evidence[name]

    def _first(self, name: str, asked: int) -> Candidates:
        known = self._known(name)
        # A reading that its limit did not end holds all there is, so any larger limit reads the same.
        if asked > known.cap and known.full:
            raise BeyondFrozen(f"a limit of {asked:,} is beyond the frozen depth of {known.cap:,}", do="Retrieve again")
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
    return channel.replace(**cuts, **({"policy": policy.replace(cap=1)} if policy is not None else {}))
