"""Ties: the range over two sorted orders is the range over all orders, tried one by one."""

from itertools import groupby, permutations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.analysis.evaluate.metrics import (
    MONOTONE,
    Tie,
    metric_range,
    per_query,
    split_by,
    ties,
)
from workbench.errors import BadParameter

METRICS = ("nDCG@3", "nDCG", "RR", "RR@2", "R@3", "AP", "AP@3", "P@3", "P(rel=2)@3", "Success@2", "Rprec",
           "SetP", "Bpref", "IPrec@0.5", "Judged@3", "infAP", "nDCG(gains={1:3})@3")  # fmt: skip


def all_orders(scored):
    groups = [[d for d, _ in group] for _, group in groupby(scored, key=lambda pair: pair[1])]
    for parts in product(*(permutations(g) for g in groups)):
        yield [d for part in parts for d in part]


SCORED = st.lists(st.sampled_from([0.0, 1.0, 2.0]), max_size=6).map(
    lambda scores: [(f"d{i}", s) for i, s in enumerate(sorted(scores, reverse=True))]
)
GRADES = st.dictionaries(st.sampled_from([f"d{i}" for i in range(8)]), st.integers(-1, 2), min_size=1)


@settings(max_examples=40, deadline=None)
@given(SCORED, GRADES)
def test_the_range_is_exact_over_all_orders_of_the_ties(scored, grades):
    orders = {str(i): order for i, order in enumerate(all_orders(scored))}
    every = per_query(orders, dict.fromkeys(orders, grades), METRICS)
    for metric in METRICS:
        found = metric_range({"q": scored}, {"q": grades}, metric)
        values = every[found.metric].values()
        assert (found.low, found.high) == pytest.approx((min(values), max(values)))
        assert found.low <= found.value <= found.high


def test_every_monotone_measure_is_tried_above():
    assert {m.split("@")[0].split("(")[0] for m in METRICS} >= set(MONOTONE)


def test_ties_have_ranks_from_1():
    assert ties([3, 2, 2, 1, 1, 1, 0]) == [Tie(2, 3, 2), Tie(4, 6, 1)]
    assert ties([3, 2, 1]) == ties([]) == ties([1]) == []
    assert Tie(4, 6, 1).size == 3


def test_a_cut_splits_a_tie_only_when_it_falls_inside():
    scores = [3, 2, 2, 2, 1]
    assert [split_by(scores, k) for k in range(1, 6)] == [None, Tie(2, 4, 2), Tie(2, 4, 2), None, None]


def test_a_range_tells_which_queries_the_ties_moved():
    run = {
        "moved": [("a", 1.0), ("b", 1.0)],
        "still": [("a", 2.0), ("b", 1.0)],
        "equal": [("a", 1.0), ("b", 1.0)],
    }
    grades = {"moved": {"b": 1}, "still": {"b": 1}, "equal": {"a": 1, "b": 1}, "missing": {"a": 1}}
    found = metric_range(run, grades, "Success@1")
    assert found.moved == ("moved",) and found.split == ("moved", "equal")
    assert (found.low, found.value, found.high) == (1 / 4, 1 / 4, 2 / 4)
    assert metric_range({}, {}, "RR").low is None


def test_too_many_orders_are_drawn_by_seed_and_the_range_says_so():
    run, grades = {"q": [(f"d{i}", 1.0) for i in range(6)]}, {"q": {"d0": 1, "d4": 1, "d5": 0}}
    few = metric_range({"q": run["q"][:5]}, grades, "infAP")
    many = metric_range(run, grades, "infAP")
    assert few.exact and not many.exact and many == metric_range(run, grades, "infAP")
    assert many.low < many.high and metric_range(run, grades, "AP").exact


def test_a_depth_cuts_each_order_of_the_ties():
    run, grades = {"q": [("a", 1.0), ("b", 1.0), ("c", 1.0)]}, {"q": {"c": 1}}
    found = metric_range(run, grades, "AP", depth=2)
    assert (found.low, found.value, found.high) == (0, 0, 1)


@pytest.mark.parametrize("scores", [[1, 2], [1, float("nan")], [float("nan"), 1]])
def test_scores_that_rise_or_are_no_numbers_are_refused(scores):
    with pytest.raises(BadParameter, match="score of rank 1"):
        ties(scores)
