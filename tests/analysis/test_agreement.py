"""Cohen's kappa by hand and by definition, and two judges of overlapping pools."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.analysis.evaluate.judging import agreement, kappa, named
from workbench.errors import BadParameter
from workbench.sources.base import Qrel

grades = st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 3)), min_size=1, max_size=30)


@pytest.mark.parametrize(
    ("table", "expected"),
    # Two judges of 50 grants (a textbook's example), perfect, none beyond chance, and the most possible against it.
    [({(1, 1): 20, (1, 0): 5, (0, 1): 10, (0, 0): 15}, 0.4), ({(1, 1): 3, (0, 0): 4}, 1.0),
     ({(1, 1): 1, (1, 0): 1, (0, 1): 1, (0, 0): 1}, 0.0), ({(1, 0): 5, (0, 1): 5}, -1.0)],
)  # fmt: skip
def test_known_tables(table, expected):
    pairs = [p for p, n in table.items() for _ in range(n)]
    assert kappa([a for a, _ in pairs], [b for _, b in pairs]) == pytest.approx(expected)


@settings(max_examples=200, deadline=None)
@given(grades, st.sampled_from(["none", "linear", "quadratic"]))
def test_it_is_one_minus_observed_over_expected_disagreement(pairs, weights):
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    power = {"none": 0, "linear": 1, "quadratic": 2}[weights]

    def distance(x, y):
        return 0 if x == y else abs(x - y) ** power

    observed = Fraction(sum(distance(x, y) for x, y in pairs), len(pairs))
    expected = Fraction(sum(distance(x, y) for x, y in product(a, b)), len(pairs) ** 2)
    found = kappa(a, b, weights)
    if expected == 0:
        assert found is None and len(set(a)) == len(set(b)) == 1
    else:
        assert found == pytest.approx(float(1 - observed / expected))
        assert found == pytest.approx(kappa(b, a, weights)) and found <= 1


def test_only_what_both_judged_counts_and_the_rest_is_counted():
    ann = [Qrel("q", d, g) for d, g in (("a", 2), ("b", 0), ("c", 1), ("d", 3))]
    bob = [Qrel("q", d, g) for d, g in (("a", 2), ("b", 3), ("c", 0), ("e", 1), ("f", 1))]
    found = agreement(ann, bob)
    assert (found.both, found.only_a, found.only_b, found.share) == (3, 1, 2, pytest.approx(1 / 3))
    assert [(d.entity_id, d.a, d.b) for d in found.disagreements] == [("b", 0, 3), ("c", 1, 0)]
    assert found.table == {(0, 3): 1, (1, 0): 1, (2, 2): 1} and found.low is None
    assert found.relevant == pytest.approx(-0.5)


def test_without_a_common_pair_or_with_one_grade_it_says_so():
    assert agreement([Qrel("q", "a", 1)], [Qrel("q", "b", 1)]).sentence.startswith("no pair was judged by both")
    same = agreement([Qrel("q", "a", 1), Qrel("q", "b", 1)], [Qrel("q", "a", 1), Qrel("q", "b", 1)])
    assert same.kappa is None and "not defined" in same.sentence


def test_the_interval_holds_kappa_and_is_seeded():
    ann = [Qrel("q", str(n), n % 3) for n in range(60)]
    bob = [Qrel("q", str(n), n % 3 if n % 4 else 0) for n in range(60)]
    found = agreement(ann, bob, resamples=999)
    assert found.low < found.kappa < found.high and (found.low, found.high) == (agreement(ann, bob, resamples=999).low, found.high)
    assert "moderate" in named(0.5) and named(-0.1) == "worse than chance" and named(1.0) == "almost perfect"


def test_two_grades_for_one_pair_and_two_lengths_are_refused():
    with pytest.raises(BadParameter, match="the second judge gave document 'a' two grades"):
        agreement([], [Qrel("q", "a", 1), Qrel("q", "a", 2)])
    with pytest.raises(BadParameter, match="not 1 and 2"):
        kappa([1], [1, 2])
    with pytest.raises(BadParameter, match="unknown weights"):
        kappa([1], [1], "cubic")
