"""The parts of made notes: sentences of the shared pool, titles, section headings, observations."""

from __future__ import annotations

import random

import numpy as np

from workbench.sources.replica.parts import Parts
from workbench.sources.replica.pool import Pool, made_pool
from workbench.sources.replica.sentences import fields, substitute
from workbench.sources.replica.words import SUBJECTS

TITLES = (
    "{Thing} and {thing2}", "{Thing}: {outcome}", "Why {thing} {trouble}", "Notes on {thing} with {person}",
    "{Thing} {when}", "{person} on {thing} {when}", "{Thing} as {person} and {person2} see it",
)  # fmt: skip
SECTIONS = ("On {thing}", "What {thing} needs", "Open points about {thing}", "{person} and {thing}", "Before {thing2}",
            "If {thing} {trouble}", "{file}", "Summary", "Next steps for {thing}", "What changed {when}")  # fmt: skip
SECTIONS_A_SUBJECT = 24
CATEGORIES = ("decision", "fact", "idea", "problem", "method")
OBSERVATIONS_A_GROUP = 24
"""Different observations that notes of one kind and subject make; each is embedded once."""

RELATION_NAMES = ("relates to", "depends on", "follows", "contradicts")
RELATION_LENGTHS = np.asarray([len(name) for name in RELATION_NAMES])
RELATION_MARKS = len("\n-  [[]]")


class Titles(Parts):
    """Parts with the numbers of the notes' own: `section` (subjects, SECTIONS_A_SUBJECT) headings, `observation`
    (groups, OBSERVATIONS_A_GROUP) lines without their list mark."""

    section: np.ndarray
    observation: np.ndarray

    @property
    def characters(self) -> np.ndarray:
        """(parts,) lengths in characters."""
        return np.asarray([len(t) for t in self.texts], np.int64)


def note_parts(words: random.Random, subject: np.ndarray) -> tuple[Titles, Pool, np.ndarray]:
    """(parts, pool of sentences, title part of each note); titles are distinct."""
    parts = Titles(())
    pool = made_pool(parts)
    parts.section = np.asarray([[parts.add(t) for t in _sections(n)] for n in range(len(SUBJECTS))])
    parts.observation = np.asarray([_observed(parts, pool, g) for g in range(len(pool.first))])
    return parts, pool, np.asarray([parts.add(t) for t in _titles(words, subject)])


def _sections(subject: int) -> list[str]:
    rng = random.Random(f"sections/{SUBJECTS[subject].name}")
    found: dict[str, None] = {}
    while len(found) < SECTIONS_A_SUBJECT:
        found[substitute(rng.choice(SECTIONS), fields(rng, SUBJECTS[subject]))] = None
    return list(found)


def _observed(parts: Titles, pool: Pool, group: int) -> list[int]:
    """Every fourth sentence of a group, each under one category."""
    rng = random.Random(f"observations/{group}")
    step = max(int(pool.size[group]) // OBSERVATIONS_A_GROUP, 1)
    numbers = [int(pool.first[group]) + n * step % int(pool.size[group]) for n in range(OBSERVATIONS_A_GROUP)]
    return [parts.once(f"[{rng.choice(CATEGORIES)}] {parts.texts[n]}") for n in numbers]


def _titles(words: random.Random, subject: np.ndarray) -> list[str]:
    """A title a note; one that was taken already is told apart by a number."""
    times: dict[str, int] = {}
    out = []
    for number in subject.tolist():
        title = substitute(words.choice(TITLES), fields(words, SUBJECTS[number]))
        times[title] = times.get(title, 0) + 1
        out.append(title if times[title] == 1 else f"{title} ({times[title]})")
    return out
