"""Bedrock's converse and converse-stream."""

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
from workbench.matching.request import Answer, Part, RecordedRequest, Tool, canonical_json

NAME = "bedrock"
PARAMS = {"maxTokens": "max_tokens", "stopSequences": "stop", "topP": "top_p"}
BODY = ("messages", "system", "inferenceConfig", "toolConfig", "outputConfig")
MEDIA = ("image", "document", "video", "audio")
_PATH = re.compile(r"/model/(.+)/converse(-stream)?$")


def claims(wire: Wire) -> bool:
    return bool(_PATH.search(wire.path)) and isinstance(wire.request.get("messages"), list)


def request(wire: Wire) -> RecordedRequest:
    body, turns = wire.request, Turns()
    for part in body.get("system") or ():
        if "cachePoint" not in part:
            turns.add("system", [_part(part)])
    for message in body["messages"]:
        if message["role"] not in ("user", "assistant"):
            raise NotUnderstood(f"unknown role {message['role']!r}")
        for part in message.get("content") or ():
            if "toolResult" in part:
                turns.add("tool", _result(part["toolResult"]), join=True)
            elif "cachePoint" not in part:
                turns.add(message["role"], [_part(part)], join=True)
    config = body.get("toolConfig") or {}
    found = _PATH.search(wire.path)
    params = {"api": NAME, "model": found[1], "stream": True if found[2] else None}
    params |= {"tool_choice": config.get("toolChoice"), "response_format": body.get("outputConfig")}
    params |= renamed(body.get("inferenceConfig") or {}, PARAMS) | rest(body, *BODY)
    return turns.request(
        [_tool(t) for t in config.get("tools") or () if "cachePoint" not in t], params, {}
    )


def _tool(tool: Mapping[str, Any]) -> Tool:
    if "toolSpec" in tool:
        return tool_of(tool["toolSpec"])
    kind = "+".join(sorted(tool))
    return Tool(kind, "", canonical_json(tool))


def _part(part: Mapping[str, Any]) -> Part:
    if "text" in part:
        return Part("text", text_of(part["text"]))
    if call := part.get("toolUse"):
        return Part(
            "call",
            canonical_json(call.get("input")),
            text_of(call["name"]),
            text_of(call.get("toolUseId")),
        )
    if thought := (part.get("reasoningContent") or {}).get("reasoningText"):
        return Part("reasoning", text_of(thought.get("text")))
    for kind in MEDIA:
        if kind in part:
            held = part[kind]
            named, source = f"{kind}/{text_of(held.get('format'))}", held.get("source") or {}
            more = rest(held, "format", "source")
            if isinstance(source.get("bytes"), str | bytes):
                return media(named, data=source["bytes"], more=more)
            return media(named, address=canonical_json(source), more=more)
    return opaque("+".join(sorted(part)), part)


def _result(result: Mapping[str, Any]) -> list[Part]:
    parts = [
        Part("text", canonical_json(p["json"])) if "json" in p else _part(p)
        for p in result.get("content") or ()
    ]
    said = "\n".join(p.text for p in parts if p.kind == "text")
    failed = [opaque("status", "error")] if result.get("status") == "error" else []
    others = [p for p in parts if p.kind != "text"]
    return [Part("result", said, "", text_of(result.get("toolUseId"))), *failed, *others]


def answer(body: Mapping[str, Any]) -> Answer:
    if not isinstance(body.get("output"), Mapping):
        raise NotUnderstood("an answer without output")
    read = [_part(p) for p in body["output"]["message"].get("content") or ()]
    said = "".join(p.text for p in read if p.kind == "text")
    return Answer(
        said,
        tuple((p.name, p.text) for p in read if p.kind == "call"),
        text_of(body.get("stopReason")),
    )


def streamed(events: Sequence[Event]) -> Answer:
    blocks: dict[int, list[str]] = {}
    finish = ""
    for name, data in events:
        if name.endswith("Exception"):
            raise NotUnderstood(f"the stream ended in an error: {name}")
        if name == "contentBlockStart":
            blocks[data["contentBlockIndex"]] = [
                "",
                text_of(data["start"].get("toolUse", {}).get("name")),
                "",
            ]
        elif name == "contentBlockDelta":
            held, delta = blocks.setdefault(data["contentBlockIndex"], ["", "", ""]), data["delta"]
            held[0] += text_of(delta.get("text"))
            held[2] += text_of((delta.get("toolUse") or {}).get("input"))
        elif name == "messageStop":
            finish = text_of(data.get("stopReason"))
    if not finish:
        raise TruncatedStream("the stream has no messageStop event")
    ordered = [blocks[i] for i in sorted(blocks)]
    calls = tuple((name, json_of(given) or "{}") for _, name, given in ordered if name)
    return Answer("".join(b[0] for b in ordered if not b[1]), calls, finish)


FORMAT = Format(NAME, claims, request, answer, streamed)
