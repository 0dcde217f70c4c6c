"""Charts of matching: what became of each call, where the thresholds cut, which likeness can serve nothing wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.reporting.charts.ranks import WIDE, _alt, _frame
from workbench.reporting.theme import CATEGORIES, MUTED, SEQUENCE

OUTCOME_COLOURS = {
    "served right": "#1f7a63",
    "served wrong": "#c1432c",
    "same request, other answer": "#96690a",
    "review": "#6aa3cc",
    "missed": "#c9ced6",
}
"""What is good, what must not be, what no matcher can help, what waits, what is lost: the same in every chart."""

DICE = CATEGORIES[1]

Rows = Sequence[Mapping[str, Any]]


def _outcome_scale(*only: str) -> Any:
    alt = _alt()
    chosen = only or tuple(OUTCOME_COLOURS)
    return alt.Scale(domain=list(chosen), range=[OUTCOME_COLOURS[o] for o in chosen])


def _long(
    rows: Rows, keys: Sequence[str], outcomes: Sequence[str] = tuple(OUTCOME_COLOURS)
) -> list[dict[str, Any]]:
    """One row an outcome: the keys, `outcome`, `calls`, and `order` for stacking."""
    return [
        {**{k: r[k] for k in keys}, "outcome": o, "calls": r[o], "order": i}
        for r in rows
        for i, o in enumerate(outcomes)
    ]


def outcomes_by_kind(rows: Rows) -> Any:
    """What became of the changed questions of each kind, two settings side by side. Rows: kind, settings, outcomes."""
    alt = _alt()
    settings = list(dict.fromkeys(r["settings"] for r in rows))
    kinds = list(dict.fromkeys(r["kind"] for r in rows))
    return (
        alt.Chart(_frame(_long(rows, ("kind", "settings"))))
        .mark_bar()
        .encode(
            x=alt.X("calls:Q", title="calls"),
            y=alt.Y("settings:N", sort=settings, title=None),
            color=alt.Color("outcome:N", scale=_outcome_scale(), title=None),
            order=alt.Order("order:Q"),
            row=alt.Row(
                "kind:N",
                sort=kinds,
                title=None,
                header=alt.Header(labelAngle=0, labelAlign="left", labelAnchor="middle"),
            ),
            tooltip=["kind", "settings", "outcome", "calls"],
        )
        .properties(width=WIDE - 160, height=alt.Step(15))
    )


def outcomes_by_recordings(rows: Rows) -> Any:
    """Shares of the outcomes at one setting, one bar a set of recordings. Rows: recordings, calls, outcomes."""
    alt = _alt()
    names = [r["recordings"] for r in rows]
    long = [
        {**r, "share": r["calls"] / max(1, n["calls"])}
        for n in rows
        for r in _long([n], ("recordings",))
    ]
    return (
        alt.Chart(_frame(long))
        .mark_bar()
        .encode(
            x=alt.X(
                "share:Q",
                title="share of the calls",
                axis=alt.Axis(format="%"),
                scale=alt.Scale(domain=[0, 1]),
            ),
            y=alt.Y("recordings:N", sort=names, title=None),
            color=alt.Color("outcome:N", scale=_outcome_scale(), title=None),
            order=alt.Order("order:Q"),
            tooltip=["recordings", "outcome", "calls", alt.Tooltip("share", format=".1%")],
        )
        .properties(width=WIDE - 160, height=alt.Step(26))
    )


def served_by_threshold(rows: Rows) -> Any:
    """Served right and served wrong (with its 95 % interval) against the serve threshold, a panel a set of gates.

    Rows: threshold, gates, calls, outcomes, `wrong low`, `wrong high`.
    """
    alt = _alt()
    gates = list(dict.fromkeys(r["gates"] for r in rows))
    lines = [
        {**r, "share": r["calls"] / n["calls"]}
        for n in rows
        for r in _long([n], ("threshold", "gates"), ("served right", "served wrong"))
    ]
    band = [
        {
            "threshold": r["threshold"],
            "gates": r["gates"],
            "low": r["wrong low"],
            "high": r["wrong high"],
        }
        for r in rows
    ]
    x = alt.X("threshold:Q", title="serve threshold", scale=alt.Scale(zero=False))
    panels = []
    for gate in gates:
        area = alt.Chart(_frame([b for b in band if b["gates"] == gate])).mark_area(
            color=OUTCOME_COLOURS["served wrong"], fillOpacity=0.2
        )
        line = alt.Chart(_frame([r for r in lines if r["gates"] == gate])).mark_line(
            point={"size": 26}
        )
        panels.append(
            (
                area.encode(x=x, y=alt.Y("low:Q", title="share of the calls"), y2="high:Q")
                + line.encode(
                    x=x,
                    y=alt.Y("share:Q", axis=alt.Axis(format="%")),
                    color=alt.Color(
                        "outcome:N",
                        scale=_outcome_scale("served right", "served wrong"),
                        title=None,
                    ),
                    tooltip=["outcome", "threshold", "calls", alt.Tooltip("share", format=".2%")],
                )
            ).properties(width=(WIDE - 120) // len(gates), height=220, title=gate)
        )
    return alt.hconcat(*panels).resolve_scale(y="shared")


def review_by_threshold(rows: Rows) -> Any:
    """The reviewer's load against the review threshold: calls that wait, and those where a right entry is among them."""
    alt = _alt()
    long = [
        {"threshold": r["threshold"], "what": what, "calls": r[key]}
        for r in rows
        for what, key in (
            ("calls that wait for review", "review"),
            ("of these with a right entry", "useful reviews"),
        )
    ]
    here = alt.Chart(_frame([{"x": 0.6, "label": "the record's 0.6"}])).encode(x="x:Q")
    rule = here.mark_rule(strokeDash=[4, 3], color=MUTED) + here.mark_text(
        align="left", dx=6, y=10, color=MUTED
    ).encode(text="label:N")
    line = (
        alt.Chart(_frame(long))
        .mark_line(point={"size": 30})
        .encode(
            x=alt.X("threshold:Q", title="review threshold", scale=alt.Scale(zero=False)),
            y=alt.Y("calls:Q", title="calls"),
            color=alt.Color("what:N", title=None, sort=None),
            tooltip=["what", "threshold", "calls"],
        )
    )
    return (rule + line).properties(width=WIDE, height=260)


def clean_share(row: Mapping[str, Any]) -> float:
    """The share of the calls that a likeness can serve without a wrong one."""
    return row["served right"] / max(1, row["calls"])


def clean_cuts(rows: Rows, most: float) -> Any:
    """How many calls each likeness and set of gates can serve without a wrong one, in one set of recordings.

    Rows: likeness, gates, calls, `served right`, `clean threshold`, `wrong at most`. A cell says "none" where even
    the highest score was wrong. The shade is the share of the calls, up to `most`: one scale for all recordings.
    """
    alt = _alt()
    likenesses = list(dict.fromkeys(r["likeness"] for r in rows))
    gates = list(dict.fromkeys(r["gates"] for r in rows))
    cells = [
        {
            "likeness": r["likeness"],
            "gates": r["gates"],
            "served": r["served right"],
            "shown": "none"
            if r["clean threshold"] is None
            else f"{r['served right']} from {r['clean threshold']:.3g}",
            "share": clean_share(r),
            "wrong at most": r["wrong at most"],
        }
        for r in rows
    ]
    base = alt.Chart(_frame(cells)).encode(
        x=alt.X("gates:N", sort=gates, title=None, axis=alt.Axis(labelAngle=0, orient="top")),
        y=alt.Y("likeness:N", sort=likenesses, title=None),
    )
    fill = base.mark_rect(cornerRadius=3).encode(
        color=alt.Color(
            "share:Q",
            scale=alt.Scale(type="sqrt", domain=[0, most or 1], range=SEQUENCE[:3:2]),
            legend=None,
        ),
        tooltip=[
            "likeness",
            "gates",
            "served",
            alt.Tooltip("share", format=".2%"),
            "shown",
            alt.Tooltip("wrong at most", format=".2%"),
        ],
    )
    return (fill + base.mark_text().encode(text="shown:N")).properties(
        width=alt.Step(118), height=alt.Step(32)
    )


def score_by_size(rows: Rows) -> Any:
    """One pair's raw BM25 against the number of entries (both logarithmic), its Dice as a dashed line."""
    alt = _alt()
    frame = _frame([{**r, "told": f"BM25 {r['BM25']:.3g}"} for r in rows])
    base = alt.Chart(frame).encode(
        x=alt.X("entries:Q", scale=alt.Scale(type="log"), title="entries (log)"),
        y=alt.Y("BM25:Q", scale=alt.Scale(type="log"), title="score of one pair (log)"),
        tooltip=["entries", "BM25", "Dice"],
    )
    dice = alt.Chart(frame).encode(x="entries:Q", y="Dice:Q")
    last = alt.Chart(_frame([{**rows[-1], "told": f"Dice {rows[-1]['Dice']:.3g}"}])).encode(
        x="entries:Q", y="Dice:Q"
    )
    return (
        base.mark_line()
        + dice.mark_line(strokeDash=[4, 3], color=DICE)
        + last.mark_text(align="right", dy=12, color=DICE).encode(text="told:N")
        + base.mark_point(size=80)
        + base.mark_text(align="left", dx=9, dy=10).encode(text="told:N")
    ).properties(width=WIDE, height=240)


def word_tolerance(rows: Rows) -> Any:
    """Dice against the prompt's length with one word added or changed, and the two serve thresholds. Rows: words, one word, Dice."""
    alt = _alt()
    scale = alt.Scale(domain=[0.75, 1.01], zero=False)
    served = [
        {"Dice": 0.97, "label": "serve at 0.97", "dy": 9},
        {"Dice": 1.0, "label": "serve at 1, as recorded", "dy": -7},
    ]
    rules = alt.Chart(_frame(served)).encode(y=alt.Y("Dice:Q", scale=scale))
    # At the right end both lines have come above the lower threshold, so that neither crosses a label.
    labels = rules.mark_text(align="right", dx=-5, dy=alt.expr("datum.dy"), color=MUTED).encode(
        x=alt.value("width"), text="label:N"
    )
    line = (
        alt.Chart(_frame([r for r in rows if r["words"] >= 4]))
        .mark_line()
        .encode(
            x=alt.X("words:Q", title="words in the prompt"),
            y=alt.Y("Dice:Q", scale=scale, title="Dice"),
            color=alt.Color("one word:N", title="one word"),
            tooltip=["words", "one word", alt.Tooltip("Dice", format=".3f")],
        )
    )
    return (rules.mark_rule(strokeDash=[4, 3], color=MUTED) + labels + line).properties(
        width=WIDE, height=240
    )


def hits_by_decisions(rows: Rows) -> Any:
    """The hit rate with its interval against a reviewer's decisions. Rows: decisions, approvals, `hit rate`, low, high."""
    alt = _alt()
    base = alt.Chart(_frame(rows)).encode(
        x=alt.X("decisions:Q", title="decisions of a reviewer who knows the truth")
    )
    return (
        base.mark_area(fillOpacity=0.18).encode(
            y=alt.Y(
                "low:Q", title="hit rate", axis=alt.Axis(format="%"), scale=alt.Scale(zero=False)
            ),
            y2="high:Q",
        )
        + base.mark_line(point={"size": 50}).encode(
            y="hit rate:Q",
            tooltip=["decisions", "approvals", alt.Tooltip("hit rate", format=".1%")],
        )
    ).properties(width=WIDE, height=240)


def search_by_entries(shares: Mapping[str, float]) -> Any:
    """The cosine search over the model's own time, against the number of entries (both logarithmic)."""
    alt = _alt()
    rows = [{"entries": int(n), "share": s} for n, s in shares.items()]
    base = alt.Chart(_frame(rows)).encode(
        x=alt.X("entries:Q", scale=alt.Scale(type="log"), title="entries (log)"),
        y=alt.Y(
            "share:Q",
            scale=alt.Scale(type="log"),
            axis=alt.Axis(format="%"),
            title="search over the model's time (log)",
        ),
        tooltip=["entries", alt.Tooltip("share", format=".2%")],
    )
    return (base.mark_line() + base.mark_point(size=80)).properties(width=WIDE, height=220)
