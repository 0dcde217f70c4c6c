"""A folder of Markdown notes: front matter as facets, chunks by structure, links, observations and relations."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path

from workbench.registry import register
from workbench.sources.blocks import below_heading, markdown_units
from workbench.sources.chunking import CHUNK_SIZE, OVERLAP, Unit, check_sizes, pack
from workbench.sources.files import decode, existing, printable_path
from workbench.sources.front_matter import read_front_matter
from workbench.sources.links import Link, NoteNames, find_links, wikilink_target, without_code
from workbench.sources.observations import Statement, find_statements
from workbench.sources.source import Source, SourceError
from workbench.sources.tally import NOTES_NAMED, Tally
from workbench.sources.walk import Walk, walk
from workbench.types import Chunk, Facets

SUFFIXES = (".md", ".markdown")
# A title stands in every chunk of its note, so a hostile one must not be a megabyte.
TITLE_CHARS = 300
# So does a heading in the source of each chunk below it.
HEADING_CHARS = 120
TRAIL = " > "


@dataclass(frozen=True, slots=True)
class Note:
    """A note as read: `id` is its relative path; `text` is the body without a first heading that is the title."""

    id: str
    title: str
    facets: Facets
    text: str
    units: tuple[Unit, ...]
    problems: tuple[str, ...] = ()

    @property
    def folder(self) -> str:
        return posixpath.dirname(self.id)


@register("reader")
def markdown(
    location: str | Path,
    *,
    chunk_size: int = CHUNK_SIZE,
    overlap: int = OVERLAP,
    strict: bool = False,
    observations: bool = False,
    relations: bool = False,
    hidden: bool = False,
    follow_links: bool = False,
) -> Source:
    """A folder of Markdown notes, or one note: .md, .markdown.

    Notes are read in the order of their paths, with or without YAML front matter. Title: front matter, else first heading, else file name; the first chunk's text starts with it. `chunk_size`
    and `overlap` are in characters. `source` is the path and the headings that all of the chunk stands under.
    `observations` and `relations` add list items as chunks of their own. `hidden` reads names that start with a
    dot, `follow_links` enters linked folders.

    Raises SourceError for a folder without notes, and with `strict` for a note with anything odd: bytes that are
    not UTF-8, front matter that does not parse, a time without a zone, tags as a text. Without `strict` such a
    note is read as far as it can be and a warning names it. A note without text is found by its title, and a
    warning names it too.
    """
    check_sizes(chunk_size, overlap)
    path = existing(location, "the folder of notes")
    root = path if path.is_dir() else path.parent
    found = walk(root, SUFFIXES, hidden=hidden, follow_links=follow_links) if path.is_dir() else Walk([path.name])
    if not found.files:
        raise SourceError(f"no notes ({', '.join(SUFFIXES)}) here", where=str(path),
                          do="hidden=True reads hidden ones" if found.hidden else "Name a folder that holds some")  # fmt: skip
    settings = {"chunk_size": chunk_size, "overlap": overlap, "strict": strict, "observations": observations,
                "relations": relations, "hidden": hidden, "follow_links": follow_links}  # fmt: skip
    warnings: list[str] = []
    kinds = [kind for kind, wanted in (("observation", observations), ("relation", relations)) if wanted]
    chunks = partial(_chunks, root, found, chunk_size, overlap, strict, kinds, warnings)
    return Source("markdown", str(location), settings, chunks, warnings=warnings)


def _chunks(
    root: Path, found: Walk, size: int, overlap: int, strict: bool, kinds: Sequence[str], warnings: list[str]
) -> Iterator[Chunk]:
    odd = Tally("notes were read with something odd", NOTES_NAMED)
    unreadable = Tally("notes cannot be read", NOTES_NAMED)
    bare = Tally("notes have no text but their title", NOTES_NAMED)
    for path in found.broken:
        unreadable.add(printable_path(path))
    names = NoteNames(map(printable_path, found.files))
    ids = count(1)
    for path in found.files:
        try:
            data = (root / path).read_bytes()
        except OSError as error:
            if strict:
                raise SourceError(f"cannot be read: {error.strerror}", where=str(root / path)) from None
            unreadable.add(f"{printable_path(path)} ({error.strerror})")
            continue
        note = read_note(data, printable_path(path))
        if note.problems:
            if strict:
                raise SourceError(note.problems[0], where=str(root / path),
                                  do="Mend the note, or read it without strict")  # fmt: skip
            odd.add(f"{note.id} ({'; '.join(note.problems)})")
        if not note.text.strip():
            bare.add(note.id)
        plain = without_code(note.text, note.units)
        links = list(find_links(plain, names, note.folder))
        for chunk in _entity_chunks(note, links, size, overlap):
            yield replace(chunk, id=next(ids))
        statements = list(find_statements(plain, note.units, note.id, note.title)) if kinds else []
        for kind in kinds:
            for statement in statements:
                if statement.kind == kind:
                    yield _statement_chunk(next(ids), note, statement, names)
    for paths, what in (
        (found.hidden, "hidden files and folders were not read (hidden=True reads them)"),
        (found.linked, "links were not followed (follow_links=True reads each file and folder once)"),
        (found.special, "pipes, sockets and devices were not opened"),
    ):
        tally = Tally(what)
        for path in paths:
            tally.add(printable_path(path))
        tally.into(warnings)
    unreadable.into(warnings)
    odd.into(warnings)
    bare.into(warnings)


def read_note(data: bytes, path: str) -> Note:
    """A note from its bytes; `path` is relative with `/` between folders, its first folder the default project."""
    text, problem = decode(data)
    first_folder = path.split("/", 1)[0] if "/" in path else None
    front = read_front_matter(text, project=first_folder, path=path)
    body = front.body
    units = markdown_units(body)
    heading = next((unit for unit in units if unit.kind == "heading"), None)
    title = front.title or (heading.trail[-1] if heading else "") or posixpath.splitext(posixpath.basename(path))[0]
    title = " ".join(title.split())
    if units and units[0] is heading and heading.trail[-1] == title and not body[: heading.start].strip():
        body = below_heading(body, heading).lstrip("\n")
        units = markdown_units(body)
    problems = ([problem] if problem else []) + [f"line {line}: {what}" for line, what in front.problems]
    return Note(path, title, front.facets, body, tuple(units), tuple(problems))


def _entity_chunks(note: Note, links: list[Link], size: int, overlap: int) -> Iterator[Chunk]:
    head = f"{note.title}\n\n"
    shift = len(head)
    units = [Unit(0, shift, "title")]
    units += [Unit(u.start + shift, u.end + shift, u.kind, u.trail) for u in note.units]
    waiting = iter(links)
    link = next(waiting, None)
    for index, piece in enumerate(pack(head + note.text, units, size, overlap)):
        held = []
        while link is not None and link.at + shift < piece.end:
            held.append((link.kind, link.target))
            link = next(waiting, None)
        yield Chunk(0, note.id, index, piece.text, note.title[:TITLE_CHARS], _source(note, piece.trail), "entity",
                    note.facets, tuple(dict.fromkeys(held)))  # fmt: skip


def _statement_chunk(number: int, note: Note, statement: Statement, names: NoteNames) -> Chunk:
    own = {"note": note.id, "category" if statement.kind == "observation" else "relation_type": statement.label}
    links: tuple[tuple[str, str], ...] = ()
    if statement.kind == "relation":
        links = ((statement.label, wikilink_target(statement.target, names, note.folder)),)
        own["target"] = links[0][1]
    facets = replace(
        note.facets,
        tags=tuple(dict.fromkeys((*note.facets.tags, *statement.tags))),
        metadata={**note.facets.metadata, **own},
    )
    return Chunk(number, statement.id, 0, statement.text, note.title[:TITLE_CHARS], _source(note, statement.trail),
                 statement.kind, facets, links)  # fmt: skip


def _source(note: Note, trail: tuple[str, ...]) -> str:
    return TRAIL.join((note.id, *(name[:HEADING_CHARS] for name in trail)))
