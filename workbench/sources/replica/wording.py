"""Made-up sentences, headings and conversations, from the word lists of words.toml."""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Mapping, Set
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from workbench.sources.replica.spec import SpecError


@dataclass(frozen=True, slots=True)
class Subject:
    """One field of work. Every word list has at least eight entries, so that sentences vary."""

    name: str
    things: tuple[str, ...]
    troubles: tuple[str, ...]
    outcomes: tuple[str, ...]
    files: tuple[str, ...]


_WORDS = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
SUBJECTS = tuple(
    Subject(**{k: v if k == "name" else tuple(v) for k, v in s.items()}) for s in _WORDS["subject"]
)
TEMPLATES: dict[str, list[str]] = _WORDS["templates"]
HEADINGS: dict[str, list[str]] = _WORDS["headings"]
ROMANIAN: dict[str, list[str]] = _WORDS["romanian"]
MONTHS: list[str] = _WORDS["months"]
KINDS = tuple(TEMPLATES)

# One seed for the sentences of every replica: replicas that differ by seed differ in which memory has which
# sentence, so their parts are embedded once.
POOL_SEED = "sentences"
ROUNDS = 4
"""Each of a kind's 24 templates is filled four times for each of 12 subjects: 5,760 sentences, each embedded once."""

_FIELD = re.compile(r"\{(\w+)\}")


def substitute(template: str, values: Mapping[str, object]) -> str:
    """The template with each `{name}` replaced. Raises SpecError for a name that is not among the values."""

    def value(match: re.Match[str]) -> str:
        if match[1] not in values:
            known = f"There are {', '.join(values)}"
            raise SpecError(f"nothing is known of {match[0]}", where=template, do=known)
        return str(values[match[1]])

    return _FIELD.sub(value, template)


def fields(rng: random.Random, subject: Subject) -> dict[str, Any]:
    """Values for a template's fields, drawn anew."""
    thing, thing2 = rng.sample(subject.things, 2)
    person, person2 = rng.sample(_WORDS["people"], 2)
    return {
        "thing": thing,
        "Thing": thing[0].upper() + thing[1:],
        "thing2": thing2,
        "person": person,
        "person2": person2,
        "trouble": rng.choice(subject.troubles),
        "outcome": rng.choice(subject.outcomes),
        "file": rng.choice(subject.files),
        "place": rng.choice(_WORDS["places"]),
        "when": rng.choice(_WORDS["when"]),
        "n": rng.randint(2, 99),
        "m": rng.randint(2, 99),
    }


@cache
def pool() -> dict[tuple[str, str], tuple[str, ...]]:
    """(kind, subject name) to distinct sentences, the same for every replica. Templates come round in one order,
    so that a stride which shares no factor with their number repeats none before all were used."""
    out = {}
    for kind in KINDS:
        for subject in SUBJECTS:
            rng = random.Random(f"{POOL_SEED}/{kind}/{subject.name}")
            found: dict[str, None] = {}
            for template in TEMPLATES[kind] * ROUNDS:
                text = substitute(template, fields(rng, subject))
                while text in found:
                    text = substitute(template, fields(rng, subject))
                found[text] = None
            out[kind, subject.name] = tuple(found)
    return out


def romanian_turn(rng: random.Random) -> str:
    """What one speaker of a Romanian conversation says at once."""
    return " ".join(
        rng.choice(ROMANIAN["turns"]).format(
            topic=rng.choice(ROMANIAN["topics"]),
            reason=rng.choice(ROMANIAN["reasons"]),
            step=rng.choice(ROMANIAN["steps"]),
        )
        for _ in range(rng.choice((1, 1, 2)))
    )


# The texts that each date field of a heading can have. Years are those of a young collection around the incidents.
SLOTS: dict[str, tuple[str, ...]] = {
    "year": tuple(str(y) for y in range(2019, 2027)),
    "month": tuple(f"{m:02d}" for m in range(1, 13)),
    "day": tuple(f"{d:02d}" for d in range(1, 29)),
    "hour": tuple(f"{h:02d}" for h in range(7, 23)),
    "minute": tuple(f"{m:02d}" for m in range(60)),
    "monthname": tuple(MONTHS),
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
    """True if a term can occur in a date or a time."""
    return any(fits(term) for fits in _FITS.values())


def slots_of(template: str) -> tuple[str, ...]:
    """The date and time fields of a template."""
    return tuple(s for s in SLOTS if "{" + s + "}" in template)


def fill(
    rng: random.Random, slots: tuple[str, ...], wanted: Set[str], counted: Set[str]
) -> dict[str, str] | None:
    """A value for each slot so that every wanted term is in one, and no other counted term is.

    None if the wanted terms do not fit into these slots.
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
