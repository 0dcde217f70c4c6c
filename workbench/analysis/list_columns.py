"""The frozen lists at any cap, limit and floor, as columns of ranks: a thousand settings in the time of a search.

A list at a smaller setting is its deep self with the rows left out that the setting does not read, so the rank in
it is a count of the rows that stay.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from workbench.analysis.fusion_laws import Columns, Law, Row, beats, law_of
from workbench.retrieval.frozen import Frozen, deepened
from workbench.retrieval.knobs import PRIOR, WEIGHT, Knob
from workbench.retrieval.variant import Variant
from workbench.types import Mode, PointId, Ranking, Result

NEVER = np.iinfo(np.int64).max
"""The position of a row that a reading never comes to."""

# Doubles that differ by less than this, or by this share of the larger, are compared exactly.
_NEAR = 1e-9


@dataclass(frozen=True, slots=True)
class Setting:
    """Where the three cuts stand: rows of the lexical reading, nearest rows, and the least cosine."""

    lexical: int
    semantic: int
    floor: float = -np.inf


class ListColumns:
    """All rows of a variant's frozen lists. `ids` are the rows, `names` the lists in their order."""

    def __init__(self, frozen: Frozen, chosen: Variant, mode: Mode) -> None:
        self.variant, self.mode = chosen, mode
        deep: Result = frozen.replay(deepened(chosen, frozen.depth).replace(distinct=False), mode=mode, limit=1, offset=0)
        self.names = tuple(r.name for r in deep.lists)
        self.ids: list[PointId] = list(dict.fromkeys(i for r in deep.lists for i in r.ids))
        self.index = {i: n for n, i in enumerate(self.ids)}
        self._order = {r.name: np.array([self.index[i] for i in r.ids], dtype=np.int64) for r in deep.lists}
        self._scores = {r.name: self._spread(r) for r in deep.lists}
        channels, derived, self.fusion = chosen.stages(mode)
        self.derived = {stage: r.name for stage, r in zip(derived, deep.lists[len(channels) :], strict=True)}
        self._priors = {r.name for stage, r in zip(derived, deep.lists[len(channels) :], strict=True) if stage.kind == PRIOR}
        own = [r for stage, r in zip(channels, deep.lists, strict=False) if stage in chosen.own]
        self._own = np.isin(np.arange(len(self.ids)), [self.index[i] for r in own for i in r.ids])
        self._last: dict[str, tuple[Any, tuple[np.ndarray, np.ndarray]]] = {}  # of one cut only its own lists change
        self.lexical = self._positions(deep, "lexical")
        self.semantic = self._positions(deep, "semantic")
        self.cosines = np.sort(next((np.array(r.scores) for r in deep.lists if r.name == "semantic"), np.zeros(0)))[::-1]
        self.labels = [frozen.entities[i] for i in self.ids] if chosen.distinct else None

    def setting(self) -> Setting:
        """Where the variant itself has its cuts."""
        found = {"lexical": NEVER, "semantic": NEVER, "floor": -np.inf}
        lexical, semantic = self.variant.lexical, self.variant.semantic
        if lexical is not None:
            policy = lexical.get("policy")
            found["lexical"] = policy["cap"] if policy is not None else lexical.get("limit", NEVER)
        if semantic is not None:
            found["semantic"] = semantic.get("limit", NEVER)
            found["floor"] = -np.inf if semantic.get("floor") is None else semantic["floor"]
        return Setting(**found)

    def deepest(self, side: str) -> Setting:
        """The variant's own setting with the whole frozen reading of one side."""
        return replace(self.setting(), **{side: NEVER - 1})

    def answers(self, knob: Knob) -> bool:
        """Whether the target's rank under a knob is known: a real one has to be in the fusion's law, or the floor."""
        if knob.kind != "real" or knob.name == "floor":
            return True
        law = law_of(self.fusion)
        return law is not None and (WEIGHT if knob.name.startswith(WEIGHT) else knob.name) in law.knobs

    def at(self, setting: Setting) -> Columns:
        """The ranks and scores of all rows in every list at a setting."""
        read = self.lexical <= setting.lexical
        near = self.semantic <= setting.semantic
        if np.isfinite(setting.floor):
            near &= self._scores.get("semantic", np.full(len(self.ids), -np.inf)) >= setting.floor
        both = setting.lexical, setting.semantic, setting.floor
        keep = {"lexical": (read, both[:1]), "semantic": (near, both[1:]), **dict.fromkeys(self.derived.values(), (read | near, both))}
        # A prior values what any channel found, one of one's own too.
        keep |= dict.fromkeys(self._priors, (read | near | self._own, both))
        out = {}
        for name, order in self._order.items():
            kept, key = keep.get(name, (np.ones(len(self.ids), bool), ()))
            if self._last.get(name, (None,))[0] != key:
                ranks = np.zeros(len(self.ids), dtype=np.int64)
                held = kept[order]
                ranks[order] = np.where(held, np.cumsum(held), 0)
                self._last[name] = key, (ranks, self._scores[name])
            out[name] = self._last[name][1]
        return out

    def rank(self, columns: Columns, target: PointId) -> int | None:
        """The target's fused rank over these columns, exact; None where the ranking lacks it."""
        place = self.index.get(target)
        law = self.law(columns)
        if place is None:
            return None
        if law is None:
            return self._by_fusion(columns, target)
        scores = law.column(columns)
        mine = scores[place]
        if mine == -np.inf:
            return None
        near = np.abs(scores - mine) <= _NEAR * max(1.0, abs(mine))
        above = scores > mine
        above[near] = False
        row = self.row(columns, place)
        for other in np.flatnonzero(near):
            above[other] = other != place and beats(law, self.row(columns, other), row)
        if self.labels is None:
            return int(above.sum()) + 1
        entities = {self.labels[n] for n in np.flatnonzero(above)}
        return None if self.labels[place] in entities else len(entities) + 1

    def law(self, columns: Columns) -> Law | None:
        """The fusion's law over these columns, None for a fusion of one's own."""
        held = columns.get("lexical")
        scores = held[1][held[0] > 0] if held is not None else ()
        return law_of(self.fusion, float(np.max(scores)) if len(scores) else 0.0)

    def row(self, columns: Columns, place: int) -> Row:
        ranks = {n: int(r[place]) for n, (r, _) in columns.items() if r[place]}
        return Row(self.ids[place], ranks, {n: float(columns[n][1][place]) for n in ranks})

    def rows(self, columns: Columns) -> list[Row]:
        """Every row that some list holds."""
        held = np.logical_or.reduce([r > 0 for r, _ in columns.values()]) if columns else np.zeros(0, bool)
        return [self.row(columns, n) for n in np.flatnonzero(held)]

    def lists(self, columns: Columns) -> tuple[Ranking, ...]:
        """The columns as the rankings that they are of."""
        out = []
        for name in self.names:
            ranks, scores = columns[name]
            order = self._order[name][ranks[self._order[name]] > 0]
            out.append(Ranking(name, tuple(self.ids[n] for n in order), tuple(float(scores[n]) for n in order)))
        return tuple(out)

    def _by_fusion(self, columns: Columns, target: PointId) -> int | None:
        ids = self.fusion(self.lists(columns)).ranking.ids
        if target not in ids:
            return None
        above = ids[: ids.index(target)]
        if self.labels is None:
            return len(above) + 1
        entities = {self.labels[self.index[i]] for i in above}
        return None if self.labels[self.index[target]] in entities else len(entities) + 1

    def _spread(self, ranking: Ranking) -> np.ndarray:
        out = np.full(len(self.ids), -np.inf)
        out[self._order[ranking.name]] = ranking.scores
        return out

    def _positions(self, deep: Result, name: str) -> np.ndarray:
        """The place of each row in what a channel read, before its list was ordered; NEVER where it was not read."""
        out = np.full(len(self.ids), NEVER, dtype=np.int64)
        if name in self.names:
            for place, point_id in enumerate(deep.evidence[name].ids, 1):
                if point_id in self.index:
                    out[self.index[point_id]] = place
        return out
