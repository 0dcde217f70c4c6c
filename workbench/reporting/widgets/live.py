"""The one anywidget: HTML made and escaped in Python, whose rows and buttons answer."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets as w
import traitlets

from workbench.analysis.ledger.run import OUT_VARIABLE

# ---- The one anywidget: HTML made and escaped in Python, whose rows and buttons answer ----

_HERE = Path(__file__).parent
LOOK = (_HERE / "look.css").read_text(encoding="utf-8")


class Live(anywidget.AnyWidget):
    """Shows `html`. A click on a row, a pin or a button that turns a knob calls what `answer` was given: a kind
    ("row", "pin", "apply") and the text that the page holds for it."""

    _esm = _HERE / "live.js"
    _css = LOOK
    html = traitlets.Unicode("").tag(sync=True)

    def answer(self, told: Callable[[str, str], None]) -> None:
        """Call `told` for every click, with what the page says and nothing else."""

        def heard(_: Any, content: Any, __: Any) -> None:
            if (
                isinstance(content, dict)
                and isinstance(content.get("kind"), str)
                and isinstance(content.get("value"), str)
            ):
                told(content["kind"], content["value"])

        self.on_msg(heard)


# ---- A widget that is never blank: beside the living one every output has its still picture ----

_SETTLED = 0.4
"""Seconds without a change after which what takes longer is done: a slider's drag does it once."""


class Shown(w.VBox):
    """A box whose class says what it looks like without a kernel, as `still()`.

    In a report run only the still picture is put out. In JupyterLab both are, the still one hidden while the living
    one stands beside it, so that a saved or exported notebook shows what was last seen.
    """

    _handle: Any = None

    def __init__(self, *args: Any, **options: Any) -> None:
        self._timers: dict[str, asyncio.TimerHandle] = {}
        super().__init__(*args, **options)

    def still(self) -> str:
        """HTML that stands alone."""
        raise NotImplementedError

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        plain = {"text/plain": f"{type(self).__name__} (run the notebook to use it)"}
        if OUT_VARIABLE in os.environ:
            return {**plain, "text/html": self.still()}
        living = super()._repr_mimebundle_(include=include, exclude=exclude)
        return {**(living[0] if isinstance(living, tuple) else living), **plain}

    def _ipython_display_(self) -> None:
        from IPython.display import HTML, display

        display(self._repr_mimebundle_(), raw=True)
        if OUT_VARIABLE not in os.environ:
            self._handle = display(HTML(self.still()), display_id=True)

    def redraw(self) -> None:
        """Draw the still picture anew, when the changes have settled."""
        if self._handle is not None:
            self.settled("still", self._draw)

    def settled(self, name: str, act: Callable[[], None]) -> None:
        """Do it when nothing of that name was asked for a while; at once where no loop runs, as in a script."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            act()
            return
        if name in self._timers:
            self._timers[name].cancel()
        self._timers[name] = loop.call_later(_SETTLED, act)

    def _draw(self) -> None:
        from IPython.display import HTML

        self._handle.update(HTML(self.still()))
