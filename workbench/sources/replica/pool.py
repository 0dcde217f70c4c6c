"""Sentences as parts: made ones by kind and subject, or those of another collection; none holds a counted term."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from math import gcd

import numpy as np

from workbench.sources.replica.parts import Parts
from workbench.sources.replica.sentences import KINDS, pool
from workbench.sources.replica.tables import SpecError
from workbench.sources.replica.words import SUBJECTS

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
        return [np.asarray([1] if self.in_order else [s for s in range(1, n + 1) if gcd(s, n) == 1]) for n in self.size]


def made_pool(parts: Parts) -> Pool:
    """The made sentences. Raises SpecError where the counted terms leave a group without any."""
    first, size = [], []
    groups = np.empty((len(KINDS), len(SUBJECTS)), np.int32)
    for k, kind in enumerate(KINDS):
        for s, subject in enumerate(SUBJECTS):
            fit = [t for t in pool()[kind, subject.name] if not parts.held(t)]
            if len(fit) < 2:
                raise SpecError(f"the counted terms leave no sentences of kind {kind} about {subject.name}",
                                do="Use --filler with another collection's texts")  # fmt: skip
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
        raise SpecError(f"the filler texts have only {len(found)} sentences without the counted terms")
    numbers = [parts.add(t) for t in found[:MOST_FOREIGN]]
    one = np.zeros((len(KINDS), len(SUBJECTS)), np.int32)
    return Pool(np.asarray([numbers[0]]), np.asarray([len(numbers)]), one, in_order=True)


def _fits(parts: Parts, piece: str) -> bool:
    return _SENTENCE_TERMS[0] <= parts.length_of(piece) <= _SENTENCE_TERMS[1]
