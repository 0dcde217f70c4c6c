"""Charts of ranks: where a target stands by variant, which lists hold the rows above it, what a cap costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.reporting.theme import ACCENT, LIST_COLOURS, MUTED, RULE, list_scale

ABSENT = "absent"
WIDE = 640
TARGET = LIST_COLOURS["target"]


def _log(title: str, *, reverse: bool = False, domain: list[float] | None = None) -> dict[str, Any]:
    """Arguments of a log channel: no grid, as its lines would outnumber the data."""
    alt = _alt()
    scale = {
        "type": "log",
        "nice": False,
        **({"reverse": True} if reverse else {}),
        **({"domain": domain} if domain else {}),
    }
    return {"scale": alt.Scale(**scale), "axis": alt.Axis(grid=False, tickCount=5), "title": title}


def _alt() -> Any:
    import altair as alt

    return alt


def _frame(rows: Sequence[Mapping[str, Any]]) -> Any:
    import polars as pl

    return pl.DataFrame(list(rows), infer_schema_length=None)


def rank_by_variant(ranks: Mapping[str, int | None], page: int = 8) -> Any:
    """The target's fused rank under each variant on a log axis; a variant that lacks it says so. Rows: variants."""
    alt = _alt()
    deepest = max([r for r in ranks.values() if r] + [page * 8])
    rows = [
        {
            "variant": v,
            "rank": r or deepest * 3,
            "shown": str(r) if r else ABSENT,
            "where": f"first {page}"
            if r and r <= page
            else f"beyond the first {page}"
            if r
            else ABSENT,
        }
        for v, r in ranks.items()
    ]
    axis = _log("rank of the target (log)", domain=[0.9, deepest * 4])
    # Absent is no rank: it stands behind a line where the axis has ended.
    axis["axis"] = alt.Axis(
        grid=False, values=[n for e in range(7) for n in (10**e, 3 * 10**e) if n <= deepest]
    )
    base = alt.Chart(_frame(rows)).encode(
        y=alt.Y("variant:N", sort=list(ranks), title=None), x=alt.X("rank:Q", **axis)
    )
    places = [f"first {page}", f"beyond the first {page}", ABSENT]
    colour = alt.Color(
        "where:N", title=None, scale=alt.Scale(domain=places, range=["#1f7a63", ACCENT, TARGET])
    )
    cut = (
        alt.Chart(_frame([{"page": page + 0.5}]))
        .mark_rule(strokeDash=[4, 3], color=MUTED)
        .encode(x="page:Q")
    )
    end = alt.Chart(_frame([{"end": deepest * 1.2}])).mark_rule(color=RULE).encode(x="end:Q")
    points = base.mark_point(size=110).encode(color=colour, tooltip=["variant", "shown"])
    # Beside its point inside of the plot, however narrow the plot is.
    found = (
        base.transform_filter(alt.datum.where != ABSENT)
        .mark_text(align="left", dx=10)
        .encode(text="shown:N")
    )
    absent = (
        base.transform_filter(alt.datum.where == ABSENT)
        .mark_text(align="right", dx=-10)
        .encode(text="shown:N")
    )
    return (end + cut + points + found + absent).properties(width=WIDE - 160, height=alt.Step(24))


def per_list_ranks(
    rows: Sequence[Mapping[str, Any]], lists: Sequence[str] = ("lexical", "semantic", "verbatim")
) -> Any:
    """The first rows of a fused ranking, one line a row: its rank in each list; the target's row is marked.

    `rows`: rank, target, title, project and one key a list (None where the list lacks the row).
    """
    alt = _alt()
    points = [
        {
            "fused rank": r["rank"],
            "list": n,
            "rank in list": r[n],
            "row": "target" if r["target"] else "other",
            "title": r.get("title") or "",
            "project": r.get("project") or "",
        }
        for r in rows
        for n in lists
        if r.get(n) is not None
    ]
    chart = (
        alt.Chart(_frame(points))
        .mark_point(size=60, opacity=0.85)
        .encode(
            x=alt.X(
                "fused rank:Q",
                title="fused rank",
                scale=alt.Scale(domain=[0, len(rows) + 1], nice=False),
            ),
            y=alt.Y(
                "rank in list:Q",
                **_log("rank in its list (log, first on top)", reverse=True, domain=[0.9, 256]),
            ),
            color=alt.Color("list:N", scale=list_scale(*lists), title=None),
            tooltip=["fused rank", "list", "rank in list", "title", "project"],
        )
    )
    target = [r["rank"] for r in rows if r["target"]]
    if not target:
        return chart.properties(width=WIDE, height=300)
    line = alt.Chart(_frame([{"x": target[0], "label": f"the target, {target[0]}."}])).encode(
        x="x:Q"
    )
    mark = line.mark_rule(color="#c1432c", strokeWidth=2) + line.mark_text(
        align="left", dx=6, y=8, color="#c1432c"
    ).encode(text="label:N")
    return (mark + chart).properties(width=WIDE, height=300)


def ranks_over_seeds(
    rows: Sequence[Mapping[str, Any]],
    queries: Mapping[str, str],
    here: Mapping[tuple[str, str], int | None],
) -> Any:
    """One tick a seed: the target's rank under each variant, a panel a query; a diamond for the rank of the run itself.

    Rows: seed, query, variant, rank. `here`: (query, variant) to rank.
    """
    alt = _alt()
    points = [{**r, "query": queries[r["query"]]} for r in rows if r["rank"] is not None]
    variants = list(dict.fromkeys(r["variant"] for r in rows))
    x = alt.X(
        "rank:Q",
        **_log(
            "rank of the target (log)", domain=[0.9, max([100, *(r for r in here.values() if r)])]
        ),
    )
    y = alt.Y("variant:N", sort=variants, scale=alt.Scale(domain=variants), title=None)
    panels = []
    for key, text in queries.items():
        marks = _frame(
            [p for p in points if p["query"] == text]
            or [{"seed": None, "variant": variants[0], "rank": None}]
        )
        own = [
            {"variant": v, "rank": rank, "label": str(rank)}
            for (q, v), rank in here.items()
            if q == key and rank
        ]
        ticks = (
            alt.Chart(marks)
            .mark_tick(thickness=2, size=16, opacity=0.7)
            .encode(x=x, y=y, tooltip=["seed", "variant", "rank"])
        )
        layers = [ticks]
        if own:
            mark = alt.Chart(_frame(own)).encode(x=x, y=y)
            layers += [
                mark.mark_point(shape="diamond", size=90, color=TARGET, opacity=1).encode(
                    tooltip=["variant", "rank"]
                ),
                mark.mark_text(dy=-14, color=TARGET).encode(text="label:N"),
            ]
        panels.append(alt.layer(*layers).properties(width=250, height=alt.Step(36), title=text))
    return alt.hconcat(*panels, spacing=40)


def cap_against_payload(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Payload bytes read at each candidate cap, coloured by whether the target is among the candidates."""
    alt = _alt()
    points = [
        {
            "cap": r["cap"],
            "payload": r["payload_bytes"] / 1e6,
            "the target": f"read, rank {r['rank']}"
            if r["rank"] and r["found"]
            else "read"
            if r["found"]
            else "not read",
            "state": "read" if r["found"] else "not read",
        }
        for r in rows
    ]
    base = alt.Chart(_frame(points)).encode(
        x=alt.X("cap:Q", **_log("candidate cap (log)")),
        y=alt.Y("payload:Q", **_log("payload read, MB (log)")),
    )
    return (
        base.mark_line(color="#b9c0ca")
        + base.mark_point(size=110).encode(
            color=alt.Color(
                "state:N",
                title="the target is",
                scale=alt.Scale(domain=["not read", "read"], range=["#c1432c", "#1f7a63"]),
            ),
            tooltip=["cap", alt.Tooltip("payload", format=".2f"), "the target"],
        )
    ).properties(width=WIDE, height=280)


def position_against_cap(holding: int, cap: int, position: int, label: str = "the target") -> Any:
    """The engine's order as one bar: what the cap reads, what it leaves, and where the target stands in it."""
    alt = _alt()
    parts = [
        {"part": "read", "from": 0, "to": min(cap, holding)},
        {"part": "left by the cap", "from": min(cap, holding), "to": holding},
    ]
    bar = (
        alt.Chart(_frame(parts))
        .mark_bar(height=26, cornerRadius=0)
        .encode(
            x=alt.X(
                "from:Q",
                title="place in the engine's order",
                scale=alt.Scale(domain=[0, holding], nice=False),
            ),
            x2="to:Q",
            color=alt.Color(
                "part:N",
                title=None,
                scale=alt.Scale(domain=["read", "left by the cap"], range=[ACCENT, "#d7dce3"]),
            ),
            tooltip=["part", "from", "to"],
        )
    )
    at = alt.Chart(_frame([{"x": position, "label": f"{label}, {position:,}"}])).encode(x="x:Q")
    align = "right" if position > holding / 2 else "left"
    mark = at.mark_rule(color="#c1432c", strokeWidth=2) + at.mark_text(
        align=align, dx=-6 if align == "right" else 6, dy=-24, color="#c1432c"
    ).encode(text="label:N")
    return (bar + mark).properties(width=WIDE, height=64)


def chance_by_size(rows: Sequence[Mapping[str, Any]], size: int) -> Any:
    """The chance that the cap reads the target in a random smaller collection, against its size."""
    alt = _alt()
    base = alt.Chart(_frame(rows)).encode(
        x=alt.X("size:Q", **_log("memories in the collection (log)")),
        y=alt.Y(
            "found:Q",
            scale=alt.Scale(domain=[0, 1]),
            axis=alt.Axis(format="%"),
            title="chance that the target is read",
        ),
        tooltip=[alt.Tooltip("size", format=","), alt.Tooltip("found", format=".1%")],
    )
    here = alt.Chart(_frame([{"size": size, "label": "this collection"}])).encode(x="size:Q")
    rule = here.mark_rule(strokeDash=[4, 3], color=MUTED) + here.mark_text(
        align="right", dx=-6, y=10, color=MUTED
    ).encode(text="label:N")
    return (rule + base.mark_line()).properties(width=WIDE, height=240)


def rank_by_length(rows: Sequence[Mapping[str, Any]], page: int = 8) -> Any:
    """The target's lexical rank against its length, by plain BM25 and by BM25 over fields."""
    alt = _alt()
    names = {"plain": "one field", "fields": "title and content"}
    frame = _frame(
        [
            {**r, "scoring": names[r["scoring"]], "state": "first page" if r["found"] else "lost"}
            for r in rows
        ]
    )
    base = alt.Chart(frame).encode(
        x=alt.X("length:Q", title="length of the target, in average lengths"),
        y=alt.Y("lexical_rank:Q", **_log("lexical rank (log, first on top)", reverse=True)),
        color=alt.Color("scoring:N", title="BM25 over", sort=list(names.values())),
    )
    return (
        base.mark_line()
        + base.mark_point(size=80).encode(
            shape=alt.Shape(
                "state:N",
                title=f"fused, first {page}",
                scale=alt.Scale(domain=["first page", "lost"], range=["circle", "cross"]),
            ),
            tooltip=["scoring", "length", "lexical_rank", "fused_rank"],
        )
    ).properties(width=WIDE, height=280)


def rank_by_parameter(
    rows: Sequence[Mapping[str, Any]], figures: Sequence[str], page: int = 8
) -> Any:
    """Ranks over each parameter that a replica was fitted by, a panel for each; a diamond marks the file's own value.

    Rows: parameter, value, `of the file`, and a rank by each figure's name; an absent one is drawn at the end.
    """
    alt = _alt()
    deepest = max([page * 8, *(r[f] for r in rows for f in figures if r[f])])
    long = [
        {"parameter": r["parameter"], "value": r["value"], "own": r["of the file"], "figure": f}
        | {"rank": r[f] or deepest * 2, "shown": str(r[f] or ABSENT)}
        for r in rows
        for f in figures
    ]
    cut = (
        alt.Chart(_frame([{"page": page + 0.5}]))
        .mark_rule(strokeDash=[4, 3], color=MUTED)
        .encode(y="page:Q")
    )
    panels = []
    for parameter in dict.fromkeys(r["parameter"] for r in rows):
        base = alt.Chart(_frame([r for r in long if r["parameter"] == parameter])).encode(
            x=alt.X("value:Q", title=parameter),
            y=alt.Y(
                "rank:Q",
                **_log("rank (log, first on top)", reverse=True, domain=[0.9, deepest * 2.2]),
            ),
            color=alt.Color("figure:N", title=None, sort=list(figures)),
        )
        points = base.mark_point(size=80).encode(
            shape=alt.Shape(
                "own:N",
                legend=None,
                scale=alt.Scale(domain=[True, False], range=["diamond", "circle"]),
            ),
            tooltip=["figure", "value", "shown"],
        )
        panels.append(
            (base.mark_line(opacity=0.5) + points + cut).properties(
                width=WIDE // 2 - 60, height=220
            )
        )
    return alt.concat(*panels, columns=2)


def ranks_side_by_side(
    rows: Sequence[Mapping[str, Any]], before: str, after: str, deepest: int = 300
) -> Any:
    """How many queries have their known item at which rank, before against after; ranks are binned by decades.

    `rows`: before, after (ranks or None), one row a query.
    """
    alt = _alt()
    bins = ["1", "2–3", "4–8", "9–25", "26–100", "101 and more", ABSENT]

    def bin_of(rank: int | None) -> str:
        if rank is None:
            return ABSENT
        return next(
            (b for b, top in zip(bins, (1, 3, 8, 25, 100), strict=False) if rank <= top), bins[5]
        )

    counts: dict[tuple[str, str], int] = {}
    for r in rows:
        key = bin_of(r["before"]), bin_of(r["after"])
        counts[key] = counts.get(key, 0) + 1
    frame = _frame(
        [{"before": b, "after": a, "queries": n} for (b, a), n in sorted(counts.items())]
    )
    base = alt.Chart(frame).encode(
        x=alt.X(
            "before:N",
            sort=bins,
            scale=alt.Scale(domain=bins),
            title=f"rank under {before}",
            axis=alt.Axis(labelAngle=0),
        ),
        y=alt.Y("after:N", sort=bins, scale=alt.Scale(domain=bins), title=f"rank under {after}"),
    )
    cells = base.mark_rect(cornerRadius=3).encode(
        color=alt.Color(
            "queries:Q", scale=alt.Scale(type="log", range=["#e6eef6", "#2a5d8f"]), legend=None
        ),
        tooltip=["before", "after", "queries"],
    )
    text = base.mark_text().encode(
        text="queries:Q",
        color=alt.condition("datum.queries > 30", alt.value("white"), alt.value("#1c2430")),
    )
    return (cells + text).properties(width=alt.Step(84), height=alt.Step(34))


def differences(rows: Sequence[Mapping[str, Any]], metric: str) -> Any:
    """Differences of a metric with their intervals, one line a variant and set. Rows: set, variant, difference, low, high, sentence."""
    alt = _alt()
    sets = list(dict.fromkeys(r["set"] for r in rows))
    base = alt.Chart(_frame(rows)).encode(
        y=alt.Y("variant:N", sort=list(dict.fromkeys(r["variant"] for r in rows)), title=None),
        color=alt.Color("set:N", sort=sets, title=None),
        yOffset=alt.YOffset("set:N", sort=sets),
    )
    zero = alt.Chart(_frame([{"x": 0}])).mark_rule(color=MUTED).encode(x="x:Q")
    return (
        zero
        + base.mark_rule(strokeWidth=2).encode(
            x=alt.X("low:Q", title=f"difference in {metric}, with 95 % interval"), x2="high:Q"
        )
        + base.mark_point(size=60).encode(x="difference:Q", tooltip=["set", "variant", "sentence"])
    ).properties(width=WIDE - 160, height=alt.Step(15))
