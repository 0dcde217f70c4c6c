"""An HTTP endpoint as a channel: it is asked for ids and scores, and trusted with nothing else.

    POST url  {"query": text, "filters": {…}, "limit": n}
    200       {"results": [{"id": …, "score": …}, …]}, or the list alone

Redirects are not followed. Raises EndpointFailed for a status other than 200, a timeout, an answer above the size
limit and what is not JSON; BadAnswer for ids and scores that are no ranking of this collection.
"""

from __future__ import annotations

import json
import os
import time
from typing import Any
from urllib.parse import urlsplit

from workbench.errors import BadParameter, WorkbenchError
from workbench.registry import register
from workbench.remote import NoAnswer, within
from workbench.retrieval.context import Context
from workbench.retrieval.own import RESERVED, own_list
from workbench.retrieval.returned import KINDS, POINTS, BadAnswer
from workbench.types import Query, Ranking, as_plain

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
    query: Query, ctx: Context, *, url: str, name: str = "endpoint", limit: int = LIMIT, ids: str = POINTS,
    timeout: float = TIMEOUT_SECONDS, max_bytes: int = MAX_BYTES, token_env: str = "",
) -> Ranking:  # fmt: skip
    """The rows that an HTTP endpoint returns, by score; ties by point id.

    `ids`: "points" or "documents". `timeout` is for the connection, for each part of the answer, and for the whole
    of it. `token_env` names the environment variable that holds a bearer token, so that no plan or report holds it.
    """
    _check(url, name, limit, ids, timeout, max_bytes)
    params = {"url": url, "limit": limit, "ids": ids, "timeout": timeout, "max_bytes": max_bytes, "token_env": token_env}
    return own_list(
        name, "endpoint", query, ctx, params, ids, lambda: _ask(query, url, limit, timeout, max_bytes, token_env), engine="http"
    )


def _check(url: str, name: str, limit: int, ids: str, timeout: float, max_bytes: int) -> None:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BadParameter(f"{url!r} is no http or https address")
    if parts.username or parts.password:
        raise BadParameter("an endpoint's address holds a password", do="Put a token into an environment variable and name it: token_env=NAME")
    if name in RESERVED:
        raise BadParameter(f"{name!r} names a list of ours", do="Give the endpoint another name")
    if ids not in KINDS:
        raise BadParameter(f"ids are {' or '.join(KINDS)}, not {ids!r}")
    if limit < 1 or timeout <= 0 or max_bytes < 1:
        raise BadParameter(f"limit {limit}, timeout {timeout} and max_bytes {max_bytes} must be above 0")


def _ask(query: Query, url: str, limit: int, timeout: float, max_bytes: int, token_env: str) -> _Rows:
    import httpx

    # Nothing compressed: a small body could unpack to one without end.
    headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
    if token_env:
        if token_env not in os.environ:
            raise BadParameter(f"the environment variable {token_env} is not set", where=url)
        headers["Authorization"] = f"Bearer {os.environ[token_env]}"
    # In ASCII, so that a lone surrogate crosses as its escape.
    body = json.dumps({"query": query.text, "filters": as_plain(dict(query.filters)), "limit": limit}, default=str).encode("ascii")
    headers["Content-Type"] = "application/json"


    def exchange() -> bytes:
        with httpx.Client(timeout=timeout) as client, client.stream("POST", url, content=body, headers=headers) as response:
            if response.status_code != 200:
                raise EndpointFailed(f"the endpoint answered {response.status_code}", where=url)
            if response.headers.get("content-encoding", "identity") != "identity":
                raise EndpointFailed(f"the endpoint answered in {response.headers['content-encoding']}", where=url, do="It was asked for identity")
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
            raise EndpointFailed(f"the answer is above {max_bytes:,} bytes", where=url, do="Answer less, or raise max_bytes")
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
        raise EndpointFailed("the answer holds no list of results", where=url, do='Answer {"results": [{"id": …, "score": …}, …]}')
    for rank, row in enumerate(rows, 1):
        if not isinstance(row, dict) or "id" not in row or "score" not in row:
            raise BadAnswer("a result without id and score", where=f"{url}, row {rank}", do='Each is {"id": …, "score": …}')
    return [(row["id"], row["score"]) for row in rows]
