"""Text into chunks by its structure: whole blocks packed up to a size, cut finer only where one does not fit.

The laws: no chunk is longer than `size`; every character that is not white space stands in a chunk, in order; a
chunk repeats at most `overlap` characters of the one before, and none across a heading; a fence that fits into
`size` is never cut. Lengths are in characters.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal

from workbench.errors import BadParameter

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

# ---- Text into chunks by its structure: whole blocks packed up to a size, cut finer only wh ----

# Basic Memory's chunker, as the notes search document's collection was cut (900 characters, 120 overlap).
CHUNK_SIZE = 900
OVERLAP = 120

Kind = Literal["title", "heading", "prose", "item", "code", "cut"]

PARAGRAPH_END = re.compile(r"\n[ \t]*\n\s*")
SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+|(?<=[。！？])|\n")
LINE_END = re.compile(r"\n")
SPACE = re.compile(r"\s")


@dataclass(frozen=True, slots=True)
class Unit:
    """A block of the text, from `start` to `end`, under the headings of `trail` (outermost first, a heading's own
    name last). Units follow each other without a gap."""

    start: int
    end: int
    kind: Kind = "prose"
    trail: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Piece:
    """One chunk's text, the headings that all of it stands under, and the part of the whole text that it is the
    first to hold (`start` to `end`; what it repeats lies before `start`)."""

    text: str
    trail: tuple[str, ...]
    start: int
    end: int


def check_sizes(chunk_size: int, overlap: int) -> None:
    """Raises BadParameter unless 1 <= chunk_size and 0 <= overlap <= chunk_size / 2."""
    if chunk_size < 1 or not 0 <= overlap <= chunk_size // 2:
        raise BadParameter(
            f"chunk_size {chunk_size} and overlap {overlap} cannot be",
            do="chunk_size is at least 1, overlap from 0 to half of it: give both",
        )


def paragraphs(text: str) -> list[Unit]:
    """The blocks of plain text: what blank lines divide."""
    ends = [found.end() for found in PARAGRAPH_END.finditer(text)]
    bounds = [0, *[e for e in ends if e < len(text)], len(text)]
    return [Unit(a, b) for a, b in zip(bounds, bounds[1:], strict=False)]


def split_plain(text: str, chunk_size: int = CHUNK_SIZE, overlap: int = OVERLAP) -> list[str]:
    """Plain text as chunks; one empty chunk for text that is white space only."""
    return [piece.text for piece in pack(text, paragraphs(text), chunk_size, overlap)] or [""]


def pack(
    text: str, units: Sequence[Unit], chunk_size: int = CHUNK_SIZE, overlap: int = OVERLAP
) -> list[Piece]:
    """The chunks of a text by its units, in order.

    A heading opens a new chunk unless all of its own section still fits. A unit that fits nowhere whole is cut at
    sentences, lines, words, and only then between characters.
    """
    check_sizes(chunk_size, overlap)
    return [
        _piece(text, begin, group) for begin, group in _groups(text, units, chunk_size, overlap)
    ]


def _groups(
    text: str, units: Sequence[Unit], size: int, overlap: int
) -> Iterator[tuple[int, list[Unit]]]:
    """(where the chunk's text begins, overlap included; its units) for each chunk."""
    section_ends = _section_ends(units)
    waiting = deque(unit for unit in units if _length(text, unit.start, unit.end))
    group: list[Unit] = []
    begin = 0
    while waiting:
        unit = waiting.popleft()
        long = _length(text, unit.start, unit.end) > size
        if not group and not long:
            begin, group = unit.start, [unit]
            continue
        bare = all(member.kind in ("title", "heading") for member in group)
        end = section_ends[unit.start] if unit.kind == "heading" and not bare else unit.end
        if group and _length(text, begin, end) <= size:
            group.append(unit)
        elif long or (bare and unit.kind in ("prose", "item")):
            waiting.extendleft(reversed(_cut(text, unit, size - overlap)))
        else:
            yield begin, group
            begin = _begin(text, group, unit, size, overlap)
            group = [unit]
    if group:
        yield begin, group


def _begin(text: str, group: list[Unit], unit: Unit, size: int, overlap: int) -> int:
    """Where a chunk that opens with `unit` begins: up to `overlap` characters before it, at a unit's start, else
    a line's, else a word's; at the unit itself where it is a heading or would no longer fit."""
    if unit.kind == "heading":
        return unit.start
    headings = [member.start for member in group if member.kind == "heading"]
    earliest = max(unit.start - overlap, headings[-1] if headings else group[0].start)
    begin = next((member.start for member in group if member.start >= earliest), None)
    for pattern in (LINE_END, SPACE):
        found = pattern.search(text, earliest, unit.start) if begin is None else None
        if found and _length(text, found.end(), unit.start):
            begin = found.end()
    return unit.start if begin is None or _length(text, begin, unit.end) > size else begin


def _piece(text: str, begin: int, group: list[Unit]) -> Piece:
    trail = group[0].trail
    for unit in group[1:]:
        shared = 0
        while shared < min(len(trail), len(unit.trail)) and trail[shared] == unit.trail[shared]:
            shared += 1
        trail = trail[:shared]
    return Piece(text[begin : group[-1].end].strip(), trail, group[0].start, group[-1].end)


def _section_ends(units: Sequence[Unit]) -> dict[int, int]:
    """Start of each heading to the end of its own section: up to the next heading, of which one that follows at
    once on a lower level belongs to it, so that no heading ends a chunk whose text begins the next."""
    ends, end = {}, units[-1].end if units else 0
    below: Unit | None = None
    for unit in reversed(units):
        if unit.kind == "heading":
            nested = (
                below is not None and below.kind == "heading" and len(below.trail) > len(unit.trail)
            )
            ends[unit.start] = ends[below.start] if nested else end
            end = unit.start
        below = unit
    return ends


def _cut(text: str, unit: Unit, limit: int) -> list[Unit]:
    """The unit in finer units of at most `limit` characters: its sentences or lines, and where it has only one,
    or one is too long, its words."""
    pattern = LINE_END if unit.kind == "code" else SENTENCE_END
    ends = [
        f.end()
        for f in pattern.finditer(text, unit.start, unit.end)
        if unit.start < f.end() < unit.end
    ]
    single = not ends
    bounds = [unit.start, *ends, unit.end]
    parts: list[Unit] = []
    for start, end in zip(bounds, bounds[1:], strict=False):
        start, end = _trimmed(text, start, end)
        while end - start > limit or (single and start < end):
            stop = _last_space(text, start, min(start + limit, end))
            parts.append(Unit(start, stop, "cut", unit.trail))
            start, end = _trimmed(text, stop, end)
        if start < end:
            parts.append(Unit(start, end, "cut", unit.trail))
    return parts


def _last_space(text: str, start: int, stop: int) -> int:
    """The last white space before `stop`, or `stop` where one word fills it all or ends there."""
    if stop == len(text) or text[stop].isspace():
        return stop
    for position in range(stop - 1, start, -1):
        if text[position].isspace():
            return position
    return stop


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The range without the white space at both ends."""
    part = text[start:end]
    start += len(part) - len(part.lstrip())
    return start, start + len(part.strip())


def _length(text: str, start: int, end: int) -> int:
    """Length without the white space at both ends."""
    return len(text[start:end].strip())


# ---- Markdown's block structure as units of its text: CommonMark as markdown-it reads it, w ----

INLINE_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
UNDERLINE = re.compile(r"^ {0,3}(?:=+|-+)[ \t]*(?:\n|\Z)", re.MULTILINE)

_KINDS: dict[str, Kind] = {
    "heading_open": "heading",
    "paragraph_open": "prose",
    "list_item_open": "item",
    "fence": "code",
    "code_block": "code",
    "html_block": "code",
    "table_open": "code",
    "hr": "prose",
}


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.disable("inline")  # only blocks are read, so that long lines cost nothing
    return parser


def markdown_units(text: str) -> list[Unit]:
    """The units of a Markdown text, without a gap, in order: each block reaches to where the next one begins.

    A list item is one unit up to its nested items, and a fence inside it is its own. Only a heading outside of
    lists and quotes opens a section; its trail is the headings above it of a higher level, and itself.
    """
    tokens = _parser().parse(text)
    starts: dict[int, tuple[Kind, tuple[str, ...]]] = {}
    open_headings: list[tuple[int, str]] = []
    for position, token in enumerate(tokens):
        kind = _KINDS.get(token.type)
        if kind is None or token.map is None:
            continue
        if kind == "heading" and token.level:
            kind = "prose"
        if kind == "heading":
            depth = int(token.tag[1:])
            name = " ".join(INLINE_LINK.sub(r"\1", tokens[position + 1].content).split())
            open_headings = [(d, n) for d, n in open_headings if d < depth] + [(depth, name)]
        starts.setdefault(token.map[0], (kind, tuple(name for _, name in open_headings)))
    if not starts:
        return [Unit(0, len(text))] if text.strip() else []
    offsets = _line_offsets(text)
    lines = sorted(starts)
    bounds = [0, *(offsets[line] for line in lines[1:]), len(text)]
    return [
        Unit(a, b, *starts[line]) for a, b, line in zip(bounds, bounds[1:], lines, strict=False)
    ]


def below_heading(text: str, unit: Unit) -> str:
    """The text after a heading's own lines."""
    if text[unit.start : unit.end].lstrip().startswith("#"):
        return text[unit.start : unit.end].partition("\n")[2] + text[unit.end :]
    line = UNDERLINE.search(text, unit.start, unit.end)
    return text[line.end() if line else unit.end :]


def _line_offsets(text: str) -> list[int]:
    offsets, start = [0], text.find("\n")
    while start >= 0:
        offsets.append(start + 1)
        start = text.find("\n", start + 1)
    return offsets
