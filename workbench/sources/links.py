"""Links between notes: found outside of code, and resolved to the notes of the same folder."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from workbench.sources.chunking import Unit

# `[[target]]`, `[[target|shown]]`, and `![[target]]`, a note shown within another.
WIKILINK = re.compile(r"\[\[([^\[\]\n]{1,1000})\]\]")
# `[shown](target)`; the label is bounded so that a text of open brackets stays linear.
INLINE = re.compile(r"(!?)\[(?:[^\[\]\\]|\\.|\[[^\[\]]{0,200}\]){0,500}\]\(\s*<?([^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*)")
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
            if image or not written or "[" in written or written.startswith("#") or SCHEME.match(written):
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
