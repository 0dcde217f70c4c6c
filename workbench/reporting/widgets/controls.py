"""The knobs of a variant as form elements, made from their declaration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import ipywidgets as w

from workbench.reporting.words import knob_label, value_text
from workbench.retrieval.knobs import WEIGHT, Knob

K_SHOWN, WEIGHT_SHOWN = 120.0, 4.0
"""How far the sliders go; a larger value is typed into the number beside it."""

MENU_CHARACTERS = 24
"""What a menu shows of an entry."""

_LABEL = {"description_width": "112px"}
_PLACE = {"width": "auto"}  # its cell of the grid decides
GRID = {"grid_template_columns": "repeat(auto-fill, minmax(300px, 1fr))", "grid_gap": "2px 10px", "width": "100%"}


def control(knob: Knob, depth: int, changed: Callable[[str, Any], None]) -> w.Widget:
    """The element of one knob; `changed` is called with its name and new value when a person turns it."""
    made = _choice(knob) if knob.kind == "choice" else _whole(knob, depth) if knob.kind == "whole" else _real(knob)
    made.add_class(f"wb-knob-{knob.name.replace('.', '-').replace('_', '-')}")
    made.observe(lambda change: changed(knob.name, None if knob.name == "floor" and change["new"] <= knob.low else change["new"]), "value")
    return made


def _choice(knob: Knob) -> w.Widget:
    if set(knob.choices) == {False, True}:
        return w.Checkbox(value=knob.value, description=_label(knob.name), tooltip=knob.about, style=_LABEL, layout=_PLACE)
    options = [(t, c) for t, c in zip(_short([value_text(c) for c in knob.choices]), knob.choices, strict=True)]
    return w.Dropdown(options=options, value=knob.value, description=_label(knob.name), tooltip=knob.about, style=_LABEL, layout=_PLACE)


def _short(texts: list[str]) -> list[str]:
    """Each text as wide as a menu shows it: `rrf_priors(…)` where no other begins so; two that look alike stay whole."""
    cut = [t if len(t) <= MENU_CHARACTERS else f"{t.partition('(')[0]}(…)" for t in texts]
    return [c if cut.count(c) == 1 else t for c, t in zip(cut, texts, strict=True)]


def _whole(knob: Knob, depth: int) -> w.Widget:
    return w.IntSlider(
        value=knob.value, min=int(knob.low), max=max(depth, knob.value), description=_label(knob.name), tooltip=knob.about,
        style=_LABEL, layout=_PLACE,
    )  # fmt: skip


def _real(knob: Knob) -> w.Widget:
    high, step, shown = {"k": (K_SHOWN, 0.5, ".1f"), "floor": (1.0, 0.005, ".3f")}.get(knob.name, (WEIGHT_SHOWN, 0.05, ".2f"))
    low = knob.low
    value = low if knob.value is None else knob.value
    return w.FloatSlider(
        value=value, min=low, max=max(high, value), step=step, readout_format=shown,
        description=f"floor ({low:g}: none)" if knob.name == "floor" else _label(knob.name),
        tooltip=knob.about, style=_LABEL, layout=_PLACE,
    )  # fmt: skip


def _label(name: str) -> str:
    return f"weight {name.removeprefix(WEIGHT)}" if name.startswith(WEIGHT) else knob_label(name)


def grouped(names: Mapping[str, w.Widget]) -> w.Widget:
    """The elements in two grids: what is read, and how it is fused; as many side by side as there is room for."""
    fusing = [n for n in names if n in ("fusion", "third_list", "k", "bonus", "distinct") or n.startswith(WEIGHT)]
    reading = [n for n in names if n not in fusing]
    return w.VBox([w.GridBox([names[n] for n in group], layout=GRID) for group in (reading, fusing)])
