"""Tables of a page: the structure by great_tables, the look by the page's one stylesheet."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from workbench.analysis.ledger import Row
from workbench.analysis.verdict import EVIDENCE
from workbench.reporting.theme import VERDICT_SIGNS
from workbench.reporting.values import expected_html, measured_html, safe, value_html

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
        k: [] for k in ("claim", "statement", "expected", "measured", "verdict", "where", "evidence")
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
        columns["measured"].append(measured_html(row.expected, row.measured, row.tolerance) + timing)
        columns["verdict"].append(verdict_html(row))
        columns["where"].append(safe(row.where))
    labels = {
        "claim": "Claim", "statement": "The document says", "expected": "Expected", "measured": "Measured",
        "verdict": "Verdict", "where": "Where measured",
    }  # fmt: skip
    return _render("ledger", columns, labels, right=(), group="evidence")


def data_table(name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Markup:
    """A table of data; a column of numbers is aligned to the right."""
    keys = [f"c{i}" for i in range(len(columns))]
    cells = {k: [str(value_html(row[i])) for row in rows] for i, k in enumerate(keys)}
    right = [
        k for i, k in enumerate(keys) if rows and all(_is_number(row[i]) or row[i] is None for row in rows)
    ]
    return _render(f"table-{name}", cells, dict(zip(keys, map(safe, columns), strict=True)), right)


def _statement(row: Row, figures: Sequence[tuple[str, str]]) -> Markup:
    note = Markup('<span class="note">{}</span>').format(safe(row.note)) if row.note else Markup("")
    links = Markup(" ").join(Markup('<a href="#{}">{}</a>').format(a, label) for a, label in figures)
    why = Markup('<span class="why">{}</span>').format(safe(row.explanation)) if row.explanation else Markup("")
    return Markup("{}{}{}{}").format(
        safe(row.statement), why, note, Markup('<span class="figures">{}</span>').format(links) if links else ""
    )


def _render(
    name: str, columns: Mapping[str, Sequence[str]], labels: Mapping[str, str], right: Sequence[str],
    group: str | None = None,
) -> Markup:  # fmt: skip
    import polars as pl
    from great_tables import GT, html

    frame = pl.DataFrame({k: [str(cell) for cell in cells] for k, cells in columns.items()}, strict=False)
    table = GT(frame, id=name, groupname_col=group).fmt_passthrough(columns=list(columns), escape=False)
    table = table.cols_label(**{k: html(str(label)) for k, label in labels.items()})
    table = table.cols_align(align="left", columns=list(columns))
    if right:
        table = table.cols_align(align="right", columns=list(right))
    # Its own stylesheet is left out: 9 KB a table, and its `tr, td, th` rule reaches all others.
    return Markup(_TABLE.search(table.as_raw_html())[0])


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
