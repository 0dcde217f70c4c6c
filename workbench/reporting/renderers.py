"""How a notebook shows its charts: interactive and without network, or one line in a report run."""

from __future__ import annotations

import os
from typing import Any

from workbench.analysis.run import OUT_VARIABLE
from workbench.reporting.theme import enable_theme

REPORT_RENDERER = "workbench-report"


def enable() -> None:
    """Theme and renderer for this notebook; call it in its first cell.

    In JupyterLab charts are drawn by Altair's own widget from files on this machine. In a report run the
    page draws them, so the notebook keeps one line for each instead of a second copy.
    """
    import altair as alt

    enable_theme()
    if OUT_VARIABLE in os.environ:
        alt.renderers.register(REPORT_RENDERER, _one_line)
        alt.renderers.enable(REPORT_RENDERER)
    else:
        alt.renderers.enable("jupyter", offline=True)


def _one_line(spec: dict[str, Any], **_: Any) -> dict[str, str]:
    title = spec.get("title", "")
    title = title.get("text", "") if isinstance(title, dict) else title
    return {"text/plain": f"[chart{': ' + str(title) if title else ''}; drawn in the report page]"}
