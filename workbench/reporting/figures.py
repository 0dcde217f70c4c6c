"""Charts and tables as figures: each spec once, its data as text for readers without script."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from workbench.reporting.prose import markdown_html
from workbench.reporting.tables import data_table
from workbench.text import visible

# Rows of a chart's data that a reader without script is shown.
TEXT_ROWS = 20


def script_json(value: Any) -> Markup:
    """JSON for a script element: no character in it can end the element or open a comment."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    for mark in "<>&\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return Markup(text)


def shown(value: Any) -> Any:
    """A spec with every text in it made visible as the page's own texts are: control and direction
    characters as escapes, lone surrogates too."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, Mapping):
        return {visible(k): shown(v) for k, v in value.items()}
    return [shown(v) for v in value] if isinstance(value, list) else value


def figure(anchor: str, label: str, block: Mapping[str, Any]) -> Markup:
    """A chart or table with its number, its caption, and links to the claims that it illustrates."""
    if block["kind"] == "table":
        body = Markup('<div class="scroll">{}</div>').format(
            data_table(block["name"], block["content"]["columns"], block["content"]["rows"])
        )
    else:
        body = Markup(
            '<div class="chart" role="img" aria-label="{}"></div><script type="application/json">{}</script>'
            "<noscript>{}</noscript>"
        ).format(_plain_text(label, block["caption"]), script_json(shown(block["content"])), _as_text(block))
    claims = Markup(" ").join(Markup('<a href="#claim-{0}">{0}</a>').format(c) for c in block["claims"])
    return Markup(
        '<figure id="{}" class="of-{}">{}<figcaption><b>{}</b> {}{}</figcaption></figure>'
    ).format(anchor, block["kind"], body, label, _caption(block["caption"]),
             Markup('<span class="claims">{}</span>').format(claims) if claims else "")  # fmt: skip


def _caption(text: str) -> Markup:
    """A caption's Markdown without the paragraph around it."""
    return Markup(re.sub(r"^<p>|</p>\s*$", "", markdown_html(text).strip()))


def _plain_text(label: str, caption: str) -> str:
    return Markup(_caption(caption)).striptags() or label


def _as_text(block: Mapping[str, Any]) -> Markup:
    """The first rows of a chart's data as a table."""
    rows = _rows(block["content"])
    if not rows:
        return Markup('<p class="without-script">This chart needs JavaScript.</p>')
    columns = list(rows[0])
    shown = [[row.get(c) for c in columns] for row in rows[:TEXT_ROWS]]
    head = f"This chart needs JavaScript. Its data, {len(shown)} of {len(rows):,} rows:"
    return Markup('<p class="without-script">{}</p><div class="scroll">{}</div>').format(
        head, data_table(f"data-{block['name']}", columns, shown)
    )


def _rows(spec: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The first data set of a spec, wherever in it that stands."""
    for rows in spec.get("datasets", {}).values():
        return [r if isinstance(r, Mapping) else {"value": r} for r in rows]
    values = spec.get("data", {}).get("values") if isinstance(spec.get("data"), Mapping) else None
    return [r if isinstance(r, Mapping) else {"value": r} for r in values] if isinstance(values, list) else []
