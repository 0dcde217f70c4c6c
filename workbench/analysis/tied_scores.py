"""A fused ranking's scores as falling numbers that are equal exactly where the exact sums are.

A fusion orders by exact sums and reports each as a double, so that two equal sums of different parts may differ in
the last digit, in either direction. What asks for ties reads them here.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, nextafter

from workbench.analysis.fusion_laws import Row, Single, law_of
from workbench.registry import Stage
from workbench.types import Ranking

# Sums of fewer than a hundred parts that differ by less than this, or by this share, may be equal.
_NEAR = 1e-12


def falling_scores(fusion: Stage, lists: Sequence[Ranking], fused: Ranking) -> tuple[float, ...]:
    """The scores of a fused ranking, never rising; a tie is a run of equal ones. Of a fusion without a law, as of a
    single list, equal doubles are ties."""
    lexical = next((r.scores for r in lists if r.name == "lexical"), ())
    law = law_of(fusion, max(lexical, default=0.0))
    ranks, scores = {r.name: r.ranks() for r in lists}, {r.name: dict(zip(r.ids, r.scores, strict=True)) for r in lists}

    def exact(place: int) -> object:
        if law is None or isinstance(law, Single):
            return fused.scores[place]
        i = fused.ids[place]
        return law.exact(Row(i, {n: of[i] for n, of in ranks.items() if i in of}, {n: of[i] for n, of in scores.items() if i in of}))

    out: list[float] = []
    for place, score in enumerate(fused.scores):
        if not out or out[-1] - score > _NEAR * max(1.0, abs(out[-1])):
            out.append(score)
        elif exact(place - 1) == exact(place):
            out.append(out[-1])
        else:
            out.append(min(score, nextafter(out[-1], -inf)))
    return tuple(out)
