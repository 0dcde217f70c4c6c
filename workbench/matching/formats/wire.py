"""One recorded HTTP exchange, decoded as far as JSON, and what every body format is built of."""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote, urlsplit

from workbench.matching.request import Answer, Message, Part, RecordedRequest, canonical_json
from workbench.matching.rules import CleanError

# ---- One recorded HTTP exchange, decoded as far as JSON, and what every body format is buil ----


class NotUnderstood(CleanError):
    """A body that its format does not explain: listed, never guessed."""


class TruncatedStream(NotUnderstood):
    """A streamed answer without its last event."""


Event = tuple[str, Any]
"""(event name or "", decoded JSON data) of a streamed answer."""


@dataclass(frozen=True, slots=True)
class Wire:
    """A request as it went over the wire, and its answer: `body` of a whole one, or the `events` of a streamed one."""

    method: str
    uri: str
    request: Mapping[str, Any]
    status: int = 200
    body: Any = None
    events: tuple[Event, ...] | None = None

    @property
    def path(self) -> str:
        return unquote(urlsplit(self.uri).path)

    @property
    def host(self) -> str:
        return urlsplit(self.uri).hostname or ""


@dataclass(frozen=True, slots=True)
class Format:
    """How one API's bodies are read. `claims` looks at the address and the body's own keys only."""

    name: str
    claims: Callable[[Wire], bool]
    request: Callable[[Wire], RecordedRequest]
    answer: Callable[[Mapping[str, Any]], Answer]
    streamed: Callable[[Sequence[Event]], Answer]


@dataclass(slots=True)
class Turns:
    """Collects messages; system texts that come before any message become the system text."""

    system: list[str] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)

    def add(self, role: str, parts: Sequence[Part], *, join: bool = False) -> None:
        """Add a message. `join` puts the parts into the message before, if it has the same role."""
        if not parts:
            return
        if role == "system" and not self.messages and all(p.kind == "text" for p in parts):
            self.system += [p.text for p in parts]
        elif join and self.messages and self.messages[-1].role == role:
            self.messages[-1] = Message(role, (*self.messages[-1].parts, *parts))
        else:
            self.messages.append(Message(role, tuple(parts)))

    def request(
        self, tools: Sequence[Any], params: Mapping[str, Any], state: Mapping[str, Any]
    ) -> RecordedRequest:
        """The finished request; `state` names what the provider keeps and the body only points to."""
        kept = [opaque(k, v) for k, v in state.items() if v is not None]
        messages = ([Message("context", tuple(kept))] if kept else []) + self.messages
        if not messages:
            raise NotUnderstood("a request without messages")
        return RecordedRequest(tuple(messages), "\n\n".join(self.system), tuple(tools), params)


def text_of(value: Any) -> str:
    """A text; null is the empty one. Raises NotUnderstood for anything else."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise NotUnderstood(f"a text was expected, not {type(value).__name__}")
    return value


def json_of(value: Any) -> str:
    """Canonical JSON of a value, or of the JSON that a text holds; a text that is no JSON stays as it is."""
    if isinstance(value, str):
        try:
            return canonical_json(json.loads(value)) if value.strip() else ""
        except (ValueError, RecursionError):
            return value
    return "" if value is None else canonical_json(value)


def opaque(name: str, value: Any) -> Part:
    return Part("opaque", canonical_json(value), name)


def media(
    media_type: str,
    *,
    data: str | bytes | None = None,
    address: str | None = None,
    more: Mapping[str, Any] = MappingProxyType({}),
) -> Part:
    """An attachment by the sha256 of its encoded data, or by its address; a data: address is data. `more`: what the
    model is given beside it (a title, a level of detail)."""
    beside = f" {canonical_json(more)}" if more else ""
    if data is None and address and address.startswith("data:"):
        head, _, data = address.partition(",")
        media_type = head[5:].split(";")[0] or media_type
    if data is None:
        return Part("media", text_of(address) + beside, media_type)
    raw = data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass")
    return Part("media", "sha256:" + hashlib.sha256(raw).hexdigest() + beside, media_type)


def rest(data: Mapping[str, Any], *without: str) -> dict[str, Any]:
    """The entries that are not null and not named."""
    return {k: v for k, v in data.items() if v is not None and k not in without}


def renamed(data: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """The entries that are not null, those in `names` under their common name."""
    return {names.get(k, k): v for k, v in data.items() if v is not None}


def number_or_none(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


# ---- Streamed answers as events: server-sent events (text) and AWS event streams (binary fr ----

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
