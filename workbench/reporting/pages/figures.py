"""Charts and tables as figures: each spec once, its data as text for readers without script."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from markupsafe import Markup

from workbench.analysis.canonical import write_text
from workbench.analysis.ledger.ledger import Row
from workbench.analysis.ledger.verdict import EVIDENCE
from workbench.reporting.html import expected_html, markdown_html, measured_html, safe, value_html
from workbench.reporting.theme import VERDICT_SIGNS
from workbench.settings import home
from workbench.text import visible

# ---- Tables of a page: the structure by great_tables, the look by the page's one stylesheet ----

_TABLE = re.compile(r"<table.*</table>", re.DOTALL)


def verdict_html(row: Row) -> Markup:
    """A verdict as a coloured word with its sign, so that it is read without colour too, and its evidence."""
    name = row.shown
    said = f"{name} by {row.superseded}" if row.superseded else name
    css = name.lower().replace(" ", "-")
    return Markup(
        '<span class="verdict {}" data-verdict="{}"><i>{}</i><span>{}</span></span><span class="kind">{}</span>'
    ).format(css, name, VERDICT_SIGNS[name], safe(said), row.evidence)


def ledger_table(rows: Sequence[Row], figures: Mapping[str, Sequence[tuple[str, str]]]) -> Markup:
    """The ledger: claim, expected, measured, verdict, where, grouped by evidence.

    `figures` maps claim ids to (anchor, label).
    """
    columns: dict[str, list[str]] = {
        k: []
        for k in ("claim", "statement", "expected", "measured", "verdict", "where", "evidence")
    }
    for row in sorted(rows, key=lambda r: EVIDENCE.index(r.evidence)):
        columns["evidence"].append(row.evidence[0].upper() + row.evidence[1:])
        columns["claim"].append(
            Markup(
                '<a class="claim" id="claim-{0}" href="#claim-{0}">{0}</a><span class="kind">{1}</span>'
            ).format(row.id, row.kind)
        )
        columns["statement"].append(_statement(row, figures.get(row.id, ())))
        columns["expected"].append(expected_html(row.expected, row.tolerance))
        timing = Markup('<span class="tag">timing</span>') if row.unsteady else Markup("")
        columns["measured"].append(
            measured_html(row.expected, row.measured, row.tolerance) + timing
        )
        columns["verdict"].append(verdict_html(row))
        columns["where"].append(safe(row.where))
    labels = {
        "claim": "Claim",
        "statement": "The document says",
        "expected": "Expected",
        "measured": "Measured",
        "verdict": "Verdict",
        "where": "Where measured",
    }
    return _render("ledger", columns, labels, right=(), group="evidence")


def data_table(name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Markup:
    """A table of data; a column of numbers is aligned to the right."""
    keys = [f"c{i}" for i in range(len(columns))]
    cells = {k: [str(value_html(row[i])) for row in rows] for i, k in enumerate(keys)}
    right = [
        k
        for i, k in enumerate(keys)
        if rows and all(_is_number(row[i]) or row[i] is None for row in rows)
    ]
    return _render(f"table-{name}", cells, dict(zip(keys, map(safe, columns), strict=True)), right)


def _statement(row: Row, figures: Sequence[tuple[str, str]]) -> Markup:
    note = Markup('<span class="note">{}</span>').format(safe(row.note)) if row.note else Markup("")
    links = Markup(" ").join(
        Markup('<a href="#{}">{}</a>').format(a, label) for a, label in figures
    )
    why = (
        Markup('<span class="why">{}</span>').format(safe(row.explanation))
        if row.explanation
        else Markup("")
    )
    return Markup("{}{}{}{}").format(
        safe(row.statement),
        why,
        note,
        Markup('<span class="figures">{}</span>').format(links) if links else "",
    )


def _render(
    name: str,
    columns: Mapping[str, Sequence[str]],
    labels: Mapping[str, str],
    right: Sequence[str],
    group: str | None = None,
) -> Markup:
    import polars as pl
    from great_tables import GT, html

    frame = pl.DataFrame(
        {k: [str(cell) for cell in cells] for k, cells in columns.items()}, strict=False
    )
    table = GT(frame, id=name, groupname_col=group).fmt_passthrough(
        columns=list(columns), escape=False
    )
    table = table.cols_label(**{k: html(str(label)) for k, label in labels.items()})
    table = table.cols_align(align="left", columns=list(columns))
    if right:
        table = table.cols_align(align="right", columns=list(right))
    # Its own stylesheet is left out: 9 KB a table, and its `tr, td, th` rule reaches all others.
    return Markup(_TABLE.search(table.as_raw_html())[0])


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


# ---- Charts and tables as figures: each spec once, its data as text for readers without scr ----

# Rows of a chart's data that a reader without script is shown.
TEXT_ROWS = 20


def script_json(value: Any) -> Markup:
    """JSON for a script element: no character in it can end the element or open a comment."""
    text = json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
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
        ).format(
            _plain_text(label, block["caption"]),
            script_json(shown(block["content"])),
            _as_text(block),
        )
    claims = Markup(" ").join(
        Markup('<a href="#claim-{0}">{0}</a>').format(c) for c in block["claims"]
    )
    return Markup(
        '<figure id="{}" class="of-{}">{}<figcaption><b>{}</b> {}{}</figcaption></figure>'
    ).format(
        anchor,
        block["kind"],
        body,
        label,
        _caption(block["caption"]),
        Markup('<span class="claims">{}</span>').format(claims) if claims else "",
    )


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
    return (
        [r if isinstance(r, Mapping) else {"value": r} for r in values]
        if isinstance(values, list)
        else []
    )


# ---- The one script that draws all charts of a page: Vega, Vega-Lite and vega-embed as a si ----


def chart_bundle() -> str:
    """The bundle of the Vega-Lite version that Altair writes, safe inside a script element.

    Made in one to five seconds, so kept under the home directory by its versions.
    """
    import altair as alt

    vega_lite = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
    path = home() / "cache" / f"vega-lite-{vega_lite}-vl-convert-{version('vl-convert-python')}.js"
    if not path.exists():
        import vl_convert

        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, vl_convert.javascript_bundle(vl_version=vega_lite))
    # In a script element only `</script` and `<!--` mean something; in a string both escapes idle.
    return (
        path.read_text(encoding="utf-8").replace("</script", "<\\/script").replace("<!--", "<\\!--")
    )
