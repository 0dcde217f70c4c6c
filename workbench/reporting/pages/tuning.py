"""The report of a tuning: what was chosen on one half, what it is worth on the other, and each knob's curve on both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from workbench.analysis.canonical import canonical, write_text
from workbench.analysis.evaluate.comparison import Comparison
from workbench.analysis.evaluate.metrics import description
from workbench.analysis.evaluate.tuning import TUNED, Tuned
from workbench.analysis.ledger.blocks import chart_block, table_block
from workbench.analysis.ledger.run import code_hash
from workbench.reporting.html import safe
from workbench.reporting.pages.brief import Section, brief_page, command, notes, paragraph, plans
from workbench.reporting.theme import ACCENT, MUTED

PAGE_NAME, DATA_NAME = "index.html", "tuning.json"
HALVES = {"tune": "tuned on", "judge": "judged on"}
HALF_COLOURS = {"tuned on": "#b9c0ca", "judged on": ACCENT}


def write_tuning(directory: Path, tuned: Tuned) -> Path:
    """Write the page and its data as JSON; returns the page."""
    directory.mkdir(parents=True, exist_ok=True)
    write_text(directory / DATA_NAME, canonical(tuned.to_dict()))
    write_text(directory / PAGE_NAME, tuning_page(tuned))
    return directory / PAGE_NAME


def tuning_page(tuned: Tuned) -> str:
    """The page as text."""
    verdict, small = sentence(tuned)
    finding = Markup("{}<small>{}</small>").format(safe(verdict), safe(small))
    use = command(f"workbench search {tuned.collection} --variant '{tuned.chosen_variant.name}' …")
    return brief_page(
        eyebrow=f"Tuning on {tuned.collection}",
        title=f"{tuned.own_variant.name}, tuned by {tuned.metric}",
        findings=[finding],
        facts={
            "Tuned on": f"{len(tuned.tune.judged.queries)} queries",
            "Judged on": f"{len(tuned.judge.judged.queries)} queries",
            "Metric": description(tuned.metric, tuned.judge.depth),
            "From": tuned.queries.origin,
            "Settings tried": str(tuned.tried),
        },
        sections=[
            Section(
                "Both halves",
                (
                    paragraph(f"Parted by: {tuned.rule}. No query tunes and judges."),
                    *_halves(tuned),
                ),
            ),
            *_folds(tuned),
            Section(
                "Each parameter",
                (chart_block("curves", curves(tuned), _curves_caption(tuned), "", ()),),
            ),
            Section(
                "The setting",
                (plans({tuned.chosen_variant.name: tuned.chosen_variant.plan()}), use),
            ),
            Section(
                "What was run",
                (
                    notes(
                        [
                            *tuned.queries.notes,
                            *(f"{k}: {v}" for k, v in tuned.inputs.items()),
                            f"queries: {tuned.queries.hash}",
                            f"seed: {tuned.seed}",
                            f"code: {code_hash()}",
                        ]
                    ),
                ),
            ),
        ],
        footer="A gain counts on the half that did not choose it.",
    )


def sentence(tuned: Tuned) -> tuple[str, str]:
    """What tuning is worth, and the figures of the judging half behind it."""
    if not tuned.changed:
        return (
            "No setting that was tried is better on the tuning half: the variant's own setting stays.",
            f"{tuned.metric} {tuned.own.tune:.4f}",
        )
    said = ", ".join(f"{k} {old:g} → {new:g}" for k, (old, new) in tuned.changed.items())
    worth = tuned.judge.verdict(tuned.own_variant.name, tuned.chosen_variant.name, tuned.metric)
    return f"{said}, on the half that did not choose it: {worth}", tuned.judge.sentence(
        tuned.own_variant.name, tuned.chosen_variant.name, tuned.metric
    )


def cross_validated(tuned: Tuned) -> tuple[str, str]:
    """What the folds say: the held-out queries against the untuned variant, and what they lost against training."""
    found = tuned.cross_validated
    assert found is not None  # asked for with folds alone
    within = "" if found.low is None else f"; 95% interval {found.low:+.4f} to {found.high:+.4f}"
    against = found.held_out.sentence(tuned.own_variant.name, TUNED, tuned.metric)
    return (
        f"{len(found.folds)} folds: {against}",
        f"Held out, a query loses {found.lost:+.4f} {tuned.metric} of its value in training{within}.",
    )


def _folds(tuned: Tuned) -> tuple[Section, ...]:
    import polars as pl

    found = tuned.cross_validated
    if found is None:
        return ()
    rows = [
        {
            "fold": n,
            "queries": f.queries,
            "training": round(f.train, 4),
            "held out": round(f.held_out, 4),
            "untuned": round(f.base, 4),
            **{k: float(v) for k, v in f.chosen.items()},
        }
        for n, f in enumerate(found.folds, 1)
    ]
    against, lost = cross_validated(tuned)
    table = table_block(
        "folds",
        pl.DataFrame(rows),
        f"{tuned.metric} by fold, and the setting chosen without it.",
        "",
        (),
    )
    return (
        Section(
            "Cross-validation", (paragraph(f"{against}. {lost} Parted by: {found.rule}."), table)
        ),
    )


def _halves(tuned: Tuned) -> tuple[Any, ...]:
    import polars as pl

    rows = []
    for half, compared in ((HALVES["tune"], tuned.tune), (HALVES["judge"], tuned.judge)):
        rows += _rows(half, compared, tuned)
    caption = "Both variants on both halves. The gain on the tuning half is what was searched for, so it flatters"
    return (
        table_block(
            "halves",
            pl.DataFrame(rows, infer_schema_length=None),
            f"{caption}: by {tuned.optimism:+.4f} here.",
            "",
            (),
        ),
    )


def _rows(half: str, compared: Comparison, tuned: Tuned) -> list[dict[str, Any]]:
    if not tuned.changed:
        return [
            {"half": half, "metric": r["metric"], "own": round(r["value"], 4), "queries": r["n"]}
            for r in compared.per_variant.to_dicts()
        ]
    return [
        {
            "half": half,
            "metric": r["metric"],
            "own": round(r["value_a"], 4),
            "chosen": round(r["value_b"], 4),
            "difference": round(r["difference"], 4),
            "low": round(r["low"], 4),
            "high": round(r["high"], 4),
            "p_holm": round(r["p_holm"], 4),
            "wins": r["wins"],
            "ties": r["ties"],
            "losses": r["losses"],
            "queries": r["n"],
        }
        for r in compared.per_pair.to_dicts()
    ]


def _curves_caption(tuned: Tuned) -> str:
    return (
        f"{tuned.metric} at each value of a knob, the others at the chosen setting. Dashed: the variant's own value; the ring is"
        " the chosen one. Where the two halves differ in shape, the choice rests on chance."
    )


def curves(tuned: Tuned) -> Any:
    """One panel a knob: the metric on both halves over the values tried, evenly spaced."""
    rows = [
        {
            "knob": knob,
            "value": f"{t.knobs[knob]:g}",
            "place": place,
            "half": HALVES[half],
            "metric": getattr(t, half),
            "own": t.knobs[knob] == tuned.own.knobs[knob],
            "chosen": t.knobs[knob] == tuned.chosen.knobs[knob],
        }
        for knob, trials in tuned.curves.items()
        for place, t in enumerate(trials)
        for half in HALVES
    ]
    return _panels(rows, tuned.metric)


def _panels(rows: Sequence[Mapping[str, Any]], metric: str) -> Any:
    import altair as alt
    import polars as pl

    base = alt.Chart(pl.DataFrame(list(rows), infer_schema_length=None)).encode(
        x=alt.X(
            "value:O", sort=alt.EncodingSortField("place"), title=None, axis=alt.Axis(labelAngle=0)
        )
    )
    colour = alt.Color(
        "half:N",
        title=None,
        scale=alt.Scale(domain=list(HALF_COLOURS), range=list(HALF_COLOURS.values())),
    )
    y = alt.Y("metric:Q", title=metric, scale=alt.Scale(zero=False))
    lines = base.mark_line(point=alt.OverlayMarkDef(size=25)).encode(
        y=y, color=colour, tooltip=["knob", "value", "half", alt.Tooltip("metric", format=".4f")]
    )
    own = base.mark_rule(strokeDash=[4, 3], color=MUTED).transform_filter("datum.own")
    ring = (
        base.mark_point(size=170, filled=False, strokeWidth=2)
        .encode(y=y, color=colour)
        .transform_filter("datum.chosen")
    )
    return (
        (own + lines + ring)
        .properties(width=260, height=150)
        .facet(
            alt.Facet("knob:N", sort=list(dict.fromkeys(r["knob"] for r in rows)), title=None),
            columns=2,
        )
        .resolve_scale(x="independent", y="independent")
    )
