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
    """The window of `width` characters around the verbatim span, else around the most of the terms; an ellipsis where
    text was left out. Its pieces end to end are the window."""
    spans = [] if evidence is None else list(evidence.spans)
    verbatim = evidence.verbatim if evidence and evidence.verbatim_in == "content" else None
    if verbatim and _cuts_a_word(text, *verbatim):
        verbatim = None  # "the" stands in "then", which is no sight to show: its words are marked
    start = max(0, (verbatim[0] if verbatim else _densest(spans, width)) - _BEFORE)
    end = min(len(text), start + width)
    marks = [(*verbatim, "verbatim")] if verbatim else [(a, b, "term") for a, b in spans]
    pieces: list[Piece] = [Piece("… ", "")] if start else []
    at = start
    for first, last, mark in marks:
        first, last = max(first, start), min(last, end)
        if first < last and first >= at:
            pieces += [Piece(text[at:first], ""), Piece(text[first:last], mark)]
            at = last
    pieces += [Piece(text[at:end], ""), Piece(" …" if end < len(text) else "", "")]
    return [p for p in pieces if p.text]


def _cuts_a_word(text: str, first: int, last: int) -> bool:
    """Whether a span begins or ends inside a word."""
    inside = (text[max(at - 1, 0) : at + 1] for at in (first, last))
    return any(len(pair) == 2 and all(map(_WORD.match, pair)) for pair in inside)


def _densest(spans: list[tuple[int, int]], width: int) -> int:
    """The start of the span from which a window holds the most spans; the first of equals, 0 without any."""
    best, start = 0, 0
    for n, (first, _) in enumerate(spans):
        held = sum(last <= first + width - _BEFORE for _, last in spans[n:])
        if held > best:
            best, start = held, first
    return start
