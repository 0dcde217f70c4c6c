"""Two variants side by side, on one query and over a set."""

import pytest
from helpers.made_collection import Document, documents, made_collection, queries
from helpers.made_variants import variants
from hypothesis import given, settings

from workbench.analysis.evaluate.judged import judge
from workbench.analysis.evaluate.rankings import compare_over, compare_results, rbo, scored_runs
from workbench.errors import BadParameter
from workbench.retrieval.channels import lexical, semantic
from workbench.retrieval.fusions import rrf
from workbench.retrieval.policies import any_term
from workbench.retrieval.variant import Variant
from workbench.sources.base import JudgedQuery, Qrel

SETTINGS = settings(max_examples=60, deadline=None)
BOTH = Variant("both", rrf(), lexical(policy=any_term()), semantic())
NEAR = Variant("near", rrf(), semantic=semantic())
DOCS = [Document(n, text, f"d{n}", "a", angle) for n, (text, angle) in enumerate(
    [("red", 90), ("red red", 60), ("blue", 30), ("green", 0), ("red blue", 45), ("red blue", 45)], 1)]  # fmt: skip
ASKED = [JudgedQuery("q1", "red"), JudgedQuery("q2", "green"), JudgedQuery("q3", "the")]


@SETTINGS
@given(documents(), queries, variants(), variants())
def test_rows_are_both_first_pages_with_each_sides_ranks(docs, text, left, right):
    collection = made_collection(docs)
    a, b = collection.search(text, left), collection.search(text, right)
    found = compare_results(a, b, first=3)
    assert [r.id for r in found.rows] == list(dict.fromkeys([*a.fused.ids[:3], *b.fused.ids[:3]]))
    for row in found.rows:
        for side, result in ((row.left, a), (row.right, b)):
            assert side.rank == result.rank_of(row.id)
            assert side.ranks == {r.name: r.ranks()[row.id] for r in result.lists if row.id in r.ids}
    assert found.overlap.rbo == rbo(a.fused.ids, b.fused.ids)
    same = compare_results(a, a)
    assert same.overlap.first_difference is None and all(r.left == r.right for r in same.rows)


def test_another_query_is_refused():
    collection = made_collection(DOCS)
    with pytest.raises(BadParameter, match="one query"):
        compare_results(collection.search("red", BOTH), collection.search("blue", BOTH))


def test_a_set_has_the_most_different_queries_first_and_equal_ones_last():
    collection = made_collection(DOCS)
    found = compare_over(collection, ASKED, BOTH, NEAR, first=2)
    assert found.table["rbo"].is_sorted() and found.table["query_id"][-1] == "q3"  # no terms: both are the nearest
    assert found.table.filter(query_id="q3")["first_difference"].to_list() == [None] and found.ranges == {}


def test_ties_that_the_cut_splits_are_counted_and_move_the_metric():
    collection = made_collection(DOCS)
    judged = judge(ASKED, [Qrel("q1", "d5", 1), Qrel("q2", "d4", 1)])
    found = compare_over(collection, ASKED, BOTH, NEAR, first=4, judged=judged, metric="RR")
    runs = scored_runs(collection, ASKED, [NEAR])["near"]["q1"]
    tied = [d for d, score in runs if score == dict(runs)["d5"]]
    assert found.ranges["near"].low <= found.ranges["near"].value <= found.ranges["near"].high
    assert len(tied) == 1 and set(found.table["split_right"]) == {0}


def test_two_variants_of_one_name_are_refused():
    with pytest.raises(BadParameter, match="named 'both'"):
        compare_over(made_collection(DOCS), ASKED, BOTH, BOTH)


def test_a_tie_over_the_cut_is_found_where_two_lists_mirror_each_other():
    # d1 is first by words and second by vector, d2 the other way round: equal sums, and a cut after 1 splits them.
    docs = [Document(1, "red red", "d1", "a", 30), Document(2, "red red blue", "d2", "a", 0)]
    found = compare_over(made_collection(docs), ASKED[:1], BOTH, NEAR, first=1, judged=judge(ASKED[:1], [Qrel("q1", "d2", 1)]), metric="RR")
    assert found.table["split_left"].to_list() == [2] and found.table["split_right"].to_list() == [0]
    assert (found.ranges["both"].low, found.ranges["both"].high) == (0.5, 1.0)
