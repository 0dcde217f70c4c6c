"""What a Qdrant server or its client raises, as the workbench's named errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from workbench.errors import NotAvailable, WorkbenchError
from workbench.remote import NoAnswer

_UNAUTHORISED = (401, 403)
_NOT_FOUND = 404
_REFUSED = 400


class ServerSilent(WorkbenchError):
    """The server at this URL does not answer, or not in time."""


class ServerRefused(WorkbenchError):
    """The server answered with an error; carries its own words."""


class NoSuchCollection(WorkbenchError):
    """The server has no such collection, or an incomplete one."""


@contextmanager
def server_calls(url: str, collection: str) -> Iterator[None]:
    """Turn the client's exceptions into ServerSilent, NoSuchCollection, NotAvailable and ServerRefused."""
    from pydantic import ValidationError
    from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

    try:
        yield
    except NoAnswer as error:
        raise ServerSilent(error.what, where=url, do="Look at the server, or try again") from error
    except (AssertionError, AttributeError, IndexError, KeyError, TypeError, ValidationError) as error:
        # What the client stumbles over where an answer is null, a list, or lacks what the interface promises.
        do = "Check that the URL is a Qdrant server's"
        raise ServerRefused("the server's answer is not one of Qdrant", where=url, do=do) from error
    except ResponseHandlingException as error:
        raise ServerSilent(
            f"Qdrant does not answer: {_first_line(error.source)}", where=url,
            do="Check the URL, start the server, or load with the embedded engine (without --qdrant)",
        ) from error  # fmt: skip
    except ResourceExhaustedResponse as error:
        raise ServerRefused("Qdrant is over its limit of requests", where=url, do="Try again later") from error
    except UnexpectedResponse as error:
        said = _words(error)
        if error.status_code == _NOT_FOUND:
            raise NoSuchCollection(f"no collection {collection!r}: {said}", where=url) from error
        if error.status_code in _UNAUTHORISED:
            raise ServerRefused("Qdrant refuses this key", where=url, do="Give the server's API key") from error
        kind: Any = NotAvailable if error.status_code == _REFUSED else ServerRefused
        raise kind(f"Qdrant refuses ({error.status_code}): {said}", where=url) from error
    except (ValueError, NotImplementedError) as error:
        # The in-memory mode raises these where a server answers 400, 404 or can do more.
        kind = NoSuchCollection if "not found" in str(error) else NotAvailable
        raise kind(f"qdrant-client refuses: {_first_line(error)}", where=url) from error


def _words(error: Any) -> str:
    """The server's message, cut to a line."""
    try:
        return str(json.loads(error.content)["status"]["error"]).splitlines()[0]
    except (ValueError, KeyError, TypeError, IndexError):
        return error.reason_phrase or "it gave no reason"


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), "") or type(error).__name__
