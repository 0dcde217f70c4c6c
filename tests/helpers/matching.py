"""What the matching tests share: requests made of Hypothesis' strategies, wire bodies, and models that are none."""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from workbench.matching.request import Answer, Message, Part, RecordedRequest, Tool

WORDS = ["red", "green", "blue", "dog", "man", "bites", "taller", "than", "Paris", "Rome", "seven", "eight", "not", "never", "the", "is", "of", "to", "and"]

words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join)
names = st.sampled_from(["get_weather", "search", "final_result", "delegate"])
arguments = st.dictionaries(st.sampled_from("abc"), st.integers(0, 9), max_size=3).map(
    lambda d: json.dumps(d, sort_keys=True, separators=(",", ":"))
)
parts = st.one_of(
    st.builds(Part, st.just("text"), words),
    st.builds(Part, st.just("call"), arguments, names, st.sampled_from(["call_1", "call_2"])),
    st.builds(Part, st.just("result"), words, names, st.sampled_from(["call_1", "call_2"])),
    st.builds(Part, st.just("media"), st.sampled_from(["sha256:aa", "sha256:bb"]), st.just("image/png")),
)
messages = st.builds(
    Message, st.sampled_from(["user", "assistant", "tool"]), st.lists(parts, min_size=1, max_size=3).map(tuple)
)
tools = st.lists(st.builds(Tool, names, words, arguments), max_size=3, unique_by=lambda t: t.name).map(tuple)
params = st.fixed_dictionaries(
    {"api": st.just("openai-chat"), "model": st.sampled_from(["m1", "m2"])},
    optional={"temperature": st.floats(0, 2), "tool_choice": st.sampled_from(["auto", "none"]), "seed": st.integers(0, 3)},
)
requests = st.builds(
    RecordedRequest, st.lists(messages, min_size=1, max_size=4).map(tuple), st.one_of(st.just(""), words), tools, params
)


def said(text: str) -> Answer:
    return Answer(text, body=json.dumps({"text": text}))


class WordEncoder:
    """A model that is none: each word adds its own direction, so that texts with shared words are near."""

    key, dim = "words/64", 64

    def __init__(self) -> None:
        self.calls, self.error = 0, None

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        self.calls += len(texts)
        if self.error:
            raise self.error
        rows = np.zeros((len(texts), self.dim), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split():
                row[hashlib.sha256(word.encode()).digest()[0] % self.dim] += 1
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def chat(text: str, **more: Any) -> dict[str, Any]:
    """An OpenAI chat body."""
    return {"model": "m", "messages": [{"role": "user", "content": text}], **more}


def chat_answer(text: str) -> dict[str, Any]:
    return {"choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]}


def cassette(*interactions: tuple[Any, Any], uri: str = "https://api.openai.com/v1/chat/completions") -> dict[str, Any]:
    """A vcrpy cassette of (request body, response body) pairs; texts stay texts, other bodies become JSON text."""
    held = [
        {
            "request": {"method": "POST", "uri": uri, "body": a if isinstance(a, str | bytes) else json.dumps(a)},
            "response": {"status": {"code": 200}, "body": {"string": b if isinstance(b, str | bytes) else json.dumps(b)}},
        }
        for a, b in interactions
    ]
    return {"version": 1, "interactions": held}


def sse(*events: Any) -> str:
    return "".join(f"data: {e if isinstance(e, str) else json.dumps(e)}\n\n" for e in events)


def aws_frame(name: str, payload: Any) -> bytes:
    """One frame of an AWS event stream."""
    headers = b"".join(
        bytes([len(k)]) + k.encode() + b"\x07" + struct.pack(">H", len(v)) + v.encode()
        for k, v in {":event-type": name, ":message-type": "event"}.items()
    )
    body = json.dumps(payload).encode()
    total = 16 + len(headers) + len(body)
    prelude = struct.pack(">II", total, len(headers))
    frame = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + body
    return frame + struct.pack(">I", zlib.crc32(frame))
