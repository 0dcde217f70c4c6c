"""Why a target is absent: the first limit or rule that removed it, with the number that would have let it in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from workbench.registry import Stage
from workbench.retrieval.context import Context
from workbench.retrieval.notes.variants import End, NoteFusion
from workbench.retrieval.search import Collection, scope
from workbench.retrieval.variant import Variant
from workbench.stores.journal import WaitingDocument
from workbench.types import PointId, Query, Result

# ---- True ranks: where a target stands in an order of which a list holds only the beginning ----

# An order without a rank query is read from its beginning, each time so many times as deep, until it holds the
# target: most targets stand near a limit, and few readings are made of a whole collection.
_FIRST_DEPTH, _DEEPER = 4096, 16

# Policy to (points with all terms first, the sign of a term's count in the order of terms; 0 reads any term at once).
_READINGS = {
    "any_term": (False, 0),
    "all_terms_then_by_id": (True, 0),
    "all_terms_then_rarest": (True, 1),
    "all_terms_then_commonest": (True, -1),
    "rarest_first": (False, 1),
}


class TrueRank(NamedTuple):
    """1-based, None where the order never comes to the target; its score where the order is one of scores."""

    rank: int | None
    score: float | None = None


def lexical_rank(
    collection: Collection,
    query: Query,
    channel: Stage,
    terms: Sequence[str],
    target: PointId,
    counts: Mapping[str, int] = MappingProxyType({}),
) -> TrueRank:
    """The target's place in the order that a lexical channel's cap or limit cuts: its policy's reading, or BM25.

    `counts` are those that the reading was ordered by, where it made any.
    """
    catalog, policy = collection.stores.catalog, channel.get("policy")
    if not terms:
        return TrueRank(None)
    asked = Context(collection.stores).terms(query, repeats=True)
    if channel.name == "lexical_bm25":
        return TrueRank(
            *catalog.bm25_rank(asked, target, query.filters, channel["k1"], channel["b"])
        )
    if policy is not None and policy.name == "by_bm25":
        return TrueRank(*catalog.bm25_rank(asked, target, query.filters))
    if policy is not None and policy.name in _READINGS:
        return TrueRank(_in_reading(collection, query, policy, terms, target, counts))
    if policy is not None:
        return TrueRank(
            _deepened(
                collection, target, lambda depth: _read(collection, query, policy, terms, depth)
            )
        )
    # Any other channel is asked for more of its own list, ids alone.
    scores: dict[PointId, float] = {}

    def ranked(depth: int) -> Sequence[PointId]:
        found = channel.replace(limit=depth)(
            query, Context(collection.stores, scope(query), fields=())
        )
        scores.update(zip(found.ids, found.scores, strict=True))
        return found.ids

    return TrueRank(_deepened(collection, target, ranked), scores.get(target))


def semantic_rank(
    collection: Collection, query: Query, target: PointId, model: str = ""
) -> TrueRank:
    """The target's exact place among all that the filters admit, by cosine and by one of the collection's models; None
    for a query without a character."""
    stores = collection.stores
    vector = Context(stores, scope(query)).vector(query, model)
    if vector is None:
        return TrueRank(None)
    space = {"space": stores.space(model)[1]} if model else {}
    return TrueRank(*stores.catalog.true_rank(vector, target, query.filters, **space))


def _in_reading(
    collection: Collection,
    query: Query,
    policy: Stage,
    terms: Sequence[str],
    target: PointId,
    counts: Mapping[str, int],
) -> int | None:
    """One exact query for the place in a reading that goes by all terms, any term, or term by term."""
    all_first, sign = _READINGS[policy.name]
    catalog, distinct = collection.stores.catalog, list(dict.fromkeys(terms))
    ordered = distinct
    if sign:
        if not counts:
            counts = catalog.df(distinct, query.filters)
            if counted := policy.get("counted"):
                df = catalog.df(distinct)
                counts = {
                    t: counts[t]
                    for t in sorted(distinct, key=lambda t: (df[t], distinct.index(t)))[:counted]
                }
        chosen = [t for t in distinct if t in counts]
        ordered = sorted(chosen, key=lambda t: (sign * counts[t], distinct.index(t))) + [
            t for t in distinct if t not in counts
        ]
    return catalog.reading_place(
        target,
        ordered,
        query.filters,
        all_first=all_first and len(distinct) > 1,
        by_term=bool(sign),
    )


def _read(
    collection: Collection, query: Query, policy: Stage, terms: Sequence[str], cap: int
) -> Sequence[PointId]:
    return policy.replace(cap=cap)(
        query, Context(collection.stores, scope(query), fields=()), terms
    ).ids


def _deepened(
    collection: Collection, target: PointId, read: Callable[[int], Sequence[PointId]]
) -> int | None:
    everything, depth = max(collection.stores.catalog.n, 1), _FIRST_DEPTH
    while True:
        depth = min(depth, everything)
        ids = read(depth)
        if target in ids:
            return ids.index(target) + 1
        if depth == everything or len(ids) < depth:
            return None
        depth *= _DEEPER


# ---- Why a target is absent: the first limit or rule that removed it, with the number that  ----

NOT_THERE, FILTERED, NOT_INDEXED = "not in the collection", "filtered out", "not yet indexed"
NOT_ASKED = "source type not asked for"
NO_TERM, CAP, LIMIT, FLOOR = (
    "holds no term",
    "candidate cap",
    "below the semantic limit",
    "below a floor",
)
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
        return (
            Absence(
                TWIN,
                "page",
                f"point {stands} of the same entity stands for it at rank {place}",
                "distinct",
                0,
            ),
        )
    for name, value in result.query.filters.items():
        if not collection.stores.catalog.admits(target, {name: value}):
            return (filtered(name, value),)
    if not collection.stores.points.retrieve([target], fields=()):
        lacks = f"{collection.stores.points.engine} does not have it yet; what would let it in: workbench update {collection.name}"
        return (Absence(NOT_INDEXED, "points", lacks),)
    variant: Variant = result.evidence["variant"]
    holding = [r.name for r in result.lists if target in r.ids]
    if holding:
        knob, needed = (
            (f"weight.{holding[0]}", 0) if variant.fusion.get("weights") else ("fusion", None)
        )
        return (
            Absence(
                NO_WEIGHT,
                "fusion",
                f"it stands in {', '.join(holding)}; {variant.fusion} does not count that",
                knob,
                needed,
            ),
        )
    return channel_absences(collection, result, target)


def not_indexed(collection: Collection, document: WaitingDocument) -> Absence:
    """That it is in the journal alone."""
    detail = f"it waits to be {document.change}; what would let it in: workbench update {collection.name}"
    return Absence(NOT_INDEXED, "journal", detail)


def filtered(name: str, value: object) -> Absence:
    """That this filter does not admit it."""
    shown = repr(value) if isinstance(value, str) else str(value)
    return Absence(FILTERED, "filters", f"the filter {name}={shown} does not admit it", name)


def channel_absences(
    collection: Collection, result: Result, target: PointId
) -> tuple[Absence, ...]:
    """Of every channel whose list lacks a point that the filters admit, its reasons: all of them have to be lifted."""
    variant: Variant = result.evidence["variant"]
    channels, _, _ = variant.stages(result.query.mode)
    return tuple(
        reason
        for channel, ranking in zip(channels, result.lists, strict=False)
        if target not in ranking.ids
        for reason in _of_channel(collection, result, variant, channel, target)
    )


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
        return Absence(
            CAP,
            "lexical",
            f"it is number {place.rank:,} by {channel.name} (score {place.score:.3f}); the list "
            f"ends at {channel['limit']:,}",
            "lexical_limit",
            place.rank,
            exact=True,
        )
    return Absence(
        CAP,
        "lexical",
        f"it is number {place.rank:,} in the order that {policy.name} reads; the cap ended the "
        f"reading at {policy['cap']:,}",
        "cap",
        place.rank,
        exact=True,
    )


def _semantic(
    collection: Collection, result: Result, channel: Stage, target: PointId
) -> list[Absence]:
    place, name = (
        semantic_rank(collection, result.query, target, channel.get("model", "")),
        channel.get("name", "semantic"),
    )
    if place.rank is None:
        return [Absence(LIMIT, name, "the query is empty: nothing was embedded")]
    found, floor = [], channel.get("floor")
    # A further list's limits are parameters of its channel, and no knobs of the variant.
    to_lift = (
        (("semantic_limit", place.rank), ("floor", place.score))
        if name == "semantic"
        else (("", None), ("", None))
    )
    if place.rank > channel["limit"]:
        last = next(r for r in result.lists if r.name == name).scores
        cut = f"; the last row held has {last[-1]:.4f}" if last else ""
        found.append(
            Absence(
                LIMIT,
                name,
                f"its true rank is {place.rank:,} (cosine {place.score:.4f}); the list ends at "
                f"{channel['limit']:,}{cut}",
                *to_lift[0],
                exact=True,
            )
        )
    if floor is not None and place.score < floor:
        found.append(
            Absence(
                FLOOR,
                name,
                f"its cosine is {place.score:.4f}, the floor {floor:g}",
                *to_lift[1],
                exact=True,
            )
        )
    return found


# ---- Why a notes path does not return a note: the first limit or rule that removed it, read ----


def notes_absences(collection: Collection, result: Result, target: PointId) -> tuple[Absence, ...]:
    """Why the ranking lacks a point of the catalog: one rule that removed its note, else each leg's own reason."""
    (chunk,) = collection.stores.catalog.chunks([target])
    stands = result.evidence["rows"].get(chunk.key[:2])
    if place := result.rank_of(stands):
        return (
            Absence(TWIN, "page", f"point {stands} of the same note stands for it at rank {place}"),
        )
    for name, value in result.evidence["filters"].items():
        if not collection.stores.catalog.admits(target, {name: value}):
            if name not in result.query.filters:
                return (
                    Absence(
                        NOT_ASKED,
                        "filters",
                        f"it is of the type {chunk.source_type}; a filter on {name} asks for it",
                        name,
                    ),
                )
            return (filtered(name, value),)
    if stands is not None:
        return (_below_floor(result, stands),)
    return leg_absences(collection, result, target)


def leg_absences(collection: Collection, result: Result, target: PointId) -> tuple[Absence, ...]:
    """Of each leg that lacks the note of a point that the filters admit, its reasons."""
    lacking = [r.name for r in result.lists if target not in r.ids]
    if not lacking:
        return ()
    (chunk,) = collection.stores.catalog.chunks([target])
    ends = result.evidence["variant"].ends(collection, result, chunk.key[:2])
    return tuple(reason for end in ends if end.leg in lacking for reason in _of_leg(end, result))


def _of_leg(end: End, result: Result) -> list[Absence]:
    if end.rank is None or end.score is None:
        return [_not_in_it(end, result)]
    found = []
    place = f"{end.of} is number {end.rank:,} ({'score' if end.leg == 'lexical' else 'cosine'} {end.score:.4f})"
    if end.rank > end.limit:
        within = end.most is None or end.rank <= end.most
        said = f"{place}; {end.cut}" + (
            "" if within else f", and {end.most:,} is the most that a leg may rank"
        )
        reason = CAP if end.leg == "lexical" else LIMIT
        found.append(
            Absence(reason, end.leg, said, end.knob, end.rank if within else None, exact=True)
        )
    if end.floor is not None and end.score < end.floor:
        said = f"the cosine of {end.of} is {end.score:.4f}, the floor {end.floor:g}"
        found.append(Absence(FLOOR, end.leg, said, end.floor_knob, end.score, exact=True))
    if end.overfetched is not None:
        before, fetched = end.overfetched
        said = f"{end.of} is number {before:,} before the filters; one overfetch read {fetched:,} and asked the filters afterwards"
        found.append(Absence(LIMIT, end.leg, said, "exact", True, exact=True))
    return found


def _not_in_it(end: End, result: Result) -> Absence:
    terms = result.evidence["terms"]
    if end.leg == "semantic":
        return Absence(LIMIT, end.leg, "the query is empty: nothing was embedded")
    return Absence(
        NO_TERM,
        end.leg,
        f"it holds none of {', '.join(terms)}"
        if terms
        else "the query has no terms after the stop list",
    )


def _below_floor(result: Result, stands: PointId) -> Absence:
    """Of a row that stands in the vector leg alone, below the floor for such rows."""
    fusion: NoteFusion = result.evidence["fusion"]
    lexical, semantic = result.lists
    cosine = semantic.scores[semantic.ids.index(stands)]
    alone = not len(lexical)
    floor = fusion.floors.of_unsupported(alone=alone)
    knob = "floor_alone" if alone and fusion.floors.alone is not None else "floor_unsupported"
    nothing = "full text finds nothing" if alone else "full text does not find it"
    return Absence(
        FLOOR,
        "fusion",
        f"{nothing}, and its cosine {cosine:.4f} is below the floor {floor:g} of such notes",
        knob,
        cosine,
    )
