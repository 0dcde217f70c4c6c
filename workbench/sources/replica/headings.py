"""Headings and carriers: the parts that hold counted terms, shared by many chunks so that each is embedded once."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from workbench.sources.replica.dates import dateable
from workbench.sources.replica.parts import Parts
from workbench.sources.replica.sentences import HEADINGS, KINDS
from workbench.sources.replica.spec import Incident, Phrase

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
            made = [self.parts.heading(rng, HEADINGS[KINDS[kind]], terms, named) for _ in range(wanted)]
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
