"""What a request is compared by: exact and normalised fingerprint, words, speakers, shape; each computed once.

exact: sha256 of the whole redacted request as it was sent (keys sorted).
normalised: sha256 of the compared part: texts scrubbed with white space collapsed, tools sorted, call ids replaced by
the order of their first appearance, and of the parameters only those in `include_params`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from workbench.matching.redaction import Redaction
from workbench.matching.request import ATTACHED, Part, RecordedRequest, canonical_json
from workbench.matching.rules import RuleSet, Seen
from workbench.matching.scrubbing import normal_text
from workbench.matching.similarity import Compared, marks
from workbench.text import DEFAULT, well_formed
from workbench.types import content_hash

INCLUDE_PARAMS = ("api", "model", "stream", "tool_choice", "response_format")
"""Parameters whose values must be equal: the ADR leaves the list to the project. `api` and `stream` are the wire
form that a client can read; the others change what a right answer is."""
EVERY_PARAM = "*"
"""In `include_params`: all parameters of the request must be equal."""


@dataclass(frozen=True)
class Normal:
    """How requests of one project are made comparable; every stored fingerprint is made by one of these."""

    redaction: Redaction
    scrubbing: RuleSet
    include_params: tuple[str, ...] = INCLUDE_PARAMS
    tail_n: int | None = None

    @property
    def hash(self) -> str:
        return content_hash(
            self.redaction.hash, self.scrubbing.hash, sorted(self.include_params), self.tail_n
        )

    def prepare(self, request: RecordedRequest) -> Prepared:
        """The request redacted, ready to be looked up."""
        return Prepared(self.redaction.request(request), self)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Prepared:
    """A redacted request and, each computed when first asked for, what the tiers compare."""

    def __init__(self, request: RecordedRequest, normal: Normal) -> None:
        self.request, self.normal = request, normal

    @cached_property
    def exact(self) -> str:
        return digest(self.request.as_json())

    @cached_property
    def normalised(self) -> str:
        return digest(canonical_json([self._system, self._messages, self.tools, self.params]))

    @cached_property
    def speakers(self) -> str:
        """Roles in order joined by blanks: equal for conversations with the same speakers in the same order."""
        return " ".join(self.request.speakers(self.normal.tail_n))

    @cached_property
    def tools(self) -> tuple[tuple[str, str, str], ...]:
        """(name, description, schema) of the offered tools with white space collapsed, in sorted order."""
        return tuple(sorted((t.name, " ".join(t.description.split()), t.schema) for t in self.request.tools))

    @cached_property
    def params(self) -> dict[str, Any]:
        """The parameters that must be equal, those that are absent left out."""
        if EVERY_PARAM in self.normal.include_params:
            return dict(self.request.params)
        return {k: self.request.params[k] for k in self.normal.include_params if k in self.request.params}

    @cached_property
    def attachments(self) -> tuple[tuple[str, str, str], ...]:
        return self.request.attachments(self.normal.tail_n)

    @cached_property
    def shape(self) -> dict[str, str]:
        """Short digests of what must be equal beside the words, by the name of the condition."""
        parts = {
            "speakers": self.speakers,
            "tools": self.tools,
            "params": self.params,
            "attachments": self.attachments,
        }
        return {name: digest(canonical_json(value))[:16] for name, value in parts.items()}

    @cached_property
    def compared(self) -> Compared:
        """Words and marks of system text and compared messages in order, scrubbed; words folded, stop words kept."""
        return compared([self._system, *(
            t for _, parts in self._messages for kind, name, _, text in parts if kind not in ATTACHED for t in (name, text)
        )])  # fmt: skip

    @property
    def words(self) -> tuple[str, ...]:
        return self.compared.words

    @cached_property
    def last(self) -> str:
        """The last message with text, scrubbed: what is embedded."""
        return well_formed(normal_text(self.normal.scrubbing, self.request.last_text(), Seen()))

    @cached_property
    def _compared(self) -> tuple[str, list[list[Any]]]:
        seen, calls = Seen(), {}
        system = normal_text(self.normal.scrubbing, self.request.system, seen)
        messages = [
            [m.role, [self._normal_part(p, seen, calls) for p in m.parts]]
            for m in self.request.tail(self.normal.tail_n)
        ]
        return system, messages

    @property
    def _system(self) -> str:
        return self._compared[0]

    @property
    def _messages(self) -> list[list[Any]]:
        return self._compared[1]

    def _normal_part(self, part: Part, seen: Seen, calls: dict[str, int]) -> list[Any]:
        # An attachment's address or digest is what it is; no rule may make two of them equal.
        text = part.text if part.kind in ATTACHED else self._normal_text(part, seen)
        number = calls.setdefault(part.id, len(calls) + 1) if part.id else 0
        return [part.kind, part.name, number, text]

    def _normal_text(self, part: Part, seen: Seen) -> str:
        return normal_text(self.normal.scrubbing, part.text, seen)


def shape_differences(one: Mapping[str, str], other: Mapping[str, str]) -> tuple[str, ...]:
    """The names of the conditions that two shapes don't share, in the order in which they are stated."""
    return tuple(name for name in one if one[name] != other.get(name))


def shape_text(shape: Mapping[str, str]) -> str:
    return json.dumps(dict(shape))


def compared(texts: Sequence[str]) -> Compared:
    """The words and marks of scrubbed texts."""
    found = "".join(m for t in texts for m in marks(t))
    return Compared(tuple(w for t in texts for w in DEFAULT.words(t)), well_formed(found))


def words_text(words: Sequence[str]) -> str:
    """Words as they are stored and indexed: joined by one blank."""
    return " ".join(words)


def text_words(text: str) -> tuple[str, ...]:
    """The words back from their stored form."""
    return tuple(text.split(" ")) if text else ()
