"""Text of any kind as safe HTML: one blank for white space, control and direction characters shown, cut where long."""

from __future__ import annotations

import html
from collections.abc import Sequence

from markupsafe import Markup

from workbench.reporting.theme import CATEGORIES, LIST_COLOURS
from workbench.reporting.widgets.snippets import Piece
from workbench.text import visible

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
