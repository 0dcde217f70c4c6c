"""ADR 0003's review queue: a long random walk that looks for a broken promise, and what approvals buy (C07, C17)."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from records.adr_0003.hard_cases import SAME, Call
from records.adr_0003.subjects import KEY, generated, where_generated
from records.adr_0003.sweep import interval
from records.subjects import size_of
from workbench.analysis.ledger.run import Run
from workbench.analysis.ledger.verdict import Measured, returns
from workbench.matching.cascade import ask
from workbench.matching.library import ADR_0003, Library
from workbench.matching.queue import Candidate, approve, candidates, reject
from workbench.matching.request import Answer, plain

STEPS = {"full": 3000, "small": 600, "tiny": 200}
BLOCK = 150
"""Events of one library: with few similar requests the queue has been decided by then."""
PLACES = ("Lisbon", "Oslo", "Quito", "Riga", "Dakar", "Hanoi")
ALL = 1 << 30


@dataclass
class Walk:
    """The queue beside a model of it. `broken` counts promises that did not hold, by name; `did` counts events."""

    library: Library
    rng: random.Random
    rejected: set[tuple[str, int]] = field(default_factory=set)
    broken: Counter[str] = field(default_factory=Counter)
    did: Counter[str] = field(default_factory=Counter)

    def text(self) -> str:
        minute = self.rng.randrange(60)
        return f"what is the weather in {self.rng.choice(PLACES)} at 2026-01-01T10:{minute:02}:00Z please"

    def fingerprint(self, found: Candidate) -> str:
        return self.library.normal.prepare(self.library.request(found.request_id)).normalised

    def step(self) -> None:
        event = self.rng.choices(("call", "record", "approve", "reject"), (12, 1, 3, 3))[0]
        if event == "call":
            self.call()
        elif event == "record":
            text = self.text()
            self.library.record(plain(text), Answer(text))
            mine = self.library.normal.prepare(plain(text)).normalised
            self.broken["an answered request closes its own"] += any(
                self.fingerprint(c) == mine for c in self.held("open")
            )
        elif waiting := self.held("open"):
            self.decide(event, self.rng.choice(waiting))
        self.did[event] += 1
        self.check()

    def call(self) -> None:
        request = plain(self.text())
        found = ask(self.library, request)
        mine = self.library.normal.prepare(request).normalised
        self.broken["a rejected pair is never served again"] += (
            found.served and (mine, found.entry_id) in self.rejected
        )
        self.did["served" if found.served else "missed"] += 1

    def decide(self, event: str, chosen: Candidate) -> None:
        mine = self.fingerprint(chosen)
        (approve if event == "approve" else reject)(self.library, chosen.id)
        if event == "reject":
            self.rejected.add((mine, chosen.entry_id))
            return
        self.broken["approval writes the alias"] += chosen.entry_id not in self.library.aliases(
            mine
        )
        self.broken["approval closes the others"] += any(
            self.fingerprint(c) == mine for c in self.held("open")
        )

    def held(self, state: str | None) -> list[Candidate]:
        return candidates(self.library, state, ALL)

    def check(self) -> None:
        pairs = [(self.fingerprint(c), c.entry_id) for c in self.held(None)]
        self.broken["never a pair twice"] += len(pairs) != len(set(pairs))
        self.broken["at most 3 a request"] += (
            max(Counter(p for p, _ in pairs).values(), default=0) > ADR_0003.max_candidates
        )
        kept = {(self.fingerprint(c), c.entry_id) for c in self.held("rejected")}
        self.broken["a rejection is kept"] += kept != self.rejected


@returns(
    {
        "broken": [
            "a rejected pair is never served again",
            "a rejection is kept",
            "an answered request closes its own",
            "approval closes the others",
            "approval writes the alias",
            "at most 3 a request",
            "never a pair twice",
        ]
    },
    "events",
)
def promises(run: Run) -> Measured:
    """C07: thousands of random calls, recordings and decisions over few similar requests; which promise broke, how often."""
    steps, broken, did = STEPS[size_of(run)], Counter(), Counter()
    for start in range(0, steps, BLOCK):
        with Library(settings=ADR_0003, key=KEY) as library:
            walk = Walk(library, random.Random(f"{run.seed}/{start}"), broken=broken, did=did)
            for _ in range(min(BLOCK, steps - start)):
                walk.step()
    broken["a rejected pair is never served again"] += _served_though_rejected()
    return Measured(
        {
            "broken": {k: int(v) for k, v in sorted(broken.items())},
            "events": dict(sorted(did.items())),
        },
        f"a random walk of {steps:,} events, seed {run.seed}, in libraries of {BLOCK} events each",
        "The same promises stand as property tests, with two reviewers at once, a kill at any statement, and a thousand open candidates.",
    )


def _served_though_rejected() -> bool:
    """Whether a rejected pair is served once the threshold is low enough for it."""
    asked = plain("what is the weather in Oslo please")
    with Library(settings=ADR_0003, key=KEY) as library:
        library.record(plain("what is the weather in Riga please"), Answer("rain"))
        reject(library, ask(library, asked).candidates[0])
        library.change(serve=0.6)
        return ask(library, asked).served


CHECKPOINTS = 8


@returns(
    "approvals",
    "decisions",
    "hit_rate_after",
    "hit_rate_before",
    "lost_until_approved",
    "still_missed",
)
def approvals_buy_hits(run: Run) -> Measured:
    """C17: hits of the new calls before any approval and after each eighth of a reviewer's decisions, by the truth."""
    made = generated(run)
    asked = [c for c in made.asked if c.instance in made.instances]
    with Library(settings=ADR_0003, key=KEY) as library:
        ids = library.record_many((c.request, c.answer, "", 0) for c in made.recorded)
        instance = dict(zip(ids, (c.instance for c in made.recorded), strict=True))
        for call in made.asked:
            ask(library, call.request)
        rows = [_hits(library, asked, instance, 0, 0)]
        waiting = candidates(library, "open", ALL)
        truth = _truth(library, made.asked)
        decided = approved = 0
        for number, chosen in enumerate(waiting, 1):
            if (
                library.db.execute(
                    "SELECT state FROM candidates WHERE id = ?", (chosen.id,)
                ).fetchone()[0]
                == "open"
            ):
                good = instance[chosen.entry_id] in truth[chosen.request_id]
                (approve if good else reject)(library, chosen.id)
                decided, approved = decided + 1, approved + good
            if number % -(-len(waiting) // CHECKPOINTS) == 0 or number == len(waiting):
                rows.append(_hits(library, asked, instance, decided, approved))
    first, last = rows[0], rows[-1]
    return Measured(
        {
            "hit_rate_before": first["hit rate"],
            "hit_rate_after": last["hit rate"],
            "lost_until_approved": round(last["hit rate"] - first["hit rate"], 4),
            "approvals": last["approvals"],
            "decisions": last["decisions"],
            "still_missed": round(1 - last["hit rate"], 4),
        },
        f"{where_generated(run)}; the {len(asked):,} of them whose right answer is recorded, asked again after each batch of decisions",
        f"The reviewer knows the truth and sees what all {len(made.asked):,} calls left in the queue: {last['decisions']:,} decisions, "
        f"{last['approvals']:,} of them approvals, are what the gain costs.",
        data=rows,
    )


def _truth(library: Library, asked: Sequence[Call]) -> dict[int, set[str]]:
    """The instances that each missed request in the queue asks for."""
    by_print = {}
    for call in asked:
        by_print.setdefault(library.normal.prepare(call.request).normalised, set()).add(
            call.instance
        )
    rows = library.db.execute(
        "SELECT DISTINCT c.request_id, f.normalised FROM candidates c JOIN fingerprints f USING (request_id)"
    )
    return {request_id: by_print[normalised] for request_id, normalised in rows.fetchall()}


def _hits(
    library: Library, asked: list[Call], instance: dict[int, str], decided: int, approved: int
) -> dict[str, Any]:
    outcomes = [ask(library, c.request) for c in asked]
    right = sum(
        o.served and instance[o.entry_id] == c.instance
        for o, c in zip(outcomes, asked, strict=True)
    )
    kinds = Counter(
        c.kind for o, c in zip(outcomes, asked, strict=True) if o.served and c.kind in SAME
    )
    found = interval(right, len(asked))
    return {
        "decisions": decided,
        "approvals": approved,
        "hit rate": round(found.share, 4),
        "low": found.low,
        "high": found.high,
        "paraphrases served": kinds["paraphrase"],
    }
