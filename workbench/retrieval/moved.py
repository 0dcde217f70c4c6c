"""One row put at another place of a ranking, for questions of the form "what if it stood there"."""

from __future__ import annotations

from workbench.types import PointId, Ranking


def moved(ranking: Ranking, point_id: PointId, rank: int) -> Ranking:
    """The ranking with the point at `rank` (1-based), the others in their order; it takes the score of the row
    that it displaces, or of the last one at the end. Where it stands already, nothing changes."""
    if ranking.ids[rank - 1 : rank] == (point_id,):
        return ranking
    pairs = [(i, s) for i, s in zip(ranking.ids, ranking.scores, strict=True) if i != point_id]
    place = min(rank - 1, len(pairs))
    score = pairs[min(place, len(pairs) - 1)][1] if pairs else 1.0
    pairs.insert(place, (point_id, score))
    return Ranking(ranking.name, tuple(i for i, _ in pairs), tuple(s for _, s in pairs), ranking.tie_rule)
