"""Plain JSONL: one call a line.

    {"messages": [{"role": "user", "content": "Hello"}], "model": "m", "answer": "Hi"}          # a chat body and its answer
    {"uri": "https://…/v1/messages", "request": {…}, "response": {…}}                          # any known wire format

In the first form the request is read as an OpenAI chat body; `answer` is a text, or an answer in that format.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from workbench.matching.formats import format_of, openai_chat, read_answer, read_request
from workbench.matching.formats.wire import NotUnderstood, Wire
from workbench.matching.request import Answer, RecordedRequest, json_text

CHAT_URI = "https://localhost/v1/chat/completions"
"""An address for bodies that come without one; the chat format is known by its path."""


def read_jsonl(path: Path, limit: int) -> Iterator[tuple[int, Callable[[], tuple[RecordedRequest, Answer]]]]:
    """(line number from 1, a function that reads the line or raises NotUnderstood) of every line that is not blank."""
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield number, partial(_call, line, limit)


def _call(line: bytes, limit: int) -> tuple[RecordedRequest, Answer]:
    if len(line) > limit:
        raise NotUnderstood(f"the line is larger than {limit >> 20} MiB")
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise NotUnderstood(f"the line is no JSON: {error}") from error
    if not isinstance(data, Mapping):
        raise NotUnderstood("the line is no JSON object")
    if "request" in data:
        return _wire_call(data)
    if "answer" not in data:
        raise NotUnderstood("the line has neither `answer` nor `request` and `response`")
    return request_of({k: v for k, v in data.items() if k not in ("answer", "uri")}), _answer(data["answer"])


def request_of(body: Mapping[str, Any], uri: str = CHAT_URI) -> RecordedRequest:
    """A request from a wire body. Raises NotUnderstood where no format claims it."""
    wire = Wire("POST", uri, body)
    form = format_of(wire)
    if form is None:
        raise NotUnderstood(_no_format(uri))
    return read_request(form, wire)


def _no_format(uri: str) -> str:
    """Why no format claims a body; one without an address is a chat body, or nothing that is known."""
    return "the request has no `messages`, and no address that tells another format" if uri == CHAT_URI else f"no known format: {uri}"


def _wire_call(data: Mapping[str, Any]) -> tuple[RecordedRequest, Answer]:
    if not isinstance(data["request"], Mapping) or not isinstance(data.get("uri", CHAT_URI), str):
        raise NotUnderstood("`request` must be a JSON object and `uri` a text")
    wire = Wire("POST", data.get("uri", CHAT_URI), data["request"], body=data.get("response"))
    form = format_of(wire)
    if form is None:
        raise NotUnderstood(_no_format(wire.uri))
    return read_request(form, wire), read_answer(form, wire)


def _answer(given: Any) -> Answer:
    if isinstance(given, str):
        return Answer(given, body=json_text(given))
    return read_answer(openai_chat.FORMAT, Wire("POST", CHAT_URI, {}, body=given))
