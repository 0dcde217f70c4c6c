"""An incident as data: sizes, exact document frequencies, co-occurrence, target, filters and limits. All frozen.

The terms of every query are counted exactly: `terms` gives how many chunks hold each. `cells` are disjoint
classes of chunks by the set of those terms that they hold; chunks that hold one term alone are what remains of
its count. Groups are chunks of a stated make; they hold exactly the terms named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from workbench.sources.replica.tables import SpecError, Table
from workbench.sources.replica.wording import KINDS
from workbench.text import DEFAULT

# ---- An incident as data: sizes, exact document frequencies, co-occurrence, target, filters ----

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


# ---- The part of an incident file that a capture wrote: recorded chunks, one line each ----

UNKNOWN = "-"
"""A cosine that was not read: below the ceiling."""
COLUMNS = ("position", "length", "tf", "cosine", "project", "verbatim")


def read_captured(table: Table, terms: int) -> Captured | None:
    """The captured part, None where the file has none."""
    if not table.left():
        return None
    rows = []
    for n, values in enumerate(table.take("rows", list), 1):
        rows.append(_row(table, n, values, terms))
    places = [r.position for r in rows]
    if places != sorted(set(places)):
        raise table.fail("the rows must stand in ascending order of their position, none twice")
    captured = Captured(
        tuple(rows), table.table("after").mapping(int), table.take("after_all", int, 0),
        table.number("cosine_mean", float, -1, 1), table.number("cosine_spread", float, 0, 1),
        table.number("cosine_ceiling", float, -1, 1), table.take("bm25_ceiling", float, 0.0),
        {k: v.mapping(int) for k, v in _nested(table.table("ranks"))}, table.take("private", bool, False),
    )  # fmt: skip
    table.done()
    return captured


def _nested(table: Table) -> list[tuple[str, Table]]:
    return [(key, table.table(key)) for key in table.left()]


def _row(table: Table, n: int, values: object, terms: int) -> KnownRow:
    if not isinstance(values, list) or len(values) != len(COLUMNS):
        raise table.fail(f"row {n} must be [{', '.join(COLUMNS)}], not {values!r}")
    position, length, tf, cosine, project, verbatim = values
    whole = all(type(v) is int and v >= 0 for v in (position, length)) and isinstance(tf, list)
    if not whole or len(tf) != terms or not all(type(v) is int and v >= 0 for v in tf):
        raise table.fail(
            f"row {n}: position, length and {terms} term counts must be whole numbers, not {values!r}"
        )
    unknown = cosine == UNKNOWN
    if not (unknown or type(cosine) in (int, float) and -1 <= cosine <= 1) or not isinstance(
        project, str
    ):
        raise table.fail(
            f"row {n}: the cosine must be within -1 to 1 or {UNKNOWN!r}, the project a string, not {values!r}"
        )
    if verbatim not in ("", "content", "source"):
        raise table.fail(
            f"row {n}: verbatim must be empty, 'content' or 'source', not {verbatim!r}"
        )
    if sum(tf) > length:
        raise table.fail(f"row {n}: {sum(tf)} counted terms do not fit in {length}")
    return KnownRow(
        position, length, tuple(tf), None if unknown else float(cosine), project, verbatim
    )


# ---- From a TOML file to an incident, every figure checked; and the same incident at anothe ----

MOST_ROWS = 10_000_000
MOST_TERMS = 32
"""A term set is one 32-bit number in the plan."""


def read_incident(path: Path) -> Incident:
    """The incident of that file. Raises SpecError that names the key at fault."""
    root = Table.read(path)
    filler = _filler(root.table("filler", needed=True))
    terms = _terms(root.table("terms", needed=True))
    incident = Incident(
        name=root.take("name", str), about=root.take("about", str, ""),
        size=root.number("size", int, 1, MOST_ROWS), seed=root.take("seed", int, 0),
        queries=tuple(_query(t) for t in root.tables("query")), terms=terms,
        target=_target(root.table("target", needed=True)), filler=filler,
        cells=tuple(_cell(t, terms) for t in root.tables("cell")),
        groups=tuple(_group(t, terms, filler) for t in root.tables("group")),
        phrases=tuple(_phrase(t) for t in root.tables("phrase")),
        carriers=_carriers(root.table("carriers"), terms),
        least=root.table("least").mapping(int),
        **_limits(root.table("limits")), checks=_checks(root.table("checks")),
        captured=read_captured(root.table("captured"), len(terms)), decoy=root.take("decoy", bool, False),
    )  # fmt: skip
    root.done()
    _consistent(incident, str(path))
    return incident


def scaled(incident: Incident, size: int) -> Incident:
    """The incident at another size: counts and the target's place in proportion, none below its `least`.

    Raises SpecError for a captured incident, whose rows stand at recorded places.
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

    out = replace(
        incident, size=size,
        terms={t: max(part(df, incident.least.get(t, 0)), 1) for t, df in incident.terms.items()},
        cells=tuple(replace(c, rows=part(c.rows, c.least)) for c in incident.cells),
        groups=tuple(replace(g, rows=part(g.rows, g.least)) for g in incident.groups),
        phrases=tuple(replace(p, rows=part(p.rows, p.least)) for p in incident.phrases),
        target=replace(incident.target, position=min(
            max(1, round(incident.target.position * share)), size - len(incident.target.chunks) + 1
        )),
    )  # fmt: skip
    _consistent(out, f"{incident.name} at {size}")
    return out


def _terms(table: Table) -> dict[str, int]:
    terms = table.mapping(int)
    if not 1 <= len(terms) <= MOST_TERMS:
        raise table.fail(f"{len(terms)} terms; from 1 to {MOST_TERMS} can be counted")
    for term, df in terms.items():
        if DEFAULT.terms(term) != [term]:
            raise table.fail(
                f"{term!r} is no term of the tokenizer; it makes {DEFAULT.terms(term)} of it"
            )
        if df < 1:
            raise table.fail(f"{term!r} must stand in at least one chunk, not {df}")
    return terms


def _query(table: Table) -> IncidentQuery:
    query = IncidentQuery(
        table.take("id", str), table.take("text", str), table.number("limit", int, 1, 1000, 8),
        table.table("filters").mapping(str),
    )  # fmt: skip
    table.done()
    return query


def _target(table: Table) -> Target:
    chunks = []
    for chunk in table.tables("chunk"):
        chunks.append(
            TargetChunk(chunk.number("characters", int, 1, 1_000_000), chunk.words("says", ()))
        )
        chunk.done()
    target = Target(
        entity=table.take("entity", str), title=table.take("title", str), source=table.take("source", str),
        project=table.take("project", str), position=table.number("position", int, 1, MOST_ROWS),
        chunks=tuple(chunks) or (TargetChunk(1),), language=table.take("language", str, "ro"),
        note_type=table.take("note_type", str, "recording"), created=table.take("created", str, ""),
    )  # fmt: skip
    if target.language not in ("ro", "en"):
        raise table.fail(
            f"no conversation in {target.language!r} is written; there are 'ro' and 'en'"
        )
    table.done()
    return target


def _holds(table: Table, terms: Mapping[str, int]) -> Terms:
    held = table.words("holds", ())
    for term in held:
        if term not in terms:
            raise table.fail(f"{term!r} is not among the counted terms {', '.join(terms)}")
    return frozenset(held)


def _cell(table: Table, terms: Mapping[str, int]) -> Cell:
    cell = Cell(
        _holds(table, terms), table.number("rows", int, 0, MOST_ROWS), table.take("least", int, 0)
    )
    if len(cell.holds) < 2:
        raise table.fail(
            "a cell holds two terms or more; chunks that hold one are what remains of its count"
        )
    table.done()
    return cell


def _group(table: Table, terms: Mapping[str, int], filler: Filler) -> Group:
    group = Group(
        name=table.take("name", str), rows=table.number("rows", int, 0, MOST_ROWS), holds=_holds(table, terms),
        headings=table.words("headings"), bodies=table.words("bodies", ()), kind=table.take("kind", str, "schedule"), least=table.take("least", int, 0),
        sentences=table.pair("sentences", int, (1, 1)), projects=table.words("projects", ()) or filler.projects,
        within=table.pair("within", float, (0.0, 1.0)),
    )  # fmt: skip
    if group.kind not in KINDS:
        raise table.fail(f"no kind {group.kind!r}; there are {', '.join(KINDS)}")
    if not group.headings:
        raise table.fail("a group needs at least one heading")
    if not 0 <= group.within[0] < group.within[1] <= 1:
        raise table.fail(f"'within' must be two fractions of the order, not {group.within}")
    table.done()
    return group


def _phrase(table: Table) -> Phrase:
    phrase = Phrase(
        table.take("text", str), table.number("rows", int, 0, MOST_ROWS), table.take("least", int, 0),
        table.words("sentences"),
    )  # fmt: skip
    if not phrase.sentences or not all("{phrase}" in s for s in phrase.sentences):
        raise table.fail("'sentences' must be one or more texts that hold {phrase}")
    table.done()
    return phrase


def _filler(table: Table) -> Filler:
    filler = Filler(
        projects=table.words("projects"), average_by_target=table.number("average_by_target", float, 0.05, 100, None),
        average_terms=table.number("average_terms", float, 1, 100_000, None),
        spread=table.number("spread", float, 0, 3, 0.6), shortest=table.number("shortest", int, 1, 100_000, 40),
        longest=table.number("longest", int, 1, 1_000_000, 1200),
        near_duplicates=table.number("near_duplicates", float, 0, 0.9, 0.03),
        exact_duplicates=table.number("exact_duplicates", float, 0, 0.9, 0.007),
        first_project=table.take("first_project", str, ""), first_share=table.number("first_share", float, 0, 1, 0.0),
        least_length=tuple(float(x) for x in table.take("least_length", list, [])),
    )  # fmt: skip
    if not filler.projects:
        raise table.fail("'projects' needs at least one name")
    if (filler.average_by_target is None) == (filler.average_terms is None):
        raise table.fail("give one of 'average_by_target' and 'average_terms'")
    table.done()
    return filler


def _carriers(table: Table, terms: Mapping[str, int]) -> dict[str, tuple[str, ...]]:
    out = {}
    for term in table.left():
        if term not in terms:
            raise table.fail(f"{term!r} is not among the counted terms {', '.join(terms)}")
        out[term] = table.words(term)
    table.done()
    return out


def _limits(table: Table) -> dict[str, int]:
    limits = {
        f"{name}_limit": table.number(name, int, 1, 100_000, 256)
        for name in ("lexical", "semantic")
    }
    table.done()
    return limits


def _checks(table: Table) -> Checks:
    checks = Checks(table.words("lexically_first", ()), table.words("outside_semantic", ()))
    table.done()
    return checks


def _consistent(incident: Incident, where: str) -> None:
    """What no single key shows: counts that cannot be met together, places outside the collection."""
    if not incident.queries:
        raise SpecError("an incident needs at least one [[query]]", where=where)
    known = {q.id for q in incident.queries}
    for query in incident.queries:
        missing = [t for t in DEFAULT.query_terms(query.text) if t not in incident.terms]
        if missing:
            raise SpecError(f"query {query.id!r} has terms without a count: {', '.join(missing)}", where=where,
                            do="Add them to [terms]")  # fmt: skip
    for query_id in (*incident.checks.lexically_first, *incident.checks.outside_semantic):
        if query_id not in known:
            raise SpecError(f"[checks] names an unknown query {query_id!r}", where=where)
    last = incident.target.position + len(incident.target.chunks) - 1
    if last > incident.size:
        raise SpecError(f"the target ends at place {last} of {incident.size}", where=where)
    for term, df in incident.terms.items():
        if df > incident.size:
            raise SpecError(f"{term!r} cannot stand in {df} of {incident.size} chunks", where=where)


# ---- A notes replica's file as data: how many notes and chunks a project has, and the shape ----

MOST_NOTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Project:
    """Exactly so many notes and chunks; `characters` is the notes' average length to the nearest whole."""

    name: str
    notes: int
    chunks: int
    characters: int


@dataclass(frozen=True, slots=True)
class Shape:
    """What a note is like. `spread` is the standard deviation of the logarithm of its chunks; a note has at most
    `most_chunks`. `observations` and `relations` are shares of all chunks. A note is made of at least `least_own`
    sentences of its own, and of so many more that each comes back `recurrence` times."""

    chunk_characters: int
    spread: float
    most_chunks: int
    observations: float
    relations: float
    recurrence: float
    least_own: int


@dataclass(frozen=True, slots=True)
class NotesSpec:
    """One file: its projects by name, the shape of their notes, and how many queries are made."""

    name: str
    about: str
    seed: int
    projects: tuple[Project, ...]
    shape: Shape
    queries: int

    def project(self, name: str = "") -> Project:
        """The project of that name, the first where none is named. Raises SpecError that lists the known ones."""
        for project in self.projects:
            if name in ("", project.name):
                return project
        known = ", ".join(p.name for p in self.projects)
        raise SpecError(f"no project {name!r}", where=self.name, do=f"Known: {known}")


def is_notes_spec(path: Path) -> bool:
    """Whether a TOML file describes notes and not an incident."""
    try:
        return "project" in Table.read(path).left()
    except SpecError:
        return False


def read_notes_spec(path: Path) -> NotesSpec:
    """The file, every figure checked. Raises SpecError that names the key at fault."""
    root = Table.read(path)
    spec = NotesSpec(
        name=root.take("name", str), about=root.take("about", str, ""), seed=root.take("seed", int, 0),
        projects=tuple(_project(t) for t in root.tables("project")), shape=_shape(root.table("shape", needed=True)),
        queries=root.number("queries", int, 0, 10_000, 0),
    )  # fmt: skip
    root.done()
    if not spec.projects:
        raise SpecError("there is no [[project]]", where=str(path))
    return spec


def scaled_project(project: Project, notes: int) -> Project:
    """The project with another number of notes, as many chunks a note as before."""
    return replace(project, notes=notes, chunks=round(project.chunks * notes / project.notes))


def _project(table: Table) -> Project:
    project = Project(
        table.take("name", str), table.number("notes", int, 1, MOST_NOTES),
        table.number("chunks", int, 1, 100 * MOST_NOTES), table.number("characters", int, 1, 100_000_000),
    )  # fmt: skip
    table.done()
    if project.chunks < project.notes:
        raise table.fail(f"{project.chunks} chunks are fewer than {project.notes} notes")
    return project


def _shape(table: Table) -> Shape:
    shape = Shape(
        table.number("chunk_characters", int, 200, 100_000), table.number("spread", float, 0, 3),
        table.number("most_chunks", int, 1, 1_000_000), table.number("observations", float, 0, 0.5),
        table.number("relations", float, 0, 0.4), table.number("recurrence", float, 1, 1_000),
        table.number("least_own", int, 2, 90),
    )  # fmt: skip
    table.done()
    return shape
