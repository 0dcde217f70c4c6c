"""How a notebook shows its charts: interactive and without network, or one line in a report run."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

from workbench.analysis.ledger.run import OUT_VARIABLE
from workbench.reporting.theme import enable_theme

REPORT_RENDERER = "workbench-report"
LAB_RENDERER = "workbench-lab"

# A widget in an exported page is an empty place; nbconvert takes it before any other form of the same output. So the
# picture is an output of its own, and hides where the widget has drawn.
_HIDDEN = (
    ".jp-OutputArea:has(.vega-embed) .jp-OutputArea-child:has(.wb-still-chart) { display: none; }"
)


def enable() -> None:
    """Theme and renderer for this notebook; call it in its first cell.

    In JupyterLab charts are drawn by Altair's own widget from files on this machine; beside each stands a picture
    for a saved or exported notebook, hidden while the widget lives. In a report run the page draws them, so the
    notebook keeps one line for each instead of a second copy.
    """
    import altair as alt

    enable_theme()
    if OUT_VARIABLE in os.environ:
        alt.renderers.register(REPORT_RENDERER, _one_line)
        alt.renderers.enable(REPORT_RENDERER)
    else:
        alt.renderers.enable("jupyter", offline=True)
        alt.renderers.register(LAB_RENDERER, partial(_living, alt.renderers.get()))
        alt.renderers.enable(LAB_RENDERER)


def _one_line(spec: dict[str, Any], **_: Any) -> dict[str, str]:
    title = spec.get("title", "")
    title = title.get("text", "") if isinstance(title, dict) else title
    return {"text/plain": f"[chart{': ' + str(title) if title else ''}; drawn in the report page]"}


def _living(widget: Callable[..., Any], spec: dict[str, Any], **options: Any) -> Any:
    from IPython.display import HTML, display

    display(HTML(still(spec)))
    return widget(spec, **options)


def still(spec: dict[str, Any]) -> str:
    """A chart as a picture in HTML, with the style that hides it where its widget lives."""
    import vl_convert

    return f'<style>{_HIDDEN}</style><div class="wb-still-chart">{vl_convert.vegalite_to_svg(spec)}</div>'
