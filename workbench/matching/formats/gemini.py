"""Google's generateContent, of the developer API and of Vertex; keys in camel or snake case."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from workbench.matching.formats.openai_chat import tool_of
from workbench.matching.formats.wire import (
    Event,
    Format,
    NotUnderstood,
    TruncatedStream,
    Turns,
    Wire,
    media,
    opaque,
    renamed,
    rest,
    text_of,
)
from workbench.matching.request import Answer, Part, RecordedRequest, Tool, canonical_json

NAME = "gemini"
ROLES = {"model": "assistant", "user": "user", "function": "tool", None: "user"}
PARAMS = {
    "maxOutputTokens": "max_tokens",
    "stopSequences": "stop",
    "topP": "top_p",
    "topK": "top_k",
}
FORM = ("responseMimeType", "responseSchema", "responseJsonSchema")
BODY = (
    "contents",
    "systemInstruction",
    "tools",
    "generationConfig",
    "toolConfig",
    "cachedContent",
    "labels",
)
_PATH = re.compile(r"/models/([^/:]+):(stream)?[gG]enerateContent$")


def claims(wire: Wire) -> bool:
    return bool(_PATH.search(wire.path)) and isinstance(wire.request.get("contents"), list)


def request(wire: Wire) -> RecordedRequest:
    body, turns = {_camel(k): v for k, v in wire.request.items()}, Turns()
    told = body.get("systemInstruction")
    if told:
        turns.add("system", [_part(_camel_keys(p)) for p in told.get("parts") or ()])
    for content in body["contents"]:
        if content.get("role") not in ROLES:
            raise NotUnderstood(f"unknown role {content.get('role')!r}")
        role = ROLES[content.get("role")]
        for part in map(_camel_keys, content.get("parts") or ()):
            turns.add("tool" if "functionResponse" in part else role, [_part(part)], join=True)
            if more := rest(part.get("functionResponse") or {}, "name", "id", "response"):
                turns.add("tool", [opaque("functionResponse", more)], join=True)
    config = {_camel(k): v for k, v in (body.get("generationConfig") or {}).items()}
    form = {k: config[k] for k in FORM if config.get(k) is not None}
    found = _PATH.search(wire.path)
    params = {
        "api": NAME,
        "model": found[1],
        "tool_choice": body.get("toolConfig"),
        "response_format": form or None,
    }
    params |= renamed(rest(config, *FORM), PARAMS) | rest(body, *BODY)
    params["stream"] = True if found[2] else None
    return turns.request(
        _tools(body.get("tools") or ()), params, {"cachedContent": body.get("cachedContent")}
    )


def _tools(tools: Any) -> list[Tool]:
    found = []
    for tool in map(_camel_keys, [tools] if isinstance(tools, Mapping) else tools):
        found += [tool_of(d) for d in tool.get("functionDeclarations") or ()]
        found += [
            Tool(k, "", canonical_json(v)) for k, v in rest(tool, "functionDeclarations").items()
        ]
    return found


def _part(part: Mapping[str, Any]) -> Part:
    if "text" in part:
        return Part("reasoning" if part.get("thought") else "text", text_of(part["text"]))
    if call := part.get("functionCall"):
        return Part(
            "call",
            canonical_json(call.get("args") or {}),
            text_of(call["name"]),
            text_of(call.get("id")),
        )
    if result := part.get("functionResponse"):
        said = canonical_json(result.get("response"))
        return Part("result", said, text_of(result.get("name")), text_of(result.get("id")))
    if data := part.get("inlineData"):
        data = _camel_keys(data)
        return media(
            text_of(data.get("mimeType")),
            data=text_of(data["data"]),
            more=_beside(part, data, "inlineData"),
        )
    if held := part.get("fileData"):
        held = _camel_keys(held)
        return media(
            text_of(held.get("mimeType")),
            address=text_of(held["fileUri"]),
            more=_beside(part, held, "fileData"),
        )
    named = rest(part, "thoughtSignature")
    return opaque("+".join(sorted(named)), named)


def _beside(part: Mapping[str, Any], held: Mapping[str, Any], kind: str) -> dict[str, Any]:
    return rest(part, kind, "thought", "thoughtSignature") | rest(
        held, "mimeType", "data", "fileUri"
    )


def _camel(key: str) -> str:
    head, *tail = key.split("_")
    return head + "".join(t.capitalize() for t in tail)


def _camel_keys(data: Mapping[str, Any]) -> dict[str, Any]:
    return {_camel(k): v for k, v in data.items()}


def answer(body: Mapping[str, Any]) -> Answer:
    return _answer([body])


def streamed(events: Sequence[Event]) -> Answer:
    found = _answer([data for _, data in events])
    if not found.finish:
        raise TruncatedStream("the stream has no finishReason")
    return found


def _answer(bodies: Sequence[Mapping[str, Any]]) -> Answer:
    said, calls, finish, created = [], [], "", None
    for body in bodies:
        if body.get("error"):
            raise NotUnderstood(f"the answer is an error: {body['error']}")
        created = created or _seconds(body.get("createTime"))
        for candidate in (body.get("candidates") or ())[:1]:
            finish = text_of(candidate.get("finishReason")) or finish
            for part in map(_camel_keys, (candidate.get("content") or {}).get("parts") or ()):
                read = _part(part)
                said += [read.text] if read.kind == "text" else []
                calls += [(read.name, read.text)] if read.kind == "call" else []
    if not any(body.get("candidates") for body in bodies):
        raise NotUnderstood("an answer without candidates")
    return Answer("".join(said), tuple(calls), finish, created=created)


def _seconds(text: Any) -> float | None:
    return datetime.fromisoformat(text).timestamp() if isinstance(text, str) else None


FORMAT = Format(NAME, claims, request, answer, streamed)
