"""Recordings that the workbench makes by itself, with the truth known (`templates.toml`).

The law: a call carries the instance that it asks for, made of template and values without the volatile parts; an
answer is right for a call exactly where their instances are equal. All chance comes from one seed.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import cycle
from pathlib import Path
from typing import Any

from records.adr_0003.templates import SLOT, Template, templates
from workbench.matching.request import Answer, Message, Part, RecordedRequest, Tool, canonical_json

API = {"api": "openai-chat", "model": "generated-1"}
TOOLS = (
    Tool(
        "look_up",
        "Look up a fact in the company's records.",
        '{"properties":{"what":{"type":"string"}},"type":"object"}',
    ),
    Tool(
        "write_note",
        "Write a note for a colleague.",
        '{"properties":{"text":{"type":"string"}},"type":"object"}',
    ),
)

FAR_WORDS = "quarry meadow lantern orbit velvet harvest copper whisper canyon ribbon magnet puzzle glacier saddle thunder".split()

SAME = ("repeat", "volatile", "surface", "paraphrase")
"""Kinds of calls whose own instance is recorded: the right answer is in the library."""
HARD = (
    "reversed",
    "reordered",
    "negated",
    "operator",
    "number",
    "name",
    "identifier",
    "system",
    "tools",
    "params",
)
"""Kinds that come near a recorded call and ask for something else, or for something that its answer cannot do."""
UNRELATED = "unrelated"
KINDS = (*SAME, *HARD, UNRELATED)

_NUMBERS = ("number", "amount")
_IDENTIFIERS = ("ticket",)
"""Ids that a question is about: part of the instance, and scrubbed all the same."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call with its truth. `near` is the instance that it was made from: for a hard negative, the one it is near."""

    request: RecordedRequest
    answer: Answer
    instance: str
    kind: str
    template: str
    near: str


@dataclass(frozen=True, slots=True)
class Generated:
    """`recorded` fill the library in this order; `asked` are the new calls, in a shuffled order."""

    recorded: tuple[Call, ...]
    asked: tuple[Call, ...]
    seed: int

    @property
    def instances(self) -> frozenset[str]:
        return frozenset(c.instance for c in self.recorded)


def generate(*, seed: int, instances: int = 6, path: Path | None = None) -> Generated:
    """`instances` recorded calls a template, and for each of them one new call of every kind that it can have.

    Of the hard negatives one in three is recorded too, so that its own answer stands beside the one it is near.
    """
    made, data = templates(path)
    rng = random.Random(seed)
    maker = _Maker(data, rng)
    recorded: dict[str, Call] = {}
    asked: list[Call] = []
    for template in made:
        for _ in range(instances):
            values = maker.values(template)
            call = maker.call(template, template.ask, values, "recorded")
            if _scrubbed(call) in recorded:
                continue
            recorded[_scrubbed(call)] = call
            asked += maker.same(template, values, call)
            for hard in maker.hard(template, values, call, made):
                asked.append(hard)
                if hard.kind in ("reversed", "number", "name", "system") and rng.random() < 1 / 3:
                    recorded.setdefault(_scrubbed(hard), replace(hard, kind="recorded"))
    for template in made:
        values = maker.values(template)
        unrelated = maker.call(
            template, _UNRELATED, {}, UNRELATED, instance=f"{UNRELATED}:{template.name}:{values}"
        )
        asked.append(replace(unrelated, near=""))
    rng.shuffle(asked)
    return Generated(tuple(recorded.values()), tuple(_labelled(c, recorded) for c in asked), seed)


def _labelled(call: Call, recorded: Mapping[str, Call]) -> Call:
    """A hard negative that differs from a recorded call in its identifier alone is one of that kind, however made."""
    if call.kind not in HARD:
        return call
    near = recorded.get(_scrubbed(call))
    if near is None or near.instance == call.instance:
        return call
    return replace(call, kind="identifier", near=near.instance)


def recorded_calls(count: int, *, seed: int, path: Path | None = None) -> list[Call]:
    """`count` recorded calls of distinct instances, the templates in turn: filler for a library of any size."""
    made, data = templates(path)
    maker, found = _Maker(data, random.Random(seed)), {}
    for template in cycle(made):
        if len(found) >= count:
            break
        call = maker.call(template, template.ask, maker.values(template), "recorded")
        found.setdefault(call.instance, call)
    return list(found.values())


def long_texts(count: int, *, seed: int) -> list[str]:
    """Distinct texts longer than any token limit here that share hardly a word with the templates: sure misses."""
    rng = random.Random(seed)
    return [f"Case {number}: " + " ".join(rng.choices(FAR_WORDS, k=150)) for number in range(count)]


def _scrubbed(call: Call) -> str:
    """The instance without its identifiers. No two recorded calls share it: they would answer each other by the chance
    of the draw, and the kind `identifier` shows that by itself."""
    name, values = json.loads(call.instance)
    return canonical_json([name, {k: v for k, v in values.items() if k not in _IDENTIFIERS}])


_UNRELATED = "Good evening! Kindly recommend {topic} podcasts for insomniacs, whichever genre fascinates audiences nowadays."


class _Maker:
    """Draws values and fills texts; volatile parts are new in every call."""

    def __init__(self, data: Mapping[str, Any], rng: random.Random) -> None:
        self.pools, self.systems, self.rng = data["pools"], data["systems"], rng

    def values(self, template: Template) -> dict[str, str]:
        """A value for each slot; slots of one pool differ."""
        drawn: dict[str, str] = {}
        for pool, digit in template.slots:
            taken = {v for k, v in drawn.items() if k.rstrip("0123456789") == pool}
            drawn[pool + digit] = self.rng.choice([v for v in self.pools[pool] if v not in taken])
        return drawn

    def fill(self, text: str, values: Mapping[str, str]) -> str:
        def put(found: re.Match[str]) -> str:
            name = found[1] + found[2]
            return values[name] if name in values else self._volatile(found[1])

        return SLOT.sub(put, text)

    def _volatile(self, kind: str) -> str:
        rng = self.rng
        digits = "".join(rng.choices("0123456789abcdef", k=32))
        if kind == "uuid":
            return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
        if kind == "time":
            return f"2026-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}T{rng.randint(0, 23):02}:{rng.randint(0, 59):02}:{rng.randint(0, 59):02}Z"
        if kind == "path":
            return "/tmp/tmp" + "".join(rng.choices("abcdefghijklmnopqrstuvwxyz0123456789_", k=8))
        if kind == "id":
            return (
                "msg_"
                + "".join(rng.choices("abcdefghijkmnpqrstuvwxyz", k=9))
                + rng.choice("0123456789")
            )
        return rng.choice(self.pools[kind])

    def call(
        self,
        template: Template,
        text: str,
        values: Mapping[str, str],
        kind: str,
        *,
        form: str = "",
        instance: str = "",
        **changes: Any,
    ) -> Call:
        system = self.fill(self.systems[template.system], {})
        tools = TOOLS if template.system == "agent" else ()
        request = RecordedRequest(
            (Message("user", (Part("text", self.fill(text, values)),)),), system, tools, API
        )
        instance = instance or canonical_json([template.name + form, dict(sorted(values.items()))])
        answer = Answer(f"The recorded answer to {instance}.", finish="stop")
        return Call(replace(request, **changes), answer, instance, kind, template.name, instance)

    def same(self, template: Template, values: Mapping[str, str], recorded: Call) -> Iterator[Call]:
        yield replace(recorded, kind="repeat")
        yield self.call(template, template.ask, values, "volatile")
        yield self.call(template, _surface(template.ask), values, "surface")
        for paraphrase in template.paraphrases:
            yield self.call(template, paraphrase, values, "paraphrase")

    def hard(
        self,
        template: Template,
        values: Mapping[str, str],
        recorded: Call,
        others: tuple[Template, ...],
    ) -> Iterator[Call]:
        def near(call: Call) -> Call:
            return replace(call, near=recorded.instance)

        for kind, text in template.variants.items():
            yield near(self.call(template, text, values, kind, form="/" + kind))
        if swapped := _swapped(template, values):
            yield near(self.call(template, template.ask, swapped, "reversed"))
        for kind, pools in (
            ("number", _NUMBERS),
            ("name", tuple(p for p in self.pools if p not in (*_NUMBERS, *_IDENTIFIERS))),
            ("identifier", _IDENTIFIERS),
        ):
            if changed := self._changed(template, values, pools):
                yield near(self.call(template, template.ask, changed, kind))
        neighbours = [t for t in others if t.system == template.system and t.name != template.name]
        other = self.rng.choice(neighbours)
        yield near(self.call(other, other.ask, self.values(other), "system"))
        yield from map(near, self._shaped(template, values))

    def _shaped(self, template: Template, values: Mapping[str, str]) -> Iterator[Call]:
        """The same question where the recorded answer cannot be given: a tool less, another model."""
        text = _surface(template.ask)
        if template.system == "agent":
            yield self.call(template, text, values, "tools", form="/tools", tools=TOOLS[1:])
        yield self.call(
            template, text, values, "params", form="/params", params={**API, "model": "generated-2"}
        )

    def _changed(
        self, template: Template, values: Mapping[str, str], pools: tuple[str, ...]
    ) -> dict[str, str] | None:
        """The values with one of these pools' slots given another value; None where there is none."""
        slots = [p + d for p, d in template.slots if p in pools]
        if not slots:
            return None
        slot = self.rng.choice(slots)
        pool = slot.rstrip("0123456789")
        taken = {v for k, v in values.items() if k.rstrip("0123456789") == pool}
        return {**values, slot: self.rng.choice([v for v in self.pools[pool] if v not in taken])}


def _swapped(template: Template, values: Mapping[str, str]) -> dict[str, str] | None:
    """The values of the first pool that has two slots exchanged, where the order means something."""
    for pool, digit in template.slots:
        if digit == "2" and pool in values and template.name not in _SYMMETRIC:
            return {**values, pool: values[pool + "2"], pool + "2": values[pool]}
    return None


_SYMMETRIC = ("product", "distance", "join-order")
"""Templates whose two values of one pool can be exchanged without a change of meaning."""


def _surface(text: str) -> str:
    """The same demand with other white space, sentence marks and case of the first letter."""
    changed = text.replace("? ", "?  ").replace(". ", ".  ").replace(": ", ":  ")
    if changed.endswith(("?", ".")):
        changed = changed[:-1]
    return changed[:1].lower() + changed[1:] if not changed.startswith("{") else changed + " !"
