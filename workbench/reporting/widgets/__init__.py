"""The investigation and its parts for JupyterLab; imported when it is asked for, since ipywidgets is heavy."""

from __future__ import annotations

from typing import Any

__all__ = ["Session", "investigate"]


def investigate(collection: str = "pydoc", query: str = "", **fields: Any) -> Any:
    """Open a loaded collection and show an investigation of a query. `fields` are `Session`'s: variant, filters, knobs,
    first, mode, other, pinned (a point's id, or a document's name), depth."""
    from workbench.reporting.widgets.investigation import investigate as made

    return made(collection, query, **fields)


def __getattr__(name: str) -> Any:
    if name == "Session":
        from workbench.reporting.widgets.session import Session

        return Session
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
