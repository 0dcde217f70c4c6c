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

from workbench.matching.request import ATTACHED, Part, RecordedRequest, canonical_json
from workbench.matching.rules import Redaction, RuleSet, Seen, normal_text
from workbench.matching.similarity import Compared, marks
from workbench.text import DEFAULT, well_formed
from workbench.types import content_hash

INCLUDE_PARAMS = ("api", "model", "stream", "tool_choice", "response_format")
"""Parameters whose values must be equal: the ADR leaves the list to the project. `api` and `stream` are the wire
form that a client can read; the others change what a right answer is."""
FORM = 2
"""Counts the changes of what is derived here, so that older files are derived anew."""
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
            FORM, self.redaction.hash, self.scrubbing.hash, sorted(self.include_params), self.tail_n
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
        return tuple(
            sorted((t.name, " ".join(t.description.split()), t.schema) for t in self.request.tools)
        )

    @cached_property
    def params(self) -> dict[str, Any]:
        """The parameters that must be equal, those that are absent left out."""
        if EVERY_PARAM in self.normal.include_params:
            return dict(self.request.params)
        return {
            k: self.request.params[k]
            for k in self.normal.include_params
            if k in self.request.params
        }

    @cached_property
    def attachments(self) -> tuple[tuple[int, int, str, str, str], ...]:
        """(message, place in it, kind, name, text) of everything in the compared messages that no word shows."""
        return tuple(
            (number, place, p.kind, p.name, p.text)
            for number, m in enumerate(self.request.tail(self.normal.tail_n))
            for place, p in enumerate(m.parts)
            if p.kind in ATTACHED
        )

    @cached_property
    def shape(self) -> dict[str, str]:
        """Short digests of what must be equal beside the words, by the name of the condition."""
        parts = {
            "speakers": self.speakers,
            "tools": self.tools,
            "params": self.params,
            "attachments": self.attachments,
            "structure": self.structure,
        }
        return {name: digest(canonical_json(value))[:16] for name, value in parts.items()}

    @cached_property
    def structure(self) -> list[list[Any]]:
        """What words do not show: for each message its role and its readable parts with kind, name, the call that an id ties
        them to, and indentation; calls and results with what they say, so that no result is another call's."""
        return [
            [
                role,
                [
                    [kind, name, number, _data(text) if kind in DATA else "", indents]
                    for kind, name, number, text, indents in parts
                    if kind not in ATTACHED
                ],
            ]
            for role, parts in [
                ["system", [["text", "", 0, self._system, indents_of(self.request.system)]]],
                *self._messages,
            ]
        ]

    @cached_property
    def compared(self) -> Compared:
        """Words and marks of system text and compared messages in order, scrubbed; words folded, stop words kept."""
        return compared(
            [
                self._system,
                *(
                    f"{name}\n{text}"
                    for _, parts in self._messages
                    for kind, name, _, text, _ in parts
                    if kind not in ATTACHED
                ),
            ]
        )

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
        # The id comes first: a text that names it later means this one, and no other that looks like it.
        self.normal.scrubbing.apply(part.id, seen)
        text = part.text if part.kind in ATTACHED else self._normal_text(part, seen)
        number = calls.setdefault(part.id, len(calls) + 1) if part.id else 0
        indents = [] if part.kind in ATTACHED else indents_of(part.text)
        return [part.kind, part.name, number, text, indents]

    def _normal_text(self, part: Part, seen: Seen) -> str:
        return normal_text(self.normal.scrubbing, part.text, seen)


DATA = frozenset({"call", "result"})
"""Kinds of parts that hold data: other data has another answer, whatever words it shares."""


def _data(text: str) -> str:
    """JSON as it is; of any other text the words."""
    return text if text[:1] in ("{", "[") else words_text(DEFAULT.words(text))


def indents_of(text: str) -> list[int]:
    """How far the lines that are not blank are indented beyond the least; [] where all are alike."""
    if "\n" not in text:
        return []
    lines = [line.expandtabs() for line in text.splitlines() if line.strip()]
    widths = [len(line) - len(line.lstrip()) for line in lines]
    least = min(widths, default=0)
    return [w - least for w in widths] if any(w > least for w in widths) else []


def shape_differences(one: Mapping[str, str], other: Mapping[str, str]) -> tuple[str, ...]:
    """The names of the conditions that two shapes don't share, in the order in which they are stated."""
    return tuple(name for name in one if one[name] != other.get(name))


def shape_text(shape: Mapping[str, str]) -> str:
    return json.dumps(dict(shape))


def compared(texts: Sequence[str]) -> Compared:
    """The words and marks of scrubbed texts."""
    found, words = "".join(m for t in texts for m in marks(t)), [DEFAULT.words(t) for t in texts]
    return Compared(
        tuple(w for some in words for w in some), well_formed(found), tuple(map(len, words))
    )


def words_text(words: Sequence[str]) -> str:
    """Words as they are stored and indexed: joined by one blank."""
    return " ".join(words)


def text_words(text: str) -> tuple[str, ...]:
    """The words back from their stored form."""
    return tuple(text.split(" ")) if text else ()
