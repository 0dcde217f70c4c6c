"""The review queue: what came near waits for a person, once, and what the person says holds for good.

States: open → approved | rejected | superseded (another one was approved) | answered (the request was recorded).
An approval can be taken back by a rejection; a rejection never. Every decision is one transaction, and decides what
it found: of two reviewers at once the second is told that it is too late (ADR-0003, SEM-E6).
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.errors import WorkbenchError
from workbench.matching import schema as entries
from workbench.matching.fingerprint import Prepared
from workbench.matching.library import Library
from workbench.matching.request import canonical_json
from workbench.matching.schema import transaction
from workbench.matching.similarity import GATES

if TYPE_CHECKING:
    from workbench.matching.tiers import Proposal

# ---- The review queue: what came near waits for a person, once, and what the person says ho ----

STATES = ("open", "approved", "rejected", "superseded", "answered")

_SELECT = """SELECT id, request_id, entry_id, tier, score, broken, state, created, decided, decided_by FROM candidates"""


class NoCandidate(WorkbenchError):
    """No candidate has that number."""


class AlreadyDecided(WorkbenchError):
    """The candidate is no longer open; nothing was changed."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A missed request beside an entry that came near. `broken`: the conditions that kept it from being served."""

    id: int
    request_id: int
    entry_id: int
    tier: str
    score: float
    broken: tuple[str, ...]
    state: str
    created: float
    decided: float | None
    decided_by: str | None


def add_candidates(
    library: Library, ask: Prepared, near: Sequence[tuple[str, Proposal]], at: float
) -> tuple[int, ...]:
    """Inside a transaction: queue proposals of a missed request; the ids of those that wait because of this call.

    At most `max_candidates` a request, counted over all states and over all requests that are equal after
    scrubbing; never a pair twice. `near` is (tier, proposal) in the order of the tiers, each best first.
    """
    held = library.db.execute(
        "SELECT c.entry_id FROM fingerprints f JOIN candidates c ON c.request_id = f.request_id WHERE f.normalised = ?",
        (ask.normalised,),
    ).fetchall()
    taken = {row[0] for row in held}
    new: dict[int, tuple[str, Proposal]] = {}
    for tier, proposal in near:
        if (
            len(taken) + len(new) < library.settings.max_candidates
            and proposal.entry_id not in taken
        ):
            new.setdefault(proposal.entry_id, (tier, proposal))
    if not new:
        return ()
    request_id = _missed(library, ask)
    return tuple(
        library.db.execute(
            "INSERT INTO candidates(request_id, entry_id, tier, score, broken, state, created) VALUES (?, ?, ?, ?, ?, 'open', ?)",
            (request_id, entry, tier, proposal.score, json.dumps(proposal.broken), at),
        ).lastrowid
        for entry, (tier, proposal) in new.items()
    )


def _missed(library: Library, ask: Prepared) -> int:
    """The row of the missed request: the first one that is equal after scrubbing, else a new one."""
    row = library.db.execute(
        "SELECT f.request_id FROM fingerprints f JOIN requests r ON r.id = f.request_id "
        "WHERE f.normalised = ? AND r.answered = 0 ORDER BY f.request_id LIMIT 1",
        (ask.normalised,),
    ).fetchone()
    return (
        row[0] if row else entries.put_request(library.db, ask, answered=False, source="", number=0)
    )


def candidates(
    library: Library, state: str | None = "open", limit: int = 50, after: int = 0
) -> list[Candidate]:
    """At most `limit` candidates of a state (None: of all) with ids over `after`, oldest first."""
    rows = library.db.execute(
        f"{_SELECT} WHERE id > ? AND (? IS NULL OR state = ?) ORDER BY id LIMIT ?",
        (after, state, state, limit),
    )
    return [_candidate(row) for row in rows.fetchall()]


def candidate(library: Library, candidate_id: int) -> Candidate:
    """One candidate. Raises NoCandidate."""
    row = library.db.execute(f"{_SELECT} WHERE id = ?", (candidate_id,)).fetchone()
    if row is None:
        raise NoCandidate(
            f"no candidate {candidate_id}", do="`workbench matching queue NAME` lists them"
        )
    return _candidate(row)


def _candidate(row: tuple) -> Candidate:
    return Candidate(*row[:5], tuple(json.loads(row[5])), *row[6:])


def approve(library: Library, candidate_id: int, by: str = "") -> Candidate:
    """Serve this entry for this request from now on; the request's other open candidates are closed.

    Raises NoCandidate, AlreadyDecided.
    """
    with transaction(library.db):
        found = candidate(library, candidate_id)
        _must_be(found, ("open",))
        now = time.time()
        _decide(library, found.id, "approved", by, now)
        library.db.execute(
            "INSERT OR REPLACE INTO aliases VALUES (?, ?, ?)",
            (found.request_id, found.entry_id, found.id),
        )
        library.db.execute(
            "UPDATE candidates SET state = 'superseded', decided = ? WHERE state = 'open' AND request_id IN ("
            "SELECT g.request_id FROM fingerprints f JOIN fingerprints g ON g.normalised = f.normalised "
            "WHERE f.request_id = ?)",
            (now, found.request_id),
        )
        return candidate(library, candidate_id)


def reject(library: Library, candidate_id: int, by: str = "") -> Candidate:
    """Never queue or serve this entry for this request again; takes an approval back. Raises NoCandidate,
    AlreadyDecided."""
    with transaction(library.db):
        found = candidate(library, candidate_id)
        _must_be(found, ("open", "approved"))
        _decide(library, found.id, "rejected", by, time.time())
        library.db.execute("DELETE FROM aliases WHERE candidate_id = ?", (found.id,))
        return candidate(library, candidate_id)


def _must_be(found: Candidate, states: tuple[str, ...]) -> None:
    if found.state not in states:
        by = f" by {found.decided_by}" if found.decided_by else ""
        raise AlreadyDecided(
            f"candidate {found.id} is {found.state} already{by}", do="Take the next one"
        )


def _decide(library: Library, candidate_id: int, state: str, by: str, at: float) -> None:
    library.db.execute(
        "UPDATE candidates SET state = ?, decided = ?, decided_by = ? WHERE id = ?",
        (state, at, by or None, candidate_id),
    )


# ---- Why a candidate was not served: each condition of shape and each gate, met or broken,  ----


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
    detail = (
        f"{ask.compared.marks} / {entry.compared.marks}" if name == "same_marks" and not met else ""
    )
    return Condition(name, met, detail)


def _structure(ask: Prepared, entry: Prepared) -> str:
    """The first message whose parts differ; the system text is number 0."""
    pairs = enumerate(zip(ask.structure, entry.structure, strict=False))
    number = next(
        (n for n, (a, b) in pairs if a != b), min(len(ask.structure), len(entry.structure))
    )
    return f"parts, calls or results of message {number}"


def _tools(ask: Prepared, entry: Prepared) -> str:
    mine, theirs = Counter(t[0] for t in ask.tools), Counter(t[0] for t in entry.tools)
    if mine == theirs:
        return "the same names, another definition"
    more, less = ", ".join(sorted(mine - theirs)), ", ".join(sorted(theirs - mine))
    return "; ".join(
        filter(
            None, (f"only asked: {more}" if more else "", f"only recorded: {less}" if less else "")
        )
    )


def _params(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> str:
    names = [n for n in sorted({*mine, *theirs}) if mine.get(n) != theirs.get(n)]
    return "; ".join(
        f"{n}: {canonical_json(mine.get(n))} / {canonical_json(theirs.get(n))}" for n in names
    )
