"""Streamed answers as events: server-sent events (text) and AWS event streams (binary frames)."""

from __future__ import annotations

import json
import struct
import zlib
from typing import Any

from workbench.matching.formats.wire import Event, NotUnderstood, TruncatedStream

PRELUDE = struct.Struct(">III")
"""Total length, length of the headers, CRC32 of these two (AWS event stream encoding)."""

STRING_HEADER = 7
DONE = "[DONE]"


def server_sent(text: str) -> tuple[Event, ...]:
    """The events of a text/event-stream body; comments are skipped. Raises TruncatedStream where data is cut."""
    events: list[Event] = []
    name, data = "", []
    for line in [*text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), ""]:
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            name = value
        elif field == "data":
            data.append(value)
        elif not line:
            if data:
                events.append((name, _data("\n".join(data))))
            name, data = "", []
    return tuple(events)


def _data(text: str) -> Any:
    if text.strip() == DONE:
        return DONE
    try:
        return json.loads(text)
    except ValueError as error:
        raise TruncatedStream(f"an event of the stream is no whole JSON: {error}") from error


def looks_server_sent(text: str) -> bool:
    """Whether a body that is no JSON begins as an event stream does."""
    return text.lstrip().startswith(("data:", "event:", "id:", ":"))


def aws_frames(raw: bytes) -> tuple[Event, ...]:
    """(event type, payload) of every frame. Raises TruncatedStream for a cut frame, NotUnderstood for a bad one."""
    events: list[Event] = []
    at = 0
    while at < len(raw):
        if at + PRELUDE.size > len(raw):
            raise TruncatedStream(f"the event stream is cut at byte {at}")
        total, head, crc = PRELUDE.unpack_from(raw, at)
        if zlib.crc32(raw[at : at + 8]) != crc or total < head + 16:
            raise NotUnderstood(f"the event stream has a damaged frame at byte {at}")
        frame = raw[at : at + total]
        if len(frame) < total:
            raise TruncatedStream(f"the event stream is cut at byte {at}")
        if zlib.crc32(frame[:-4]) != int.from_bytes(frame[-4:], "big"):
            raise NotUnderstood(f"the event stream has a damaged frame at byte {at}")
        headers = _headers(frame[12 : 12 + head], at)
        name = headers.get(":event-type") or headers.get(":exception-type") or ""
        events.append((name, _data(frame[12 + head : -4].decode("utf-8"))))
        at += total
    return tuple(events)


def _headers(raw: bytes, at: int) -> dict[str, str]:
    found, i = {}, 0
    while i < len(raw):
        size = raw[i]
        name, kind = raw[i + 1 : i + 1 + size].decode("utf-8"), raw[i + 1 + size]
        if kind != STRING_HEADER:
            raise NotUnderstood(f"the event stream has a header of type {kind} at byte {at}")
        i += size + 2
        length = int.from_bytes(raw[i : i + 2], "big")
        found[name] = raw[i + 2 : i + 2 + length].decode("utf-8")
        i += 2 + length
    return found
