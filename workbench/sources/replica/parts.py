"""The parts that texts are made of: each part's terms are known, so a text's counts are sums of its parts'.

The law: parts are joined by white space and marks only, which the tokenizer drops, so the terms of a text are the
terms of its parts one after the other.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from workbench.sources.replica.dates import SLOTS, dateable, fill, slots_of
from workbench.sources.replica.sentences import fields, substitute
from workbench.sources.replica.tables import SpecError
from workbench.sources.replica.words import SUBJECTS
from workbench.text import DEFAULT

TRIES = 200
"""How often a template is filled anew until it holds the counted terms asked for, before it is given up."""

# How a counted word that is not a date stands in a memory where the incident gives no sentences of its own.
CARRIERS = (
    "{person} wrote {term} in the margin next to {thing}.",
    "See also {term}, which {person} keeps in {file}.",
    "{term}: {outcome}.",
    "The part called {term} belongs to {thing}.",
    "{person} asked where {term} comes from; {person2} pointed at {file}.",
    "Under {term} we list {thing} and {thing2}.",
    "{term} again: {thing} {trouble}.",
    "Moved {term} next to {thing2} {when}.",
)


class Parts:
    """A growing table of texts with their length in terms and their counts of the counted terms."""

    def __init__(self, counted: Sequence[str]) -> None:
        self.counted = tuple(counted)
        self._column = {t: n for n, t in enumerate(self.counted)}
        self.texts: list[str] = []
        self.created: list[str] = []
        self._lengths: list[int] = []
        self._tf: list[np.ndarray] = []
        self._known: dict[str, int] = {}

    def add(self, text: str, created: str = "") -> int:
        """The new part's number."""
        terms = DEFAULT.terms(text)
        tf = np.zeros(len(self.counted), np.uint16)
        for term in terms:
            if term in self._column:
                tf[self._column[term]] += 1
        self.texts.append(text)
        self.created.append(created)
        self._lengths.append(len(terms))
        self._tf.append(tf)
        return len(self.texts) - 1

    def once(self, text: str) -> int:
        """The number of the part with this text, added where there is none yet."""
        if text not in self._known:
            self._known[text] = self.add(text)
        return self._known[text]

    @property
    def lengths_so_far(self) -> list[int]:
        """Lengths in terms by part; the list grows as parts are added."""
        return self._lengths

    @property
    def lengths(self) -> np.ndarray:
        """(parts,) lengths in terms."""
        return np.asarray(self._lengths, np.int32)

    @property
    def tf(self) -> np.ndarray:
        """(parts, counted terms) counts."""
        return np.asarray(self._tf, np.uint16).reshape(len(self._tf), len(self.counted))

    def held(self, text: str) -> frozenset[str]:
        """The counted terms that a text holds."""
        return frozenset(DEFAULT.terms(text)) & self._column.keys()

    def length_of(self, text: str) -> int:
        """How many terms a text has."""
        return len(DEFAULT.terms(text))

    def heading(
        self, rng: random.Random, templates: Sequence[str], holds: frozenset[str], project: str
    ) -> tuple[str, str] | None:
        """A heading that holds exactly these counted terms, and the time that it tells, "" where it tells none.

        None where no template can.
        """
        for template in rng.sample(list(templates), len(templates)):
            slots = slots_of(template)
            for _ in range(TRIES):
                values = {**fields(rng, rng.choice(SUBJECTS)), "project": project, "hex": _hex(rng)}
                fixed = self.held(substitute(template, {**values, **dict.fromkeys(SLOTS, " ")}))
                moment = fill(rng, slots, {t for t in holds if dateable(t)} - fixed, self._column.keys())
                if moment is None:
                    break
                text = substitute(template, {**values, **moment})
                if self.held(text) == holds:
                    return text, _iso(moment)
        return None

    def carrier(self, rng: random.Random, term: str, templates: Sequence[str]) -> str:
        """A sentence that holds this counted term and no other. Raises SpecError where no template does."""
        for _ in range(TRIES):
            template = rng.choice(list(templates) or CARRIERS)
            text = substitute(template, {**fields(rng, rng.choice(SUBJECTS)), "term": term})
            if self.held(text) == {term}:
                return text
        raise SpecError(f"no sentence holds {term!r} and no other counted term", do=f"Give some in [carriers] {term}")

    def plain(self, rng: random.Random, templates: Sequence[str], **words: str) -> str:
        """A sentence that holds no counted term. Raises SpecError where every one does."""
        for _ in range(TRIES):
            text = substitute(rng.choice(templates), {**fields(rng, rng.choice(SUBJECTS)), **words})
            if not self.held(text):
                return text
        raise SpecError("every sentence holds a counted term", where=" / ".join(templates))


def _hex(rng: random.Random) -> str:
    return f"{rng.getrandbits(36):09x}"


def _iso(moment: dict[str, str]) -> str:
    """The moment as ISO 8601, "" where it has no full date."""
    if not {"year", "month", "day"} <= moment.keys():
        return ""
    time = f"T{moment['hour']}:{moment.get('minute', '00')}:00Z" if "hour" in moment else ""
    return f"{moment['year']}-{moment['month']}-{moment['day']}{time}"

