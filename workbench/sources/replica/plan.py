"""Which chunk stands where and holds which counted terms: exact document frequencies, exact co-occurrence.

The law: for every counted term, the chunks planned to hold it are exactly as many as the incident says, and no
chunk but the target (and a decoy, where asked for) holds all terms of a query by accident.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from workbench.sources.replica.spec import Incident
from workbench.sources.replica.tables import SpecError
from workbench.text import DEFAULT

# What an item is made as, in `Plan.make`; a group's number is its place in the incident, from 0.
FILLER, TARGET, DECOY, KNOWN = -1, -2, -3, -4


@dataclass(frozen=True, slots=True)
class Plan:
    """Items in the order they were planned; `place` is each one's 0-based place in point-id order.

    `mask` (n,) uint32 has bit t set where the item holds counted term t; `make` (n,) int16.
    """

    mask: np.ndarray
    make: np.ndarray
    place: np.ndarray

    @property
    def order(self) -> np.ndarray:
        """(n,) the item that stands at each place."""
        out = np.empty(len(self.place), np.int32)
        out[self.place] = np.arange(len(self.place), dtype=np.int32)
        return out


def mask_of(terms: Sequence[str] | frozenset[str], counted: Sequence[str]) -> int:
    """The set of terms as a number, bit t for counted term t."""
    return sum(1 << n for n, term in enumerate(counted) if term in terms)


def make_plan(incident: Incident, rng: np.random.Generator, target_masks: Sequence[int]) -> Plan:
    """The plan of an incident. Raises SpecError where its counts cannot be met together."""
    counted = tuple(incident.terms)
    classes: list[tuple[int, int, int, tuple[int, int]]] = []  # make, mask, rows, range of places
    whole = (0, incident.size)
    known = incident.captured.rows if incident.captured else ()
    if incident.decoy:
        decoy = mask_of(DEFAULT.query_terms(incident.queries[0].text), counted)
        classes.append((DECOY, decoy, 1, whole))
    for n, group in enumerate(incident.groups):
        low, high = (int(f * incident.size) for f in group.within)
        classes.append((n, mask_of(group.holds, counted), group.rows, (low, high)))
    for cell in incident.cells:
        classes.append((FILLER, mask_of(cell.holds, counted), cell.rows, whole))
    fixed = [*target_masks, *(_mask_of_counts(r.tf) for r in known)]
    classes += _singles(incident, classes, fixed)
    classes = [_after(c, incident) for c in classes if c[2]]

    place, free = [], np.ones(incident.size, bool)
    target = incident.target.position - 1
    at = [target + n for n in range(len(target_masks))] + [r.position - 1 for r in known]
    if len(set(at)) < len(at) or max(at, default=0) >= incident.size:
        raise SpecError("two chunks stand at one place, or one stands outside the collection", where=incident.name)
    free[at] = False
    placed: list[np.ndarray] = [np.empty(0, np.int64)] * len(classes)
    # The narrowest range first; equal ranges in the order they were named.
    for n in sorted(range(len(classes)), key=lambda n: (classes[n][3][1] - classes[n][3][0], n)):
        _, _, rows, (low, high) = classes[n]
        open_places = low + np.flatnonzero(free[low:high])
        if len(open_places) < rows:
            raise SpecError(f"{rows} chunks do not fit in places {low} to {high}", where=incident.name)
        placed[n] = rng.choice(open_places, rows, replace=False, shuffle=True)
        free[placed[n]] = False
    makes = [np.full(len(target_masks), TARGET), np.full(len(known), KNOWN)]
    makes += [np.full(rows, make) for make, _, rows, _ in classes]
    masks = [np.asarray(fixed, np.uint32)] + [np.full(rows, mask, np.uint32) for _, mask, rows, _ in classes]
    place = np.concatenate([np.asarray(at, np.int64), *placed])
    return Plan(np.concatenate(masks), np.concatenate(makes).astype(np.int16), place.astype(np.int32))


def _mask_of_counts(tf: Sequence[int]) -> int:
    return sum(1 << n for n, count in enumerate(tf) if count)


def _singles(
    incident: Incident, classes: list[tuple[int, int, int, tuple[int, int]]], fixed: Sequence[int]
) -> list[tuple[int, int, int, tuple[int, int]]]:
    """What remains of every term's count as chunks that hold it alone, and the chunks that hold none."""
    out, whole = [], (0, incident.size)
    for n, (term, df) in enumerate(incident.terms.items()):
        bit = 1 << n
        used = sum(rows for _, mask, rows, _ in classes if mask & bit) + sum(1 for m in fixed if m & bit)
        if used > df:
            raise SpecError(f"{term!r} is asked for in {df} chunks, but groups, cells and target hold {used}",
                            where=incident.name, do="Raise its count or lower theirs")  # fmt: skip
        out.append((FILLER, bit, df - used, whole))
    used = len(fixed) + sum(rows for _, _, rows, _ in [*classes, *out])
    if used > incident.size:
        raise SpecError(f"{used} chunks are asked for in a collection of {incident.size}", where=incident.name,
                        do="Let more terms stand together, in [[cell]]")  # fmt: skip
    out.append((FILLER, 0, incident.size - used, whole))
    return out


def _after(
    planned: tuple[int, int, int, tuple[int, int]], incident: Incident
) -> tuple[int, int, int, tuple[int, int]]:
    """The class with its places after those recorded for its terms, in a captured incident."""
    if not incident.captured:
        return planned
    make, mask, rows, (low, high) = planned
    after: Mapping[str, int] = incident.captured.after
    first = max((after.get(t, 0) for n, t in enumerate(incident.terms) if mask >> n & 1), default=0)
    asked = mask_of(DEFAULT.query_terms(incident.queries[0].text), tuple(incident.terms))
    if mask & asked == asked:
        first = max(first, incident.captured.after_all)
    return make, mask, rows, (max(low, first), high)
