"""Why a candidate was not served: each condition of shape and each gate, met or broken, and what differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.matching.fingerprint import Prepared
from workbench.matching.library import Library
from workbench.matching.queue import Candidate
from workbench.matching.request import canonical_json
from workbench.matching.similarity import GATES


@dataclass(frozen=True, slots=True)
class Condition:
    """`detail` says what differs, in words; "" where nothing does."""

    name: str
    met: bool
    detail: str = ""


def conditions(library: Library, found: Candidate) -> list[Condition]:
    """The conditions that the candidate's two requests meet or break today, shape first, then the project's gates."""
    ask = library.normal.prepare(library.request(found.request_id))
    entry = library.normal.prepare(library.request(found.entry_id))
    told = {
        "speakers": (ask.speakers == entry.speakers, f"{ask.speakers} / {entry.speakers}"),
        "tools": (ask.tools == entry.tools, _tools(ask, entry)),
        "params": (
            canonical_json(ask.params) == canonical_json(entry.params),
            _params(ask.params, entry.params),
        ),
        "attachments": (
            ask.attachments == entry.attachments,
            f"{len(ask.attachments)} / {len(entry.attachments)}",
        ),
        "structure": (ask.structure == entry.structure, _structure(ask, entry)),
    }
    shape = [Condition(name, met, "" if met else detail) for name, (met, detail) in told.items()]
    return shape + [_gate(name, ask, entry) for name in library.settings.gates]


def _gate(name: str, ask: Prepared, entry: Prepared) -> Condition:
    met = GATES[name](ask.compared, entry.compared)
    detail = f"{ask.compared.marks} / {entry.compared.marks}" if name == "same_marks" and not met else ""
    return Condition(name, met, detail)


def _structure(ask: Prepared, entry: Prepared) -> str:
    """The first message whose parts differ; the system text is number 0."""
    pairs = enumerate(zip(ask.structure, entry.structure, strict=False))
    number = next((n for n, (a, b) in pairs if a != b), min(len(ask.structure), len(entry.structure)))
    return f"parts, calls or results of message {number}"


def _tools(ask: Prepared, entry: Prepared) -> str:
    mine, theirs = Counter(t[0] for t in ask.tools), Counter(t[0] for t in entry.tools)
    if mine == theirs:
        return "the same names, another definition"
    more, less = ", ".join(sorted(mine - theirs)), ", ".join(sorted(theirs - mine))
    return "; ".join(
        filter(None, (f"only asked: {more}" if more else "", f"only recorded: {less}" if less else ""))
    )


def _params(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> str:
    names = [n for n in sorted({*mine, *theirs}) if mine.get(n) != theirs.get(n)]
    return "; ".join(f"{n}: {canonical_json(mine.get(n))} / {canonical_json(theirs.get(n))}" for n in names)
