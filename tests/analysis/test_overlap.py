"""Rank-biased overlap by its definition, and the simpler measures beside it."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.analysis.evaluate.rankings import (
    first_difference,
    kendall_tau,
    overlap,
    overlap_at,
    overlap_table,
    rbo,
    rbo_weight,
)
from workbench.errors import BadParameter

LISTS = st.lists(st.integers(0, 12), unique=True, max_size=10)


def rbo_by_equation_32(a, b, p):
    """Webber, Moffat, Zobel 2010, equation 32, term by term in exact fractions."""
    short, long = sorted((a, b), key=len)
    s, n = len(short), len(long)

    def common(depth):
        return len(set(short[:depth]) & set(long[:depth]))

    first = sum(Fraction(common(d), d) * p**d for d in range(1, n + 1))
    second = sum(Fraction(common(s) * (d - s), s * d) * p**d for d in range(s + 1, n + 1))
    last = (Fraction(common(n) - common(s), n) + Fraction(common(s), s)) * p**n
    return (1 - p) / p * (first + second) + last


@settings(max_examples=100, deadline=None)
@given(
    LISTS.filter(len),
    LISTS.filter(len),
    st.sampled_from([Fraction(1, 2), Fraction(9, 10), Fraction(98, 100)]),
)
def test_rbo_equals_equation_32_in_exact_fractions(a, b, p):
    assert rbo(a, b, p=float(p)) == pytest.approx(float(rbo_by_equation_32(a, b, p)), abs=1e-12)


@settings(max_examples=50, deadline=None)
@given(LISTS, LISTS)
def test_rbo_is_symmetric_between_0_and_1_and_1_only_for_the_same_order(a, b):
    found = rbo(a, b)
    assert found == rbo(b, a) and -1e-12 <= found <= 1 + 1e-12
    if a and b:
        shorter = min(len(a), len(b))
        assert (found > 1 - 1e-9) == (a[:shorter] == b[:shorter])


def test_rbo_of_lists_without_a_common_document_and_of_empty_lists():
    assert rbo([1, 2, 3], [4, 5]) == 0.0
    assert rbo([], []) == 1.0 and rbo([], [1]) == rbo([1], []) == 0.0


def test_the_published_example_lists_have_the_published_overlap_at_every_depth():
    # The worked example of Webber et al. 2010: agreement at each depth, and its running average.
    s, t = "abcdefg", "zcavwxy"
    at_depth = [overlap_at(s, t, k) for k in range(1, 8)]
    assert at_depth == pytest.approx([0, 0, 2 / 3, 2 / 4, 2 / 5, 2 / 6, 2 / 7])
    average = [sum(at_depth[:k]) / k for k in range(1, 8)]
    assert [round(v, 3) for v in average] == [0, 0, 0.222, 0.292, 0.313, 0.317, 0.312]


def test_the_published_weight_of_the_first_ten_ranks():
    # Webber et al. 2010: with p = 0.9 the first ten ranks have 86 % of the weight.
    assert rbo_weight(10, p=0.9) == pytest.approx(0.86, abs=0.005)
    # From the definition: rank i counts in every depth d >= i, with (1 - p) p^(d-1) / d each time.
    p = 0.9
    share = sum((1 - p) * p ** (d - 1) / d for i in range(1, 9) for d in range(i, 2_000))
    assert rbo_weight(8, p=p) == pytest.approx(share, abs=1e-9)


def test_a_swap_at_the_top_costs_more_than_one_further_down():
    base = list(range(10))
    top, bottom = [1, 0, *base[2:]], [*base[:8], 9, 8]
    assert rbo(base, top) < rbo(base, bottom) < 1


@settings(max_examples=50, deadline=None)
@given(LISTS, LISTS)
def test_tau_counts_pairs_of_common_documents_in_the_same_order(a, b):
    common = [x for x in a if x in b]
    pairs = [(x, y) for i, x in enumerate(common) for y in common[i + 1 :]]
    signs = [1 if b.index(x) < b.index(y) else -1 for x, y in pairs]
    found = kendall_tau(a, b)
    assert found is None if not pairs else found == pytest.approx(sum(signs) / len(signs))


def test_the_first_difference_is_a_rank_from_1():
    assert first_difference("abc", "abc") is None
    assert first_difference("abc", "abd") == 3
    assert first_difference("abc", "ab") == first_difference("ab", "abc") == 3
    assert first_difference("", "a") == 1


def test_the_overlap_of_short_pages_is_over_the_longer_one():
    assert overlap_at("abc", "abc", 8) == 1.0
    assert overlap_at("abc", "ab", 8) == pytest.approx(2 / 3)
    assert overlap_at("", "", 8) == 1.0 and overlap_at("a", "", 8) == 0.0


def test_everything_about_two_rankings():
    found = overlap("abcd", "abdx", k=2)
    assert (found.common, found.only_a, found.only_b) == (3, 1, 1)
    assert (found.first_difference, found.at_k, found.tau) == (3, 1.0, pytest.approx(1.0))


def test_the_table_has_a_row_for_each_pair_and_query():
    runs = {"a": {"q": ["x"], "r": ["x"]}, "b": {"q": ["x"]}, "c": {}}
    table = overlap_table(runs)
    assert table.select("a", "b", "query_id").rows()[:2] == [("a", "b", "q"), ("a", "b", "r")]
    assert table.height == 5 and table["rbo"].to_list() == [1.0, 0.0, 0.0, 0.0, 0.0]
    assert overlap_table({"a": {}}).height == 0


@pytest.mark.parametrize("p", [0, 1, -1, 2])
def test_a_persistence_outside_0_to_1_is_refused(p):
    with pytest.raises(BadParameter, match="persistence"):
        rbo("ab", "ab", p=p)


def test_a_document_twice_and_a_page_of_nothing_are_refused():
    with pytest.raises(BadParameter, match="'a' stands twice"):
        rbo("aba", "ab")
    with pytest.raises(BadParameter, match="at least 1"):
        overlap_at("ab", "ab", 0)
