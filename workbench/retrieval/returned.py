"""What a channel of one's own returned, checked: ids that the collection has, each once, finite scores, the filters.

What breaks a rule is refused by name, never mended; only rows that the query's filters reject are left out, counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

from workbench.errors import WorkbenchError
from workbench.retrieval.context import Candidates, Context
from workbench.stores.catalog_errors import UnknownPoint
from workbench.stores.points import Point
from workbench.types import PointId, Query, Ranking

POINTS, DOCUMENTS = "points", "documents"
KINDS = (POINTS, DOCUMENTS)
SHAPE = "Return (id, score) pairs, a mapping of ids to scores, a Ranking, or ids alone, best first"


class BadAnswer(WorkbenchError):
    """A channel of one's own returned what is no ranking of this collection; says which entry and why."""


def scored(name: str, found: Any) -> dict[Any, float]:
    """What was returned as id to score; ids alone get n, n - 1, …, 1. Raises BadAnswer."""
    if isinstance(found, Ranking):
        found = list(zip(found.ids, found.scores, strict=True))
    if isinstance(found, Mapping):
        found = list(found.items())
    if found is None or isinstance(found, str | bytes) or not isinstance(found, Iterable):
        raise BadAnswer(f"channel {name!r} returned {_short(found)}, which is no ranking", do=SHAPE)
    rows = list(found)
    pairs = [r for r in rows if isinstance(r, Sequence) and not isinstance(r, str) and len(r) == 2]
    if not pairs:
        pairs = [(point_id, float(len(rows) - place)) for place, point_id in enumerate(rows)]
    elif len(pairs) < len(rows):
        raise BadAnswer(f"channel {name!r} returned pairs and {_short(next(r for r in rows if r not in pairs))}", do=SHAPE)
    out: dict[Any, float] = {}
    for rank, (point_id, score) in enumerate(pairs, 1):
        if isinstance(point_id, bool) or not isinstance(point_id, int | str):
            raise BadAnswer(f"channel {name!r} returned the id {_short(point_id)}", where=f"row {rank}", do="An id is a whole number or a text")
        if point_id in out:
            raise BadAnswer(f"channel {name!r} returned the id {_short(point_id)} twice", where=f"row {rank}", do="Keep its best row")
        out[point_id] = _score(name, point_id, score, rank)
    return out


def ranking(name: str, found: Any, query: Query, ctx: Context, ids: str, limit: int | None) -> tuple[Ranking, Candidates, int]:
    """The list of what was returned, its rows as they were read, and how many rows the filters rejected.

    Ordered by score descending, then point id ascending, and cut at `limit`. `ids` says what the ids are: "points",
    or "documents", for each of which its first chunk within the filters stands. Raises BadAnswer.
    """
    scores = scored(name, found)
    rows = _of_documents(name, scores, ctx) if ids == DOCUMENTS else _of_points(name, scores, ctx)
    admitted = ctx.stores.catalog.admitted_of([i for chunks in rows for i in chunks], query.filters) if query.filters else None
    kept: dict[PointId, float] = {}
    for chunks, score in zip(rows, scores.values(), strict=True):
        first = next((i for i in chunks if admitted is None or i in admitted), None)
        if first is not None:
            kept[first] = score
    whole = Ranking.ordered(name, kept)
    cut = Ranking(name, whole.ids[:limit], whole.scores[:limit])
    read = Candidates(tuple(Point(i, {}) for i in cut.ids), (name,) * len(cut), max(limit or len(scores) + 1, 1))
    return cut, read, len(rows) - len(kept)


def _of_points(name: str, scores: Mapping[Any, float], ctx: Context) -> list[list[PointId]]:
    try:
        ctx.stores.catalog.entities(list(scores))
    except UnknownPoint as error:
        raise BadAnswer(f"channel {name!r}: {error.what}", do=_hint(error.what, scores, ctx)) from error
    return [[i] for i in scores]


def _of_documents(name: str, scores: Mapping[Any, float], ctx: Context) -> list[list[PointId]]:
    rows = []
    for document in scores:
        chunks = ctx.stores.catalog.entity(document) if isinstance(document, str) else []
        if not chunks:
            do = "A document's id is text here" if isinstance(document, int) else "Return ids of this collection"
            raise BadAnswer(f"channel {name!r}: the collection has no document {_short(document)}", do=do)
        rows.append(chunks)
    return rows


def _hint(what: str, scores: Mapping[Any, float], ctx: Context) -> str:
    """What would make the ids right, where the first one tells."""
    first = next(iter(scores))
    if isinstance(first, str) and ctx.stores.catalog.entity(first):
        return "These are documents' ids: say ids=documents"
    return "A point's id is a number or a UUID in small letters, as `workbench search` shows it"


def _score(name: str, point_id: Any, score: Any, rank: int) -> float:
    # numpy's numbers are taken as what they are; a truth value is no score.
    value = score.item() if hasattr(score, "item") and not isinstance(score, int | float) else score
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadAnswer(f"channel {name!r} gave {_short(point_id)} the score {_short(score)}", where=f"row {rank}", do="A score is a number")
    try:
        number = float(value)
    except OverflowError:
        number = float("inf")
    if not isfinite(number):
        raise BadAnswer(f"channel {name!r} gave {_short(point_id)} the score {number}", where=f"row {rank}", do="A score is a finite number")
    return number


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "…"
