"""A folder of Markdown notes: front matter as facets, chunks by structure, links, observations and relations."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

from workbench.registry import register
from workbench.sources.base import NOTES_NAMED, Source, SourceError, Tally
from workbench.sources.chunking import (
    CHUNK_SIZE,
    OVERLAP,
    Unit,
    below_heading,
    check_sizes,
    markdown_units,
    pack,
)
from workbench.sources.facets import read_front_matter
from workbench.sources.files import Walk, decode, existing, printable_path, walk
from workbench.types import Chunk, Facets, content_hash

# ---- Links between notes: found outside of code, and resolved to the notes of the same fold ----

# `[[target]]`, `[[target|shown]]`, and `![[target]]`, a note shown within another.
WIKILINK = re.compile(r"\[\[([^\[\]\n]{1,1000})\]\]")
# `[shown](target)`; the label is bounded so that a text of open brackets stays linear.
INLINE = re.compile(
    r"(!?)\[(?:[^\[\]\\]|\\.|\[[^\[\]]{0,200}\]){0,500}\]\(\s*<?([^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*)"
)
REFERENCE = re.compile(r"^ {0,3}\[[^\[\]\n^]{1,200}\]:[ \t]*<?([^\s<>]+)", re.MULTILINE)
INLINE_CODE = re.compile(r"(?<!`)(`{1,3})(?!`)[^`\n]+\1(?!`)")
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:|//")
# Dendron names a note of another vault so; the note's name is what follows.
VAULT_SCHEME = re.compile(r"dendron://[^/]*/")


@dataclass(frozen=True, slots=True)
class Link:
    """A link at an offset of the text. `kind` is "wikilink" or "link"; `target` is the id of the note that it
    names, else what was written."""

    at: int
    kind: str
    target: str


class NoteNames:
    """The notes of a folder by what links call them: path with or without suffix, or file name alone.

    Case does not matter. Where several notes have one file name, the shortest path wins, then the first by path.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self._by_name: dict[str, str] = {}
        ordered = sorted(paths, key=lambda path: (path.count("/"), path))
        for path in ordered:
            for name in (path, _stem(path)):
                self._by_name.setdefault(name.casefold(), path)
        for path in ordered:
            for name in (posixpath.basename(path), _stem(posixpath.basename(path))):
                self._by_name.setdefault(name.casefold(), path)

    def find(self, target: str, folder: str) -> str | None:
        """The path of the note that a link written in `folder` names: beside it first, then from the top, then
        by file name."""
        name = VAULT_SCHEME.sub("", target.strip()).split("#", 1)[0].split("^", 1)[0].strip()
        if not name:
            return None
        beside = posixpath.normpath(posixpath.join(folder, name)).casefold()
        return self._by_name.get(beside) or self._by_name.get(name.strip("/").casefold())


def _stem(path: str) -> str:
    return posixpath.splitext(path)[0]


def without_code(text: str, units: Sequence[Unit]) -> str:
    """The text with fences, code blocks and code spans blanked; every offset stays what it was."""
    parts, last = [], 0
    for unit in units:
        if unit.kind == "code" and not text.startswith(("|", "<"), unit.start):
            parts += [text[last : unit.start], " " * (unit.end - unit.start)]
            last = unit.end
    parts.append(text[last:])
    return INLINE_CODE.sub(lambda found: " " * len(found[0]), "".join(parts))


def find_links(text: str, names: NoteNames, folder: str) -> Iterator[Link]:
    """The wikilinks and relative links of a text without code, by offset; images and other schemes left out.

    Of `[[a|b]]` the part that names a note is the target (some tools write the shown text first), else the left.
    """
    links = [_wikilink(found, names, folder) for found in WIKILINK.finditer(text)]
    for pattern in (INLINE, REFERENCE):
        for found in pattern.finditer(text):
            written = unquote(found[found.re.groups])
            image = found.re is INLINE and found[1]
            if (
                image
                or not written
                or "[" in written
                or written.startswith("#")
                or SCHEME.match(written)
            ):
                continue
            links.append(Link(found.start(), "link", _relative(written, names, folder)))
    return iter(sorted((x for x in links if x), key=lambda link: (link.at, link.kind, link.target)))


def wikilink_target(inner: str, names: NoteNames, folder: str) -> str:
    """The note that the inside of `[[…]]` names, else the name as written."""
    parts = [part.strip() for part in inner.split("|", 1)]
    return next((found for part in parts if (found := names.find(part, folder))), parts[0])


def _wikilink(found: re.Match[str], names: NoteNames, folder: str) -> Link | None:
    target = wikilink_target(found[1], names, folder)
    return Link(found.start(), "wikilink", target) if target else None


def _relative(written: str, names: NoteNames, folder: str) -> str:
    path = posixpath.normpath(posixpath.join(folder, written.split("#", 1)[0].split("?", 1)[0]))
    return names.find(path, "") or path


# ---- List items that state something of their own: observations `- [category] text #tag` an ----

MARKER = r"(?:[-*+]|\d{1,9}[.)])[ \t]+"
# A box (`[ ]`, `[x]`, `[-]`) is a task, `[text](…)`, `[text]:` and `[^1]` are links and footnotes.
OBSERVATION = re.compile(
    MARKER + r"\[(?!\s*[xX\-/>!?*]?\s*\])([^\[\]()^\n]{1,60})\](?![(\[:])[ \t]+(\S.*)", re.DOTALL
)
# A type of one to five words and nothing behind the target but a remark in parentheses: a sentence that happens
# to hold a link is no relation.
RELATION = re.compile(
    MARKER
    + r"(\w[\w'-]*(?:[ \t]+[\w'-]+){0,4}):?[ \t]+\[\[([^\[\]\n]{1,1000})\]\][ \t]*(?:\(([^()\n]*)\))?\s*"
)
TAG = re.compile(r"(?<![\w#&/])#([^\W\d_][\w/-]*)")
ID_CHARS = 12


@dataclass(frozen=True, slots=True)
class Statement:
    """One item. `label` is the category or the relation type; `target` is the inside of a relation's `[[…]]`;
    `tags` are an observation's own. `id` is stable while the statement's own text is."""

    kind: Literal["observation", "relation"]
    id: str
    label: str
    text: str
    trail: tuple[str, ...]
    target: str = ""
    tags: tuple[str, ...] = ()


def find_statements(
    text: str, units: Sequence[Unit], note_id: str, title: str
) -> Iterator[Statement]:
    """The statements of a note's text without code, in order. One that stands twice has `~2`, … behind its id."""
    seen: dict[str, int] = {}
    for unit in units:
        if unit.kind != "item":
            continue
        item = text[unit.start : unit.end].strip()
        if found := OBSERVATION.match(item):
            label, content = found[1].strip(), " ".join(found[2].split())
            made = Statement(
                "observation",
                f"{note_id}#observation/{content_hash(label, content)[:ID_CHARS]}",
                label,
                f"[{label}] {content}",
                unit.trail,
                tags=tuple(dict.fromkeys(TAG.findall(content))),
            )
        elif found := RELATION.fullmatch(item):
            label, target = " ".join(found[1].split()), found[2].strip()
            shown = target.split("|", 1)[0].split("#", 1)[0].strip() or target
            remark = f" ({found[3].strip()})" if found[3] and found[3].strip() else ""
            made = Statement(
                "relation",
                f"{note_id}#relation/{content_hash(label, target)[:ID_CHARS]}",
                label,
                f"{title} {label} {shown}{remark}",
                unit.trail,
                target,
            )
        else:
            continue
        seen[made.id] = seen.get(made.id, 0) + 1
        again = f"~{seen[made.id]}" if seen[made.id] > 1 else ""
        yield Statement(
            made.kind, made.id + again, made.label, made.text, made.trail, made.target, made.tags
        )


# ---- A folder of Markdown notes: front matter as facets, chunks by structure, links, observ ----

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
    found = (
        walk(root, SUFFIXES, hidden=hidden, follow_links=follow_links)
        if path.is_dir()
        else Walk([path.name])
    )
    if not found.files:
        raise SourceError(
            f"no notes ({', '.join(SUFFIXES)}) here",
            where=str(path),
            do="hidden=True reads hidden ones" if found.hidden else "Name a folder that holds some",
        )
    settings = {
        "chunk_size": chunk_size,
        "overlap": overlap,
        "strict": strict,
        "observations": observations,
        "relations": relations,
        "hidden": hidden,
        "follow_links": follow_links,
    }
    warnings: list[str] = []
    kinds = [
        kind for kind, wanted in (("observation", observations), ("relation", relations)) if wanted
    ]
    chunks = partial(_chunks, root, found, chunk_size, overlap, strict, kinds, warnings)
    return Source("markdown", str(location), settings, chunks, warnings=warnings)


def _chunks(
    root: Path,
    found: Walk,
    size: int,
    overlap: int,
    strict: bool,
    kinds: Sequence[str],
    warnings: list[str],
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
                raise SourceError(
                    f"cannot be read: {error.strerror}", where=str(root / path)
                ) from None
            unreadable.add(f"{printable_path(path)} ({error.strerror})")
            continue
        note = read_note(data, printable_path(path))
        if note.problems:
            if strict:
                raise SourceError(
                    note.problems[0],
                    where=str(root / path),
                    do="Mend the note, or read it without strict",
                )
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
        (
            found.linked,
            "links were not followed (follow_links=True reads each file and folder once)",
        ),
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
    title = (
        front.title
        or (heading.trail[-1] if heading else "")
        or posixpath.splitext(posixpath.basename(path))[0]
    )
    title = " ".join(title.split())
    if (
        units
        and units[0] is heading
        and heading.trail[-1] == title
        and not body[: heading.start].strip()
    ):
        body = below_heading(body, heading).lstrip("\n")
        units = markdown_units(body)
    problems = ([problem] if problem else []) + [
        f"line {line}: {what}" for line, what in front.problems
    ]
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
        yield Chunk(
            0,
            note.id,
            index,
            piece.text,
            note.title[:TITLE_CHARS],
            _source(note, piece.trail),
            "entity",
            note.facets,
            tuple(dict.fromkeys(held)),
        )


def _statement_chunk(number: int, note: Note, statement: Statement, names: NoteNames) -> Chunk:
    own = {
        "note": note.id,
        "category" if statement.kind == "observation" else "relation_type": statement.label,
    }
    links: tuple[tuple[str, str], ...] = ()
    if statement.kind == "relation":
        links = ((statement.label, wikilink_target(statement.target, names, note.folder)),)
        own["target"] = links[0][1]
    facets = replace(
        note.facets,
        tags=tuple(dict.fromkeys((*note.facets.tags, *statement.tags))),
        metadata={**note.facets.metadata, **own},
    )
    return Chunk(
        number,
        statement.id,
        0,
        statement.text,
        note.title[:TITLE_CHARS],
        _source(note, statement.trail),
        statement.kind,
        facets,
        links,
    )


def _source(note: Note, trail: tuple[str, ...]) -> str:
    return TRAIL.join((note.id, *(name[:HEADING_CHARS] for name in trail)))
