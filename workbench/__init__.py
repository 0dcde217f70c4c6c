"""The ranking workbench: load a collection, search it as published, explain a rank, reproduce a record.

The four moves are one call each and are imported when first used, so that `import workbench` stays cheap:

    import workbench as wb
    wb.load("pydoc", name="pydoc")
    result = wb.search("pydoc", "how do I sort a list", variant="adr_0172")
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_LAZY = {
    "load": "workbench.stores.load",
    "update": "workbench.stores.update",
    "collections": "workbench.stores.collections",
    "open_collection": "workbench.retrieval.search",
    "search": "workbench.retrieval.search",
    "Query": "workbench.types",
    "Variant": "workbench.retrieval.variant",
    "variant": "workbench.retrieval.variant",
    "explain": "workbench.analysis.explain.explain",
    "compare": "workbench.analysis.evaluate.compare:compare_variants",
    "tune": "workbench.analysis.evaluate.tuning",
    "replay": "workbench.analysis.replay.replay",
    "judge": "workbench.reporting.widgets.judging",
    "channel": "workbench.retrieval.custom",
}

__all__ = sorted([*_LAZY, "__version__"])


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        module, _, called = _LAZY[name].partition(":")
        return getattr(import_module(module), called or name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
