"""Redaction: secrets and personal addresses leave before anything is stored, hashed or compared.

The rules are data (`data/matching/redaction.toml`, and a project's own behind them); see `rules.py`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from workbench.matching.request import Answer, Message, Part, RecordedRequest, Tool, json_text
from workbench.matching.rules import Rule, RuleSet, Seen, read_rules
from workbench.settings import project_root
from workbench.types import content_hash

FILE = ("data", "matching", "redaction.toml")


@dataclass(frozen=True)
class Redaction:
    """The rules, and the JSON keys whose value is redacted whole."""

    rules: RuleSet
    keys: frozenset[str]
    key_replace: str = "<secret>"

    @property
    def hash(self) -> str:
        return content_hash(self.rules.hash, sorted(self.keys), self.key_replace)

    def text(self, text: str, seen: Seen | None = None) -> str:
        return self.rules.apply(text, seen)

    def json_text(self, text: str, seen: Seen | None = None) -> str:
        """JSON text redacted inside; text that is no JSON is redacted as text."""
        if not self.touches(text):
            return text
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return self.text(text, seen)
        return json_text(self.value(value, seen), ordered=False)

    def value(self, value: Any, seen: Seen | None = None) -> Any:
        """A plain JSON value with every text in it redacted, keys too."""
        if isinstance(value, str):
            return self.text(value, seen)
        if isinstance(value, list | tuple):
            return [self.value(v, seen) for v in value]
        if isinstance(value, dict):
            return {self.text(k, seen): self._under(k, v, seen) for k, v in value.items()}
        return value

    def _under(self, key: str, value: Any, seen: Seen | None) -> Any:
        if isinstance(value, str) and value and _key(key) in self.keys:
            if seen is not None:
                seen.worked["secret key name"] += 1
            return self.key_replace
        return self.value(value, seen)

    def touches(self, text: str) -> bool:
        """False where nothing can be redacted: the cheap test before the walk."""
        if self.rules.touches(text):
            return True
        lower = text.lower().replace("-", "_")
        return any(k in lower for k in self.keys)

    def request(self, request: RecordedRequest, seen: Seen | None = None) -> RecordedRequest:
        """The request with all its texts redacted; the same object where there is nothing to redact."""
        if not self.touches(request.as_json()):
            return request
        seen = Seen() if seen is None else seen
        return RecordedRequest(
            tuple(Message(m.role, tuple(self._part(p, seen) for p in m.parts)) for m in request.messages),
            self.text(request.system, seen),
            tuple(Tool(t.name, self.text(t.description, seen), self.json_text(t.schema, seen)) for t in request.tools),
            self.value(dict(request.params), seen),
        )  # fmt: skip

    def _part(self, part: Part, seen: Seen) -> Part:
        clean = self.json_text if part.kind in ("call", "opaque") else self.text
        return replace(part, text=clean(part.text, seen))

    def answer(self, answer: Answer, seen: Seen | None = None) -> Answer:
        """The answer with its texts, calls and wire form redacted."""
        return replace(
            answer, text=self.text(answer.text, seen), body=self.json_text(answer.body, seen),
            events=self.json_text(answer.events, seen),
            calls=tuple((n, self.json_text(a, seen)) for n, a in answer.calls),
        )  # fmt: skip


def _key(key: str) -> str:
    return key.lower().replace("-", "_")


@cache
def _shipped() -> Redaction:
    rules, other = read_rules(project_root().joinpath(*FILE))
    return Redaction(RuleSet(rules), frozenset(map(_key, other["keys"])), other["key_replace"])


def redaction(key: bytes = b"", more: Sequence[Rule] = ()) -> Redaction:
    """The shipped rules with a project's own at the end; `key` seeds the tags of personal addresses."""
    shipped = _shipped()
    return replace(shipped, rules=shipped.rules.extended(more).keyed(key))
