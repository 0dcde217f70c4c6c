"""Figures in a Markdown text, marked by the claim whose ledger row has them.

A mark is an HTML comment before the figure, so that a reader of the rendered text sees the figure alone:

    scores <!-- claim:A07.score -->0.0328            the number that follows
    in <!-- claim:A01.terms -->1,180 and 34,395<!-- /claim -->     all that stands between the two
    took <!-- claim:A11.seconds within 20 % -->1.2 s     a tolerance of one's own, absolute or in per cent
    <!-- claim:A07@verdict -->HOLDS                  the verdict

After the claim's id comes the path into what was measured: keys and 1-based places in lists, joined by dots.
Marks in code are text about marks and are not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from workbench.errors import WorkbenchError

VERDICT = "@verdict"

_COMMENT = re.compile(r"<!--(.*?)-->", re.DOTALL)
_CLOSE = re.compile(r"\s*/\s*claim\s*")
_OURS = re.compile(r"\s*/?\s*claim\b", re.IGNORECASE)
_MARK = re.compile(
    r"\s*claim:(?P<claim>[A-Za-z][A-Za-z0-9_-]*)(?P<path>@verdict|(?:\.(?=\S)[^\n]+?)?)"
    r"(?:\s+within\s+(?P<within>\d+(?:\.\d+)?)\s*(?P<share>%?))?\s*"
)
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
# What a figure can be dressed in: emphasis, code, tags, a cell's edge and white space.
_DRESS = re.compile(r"(?:[\s*_`|]|<[^!>][^>]*>)*")
_BLANK_LINE = re.compile(r"(\n[ \t]*\n)")
_PARAGRAPH = re.compile(r"\n[ \t]*\n|<!--|\Z")


class BadMark(WorkbenchError):
    """A comment that means to be a mark and is none; says at which line."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One mark. `path` is "" (the whole measured value), keys joined by dots, or VERDICT; `after` is the text
    that follows it in its paragraph, or up to the closing mark where `closed`. `within` is the mark's own
    tolerance, absolute, or of the measured value where `relative`; None where it has none."""

    line: int
    claim: str
    path: str
    after: str
    closed: bool = False
    within: Decimal | None = None
    relative: bool = False

    def __str__(self) -> str:
        return f"{self.claim}{self.path}" if self.path == VERDICT or not self.path else f"{self.claim}.{self.path}"


def marks(text: str) -> list[Mark]:
    """All marks of a Markdown text in their order. Raises BadMark."""
    text = text.replace("\r\n", "\n")
    ours = [m for m in _COMMENT.finditer(_without_code(text)) if _OURS.match(m[1])]
    found: list[Mark] = []
    for place, comment in enumerate(ours):
        line = text.count("\n", 0, comment.start()) + 1
        if _CLOSE.fullmatch(comment[1]):
            if place == 0 or _CLOSE.fullmatch(ours[place - 1][1]):
                raise BadMark("a closing mark that closes nothing", where=f"line {line}")
            continue
        parsed = _MARK.fullmatch(comment[1])
        if not parsed:
            raise BadMark(f"{comment[0]!r} is no mark", where=f"line {line}", do="Write <!-- claim:ID.path -->")
        following = ours[place + 1] if place + 1 < len(ours) else None
        closed = following is not None and bool(_CLOSE.fullmatch(following[1]))
        end = following.start() if closed else _PARAGRAPH.search(text, comment.end()).start()
        after = text[_DRESS.match(text, comment.end(), end).end() : end]
        found.append(Mark(
            line, parsed["claim"], parsed["path"].removeprefix("."), after.rstrip("*_`| \t\n"), closed,
            Decimal(parsed["within"]) if parsed["within"] else None, bool(parsed["share"]),
        ))  # fmt: skip
    return found


def _without_code(text: str) -> str:
    """The text at equal length, its code blocks and code spans blanked."""
    lines = text.split("\n")
    for start, end in _code_blocks(text):
        lines[start:end] = [" " * len(line) for line in lines[start:end]]
    # A code span ends with its paragraph.
    return "".join(_CODE_SPAN.sub(_blanked, part) for part in _BLANK_LINE.split("\n".join(lines)))


def _blanked(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found[0])


def _code_blocks(text: str) -> Iterator[tuple[int, int]]:
    from markdown_it import MarkdownIt

    for token in MarkdownIt("commonmark").parse(text):
        if token.type in ("fence", "code_block") and token.map:
            yield token.map[0], token.map[1]
