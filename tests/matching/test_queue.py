"""The review queue: a state machine that holds under any order of events, two reviewers, a crash, a thousand waiting."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from helpers.matching import said
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from workbench.matching.cascade import ask
from workbench.matching.library import ADR_0003, Library
from workbench.matching.queue import (
    AlreadyDecided,
    NoCandidate,
    approve,
    candidate,
    candidates,
    reject,
)
from workbench.matching.request import plain

# Texts that share most of their words, so that nearly all of them are near each other; with a volatile value, so
# that one request comes in many spellings.
PLACES = ("Rome", "Paris", "Oslo", "Bonn", "Lima")
STAMPS = ("2026-01-01T00:00:00Z", "2026-02-02T10:00:00Z", "2027-03-03T20:00:00Z")
texts = st.builds(
    "what is the weather in {} at {} please".format, st.sampled_from(PLACES), st.sampled_from(STAMPS)
)


class Queue(RuleBasedStateMachine):
    """The queue beside a model of it: pairs are (request after scrubbing, entry)."""

    def __init__(self) -> None:
        super().__init__()
        self.library = Library(settings=ADR_0003)
        self.rejected: set[tuple[str, int]] = set()
        self.alias: dict[str, int] = {}

    def teardown(self) -> None:
        self.library.close()

    def fingerprint(self, request_id: int) -> str:
        return self.library.normal.prepare(self.library.request(request_id)).normalised

    @rule(text=texts)
    def record(self, text: str) -> None:
        self.library.record(plain(text), said(text))
        mine = self.library.normal.prepare(plain(text)).normalised
        assert not [
            c for c in candidates(self.library, "open", 1000) if self.fingerprint(c.request_id) == mine
        ]

    @rule(text=texts)
    def call(self, text: str) -> None:
        before = len(candidates(self.library, None, 1000))
        found = ask(self.library, plain(text))
        mine = self.library.normal.prepare(plain(text)).normalised
        if found.served:
            assert (mine, found.entry_id) not in self.rejected
            assert not found.candidates
            if found.tier == "alias":
                assert self.alias[mine] == found.entry_id
        else:
            assert mine not in self.alias
            assert len(candidates(self.library, None, 1000)) - before == len(found.candidates)

    def waiting(self, states: tuple[str, ...]) -> list:
        return [c for c in candidates(self.library, None, 1000) if c.state in states]

    @precondition(lambda self: self.waiting(("open",)))
    @rule(data=st.data())
    def approve_one(self, data) -> None:
        chosen = data.draw(st.sampled_from(self.waiting(("open",))))
        assert approve(self.library, chosen.id, "ann").state == "approved"
        mine = self.fingerprint(chosen.request_id)
        self.alias[mine] = chosen.entry_id
        assert not [c for c in self.waiting(("open",)) if self.fingerprint(c.request_id) == mine]

    @precondition(lambda self: self.waiting(("open", "approved")))
    @rule(data=st.data())
    def reject_one(self, data) -> None:
        chosen = data.draw(st.sampled_from(self.waiting(("open", "approved"))))
        assert reject(self.library, chosen.id, "bob").state == "rejected"
        mine = self.fingerprint(chosen.request_id)
        self.rejected.add((mine, chosen.entry_id))
        if chosen.state == "approved":
            del self.alias[mine]

    @precondition(lambda self: self.waiting(("approved", "rejected", "superseded", "answered")))
    @rule(data=st.data())
    def decide_too_late(self, data) -> None:
        chosen = data.draw(st.sampled_from(self.waiting(("approved", "rejected", "superseded", "answered"))))
        with pytest.raises(AlreadyDecided):
            approve(self.library, chosen.id)
        if chosen.state != "approved":
            with pytest.raises(AlreadyDecided):
                reject(self.library, chosen.id)
        assert candidate(self.library, chosen.id) == chosen

    @invariant()
    def never_a_pair_twice_and_at_most_three_a_request(self) -> None:
        held = [(self.fingerprint(c.request_id), c.entry_id) for c in candidates(self.library, None, 1000)]
        assert len(held) == len(set(held))
        assert all(n <= 3 for n in Counter(mine for mine, _ in held).values())

    @invariant()
    def rejections_and_aliases_are_those_that_were_given(self) -> None:
        rejected = {(self.fingerprint(c.request_id), c.entry_id) for c in self.waiting(("rejected",))}
        assert rejected == self.rejected
        aliases = self.library.db.execute("SELECT request_id, entry_id FROM aliases").fetchall()
        assert {self.fingerprint(r): e for r, e in aliases} == self.alias
        assert len(aliases) == len(self.alias)


TestQueue = Queue.TestCase
TestQueue.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)


def fill(library: Library, requests: int) -> None:
    """`requests` missed requests with three open candidates each."""
    library.record_many((plain(f"what is the weather in {p} please"), said(p), "", 0) for p in PLACES[:3])
    for i in range(requests):
        assert len(ask(library, plain(f"what is the weather in town{i} please")).candidates) == 3


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with Library(tmp_path / "l.sqlite", settings=ADR_0003) as library:
        fill(library, 2)
    return tmp_path / "l.sqlite"


def test_an_unknown_number_is_an_error_by_name(path):
    with Library(path) as library:
        for decide in (approve, reject):
            with pytest.raises(NoCandidate, match="no candidate 99"):
                decide(library, 99)


def test_the_second_of_two_reviewers_is_told_who_was_first(path):
    with Library(path) as one, Library(path) as other:
        seen = [c.id for c in candidates(one)], [c.id for c in candidates(other)]
        assert seen[0] == seen[1] == [1, 2, 3, 4, 5, 6]
        approve(one, 1, "ann")
        with pytest.raises(AlreadyDecided, match="approved already by ann"):
            approve(other, 1, "bob")
        with pytest.raises(AlreadyDecided, match="superseded"):
            approve(other, 2, "bob")
        assert ask(other, plain("what is the weather in town0 please")).tier == "alias"


# One reviewer: decides every candidate, every third one an approval, beginning at its own place.
REVIEW = """
import sys
from collections import Counter
from workbench.matching.library import Library
from workbench.matching.queue import AlreadyDecided, approve, candidates, reject
start, mine = int(sys.argv[2]), Counter(done=0, late=0)
with Library(sys.argv[1]) as library:
    ids = [c.id for c in candidates(library, None, 10_000)]
    for chosen in ids[start:] + ids[:start]:
        try:
            (approve if chosen % 3 == 0 else reject)(library, chosen, f"reviewer {start}")
            mine["done"] += 1
        except AlreadyDecided:
            mine["late"] += 1
print(mine["done"], mine["late"])
"""


def test_two_reviewers_at_once_over_a_thousand_open_candidates_lose_and_double_nothing(tmp_path: Path):
    path = tmp_path / "l.sqlite"
    with Library(path, settings=ADR_0003) as library:
        fill(library, 334)
        assert len(candidates(library, "open", 10_000)) == 1002
    command = [sys.executable, "-c", REVIEW, str(path)]
    people = [
        subprocess.Popen([*command, str(start)], stdout=subprocess.PIPE, text=True) for start in (0, 501)
    ]
    counts = [tuple(map(int, person.communicate(timeout=300)[0].split())) for person in people]
    assert [person.returncode for person in people] == [0, 0]
    with Library(path) as library:
        found = candidates(library, None, 10_000)
        states = Counter(c.state for c in found)
        assert len(found) == 1002 and states["open"] == 0
        assert states["approved"] == len(library.db.execute("SELECT 1 FROM aliases").fetchall())
        # Every decision that was reported done is in the file, once: both reviewers decide a candidate alike.
        assert sum(done + late for done, late in counts) == 2 * 1002
        assert sum(done for done, _ in counts) == states["approved"] + states["rejected"]
        by_request = Counter(c.request_id for c in found if c.state == "approved")
        assert all(n == 1 for n in by_request.values())


def test_two_processes_that_miss_at_once_queue_a_pair_once(tmp_path: Path):
    path = tmp_path / "l.sqlite"
    with Library(path, settings=ADR_0003) as library:
        library.record_many((plain(f"what is the weather in {p} please"), said(p), "", 0) for p in PLACES)
    code = (
        "import sys; from workbench.matching.library import Library; from workbench.matching.cascade import ask;"
        "from workbench.matching.request import plain\n"
        "with Library(sys.argv[1]) as library:\n"
        "    for i in range(60): ask(library, plain(f'what is the weather in town{i} please'))\n"
    )
    runs = [subprocess.Popen([sys.executable, "-c", code, str(path)]) for _ in range(2)]
    assert [run.wait(timeout=300) for run in runs] == [0, 0]
    with Library(path) as library:
        found = candidates(library, "open", 10_000)
        assert len(found) == 180
        assert len({(c.request_id, c.entry_id) for c in found}) == 180
        assert library.counts()["calls"] == 120


CRASH = """
import os, sys
from workbench.matching.library import Library
from workbench.matching.cascade import ask
from workbench.matching.queue import approve, reject
from workbench.matching.request import Answer, plain
library = Library(sys.argv[1])
left = int(sys.argv[3])
def stop(statement):
    global left
    left -= 1
    if left < 0:
        os._exit(9)
library.db.set_trace_callback(stop)
{"approve": lambda: approve(library, 1, "ann"), "reject": lambda: reject(library, 1, "ann"),
 "ask": lambda: ask(library, plain("what is the weather in Graz please")),
 "record": lambda: library.record(plain("what is the weather in town0 please"), Answer("new"))}[sys.argv[2]]()
library.db.set_trace_callback(None)
library.close()
"""


def snapshot(path: Path) -> dict[str, list]:
    with Library(path) as library:
        library.log.flush()
        tables = ("requests", "answers", "fingerprints", "aliases", "entry_words", "word_counts")
        held = {t: library.db.execute(f"SELECT * FROM {t} ORDER BY 1").fetchall() for t in tables}
        held["candidates"] = library.db.execute(
            "SELECT id, request_id, entry_id, state FROM candidates ORDER BY 1"
        ).fetchall()
        held["call_log"] = library.db.execute("SELECT outcome, tier FROM call_log ORDER BY id").fetchall()
        return held


@pytest.mark.parametrize("what", ["approve", "reject", "ask", "record"])
def test_a_crash_at_any_statement_leaves_all_or_nothing(path: Path, tmp_path: Path, what):
    before = snapshot(path)
    copies = []
    for steps in (1, 2, 4, 6, 8, 200):
        copy = tmp_path / f"{steps}.sqlite"
        copy.write_bytes(path.read_bytes())
        run = subprocess.run(
            [sys.executable, "-c", CRASH, str(copy), what, str(steps)], env=dict(os.environ), check=False
        )
        copies.append((run.returncode, snapshot(copy)))
    (code, after), *crashed = reversed(copies)
    assert code == 0 and after != before
    assert any(code == 9 for code, _ in crashed)
    for _, held in crashed:
        assert held in (before, after)
