"""OpenAI's responses API, and those who speak it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.matching.formats.openai_chat import tool_of
from workbench.matching.formats.wire import (
    Event,
    Format,
    NotUnderstood,
    TruncatedStream,
    Turns,
    Wire,
    json_of,
    media,
    number_or_none,
    opaque,
    renamed,
    rest,
    text_of,
)
from workbench.matching.request import Answer, Part, RecordedRequest

NAME = "openai-responses"
PARAMS = {"max_output_tokens": "max_tokens"}
STATE = ("previous_response_id", "conversation", "prompt")
BODY = (
    "input",
    "instructions",
    "tools",
    "stream",
    "stream_options",
    "text",
    "include",
    "store",
    "background",
    *STATE,
)
ROLES = {"developer": "system"}
ENDS = ("response.completed", "response.incomplete")


def claims(wire: Wire) -> bool:
    return wire.method == "POST" and wire.path.endswith("/responses") and "input" in wire.request


def request(wire: Wire) -> RecordedRequest:
    body, turns = wire.request, Turns()
    if body.get("instructions"):
        turns.add("system", [Part("text", text_of(body["instructions"]))])
    given = body["input"]
    for item in [{"role": "user", "content": given}] if isinstance(given, str) else given:
        role, parts = _item(item)
        turns.add(role, parts, join=role == "assistant")
    form = body.get("text") or {}
    params = {
        "api": NAME,
        "response_format": form.get("format"),
        "verbosity": form.get("verbosity"),
    }
    params |= renamed(rest(body, *BODY), PARAMS)
    params["stream"] = True if body.get("stream") else None
    return turns.request(
        [tool_of(t) for t in body.get("tools") or ()], params, {k: body.get(k) for k in STATE}
    )


def _item(item: Mapping[str, Any]) -> tuple[str, list[Part]]:
    kind = item.get("type", "message")
    if kind == "message":
        role = ROLES.get(item["role"], item["role"])
        if role not in ("system", "user", "assistant"):
            raise NotUnderstood(f"unknown role {role!r}")
        return role, _content(item.get("content")) or [Part("text")]
    if kind in ("function_call", "custom_tool_call"):
        given = item.get("arguments", item.get("input"))
        return "assistant", [
            Part("call", json_of(given), text_of(item["name"]), text_of(item.get("call_id")))
        ]
    if kind in ("function_call_output", "custom_tool_call_output"):
        parts = _content(item.get("output"))
        said = "\n".join(p.text for p in parts if p.kind == "text")
        others = [p for p in parts if p.kind != "text"]
        return "tool", [Part("result", said, "", text_of(item.get("call_id"))), *others]
    if kind == "reasoning":
        texts = [*(item.get("summary") or ()), *(item.get("content") or ())]
        return "assistant", [Part("reasoning", "\n".join(text_of(t.get("text")) for t in texts))]
    return "assistant", [opaque(kind, rest(item, "type"))]


def _content(content: Any) -> list[Part]:
    if content is None or isinstance(content, str):
        return [Part("text", content)] if content else []
    return [_part(p) for p in content]


def _part(part: Mapping[str, Any]) -> Part:
    kind = part.get("type")
    if kind in ("input_text", "output_text", "text"):
        return Part("text", text_of(part["text"]))
    if kind == "refusal":
        return Part("text", text_of(part["refusal"]))
    if kind == "reasoning_text":
        return Part("reasoning", text_of(part["text"]))
    if kind == "input_image" and part.get("image_url"):
        return media(
            "image", address=text_of(part["image_url"]), more=rest(part, "type", "image_url")
        )
    if kind == "input_file" and part.get("file_data"):
        return media(
            "file", address=text_of(part["file_data"]), more=rest(part, "type", "file_data")
        )
    return opaque(str(kind or "untyped"), part)


def answer(body: Mapping[str, Any]) -> Answer:
    if not isinstance(body.get("output"), list):
        raise NotUnderstood("an answer without output")
    if body.get("error") or body.get("status") in ("failed", "cancelled", "queued", "in_progress"):
        raise NotUnderstood(f"the answer is not complete: status {body.get('status')}")
    items = body["output"]
    said = [
        p.text
        for i in items
        if i.get("type") == "message"
        for p in _content(i.get("content"))
        if p.kind == "text"
    ]
    calls = [
        _item(i)[1][0] for i in items if i.get("type") in ("function_call", "custom_tool_call")
    ]
    return Answer(
        "".join(said),
        tuple((c.name, c.text) for c in calls),
        text_of(body.get("status")),
        created=number_or_none(body.get("created_at")),
    )


def streamed(events: Sequence[Event]) -> Answer:
    for _, data in reversed(events):
        if isinstance(data, Mapping) and data.get("type") in ENDS:
            return answer(data["response"])
    raise TruncatedStream("the stream has no response.completed event")


FORMAT = Format(NAME, claims, request, answer, streamed)
