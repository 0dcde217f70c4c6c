"""Charts of a comparison on judged queries: differences with their intervals, wins and losses, slices."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from workbench.reporting.theme import ACCENT, MUTED

WIDE, BAR = 640, 13
LINE, LABEL_CHARACTERS = 14, 44
"""Pixels of a label's line, and characters from which on a label takes another line: none is cut short."""
LEGEND_PIXELS = 200
OUTCOME_COLOURS = {"wins": "#1f7a63", "ties": "#cfd5dd", "losses": "#c1432c"}
TITLES = {"p_holm": "p (Holm)", "n": "queries"}
"""What a tooltip calls a column that is no word."""

Rows = Sequence[Mapping[str, Any]]


def _chart(rows: Rows) -> Any:
    import altair as alt
    import polars as pl

    return alt.Chart(pl.DataFrame(list(rows), infer_schema_length=None))


def _pair(row: Mapping[str, Any]) -> str:
    return label(f"{row['b']} − {row['a']}")


def label(text: str) -> str:
    """A label in lines of at most LABEL_CHARACTERS, broken behind blanks, commas, brackets and signs."""
    lines = [""]
    for part in re.findall(r"[^\s,(+)_=]*[\s,(+)_=]?", text):
        while len(part) > LABEL_CHARACTERS:
            lines.append(part[:LABEL_CHARACTERS])
            part = part[LABEL_CHARACTERS:]
        if len(lines[-1]) + len(part.rstrip()) > LABEL_CHARACTERS:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.strip() for line in lines if line.strip())


def _axis() -> Any:
    import altair as alt

    lines = "split(datum.label, '\\n')"
    middle = alt.ExprRef(f"-{LINE / 2:g} * (length({lines}) - 1)")  # Vega sets the first line at the row's middle
    return alt.Axis(labelLimit=0, labelExpr=lines, labelLineHeight=LINE, labelOffset=middle)


def _step(labels: Iterable[str], least: int) -> Any:
    """The height of a row: that of its longest label."""
    import altair as alt

    return alt.Step(max(least, max(LINE * (1 + text.count("\n")) for text in labels) + 6))


def intervals(rows: Rows, level: str) -> Any:
    """Differences with their intervals, one panel a metric and one line a pair. Rows: the pair table's."""
    fields = ("metric", "difference", "low", "high", "n", "p_holm", "wins", "ties", "losses")
    return _interval_chart([{"pair": _pair(r), **{k: r[k] for k in fields}} for r in rows], "pair", "metric", level)


def slice_intervals(rows: Rows, level: str) -> Any:
    """Differences within slices with their intervals, one panel a pair. Rows: the slice table's with figures."""
    kept = [
        {"slice": label(f"{r['attribute'].replace('_', ' ')} {r['label']} ({r['n']})"), "pair": _pair(r), **{k: r[k] for k in ("difference", "low", "high", "n")}}
        for r in rows
    ]
    return _interval_chart(kept, "slice", "pair", level)


def _interval_chart(rows: Rows, line: str, panel: str, level: str) -> Any:
    import altair as alt

    panels = list(dict.fromkeys(r[panel] for r in rows))
    order = list(dict.fromkeys(r[line] for r in rows))
    base = _chart(rows)
    lines = base.encode(y=alt.Y(f"{line}:N", sort=order, title=None, axis=_axis()))
    shown = [
        alt.Tooltip(f, title=TITLES.get(f, f), **({"format": ".4f"} if f in ("difference", "low", "high", "p_holm") else {}))
        for f in rows[0] if f != panel
    ]  # fmt: skip
    zero = base.mark_rule(color=MUTED).encode(x=alt.datum(0))
    whisker = lines.mark_rule(strokeWidth=2, color=ACCENT).encode(
        x=alt.X("low:Q", title=f"difference, {level} interval"), x2="high:Q"
    )
    point = lines.mark_point(size=65).encode(x="difference:Q", tooltip=shown)
    width = WIDE - 220 if len(panels) == 1 else 200
    chart = (zero + whisker + point).properties(width=width, height=_step(order, 22))
    header = alt.Header(labelLimit=0, labelExpr="split(datum.label, '\\n')", labelLineHeight=LINE)
    return chart.facet(alt.Facet(f"{panel}:N", sort=panels, title=None, header=header), columns=2).resolve_scale(x="independent")


def outcomes(rows: Rows) -> Any:
    """Queries won, tied and lost, one bar a pair and metric; the legend names the two variants where there is one pair.
    Rows: the pair table's."""
    import altair as alt

    pairs = list(dict.fromkeys((r["a"], r["b"]) for r in rows))
    a, b = pairs[0] if len(pairs) == 1 else ("the second", "the first")
    names = {"wins": f"{b} better", "ties": "tied", "losses": f"{a} better"}
    kept = [
        {"pair": r["metric"] if len(pairs) == 1 else label(f"{r['b']} against {r['a']}, {r['metric']}"),
         "outcome": name, "queries": r[column], "place": place}
        for r in rows for place, (column, name) in enumerate(names.items())
    ]  # fmt: skip
    return _chart(kept).mark_bar(cornerRadiusEnd=0, size=BAR).encode(
        y=alt.Y("pair:N", sort=list(dict.fromkeys(r["pair"] for r in kept)), title=None, axis=_axis()),
        x=alt.X("queries:Q", title="queries", stack="zero", axis=alt.Axis(format=",d", tickMinStep=1)),
        order="place:O",
        color=alt.Color("outcome:N", title=None, sort=list(names.values()), legend=alt.Legend(labelLimit=LEGEND_PIXELS),
                        scale=alt.Scale(domain=list(names.values()), range=list(OUTCOME_COLOURS.values()))),
        tooltip=["pair", "outcome", "queries"],
    ).properties(width=WIDE - 220, height=_step([r["pair"] for r in kept], 18))  # fmt: skip
