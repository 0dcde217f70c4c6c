"""Markdown to HTML that asks for nothing: no raw HTML, no images, headings below the page's own."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from markupsafe import Markup

from workbench.reporting.values import SHOWN_CHARACTERS
from workbench.text import visible

# The page has h1 for its title and h2 for its sections, so a story's first heading is an h3.
_HEADING_SHIFT = 2
_LAST_HEADING = 6
# No word of a text is that long: it is data, and is cut as data in a cell is.
_LONG_RUN = re.compile(r"\S{2000,}")


def markdown_html(text: str) -> Markup:
    """A story's text as HTML; what is not Markdown is shown as it stands."""
    parser = _parser()
    text = _LONG_RUN.sub(lambda m: f"{m[0][:SHOWN_CHARACTERS]}… ({len(m[0]):,} characters)", text)
    tokens = parser.parse(visible(text.replace("\r\n", "\n").replace("\r", "\n")))
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + _HEADING_SHIFT, _LAST_HEADING)}"
        for child in token.children or ():
            if child.type == "link_open":
                child.attrSet("rel", "noreferrer noopener")
    return Markup(parser.renderer.render(tokens, parser.options, {}))


@cache
def _parser() -> Any:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
