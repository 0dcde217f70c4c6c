"""The body formats that are understood, in the order in which they are asked. A new one is one file and one line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from workbench.matching.formats import anthropic, bedrock, gemini, openai_chat, openai_responses
from workbench.matching.formats.wire import Event, Format, NotUnderstood, Wire
from workbench.matching.request import Answer, RecordedRequest, json_text

FORMATS: tuple[Format, ...] = (
    openai_chat.FORMAT,
    openai_responses.FORMAT,
    anthropic.FORMAT,
    gemini.FORMAT,
    bedrock.FORMAT,
)


def format_of(wire: Wire) -> Format | None:
    """The first format that claims the exchange, None for an unknown one."""
    return next((f for f in FORMATS if f.claims(wire)), None)


def read_request(form: Format, wire: Wire) -> RecordedRequest:
    """The request. Raises NotUnderstood for a body that the format does not explain."""
    try:
        return form.request(wire)
    except _MALFORMED as error:
        raise NotUnderstood(f"a malformed {form.name} request: {_said(error)}") from error


def read_answer(form: Format, wire: Wire) -> Answer:
    """The answer with its wire form beside it. Raises NotUnderstood, TruncatedStream for a stream that is cut."""
    try:
        if wire.events is not None:
            return replace(form.streamed(wire.events), events=events_text(wire.events))
        if isinstance(wire.body, list):
            events = tuple(("", item) for item in wire.body)
            return replace(form.streamed(events), events=events_text(events))
        if not isinstance(wire.body, dict):
            raise NotUnderstood(f"the answer is {type(wire.body).__name__}, not a JSON object")
        return replace(form.answer(wire.body), body=json_text(wire.body, ordered=False))
    except _MALFORMED as error:
        raise NotUnderstood(f"a malformed {form.name} answer: {_said(error)}") from error


def events_text(events: Sequence[Event]) -> str:
    """Events as they are stored: a JSON list of [name, data]."""
    return json_text([list(e) for e in events], ordered=False)


# What reading a foreign shape raises: a missing key, a list where a mapping was, text where a number was.
_MALFORMED = (KeyError, TypeError, AttributeError, ValueError, IndexError, RecursionError)


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:200]
