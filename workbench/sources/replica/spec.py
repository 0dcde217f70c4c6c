"""An incident as data: sizes, exact document frequencies, co-occurrence, target, filters and limits. All frozen.

The terms of every query are counted exactly: `terms` gives how many chunks hold each. `cells` are disjoint
classes of chunks by the set of those terms that they hold; chunks that hold one term alone are what remains of
its count. Groups are chunks of a stated make; they hold exactly the terms named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Terms = frozenset[str]


@dataclass(frozen=True, slots=True)
class IncidentQuery:
    """A query of the incident as it was asked."""

    id: str
    text: str
    limit: int = 8
    filters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TargetChunk:
    """One chunk of the target: about so many characters, these turns among what is said in it."""

    characters: int
    says: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Target:
    """The memory that was looked for. `position` is its first chunk's place in point-id order, 1-based."""

    entity: str
    title: str
    source: str
    project: str
    position: int
    chunks: tuple[TargetChunk, ...]
    language: str = "ro"
    note_type: str = "recording"
    created: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """Filler chunks that hold exactly these terms, two or more. `least` is kept when the size is scaled down."""

    holds: Terms
    rows: int
    least: int = 0


@dataclass(frozen=True, slots=True)
class Group:
    """Short chunks of a stated make, embedded whole: a heading from `headings`, then sentences made from `bodies`,
    or from the filler's where there are none. `within` are fractions of the point-id order that they stand in.
    """

    name: str
    rows: int
    holds: Terms
    headings: tuple[str, ...]
    bodies: tuple[str, ...] = ()
    kind: str = "schedule"
    least: int = 0
    sentences: tuple[int, int] = (1, 1)
    projects: tuple[str, ...] = ()
    within: tuple[float, float] = (0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words that stand verbatim, in one sentence, in so many chunks of the filler."""

    text: str
    rows: int
    least: int = 0
    sentences: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Filler:
    """All the rest. Lengths are log-normal in terms; duplicates are shares of the filler.

    `average_by_target`: how many average lengths the target's first chunk is long; it sets the filler's mean.
    `average_terms`: the mean itself, where the target's length does not set it.
    `first_project` owns the filler in the first `first_share` of the point-id order, as what was imported first.
    `least_length`: by the number of counted terms that a chunk holds, its least length in average lengths.
    """

    projects: tuple[str, ...]
    average_by_target: float | None = None
    average_terms: float | None = None
    spread: float = 0.6
    shortest: int = 40
    longest: int = 1200
    near_duplicates: float = 0.03
    exact_duplicates: float = 0.007
    first_project: str = ""
    first_share: float = 0.0
    least_length: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Checks:
    """What must be true of the collection, by query id; the build fails where it is not."""

    lexically_first: tuple[str, ...] = ()
    outside_semantic: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KnownRow:
    """A chunk of a captured incident whose place, length and term counts were recorded.

    `tf` follows the order of `Incident.terms`; `cosine` is that to the query, None where it is only known to be
    below the captured ceiling; `verbatim` says where the query stands verbatim: "", "content" or "source".
    """

    position: int
    length: int
    tf: tuple[int, ...]
    cosine: float | None
    project: str
    verbatim: str = ""


@dataclass(frozen=True, slots=True)
class Captured:
    """What was read from a live collection. Chunks that are not in `rows` hold term t only after place `after[t]`,
    and all terms together only after `after_all`; their cosines are normal around `cosine_mean`, always below
    `cosine_ceiling`; their BM25 score is below `bm25_ceiling`, where that is not 0. `ranks` are the target's, by variant and list, as they were recorded."""

    rows: tuple[KnownRow, ...]
    after: Mapping[str, int]
    after_all: int
    cosine_mean: float
    cosine_spread: float
    cosine_ceiling: float
    bm25_ceiling: float
    ranks: Mapping[str, Mapping[str, int]]
    private: bool = False


@dataclass(frozen=True, slots=True)
class Incident:
    """Everything that a replica is made from; `seed` is the default one."""

    name: str
    about: str
    size: int
    seed: int
    queries: tuple[IncidentQuery, ...]
    terms: Mapping[str, int]
    target: Target
    filler: Filler
    cells: tuple[Cell, ...] = ()
    groups: tuple[Group, ...] = ()
    phrases: tuple[Phrase, ...] = ()
    carriers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    least: Mapping[str, int] = field(default_factory=dict)
    lexical_limit: int = 256
    semantic_limit: int = 256
    checks: Checks = field(default_factory=Checks)
    captured: Captured | None = None
    decoy: bool = False

    def query(self, query_id: str) -> IncidentQuery:
        return next(q for q in self.queries if q.id == query_id)
