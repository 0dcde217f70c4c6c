"""Runs of one sign over the doubles: against the sign at every side of every known root."""

from fractions import Fraction
from math import prod

from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.analysis.explain.knob_ranks import (
    double,
    ordinal,
    plainest,
    polynomial,
    sign_at,
    sign_runs,
    through,
)

SETTINGS = settings(max_examples=150, deadline=None)
fractions = st.fractions(min_value=-8, max_value=40, max_denominator=30)
HIGH = ordinal(1e9)


def with_roots(roots, lead=1):
    return through([lead * prod(x - root for root in roots) for x in range(len(roots) + 1)])


@SETTINGS
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_neighbouring_doubles_have_neighbouring_places(value):
    assert double(ordinal(value)) == value
    assert ordinal(double(ordinal(value) + 1)) == ordinal(value) + 1 or abs(value) > 1e308


@SETTINGS
@given(st.lists(fractions, min_size=0, max_size=5), st.sampled_from([-3, 1, Fraction(2, 7)]))
def test_the_sign_changes_at_the_roots_and_nowhere_else(roots, lead):
    p = with_roots(roots, lead)
    runs = sign_runs(p, 0, HIGH)
    assert runs[0][0] == 0 and runs[-1][1] == HIGH
    assert all(a[1] + 1 == b[0] and a[2] != b[2] for a, b in zip(runs, runs[1:], strict=False))
    for first, last, sign in runs:
        for place in (first, (first + last) // 2, last):
            value = Fraction(double(place))
            product = Fraction(lead)
            for root in roots:
                product *= value - root
            assert sign == (product > 0) - (product < 0)


@SETTINGS
@given(st.lists(st.integers(-50, 50), min_size=1, max_size=6))
def test_every_run_has_one_sign_at_its_ends_its_middle_and_at_whole_numbers(coefficients):
    p = polynomial(coefficients)
    for first, last, sign in sign_runs(p, 0, HIGH):
        assert {sign_at(p, double(place)) for place in (first, (first + last) // 2, last)} == {sign}
        inside = [n for n in range(100) if first <= ordinal(float(n)) <= last]
        assert all(sign_at(p, float(n)) == sign for n in inside)


def test_two_roots_nearer_than_any_tolerance_are_both_found():
    close = [Fraction(3), Fraction(3) + Fraction(1, 10**13)]
    assert [sign for _, _, sign in sign_runs(with_roots(close), 0, HIGH)] == [1, 0, -1, 1]


@SETTINGS
@given(st.floats(0, 1000), st.floats(0, 10), st.sampled_from([0, 1]))
def test_the_plainest_number_lies_within_and_is_no_longer_than_the_end(low, width, end):
    high = low + width
    near = (low, high)[end]
    found = plainest(low, high, near)
    assert low <= found <= high and len(repr(found)) <= len(repr(near)) + 2


def test_the_plainest_number_is_whole_where_a_whole_one_fits():
    assert plainest(0.0, 17.307692307692307, 17.307692307692307) == 17.0
    assert plainest(0.31, 0.39, 0.31) == 0.31 and plainest(0.312, 0.39, 0.312) == 0.32
