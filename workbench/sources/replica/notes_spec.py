"""A notes replica's file as data: how many notes and chunks a project has, and the shape of a note."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from workbench.sources.replica.tables import SpecError, Table

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


def scaled(project: Project, notes: int) -> Project:
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
