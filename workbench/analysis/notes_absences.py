"""Why a notes path does not return a note: the first limit or rule that removed it, read from both legs.

A note's own rank beyond a leg's end is found by one exact query over all that the filters admit.
"""

from __future__ import annotations

from workbench.analysis.absences import CAP, FLOOR, LIMIT, NO_TERM, NOT_ASKED, TWIN, Absence, filtered
from workbench.retrieval.notes.by_note import NoteFusion
from workbench.retrieval.notes.told import End
from workbench.retrieval.search import Collection
from workbench.types import PointId, Result


def notes_absences(collection: Collection, result: Result, target: PointId) -> tuple[Absence, ...]:
    """Why the ranking lacks a point of the catalog: one rule that removed its note, else each leg's own reason."""
    (chunk,) = collection.stores.catalog.chunks([target])
    stands = result.evidence["rows"].get(chunk.key[:2])
    if place := result.rank_of(stands):
        return (Absence(TWIN, "page", f"point {stands} of the same note stands for it at rank {place}"),)
    for name, value in result.evidence["filters"].items():
        if not collection.stores.catalog.admits(target, {name: value}):
            if name not in result.query.filters:
                return (Absence(NOT_ASKED, "filters", f"it is of the type {chunk.source_type}; a filter on {name} asks for it", name),)
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
        said = f"{place}; {end.cut}" + ("" if within else f", and {end.most:,} is the most that a leg may rank")
        reason = CAP if end.leg == "lexical" else LIMIT
        found.append(Absence(reason, end.leg, said, end.knob, end.rank if within else None, exact=True))
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
    return Absence(NO_TERM, end.leg, f"it holds none of {', '.join(terms)}" if terms else "the query has no terms after the stop list")


def _below_floor(result: Result, stands: PointId) -> Absence:
    """Of a row that stands in the vector leg alone, below the floor for such rows."""
    fusion: NoteFusion = result.evidence["fusion"]
    lexical, semantic = result.lists
    cosine = semantic.scores[semantic.ids.index(stands)]
    alone = not len(lexical)
    floor = fusion.floors.of_unsupported(alone=alone)
    knob = "floor_alone" if alone and fusion.floors.alone is not None else "floor_unsupported"
    nothing = "full text finds nothing" if alone else "full text does not find it"
    return Absence(FLOOR, "fusion", f"{nothing}, and its cosine {cosine:.4f} is below the floor {floor:g} of such notes", knob, cosine)
