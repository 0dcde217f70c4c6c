"""The one anywidget: HTML made and escaped in Python, whose rows and buttons answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anywidget
import traitlets

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
            if isinstance(content, dict) and isinstance(content.get("kind"), str) and isinstance(content.get("value"), str):
                told(content["kind"], content["value"])

        self.on_msg(heard)
