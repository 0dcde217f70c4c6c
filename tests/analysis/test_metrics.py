"""Metrics of our own order: what pytrec_eval says of strictly falling scores, for any ids."""

from math import log2

import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.analysis.evaluate.metrics import (
    documents,
    judged_name,
    judged_share,
    mean,
    measure,
    metric_names,
    per_query,
)
from workbench.errors import BadParameter

NAMES = {
    "nDCG@10": "ndcg_cut_10", "nDCG": "ndcg", "R@5": "recall_5", "RR": "recip_rank", "Success@5": "success_5",
    "AP": "map", "P@5": "P_5", "Rprec": "Rprec",
}  # fmt: skip

IDS = [f"d{n:02}" for n in range(15)]
GRADES = st.dictionaries(st.sampled_from(IDS), st.integers(0, 3), min_size=1)
RANKINGS = st.lists(st.sampled_from(IDS), unique=True)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(GRADES, RANKINGS), min_size=1, max_size=4))
def test_metrics_equal_pytrec_eval_on_random_runs(pairs):
    grades = {f"q{i}": g for i, (g, _) in enumerate(pairs)}
    run = {f"q{i}": r for i, (_, r) in enumerate(pairs)}
    scores = {q: {d: float(1000 - rank) for rank, d in enumerate(ids)} for q, ids in run.items()}
    theirs = pytrec_eval.RelevanceEvaluator(grades, set(NAMES.values())).evaluate(scores)
    ours = per_query(run, grades, list(NAMES))
    for name, key in NAMES.items():
        for query in grades:
            assert ours[name][query] == pytest.approx(theirs.get(query, {}).get(key, 0.0), abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(GRADES, RANKINGS)
def test_metrics_equal_their_formulas(grades, ranking):
    found = per_query(
        {"q": ranking}, {"q": grades}, ["nDCG@3", "RR@3", "R@3", "Success@3", "P@3", "Judged@3"]
    )
    page = [grades.get(d) for d in ranking[:3]]
    gains = [g or 0 for g in page]
    relevant = sum(g > 0 for g in grades.values())
    hits = sum(g > 0 for g in gains)

    def dcg(values):
        return sum(g / log2(rank + 1) for rank, g in enumerate(values, 1))

    ideal = dcg(sorted(grades.values(), reverse=True)[:3])
    first = next((rank for rank, g in enumerate(gains, 1) if g), None)
    expected = {
        "nDCG@3": dcg(gains) / ideal if ideal else 0,
        "RR@3": 1 / first if first else 0,
        "R@3": hits / relevant if relevant else 0,
        "Success@3": float(hits > 0),
        "P@3": hits / 3,
        "Judged@3": sum(g is not None for g in page) / len(page) if page else 0,
    }
    assert {name: values["q"] for name, values in found.items()} == pytest.approx(expected)


def test_order_is_ours_and_not_that_of_the_ids():
    grades = {"q": {"m": 1}}
    assert per_query({"q": ["z", "m", "a"]}, grades, ["RR"])["RR"]["q"] == 1 / 2
    assert per_query({"q": ["a", "m", "z"]}, grades, ["RR"])["RR"]["q"] == 1 / 2


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(st.characters(), max_size=4), unique=True, min_size=1, max_size=6), st.data())
def test_any_text_is_an_id_also_nul_and_lone_surrogates(ids, data):
    relevant = data.draw(st.sampled_from(ids))
    for query in ("", "\ud800", "a\0b", "q 1"):
        found = per_query({query: ids}, {query: {relevant: 1}}, ["RR"])
        assert found["RR"] == {query: 1 / (ids.index(relevant) + 1)}


def test_missing_and_empty_queries_are_zero_and_extra_ones_are_left_out():
    grades = {"found": {"a": 1}, "missing": {"a": 1}, "empty": {"a": 1}}
    run = {"found": ["a"], "empty": [], "extra": ["a"]}
    found = per_query(run, grades, ["nDCG@10", "Judged@10"])
    assert found["nDCG@10"] == {"found": 1.0, "missing": 0.0, "empty": 0.0}
    assert found["Judged@10"] == {"found": 1.0, "missing": 0.0, "empty": 0.0}


def test_no_results_at_all_and_no_queries_at_all():
    assert per_query({}, {"q": {"a": 1}}, ["nDCG@10", "Judged@3"]) == {
        "nDCG@10": {"q": 0.0},
        "Judged@3": {"q": 0.0},
    }
    assert per_query({"q": ["a"]}, {}, ["nDCG@10"]) == {"nDCG@10": {}}
    assert mean([]) is None


def test_a_negative_grade_is_judged_and_not_relevant():
    below, zero = {"q": {"a": -1, "b": 2}}, {"q": {"a": 0, "b": 2}}
    names = [*NAMES, "Bpref", "Judged@5"]
    assert per_query({"q": ["a", "c", "b"]}, below, names) == per_query({"q": ["a", "c", "b"]}, zero, names)
    assert per_query({"q": ["a", "c", "b"]}, below, ["Judged@5"])["Judged@5"]["q"] == pytest.approx(2 / 3)


def test_a_document_twice_in_a_ranking_is_refused_with_the_query():
    with pytest.raises(BadParameter, match="'a' stands twice.*query 'q'.*documents"):
        per_query({"q": ["a", "b", "a"]}, {"q": {"a": 1}}, ["RR"])


@pytest.mark.parametrize("ranking", ["abc", [1, 2], [None]])
def test_a_ranking_that_is_not_a_list_of_text_is_refused(ranking):
    with pytest.raises(BadParameter, match="query 'q'"):
        per_query({"q": ranking}, {"q": {"a": 1}}, ["RR"])


@pytest.mark.parametrize(
    "name",
    ["", "nope@3", "nDCG@0", "nDCG@-1", "nDCG@x", "P", "NumQ", "ERR@10", "P@99999999999", "nDCG@10.5", "a\0b",
     "P(rel=0)@5", "nDCG(gains={1:99999999})@5", "Compat(p=2.)", "IPrec", "(" * 300, "Accuracy@5"],
)  # fmt: skip
def test_a_metric_that_cannot_be_computed_is_refused_by_name(name):
    with pytest.raises(BadParameter, match="unknown metric") as caught:
        measure(name)
    assert repr(name) in str(caught.value)


def test_names_are_canonical_and_stand_once():
    assert metric_names(["NDCG@10", "nDCG@10", "MRR", "RR(rel=1)"]) == ("nDCG@10", "RR")
    with pytest.raises(BadParameter, match="list of names"):
        metric_names("nDCG@10")


def test_judged_stands_beside_every_metric_with_its_cutoff():
    assert [judged_name(n) for n in ("Success@8", "RR", "P(rel=2)@5")] == [
        "Judged@8",
        "Judged@10",
        "Judged@5",
    ]
    run, grades = {"p": ["a", "x"], "q": [], "r": ["y"]}, {q: {"a": 1} for q in "pqr"}
    assert judged_share(run, grades, "Success@8") == pytest.approx((1 / 2 + 0) / 2)
    assert judged_share({}, grades, "Success@8") is None


@given(st.lists(st.integers(0, 30)))
def test_a_document_stands_where_its_best_chunk_stood(chunk_ids):
    found = documents(chunk_ids, lambda chunk: f"doc{chunk // 4}")
    assert sorted(found) == sorted({f"doc{chunk // 4}" for chunk in chunk_ids})
    places = [next(i for i, chunk in enumerate(chunk_ids) if f"doc{chunk // 4}" == d) for d in found]
    assert places == sorted(places)


def test_documents_take_a_mapping_too():
    assert documents([3, 1, 2], {1: "a", 2: "b", 3: "b"}) == ("b", "a")
