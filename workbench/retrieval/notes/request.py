"""What an engine is asked and what it answers, the same for every engine: ids first, text for the page only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from workbench.errors import BadParameter
from workbench.registry import Stage
from workbench.retrieval.fusions import max_min
from workbench.text import Tokenizer
from workbench.types import PointId

if TYPE_CHECKING:
    import numpy as np

Returns = Literal["itself", "note"]
RETURNS: tuple[Returns, ...] = ("itself", "note")

TIE_RULE = "score descending, then type, then id"

Key = tuple[str, str]
"""(type, id): what a row of the ranking is."""

EVERY = 2**31 - 1
"""A leg's k where nothing is to be cut: catalog ids have 32 bits."""


@dataclass(frozen=True, slots=True)
class Floors:
    """The weak-match floors of the vector leg, as cosines; None asks nothing.

    `every`: a chunk below it is not in the vector leg. `unsupported`: a row that full text does not support needs
    it. `alone`: where full text finds nothing at all, a row needs it (default: `unsupported`).
    """

    every: float | None = None
    unsupported: float | None = None
    alone: float | None = None

    def __post_init__(self) -> None:
        for name in ("every", "unsupported", "alone"):
            value = getattr(self, name)
            if value is not None and not -1 <= value <= 1:
                raise BadParameter(f"the floor {name} is {value}", do="A cosine lies within -1 to 1")

    def of_unsupported(self, *, alone: bool) -> float | None:
        """The floor of a row that full text does not support; `alone`: it supports none at all."""
        return self.alone if alone and self.alone is not None else self.unsupported


@dataclass(frozen=True, slots=True)
class Ask:
    """One search as an engine gets it. A repeated term counts as often in the full-text leg. `first` and `last` are 0-based: rows first … last, `last` being the one
    that tells of a next page. `chunks` is how many of a row's best chunks are named."""

    terms: tuple[str, ...]
    vector: np.ndarray | None
    filters: Mapping[str, Any]
    k_fts: int
    k_vec: int
    first: int
    last: int
    fusion: Stage = field(default_factory=max_min)
    floors: Floors = Floors()
    returns: Returns = "itself"
    chunks: int = 1

    @property
    def uncut(self) -> Ask:
        """The same with legs that nothing cuts."""
        return replace(self, k_fts=EVERY, k_vec=EVERY, floors=Floors())


class Ranked(NamedTuple):
    """A row of the ranking: ids only. `chunks` are the rows' catalog ids, best first; `best` is the first."""

    type: str
    id: str
    score: float
    chunks: tuple[int, ...]

    @property
    def best(self) -> int:
        return self.chunks[0]


@dataclass(frozen=True, slots=True)
class Found:
    """The answer to an Ask: rows in order, and how many chunks each leg admitted."""

    rows: tuple[Ranked, ...]
    fts: int
    vec: int


class Shown(NamedTuple):
    """A row's text for the page, each part capped."""

    point_id: PointId
    title: str
    path: str
    note_type: str
    excerpt: str


class Leg(NamedTuple):
    """A chunk of one leg at the trace level `lists`: its point, 1-based rank, score, and its key (type, entity, chunk index)."""

    point_id: PointId
    rank: int
    score: float
    type: str
    entity_id: str
    chunk_index: int


class Engine(Protocol):
    """A store that ranks in one statement and materialises late. Another one (Postgres with pgvector) stands
    behind the same five functions."""

    name: str
    dim: int
    tokenizer: Tokenizer

    def ranked(self, ask: Ask) -> Found:
        """Both legs, filtered, fused and grouped by (type, id), in one statement; ids only.

        Score descending, then type, then id; a leg's own ties by chunk.
        """

    def legs(self, ask: Ask) -> tuple[list[Leg], list[Leg]]:
        """The full-text and the vector leg of an ask, each score descending, then chunk."""

    def place(self, ask: Ask, row: Key) -> tuple[Leg | None, Leg | None]:
        """The best chunk of a row in each leg as if nothing cut it, neither k nor a floor; None where it is not in it.

        Two exact queries over all that the filters admit, for an explanation.
        """

    def page(self, rows: Sequence[Ranked], excerpt_chars: int, label_chars: int) -> list[Shown]:
        """The page's text in the order of the rows, cut in the engine."""

    def documents(self, chunks: Sequence[int], chars: int) -> list[str]:
        """The texts of these chunks in their order, each cut to `chars` in the engine."""

    def close(self) -> None: ...
