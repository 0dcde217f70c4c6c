"""Text of any kind as safe HTML: one blank for white space, control and direction characters shown, cut where long."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import NamedTuple

import regex
from markupsafe import Markup

from workbench.analysis.explain.evidence import Evidence
from workbench.reporting.theme import CATEGORIES, LIST_COLOURS
from workbench.text import visible

# ---- The part of a text that shows why it matched: a window around its evidence, in pieces, ----

WIDTH = 180
"""Characters of a snippet."""
_BEFORE = 40

# Scripts that set no blanks between words have no word to cut.
_WORD = regex.compile(
    r"[[\p{L}\p{N}\p{M}_]--[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]]",
    regex.V1,
)


class Piece(NamedTuple):
    text: str
    mark: str
    """"" for plain text, "term" for a query's term, "verbatim" for the whole query."""


def snippet(text: str, evidence: Evidence | None, width: int = WIDTH) -> list[Piece]:
    """The window of at most `width` characters around the verbatim span, else around the most of the terms, from a word's
    beginning to a word's end; an ellipsis where text was left out. Its pieces end to end are the window."""
    spans = [] if evidence is None else list(evidence.spans)
    verbatim = evidence.verbatim if evidence and evidence.verbatim_in == "content" else None
    if verbatim and any(_inside_a_word(text, at) for at in verbatim):
        verbatim = None  # "the" stands in "then", which is no sight to show: its words are marked
    shown = verbatim[0] if verbatim else _densest(spans, width)
    start = max(0, shown - _BEFORE)
    end = min(len(text), start + width)
    marks = [(*verbatim, "verbatim")] if verbatim else [(a, b, "term") for a, b in spans]
    start = next((at for at in range(start, shown) if not _inside_a_word(text, at)), start)
    last_mark = max((b for a, b, _ in marks if start <= a < end), default=start)
    end = next(
        (
            at
            for at in range(end, max(last_mark, end - _BEFORE), -1)
            if not _inside_a_word(text, at)
        ),
        end,
    )
    pieces: list[Piece] = [Piece("… ", "")] if start else []
    at = start
    for first, last, mark in marks:
        first, last = max(first, start), min(last, end)
        if first < last and first >= at:
            pieces += [Piece(text[at:first], ""), Piece(text[first:last], mark)]
            at = last
    pieces += [Piece(text[at:end], ""), Piece(" …" if end < len(text) else "", "")]
    return [p for p in pieces if p.text]


def _inside_a_word(text: str, at: int) -> bool:
    """Whether a cut before this character parts a word."""
    return 0 < at < len(text) and all(map(_WORD.match, text[at - 1 : at + 1]))


def _densest(spans: list[tuple[int, int]], width: int) -> int:
    """The start of the span from which a window holds the most spans; the first of equals, 0 without any."""
    best, start = 0, 0
    for n, (first, _) in enumerate(spans):
        held = sum(last <= first + width - _BEFORE for _, last in spans[n:])
        if held > best:
            best, start = held, first
    return start


# ---- Text of any kind as safe HTML: one blank for white space, control and direction charac ----

TITLE_CHARACTERS, META_CHARACTERS = 110, 60


def shown(text: object, limit: int) -> Markup:
    """A text in one line, at most `limit` characters of it, as HTML text."""
    # A megabyte is cut before it is split.
    line = " ".join(str(text)[: limit * 4].split())
    cut = line if len(line) <= limit else line[: limit - 1] + "…"
    return Markup(html.escape(visible(cut)))


def marked(pieces: Sequence[Piece]) -> Markup:
    """A snippet with its marked pieces as `<mark>`."""
    out = []
    for piece in pieces:
        text = html.escape(visible(piece.text.replace("\n", " ").replace("\t", " ")))
        out.append(f'<mark class="{piece.mark}">{text}</mark>' if piece.mark else text)
    return Markup("".join(out))


def colours(lists: Sequence[str]) -> dict[str, str]:
    """A colour for every list: the same for ours everywhere, for one's own in the order of the lists."""
    free = [c for c in CATEGORIES if c not in LIST_COLOURS.values()]
    own = [n for n in lists if n not in LIST_COLOURS]
    return {n: LIST_COLOURS.get(n) or free[own.index(n) % len(free)] for n in lists}
