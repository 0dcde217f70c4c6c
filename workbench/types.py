"""The vocabulary: value objects that every room speaks in. All are frozen; ranks are 1-based everywhere."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Literal

PointId = int | str
"""An unsigned integer, or a UUID as its canonical lower-case string: what Qdrant accepts."""

Mode = Literal["hybrid", "lexical", "semantic"]
MODES: tuple[Mode, ...] = ("hybrid", "lexical", "semantic")

FACETS = ("project", "note_type", "tags", "status", "created", "updated", "path")
"""The facets with a column of their own; every other one lives in `metadata`."""

SOURCE_TYPES = ("entity", "observation", "relation")


def point_order(point_id: PointId) -> tuple[int, PointId]:
    """Sort key of Qdrant's point-id order: integers ascending, then UUIDs ascending."""
    return (0, point_id) if isinstance(point_id, int) else (1, point_id)


def content_hash(*parts: Any) -> str:
    """sha256 hex of the parts as canonical JSON (sorted keys, no white space): equal inputs, equal hash."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Facets:
    """What a chunk can be filtered by. Times are ISO 8601 text as found; `metadata` is a flat free mapping."""

    project: str | None = None
    note_type: str | None = None
    tags: tuple[str, ...] = ()
    status: str | None = None
    created: str | None = None
    updated: str | None = None
    path: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Chunk:
    """The retrieval unit. Its key is (source_type, entity_id, chunk_index); its id is shared by both stores.

    `text` is what is embedded, indexed and shown; `source` is where it came from, as the records match it;
    `links` are (kind, target) pairs found in the text.
    """

    id: PointId
    entity_id: str
    chunk_index: int
    text: str
    title: str = ""
    source: str = ""
    source_type: str = "entity"
    facets: Facets = field(default_factory=Facets)
    links: tuple[tuple[str, str], ...] = ()

    @property
    def key(self) -> tuple[str, str, int]:
        return (self.source_type, self.entity_id, self.chunk_index)


LARGEST = 2**62
"""Of a limit and of an offset, so that their sum is an integer of every engine."""


@dataclass(frozen=True, slots=True)
class Query:
    """A request: any string is a valid text. `filters` maps a facet, `source_type`, or a metadata key to one
    value or a list of values (any of them); several filters all hold. `limit` and `offset` count results."""

    text: str
    filters: Mapping[str, Any] = field(default_factory=dict)
    limit: int = 8
    offset: int = 0
    mode: Mode = "hybrid"

    def __post_init__(self) -> None:
        from workbench.errors import BadParameter

        if not isinstance(self.text, str):
            raise BadParameter(f"a query's text must be a string, not {type(self.text).__name__}")
        if self.mode not in MODES:
            raise BadParameter(f"unknown mode {self.mode!r}", do=f"Use one of {', '.join(MODES)}")
        for name, value, least in (("limit", self.limit, 1), ("offset", self.offset, 0)):
            if not isinstance(value, int) or isinstance(value, bool):
                raise BadParameter(
                    f"a query's {name} must be an integer, not {type(value).__name__}"
                )
            if not least <= value <= LARGEST:
                raise BadParameter(
                    f"limit and offset must be at least 1 and 0 and at most {LARGEST}; {name} is {value}"
                )
        if not isinstance(self.filters, Mapping) or not all(
            isinstance(name, str) for name in self.filters
        ):
            raise BadParameter(
                "a query's filters must be a mapping of names to values",
                do="Write {'project': 'a'}",
            )
        object.__setattr__(self, "filters", MappingProxyType(dict(self.filters)))

    @property
    def normalised(self) -> str:
        """The text that is embedded, split and looked for verbatim, without outer white space.

        Marks that end a sentence (`?`, `.`, `!` and their full-width forms) are cut from its end, so that none
        of them changes a result.
        """
        return self.text.strip().rstrip(" \t\r\n?.!？．！。")


@dataclass(frozen=True, slots=True)
class Ranking:
    """An ordered list of (id, score) from one channel or fusion, best first, and the rule that broke its ties.

    `ids` and `scores` have the same length; no id stands twice.
    """

    name: str
    ids: tuple[PointId, ...]
    scores: tuple[float, ...]
    tie_rule: str = "score descending, then point id ascending"

    def __len__(self) -> int:
        return len(self.ids)

    def ranks(self) -> dict[PointId, int]:
        """Id to rank, 1-based."""
        return {point_id: rank for rank, point_id in enumerate(self.ids, 1)}

    @classmethod
    def ordered(cls, name: str, scored: Mapping[PointId, float]) -> Ranking:
        """The ranking of a score mapping by the default tie rule: score descending, then point id ascending."""
        pairs = sorted(scored.items(), key=lambda p: (-p[1], point_order(p[0])))
        return cls(name, tuple(i for i, _ in pairs), tuple(s for _, s in pairs))


@dataclass(frozen=True, slots=True)
class Span:
    """What one stage did: wall seconds, rows and bytes that crossed from the engine, and what a limit dropped.

    `engine` is "qdrant", "duckdb", "sqlite", "model" or "" for our own Python; `call` is the engine's verb
    ("scroll", "count", "query", "sql", "embed"). `dropped` counts rows that `limit` (named) cut off;
    None where the engine does not tell how many there were.
    """

    stage: str
    call: str
    engine: str = ""
    seconds: float = 0.0
    rows: int = 0
    bytes: int = 0
    limit: str = ""
    dropped: int | None = 0
    note: str = ""


@dataclass(frozen=True, slots=True)
class Hit:
    """One result row. `ranks` and `scores` are per list by list name; `contributions` sum to `score` exactly
    for the fusions that add up; `match` holds "lexical", "semantic" or both."""

    rank: int
    id: PointId
    score: float
    match: tuple[str, ...]
    ranks: Mapping[str, int]
    scores: Mapping[str, float]
    contributions: Mapping[str, float]
    chunk: Chunk | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """Ranking, trace and cost of one search: explain and counterfactual read this, and never search again.

    `lists` are the frozen channel lists to the depth that was retrieved, `fused` the whole fused ranking
    (before limit and offset), `hits` the page. `evidence` maps a list name to data its stage kept
    (candidates in the engine's order, terms, counts). `inputs` are the content hashes that made it.
    """

    query: Query
    variant: str
    hits: tuple[Hit, ...]
    fused: Ranking
    lists: tuple[Ranking, ...]
    spans: tuple[Span, ...]
    evidence: Mapping[str, Any]
    inputs: Mapping[str, str]

    @property
    def seconds(self) -> float:
        return sum(s.seconds for s in self.spans if s.call == "search")

    def calls(self, call: str, engine: str | None = None) -> list[Span]:
        """The spans of one engine verb."""
        return [s for s in self.spans if s.call == call and engine in (None, s.engine)]

    def rank_of(self, point_id: PointId) -> int | None:
        """1-based rank in the whole fused ranking, None where absent."""
        return self.fused.ranks().get(point_id)


def as_plain(value: Any) -> Any:
    """A value object as JSON-ready data: dataclasses to dicts, tuples to lists, mappings to dicts."""
    if hasattr(value, "__dataclass_fields__"):
        return {f.name: as_plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(k): as_plain(v) for k, v in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [as_plain(v) for v in value]
    return value
