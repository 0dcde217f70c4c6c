"""Beyond the frozen depth: a proof by bounds that no larger cap or limit brings a target in, where there is one.

A larger reading leaves every row of the frozen lists in them. Of the list that grows by rank (nearest rows) the
ranks stay; in a list that is ordered anew (candidates by BM25, a derived list) a row only falls. So the target's
score has a supremum and every other row's an infimum; where enough infima lie above it, no reading helps.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from workbench.analysis.fusion_laws import Columns, Law, MaxMin, Row, Single
from workbench.analysis.list_columns import ListColumns
from workbench.bm25 import K1, B
from workbench.registry import Stage
from workbench.retrieval.context import Candidates, Context
from workbench.retrieval.frozen import Frozen
from workbench.retrieval.knobs import PRIOR
from workbench.retrieval.search import scope
from workbench.types import PointId, Query, Ranking


class Bound(NamedTuple):
    """The target's score is at most `supremum`; `above` rows have at least `infimum` each, whatever is read."""

    supremum: float
    infimum: float
    above: int

    def __str__(self) -> str:
        return (f"Beyond it the target's score is at most {self.supremum:.6f}, and {self.above} other rows have at least "
                f"{self.infimum:.6f} whatever is read.")  # fmt: skip


def bound(frozen: Frozen, columns: ListColumns, side: str, target: PointId, first: int) -> Bound | None:
    """The proof that no reading of the `side` list ("lexical" or "semantic") beyond the depth brings the target into
    the first `first`; None where these bounds leave it open. Asks the catalog for the target's own BM25 score, and
    the engine for its payload, where the frozen lists hold neither."""
    held = columns.at(columns.deepest(side))
    law = columns.law(held)
    if law is None or isinstance(law, Single):
        return None
    highest = _at_best(frozen, columns, held, side, target)
    supremum = law.exact(highest) if law.counts(highest) else Fraction(-1)
    most = frozen.collection.stores.catalog.n
    infima: dict[object, Fraction] = {}
    own = columns.labels and frozen.entities.get(target)
    for row in columns.rows(held):
        label = columns.labels[columns.index[row.id]] if columns.labels else row.id
        if row.id == target or (own and label == own) or not law.counts(row):
            continue
        least = _least(law, row, columns, side, most)
        infima[label] = max(infima.get(label, least), least)
    above = sorted((s for s in infima.values() if s > supremum), reverse=True)
    return Bound(float(supremum), float(above[first - 1]), len(above)) if len(above) >= first else None


def _at_best(frozen: Frozen, columns: ListColumns, held: Columns, side: str, target: PointId) -> Row:
    """The target's row with the best ranks that a deeper reading could give it."""
    known = columns.row(held, columns.index[target]) if target in columns.index else Row(target, {}, {})
    ranks, scores = dict(known.ranks), dict(known.scores)
    if side == "semantic" and side not in ranks:
        cosines = held["semantic"][1][held["semantic"][0] > 0]
        ranks[side], scores[side] = len(cosines) + 1, float(cosines.min(initial=1.0))
    elif side not in ranks:
        _join(ranks, scores, held, side, _lexical_score(frozen, columns, target, held))
    for stage, name in columns.derived.items():
        alone = _of_target(frozen, stage, target) if name not in ranks else Ranking(name, (), ())
        if alone.ids and stage.kind == PRIOR:
            ranks[name], scores[name] = 1, alone.scores[0]
        elif alone.ids:
            _join(ranks, scores, held, name, _bm25(frozen, target, stage) or 0.0)
    return Row(target, ranks, scores)


def _join(ranks: dict[str, int], scores: dict[str, float], held: Columns, name: str, score: float | None) -> None:
    """Give the target the rank that its score has in a list; None is a target that never comes into it."""
    if score is not None:
        column, known = held[name]
        ranks[name], scores[name] = int((known[column > 0] > score).sum()) + 1, score


def _lexical_score(frozen: Frozen, columns: ListColumns, target: PointId, held: Columns) -> float | None:
    """The target's exact score in the lexical list; the best there is where the list scores in a way of its own."""
    channel = columns.variant.lexical
    if channel.name in ("lexical", "lexical_bm25"):
        return _bm25(frozen, target, channel)
    return float(held["lexical"][1].max(initial=0.0))


def _bm25(frozen: Frozen, target: PointId, stage: Stage) -> float | None:
    """The target's BM25 score as a stage counts it."""
    stores = frozen.collection.stores
    terms = Context(stores).terms(frozen.query, repeats=stage.get("repeats", stage.kind == "channel"))
    scores = stores.catalog.bm25_of([target], terms, stage.get("k1", K1), stage.get("b", B)) if terms else {}
    return scores.get(target)


def _least(law: Law, row: Row, columns: ListColumns, side: str, most: int) -> Fraction:
    """A score that a row keeps whatever is read: a list that is ordered anew holds it at its last place at worst."""
    anew = {*columns.derived.values(), *(["lexical"] if side == "lexical" else [])}
    ranks = {n: most if n in anew else r for n, r in row.ranks.items()}
    scores = {n: 0.0 if n in anew and isinstance(law, MaxMin) else s for n, s in row.scores.items()}
    return law.exact(Row(row.id, ranks, scores))


def _of_target(frozen: Frozen, stage: Stage, target: PointId) -> Ranking:
    """The derived list of a reading that holds the target alone: empty where the target never comes into it."""
    stores, q = frozen.collection.stores, frozen.query
    query = Query(q.text, dict(q.filters))
    points = tuple(stores.points.retrieve([target]))
    ctx = Context(stores, scope(query))
    ctx.evidence["lexical"] = Candidates(points, ("by id",) * len(points), 1)
    ctx.lists = (Ranking("lexical", (target,), (1.0,)),)
    return stage(query, ctx)
