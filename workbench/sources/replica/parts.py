"""The parts that texts are made of: each part's terms are known, so a text's counts are sums of its parts'.

The law: parts are joined by white space and marks only, which the tokenizer drops, so the terms of a text are the
terms of its parts one after the other.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import gcd

import numpy as np

from workbench.sources.replica.spec import Incident, Phrase, SpecError
from workbench.sources.replica.wording import (
    HEADINGS,
    KINDS,
    SLOTS,
    SUBJECTS,
    dateable,
    fields,
    fill,
    pool,
    slots_of,
    substitute,
)
from workbench.text import DEFAULT

# ---- The parts that texts are made of: each part's terms are known, so a text's counts are  ----

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
                moment = fill(
                    rng, slots, {t for t in holds if dateable(t)} - fixed, self._column.keys()
                )
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
        raise SpecError(
            f"no sentence holds {term!r} and no other counted term",
            do=f"Give some in [carriers] {term}",
        )

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


# ---- Sentences as parts: made ones by kind and subject, or those of another collection; non ----

# As many sentences as the made pool has: each is embedded once.
MOST_FOREIGN = 6000
READ_TEXTS = 20_000
"""Texts of another collection that are read for sentences."""

_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|\n+")
_SENTENCE_TERMS = (4, 40)
"""Shorter pieces are headings and list marks; longer ones would not leave room to meet a length."""


@dataclass(frozen=True, slots=True)
class Pool:
    """Groups of sentence parts: group g is parts first[g] … first[g] + size[g] − 1.

    `groups[kind, subject]` numbers a group. Where `in_order`, sentences that follow each other in a text stay
    together (another collection's); else a text draws from its group with a stride.
    """

    first: np.ndarray
    size: np.ndarray
    groups: np.ndarray
    in_order: bool

    @property
    def strides(self) -> list[np.ndarray]:
        """By group, the steps that visit every sentence before one comes again."""
        return [
            np.asarray([1] if self.in_order else [s for s in range(1, n + 1) if gcd(s, n) == 1])
            for n in self.size
        ]


def made_pool(parts: Parts) -> Pool:
    """The made sentences. Raises SpecError where the counted terms leave a group without any."""
    first, size = [], []
    groups = np.empty((len(KINDS), len(SUBJECTS)), np.int32)
    for k, kind in enumerate(KINDS):
        for s, subject in enumerate(SUBJECTS):
            fit = [t for t in pool()[kind, subject.name] if not parts.held(t)]
            if len(fit) < 2:
                raise SpecError(
                    f"the counted terms leave no sentences of kind {kind} about {subject.name}",
                    do="Use --filler with another collection's texts",
                )
            numbers = [parts.add(t) for t in fit]
            groups[k, s] = len(first)
            first.append(numbers[0])
            size.append(len(numbers))
    return Pool(np.asarray(first), np.asarray(size), groups, in_order=False)


def foreign_pool(parts: Parts, texts: Iterable[str], seed: int) -> Pool:
    """Sentences of another collection's chunks, in their order, from chunks taken at random by the seed.

    Raises SpecError where fewer than 100 are left without the counted terms.
    """
    rng = random.Random(f"filler/{seed}")
    read = list(islice(texts, READ_TEXTS))
    found: list[str] = []
    for text in rng.sample(read, len(read)):
        pieces = (" ".join(p.split()) for p in _SENTENCE_END.split(text))
        found += [p for p in pieces if p and not parts.held(p) and _fits(parts, p)]
        if len(found) >= MOST_FOREIGN:
            break
    if len(found) < 100:
        raise SpecError(
            f"the filler texts have only {len(found)} sentences without the counted terms"
        )
    numbers = [parts.add(t) for t in found[:MOST_FOREIGN]]
    one = np.zeros((len(KINDS), len(SUBJECTS)), np.int32)
    return Pool(np.asarray([numbers[0]]), np.asarray([len(numbers)]), one, in_order=True)


def _fits(parts: Parts, piece: str) -> bool:
    return _SENTENCE_TERMS[0] <= parts.length_of(piece) <= _SENTENCE_TERMS[1]


# ---- Headings and carriers: the parts that hold counted terms, shared by many chunks so tha ----

# Different headings that one kind, project and term set has at most, by how many terms they hold.
HEADINGS_FOR = {0: 10, 1: 6}
HEADINGS_ELSE = 3
CARRIERS_FOR = 40
"""Different sentences that carry one counted word."""


@dataclass(slots=True)
class Headings:
    """Makes the headings of filler on demand; they hang on the incident's name alone, so that replicas that differ
    by seed or size share their embeddings."""

    incident: Incident
    parts: Parts
    _made: dict[tuple[int, str, int], tuple[np.ndarray, int]] = field(default_factory=dict)

    def of(self, kind: int, project: str, mask: int) -> tuple[np.ndarray, int]:
        """The headings of that kind and project, and which counted terms of `mask` they hold.

        Words that no date holds are left to carriers, and so is everything where no heading can hold the numbers.
        """
        counted = tuple(self.incident.terms)
        dates = sum(1 << n for n, t in enumerate(counted) if mask >> n & 1 and dateable(t))
        key = (kind, project, dates)
        if key not in self._made:
            terms = frozenset(t for n, t in enumerate(counted) if dates >> n & 1)
            wanted = HEADINGS_FOR.get(len(terms), HEADINGS_ELSE)
            named = "" if self.parts.held(project) else project
            rng = random.Random(f"{self.incident.name}/{KINDS[kind]}/{project}/{sorted(terms)}")
            made = [
                self.parts.heading(rng, HEADINGS[KINDS[kind]], terms, named) for _ in range(wanted)
            ]
            numbers = [self.parts.add(*m) for m in made if m]
            if numbers:
                self._made[key] = np.asarray(numbers), dates
            elif dates:
                self._made[key] = self.of(kind, project, 0)
            else:
                self._made[key] = np.asarray([self.parts.add(f"{rng.getrandbits(40):010x}x")]), 0
        return self._made[key]


def phrased(incident: Incident, parts: Parts, phrase: Phrase) -> np.ndarray:
    """Parts that hold the phrase and no counted term, by the incident's name."""
    rng = random.Random(f"{incident.name}/{phrase.text}")
    made = (parts.plain(rng, phrase.sentences, phrase=phrase.text) for _ in range(CARRIERS_FOR))
    return np.asarray([parts.add(text) for text in made])


def carriers(incident: Incident, parts: Parts, term: str) -> np.ndarray:
    """Parts that hold this counted term alone, by the incident's name."""
    rng = random.Random(f"{incident.name}/{term}")
    templates: Sequence[str] = incident.carriers.get(term, ())
    return np.asarray([parts.add(parts.carrier(rng, term, templates)) for _ in range(CARRIERS_FOR)])
