"""Verdicts: HOLDS is earned by comparison and never given; what cannot be compared has no verdict."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.analysis.canonical import NotJson
from workbench.analysis.ledger.verdict import (
    DIFFERS,
    HOLDS,
    INCONCLUSIVE,
    KINDS,
    NOT_MEASURABLE,
    VERDICTS,
    Measured,
    NoVerdict,
    covers,
    differences,
    judge,
    kinds_of,
    returns,
    unknown_keys,
)

WHERE = "here"
NUMBERS = st.one_of(st.integers(-(10**6), 10**6), st.floats(-1e6, 1e6, allow_nan=False))
VALUES = st.recursive(
    st.one_of(st.booleans(), NUMBERS, st.text(max_size=5)),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, min_size=2, max_size=3)
    ),
    max_leaves=6,
)


def verdict(expected, value, tolerance=0, kind="behaviour"):
    return judge(kind, expected, tolerance, Measured(value, WHERE))[0]


@settings(max_examples=60, deadline=None)
@given(VALUES, st.sampled_from([k for k in KINDS if k != "production"]))
def test_a_value_holds_against_itself(value, kind):
    assert verdict(value, value, kind=kind) == HOLDS


SMALL = st.integers(-3, 3)


@settings(max_examples=60, deadline=None)
@given(st.integers(-(10**9), 10**9), SMALL, st.sampled_from(["arith", "count"]))
def test_whole_numbers_agree_exactly_or_differ(expected, distance, kind):
    assert verdict(expected, expected + distance, kind=kind) == (DIFFERS if distance else HOLDS)


@settings(max_examples=60, deadline=None)
@given(st.floats(-1e6, 1e6), st.floats(-10, 10), st.floats(0.001, 5))
def test_an_absolute_tolerance_is_the_largest_distance_that_holds(expected, distance, tolerance):
    measured = expected + distance
    if abs(abs(measured - expected) - tolerance) > 1e-5:
        assert verdict(expected, measured, tolerance) == (HOLDS if abs(distance) < tolerance else DIFFERS)


@pytest.mark.parametrize(
    ("tolerance", "measured", "wanted"),
    [
        ({"rel": 0.1}, 109, HOLDS), ({"rel": 0.1}, 111, DIFFERS), ({"abs": 5}, 105, HOLDS), ({"abs": 5}, 106, DIFFERS),
        ({"abs": 20, "rel": 0.01}, 119, HOLDS), ({"abs": 1, "rel": 0.2}, 119, HOLDS),
    ],
)  # fmt: skip
def test_of_an_absolute_and_a_relative_tolerance_the_wider_one_counts(tolerance, measured, wanted):
    assert verdict(100, measured, tolerance) == wanted


def test_a_sum_in_another_order_is_the_same_result():
    assert verdict(0.3, 0.1 + 0.2, kind="arith") == HOLDS
    assert verdict(0.3, 0.3000001, kind="arith") == DIFFERS


def test_a_tolerance_by_key_leaves_the_other_keys_exact():
    expected, tolerance = {"score": 0.0164, "rank": 25}, {"score": 0.00005}
    assert verdict(expected, {"score": 1 / 61, "rank": 25}, tolerance) == HOLDS
    assert verdict(expected, {"score": 1 / 61, "rank": 25.00001}, tolerance) == DIFFERS


@pytest.mark.parametrize(
    ("bound", "holds", "differs"),
    [
        ({"at_most": 8}, 8, 9), ({"at_least": 9}, 9, 8), ({"between": [0.9, 1.1]}, 1.1, 1.2),
        ({"absent": True}, None, 3), ({"absent": False}, 3, None), ({"at_most": 8}, 1, None),
    ],
)  # fmt: skip
def test_a_bound_holds_up_to_its_edge(bound, holds, differs):
    assert differences({"x": bound}, {"x": holds}) == []
    assert len(differences({"x": bound}, {"x": differs})) == 1


def test_a_tolerance_widens_a_bound():
    assert verdict({"at_most": 100}, 104, {"rel": 0.05}) == HOLDS
    assert verdict({"at_most": 100}, 106, {"rel": 0.05}) == DIFFERS


@settings(max_examples=60, deadline=None)
@given(VALUES, st.dictionaries(st.text(max_size=3), VALUES, max_size=3))
def test_what_is_measured_beyond_the_expected_keys_changes_no_verdict(value, evidence):
    found = {**{f"more {k}": v for k, v in evidence.items()}, "asked": value}
    assert verdict({"asked": value}, found) == HOLDS


def test_a_key_that_was_not_measured_gives_no_verdict_and_is_never_absent():
    with pytest.raises(NoVerdict, match="not measured: rank"):
        verdict({"rank": {"absent": True}}, {"other": 1})


def test_a_list_of_another_length_differs_and_says_how_long_it_is():
    _, note, _ = judge("behaviour", [1, 2], 0, Measured([1, 2, 3], WHERE))
    assert verdict([1, 2], [1, 2, 3]) == DIFFERS
    assert "2 values" in note and "3 [1, 2, 3]" in note


def test_absence_differs_from_a_rank_and_says_so():
    chosen, note, _ = judge("behaviour", {"rank": 25}, 0, Measured({"rank": None}, WHERE))
    assert (chosen, note) == (DIFFERS, "rank: expected 25, measured absent")


@pytest.mark.parametrize(
    ("expected", "measured"),
    [
        (True, 1), (1, True), ("25", 25), (25, "25"), ({"at_most": 3}, "2"), ({"a": 1}, 3), ([1], 1),
        ("the record gives no formula", {"a": 1}),
    ],
)  # fmt: skip
def test_values_of_different_types_have_no_verdict(expected, measured):
    with pytest.raises(NoVerdict):
        verdict(expected, measured)


@pytest.mark.parametrize("expected", [None, 3, {"absent": True}, {"a": 1}, "text"])
def test_nothing_measured_never_holds(expected):
    with pytest.raises(NoVerdict, match="no value"):
        verdict(expected, None)


@settings(max_examples=40, deadline=None)
@given(VALUES, VALUES)
def test_a_production_claim_never_holds_here(expected, measured):
    try:
        chosen, note, _ = judge("production", expected, 0, Measured(measured, WHERE))
    except NoVerdict:
        return
    assert chosen == NOT_MEASURABLE
    assert ("the shape here agrees" in note) == (not differences(expected, measured))


def test_a_measure_cannot_state_that_its_claim_holds():
    with pytest.raises(NoVerdict, match="cannot state HOLDS"):
        Measured(1, WHERE, "surely", HOLDS)


@pytest.mark.parametrize("stated", [v for v in VERDICTS if v != HOLDS])
def test_a_stated_verdict_counts_where_values_agree(stated):
    assert judge("arith", 1, 0, Measured(1, WHERE, "because", stated)) [:2] == (stated, "because")
    assert judge("arith", 1, 0, Measured(None, WHERE, "because", stated)) [:2] == (stated, "because")
    with pytest.raises(NoVerdict, match="without a note"):
        Measured(1, WHERE, " ", stated)


@pytest.mark.parametrize("stated", ["holds", "OK", "", "MAYBE"])
def test_verdicts_are_a_closed_list(stated):
    with pytest.raises(NoVerdict, match="unknown verdict"):
        Measured(1, WHERE, "because", stated)


def test_kinds_are_a_closed_list_and_can_be_joined():
    assert kinds_of("behaviour + arith") == ("behaviour", "arith")
    with pytest.raises(NoVerdict, match="unknown kind 'arit'"):
        kinds_of("behaviour + arit")
    assert verdict(1, 1, kind="behaviour + arith") == HOLDS


def test_a_measure_says_where_it_measured():
    with pytest.raises(NoVerdict, match="where"):
        Measured(1, " ")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, object(), {"a": [float("nan")]}])
def test_a_measured_value_is_json_or_refused(value):
    with pytest.raises(NotJson):
        Measured(value, WHERE)


def test_a_long_value_is_quoted_short_in_a_note():
    _, note, _ = judge("behaviour", "short", 0, Measured("x" * 1_000_000, WHERE, verdict=None))
    assert len(note) < 200 and "1,000,000 characters" in note


def test_the_measures_own_note_stands_before_what_differs():
    _, note, _ = judge("count", 1, 0, Measured(2, WHERE, "Counted twice"))
    assert note == "Counted twice. expected 1, measured 2"


@pytest.mark.parametrize("stated", [INCONCLUSIVE, NOT_MEASURABLE])
def test_a_stated_verdict_never_hides_a_difference(stated):
    value = {"sum": 3}
    assert judge("arith", {"sum": 3, "rest": 1}, 0, Measured(value, WHERE, "why", stated))[0] == stated
    assert judge("arith", {"sum": 4, "rest": 1}, 0, Measured(value, WHERE, "why", stated))[0] == DIFFERS


def test_what_needs_the_full_size_is_inconclusive_and_the_rest_differs():
    expected, value = {"memories": 9, "agree": True}, {"memories": 5, "agree": True}
    small = judge("count", expected, 0, Measured(value, WHERE), open_here=["memories"])
    assert small.verdict == INCONCLUSIVE and "A run of full size decides memories" in small.note
    off = judge("count", expected, 0, Measured(value | {"agree": False}, WHERE), open_here=["memories"])
    assert off.verdict == DIFFERS
    assert judge("count", 9, 0, Measured(5, WHERE), open_here=[""]).verdict == INCONCLUSIVE


@pytest.mark.parametrize(
    ("value", "cause"),
    [
        ({"ms": 9, "ratio": 1, "mb": 1, "n": 1}, "duration"), ({"ms": 1, "ratio": 9, "mb": 1, "n": 1}, "duration"),
        ({"ms": 1, "ratio": 1, "mb": 9, "n": 1}, "install"), ({"ms": 9, "ratio": 1, "mb": 1, "n": 9}, ""),
    ],
)  # fmt: skip
def test_a_difference_names_its_cause_only_if_nothing_else_differs(value, cause):
    found = Measured(value, WHERE, timing=["ms"], timing_ratios=["ratio"], install=["mb"])
    assert judge("ratio", dict.fromkeys(value, 1), 0, found).cause == cause


def test_a_table_names_its_durations():
    assert Measured(1.5, WHERE, timing=True).timing == ("",)
    with pytest.raises(NoVerdict, match="Name its durations"):
        Measured({"ms": 1.5, "calls": 7}, WHERE, timing=True)


def test_parts_that_a_replica_was_not_fitted_to_are_judged_apart():
    found = judge("behaviour", {"rank": 25, "score": 2}, 0, Measured({"rank": 9, "score": 2}, WHERE), independent=["score"])
    assert found.verdict == DIFFERS and "Independent of the fit: score as expected" in found.note


@pytest.mark.parametrize(
    ("patterns", "path", "held"),
    [([""], "a.b", True), (["a"], "a.b", True), (["a.b"], "a", False), (["*.ms"], "x.ms", True), (["*.ms"], "x.n", False),
     (["ms"], "ms2", False), ([], "a", False)],
)  # fmt: skip
def test_a_pattern_covers_its_path_and_what_is_below(patterns, path, held):
    assert covers(patterns, path) == held


def test_a_declared_shape_names_unknown_keys_and_those_there_are():
    @returns("rank", {"seconds": ["before", "after"]})
    def measure(run):
        return Measured(1, WHERE)

    assert list(unknown_keys({"rank": {"at_most": 3}, "seconds": {"before": 1}}, measure.keys)) == []
    (deep,) = unknown_keys({"seconds": {"befor": 1}}, measure.keys)
    (top,) = unknown_keys({"rnak": 1}, measure.keys)
    assert "'seconds.befor'" in deep and "seconds.before, seconds.after" in deep
    assert "'rnak'" in top and "rank, seconds" in top
