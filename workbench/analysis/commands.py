"""Commands that a reader can copy: the one that explains a row of a report."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from typing import Any, Literal

from workbench.retrieval.own import OWN_VARIABLE
from workbench.types import PointId, Query


def explain_command(
    collection: str, query: Query, target: PointId, variant: str, of: Literal["point", "entity"] = "point"
) -> str:
    """`workbench explain …` for a point's or an entity's id under one variant, as a shell takes it; files of one's own
    go before it."""
    words = ["workbench", "explain", collection, "--target", f"{of}:{target}", "--variant", variant]
    if query.mode != "hybrid":
        words += ["--mode", query.mode]
    for name, value in query.filters.items():
        for one in value if isinstance(value, list | tuple) else [value]:
            words += ["--filter", f"{name}={_written(one)}"]
    # After `--`, so that a query that begins with a hyphen is no option.
    words += ["--", query.text] if query.text.startswith("-") else [query.text]
    own = os.environ.get(OWN_VARIABLE)
    return (f"{OWN_VARIABLE}={shlex.quote(own)} " if own else "") + shlex.join(words)


def _written(value: Any) -> str:
    """A filter's value as the command line takes it: nothing for absent; a range as its bounds."""
    if isinstance(value, Mapping):
        return ",".join(f"{op}:{bound}" for op, bound in value.items())
    return "" if value is None else str(value)
