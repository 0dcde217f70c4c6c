"""Charts of two variants side by side: each row's two ranks, the queries that differ most, and a metric's room in its
ties."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workbench.analysis.evaluate.rankings import NO_LIST, ComparedRow, RankComparison
from workbench.reporting.theme import ACCENT, CATEGORIES, MUTED
from workbench.text import excerpt

if TYPE_CHECKING:
    import polars as pl

    from workbench.analysis.evaluate.metrics import Range
    from workbench.types import PointId

# ---- Charts of two variants side by side: each row's two ranks, the queries that differ mos ----

ABSENT = "absent"
TITLE_CHARACTERS = 60
WIDE = 640


def slope(
    found: RankComparison, titles: Mapping[PointId, str], target: PointId | None = None
) -> Any:
    """Two variants on one query: rank left, rank right, a line a row, coloured by the lists that hold it on the right.

    On a side the rows stand in its order, each with its rank, so that deep ranks stay apart; what a side lacks stands
    last, as absent. The target's line is thick.
    """
    alt = _alt()
    places = {
        side: _order([getattr(r, side).rank for r in found.rows]) for side in ("left", "right")
    }
    points = [
        {
            "row": str(r.id),
            "side": name,
            "place": places[side][n],
            "shown": str(getattr(r, side).rank or ABSENT),
            "title": _title(r, titles),
            "lists": membership(r),
            "end": side == "right",
            "target": r.id == target,
        }
        for n, r in enumerate(found.rows)
        for side, name in (("left", found.left), ("right", found.right))
    ]
    kinds = list(dict.fromkeys(p["lists"] for p in points))
    base = alt.Chart(_frame(points)).encode(
        x=alt.X(
            "side:N",
            sort=[found.left, found.right],
            title=None,
            axis=alt.Axis(labelAngle=0, orient="top", labelFontWeight=600),
        ),
        y=alt.Y(
            "place:Q",
            scale=alt.Scale(reverse=True, domain=[-0.5, len(found.rows) - 0.5]),
            axis=None,
        ),
        color=alt.Color(
            "lists:N",
            title=None,
            sort=kinds,
            scale=alt.Scale(domain=kinds, range=CATEGORIES[: len(kinds)]),
        ),
        tooltip=["title:N", "side:N", "shown:N", "lists:N"],
    )
    lines = base.mark_line().encode(
        detail="row:N", strokeWidth=alt.condition("datum.target", alt.value(4), alt.value(1.6))
    )
    left = (
        base.transform_filter("!datum.end").mark_text(align="right", dx=-10).encode(text="shown:N")
    )
    right = (
        base.transform_filter("datum.end")
        .transform_calculate(label="datum.shown + '   ' + datum.title")
        .mark_text(align="left", dx=10)
    )
    return (lines + base.mark_point(size=45) + left + right.encode(text="label:N")).properties(
        width=240,
        height=max(120, 22 * len(found.rows)),
        title={"text": f"{found.left} beside {found.right}", "subtitle": _said(found)},
    )


def _order(ranks: Sequence[int | None]) -> list[int]:
    """The place of each row on a side: by rank, absent ones last in the order of the rows."""
    order = sorted(range(len(ranks)), key=lambda n: (ranks[n] is None, ranks[n] or n))
    return [order.index(n) for n in range(len(ranks))]


def membership(row: ComparedRow) -> str:
    """The lists that hold a row on the right; where none does, those that hold it on the left."""
    right = row.right.membership
    return right if right != NO_LIST else f"{row.left.membership} (left only)"


def most_different(table: pl.DataFrame, left: str, right: str, limit: int = 20) -> Any:
    """The queries on which two variants differ most, by their texts: a long bar is a rank-biased overlap near 0."""
    alt = _alt()
    asked = table.head(limit).to_dicts()
    texts = [excerpt(r["text"], "", TITLE_CHARACTERS) or "(an empty query)" for r in asked]
    rows = [
        # Two queries of one text are two bars.
        {
            "query": text if texts.count(text) == 1 else f"{text} ({r['query_id']})",
            "difference": 1 - r["rbo"],
            "overlap": r["rbo"],
            "first difference": r["first_difference"],
            "id": r["query_id"],
        }
        for r, text in zip(asked, texts, strict=True)
    ]
    return (
        alt.Chart(_frame(rows))
        .mark_bar()
        .encode(
            y=alt.Y(
                "query:N",
                sort=[r["query"] for r in rows],
                title=None,
                axis=alt.Axis(labelLimit=260),
            ),
            x=alt.X(
                "difference:Q",
                scale=alt.Scale(domain=[0, 1]),
                title=[f"how far {left} and {right} differ", "(1 − rank-biased overlap)"],
            ),
            tooltip=[
                "query:N",
                "id:N",
                alt.Tooltip("overlap:Q", title="rank-biased overlap", format=".3f"),
                alt.Tooltip("first difference:Q", title="first difference at rank"),
            ],
        )
        .properties(width=WIDE - 200, height=alt.Step(20))
    )


def tie_ranges(ranges: Mapping[str, Range]) -> Any:
    """A metric of each variant as it is in our order, within the least and the most that it could be in its ties."""
    alt = _alt()
    rows = [
        {
            "variant": v,
            "value": r.value,
            "low": r.low,
            "high": r.high,
            "split": len(r.split),
            "moved": len(r.moved),
        }
        for v, r in ranges.items()
    ]
    metric = next(iter(ranges.values())).metric
    base = alt.Chart(_frame(rows)).encode(y=alt.Y("variant:N", sort=list(ranges), title=None))
    return (
        base.mark_rule(strokeWidth=3, color=MUTED).encode(
            x=alt.X(
                "low:Q", title=f"{metric}, over all orders of the ties", scale=alt.Scale(zero=False)
            ),
            x2="high:Q",
        )
        + base.mark_point(size=90).encode(
            x="value:Q", tooltip=["variant:N", "value:Q", "low:Q", "high:Q", "split:Q", "moved:Q"]
        )
    ).properties(width=WIDE - 200, height=alt.Step(34))


def _said(found: RankComparison) -> str:
    o = found.overlap
    first = (
        f"first difference at rank {o.first_difference}"
        if o.first_difference
        else "the same from first to last"
    )
    return f"rank-biased overlap {o.rbo:.3f}, {first}, {o.at_k:.0%} of the first {o.k} shared"


def _title(row: ComparedRow, titles: Mapping[PointId, str]) -> str:
    text = " ".join(titles.get(row.id, str(row.id)).split())
    return text if len(text) <= TITLE_CHARACTERS else text[: TITLE_CHARACTERS - 1] + "…"


def _alt() -> Any:
    import altair as alt

    return alt


def _frame(rows: Sequence[Mapping[str, Any]]) -> Any:
    import polars

    return polars.DataFrame(list(rows), infer_schema_length=None)


# ---- Charts of a comparison on judged queries: differences with their intervals, wins and l ----

WIDE_DIFFERENCE_CHARTS, BAR = 640, 13
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
    middle = alt.ExprRef(
        f"-{LINE / 2:g} * (length({lines}) - 1)"
    )  # Vega sets the first line at the row's middle
    return alt.Axis(labelLimit=0, labelExpr=lines, labelLineHeight=LINE, labelOffset=middle)


def _step(labels: Iterable[str], least: int) -> Any:
    """The height of a row: that of its longest label."""
    import altair as alt

    return alt.Step(max(least, max(LINE * (1 + text.count("\n")) for text in labels) + 6))


def intervals(rows: Rows, level: str) -> Any:
    """Differences with their intervals, one panel a metric and one line a pair. Rows: the pair table's."""
    fields = ("metric", "difference", "low", "high", "n", "p_holm", "wins", "ties", "losses")
    return _interval_chart(
        [{"pair": _pair(r), **{k: r[k] for k in fields}} for r in rows], "pair", "metric", level
    )


def slice_intervals(rows: Rows, level: str) -> Any:
    """Differences within slices with their intervals, one panel a pair. Rows: the slice table's with figures."""
    kept = [
        {
            "slice": label(f"{r['attribute'].replace('_', ' ')} {r['label']} ({r['n']})"),
            "pair": _pair(r),
            **{k: r[k] for k in ("difference", "low", "high", "n")},
        }
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
        alt.Tooltip(
            f,
            title=TITLES.get(f, f),
            **({"format": ".4f"} if f in ("difference", "low", "high", "p_holm") else {}),
        )
        for f in rows[0]
        if f != panel
    ]
    zero = base.mark_rule(color=MUTED).encode(x=alt.datum(0))
    whisker = lines.mark_rule(strokeWidth=2, color=ACCENT).encode(
        x=alt.X("low:Q", title=f"difference, {level} interval"), x2="high:Q"
    )
    point = lines.mark_point(size=65).encode(x="difference:Q", tooltip=shown)
    width = WIDE_DIFFERENCE_CHARTS - 220 if len(panels) == 1 else 200
    chart = (zero + whisker + point).properties(width=width, height=_step(order, 22))
    header = alt.Header(labelLimit=0, labelExpr="split(datum.label, '\\n')", labelLineHeight=LINE)
    return chart.facet(
        alt.Facet(f"{panel}:N", sort=panels, title=None, header=header), columns=2
    ).resolve_scale(x="independent")


def outcomes(rows: Rows) -> Any:
    """Queries won, tied and lost, one bar a pair and metric; the legend names the two variants where there is one pair.
    Rows: the pair table's."""
    import altair as alt

    pairs = list(dict.fromkeys((r["a"], r["b"]) for r in rows))
    a, b = pairs[0] if len(pairs) == 1 else ("the second", "the first")
    names = {"wins": f"{b} better", "ties": "tied", "losses": f"{a} better"}
    kept = [
        {
            "pair": r["metric"]
            if len(pairs) == 1
            else label(f"{r['b']} against {r['a']}, {r['metric']}"),
            "outcome": name,
            "queries": r[column],
            "place": place,
        }
        for r in rows
        for place, (column, name) in enumerate(names.items())
    ]
    return (
        _chart(kept)
        .mark_bar(cornerRadiusEnd=0, size=BAR)
        .encode(
            y=alt.Y(
                "pair:N",
                sort=list(dict.fromkeys(r["pair"] for r in kept)),
                title=None,
                axis=_axis(),
            ),
            x=alt.X(
                "queries:Q",
                title="queries",
                stack="zero",
                axis=alt.Axis(format=",d", tickMinStep=1),
            ),
            order="place:O",
            color=alt.Color(
                "outcome:N",
                title=None,
                sort=list(names.values()),
                legend=alt.Legend(labelLimit=LEGEND_PIXELS),
                scale=alt.Scale(domain=list(names.values()), range=list(OUTCOME_COLOURS.values())),
            ),
            tooltip=["pair", "outcome", "queries"],
        )
        .properties(width=WIDE_DIFFERENCE_CHARTS - 220, height=_step([r["pair"] for r in kept], 18))
    )
