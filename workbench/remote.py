"""A Qdrant server by address: no credentials in the address, and calls that end.

The key is $QDRANT_API_KEY. Other credentials are named in the address by the environment variables that hold them:
`?api_key=$NAME` for a key, `http://$NAME@host` for `user:password`. Only the names are stored and shown.
"""

from __future__ import annotations

import base64
import os
import re
import threading
import warnings
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from workbench.errors import BadParameter, WorkbenchError

API_KEY_VARIABLE = "QDRANT_API_KEY"
_VARIABLE = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*)")
# A server that sends a byte now and then never exceeds the client's own timeout, which is for each part of an answer.
_PARTS = 2


class NoAnswer(WorkbenchError):
    """A call to a server did not end in time."""


def shown_url(url: str) -> str:
    """The address without what may be a credential: what is before the last `@`, and after `?` or `#`."""
    scheme, mark, rest = url.partition("://")
    rest = re.split(r"[?#]", rest if mark else scheme)[0].rpartition("@")[2]
    return f"{scheme}://{rest}" if mark else rest


def check_address(url: str) -> str:
    """The address where it is one of http or https and holds no credentials of its own. Raises BadParameter."""
    _parts(url)
    return url


def credentials(url: str) -> str:
    """The names of the variables that hold what the server asks for."""
    _, key, user = _parts(url)
    return " and ".join(
        f"${name}" for name in (user, key or (not user and API_KEY_VARIABLE)) if name
    )


def connect(url: str, api_key: str | None, timeout: int) -> Any:
    """A qdrant client for this address, whose calls end; the server is not asked yet. Raises BadParameter."""
    from qdrant_client import QdrantClient

    server, key, user = _parts(url)
    headers = {}
    if user:
        headers["Authorization"] = "Basic " + base64.b64encode(_secret(user).encode()).decode()
    key = api_key or (_secret(key) if key else os.environ.get(API_KEY_VARIABLE) or None)
    if key and not re.fullmatch(r"[!-~]+", key):
        raise BadParameter(
            "the API key holds characters that no header can carry", where=shown_url(url)
        )
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Api key is used with an insecure connection")
            # The check of versions runs in a thread that only prints; a server that cannot do something says so itself.
            client = QdrantClient(
                url=server,
                api_key=key,
                timeout=timeout,
                check_compatibility=False,
                headers=headers or None,
            )
    except (ValueError, TypeError):
        raise BadParameter("it is no URL of a server", where=shown_url(url)) from None
    return _Ending(client, timeout * _PARTS, shown_url(url))


def within(seconds: float, call: Callable[[], Any], what: str, where: str) -> Any:
    """What a call returns. Raises NoAnswer after so many seconds, and leaves the call to its end."""
    done: list[tuple[bool, Any]] = []

    def run() -> None:
        try:
            done.append((True, call()))
        except BaseException as error:
            done.append((False, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if not done:
        raise NoAnswer(f"{what} did not end within {seconds:g} s", where=where)
    good, value = done[0]
    if not good:
        raise value
    return value


class _Ending:
    """A client whose every call ends."""

    def __init__(self, client: Any, seconds: float, where: str) -> None:
        self._client, self._seconds, self._where = client, seconds, where

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._client, name)

        def ending(*args: Any, **named: Any) -> Any:
            what = f"Qdrant's answer to {name}"
            return within(self._seconds, lambda: call(*args, **named), what, self._where)

        return ending


def _parts(url: str) -> tuple[str, str, str]:
    """The address alone, and the names of the variables that hold its key and its user and password."""
    try:
        if not isinstance(url, str):
            raise ValueError
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname
        query = dict(
            parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
        )
    except ValueError:
        raise BadParameter("it is no URL of a server", where=shown_url(str(url))) from None
    if parts.scheme not in ("http", "https") or not host or port == 0:
        raise BadParameter("it is no URL of a server by http or https", where=shown_url(url))
    key, user = query.pop("api_key", ""), parts.netloc.rpartition("@")[0]
    if any(v and not _VARIABLE.fullmatch(v) for v in (key, user)) or query or parts.fragment:
        raise BadParameter(
            "a server's URL holds a password or a key",
            where=shown_url(url),
            do=f"Set ${API_KEY_VARIABLE}, or name the variable that holds it: ?api_key=$NAME, or http://$NAME@host for user:password",
        )
    return shown_url(url), key[1:], user[1:]


def _secret(variable: str) -> str:
    found = os.environ.get(variable)
    if not found:
        raise BadParameter(
            f"the environment variable {variable} is not set",
            do="It holds the server's credentials",
        )
    return found
