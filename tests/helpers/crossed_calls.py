"""Recorded conversations with their structure crossed, swapped or dropped, and the search for one that is served wrong.

`attack(requests, count, seed=…)` records all requests, asks `count` changed ones and judges by `meaning`, which shares
no code with the fingerprints.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from helpers.matching import said
from workbench.matching.cascade import ask
from workbench.matching.library import Library
from workbench.matching.request import Message, Part, RecordedRequest, canonical_json


@dataclass
class Found:
    """`asked` changed requests, by `kinds` of change; `served` were answered; `wrong` are (kind, request, entry)."""

    asked: int = 0
    served: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    wrong: list[tuple[str, RecordedRequest, RecordedRequest]] = field(default_factory=list)


def attack(requests: Sequence[RecordedRequest], count: int, *, seed: int) -> Found:
    """Ask `count` requests with a changed structure of a library of all requests."""
    rng, found = random.Random(seed), Found()
    with Library(key=b"0" * 16) as library:
        library.record_many((r, said(str(i)), "", i) for i, r in enumerate(requests))
        while found.asked < count:
            request = library.normal.redaction.request(rng.choice(requests))
            for kind, changed in crossed(request, seed=rng.randrange(1 << 30), count=1):
                outcome = ask(library, changed)
                found.asked += 1
                found.kinds[kind] += 1
                if outcome.served:
                    found.served += 1
                    entry = library.request(outcome.entry_id)
                    if meaning(entry, library) != meaning(changed, library):
                        found.wrong.append((kind, changed, entry))
    return found


def meaning(request: RecordedRequest, library: Library) -> str:
    """The whole request as text: ids by the call that they name, volatile values scrubbed, nothing else forgiven."""
    ids: dict[str, int] = {}
    scrub = library.normal.scrubbing.apply
    turns = [[m.role, [[p.kind, p.name, ids.setdefault(p.id, len(ids)) if p.id else "", " ".join(scrub(p.text).split()).casefold()]
                       for p in m.parts]] for m in request.messages]  # fmt: skip
    tools = sorted([t.name, " ".join(t.description.split()), t.schema] for t in request.tools)
    kept = {k: v for k, v in request.params.items() if k in library.settings.include_params}
    return canonical_json([" ".join(scrub(request.system).split()).casefold(), turns, tools, kept])


def crossed(request: RecordedRequest, *, seed: int, count: int) -> Iterator[tuple[str, RecordedRequest]]:
    """At most `count` (kind, request), each changed in one place; kinds that have no place in it are left out."""
    rng = random.Random(seed)
    for _ in range(count * 20):
        if count == 0:
            return
        kind = rng.choice(list(CHANGES))
        changed = CHANGES[kind](request, rng)
        if changed is not None and changed != request:
            count -= 1
            yield kind, changed


def _two(items: Sequence[Any], rng: random.Random) -> tuple[int, int] | None:
    return tuple(rng.sample(range(len(items)), 2)) if len(items) > 1 else None


def _swapped(items: Sequence[Any], pair: tuple[int, int]) -> tuple[Any, ...]:
    out = list(items)
    out[pair[0]], out[pair[1]] = out[pair[1]], out[pair[0]]
    return tuple(out)


def _at(request: RecordedRequest, number: int, parts: Sequence[Part], role: str = "") -> RecordedRequest:
    turns = list(request.messages)
    turns[number] = Message(role or turns[number].role, tuple(parts))
    return replace(request, messages=tuple(turns))


def _places(request: RecordedRequest, wanted: Callable[[Part], bool]) -> list[tuple[int, int, Part]]:
    return [(n, i, p) for n, m in enumerate(request.messages) for i, p in enumerate(m.parts) if wanted(p)]


def _swap_messages(request: RecordedRequest, rng: random.Random) -> RecordedRequest | None:
    pair = _two(request.messages, rng)
    return pair and replace(request, messages=_swapped(request.messages, pair))


def _drop_message(request: RecordedRequest, rng: random.Random) -> RecordedRequest | None:
    turns, n = request.messages, rng.randrange(len(request.messages))
    return replace(request, messages=turns[:n] + turns[n + 1 :]) if len(turns) > 1 else None


def _other_role(request: RecordedRequest, rng: random.Random) -> RecordedRequest:
    n = rng.randrange(len(request.messages))
    turn = request.messages[n]
    return _at(request, n, turn.parts, rng.choice([r for r in ("user", "assistant", "tool", "system") if r != turn.role]))


def _swap_parts(request: RecordedRequest, rng: random.Random) -> RecordedRequest | None:
    n = rng.randrange(len(request.messages))
    pair = _two(request.messages[n].parts, rng)
    return pair and _at(request, n, _swapped(request.messages[n].parts, pair))


def _drop_part(request: RecordedRequest, rng: random.Random) -> RecordedRequest | None:
    n, i, _ = rng.choice(_places(request, lambda p: True))
    parts = request.messages[n].parts
    return _at(request, n, parts[:i] + parts[i + 1 :]) if len(parts) > 1 else None


def _move_part(request: RecordedRequest, rng: random.Random) -> RecordedRequest | None:
    n = rng.randrange(len(request.messages))
    parts = request.messages[n].parts
    if n == 0 or len(parts) < 2:
        return None
    return _at(_at(request, n, parts[1:]), n - 1, (*request.messages[n - 1].parts, parts[0]))


def _cross(names: str):
    """Two parts exchange what `names` names: ids, texts, names."""

    def change(request: RecordedRequest, rng: random.Random) -> RecordedRequest | None:
        kinds = ("result",) if names == "id" else ("call", "result", "text", "media")
        found = _places(request, lambda p: p.kind in kinds and bool(getattr(p, names)))
        pair = _two(found, rng)
        if not pair:
            return None
        (n, i, p), (m, j, q) = found[pair[0]], found[pair[1]]
        if p.kind != q.kind or getattr(p, names) == getattr(q, names):
            return None
        for number, place, value in ((n, i, replace(p, **{names: getattr(q, names)})), (m, j, replace(q, **{names: getattr(p, names)}))):
            parts = list(request.messages[number].parts)
            parts[place] = value
            request = _at(request, number, parts)
        return request

    return change


def _word_over_the_border(request: RecordedRequest, rng: random.Random) -> RecordedRequest | None:
    """The last word of a text becomes the first of the next one."""
    found = _places(request, lambda p: p.kind in ("text", "result") and len(p.text.split()) > 1 and p.text[:1] not in "[{")
    start = rng.randrange(len(found)) if len(found) > 1 else 0
    if len(found) < 2 or start == len(found) - 1:
        return None
    (n, i, p), (m, j, q) = found[start], found[start + 1]
    *head, last = p.text.split(" ")
    if not last.isalnum():
        return None
    for number, place, part in ((n, i, replace(p, text=" ".join(head))), (m, j, replace(q, text=f"{last} {q.text}"))):
        parts = list(request.messages[number].parts)
        parts[place] = part
        request = _at(request, number, parts)
    return request


def _other_kind(request: RecordedRequest, rng: random.Random) -> RecordedRequest | None:
    found = _places(request, lambda p: p.kind in ("text", "reasoning") and bool(p.text))
    if not found:
        return None
    n, i, p = rng.choice(found)
    parts = list(request.messages[n].parts)
    parts[i] = replace(p, kind="reasoning" if p.kind == "text" else "text")
    return _at(request, n, parts)


def _drop_tool(request: RecordedRequest, rng: random.Random) -> RecordedRequest | None:
    n = rng.randrange(len(request.tools)) if request.tools else 0
    return replace(request, tools=request.tools[:n] + request.tools[n + 1 :]) if request.tools else None


CHANGES: dict[str, Callable[[RecordedRequest, random.Random], RecordedRequest | None]] = {
    "messages swapped": _swap_messages, "message dropped": _drop_message, "another role": _other_role,
    "parts swapped": _swap_parts, "part dropped": _drop_part, "part in the message before": _move_part,
    "ids crossed": _cross("id"), "texts crossed": _cross("text"), "names crossed": _cross("name"),
    "word over the border": _word_over_the_border, "thought or text": _other_kind, "tool dropped": _drop_tool,
}  # fmt: skip


def _two_calls(crossed: str, word: str) -> tuple[tuple[str, str], tuple[str, str]]:
    """(id, text) of the two results, in their order."""
    results = (("c1", word), ("c2", "rain and wind"))
    if crossed == "ids":
        return (("c2", word), ("c1", "rain and wind"))
    return (("c1", "rain and wind"), ("c2", word)) if crossed == "texts" else results


def _chat(crossed: str = "", word: str = "sunny") -> dict[str, Any]:
    calls = [{"id": i, "type": "function", "function": {"name": "weather", "arguments": f'{{"city":"{c}"}}'}} for i, c in (("c1", "Rome"), ("c2", "Oslo"))]
    results = [{"role": "tool", "tool_call_id": i, "content": t} for i, t in _two_calls(crossed, word)]
    return {"model": "m", "messages": [{"role": "user", "content": "Weather in Rome and Oslo?"}, {"role": "assistant", "tool_calls": calls}, *results]}


def _responses(crossed: str = "", word: str = "sunny") -> dict[str, Any]:
    calls = [{"type": "function_call", "call_id": i, "name": "weather", "arguments": f'{{"city":"{c}"}}'} for i, c in (("c1", "Rome"), ("c2", "Oslo"))]
    results = [{"type": "function_call_output", "call_id": i, "output": t} for i, t in _two_calls(crossed, word)]
    return {"model": "m", "input": [{"role": "user", "content": "Weather in Rome and Oslo?"}, *calls, *results]}


def _anthropic(crossed: str = "", word: str = "sunny") -> dict[str, Any]:
    calls = [{"type": "tool_use", "id": i, "name": "weather", "input": {"city": c}} for i, c in (("c1", "Rome"), ("c2", "Oslo"))]
    results = [{"type": "tool_result", "tool_use_id": i, "content": t} for i, t in _two_calls(crossed, word)]
    turns = [{"role": "user", "content": "Weather in Rome and Oslo?"}, {"role": "assistant", "content": calls}, {"role": "user", "content": results}]
    return {"model": "m", "max_tokens": 9, "messages": turns}


def _gemini(crossed: str = "", word: str = "sunny") -> dict[str, Any]:
    calls = [{"functionCall": {"id": i, "name": "weather", "args": {"city": c}}} for i, c in (("c1", "Rome"), ("c2", "Oslo"))]
    results = [{"functionResponse": {"id": i, "name": "weather", "response": {"said": t}}} for i, t in _two_calls(crossed, word)]
    return {"contents": [{"role": "user", "parts": [{"text": "Weather in Rome and Oslo?"}]}, {"role": "model", "parts": calls}, {"role": "user", "parts": results}]}


def _bedrock(crossed: str = "", word: str = "sunny") -> dict[str, Any]:
    calls = [{"toolUse": {"toolUseId": i, "name": "weather", "input": {"city": c}}} for i, c in (("c1", "Rome"), ("c2", "Oslo"))]
    results = [{"toolResult": {"toolUseId": i, "content": [{"text": t}]}} for i, t in _two_calls(crossed, word)]
    return {"messages": [{"role": "user", "content": [{"text": "Weather in Rome and Oslo?"}]}, {"role": "assistant", "content": calls}, {"role": "user", "content": results}]}


FORMS: dict[str, tuple[str, Callable[..., dict[str, Any]]]] = {
    "openai-chat": ("https://localhost/v1/chat/completions", _chat),
    "openai-responses": ("https://localhost/v1/responses", _responses),
    "anthropic": ("https://localhost/v1/messages", _anthropic),
    "gemini": ("https://localhost/v1beta/models/g:generateContent", _gemini),
    "bedrock": ("https://localhost/model/m/converse", _bedrock),
}
"""(address, body(crossed="" | "ids" | "texts", word=…)) of one conversation with two calls and their results."""
