"""The part of a text that shows why it matched: a window around its evidence, in pieces, marked or not."""

from __future__ import annotations

from typing import NamedTuple

import regex

from workbench.analysis.evidence import Evidence

WIDTH = 180
"""Characters of a snippet."""
_BEFORE = 40

# Scripts that set no blanks between words have no word to cut.
_WORD = regex.compile(r"[[\p{L}\p{N}\p{M}_]--[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]]", regex.V1)


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
    end = next((at for at in range(end, max(last_mark, end - _BEFORE), -1) if not _inside_a_word(text, at)), end)
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
