"""The rows of a page: what every list says of each, and what each list added to its score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from workbench.retrieval.fusions import Fused
from workbench.types import Chunk, Hit, PointId, Query, Ranking


def hits(
    query: Query, page: Sequence[PointId], fused: Fused, lists: Sequence[Ranking], chunks: Mapping[PointId, Chunk]
) -> tuple[Hit, ...]:
    """The hits of a page that is cut from the fused ranking at the query's offset; `chunks` are what is shown of them."""
    ranks = {r.name: r.ranks() for r in lists}
    scores = {r.name: dict(zip(r.ids, r.scores, strict=True)) for r in lists}
    totals = fused.ranking.scores[query.offset :]
    return tuple(
        Hit(
            rank, point_id, total,
            tuple(n for n in ("lexical", "semantic") if point_id in ranks.get(n, {})),
            {n: r[point_id] for n, r in ranks.items() if point_id in r},
            {n: s[point_id] for n, s in scores.items() if point_id in s},
            fused.contributions[point_id], chunks.get(point_id),
        )
        for rank, (point_id, total) in enumerate(zip(page, totals, strict=False), query.offset + 1)
    )  # fmt: skip
