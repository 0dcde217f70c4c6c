"""The one look of charts and pages: colours that mean the same everywhere, and the theme of every chart."""

from __future__ import annotations

from typing import Any

INK, MUTED, FAINT, RULE = "#1c2430", "#566072", "#8a93a3", "#e3e6eb"
ACCENT = "#2a5d8f"

# Told apart also without colour vision, and never by colour alone: each has a sign.
VERDICT_COLOURS = {
    "HOLDS": "#1f7a63",
    "DIFFERS": "#c1432c",
    "DIFFERS BY A DURATION": "#a8569b",
    "DIFFERS BY THIS INSTALL": "#7a5c3e",
    "INCONCLUSIVE": "#96690a",
    "NOT MEASURABLE HERE": "#5d6878",
    "NO VERDICT": "#8f1d1d",
    "SUPERSEDED": "#8a93a3",
}
VERDICT_SIGNS = {
    "HOLDS": "✓",
    "DIFFERS": "≠",
    "DIFFERS BY A DURATION": "≈",
    "DIFFERS BY THIS INSTALL": "≈",
    "INCONCLUSIVE": "?",
    "NOT MEASURABLE HERE": "–",
    "NO VERDICT": "!",
    "SUPERSEDED": "×",
}

# The lists of a search and what is made of them. Order is the order of legends.
LIST_COLOURS = {
    "lexical": "#2a5d8f",
    "semantic": "#d08a2e",
    "verbatim": "#7a4f9a",
    "fused": "#1c2430",
    "target": "#c1432c",
}
# For what is not a list: variants, sizes, sources. Neighbours differ in lightness as well as in hue.
CATEGORIES = [
    "#2a5d8f",
    "#d08a2e",
    "#1f7a63",
    "#b4527a",
    "#6aa3cc",
    "#7a4f9a",
    "#9a8f5a",
    "#5d6878",
]
SEQUENCE = ["#eef3f8", "#c4d7e8", "#8fb3d1", "#5288b5", "#2a5d8f", "#173d63"]

FONT = "-apple-system, 'Segoe UI', Inter, Roboto, 'Helvetica Neue', 'Liberation Sans', Arial, sans-serif"

THEME: dict[str, Any] = {
    "background": "transparent",
    "font": FONT,
    "padding": 4,
    "view": {"stroke": None, "continuousWidth": 320, "continuousHeight": 280},
    "title": {
        "anchor": "start",
        "color": INK,
        "fontSize": 14,
        "fontWeight": 600,
        "offset": 14,
        "subtitleColor": MUTED,
        "subtitleFontSize": 12,
        "subtitlePadding": 4,
    },
    "axis": {
        "domainColor": "#b9c0ca",
        "tickColor": "#b9c0ca",
        "gridColor": "#eceff3",
        "tickSize": 4,
        "labelColor": MUTED,
        "labelFontSize": 12,
        "labelPadding": 5,
        "labelLimit": 220,
        "labelSeparation": 8,
        "titleColor": MUTED,
        "titleFontSize": 12,
        "titleFontWeight": 500,
        "titlePadding": 10,
    },
    "axisBand": {"grid": False},
    "axisX": {"tickCount": 8},
    "axisY": {"domain": False, "ticks": False, "tickCount": 5},
    "legend": {
        "orient": "top",
        "direction": "horizontal",
        "labelColor": INK,
        "labelFontSize": 12,
        "labelLimit": 260,
        "titleColor": MUTED,
        "titleFontSize": 12,
        "titleFontWeight": 500,
        "offset": 12,
        "columnPadding": 18,
        "symbolStrokeWidth": 2,
        "symbolSize": 90,
    },
    "header": {
        "labelColor": INK,
        "labelFontSize": 12,
        "labelFontWeight": 600,
        "titleColor": MUTED,
        "titleFontSize": 12,
    },
    "range": {"category": CATEGORIES, "ordinal": SEQUENCE, "ramp": SEQUENCE, "heatmap": SEQUENCE},
    "mark": {"color": ACCENT},
    "bar": {"color": ACCENT, "cornerRadiusEnd": 2, "discreteBandSize": {"band": 0.72}},
    "line": {"color": ACCENT, "strokeWidth": 2.25, "strokeCap": "round", "strokeJoin": "round"},
    "point": {"color": ACCENT, "filled": True, "size": 55},
    "circle": {"color": ACCENT, "size": 55},
    "rule": {"color": MUTED, "strokeWidth": 1},
    "text": {"color": INK, "fontSize": 12},
    "area": {"color": ACCENT},
}

THEME_NAME = "workbench"


def list_scale(*names: str) -> Any:
    """The Altair scale of the named lists: `alt.Color("list", scale=list_scale("lexical", "fused"))`."""
    return _scale(LIST_COLOURS, names)


def verdict_scale(*names: str) -> Any:
    """The Altair scale that gives each named verdict its colour."""
    return _scale(VERDICT_COLOURS, names)


def _scale(colours: dict[str, str], names: tuple[str, ...]) -> Any:
    import altair as alt

    # A legend shows the whole domain, so only what the chart holds is named; no name is all of them.
    names = names or tuple(colours)
    return alt.Scale(domain=list(names), range=[colours[n] for n in names])


def enable_theme() -> None:
    """Register this theme with Altair and switch it on; once or many times is the same."""
    import altair as alt

    alt.theme.register(THEME_NAME, enable=True)(lambda: alt.theme.ThemeConfig(config=THEME))
