"""What a notes path found as the result that every variant has: a row is a note, by the point that stands for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.errors import WorkbenchError
from workbench.retrieval.hits import hits
from workbench.retrieval.notes.by_note import NoteFusion
from workbench.retrieval.notes.request import Key
from workbench.retrieval.notes.search import typed
from workbench.retrieval.variant import Whole
from workbench.types import Chunk, PointId, Query, Ranking, Result, Span

if TYPE_CHECKING:
    from workbench.retrieval.search import Collection


class NotTheSame(WorkbenchError):
    """A path's page is not the one of its own fusion over its legs: a fault of the workbench, never to be told."""


class End(NamedTuple):
    """What a leg's end did to one row. `rank` and `score` are the row's as if nothing cut the leg, None where it is not
    in it; the leg ends at `limit`, set by the parameter `knob` (up to `most`), which `cut` says in words; below `floor`,
    set by `floor_knob`, nothing is in it. `of` is what is ranked. `overfetched`: the row's place before a filter that
    was asked after the ranking, and how many were fetched for it, where the place is beyond that."""

    leg: str
    rank: int | None
    score: float | None
    limit: int
    knob: str
    cut: str
    of: str = "its best chunk"
    most: int | None = None
    floor: float | None = None
    floor_knob: str = ""
    overfetched: tuple[int, int] | None = None


def told(
    collection: Collection, chosen: Whole, query: Query, page: Sequence[PointId], chunks: Mapping[PointId, Chunk],
    lists: tuple[Ranking, ...], fusion: NoteFusion, stands: Mapping[Key, PointId], spans: Sequence[Span], **evidence: Any,
) -> Result:  # fmt: skip
    """The result of a page. Its evidence has `rows`, the point that stands for each note of the legs, and the `filters`
    that the path really asked. Raises NotTheSame."""
    fused = fusion(lists)
    if tuple(page) != fused.ranking.ids[query.offset : query.offset + query.limit]:
        raise NotTheSame(f"{chosen.name} gave another page than its fusion over both legs")
    terms = tuple(collection.stores.tokenizer.query_terms(query.normalised))
    notes = []
    if not terms:
        notes.append(Span("lexical", "note", note="the query has no terms after the stop list"))
    if not query.normalised:
        notes.append(Span("semantic", "note", note="the query is empty: there is nothing to embed"))
    return Result(
        query, chosen.name, hits(query, page, fused, lists, chunks), fused.ranking, lists, (*spans, *notes),
        {"terms": terms, "variant": chosen, "fusion": fusion, "fused": fused, "rows": stands, "filters": typed(query.filters), **evidence},
        {**collection.inputs, "variant": chosen.hash},
    )  # fmt: skip
