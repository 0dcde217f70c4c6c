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
import json
import os
import runpy
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from workbench.errors import BadParameter, WorkbenchError
from workbench.registry import Entry, Stage, entries, make, put, register
from workbench.remote import NoAnswer, within
from workbench.retrieval.context import Candidates, Context
from workbench.stores.catalog.errors import UnknownPoint
from workbench.stores.filters.values import Point
from workbench.types import PointId, Query, Ranking, as_plain

# ---- What a channel of one's own returned, checked: ids that the collection has, each once, ----

POINTS, DOCUMENTS = "points", "documents"
KINDS = (POINTS, DOCUMENTS)
SHAPE = "Return (id, score) pairs, a mapping of ids to scores, a Ranking, or ids alone, best first"


class BadAnswer(WorkbenchError):
    """A channel of one's own returned what is no ranking of this collection; says which entry and why."""


def scored(name: str, found: Any) -> dict[Any, float]:
    """What was returned as id to score; ids alone get n, n - 1, …, 1. Raises BadAnswer."""
    if isinstance(found, Ranking):
        found = list(zip(found.ids, found.scores, strict=True))
    if isinstance(found, Mapping):
        found = list(found.items())
    if found is None or isinstance(found, str | bytes) or not isinstance(found, Iterable):
        raise BadAnswer(f"channel {name!r} returned {_short(found)}, which is no ranking", do=SHAPE)
    rows = list(found)
    pairs = [r for r in rows if isinstance(r, Sequence) and not isinstance(r, str) and len(r) == 2]
    if not pairs:
        pairs = [(point_id, float(len(rows) - place)) for place, point_id in enumerate(rows)]
    elif len(pairs) < len(rows):
        raise BadAnswer(
            f"channel {name!r} returned pairs and {_short(next(r for r in rows if r not in pairs))}",
            do=SHAPE,
        )
    out: dict[Any, float] = {}
    for rank, (point_id, score) in enumerate(pairs, 1):
        if isinstance(point_id, bool) or not isinstance(point_id, int | str):
            raise BadAnswer(
                f"channel {name!r} returned the id {_short(point_id)}",
                where=f"row {rank}",
                do="An id is a whole number or a text",
            )
        if point_id in out:
            raise BadAnswer(
                f"channel {name!r} returned the id {_short(point_id)} twice",
                where=f"row {rank}",
                do="Keep its best row",
            )
        out[point_id] = _score(name, point_id, score, rank)
    return out


def ranking(
    name: str, found: Any, query: Query, ctx: Context, ids: str, limit: int | None
) -> tuple[Ranking, Candidates, int]:
    """The list of what was returned, its rows as they were read, and how many rows the filters rejected.

    Ordered by score descending, then point id ascending, and cut at `limit`. `ids` says what the ids are: "points",
    or "documents", for each of which its first chunk within the filters stands. Raises BadAnswer.
    """
    scores = scored(name, found)
    rows = _of_documents(name, scores, ctx) if ids == DOCUMENTS else _of_points(name, scores, ctx)
    admitted = (
        ctx.stores.catalog.admitted_of([i for chunks in rows for i in chunks], query.filters)
        if query.filters
        else None
    )
    kept: dict[PointId, float] = {}
    for chunks, score in zip(rows, scores.values(), strict=True):
        first = next((i for i in chunks if admitted is None or i in admitted), None)
        if first is not None:
            kept[first] = score
    whole = Ranking.ordered(name, kept)
    cut = Ranking(name, whole.ids[:limit], whole.scores[:limit])
    read = Candidates(
        tuple(Point(i, {}) for i in cut.ids), (name,) * len(cut), max(limit or len(scores) + 1, 1)
    )
    return cut, read, len(rows) - len(kept)


def _of_points(name: str, scores: Mapping[Any, float], ctx: Context) -> list[list[PointId]]:
    try:
        ctx.stores.catalog.entities(list(scores))
    except UnknownPoint as error:
        raise BadAnswer(
            f"channel {name!r}: {error.what}", do=_hint(error.what, scores, ctx)
        ) from error
    return [[i] for i in scores]


def _of_documents(name: str, scores: Mapping[Any, float], ctx: Context) -> list[list[PointId]]:
    rows = []
    for document in scores:
        chunks = ctx.stores.catalog.entity(document) if isinstance(document, str) else []
        if not chunks:
            do = (
                "A document's id is text here"
                if isinstance(document, int)
                else "Return ids of this collection"
            )
            raise BadAnswer(
                f"channel {name!r}: the collection has no document {_short(document)}", do=do
            )
        rows.append(chunks)
    return rows


def _hint(what: str, scores: Mapping[Any, float], ctx: Context) -> str:
    """What would make the ids right, where the first one tells."""
    first = next(iter(scores))
    if isinstance(first, str) and ctx.stores.catalog.entity(first):
        return "These are documents' ids: say ids=documents"
    return "A point's id is a number or a UUID in small letters, as `workbench search` shows it"


def _score(name: str, point_id: Any, score: Any, rank: int) -> float:
    # numpy's numbers are taken as what they are; a truth value is no score.
    value = score.item() if hasattr(score, "item") and not isinstance(score, int | float) else score
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadAnswer(
            f"channel {name!r} gave {_short(point_id)} the score {_short(score)}",
            where=f"row {rank}",
            do="A score is a number",
        )
    try:
        number = float(value)
    except OverflowError:
        number = float("inf")
    if not isfinite(number):
        raise BadAnswer(
            f"channel {name!r} gave {_short(point_id)} the score {number}",
            where=f"row {rank}",
            do="A score is a finite number",
        )
    return number


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "…"


# ---- A channel of one's own: a Python function that returns ids and scores, registered, com ----

OWN_VARIABLE = "WORKBENCH_OWN"
"""Python files with channels and variants of one's own, split as PATH is; every command runs them first."""

RESERVED = (
    "lexical",
    "semantic",
    "verbatim",
    "all_terms",
    "fused",
    "deduplicated",
    "terms",
    "variant",
)
"""Names of our lists and of what a result keeps beside them."""


class ChannelFailed(WorkbenchError):
    """The function or endpoint of a channel of one's own raised an error; names it and its line."""


class OwnFileFailed(WorkbenchError):
    """A file of one's own could not be run; names its line."""


def channel(
    function: Callable[..., Any] | None = None, *, name: str = "", ids: str = POINTS
) -> Any:
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
        raise BadParameter(
            f"{called!r} names a list of ours", do="Give the channel another name: @channel(name=…)"
        )

    @functools.wraps(function)
    def checked(query: Query, ctx: Context, **params: Any) -> Ranking:
        return own_list(
            called, called, query, ctx, params, ids, lambda: function(query, ctx, **params)
        )

    put("channel", called, checked)

    def factory(**params: Any) -> Stage:
        return make("channel", called, params)

    factory.__doc__, factory.__name__ = function.__doc__, called
    factory.entry = Entry("channel", called, checked)  # type: ignore[attr-defined]
    return factory


def own_list(
    name: str,
    stage: str,
    query: Query,
    ctx: Context,
    params: dict[str, Any],
    ids: str,
    ask: Callable[[], Any],
    engine: str = "",
) -> Ranking:
    """What `ask` returns as the list `name`, asked once for all variants that share it, and traced.

    Raises BadAnswer; an error that is not a WorkbenchError becomes ChannelFailed with its line.
    """

    limit = params.get("limit")
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise BadParameter(
            f"the limit of channel {name!r} is a whole number of at least 1, not {limit!r}"
        )

    def read() -> Any:
        with ctx.trace.span(name, "own", engine) as span:
            try:
                found = ask()
                if isinstance(found, Iterator):
                    found = list(found)
            except WorkbenchError:
                raise
            except Exception as failed:
                raise ChannelFailed(
                    f"channel {name!r} failed: {type(failed).__name__}: {failed}",
                    where=line_of(failed),
                ) from failed
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


# ---- An HTTP endpoint as a channel: it is asked for ids and scores, and trusted with nothin ----

TIMEOUT_SECONDS = 10.0
MAX_BYTES = 4_000_000
"""An answer of 256 rows is about 20 KB; this is a stop for one that has no end."""

LIMIT = 256
"""Rows that are asked for: as many as the records' own channels hold (ADR 0172)."""


class EndpointFailed(WorkbenchError):
    """An endpoint did not answer as it should; names its URL and what came in place of an answer."""


class _Rows(list):
    """Rows with the size of the body that they came in."""

    bytes_read = 0


@register("channel")
def endpoint(
    query: Query,
    ctx: Context,
    *,
    url: str,
    name: str = "endpoint",
    limit: int = LIMIT,
    ids: str = POINTS,
    timeout: float = TIMEOUT_SECONDS,
    max_bytes: int = MAX_BYTES,
    token_env: str = "",
) -> Ranking:
    """The rows that an HTTP endpoint returns, by score; ties by point id.

    `ids`: "points" or "documents". `timeout` is for the connection, for each part of the answer, and for the whole
    of it. `token_env` names the environment variable that holds a bearer token, so that no plan or report holds it.
    """
    _check(url, name, limit, ids, timeout, max_bytes)
    params = {
        "url": url,
        "limit": limit,
        "ids": ids,
        "timeout": timeout,
        "max_bytes": max_bytes,
        "token_env": token_env,
    }
    return own_list(
        name,
        "endpoint",
        query,
        ctx,
        params,
        ids,
        lambda: _ask(query, url, limit, timeout, max_bytes, token_env),
        engine="http",
    )


def _check(url: str, name: str, limit: int, ids: str, timeout: float, max_bytes: int) -> None:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BadParameter(f"{url!r} is no http or https address")
    if parts.username or parts.password:
        raise BadParameter(
            "an endpoint's address holds a password",
            do="Put a token into an environment variable and name it: token_env=NAME",
        )
    if name in RESERVED:
        raise BadParameter(f"{name!r} names a list of ours", do="Give the endpoint another name")
    if ids not in KINDS:
        raise BadParameter(f"ids are {' or '.join(KINDS)}, not {ids!r}")
    if limit < 1 or timeout <= 0 or max_bytes < 1:
        raise BadParameter(
            f"limit {limit}, timeout {timeout} and max_bytes {max_bytes} must be above 0"
        )


def _ask(
    query: Query, url: str, limit: int, timeout: float, max_bytes: int, token_env: str
) -> _Rows:
    import httpx

    # Nothing compressed: a small body could unpack to one without end.
    headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
    if token_env:
        if token_env not in os.environ:
            raise BadParameter(f"the environment variable {token_env} is not set", where=url)
        headers["Authorization"] = f"Bearer {os.environ[token_env]}"
    # In ASCII, so that a lone surrogate crosses as its escape.
    body = json.dumps(
        {"query": query.text, "filters": as_plain(dict(query.filters)), "limit": limit}, default=str
    ).encode("ascii")
    headers["Content-Type"] = "application/json"

    def exchange() -> bytes:
        with (
            httpx.Client(timeout=timeout) as client,
            client.stream("POST", url, content=body, headers=headers) as response,
        ):
            if response.status_code != 200:
                raise EndpointFailed(f"the endpoint answered {response.status_code}", where=url)
            if response.headers.get("content-encoding", "identity") != "identity":
                raise EndpointFailed(
                    f"the endpoint answered in {response.headers['content-encoding']}",
                    where=url,
                    do="It was asked for identity",
                )
            return _read(response, url, timeout, max_bytes)

    try:
        # The client's own timeout is for each part of an answer; headers could come a byte at a time without end.
        data = within(timeout, exchange, "the answer", url)
    except NoAnswer as error:
        raise EndpointFailed(f"no answer within {timeout:g} s", where=url) from error
    except httpx.TimeoutException as error:
        raise EndpointFailed(f"no answer within {timeout:g} s", where=url) from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise EndpointFailed(f"the endpoint cannot be asked: {error}", where=url) from error
    rows = _Rows(_rows(data, url))
    rows.bytes_read = len(data)
    return rows


def _read(response: Any, url: str, timeout: float, max_bytes: int) -> bytes:
    end, parts, size = time.monotonic() + timeout, [], 0
    for part in response.iter_raw():
        size += len(part)
        if size > max_bytes:
            raise EndpointFailed(
                f"the answer is above {max_bytes:,} bytes",
                where=url,
                do="Answer less, or raise max_bytes",
            )
        if time.monotonic() > end:
            raise EndpointFailed(f"the answer did not end within {timeout:g} s", where=url)
        parts.append(part)
    return b"".join(parts)


def _rows(data: bytes, url: str) -> list[tuple[Any, Any]]:
    def refuse(word: str) -> Any:
        raise ValueError(f"{word} is no number")

    try:
        found = json.loads(data.decode("utf-8"), parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise EndpointFailed(f"the answer is not JSON: {error}", where=url) from error
    rows = found.get("results") if isinstance(found, dict) else found
    if not isinstance(rows, list):
        raise EndpointFailed(
            "the answer holds no list of results",
            where=url,
            do='Answer {"results": [{"id": …, "score": …}, …]}',
        )
    for rank, row in enumerate(rows, 1):
        if not isinstance(row, dict) or "id" not in row or "score" not in row:
            raise BadAnswer(
                "a result without id and score",
                where=f"{url}, row {rank}",
                do='Each is {"id": …, "score": …}',
            )
    return [(row["id"], row["score"]) for row in rows]
