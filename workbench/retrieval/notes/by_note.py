"""The ranking of both legs told again in Python: lists by note, and the statement's fusion, floors and tie rule over them.

It gives the statement's ranking to the last bit, so what it says of a row's parts is what the statement did.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workbench.registry import Stage
from workbench.retrieval.fusions import Fused
from workbench.retrieval.notes.request import TIE_RULE, Floors, Key
from workbench.types import PointId, Ranking, point_order

AS_FOUND = "score descending, then as the legs found them, full text first"


def by_note(
    legs: Sequence[Ranking], chunks: Mapping[PointId, tuple[str, str, int]]
) -> tuple[tuple[Ranking, ...], dict[Key, PointId]]:
    """Both legs with one row a note, at the share of its best chunk, and the chunk that stands for each note: the one
    of the larger share in either leg, then in point-id order. A share is a full-text score over the best one, or a
    cosine, at least 0. `chunks` are the keys (type, entity, chunk index) of the legs' chunks."""
    lexical, semantic = legs
    top = lexical.scores[0] if lexical.scores else 1.0
    shares = (
        {i: score / top for i, score in zip(lexical.ids, lexical.scores, strict=True)},
        {i: max(score, 0.0) for i, score in zip(semantic.ids, semantic.scores, strict=True)},
    )
    best_first = sorted(dict.fromkeys((*lexical.ids, *semantic.ids)), key=lambda i: (-max(s.get(i, 0.0) for s in shares), point_order(i)))
    stands: dict[Key, PointId] = {}
    for point_id in best_first:
        stands.setdefault(chunks[point_id][:2], point_id)
    lists = []
    for leg, share in zip(legs, shares, strict=True):
        rows: dict[Key, float] = {}
        for point_id, value in share.items():
            row = chunks[point_id][:2]
            rows[row] = max(value, rows.get(row, value))
        order = sorted(rows, key=lambda row: (-rows[row], row))
        lists.append(Ranking(leg.name, tuple(stands[r] for r in order), tuple(rows[r] for r in order), TIE_RULE))
    return tuple(lists), stands


@dataclass(frozen=True, slots=True)
class NoteFusion:
    """A fusion over lists by note, called as any fusion is. `rows` are the notes by the point that stands for each, by
    which ties are broken; without them ties stay as the lists found the rows."""

    stage: Stage
    floors: Floors = Floors()
    rows: Mapping[PointId, Key] | None = None

    def __call__(self, lists: Sequence[Ranking]) -> Fused:
        lexical, semantic = lists
        fused = self.stage(lists)
        scores = dict(zip(fused.ranking.ids, fused.ranking.scores, strict=True))
        supported, cosines = set(lexical.ids), dict(zip(semantic.ids, semantic.scores, strict=True))
        floor = self.floors.of_unsupported(alone=not supported)
        found = dict.fromkeys((*lexical.ids, *semantic.ids))
        kept = [i for i in found if i in supported or floor is None or cosines[i] >= floor]
        rows = self.rows
        if rows is None:
            kept.sort(key=lambda i: -scores[i])
        else:
            kept.sort(key=lambda i: (-scores[i], rows[i]))
        ranking = Ranking(fused.ranking.name, tuple(kept), tuple(scores[i] for i in kept), AS_FOUND if rows is None else TIE_RULE)
        return Fused(ranking, fused.contributions)
