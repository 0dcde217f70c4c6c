"""Dates and times that hold exactly the counted numbers asked for, and none of the others."""

from __future__ import annotations

import random
from collections.abc import Set

MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
          "November", "December")  # fmt: skip

# What can stand in each place of a heading, as text. Years are those of a young collection around the incidents.
SLOTS: dict[str, tuple[str, ...]] = {
    "year": tuple(str(y) for y in range(2019, 2027)),
    "month": tuple(f"{m:02d}" for m in range(1, 13)),
    "day": tuple(f"{d:02d}" for d in range(1, 29)),
    "hour": tuple(f"{h:02d}" for h in range(7, 23)),
    "minute": tuple(f"{m:02d}" for m in range(60)),
    "monthname": MONTHS,
}
_FITS = {
    "year": lambda t: len(t) == 4 and t.isdigit() and t[:2] in ("19", "20"),
    "month": lambda t: len(t) == 2 and t.isdigit() and 1 <= int(t) <= 12,
    "day": lambda t: len(t) == 2 and t.isdigit() and 1 <= int(t) <= 28,
    "hour": lambda t: len(t) == 2 and t.isdigit() and int(t) <= 23,
    "minute": lambda t: len(t) == 2 and t.isdigit() and int(t) <= 59,
    "monthname": lambda t: t.capitalize() in MONTHS,
}


def dateable(term: str) -> bool:
    """Whether a term can stand in a date or a time."""
    return any(fits(term) for fits in _FITS.values())


def slots_of(template: str) -> tuple[str, ...]:
    """The date and time places that a template has."""
    return tuple(s for s in SLOTS if "{" + s + "}" in template)


def fill(rng: random.Random, slots: tuple[str, ...], wanted: Set[str], counted: Set[str]) -> dict[str, str] | None:
    """A value for each slot so that every wanted term stands in one, and no other counted term does.

    None where the wanted terms do not fit into these slots.
    """
    chosen: dict[str, str] = {}
    # The hardest to place first: a term that fits few of the slots; ties by the term itself.
    for term in sorted(wanted, key=lambda t: (sum(_FITS[s](t) for s in slots), t)):
        free = [s for s in slots if s not in chosen and _FITS[s](term)]
        if not free:
            return None
        slot = rng.choice(free)
        chosen[slot] = term.capitalize() if slot == "monthname" else term
    for slot in slots:
        if slot not in chosen:
            chosen[slot] = rng.choice([v for v in SLOTS[slot] if v.casefold() not in counted])
    return chosen
