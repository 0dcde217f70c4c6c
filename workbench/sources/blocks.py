"""Markdown's block structure as units of its text: CommonMark as markdown-it reads it, with tables."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from workbench.sources.chunking import Kind, Unit

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

INLINE_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
UNDERLINE = re.compile(r"^ {0,3}(?:=+|-+)[ \t]*(?:\n|\Z)", re.MULTILINE)

_KINDS: dict[str, Kind] = {
    "heading_open": "heading", "paragraph_open": "prose", "list_item_open": "item", "fence": "code",
    "code_block": "code", "html_block": "code", "table_open": "code", "hr": "prose",
}  # fmt: skip


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
    return [Unit(a, b, *starts[line]) for a, b, line in zip(bounds, bounds[1:], lines, strict=False)]


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
