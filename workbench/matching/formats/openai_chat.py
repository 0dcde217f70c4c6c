"""OpenAI chat completions, and all who speak it: Azure, Groq, Mistral, OpenRouter, DeepSeek, Cerebras, …"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

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
from workbench.matching.request import Answer, Part, RecordedRequest, Tool, canonical_json

NAME = "openai-chat"
ROLES = {"developer": "system", "function": "tool"}
PARAMS = {"max_completion_tokens": "max_tokens"}
TRANSPORT = ("messages", "tools", "stream", "stream_options", "functions", "preset")
_DEPLOYMENT = re.compile(r"/deployments/([^/]+)/")


def claims(wire: Wire) -> bool:
    return wire.path.endswith("/chat/completions") and isinstance(
        wire.request.get("messages"), list
    )


def request(wire: Wire) -> RecordedRequest:
    body, turns = wire.request, Turns()
    for message in body["messages"]:
        role = ROLES.get(message["role"], message["role"])
        if role not in ("system", "user", "assistant", "tool"):
            raise NotUnderstood(f"unknown role {role!r}")
        turns.add(role, list(_parts(role, message)) or [Part("text")])
    deployment = _DEPLOYMENT.search(wire.path)
    params = {"api": NAME, "model": deployment[1] if deployment else None} | renamed(
        rest(body, *TRANSPORT), PARAMS
    )
    params["stream"] = True if body.get("stream") else None
    tools = [_tool(t) for t in body.get("tools") or ()] + [
        tool_of(f) for f in body.get("functions") or ()
    ]
    return turns.request(tools, params, {"preset": body.get("preset")})


def _parts(role: str, message: Mapping[str, Any]):
    thought = message.get("reasoning_content") or message.get("reasoning")
    if thought:
        yield Part("reasoning", text_of(thought))
    content = message.get("content")
    if role == "tool":
        texts = [p for p in content_parts(content)]
        said = "\n".join(p.text for p in texts if p.kind == "text")
        yield Part(
            "result", said, text_of(message.get("name")), text_of(message.get("tool_call_id"))
        )
        yield from (p for p in texts if p.kind != "text")
    else:
        yield from content_parts(content)
    for call in message.get("tool_calls") or ():
        yield _call(call)
    if message.get("function_call"):
        yield _call({"function": message["function_call"]})
    known = (
        "role",
        "content",
        "tool_calls",
        "function_call",
        "tool_call_id",
        "reasoning_content",
        "reasoning",
        "refusal",
        "annotations",
        "cache_control",
        *(("name",) if role == "tool" else ()),
    )
    yield from (opaque(k, v) for k, v in rest(message, *known).items() if v != [])
    if message.get("refusal"):
        yield Part("text", text_of(message["refusal"]))


def content_parts(content: Any) -> list[Part]:
    """The parts of a `content`: a text, or a list of typed parts; unknown types become opaque."""
    if content is None or isinstance(content, str):
        return [Part("text", content)] if content else []
    return [_content_part(p) for p in content]


def _content_part(part: Any) -> Part:
    if isinstance(part, str):
        return Part("text", part)
    kind = part.get("type")
    if kind == "text":
        return Part("text", text_of(part["text"]))
    if kind == "thinking":
        inner = part["thinking"]
        return Part(
            "reasoning",
            inner if isinstance(inner, str) else "".join(p.get("text", "") for p in inner),
        )
    if kind in ("image_url", "video_url", "document_url"):
        held = part[kind]
        return media(
            kind.removesuffix("_url"),
            address=held if isinstance(held, str) else held["url"],
            more={} if isinstance(held, str) else rest(held, "url"),
        )
    if kind == "input_audio":
        return media("audio/" + text_of(part[kind].get("format")), data=text_of(part[kind]["data"]))
    if kind == "file" and (data := part["file"].get("file_data")):
        return media("file", address=data, more=rest(part["file"], "file_data"))
    return opaque(str(kind or "untyped"), part)


def _call(call: Mapping[str, Any]) -> Part:
    inner = call.get("function") or call.get("custom") or {}
    given = inner.get("arguments", inner.get("input"))
    return Part("call", json_of(given), text_of(inner["name"]), text_of(call.get("id")))


def _tool(tool: Mapping[str, Any]) -> Tool:
    if tool.get("type", "function") == "function" and "function" in tool:
        return tool_of(tool["function"])
    return tool_of(tool)


def tool_of(tool: Mapping[str, Any]) -> Tool:
    """A tool from a flat definition; what is not its name or description is its schema."""
    name = text_of(tool.get("name") or tool.get("type"))
    return Tool(
        name,
        text_of(tool.get("description")),
        canonical_json(rest(tool, "name", "description", "cache_control")),
    )


def answer(body: Mapping[str, Any]) -> Answer:
    if not body.get("choices"):
        raise NotUnderstood("an answer without choices")
    choice = body["choices"][0]
    message = choice["message"]
    said = "".join(p.text for p in content_parts(message.get("content")) if p.kind == "text")
    calls = [_call(c) for c in message.get("tool_calls") or ()]
    if message.get("function_call"):
        calls.append(_call({"function": message["function_call"]}))
    return Answer(
        said or text_of(message.get("refusal")),
        tuple((c.name, c.text) for c in calls),
        text_of(choice.get("finish_reason")),
        created=number_or_none(body.get("created")),
    )


def streamed(events: Sequence[Event]) -> Answer:
    said, finish, created, done = [], "", None, False
    calls: dict[int, list[str]] = {}
    for _, data in events:
        if data == "[DONE]":
            done = True
            continue
        if data.get("error"):
            raise NotUnderstood(f"the stream ended in an error: {data['error']}")
        created = created or number_or_none(data.get("created"))
        for choice in data.get("choices") or ():
            if choice.get("index", 0) != 0:
                continue
            delta = choice.get("delta") or {}
            said += [p.text for p in content_parts(delta.get("content")) if p.kind == "text"]
            for position, call in enumerate(delta.get("tool_calls") or ()):
                held = calls.setdefault(
                    call.get("index") if call.get("index") is not None else position, ["", ""]
                )
                inner = call.get("function") or {}
                held[0] += text_of(inner.get("name"))
                held[1] += text_of(inner.get("arguments"))
            finish = choice.get("finish_reason") or finish
    if not finish and not done:
        raise TruncatedStream("the stream has neither a finish reason nor its end mark")
    return Answer(
        "".join(said),
        tuple((n, json_of(a)) for _, (n, a) in sorted(calls.items())),
        finish,
        created=created,
    )


FORMAT = Format(NAME, claims, request, answer, streamed)
