"""The form of an investigation: query, variants, filters, the document to watch, and the incident file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import contextmanager
from typing import Any

import ipywidgets as w

from workbench.errors import WorkbenchError
from workbench.reporting.widgets.markup import shown
from workbench.reporting.widgets.session import Session, filters_text
from workbench.reporting.words import knob_label, value_text
from workbench.retrieval.variant import WEIGHT, Knob, Variant, known, variant
from workbench.types import MODES

# ---- The knobs of a variant as form elements, made from their declaration ----

K_SHOWN, WEIGHT_SHOWN = 120.0, 4.0
"""How far the sliders go; a larger value is typed into the number beside it."""

MENU_CHARACTERS = 24
"""What a menu shows of an entry."""

_CONTROL_LABEL = {"description_width": "112px"}
_CONTROL_PLACE = {"width": "auto"}  # its cell of the grid decides
GRID = {
    "grid_template_columns": "repeat(auto-fill, minmax(300px, 1fr))",
    "grid_gap": "2px 10px",
    "width": "100%",
}


def control(knob: Knob, depth: int, changed: Callable[[str, Any], None]) -> w.Widget:
    """The element of one knob; `changed` is called with its name and new value when a person turns it."""
    made = (
        _choice(knob)
        if knob.kind == "choice"
        else _whole(knob, depth)
        if knob.kind == "whole"
        else _real(knob)
    )
    made.add_class(f"wb-knob-{knob.name.replace('.', '-').replace('_', '-')}")
    made.observe(
        lambda change: changed(
            knob.name, None if knob.name == "floor" and change["new"] <= knob.low else change["new"]
        ),
        "value",
    )
    return made


def _choice(knob: Knob) -> w.Widget:
    if set(knob.choices) == {False, True}:
        return w.Checkbox(
            value=knob.value,
            description=_label(knob.name),
            tooltip=knob.about,
            style=_CONTROL_LABEL,
            layout=_CONTROL_PLACE,
        )
    options = [
        (t, c)
        for t, c in zip(_short([value_text(c) for c in knob.choices]), knob.choices, strict=True)
    ]
    return w.Dropdown(
        options=options,
        value=knob.value,
        description=_label(knob.name),
        tooltip=knob.about,
        style=_CONTROL_LABEL,
        layout=_CONTROL_PLACE,
    )


def _short(texts: list[str]) -> list[str]:
    """Each text as wide as a menu shows it: `rrf_priors(…)` where no other begins so; two that look alike stay whole."""
    cut = [t if len(t) <= MENU_CHARACTERS else f"{t.partition('(')[0]}(…)" for t in texts]
    return [c if cut.count(c) == 1 else t for c, t in zip(cut, texts, strict=True)]


def _whole(knob: Knob, depth: int) -> w.Widget:
    return w.IntSlider(
        value=knob.value,
        min=int(knob.low),
        max=max(depth, knob.value),
        description=_label(knob.name),
        tooltip=knob.about,
        style=_CONTROL_LABEL,
        layout=_CONTROL_PLACE,
    )


def _real(knob: Knob) -> w.Widget:
    high, step, shown = {"k": (K_SHOWN, 0.5, ".1f"), "floor": (1.0, 0.005, ".3f")}.get(
        knob.name, (WEIGHT_SHOWN, 0.05, ".2f")
    )
    low = knob.low
    value = low if knob.value is None else knob.value
    return w.FloatSlider(
        value=value,
        min=low,
        max=max(high, value),
        step=step,
        readout_format=shown,
        description=f"floor ({low:g}: none)" if knob.name == "floor" else _label(knob.name),
        tooltip=knob.about,
        style=_CONTROL_LABEL,
        layout=_CONTROL_PLACE,
    )


def _label(name: str) -> str:
    return f"weight {name.removeprefix(WEIGHT)}" if name.startswith(WEIGHT) else knob_label(name)


def grouped(names: Mapping[str, w.Widget]) -> w.Widget:
    """The elements in two grids: what is read, and how it is fused; as many side by side as there is room for."""
    fusing = [
        n
        for n in names
        if n in ("fusion", "third_list", "k", "bonus", "distinct") or n.startswith(WEIGHT)
    ]
    reading = [n for n in names if n not in fusing]
    return w.VBox(
        [w.GridBox([names[n] for n in group], layout=GRID) for group in (reading, fusing)]
    )


# ---- The form of an investigation: query, variants, filters, the document to watch, and the ----

MOST_ROWS = 100

_LABEL = {"description_width": "112px"}
_PLACE = {"width": "auto"}  # its cell of the grid decides


class Form:
    """The elements and their events. `asked` is called with the session's fields that a person changed."""

    def __init__(
        self,
        session: Session,
        asked: Callable[[Mapping[str, Any]], None],
        pinned: Callable[[str], None],
        saved: Callable[[str], str],
    ) -> None:
        self._asked, self._quiet = asked, False
        # Knobs are answered from frozen lists, which only stages have.
        variants = list(
            dict.fromkeys(
                [session.variant, *(n for n in known() if isinstance(variant(n), Variant))]
            )
        )
        self.query = w.Text(
            session.query,
            placeholder="What was asked? Any text, then Enter",
            continuous_update=False,
            layout={"width": "560px"},
        )
        self.go = w.Button(description="Search", button_style="primary", layout={"width": "90px"})
        self.variant = w.Dropdown(
            options=variants,
            value=session.variant,
            description="variant",
            style=_LABEL,
            layout=_PLACE,
            tooltip="The notes variants are searched as a whole, without knobs: workbench explain explains them",
        )
        self.other = w.Dropdown(
            options=[("nothing", ""), *((v, v) for v in variants)],
            value=session.other,
            description="beside",
            style=_LABEL,
            layout=_PLACE,
        )
        self.filters = w.Text(
            filters_text(session.filters),
            placeholder="project=json …",
            description="filters",
            continuous_update=False,
            style=_LABEL,
            layout=_PLACE,
        )
        self.first = w.BoundedIntText(
            session.first, min=1, max=MOST_ROWS, description="rows", style=_LABEL, layout=_PLACE
        )
        self.mode = w.Dropdown(
            options=MODES, value=session.mode, description="mode", style=_LABEL, layout=_PLACE
        )
        self.pin = w.Text(
            "",
            placeholder="A document that you expect: its id, entity or title, then Enter",
            continuous_update=False,
            layout={"width": "560px"},
        )
        self.pin_go = w.Button(description="Pin", layout={"width": "90px"})
        self.reset = w.Button(description="Reset knobs", layout={"width": "110px"})
        self.path = w.Text("incident.toml", layout={"width": "300px"})
        self.save = w.Button(description="Write incident file", layout={"width": "160px"})
        self.saved = w.HTML()
        for name, element in (
            ("query", self.query),
            ("pin", self.pin),
            ("filters", self.filters),
            ("rows", self.first),
            ("search", self.go),
            ("pin-go", self.pin_go),
            ("reset", self.reset),
            ("variant", self.variant),
            ("other", self.other),
        ):
            element.add_class(f"wb-{name}")
        self.go.on_click(lambda _: self._ask())
        self.pin.observe(lambda _: pinned(self.pin.value), "value")
        self.pin_go.on_click(lambda _: pinned(self.pin.value))
        self.reset.on_click(lambda _: asked({"knobs": {}}))
        self.save.on_click(lambda _: self._save(saved))
        for element in (self.query, self.variant, self.other, self.filters, self.first, self.mode):
            element.observe(lambda _: None if self._quiet else self._ask(), "value")

    @property
    def rows(self) -> list[w.Widget]:
        """The form's rows, top down."""
        flow = {"flex_flow": "row wrap", "width": "100%"}
        return [
            w.Box([self.query, self.go], layout=flow),
            w.Box([self.pin, self.pin_go], layout=flow),
            w.GridBox([self.variant, self.other, self.filters, self.mode, self.first], layout=GRID),
        ]

    @property
    def incident(self) -> list[w.Widget]:
        """What writes this query and its document down as a file."""
        return [w.Box([self.path, self.save], layout={"flex_flow": "row wrap"}), self.saved]

    def show(self, session: Session) -> None:
        """Set every element to a session, and tell nobody."""
        with self._quietly():
            for element in (self.variant, self.other):
                held = (
                    [v for _, v in element.options]
                    if element is self.other
                    else list(element.options)
                )
                value = getattr(session, "variant" if element is self.variant else "other")
                if value not in held:
                    element.options = [
                        *element.options,
                        (value, value) if element is self.other else value,
                    ]
                element.value = value
            self.query.value, self.first.value, self.mode.value = (
                session.query,
                session.first,
                session.mode,
            )
            self.filters.value = filters_text(session.filters)

    def set_quietly(self, values: Mapping[str, tuple[w.Widget, Any]]) -> None:
        """Set elements to values and tell nobody; a slider goes as far as its value needs."""
        with self._quietly():
            for element, value in values.values():
                if hasattr(element, "max") and value > element.max:
                    element.max = value
                element.value = value

    def unless_set(self, told: Callable[..., Any]) -> Callable[..., None]:
        """`told`, called only when a person turned the element."""
        return lambda *a: None if self._quiet else told(*a)

    @contextmanager
    def _quietly(self):
        before, self._quiet = self._quiet, True
        try:
            yield
        finally:
            self._quiet = before

    def _ask(self) -> None:
        self._asked(
            {
                "query": self.query.value,
                "variant": self.variant.value,
                "other": self.other.value,
                "filters": self.filters.value,
                "first": self.first.value,
                "mode": self.mode.value,
            }
        )

    def _save(self, saved: Callable[[str], str]) -> None:
        try:
            self.saved.value = str(shown(saved(self.path.value), 300))
        except (WorkbenchError, OSError) as error:
            self.saved.value = f'<span class="error">{shown(error, 300)}</span>'
