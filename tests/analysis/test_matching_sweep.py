"""The sweep: a probe settles as the cascade does, intervals are exact, and the clean threshold serves nothing wrong."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from records.adr_0003.hard_cases import generate
from records.adr_0003.held_out import by_file, by_time, replay_generated, replay_recordings
from records.adr_0003.probe import LEXICAL, Near, Probe
from records.adr_0003.sweep import (
    ADR_0003_RULES,
    GATE_SETS,
    Rule,
    cut,
    interval,
    settle,
    upper_bound,
)
from workbench.matching.cascade import replay
from workbench.matching.cassettes import Recording
from workbench.matching.library import ADR_0003, Library
from workbench.matching.request import Answer, plain


@pytest.fixture(scope="module")
def made():
    return generate(seed=3, instances=2)


@pytest.fixture(scope="module")
def replayed(made):
    return replay_generated(made)


@pytest.mark.parametrize(
    ("serve", "review", "gates"),
    [(1.0, 0.6, ()), (0.9, 0.5, ("same_numbers",)), (None, 0.8, ("same_order",))],
)
def test_a_probe_settles_as_the_cascade_does(made, replayed, serve, review, gates):
    rules = (Rule("dice_multiset", serve, review, gates),)
    changed = ADR_0003.with_(serve=serve, review=review, gates=gates)
    with Library(settings=changed) as library:
        library.record_many((c.request, c.answer, "", i) for i, c in enumerate(made.recorded))
        outcomes = replay(library, [c.request for c in made.asked])
        for probe, outcome in zip(replayed.probes, outcomes, strict=True):
            found = settle(probe, rules)
            assert (found.outcome == "served") == outcome.served
            assert found.entry == outcome.entry_id
            if not outcome.served:
                assert (found.outcome == "review") == (outcome.steps[-1].verdict == "review")


def test_outcomes_add_up_and_kinds_add_up_to_all(replayed):
    whole = replayed.tally(ADR_0003_RULES)
    assert sum(whole.counts.values()) == whole.n == replayed.calls
    parts = [replayed.tally(ADR_0003_RULES, kind) for kind in sorted(set(replayed.kinds))]
    for outcome, count in whole.counts.items():
        assert sum(p.counts[outcome] for p in parts) == count
    assert whole.load == sum(p.load for p in parts) and len(whole.wrong) == whole.counts["served wrong"]


@pytest.mark.parametrize("likeness", LEXICAL)
@pytest.mark.parametrize("gates", GATE_SETS.values(), ids=GATE_SETS)
def test_a_cut_says_what_any_threshold_serves_and_the_clean_one_serves_nothing_wrong(
    replayed, likeness, gates
):
    found = replayed.cut(likeness, gates)
    for threshold in sorted({*found.scores[:: max(1, len(found.scores) // 4)], 0.6, 1.0}):
        told = replayed.tally((Rule(likeness, threshold, 10_000, gates),))
        by_tier = {k[1]: n for k, n in told.tiers.items() if k[0] == likeness}
        assert found.at(threshold) == (by_tier.get("served right", 0), by_tier.get("served wrong", 0))
    if found.clean is not None:
        right, wrong = found.at(found.clean)
        assert wrong == 0 and right == found.clean_served > 0
        lower = [s for s in found.scores if s < found.clean]
        assert not lower or found.at(lower[0])[1] > 0 or found.at(min(found.scores))[1] == 0


def test_a_tie_at_the_top_with_a_wrong_one_leaves_no_clean_threshold():
    near = lambda entry: (Near(entry, {"dice_set": 1.0}, frozenset()),)  # noqa: E731
    probes = [Probe(None, None, near(1), ()), Probe(None, None, near(2), ())]
    found = cut(probes, lambda call, entry: call == 0, "dice_set")
    assert found.clean is None and found.clean_served == 0 and found.clean_bound == 1.0


@pytest.mark.parametrize("n", [1, 10, 60, 300])
def test_no_wrong_one_of_n_is_bounded_by_the_rule_that_the_power_gives(n):
    assert upper_bound(0, n) == pytest.approx(1 - 0.05 ** (1 / n))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 40), st.integers(0, 40))
def test_intervals_hold_the_share_and_mirror(k, more):
    n = k + more
    found, mirrored = interval(k, n), interval(n - k, n)
    assert 0 <= found.low <= found.high <= 1
    if n:
        assert found.low <= found.share <= found.high
        assert (found.low, found.high) == pytest.approx((1 - mirrored.high, 1 - mirrored.low))
        assert upper_bound(k, n) <= found.high or k == n


def recording(text: str, said: str, file: str, created: float | None = None) -> Recording:
    return Recording(plain(text), Answer(said, created=created), file, 1)


def test_files_stay_together_and_each_is_held_out_once():
    calls = [recording(f"q{i}", "a", f"file{i % 7}") for i in range(40)]
    splits = by_file(calls)
    assert [r for _, asked in splits for r in asked].__len__() == 40
    for recorded, asked in splits:
        assert not {r.file for r in recorded} & {r.file for r in asked}
        assert len(recorded) + len(asked) == 40


def test_by_time_the_later_calls_are_asked_of_the_earlier_ones():
    calls = [recording(f"q{i}", "a", "f", float(100 - i) if i != 4 else None) for i in range(11)]
    ((recorded, asked),) = by_time(calls)
    assert max(r.answer.created for r in recorded) < min(r.answer.created for r in asked)
    assert (len(recorded), len(asked)) == (7, 3)


def test_right_is_the_same_recorded_answer_and_a_models_own_change_of_mind_is_counted_apart():
    recorded = [
        recording("what is red", "a colour", "a"),
        recording("say hi", "hi", "a"),
        recording("far far away", "x", "a"),
    ]
    asked = [recording("what is red", "a colour", "b"), recording("say hi", "hello", "b"), recording("away far far", "y", "b"),
             recording("far far off", "x", "b"), recording("nothing like it", "a colour", "b")]  # fmt: skip
    found = replay_recordings("made", [(recorded, asked)])
    told = found.tally(ADR_0003_RULES)
    assert told.counts == {
        "served right": 1, "same request, other answer": 1, "served wrong": 1, "review": 1, "missed": 1,
    }  # fmt: skip
    assert (told.useful, told.lost, told.wrong) == (1, 1, (2,))
