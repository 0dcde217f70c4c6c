"""Each entity once: a ranking without the rows for which a better row of the same entity stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from workbench.retrieval.fusions import Fused
from workbench.types import PointId


def distinct(fused: Fused, entity_of: Mapping[PointId, str]) -> tuple[Fused, dict[PointId, PointId]]:
    """The fused ranking with each entity's best row alone, and for every row left out the one that stands for it."""
    best: dict[str, PointId] = {}
    left_out: dict[PointId, PointId] = {}
    for point_id in fused.ranking.ids:
        stands = best.setdefault(entity_of[point_id], point_id)
        if stands != point_id:
            left_out[point_id] = stands
    pairs = [p for p in zip(fused.ranking.ids, fused.ranking.scores, strict=True) if p[0] not in left_out]
    ranking = replace(fused.ranking, ids=tuple(i for i, _ in pairs), scores=tuple(s for _, s in pairs))
    return Fused(ranking, fused.contributions), left_out
