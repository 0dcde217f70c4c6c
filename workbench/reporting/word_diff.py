"""Two texts side by side, the words that differ marked: HTML that shows any text as text."""

from __future__ import annotations

import difflib
import html
import re

from workbench.text import visible

_PIECE = re.compile(r"\s+|\w+|[^\w\s]")
SHOWN_AROUND = 12
"""Pieces of an equal stretch that stay at each of its ends."""
FOLDED_FROM = 80
"""Equal stretches of more pieces than this are folded in the middle: a shared system text says nothing here."""
COMPARED = 4000
"""Pieces of each text that are compared; a difference of longer ones would take minutes."""


def pieces(text: str) -> list[str]:
    """Words, marks and runs of white space, in order: joined they are the text."""
    return _PIECE.findall(text)


def word_differences(one: str, other: str) -> tuple[str, str]:
    """(HTML of one, HTML of other): `<del>` marks what only the first has, `<ins>` what only the second has."""
    a, b = pieces(one), pieces(other)
    left, right = [], []
    matcher = difflib.SequenceMatcher(None, a[:COMPARED], b[:COMPARED], autojunk=False)
    for kind, i, j, k, m in matcher.get_opcodes():
        if kind == "equal":
            shown = _folded(a[i:j])
            left.append(shown)
            right.append(shown)
        else:
            left.append(_marked("del", a[i:j]))
            right.append(_marked("ins", b[k:m]))
    return "".join(left) + _rest(a), "".join(right) + _rest(b)


def _folded(same: list[str]) -> str:
    if len(same) <= FOLDED_FROM:
        return _text(same)
    middle = len(same[SHOWN_AROUND:-SHOWN_AROUND])
    return (
        f"{_text(same[:SHOWN_AROUND])}<small> … {middle:,} the same … </small>{_text(same[-SHOWN_AROUND:])}"
    )


def _rest(all_of_it: list[str]) -> str:
    left = len(all_of_it) - COMPARED
    return f"<small> … {left:,} more not compared</small>" if left > 0 else ""


def _marked(tag: str, some: list[str]) -> str:
    return f"<{tag}>{_text(some)}</{tag}>" if some else ""


def _text(some: list[str]) -> str:
    return html.escape(visible("".join(some)))
