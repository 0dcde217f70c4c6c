"""The files of replicas as data: an incident's exact counts, or projects of notes. All frozen.

`terms` of an incident gives how many chunks have each term of its queries, exactly. `cells` are disjoint classes of
chunks by the set of those terms in them; chunks with one term alone are what remains of its count. Groups are
chunks of a stated make; they contain exactly the terms named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field

from workbench.sources.base import SourceError
from workbench.text import DEFAULT
from workbench.validation import checked, read_toml

MOST_ROWS = 10_000_000
MOST_TERMS = 32
"""A term set is one 32-bit number in the plan."""
MOST_NOTES = 1_000_000
COLUMNS = ("position", "length", "tf", "cosine", "project", "verbatim")
"""Of a recorded row in the file of a captured incident."""
UNKNOWN = "-"
"""A cosine that was not read: below the ceiling."""


class SpecError(SourceError):
    """An incident file that cannot be built; names the key."""


def _ascending(pair: tuple[float, float]) -> tuple[float, float]:
    if pair[0] > pair[1]:
        raise ValueError(f"must be two ascending numbers, not {list(pair)}")
    return pair


Terms = frozenset[str]
Texts = tuple[str, ...]
Some = Annotated[tuple[str, ...], Field(min_length=1)]
Rows = Annotated[int, Field(ge=0, le=MOST_ROWS)]
Place = Annotated[int, Field(ge=1, le=MOST_ROWS)]
Share = Annotated[float, Field(ge=0, le=1)]
Cosine = Annotated[float, Field(ge=-1, le=1)]
Count = Annotated[int, Field(ge=0)]
Kind = Literal["note", "activity", "commit", "transcript", "schedule"]
_CONFIG = ConfigDict(extra="forbid")


@dataclass(frozen=True)
class IncidentQuery:
    """A query of the incident as it was asked."""

    __pydantic_config__ = _CONFIG
    id: str
    text: str
    limit: Annotated[int, Field(ge=1, le=1000)] = 8
    filters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TargetChunk:
    """One chunk of the target: about so many characters, these turns among what is said in it."""

    __pydantic_config__ = _CONFIG
    characters: Annotated[int, Field(ge=1, le=1_000_000)]
    says: Texts = ()


@dataclass(frozen=True)
class Target:
    """The memory that was looked for. `position` is its first chunk's place in point-id order, 1-based."""

    __pydantic_config__ = _CONFIG
    entity: str
    title: str
    source: str
    project: str
    position: Place
    chunks: Annotated[tuple[TargetChunk, ...], Field(alias="chunk", min_length=1)] = (
        TargetChunk(1),
    )
    language: Literal["ro", "en"] = "ro"
    note_type: str = "recording"
    created: str = ""


@dataclass(frozen=True)
class Cell:
    """Filler chunks that contain exactly these terms, two or more. `least` remains when the size is scaled down."""

    __pydantic_config__ = _CONFIG
    holds: Annotated[Terms, Field(min_length=2)]
    rows: Rows
    least: int = 0


@dataclass(frozen=True)
class Group:
    """Short chunks of a stated make, embedded whole: a heading from `headings`, then sentences made from `bodies`,
    or from the filler's if there are none. `within` are fractions of the point-id order that they are in.
    """

    __pydantic_config__ = _CONFIG
    name: str
    rows: Rows
    headings: Some
    holds: Terms = frozenset()
    bodies: Texts = ()
    kind: Kind = "schedule"
    least: int = 0
    sentences: Annotated[tuple[int, int], AfterValidator(_ascending)] = (1, 1)
    projects: Texts = ()
    within: Annotated[tuple[Share, Share], AfterValidator(_ascending)] = (0.0, 1.0)


def _with_phrase(sentences: Texts) -> Texts:
    if not sentences or not all("{phrase}" in s for s in sentences):
        raise ValueError("must be one or more texts that hold {phrase}")
    return sentences


@dataclass(frozen=True)
class Phrase:
    """Words that occur verbatim, in one sentence, in so many chunks of the filler."""

    __pydantic_config__ = _CONFIG
    text: str
    rows: Rows
    least: int = 0
    sentences: Annotated[Texts, AfterValidator(_with_phrase)] = ()


@dataclass(frozen=True)
class Filler:
    """All the rest. Lengths are log-normal in terms; duplicates are shares of the filler.

    `average_by_target`: how many average lengths the target's first chunk is long; it sets the filler's mean.
    `average_terms`: the mean itself, if the target's length does not set it.
    `first_project` owns the filler in the first `first_share` of the point-id order, as what was imported first.
    `least_length`: by the number of counted terms in a chunk, its least length in average lengths.
    """

    __pydantic_config__ = _CONFIG
    projects: Some
    average_by_target: Annotated[float, Field(ge=0.05, le=100)] | None = None
    average_terms: Annotated[float, Field(ge=1, le=100_000)] | None = None
    spread: Annotated[float, Field(ge=0, le=3)] = 0.6
    shortest: Annotated[int, Field(ge=1, le=100_000)] = 40
    longest: Annotated[int, Field(ge=1, le=1_000_000)] = 1200
    near_duplicates: Annotated[float, Field(ge=0, le=0.9)] = 0.03
    exact_duplicates: Annotated[float, Field(ge=0, le=0.9)] = 0.007
    first_project: str = ""
    first_share: Share = 0.0
    least_length: tuple[float, ...] = ()


@dataclass(frozen=True)
class Checks:
    """What must be true of the collection, by query id; the build fails if it is not."""

    __pydantic_config__ = _CONFIG
    lexically_first: Texts = ()
    outside_semantic: Texts = ()


@dataclass(frozen=True)
class Limits:
    """How many rows each list of the incident's search has."""

    __pydantic_config__ = _CONFIG
    lexical: Annotated[int, Field(ge=1, le=100_000)] = 256
    semantic: Annotated[int, Field(ge=1, le=100_000)] = 256


@dataclass(frozen=True)
class KnownRow:
    """A chunk of a captured incident whose place, length and term counts were recorded.

    `tf` follows the order of `Incident.terms`; `cosine` is that to the query, None if it is only known to be
    below the captured ceiling; `verbatim` says where the query occurs verbatim: "", "content" or "source".
    """

    position: Count
    length: Count
    tf: tuple[Count, ...]
    cosine: Cosine | None
    project: str
    verbatim: Literal["", "content", "source"] = ""


@dataclass(frozen=True)
class Captured:
    """What was read from a live collection. Chunks that are not in `rows` contain term t only after place `after[t]`,
    and all terms together only after `after_all`; their cosines are normal around `cosine_mean`, always below
    `cosine_ceiling`; their BM25 score is below `bm25_ceiling`, if that is not 0. `ranks` are the target's, by
    variant and list, as they were recorded."""

    __pydantic_config__ = _CONFIG
    rows: tuple[KnownRow, ...]
    after: Mapping[str, int]
    after_all: int
    cosine_mean: Cosine
    cosine_spread: Share
    cosine_ceiling: Cosine
    bm25_ceiling: float
    ranks: Mapping[str, Mapping[str, int]]
    private: bool = False


@dataclass(frozen=True)
class Incident:
    """Everything that a replica is made from; `seed` is the default one."""

    __pydantic_config__ = _CONFIG
    name: str
    about: str
    size: Place
    seed: int
    queries: Annotated[tuple[IncidentQuery, ...], Field(alias="query", min_length=1)]
    terms: Annotated[Mapping[str, int], Field(min_length=1, max_length=MOST_TERMS)]
    target: Target
    filler: Filler
    cells: Annotated[tuple[Cell, ...], Field(alias="cell")] = ()
    groups: Annotated[tuple[Group, ...], Field(alias="group")] = ()
    phrases: Annotated[tuple[Phrase, ...], Field(alias="phrase")] = ()
    carriers: Mapping[str, Texts] = field(default_factory=dict)
    least: Mapping[str, int] = field(default_factory=dict)
    limits: Limits = Limits()
    checks: Checks = Checks()
    captured: Captured | None = None
    decoy: bool = False

    def query(self, query_id: str) -> IncidentQuery:
        return next(q for q in self.queries if q.id == query_id)


def read_incident(path: Path) -> Incident:
    """The incident of that file. Raises SpecError that names the key at fault."""
    data = {"about": "", "seed": 0, **read_toml(path, SpecError)}
    if isinstance(captured := data.get("captured"), dict):
        rows = enumerate(captured.get("rows", ()), 1)
        data["captured"] = {
            **{"after": {}, "after_all": 0, "bm25_ceiling": 0.0, "ranks": {}, **captured},
            "rows": [_named(row, n, str(path)) for n, row in rows],
        }
    incident = checked(Incident, data, str(path), SpecError)
    projects = incident.filler.projects
    groups = tuple(replace(g, projects=g.projects or projects) for g in incident.groups)
    incident = replace(incident, groups=groups)
    _consistent(incident, str(path))
    return incident


def _named(row: object, n: int, where: str) -> dict[str, object]:
    if not isinstance(row, list) or len(row) != len(COLUMNS):
        raise SpecError(
            f"captured row {n} must be [{', '.join(COLUMNS)}], not {row!r}", where=where
        )
    named = dict(zip(COLUMNS, row, strict=True))
    return {**named, "cosine": None if named["cosine"] == UNKNOWN else named["cosine"]}


def scaled(incident: Incident, size: int) -> Incident:
    """The incident at another size: counts and the target's place in proportion, none below its `least`.

    Raises SpecError for a captured incident, whose rows are at recorded places.
    """
    if size == incident.size:
        return incident
    if not 1 <= size <= MOST_ROWS:
        raise SpecError(f"a size of {size} is not within 1 to {MOST_ROWS}", where=incident.name)
    if incident.captured:
        raise SpecError(
            "a captured incident keeps its size", where=incident.name, do="Build it without --size"
        )
    share = size / incident.size

    def part(count: int, least: int) -> int:
        return min(count, max(round(count * share), least)) if share < 1 else round(count * share)

    last = size - len(incident.target.chunks) + 1
    position = min(max(1, round(incident.target.position * share)), last)
    out = replace(
        incident,
        size=size,
        terms={t: max(part(df, incident.least.get(t, 0)), 1) for t, df in incident.terms.items()},
        cells=tuple(replace(c, rows=part(c.rows, c.least)) for c in incident.cells),
        groups=tuple(replace(g, rows=part(g.rows, g.least)) for g in incident.groups),
        phrases=tuple(replace(p, rows=part(p.rows, p.least)) for p in incident.phrases),
        target=replace(incident.target, position=position),
    )
    _consistent(out, f"{incident.name} at {size}")
    return out


def _consistent(incident: Incident, where: str) -> None:
    """Raise SpecError for counts that cannot be met together and for names that nothing defines."""

    def fail(what: str, do: str = "") -> SpecError:
        return SpecError(what, where=where, do=do)

    for term, df in incident.terms.items():
        if DEFAULT.terms(term) != [term]:
            raise fail(
                f"{term!r} is no term of the tokenizer; it makes {DEFAULT.terms(term)} of it"
            )
        if df < 1:
            raise fail(f"{term!r} must occur in at least one chunk, not {df}")
        if df > incident.size:
            raise fail(f"{term!r} cannot occur in {df} of {incident.size} chunks")
    held = [t for part in (*incident.cells, *incident.groups) for t in sorted(part.holds)]
    if unknown := [t for t in (*held, *incident.carriers) if t not in incident.terms]:
        raise fail(f"{unknown[0]!r} is not among the counted terms {', '.join(incident.terms)}")
    if (incident.filler.average_by_target is None) == (incident.filler.average_terms is None):
        raise fail("give one of 'average_by_target' and 'average_terms'")
    for query in incident.queries:
        if missing := [t for t in DEFAULT.query_terms(query.text) if t not in incident.terms]:
            raise fail(
                f"query {query.id!r} has terms without a count: {', '.join(missing)}",
                "Add them to [terms]",
            )
    for query_id in (*incident.checks.lexically_first, *incident.checks.outside_semantic):
        if query_id not in {q.id for q in incident.queries}:
            raise fail(f"[checks] names an unknown query {query_id!r}")
    last = incident.target.position + len(incident.target.chunks) - 1
    if last > incident.size:
        raise fail(f"the target ends at place {last} of {incident.size}")
    rows = incident.captured.rows if incident.captured else ()
    places = [r.position for r in rows]
    if places != sorted(set(places)):
        raise fail("the captured rows must be in ascending order of their position, none twice")
    for n, row in enumerate(rows, 1):
        if len(row.tf) != len(incident.terms):
            raise fail(
                f"captured row {n} has {len(row.tf)} term counts in place of {len(incident.terms)}"
            )
        if sum(row.tf) > row.length:
            raise fail(f"captured row {n}: {sum(row.tf)} counted terms do not fit in {row.length}")


@dataclass(frozen=True)
class Project:
    """Exactly so many notes and chunks; `characters` is the notes' average length to the nearest whole."""

    __pydantic_config__ = _CONFIG
    name: str
    notes: Annotated[int, Field(ge=1, le=MOST_NOTES)]
    chunks: Annotated[int, Field(ge=1, le=100 * MOST_NOTES)]
    characters: Annotated[int, Field(ge=1, le=100_000_000)]

    def scaled(self, notes: int) -> Project:
        """The project with another number of notes, as many chunks per note as before."""
        return replace(self, notes=notes, chunks=round(self.chunks * notes / self.notes))


@dataclass(frozen=True, slots=True)
class Shape:
    """What a note is like. `spread` is the standard deviation of the logarithm of its chunks; a note has at most
    `most_chunks`. `observations` and `relations` are shares of all chunks. A note is made of at least `least_own`
    sentences of its own, and of so many more that each comes back `recurrence` times."""

    chunk_characters: Annotated[int, Field(ge=200, le=100_000)]
    spread: Annotated[float, Field(ge=0, le=3)]
    most_chunks: Annotated[int, Field(ge=1, le=1_000_000)]
    observations: Annotated[float, Field(ge=0, le=0.5)]
    relations: Annotated[float, Field(ge=0, le=0.4)]
    recurrence: Annotated[float, Field(ge=1, le=1_000)]
    least_own: Annotated[int, Field(ge=2, le=90)]


@dataclass(frozen=True)
class NotesSpec:
    """One file: its projects by name, the shape of their notes, and how many queries are made."""

    __pydantic_config__ = _CONFIG
    name: str
    projects: Annotated[tuple[Project, ...], Field(alias="project", min_length=1)]
    shape: Shape
    about: str = ""
    seed: int = 0
    queries: Annotated[int, Field(ge=0, le=10_000)] = 0

    def project(self, name: str = "") -> Project:
        """The project of that name, else the first. Raises SpecError that lists the known ones."""
        for project in self.projects:
            if name in ("", project.name):
                return project
        known = ", ".join(p.name for p in self.projects)
        raise SpecError(f"no project {name!r}", where=self.name, do=f"Known: {known}")


def is_notes_spec(path: Path) -> bool:
    """True if a TOML file describes notes and not an incident."""
    try:
        return "project" in read_toml(path, SpecError)
    except SpecError:
        return False


def read_notes_spec(path: Path) -> NotesSpec:
    """The file, every figure checked. Raises SpecError that names the key at fault."""
    spec = checked(NotesSpec, read_toml(path, SpecError), str(path), SpecError)
    for project in spec.projects:
        if project.chunks < project.notes:
            raise SpecError(
                f"{project.chunks} chunks are fewer than {project.notes} notes", where=str(path)
            )
    return spec
