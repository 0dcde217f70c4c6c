"""Why a target is absent: the first limit or rule that removed it, with the number that would have let it in."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.analysis.true_rank import lexical_rank, semantic_rank
from workbench.registry import Stage
from workbench.retrieval.search import Collection
from workbench.retrieval.variant import Variant
from workbench.stores.waiting import WaitingDocument
from workbench.types import PointId, Result

NOT_THERE, FILTERED, NOT_INDEXED = "not in the collection", "filtered out", "not yet indexed"
NOT_ASKED = "source type not asked for"
NO_TERM, CAP, LIMIT, FLOOR = "holds no term", "candidate cap", "below the semantic limit", "below a floor"
OWN, NO_WEIGHT, TWIN, PAGE = "not returned", "no list counts", "deduplicated", "beyond the page"

REASONS = {
    NOT_THERE: "no point of the collection has this id",
    FILTERED: "a filter of the query does not admit it",
    NOT_ASKED: "without a filter on source_type the notes search returns notes alone",
    NOT_INDEXED: "it waits for the next update, in the journal or to be sent to the server",
    NO_TERM: "it holds none of the query's terms, so the lexical channel cannot read it",
    CAP: "it holds terms, but the lexical channel's reading ended before it",
    LIMIT: "it is further from the query than the last row that the semantic channel holds",
    FLOOR: "its cosine is below the floor of the semantic channel",
    OWN: "a channel of one's own did not return it, and tells no reason",
    NO_WEIGHT: "only lists that the fusion does not count hold it",
    TWIN: "a better row of the same entity stands for it",
    PAGE: "it is ranked, but not on this page",
}
"""The closed list of reasons for an absence."""


@dataclass(frozen=True, slots=True)
class Absence:
    """One reason that kept the target out. `where` is the list or stage; `needed` the number that would have let it
    in, in the unit of the knob or field that `knob` names; `exact` marks a rank that a further exact query found."""

    reason: str
    where: str
    detail: str
    knob: str = ""
    needed: float | None = None
    exact: bool = False


def off_the_page(result: Result, rank: int) -> Absence:
    """Why a ranked row is not shown: the page begins after it or ends before it."""
    query = result.query
    page = f"it is ranked {rank}; the page shows rows {query.offset + 1} to {query.offset + query.limit}"
    if rank <= query.offset:
        return Absence(PAGE, "page", page, "offset", rank - 1)
    return Absence(PAGE, "page", page, "limit", rank - query.offset)


def absences(collection: Collection, result: Result, target: PointId) -> tuple[Absence, ...]:
    """Why the fused ranking lacks a point of the catalog: one rule that removed it, else each channel's own reason."""
    stood_for = result.evidence.get("deduplicated", {})
    if target in stood_for:
        stands = stood_for[target]
        place = result.rank_of(stands)
        return (Absence(TWIN, "page", f"point {stands} of the same entity stands for it at rank {place}", "distinct", 0),)
    for name, value in result.query.filters.items():
        if not collection.stores.catalog.admits(target, {name: value}):
            return (filtered(name, value),)
    if not collection.stores.points.retrieve([target], fields=()):
        lacks = f"{collection.stores.points.engine} does not have it yet; what would let it in: workbench update {collection.name}"
        return (Absence(NOT_INDEXED, "points", lacks),)
    variant: Variant = result.evidence["variant"]
    holding = [r.name for r in result.lists if target in r.ids]
    if holding:
        knob, needed = (f"weight.{holding[0]}", 0) if variant.fusion.get("weights") else ("fusion", None)
        return (Absence(NO_WEIGHT, "fusion", f"it stands in {', '.join(holding)}; {variant.fusion} does not count that", knob, needed),)
    return channel_absences(collection, result, target)


def not_indexed(collection: Collection, document: WaitingDocument) -> Absence:
    """That it is in the journal alone."""
    detail = f"it waits to be {document.change}; what would let it in: workbench update {collection.name}"
    return Absence(NOT_INDEXED, "journal", detail)


def filtered(name: str, value: object) -> Absence:
    """That this filter does not admit it."""
    shown = repr(value) if isinstance(value, str) else str(value)
    return Absence(FILTERED, "filters", f"the filter {name}={shown} does not admit it", name)


def channel_absences(collection: Collection, result: Result, target: PointId) -> tuple[Absence, ...]:
    """Of every channel whose list lacks a point that the filters admit, its reasons: all of them have to be lifted."""
    variant: Variant = result.evidence["variant"]
    channels, _, _ = variant.stages(result.query.mode)
    return tuple(
        reason
        for channel, ranking in zip(channels, result.lists, strict=False) if target not in ranking.ids
        for reason in _of_channel(collection, result, variant, channel, target)
    )  # fmt: skip


def _of_channel(
    collection: Collection, result: Result, variant: Variant, channel: Stage, target: PointId
) -> list[Absence]:
    if channel == variant.lexical:
        return [_lexical(collection, result, channel, target)]
    if channel == variant.semantic or channel.name == "semantic_by":
        return _semantic(collection, result, channel, target)
    return [Absence(OWN, channel.name, f"{channel} did not return it")]


def _lexical(collection: Collection, result: Result, channel: Stage, target: PointId) -> Absence:
    terms = list(result.evidence["terms"])
    if not terms:
        return Absence(NO_TERM, "lexical", "the query has no terms after the stop list")
    counts = result.evidence["lexical"].counts
    place = lexical_rank(collection, result.query, channel, terms, target, counts)
    if place.rank is None:
        return Absence(NO_TERM, "lexical", "it holds none of " + ", ".join(terms))
    policy = channel.get("policy")
    if policy is None:
        return Absence(CAP, "lexical", f"it is number {place.rank:,} by {channel.name} (score {place.score:.3f}); the list "
                       f"ends at {channel['limit']:,}", "lexical_limit", place.rank, exact=True)  # fmt: skip
    return Absence(CAP, "lexical", f"it is number {place.rank:,} in the order that {policy.name} reads; the cap ended the "
                   f"reading at {policy['cap']:,}", "cap", place.rank, exact=True)  # fmt: skip


def _semantic(collection: Collection, result: Result, channel: Stage, target: PointId) -> list[Absence]:
    place, name = semantic_rank(collection, result.query, target, channel.get("model", "")), channel.get("name", "semantic")
    if place.rank is None:
        return [Absence(LIMIT, name, "the query is empty: nothing was embedded")]
    found, floor = [], channel.get("floor")
    # A further list's limits are parameters of its channel, and no knobs of the variant.
    to_lift = (("semantic_limit", place.rank), ("floor", place.score)) if name == "semantic" else (("", None), ("", None))
    if place.rank > channel["limit"]:
        last = next(r for r in result.lists if r.name == name).scores
        cut = f"; the last row held has {last[-1]:.4f}" if last else ""
        found.append(Absence(LIMIT, name, f"its true rank is {place.rank:,} (cosine {place.score:.4f}); the list ends at "
                             f"{channel['limit']:,}{cut}", *to_lift[0], exact=True))  # fmt: skip
    if floor is not None and place.score < floor:
        found.append(Absence(FLOOR, name, f"its cosine is {place.score:.4f}, the floor {floor:g}", *to_lift[1], exact=True))
    return found
