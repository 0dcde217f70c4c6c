"""Charts of the notes search: bytes by path, rounds, a search round by round, growth, floors, cosines, layouts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.reporting.theme import CATEGORIES, FAINT, MUTED

WIDE = 640
PATHS = ("old", "stopgap", "new")
PATH_COLOURS = ("#c1432c", "#d08a2e", "#1f7a63")
STAGES = ("full text", "vector", "chunk text", "hydrate", "filter pass")

PARTS = "datum.value == 1 ? '1' : '1/' + round(1 / datum.value)"
"""Vega's expression for a share as a part of one."""

SIZE = "datum.value < 1e3 ? datum.value + ' KB' : datum.value < 1e6 ? datum.value / 1e3 + ' MB' : datum.value / 1e6 + ' GB'"
"""Vega's expression for a number of KB with its unit."""

Rows = Sequence[Mapping[str, Any]]


def _alt() -> Any:
    import altair as alt

    return alt


def _frame(rows: Rows) -> Any:
    import polars as pl

    return pl.DataFrame(list(rows), infer_schema_length=None)


def _path_colour(alt: Any, paths: Sequence[str] = PATHS) -> Any:
    return alt.Color(
        "path:N",
        title=None,
        scale=alt.Scale(domain=list(paths), range=[PATH_COLOURS[PATHS.index(p)] for p in paths]),
    )


def bytes_by_path(rows: Rows, limit: int) -> Any:
    """Bytes a search of each path on a log axis, one mark a query, the median as a diamond, the stated limit as a line.

    Rows: path, project, bytes.
    """
    alt = _alt()
    rows = [{**r, "kb": r["bytes"] / 1e3} for r in rows if r["bytes"]]
    most = max([r["kb"] for r in rows] + [limit / 1e3]) * 1.5
    charts = []
    for project in dict.fromkeys(r["project"] for r in rows):
        frame = _frame([r for r in rows if r["project"] == project])
        x = alt.X(
            "kb:Q",
            scale=alt.Scale(type="log", domain=[1, most], nice=False),
            title="moved by a search (log)",
            axis=alt.Axis(
                labelExpr=SIZE, grid=False, values=[10**e for e in range(9) if 10**e <= most]
            ),
        )
        y = alt.Y("path:N", sort=list(PATHS), title=None)
        marks = (
            alt.Chart(frame)
            .mark_tick(thickness=1.5, size=18, opacity=0.6)
            .encode(
                x=x,
                y=y,
                color=_path_colour(alt),
                tooltip=["path", alt.Tooltip("kb", format=",.1f")],
            )
        )
        middle = (
            alt.Chart(frame)
            .mark_point(shape="diamond", size=110, color="#1c2430")
            .encode(x="median(kb):Q", y=y)
        )
        line = alt.Chart(_frame([{"kb": limit / 1e3, "label": f"{limit / 1e3:g} KB"}])).encode(
            x="kb:Q"
        )
        rule = line.mark_rule(strokeDash=[4, 3], color=MUTED) + line.mark_text(
            align="center", y=-7, color=MUTED
        ).encode(text="label:N")
        charts.append(
            (rule + marks + middle).properties(
                width=WIDE - 160, height=alt.Step(36), title=f"project: {project}"
            )
        )
    return alt.vconcat(*charts)


def rounds(rows: Rows) -> Any:
    """How many searches took how many rounds. Rows: project, rounds, searches."""
    alt = _alt()
    return (
        alt.Chart(_frame(rows))
        .mark_bar()
        .encode(
            x=alt.X("rounds:O", title="rounds of a search", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("searches:Q", title="searches"),
            color=alt.Color("project:N", title="project", sort=["large", "second"]),
            xOffset=alt.XOffset("project:N", sort=["large", "second"]),
            tooltip=["project", "rounds", "searches"],
        )
        .properties(width=WIDE - 200, height=220)
    )


def waterfall(rows: Rows) -> Any:
    """One search round by round: when each ran, in a colour of no stage, and the bytes that it moved by stage. Round 0 runs once."""
    alt = _alt()
    bars, start = [], 0.0
    for r in rows:
        label = "outside" if r["round"] == 0 else f"{r['round']}: {r['window']:,}"
        bars.append(
            {
                "step": label,
                "from": start * 1e3,
                "to": (start + r["seconds"]) * 1e3,
                "rows": r["rows"],
                "megabytes": r["bytes"] / 1e6,
                "admitted": r["admitted"],
            }
        )
        start += r["seconds"]
    order = [b["step"] for b in bars]
    y = alt.Y("step:N", sort=order, title="round: window")
    time = (
        alt.Chart(_frame(bars))
        .mark_bar(color=FAINT)
        .encode(
            x=alt.X("from:Q", title="milliseconds"),
            x2="to:Q",
            y=y,
            tooltip=["step", "rows", "admitted", alt.Tooltip("megabytes", format=".2f")],
        )
    )
    parts = [
        {"step": b["step"], "stage": s, "megabytes": r[s] / 1e6, "admitted": b["admitted"]}
        for b, r in zip(bars, rows, strict=True)
        for s in STAGES
        if r[s]
    ]
    moved = (
        alt.Chart(_frame(parts))
        .mark_bar()
        .encode(
            x=alt.X("megabytes:Q", title="MB that cross"),
            y=alt.Y("step:N", sort=order, title=None, axis=None),
            color=alt.Color(
                "stage:N",
                sort=list(STAGES),
                title=None,
                scale=alt.Scale(domain=list(STAGES), range=CATEGORIES[: len(STAGES)]),
            ),
            tooltip=["step", "stage", alt.Tooltip("megabytes", format=".2f"), "admitted"],
        )
    )
    size = {"width": WIDE // 2 - 60, "height": alt.Step(24)}
    return alt.hconcat(time.properties(**size), moved.properties(**size))


def slope_text(slope: float) -> str:
    """A slope with its sign and two decimals; one that rounds to 0 has no sign."""
    return (f"{slope:+.2f}" if round(slope, 2) else "0").replace("-", "−")


def growth(rows: Rows, what: str, slopes: Mapping[str, Any]) -> Any:
    """Seconds or bytes of both paths over note size and over chunk count, both axes log. Rows: over, share, <path>_<what>."""
    alt = _alt()
    scale = 1e3 if what == "seconds" else 1e-6
    unit = "ms a search (log)" if what == "seconds" else "MB a search (log)"
    points = [
        {
            "over": r["over"],
            "share": r["share"],
            "value": r[f"{path}_{what}"] * scale,
            "path": path,
            "label": f"slope {slope_text(slopes[r['over']][path][what])}"
            if r["share"] == 1
            else "",
        }
        for r in rows
        for path in ("old", "new")
    ]
    charts = []
    for over, title in (
        ("note size", "note size, chunks held constant"),
        ("chunks", "chunks, note size held constant"),
    ):
        base = alt.Chart(_frame([p for p in points if p["over"] == over])).encode(
            x=alt.X(
                "share:Q",
                scale=alt.Scale(type="log", base=2, domain=[1 / 18, 2.4]),
                title=title,
                axis=alt.Axis(values=[1 / 16, 1 / 8, 1 / 4, 1 / 2, 1], labelExpr=PARTS),
            ),
            y=alt.Y(
                "value:Q", scale=alt.Scale(type="log"), title=unit if over == "note size" else None
            ),
            color=_path_colour(alt, ("old", "new")),
        )
        dots = base.mark_line() + base.mark_point(size=55).encode(
            tooltip=["over", "share", "path", alt.Tooltip("value", format=",.3f")]
        )
        charts.append(
            (dots + base.mark_text(align="left", dx=7).encode(text="label:N")).properties(
                width=WIDE // 2 - 50, height=220
            )
        )
    return alt.hconcat(*charts).resolve_scale(y="shared")


def floor_sweep(rows: Rows) -> Any:
    """Wrong rows refused against right answers lost, floor by floor, a line a rule. Rows: set, rule, floor, right_lost, wrong_refused."""
    alt = _alt()
    base = alt.Chart(_frame(rows)).encode(
        x=alt.X("right_lost:Q", title="right answers lost", axis=alt.Axis(format="%")),
        y=alt.Y("wrong_refused:Q", title="wrong rows refused", axis=alt.Axis(format="%")),
        color=alt.Color(
            "rule:N",
            title="the floor is asked of",
            sort=["every", "unsupported", "alone", "whole search"],
        ),
        order="floor:Q",
    )
    lines = base.mark_line(opacity=0.5) + base.mark_point(size=35).encode(
        tooltip=[
            "set",
            "rule",
            "floor",
            alt.Tooltip("right_lost", format=".1%"),
            alt.Tooltip("wrong_refused", format=".1%"),
        ]
    )
    return lines.properties(width=WIDE // 2 - 50, height=240).facet(
        column=alt.Column("set:N", title=None)
    )


def cosine_overlap(rows: Rows) -> Any:
    """How many queries have their best relevant and their best irrelevant document at which cosine. Rows: set, kind, cosine, queries."""
    alt = _alt()
    kinds = ["relevant", "irrelevant"]
    return (
        alt.Chart(_frame(rows))
        .mark_area(interpolate="step", opacity=0.5)
        .encode(
            x=alt.X("cosine:Q", title="cosine of the best document"),
            y=alt.Y("queries:Q", title="queries", stack=None),
            color=alt.Color(
                "kind:N",
                title=None,
                sort=kinds,
                scale=alt.Scale(domain=kinds, range=["#1f7a63", "#c1432c"]),
            ),
            tooltip=["set", "kind", "cosine", "queries"],
        )
        .properties(width=WIDE // 2 - 50, height=200)
        .facet(column=alt.Column("set:N", title=None))
        .resolve_scale(y="independent")
    )


def parts(rows: Rows) -> Any:
    """Median megabytes of each set of the stopgap's parts. Rows: parts, megabytes, rounds."""
    alt = _alt()
    ordered = sorted(rows, key=lambda r: -r["megabytes"])
    base = alt.Chart(_frame(ordered)).encode(
        y=alt.Y(
            "parts:N", sort=[r["parts"] for r in ordered], title=None, axis=alt.Axis(labelLimit=280)
        ),
        x=alt.X("megabytes:Q", title="MB a search"),
    )
    return (
        base.mark_bar()
        + base.mark_text(align="left", dx=5).encode(text=alt.Text("megabytes:Q", format=",.1f"))
    ).properties(width=WIDE - 280, height=alt.Step(24))


def layouts(rows: Rows) -> Any:
    """Milliseconds of a search by layout and selectivity. Rows: layout, selectivity, ms."""
    alt = _alt()
    shown = list(dict.fromkeys(r["selectivity"] for r in rows))
    return (
        alt.Chart(_frame(rows))
        .mark_bar()
        .encode(
            y=alt.Y("selectivity:N", sort=shown, title="admitted"),
            x=alt.X("ms:Q", title="ms a search"),
            color=alt.Color("layout:N", title=None),
            yOffset="layout:N",
            tooltip=["layout", "selectivity", "ms"],
        )
        .properties(width=WIDE - 200, height=alt.Step(18))
    )
