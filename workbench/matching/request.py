"""A model call as the matcher sees it, whatever wire format it came in: value objects and their JSON form.

The law: two wire bodies that mean the same call become equal objects. What a format has and this vocabulary does
not is kept as an `opaque` part, which must be equal to be served; nothing is guessed and nothing is dropped but
provider signatures (they prove a text's origin and say nothing).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

Role = Literal["user", "assistant", "tool", "system", "context"]
"""`context` is state that the provider keeps (an earlier response's id, a cached prompt): named, never guessed."""

Kind = Literal["text", "reasoning", "call", "result", "media", "opaque"]
ATTACHED: frozenset[str] = frozenset({"media", "opaque"})
"""Kinds that no word shows: an answer is served only where they are equal."""

_ENCODERS = {
    (ordered, ascii_only): json.JSONEncoder(
        sort_keys=ordered, separators=(",", ":"), ensure_ascii=ascii_only
    )
    for ordered in (True, False)
    for ascii_only in (True, False)
}


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and no white space; whole floats are written as integers (1.0 is 1)."""
    return json_text(_whole(value))


def json_text(value: Any, *, ordered: bool = True) -> str:
    """JSON without white space that UTF-8 can carry: a lone surrogate stays as its escape. `ordered` sorts keys."""
    text = _ENCODERS[ordered, False].encode(value)
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            return _ENCODERS[ordered, True].encode(value)
    return text


def _whole(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {str(k): _whole(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_whole(v) for v in value]
    return value


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of a message.

    `text`: the text; a call's arguments as canonical JSON; a result's text; a medium's sha256 or address; an opaque
    part's canonical JSON. `name`: the tool's, the media type, or the opaque type. `id`: ties a result to its call.
    """

    kind: Kind
    text: str = ""
    name: str = ""
    id: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    role: Role
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """What a reader sees of it: texts, calls and results, one a line; attachments are not text."""
        return "\n".join(filter(None, (_readable(p) for p in self.parts)))


def _readable(part: Part) -> str:
    if part.kind in ATTACHED:
        return ""
    return f"{part.name} {part.text}".strip() if part.kind == "call" else part.text


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that is offered. `schema` is canonical JSON of its parameters and of whatever else defines it."""

    name: str
    description: str = ""
    schema: str = ""


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A whole request. `params` holds everything else of the body under the names of `formats`; absent and null
    are the same. System texts that stand first are `system`; later ones are messages."""

    messages: tuple[Message, ...]
    system: str = ""
    tools: tuple[Tool, ...] = ()
    params: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known = {k: _whole(v) for k, v in self.params.items() if v is not None}
        object.__setattr__(self, "params", MappingProxyType(known))

    def __hash__(self) -> int:
        return hash(self.as_json())

    @property
    def api(self) -> str:
        return str(self.params.get("api", ""))

    def tail(self, tail_n: int | None) -> tuple[Message, ...]:
        """The messages that are compared: the last `tail_n`, all of them for None. The system text always is."""
        return self.messages if tail_n is None else self.messages[-tail_n:]

    def as_json(self) -> str:
        """The exact form: everything as it was sent, keys sorted; messages and tools in their order."""
        messages = [
            [m.role, [[p.kind, p.name, p.id, p.text] for p in m.parts]] for m in self.messages
        ]
        tools = [[t.name, t.description, t.schema] for t in self.tools]
        return json_text([self.system, messages, tools, dict(self.params)])

    @classmethod
    def from_json(cls, text: str) -> RecordedRequest:
        system, messages, tools, params = json.loads(text)
        return cls(
            tuple(
                Message(r, tuple(Part(k, t, n, i) for k, n, i, t in parts)) for r, parts in messages
            ),
            system,
            tuple(Tool(*t) for t in tools),
            params,
        )

    def last_text(self) -> str:
        """The text of the last message that has any: what the embedding tier embeds (ADR-0003, SEM-E8)."""
        return next((text for m in reversed(self.messages) if (text := m.text).strip()), "")

    def attachments(self, tail_n: int | None = None) -> tuple[tuple[str, str, str], ...]:
        """(kind, name, text) of everything in the compared messages that no word shows, in order."""
        return tuple(
            (p.kind, p.name, p.text)
            for m in self.tail(tail_n)
            for p in m.parts
            if p.kind in ATTACHED
        )

    def speakers(self, tail_n: int | None = None) -> tuple[str, ...]:
        """The roles in order, of the system text (if any) and of the compared messages."""
        return (*(("system",) if self.system else ()), *(m.role for m in self.tail(tail_n)))


@dataclass(frozen=True, slots=True)
class Answer:
    """What was recorded for a request: readable text, tool calls as (name, arguments), and the wire form.

    Exactly one of `body` (the whole answer as JSON text) and `events` (the streamed answer as a JSON list of events)
    is filled by the readers. `created` is the provider's own time in seconds since 1970, None where it has none.
    """

    text: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    finish: str = ""
    body: str = ""
    events: str = ""
    created: float | None = None

    @property
    def meaning(self) -> str:
        """Canonical JSON of text and calls: equal for answers that say the same."""
        return canonical_json([self.text, [list(c) for c in self.calls]])


def plain(
    text: str, *, system: str = "", answer_to: Iterable[tuple[str, str]] = (), **params: Any
) -> RecordedRequest:
    """A request of one user message; `answer_to` are earlier (role, text) turns. For notebooks, tests, commands."""
    turns = [Message(role, (Part("text", said),)) for role, said in answer_to]
    return RecordedRequest((*turns, Message("user", (Part("text", text),))), system, (), params)
