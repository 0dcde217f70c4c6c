"""From a TOML file to an incident, every figure checked; and the same incident at another size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from workbench.sources.replica.captured_file import read_captured
from workbench.sources.replica.sentences import KINDS
from workbench.sources.replica.spec import (
    Cell,
    Checks,
    Filler,
    Group,
    Incident,
    IncidentQuery,
    Phrase,
    Target,
    TargetChunk,
    Terms,
)
from workbench.sources.replica.tables import SpecError, Table
from workbench.text import DEFAULT

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
        raise SpecError("a captured incident keeps its size", where=incident.name, do="Build it without --size")
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
            raise table.fail(f"{term!r} is no term of the tokenizer; it makes {DEFAULT.terms(term)} of it")
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
        chunks.append(TargetChunk(chunk.number("characters", int, 1, 1_000_000), chunk.words("says", ())))
        chunk.done()
    target = Target(
        entity=table.take("entity", str), title=table.take("title", str), source=table.take("source", str),
        project=table.take("project", str), position=table.number("position", int, 1, MOST_ROWS),
        chunks=tuple(chunks) or (TargetChunk(1),), language=table.take("language", str, "ro"),
        note_type=table.take("note_type", str, "recording"), created=table.take("created", str, ""),
    )  # fmt: skip
    if target.language not in ("ro", "en"):
        raise table.fail(f"no conversation in {target.language!r} is written; there are 'ro' and 'en'")
    table.done()
    return target


def _holds(table: Table, terms: Mapping[str, int]) -> Terms:
    held = table.words("holds", ())
    for term in held:
        if term not in terms:
            raise table.fail(f"{term!r} is not among the counted terms {', '.join(terms)}")
    return frozenset(held)


def _cell(table: Table, terms: Mapping[str, int]) -> Cell:
    cell = Cell(_holds(table, terms), table.number("rows", int, 0, MOST_ROWS), table.take("least", int, 0))
    if len(cell.holds) < 2:
        raise table.fail("a cell holds two terms or more; chunks that hold one are what remains of its count")
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
    limits = {f"{name}_limit": table.number(name, int, 1, 100_000, 256) for name in ("lexical", "semantic")}
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
