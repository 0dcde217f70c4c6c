"""A comparison says what was compared, on how many queries, and what did not fit."""

import json
import random

import pytest

from workbench.analysis.evaluate.comparison import compare
from workbench.analysis.evaluate.judged import judge
from workbench.analysis.evaluate.significance import LEAST_QUERIES, SMALL_SET, holm
from workbench.errors import BadParameter
from workbench.sources.base import JudgedQuery, Qrel

DOCS = [f"d{n}" for n in range(40)]


def query_set(n, **attributes):
    return [JudgedQuery(f"q{i:03}", f"text {i}", {k: f(i) for k, f in attributes.items()}) for i in range(n)]


def run_of(judged, seed, depth=20):
    rng = random.Random(seed)
    return {q: rng.sample(DOCS, depth) for q in judged.ids}


@pytest.fixture(scope="module")
def judged():
    rng = random.Random(1)
    queries = query_set(
        60, language=lambda i: "ro" if i < 5 else "en", number=lambda i: i, long=lambda i: i % 2 == 0
    )
    return judge(
        queries, [Qrel(q.id, d, rng.choice([0, 1, 2])) for q in queries for d in rng.sample(DOCS, 4)], DOCS
    )


@pytest.fixture(scope="module")
def compared(judged):
    runs = {name: run_of(judged, name) for name in ("a", "b", "c")}
    return compare(runs, judged, ["nDCG@10", "Success@8"], seed=3, resamples=499)


def test_a_variant_against_itself_is_a_tie_on_every_query(judged):
    run = run_of(judged, 1)
    found = compare({"one": run, "same": run}, judged, seed=1, resamples=499)
    for row in found.per_pair.to_dicts():
        assert (row["wins"], row["losses"], row["ties"]) == (0, 0, len(judged.ids))
        assert row["p"] == row["p_holm"] == 1.0 and row["difference"] == 0.0
        assert found.most_different("one", "same", row["metric"]).height == 0


def test_the_pair_table_follows_from_the_query_table(compared):
    import polars as pl

    assert compared.per_pair.select("a", "b").unique(maintain_order=True).rows() == [
        ("a", "b"),
        ("a", "c"),
        ("b", "c"),
    ]
    for row in compared.per_pair.to_dicts():
        of = compared.per_query.filter(metric=row["metric"])
        a, b = (of.filter(variant=row[side])["value"] for side in "ab")
        assert row["difference"] == pytest.approx((b - a).mean(), abs=1e-12)
        assert row["wins"] == ((b - a) > compared.tie_width).sum()
        assert row["low"] <= row["difference"] <= row["high"]
        assert row["resolution"] == pytest.approx((row["high"] - row["low"]) / 2)
    assert compared.per_pair["p_holm"].to_list() == holm(compared.per_pair["p"].to_list())
    means = compared.per_query.group_by("variant", "metric").agg(pl.col("value").mean())
    joined = compared.per_variant.join(means, on=["variant", "metric"], suffix="_again")
    assert joined["value"].to_list() == pytest.approx(joined["value_again"].to_list())


def test_judged_stands_beside_every_metric(compared):
    rows = compared.per_variant.to_dicts()
    assert {(r["metric"], r["judged_name"]) for r in rows} == {
        ("nDCG@10", "Judged@10"),
        ("Success@8", "Judged@8"),
    }
    assert all(0 < r["judged"] < 0.3 for r in rows)


def test_equal_inputs_give_equal_data_and_it_is_json(judged, compared):
    again = compare(
        {n: run_of(judged, n) for n in "abc"}, judged, ["nDCG@10", "Success@8"], seed=3, resamples=499
    )
    assert again.to_dict() == compared.to_dict()
    assert json.loads(json.dumps(again.to_dict(), allow_nan=False)) == again.to_dict()


def test_missing_empty_extra_and_skipped_queries_are_counted_and_said():
    queries = query_set(4)
    judged = judge(queries, [Qrel("q000", "d1", 1), Qrel("q001", "d1", 1), Qrel("q002", "d1", 0)])
    runs = {"full": {"q000": ["d1"], "q001": ["d1"]}, "poor": {"q000": [], "q003": ["d1"], "zzz": ["d1"]}}
    found = compare(runs, judged, ["RR"])
    poor = found.per_variant.filter(variant="poor").to_dicts()[0]
    assert (poor["n"], poor["missing"], poor["empty"], poor["extra"], poor["skipped"]) == (2, 1, 1, 1, 1)
    assert poor["value"] == 0.0
    assert found.pair("full", "poor", "RR")["difference"] == -1.0
    assert dict(found.skipped.rows()) == {"q002": "no relevant documents", "q003": "no judgements"}
    said = " | ".join(found.notes)
    for words in (
        "queries skipped, no relevant documents: 1",
        "queries skipped, no judgements: 1",
        "poor: queries that are not in the run, counted as 0: 1",
        "poor: queries without results, counted as 0: 1",
        "poor: queries of the run that are not in the judged set, left out: 1",
    ):
        assert words in said


def test_no_results_at_all_is_zero_everywhere(judged):
    found = compare({"nothing": {}, "empty": {q: [] for q in judged.ids}}, judged, ["nDCG@10"], resamples=99)
    assert found.per_variant["value"].to_list() == [0.0, 0.0]
    assert found.per_variant["judged"].to_list() == [None, None]
    assert found.per_variant["missing"].to_list() == [60 - len(judged.skipped), 0]


def test_one_query_compares_without_an_interval():
    judged = judge(query_set(1), [Qrel("q000", "d1", 1)])
    found = compare({"a": {"q000": ["d2", "d1"]}, "b": {"q000": ["d1"]}}, judged, ["RR"])
    row = found.pair("a", "b", "RR")
    assert row["difference"] == 0.5 and row["low"] is None and row["resolution"] is None and row["p"] == 1.0
    assert any("there is no interval below 10" in warning for warning in found.warnings)


def test_without_a_relevant_document_nothing_is_evaluated_and_nothing_breaks():
    judged = judge(query_set(3), [Qrel("q000", "d1", 0)])
    found = compare({"a": {"q000": ["d1"]}, "b": {}}, judged)
    assert found.n == 0 and found.skipped.height == 3 and found.per_query.height == 0
    assert set(found.per_variant["value"].to_list()) == {None}
    assert found.sentence("a", "b", "RR") == "RR: no query could be evaluated"
    json.dumps(found.to_dict(), allow_nan=False)


def test_one_variant_has_figures_and_no_pair(judged):
    found = compare({"only": run_of(judged, 1)}, judged)
    assert found.per_pair.height == 0 and found.per_variant.height == 4 and found.per_slice.height == 0


def test_slices_have_n_and_an_interval_and_small_ones_are_suppressed(judged, compared):
    rows = compared.per_slice.to_dicts()
    assert {r["attribute"] for r in rows} == {"language", "long"}, "`number` has a value for each query"
    for row in rows:
        ids = [q.id for q in judged.queries if str(q.attributes[row["attribute"]]).lower() == row["label"]]
        assert row["n"] == len(ids)
        assert row["suppressed"] == (len(ids) < LEAST_QUERIES)
        if row["suppressed"]:
            assert row["difference"] is row["low"] is row["high"] is None
        else:
            of = compared.per_query.filter(metric=row["metric"])
            sides = [dict(of.filter(variant=row[s]).select("query_id", "value").rows()) for s in "ab"]
            assert row["difference"] == pytest.approx(sum(sides[1][i] - sides[0][i] for i in ids) / len(ids))
            assert row["low"] <= row["difference"] <= row["high"]
    assert any(r["suppressed"] for r in rows) and not all(r["suppressed"] for r in rows)


def test_a_query_without_the_attribute_is_in_a_slice_of_its_own():
    queries = [
        JudgedQuery("a", "", {"kind": "x"}),
        JudgedQuery("b", "", {}),
        JudgedQuery("c", "", {"kind": None}),
    ]
    judged = judge(queries, [Qrel(q.id, "d", 1) for q in queries])
    found = compare({"one": {}, "two": {}}, judged, ["RR"])
    assert found.per_slice.select("label", "n").rows() == [("(absent)", 2), ("x", 1)]


def test_a_slice_by_an_unknown_attribute_is_refused(judged):
    with pytest.raises(BadParameter, match="'colour'.*language, long, number"):
        compare({"a": {}, "b": {}}, judged, ["RR"], slices=["colour"])


def test_the_queries_that_differ_most_come_first_ties_by_query_id():
    judged = judge(query_set(4), [Qrel(f"q00{i}", "d1", 1) for i in range(4)])
    a = {"q000": ["d1"], "q001": ["d2", "d1"], "q002": ["d2", "d1"], "q003": ["d1"]}
    b = {"q000": ["d1"], "q001": ["d1"], "q002": ["d1"], "q003": ["d2", "d3", "d1"]}
    rows = compare({"a": a, "b": b}, judged, ["RR"]).most_different("a", "b", "RR")
    assert rows["query_id"].to_list() == ["q003", "q001", "q002"]
    assert rows["difference"].to_list() == pytest.approx([-2 / 3, 1 / 2, 1 / 2])
    assert rows["text"].to_list()[0] == "text 3"


def test_the_sentence_names_everything_that_a_reader_has_to_know(compared):
    said = compared.sentence("a", "b", "NDCG@10")
    for words in ("nDCG@10: b − a =", "95% interval", "p =", "Holm", "wins", "ties within 1e-09", "losses",
                  f"{compared.n} queries", "this set resolves"):  # fmt: skip
        assert words in said


def test_a_small_set_is_warned_of():
    n = SMALL_SET - 1
    judged = judge(query_set(n), [Qrel(f"q{i:03}", "d1", 1) for i in range(n)])
    assert any("unreliable below 25" in warning for warning in compare({"a": {}}, judged).warnings)


def test_pairs_can_be_chosen(judged):
    runs = {name: run_of(judged, name) for name in "abc"}
    found = compare(runs, judged, ["RR"], pairs=[("c", "a")], resamples=99)
    assert found.per_pair.select("a", "b").rows() == [("c", "a")]
    with pytest.raises(BadParameter, match="unknown variant 'x'"):
        compare(runs, judged, ["RR"], pairs=[("a", "x")])
    with pytest.raises(BadParameter, match="was not compared.*c / a"):
        found.pair("a", "c", "RR")


def test_nothing_to_compare_is_refused(judged):
    with pytest.raises(BadParameter, match="no run"):
        compare({}, judged)
    with pytest.raises(BadParameter, match="no metric"):
        compare({"a": {}}, judged, [])


def test_hostile_text_is_data():
    nasty = "<script>\x1b[31m\u202e\ud800\0"
    judged = judge([JudgedQuery(nasty, nasty, {nasty: nasty})], [Qrel(nasty, nasty, 1)])
    found = compare({nasty: {nasty: [nasty]}, "b": {}}, judged, ["RR"])
    assert found.per_pair["difference"].to_list() == [-1.0]
    assert "<script>" in json.dumps(found.to_dict())
