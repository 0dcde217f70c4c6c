"""Anthropic's messages API, directly and through Bedrock's invoke."""

from __future__ import annotations

import re
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
    opaque,
    renamed,
    rest,
    text_of,
)
from workbench.matching.request import Answer, Part, RecordedRequest, canonical_json

NAME = "anthropic"
PARAMS = {"stop_sequences": "stop", "output_config": "response_format"}
BODY = (
    "messages",
    "system",
    "tools",
    "stream",
    "cache_control",
    "container",
    "mcp_servers",
    "metadata",
)
_INVOKED = re.compile(r"/model/([^/]+)/invoke(-with-response-stream)?$")


def claims(wire: Wire) -> bool:
    here = wire.path.endswith("/messages") or (
        "anthropic_version" in wire.request and bool(_INVOKED.search(wire.path))
    )
    return here and isinstance(wire.request.get("messages"), list)


def request(wire: Wire) -> RecordedRequest:
    body, turns = wire.request, Turns()
    system = body.get("system") or []
    for text in [{"text": system}] if isinstance(system, str) else system:
        turns.add("system", [Part("text", text_of(text["text"]))])
    for message in body["messages"]:
        if message["role"] not in ("user", "assistant", "system"):
            raise NotUnderstood(f"unknown role {message['role']!r}")
        _add(turns, message["role"], message.get("content"))
    invoked = _INVOKED.search(wire.path)
    params = {"api": NAME, "model": invoked[1] if invoked else None} | renamed(
        rest(body, *BODY), PARAMS
    )
    params["stream"] = True if body.get("stream") or (invoked and invoked[2]) else None
    tools = [tool_of(t) for t in body.get("tools") or ()]
    tools += [
        tool_of(
            {
                "name": "mcp server " + text_of(s.get("name")),
                **rest(s, "name", "authorization_token"),
            }
        )
        for s in body.get("mcp_servers") or ()
    ]
    return turns.request(tools, params, {"container": body.get("container")})


def _add(turns: Turns, role: str, content: Any) -> None:
    """One wire message; tool results in a user's message become a message of the tool, as in the other formats."""
    if content is None or isinstance(content, str):
        return turns.add(role, [Part("text", content or "")])
    for part in content:
        if part.get("type") == "tool_result":
            turns.add("tool", _result(part), join=True)
        else:
            turns.add(role, [_part(part)], join=True)
    return None


def _part(part: Mapping[str, Any]) -> Part:
    kind = part.get("type")
    if kind == "text":
        return Part("text", text_of(part["text"]))
    if kind == "thinking":
        return Part("reasoning", text_of(part["thinking"]))
    if kind in ("tool_use", "server_tool_use"):
        return Part(
            "call",
            canonical_json(part.get("input")),
            text_of(part["name"]),
            text_of(part.get("id")),
        )
    if kind in ("image", "document") and isinstance(part.get("source"), Mapping):
        source = part["source"]
        named, more = (
            text_of(source.get("media_type")) or kind,
            rest(part, "type", "source", "cache_control"),
        )
        if source.get("type") in ("base64", "text"):
            return media(named, data=text_of(source["data"]), more=more)
        return media(named, address=text_of(source.get("url") or source.get("file_id")), more=more)
    return opaque(str(kind or "untyped"), rest(part, "type", "cache_control"))


def _result(part: Mapping[str, Any]) -> list[Part]:
    content = part.get("content")
    parts = (
        [Part("text", content)] if isinstance(content, str) else [_part(p) for p in content or ()]
    )
    said = "\n".join(p.text for p in parts if p.kind == "text")
    failed = [opaque("is_error", True)] if part.get("is_error") else []
    others = [p for p in parts if p.kind != "text"]
    return [Part("result", said, "", text_of(part.get("tool_use_id"))), *failed, *others]


def answer(body: Mapping[str, Any]) -> Answer:
    if not isinstance(body.get("content"), list):
        raise NotUnderstood("an answer without content")
    said = [text_of(p["text"]) for p in body["content"] if p.get("type") == "text"]
    calls = [
        (text_of(p["name"]), canonical_json(p.get("input")))
        for p in body["content"]
        if p.get("type") == "tool_use"
    ]
    return Answer("".join(said), tuple(calls), text_of(body.get("stop_reason")))


def streamed(events: Sequence[Event]) -> Answer:
    blocks: dict[int, dict[str, str]] = {}
    finish, ended = "", False
    for _, data in events:
        kind = data.get("type") if isinstance(data, Mapping) else None
        if kind == "error":
            raise NotUnderstood(f"the stream ended in an error: {data.get('error')}")
        if kind == "content_block_start":
            block = data["content_block"]
            blocks[data["index"]] = {
                "type": block["type"],
                "name": text_of(block.get("name")),
                "text": text_of(block.get("text")),
                "input": "",
            }
        elif kind == "content_block_delta":
            blocks[data["index"]]["text"] += text_of(data["delta"].get("text"))
            blocks[data["index"]]["input"] += text_of(data["delta"].get("partial_json"))
        elif kind == "message_delta":
            finish = text_of(data["delta"].get("stop_reason")) or finish
        ended = ended or kind == "message_stop"
    if not ended:
        raise TruncatedStream("the stream has no message_stop event")
    ordered = [blocks[i] for i in sorted(blocks)]
    calls = tuple(
        (b["name"], json_of(b["input"]) or "{}") for b in ordered if b["type"] == "tool_use"
    )
    return Answer("".join(b["text"] for b in ordered if b["type"] == "text"), calls, finish)


FORMAT = Format(NAME, claims, request, answer, streamed)
