"""Chunks of a captured incident: texts with exactly the recorded length and term counts, and no word of the original."""

from __future__ import annotations

import random

from workbench.sources.replica.parts import Parts
from workbench.sources.replica.pool import Pool
from workbench.sources.replica.spec import Incident, KnownRow
from workbench.sources.replica.tables import SpecError
from workbench.text import DEFAULT

# A mark that no query is made of by accident stands between bare terms, so that they form no phrase.
BETWEEN = " · "
PAD_WORDS = tuple(["amber", "basil", "cedar", "dune", "ember", "fern", "grove", "heath", "iris", "juniper", "kelp", "larch", "moss", "nettle", "oak", "pine"])


def known_row(incident: Incident, row: KnownRow, parts: Parts, sentences: Pool, rng: random.Random) -> list[int]:
    """The parts of one recorded chunk. A verbatim one begins with the first query's text."""
    out: list[int] = []
    left = {t: c for t, c in zip(incident.terms, row.tf, strict=True) if c}
    length = row.length
    if row.verbatim == "content":
        phrase = incident.queries[0].text
        out.append(parts.add(phrase))
        length -= parts.length_of(phrase)
        for term in DEFAULT.terms(phrase):
            left[term] = left.get(term, 0) - 1
        if min(left.values(), default=0) < 0 or length < 0:
            raise SpecError(f"the chunk at {row.position} holds the query verbatim, but not all its terms",
                            where=incident.name)  # fmt: skip
    bare = [t for t, c in left.items() for _ in range(c)]
    if bare:
        out.append(parts.add(BETWEEN.join(reversed(bare))))
        length -= len(bare)
    group = rng.randrange(len(sentences.first))
    at = rng.randrange(int(sentences.size[group]))
    lengths = parts.lengths_so_far
    while length > 0:
        number = int(sentences.first[group]) + at
        if lengths[number] > length:
            break
        out.append(number)
        length -= lengths[number]
        at = (at + 1) % int(sentences.size[group])
    if length:
        out.append(pad(parts, length))
    # A chunk without terms still has a text.
    return out or [parts.once("…")]


def pad(parts: Parts, words: int) -> int:
    """A part of exactly that many uncounted words."""
    free = [w for w in PAD_WORDS if not parts.held(w)]
    return parts.once(" ".join(free[n % len(free)] for n in range(words)))
