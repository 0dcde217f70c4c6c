"""The interval covers, the test does not cry wolf, and everything mirrors when the sides are swapped."""

from itertools import product
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from workbench.analysis.evaluate.significance import (
    LEAST_QUERIES,
    holm,
    intervals,
    paired,
    paired_rows,
    randomisation_p,
)
from workbench.errors import BadParameter

# Values that nDCG takes often, and a second variant that changes 40 % of the queries, mostly upwards.
LEVELS = np.array([0.0, 0.387, 0.431, 0.5, 0.631, 1.0])
UPWARDS = np.array([0.1, 0.15, 0.15, 0.2, 0.2, 0.2])
CHANGED = 0.4
TRUTH = CHANGED * (LEVELS @ UPWARDS - LEVELS.mean())
SIMULATIONS = 1_000


def simulated(rng, n):
    a = rng.choice(LEVELS, size=(SIMULATIONS, n))
    b = np.where(rng.random((SIMULATIONS, n)) < CHANGED, rng.choice(LEVELS, size=a.shape, p=UPWARDS), a)
    return b - a


def binomial_bounds(rate, sure=0.9999):
    return stats.binom.interval(sure, SIMULATIONS, rate)


@pytest.mark.parametrize("n", [50, 200])
def test_the_interval_covers_the_truth_in_about_95_percent_of_simulated_comparisons(n):
    bounds = intervals(simulated(np.random.default_rng(11), n), seed=3, resamples=1_999)
    covered = sum(low <= TRUTH <= high for low, high in bounds)
    # A bootstrap at 50 queries is allowed to miss its promise by one and a half percent, not by more.
    assert binomial_bounds(0.935)[0] <= covered <= binomial_bounds(0.965)[1]


@pytest.mark.parametrize("n", [12, 40])
def test_the_randomisation_test_is_wrong_in_at_most_about_5_percent_of_equal_variants(n):
    rng = np.random.default_rng(7)
    a, b = rng.choice(LEVELS, size=(2, SIMULATIONS, n))
    found = [randomisation_p(row, seed=1, resamples=499) for row in b - a]
    low, high = binomial_bounds(0.05)
    # Ties among the values make the exact test of few queries a little too careful, never too bold.
    assert (low if n == 40 else low / 2) <= sum(p <= 0.05 for p in found) <= high


def test_a_real_difference_is_found():
    rng = np.random.default_rng(2)
    a = rng.random(100)
    found = paired(a, np.clip(a + rng.normal(0.1, 0.1, 100), 0, 1), seed=1)
    assert found.p < 0.001 and found.low > 0.05 and found.wins > found.losses


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from([float(v) for v in LEVELS]), min_size=1, max_size=30))
def test_a_variant_against_itself_is_a_tie_on_every_query(values):
    found = paired(values, values, seed=5)
    assert (found.wins, found.ties, found.losses) == (0, len(values), 0)
    assert found.p == 1.0 and found.difference == 0.0 and found.differing == 0
    assert found.resolution is None and found.effect is None


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(*[st.sampled_from([0.0, 0.25, 0.5, 1.0])] * 2), min_size=2, max_size=40))
def test_swapping_the_sides_mirrors_the_result(pairs):
    a, b = zip(*pairs, strict=True)
    one, other = paired(a, b, seed=9, resamples=499), paired(b, a, seed=9, resamples=499)
    assert one.difference == -other.difference and one.p == other.p
    assert (one.wins, one.losses, one.ties) == (other.losses, other.wins, other.ties)
    if one.low is not None:
        assert (one.low, one.high) == pytest.approx((-other.high, -other.low), abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(-3, 3), min_size=1, max_size=8))
def test_with_few_queries_p_is_exact_over_all_sign_patterns(differences):
    patterns = list(product((-1, 1), repeat=len(differences)))
    as_far = sum(
        abs(sum(s * d for s, d in zip(signs, differences, strict=True))) >= abs(sum(differences))
        for signs in patterns
    )
    assert randomisation_p(np.array(differences, float)) == pytest.approx(as_far / len(patterns))


def test_p_never_falls_below_its_floor():
    found = paired([0.0] * 6, [1.0] * 6)
    assert found.p == found.p_floor == 2 / 2**6
    many = paired(np.zeros(50), np.ones(50), resamples=999)
    assert many.p == many.p_floor == 1 / 1000


def test_equal_seeds_give_equal_results_and_other_seeds_nearly():
    rng = np.random.default_rng(4)
    a, b = rng.random(60), rng.random(60)
    assert paired(a, b, seed=1) == paired(a, b, seed=1)
    one, other = paired(a, b, seed=1), paired(a, b, seed=2)
    assert one != other and one.p == pytest.approx(other.p, abs=0.03)


def test_one_query_gives_a_difference_and_no_interval():
    found = paired([0.0], [1.0])
    assert (found.n, found.difference, found.wins) == (1, 1.0, 1)
    assert (found.low, found.high, found.resolution, found.p) == (None, None, None, 1.0)


def test_no_query_gives_nothing_but_counts():
    found = paired([], [])
    assert (found.n, found.difference, found.p, found.low, found.wins, found.ties) == (
        0,
        None,
        None,
        None,
        0,
        0,
    )


def test_an_interval_is_given_from_the_least_number_of_queries_on():
    rng = np.random.default_rng(1)
    assert paired(rng.random(LEAST_QUERIES - 1), rng.random(LEAST_QUERIES - 1)).low is None
    found = paired(rng.random(LEAST_QUERIES), rng.random(LEAST_QUERIES))
    assert found.low < found.difference < found.high
    assert found.resolution == pytest.approx((found.high - found.low) / 2)


def test_the_resolution_shrinks_with_the_root_of_the_number_of_queries():
    rng = np.random.default_rng(3)
    small, large = (paired(np.zeros(n), rng.normal(0, 0.2, n)).resolution for n in (100, 1600))
    assert small / large == pytest.approx(4, rel=0.25)


def test_the_tie_width_parts_wins_from_ties():
    a, b = [0.0, 0.0, 0.0, 0.0], [0.05, 0.1, -0.05, -0.2]
    found = paired(a, b, tie_width=0.06)
    assert (found.wins, found.ties, found.losses) == (1, 2, 1)
    assert paired(a, b).ties == 0


def test_the_effect_is_the_difference_in_standard_deviations():
    found = paired([0.0, 0.0, 0.0], [0.1, 0.2, 0.3])
    assert found.effect == pytest.approx(0.2 / 0.1)


def test_rows_give_what_each_gives_alone():
    rows = np.random.default_rng(6).choice([-0.5, 0.0, 0.0, 0.5, 1.0], size=(3, 30))
    together = paired_rows(rows, seed=2, resamples=499)
    assert together == [paired_rows(row[None, :], seed=2, resamples=499)[0] for row in rows]


@pytest.mark.parametrize(
    "bad", [{"tie_width": -1}, {"resamples": 0}, {"confidence": 1.0}, {"confidence": 0.0}], ids=str
)
def test_a_setting_out_of_range_is_refused(bad):
    with pytest.raises(BadParameter, match="out of range"):
        paired([0.0], [1.0], **bad)


def test_values_of_other_queries_or_without_a_number_are_refused():
    with pytest.raises(BadParameter, match="same queries"):
        paired([0.0], [1.0, 2.0])
    for value in (float("nan"), inf):
        with pytest.raises(BadParameter, match="finite"):
            paired([0.0], [value])


def test_holm_equals_the_example_worked_by_hand():
    # 0.01*4 = 0.04; 0.03*3 = 0.09; 0.04*2 = 0.08, raised to 0.09; 0.05*1 = 0.05, raised to 0.09.
    assert holm([0.04, 0.01, 0.05, 0.03]) == pytest.approx([0.09, 0.04, 0.09, 0.09])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([None, 0.01, None, 0.02]) == [None, 0.02, None, 0.02]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1)))
def test_holm_lies_between_the_raw_p_and_bonferroni_and_keeps_the_order(p_values):
    found = holm(p_values)
    for p, corrected in zip(p_values, found, strict=True):
        assert p <= corrected <= min(1.0, p * len(p_values)) or corrected == pytest.approx(p)
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    assert [found[i] for i in order] == sorted(found)
