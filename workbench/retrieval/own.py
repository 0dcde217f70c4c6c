"""A channel of one's own: a Python function that returns ids and scores, registered, composed and explained like ours.

    @channel
    def newest(query, ctx, *, limit: int = 100):
        return [(point_id, score), …]

    variant("adr_0172+newest(limit=50)")    # as a further list
    variant("newest")                       # as it is

`ctx.stores.catalog`, `ctx.terms(query)` and `ctx.vector(query)` are there to be asked.
"""

from __future__ import annotations

import functools
import os
import runpy
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from workbench.errors import BadParameter, WorkbenchError
from workbench.registry import Entry, Stage, entries, make, put
from workbench.retrieval.context import Context
from workbench.retrieval.returned import KINDS, POINTS, ranking
from workbench.types import Query, Ranking

OWN_VARIABLE = "WORKBENCH_OWN"
"""Python files with channels and variants of one's own, split as PATH is; every command runs them first."""

RESERVED = ("lexical", "semantic", "verbatim", "all_terms", "fused", "deduplicated", "terms", "variant")
"""Names of our lists and of what a result keeps beside them."""


class ChannelFailed(WorkbenchError):
    """The function or endpoint of a channel of one's own raised an error; names it and its line."""


class OwnFileFailed(WorkbenchError):
    """A file of one's own could not be run; names its line."""


def channel(function: Callable[..., Any] | None = None, *, name: str = "", ids: str = POINTS) -> Any:
    """Register a function `(query, ctx, *, …)` as a channel and return its factory of stages; again replaces it.

    It returns (id, score) pairs, a mapping, a Ranking, or ids alone; its list is ordered by score descending, then
    point id ascending. `ids`: "points" or "documents". A parameter `limit` also cuts the list. What it returns is
    checked at each call: see `returned`. Raises BadParameter for a reserved name.
    """
    if ids not in KINDS:
        raise BadParameter(f"ids are {' or '.join(KINDS)}, not {ids!r}")
    if function is None:
        return functools.partial(channel, name=name, ids=ids)
    called = name or function.__name__
    known = entries("channel").get(called)
    if called in RESERVED or (known and known.function.__module__.startswith("workbench.")):
        raise BadParameter(f"{called!r} names a list of ours", do="Give the channel another name: @channel(name=…)")

    @functools.wraps(function)
    def checked(query: Query, ctx: Context, **params: Any) -> Ranking:
        return own_list(called, called, query, ctx, params, ids, lambda: function(query, ctx, **params))

    put("channel", called, checked)

    def factory(**params: Any) -> Stage:
        return make("channel", called, params)

    factory.__doc__, factory.__name__ = function.__doc__, called
    factory.entry = Entry("channel", called, checked)  # type: ignore[attr-defined]
    return factory


def own_list(
    name: str, stage: str, query: Query, ctx: Context, params: dict[str, Any], ids: str, ask: Callable[[], Any],
    engine: str = "",
) -> Ranking:  # fmt: skip
    """What `ask` returns as the list `name`, asked once for all variants that share it, and traced.

    Raises BadAnswer; an error that is not a WorkbenchError becomes ChannelFailed with its line.
    """

    limit = params.get("limit")
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise BadParameter(f"the limit of channel {name!r} is a whole number of at least 1, not {limit!r}")

    def read() -> Any:
        with ctx.trace.span(name, "own", engine) as span:
            try:
                found = ask()
                if isinstance(found, Iterator):
                    found = list(found)
            except WorkbenchError:
                raise
            except Exception as failed:
                raise ChannelFailed(f"channel {name!r} failed: {type(failed).__name__}: {failed}", where=line_of(failed)) from failed
            made, read, rejected = ranking(name, found, query, ctx, ids, limit)
            span.rows, span.bytes = len(made), getattr(found, "bytes_read", 0)
            if rejected:
                span.limit, span.dropped = "filters", rejected
        return made, read

    made, rows = ctx.once(("own", stage, name, tuple(sorted(params.items()))), read)
    ctx.evidence[name] = rows
    return made


def line_of(error: BaseException) -> str:
    """`file:line` of where an error was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""


def run_own(path: str | Path) -> None:
    """Run one's own Python file, so that what it registers is known. Raises OwnFileFailed."""
    file = Path(path).expanduser()
    if not file.is_file():
        raise OwnFileFailed("the file of one's own is not there", where=str(file))
    try:
        runpy.run_path(str(file), run_name=f"workbench_own_{file.stem}")
    except WorkbenchError as error:
        raise OwnFileFailed(error.what, where=str(file), do=error.do) from error
    except SyntaxError as error:
        raise OwnFileFailed(f"not Python: {error.msg}", where=f"{file}:{error.lineno}") from error
    except Exception as error:
        raise OwnFileFailed(f"{type(error).__name__}: {error}", where=line_of(error)) from error


def run_own_from_environment() -> None:
    """Run every file that $WORKBENCH_OWN names, in its order."""
    for path in filter(None, os.environ.get(OWN_VARIABLE, "").split(os.pathsep)):
        run_own(path)
