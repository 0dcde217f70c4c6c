"""Verifying a text: a figure agrees exactly where the measured value, rounded as it is written, is the figure."""

from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.analysis.ledger.ledger import Ledger, Row
from workbench.analysis.ledger.verify import marks, unmarked, verify

MEASURED = {
    "score": 0.0327868852, "rank": 1, "share": 0.1234, "terms": [1180, 34395, 34860], "inside": True, "outside": False,
    "target": "0b85ed4a", "nothing": None, "nDCG@10": {"a.b": 0.5, "a": {"b": 0.25}}, "low": -0.0213, "big": 384885, "tiny": 1.2e-05,
    "mixed": [1, "a"],
}  # fmt: skip


def row(claim_id="A07", measured=MEASURED, verdict="HOLDS", timing=()):
    return Row(claim_id, "says", "behaviour", {}, 0, measured, verdict, "here", timing=timing)


LEDGER = Ledger({"record": "r"}, (row(), row("A11", {"seconds": 1.3}, timing=("",)), row("A12", 7), row("A13", None, None)))


def check(text):
    return verify(LEDGER, marks(text))[0]


def status(text):
    return check(text).status


@pytest.mark.parametrize(
    ("path", "figure"),
    [
        ("score", "0.0328"), ("score", "0.03279"), ("score", "0.03"), ("score", "3.28e-2"), ("score", "3.3 %"), ("rank", "1"),
        ("rank", "1st"), ("rank", "+1"), ("share", "12 %"), ("share", "12.3%"), ("share", "0.12"), ("terms.1", "1,180"),
        ("terms.3", "34\u202f860"), ("inside", "yes"), ("inside", "true."), ("outside", "No,"), ("target", "0b85ed4a."),
        ("nothing", "absent"), ("nDCG@10.a.b", "0.5"), ("low", "-0.021"), ("low", "\u22120.0213"), ("big", "384,885 memories"),
        ("big", "384885"), ("tiny", "1.2e-5"), ("tiny", "0.000012"), ("score", "**0.0328**"), ("score", "| 0.0328 |"),
        ("score", "`0.0328`"), ("big within 500", "385,000"), ("big within 0.1 %", "385,000"),
        ("terms", "1,180, 34,395 and 34,860<!-- /claim -->"), ("score", "about 0.0328 in all<!-- /claim -->"),
    ],
)  # fmt: skip
def test_a_figure_agrees_as_it_is_rounded(path, figure):
    assert status(f"<!-- claim:A07.{path} -->{figure}") == "agrees"


@pytest.mark.parametrize(
    ("path", "figure"),
    [
        ("score", "0.0329"), ("score", "0.0327"), ("score", "0.03280"), ("score", "-0.0328"), ("score", "0.04"), ("rank", "2"),
        ("share", "12"), ("share", "13 %"), ("terms.1", "1,181"), ("inside", "no"), ("inside", "perhaps"), ("target", "0b85ed4b"),
        ("nothing", "3"), ("low", "0.0213"), ("big", "385,000"), ("big within 100", "385,000"), ("terms", "1,180 and 34,395<!-- /claim -->"),
        ("terms", "34,395, 1,180, 34,860<!-- /claim -->"), ("terms", "1,180, 34,395, 34,860, 5<!-- /claim -->"),
    ],
)  # fmt: skip
def test_a_figure_that_is_another_value_differs(path, figure):
    assert status(f"<!-- claim:A07.{path} -->{figure}") == "differs"


@settings(max_examples=200, deadline=None)
@given(st.floats(-1e6, 1e6, allow_nan=False), st.integers(0, 6))
def test_any_value_rounded_to_any_digits_agrees_and_its_neighbours_do_not(value, digits):
    unit = Decimal(1).scaleb(-digits)
    rounded = Decimal(repr(value)).quantize(unit, ROUND_HALF_UP)
    ledger = Ledger({}, (row(measured=value),))
    told = [verify(ledger, marks(f"<!-- claim:A07 -->{figure:f}"))[0].status for figure in (rounded, rounded + 2 * unit, rounded - 2 * unit)]
    assert told == ["agrees", "differs", "differs"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("<!-- claim:A99 -->1", "the ledger has no claim A99. It has A07, A11, A12, A13"),
        ("<!-- claim:A07.scor -->1", "nothing was measured at 'scor'. There are: score, rank"),
        ("<!-- claim:A07 -->1", "ends at a table, not at a figure. Go on with one of: score, rank"),
        ("<!-- claim:A07.terms.4 -->1", "no place in a list of 3"), ("<!-- claim:A07.terms.0 -->1", "no place in a list of 3"),
        ("<!-- claim:A07.mixed -->1", "Go on with one of: 1 to 2"), ("<!-- claim:A07.rank.x -->1", "'x' leads into 1"),
        ("<!-- claim:A07.rank -->first", "no number follows"), ("<!-- claim:A07.rank -->", "no number follows"),
        ("<!-- claim:A07.terms -->1,180", "needs a closing mark"), ("<!-- claim:A07.target -->", "nothing follows the mark"),
        ("<!-- claim:A07.rank --> in the end 1", "no number follows"),
    ],
)  # fmt: skip
def test_a_mark_that_names_nothing_says_what_there_is(text, why):
    found = check(text)
    assert found.status == "nothing" and why in found.why


def test_of_several_ways_to_read_dots_the_longest_key_is_meant():
    assert check("<!-- claim:A07.nDCG@10.a.b -->0.25").why == "written 0.25, measured 0.5"


def test_a_duration_that_differs_is_told_and_is_no_difference():
    assert status("<!-- claim:A11.seconds -->1.3 s") == "agrees"
    assert status("<!-- claim:A11.seconds -->2.1 s") == "timing"


TIMED = {"median_ms": {"a": 1.3}, "ratio": 1.2, "calls": 7, "share_on_paper": 0.093}
TIMED_LEDGER = Ledger({}, (replace(row("A21", TIMED, "DIFFERS", ("median_ms",)), timing_ratios=("ratio",)),))


@pytest.mark.parametrize(
    ("mark", "wanted"),
    [
        (".median_ms.a -->2.1", "timing"), (".ratio -->1.9", "differs"), (".calls -->8", "differs"),
        (".share_on_paper -->9.4 %", "differs"), ("@verdict -->HOLDS", "differs"), (".ratio within 80 % -->1.9", "agrees"),
        (".calls -->7", "agrees"), ("@verdict -->DIFFERS", "agrees"),
    ],
)  # fmt: skip
def test_of_a_timed_row_only_durations_are_exempt(mark, wanted):
    assert verify(TIMED_LEDGER, marks(f"<!-- claim:A21{mark}"))[0].status == wanted


def test_a_figure_of_a_superseded_claim_is_reported_and_no_difference():
    ledger = Ledger({}, (replace(row("A12", 7), superseded="adr-0200"),))
    assert [verify(ledger, marks(f"<!-- claim:A12 -->{n}"))[0].status for n in (7, 8)] == ["agrees", "superseded"]


def test_a_verdict_is_a_figure_too():
    assert status("<!-- claim:A07@verdict -->HOLDS") == "agrees"
    assert status("<!-- claim:A07@verdict -->DIFFERS: it does not") == "differs"
    assert check("<!-- claim:A07@verdict -->NOT MEASURABLE HERE, alas").written == "NOT MEASURABLE HERE"
    assert status("<!-- claim:A13@verdict -->HOLDS") == "differs"


def test_a_claim_of_one_value_needs_no_path():
    assert status("<!-- claim:A12 -->7 calls") == "agrees"


def test_claims_without_a_mark_are_named():
    assert unmarked(LEDGER, marks("<!-- claim:A07.rank -->1 <!-- claim:A13@verdict -->HOLDS")) == ("A11", "A12")
