"""Runs from files: what is exported is worth the same elsewhere, and what comes in is evaluated as ours."""

import gzip
import json

import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.analysis.evaluate.compare import evaluate_runs
from workbench.reporting.pages.comparison import write_runs

TREC_NAMES = {
    "nDCG@10": "ndcg_cut_10", "nDCG": "ndcg", "AP": "map", "AP@3": "map_cut_3", "RR": "recip_rank", "R@2": "recall_2",
    "P@3": "P_3", "Rprec": "Rprec", "Success@2": "success_2", "Bpref": "bpref", "infAP": "infAP",
    "IPrec@0.5": "iprec_at_recall_0.50",
}  # fmt: skip
ASKED = {"ndcg_cut.10", "ndcg", "map", "map_cut.3", "recip_rank", "recall.2", "P.3", "Rprec", "success.2", "bpref",
         "infAP", "iprec_at_recall.0.50"}  # fmt: skip
IDS = st.sampled_from([f"d{i}" for i in range(9)])
QUERIES = st.sampled_from(["q1", "q2", "q3", "10", "9"])
RUNS = st.dictionaries(QUERIES, st.dictionaries(IDS, st.sampled_from([0.0, 0.5, 1.0]), min_size=1), min_size=1)
GRADES = st.dictionaries(QUERIES, st.dictionaries(IDS, st.integers(-1, 2), min_size=1), min_size=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("foreign")


def put(path, value):
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


@settings(max_examples=20, deadline=None)
@given(run=RUNS, grades=GRADES.filter(lambda g: any(max(of.values()) > 0 for of in g.values())))
def test_an_exported_run_is_worth_the_same_to_pytrec_eval(folder, run, grades):
    found = evaluate_runs(
        {"x": put(folder / "x.json", run)}, put(folder / "q.json", grades), metrics=list(TREC_NAMES), resamples=1
    )
    write_runs(folder / "out/runs", found)
    with (folder / "out/runs/x.run").open() as lines:
        theirs = pytrec_eval.parse_run(lines)
    with (folder / "out/runs/qrels.txt").open() as lines:
        qrels = pytrec_eval.parse_qrel(lines)
    values = pytrec_eval.RelevanceEvaluator(qrels, ASKED).evaluate(theirs)
    ours = {m: v for m, v in found.comparison.per_variant.select("metric", "value").rows()}
    for metric, name in TREC_NAMES.items():
        mean = sum(of[name] for of in values.values()) / len(qrels)
        assert ours[metric] == pytest.approx(mean, abs=1e-6), metric


@pytest.mark.parametrize("name", ["run.txt", "run.txt.gz", "run.json", "run.json.gz"])
def test_a_run_is_worth_the_same_in_every_format(folder, name):
    run = {"q1": {"b": 2.0, "a": 1.0}, "q2": {"c": 0.5}}
    trec = "".join(f"{q} Q0 {d} 1 {s} t\n" for q, of in run.items() for d, s in of.items())
    text = json.dumps(run) if "json" in name else trec
    data = text.encode()
    (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    qrels = put(folder / "qrels.tsv", "query-id\tcorpus-id\tscore\nq1\ta\t1\nq2\tc\t2\n")
    found = evaluate_runs({"x": folder / name}, qrels, metrics=["RR"])
    assert found.comparison.per_variant["value"].to_list() == [0.75]


def test_missing_queries_are_0_and_extra_ones_left_out_and_both_counted(folder):
    run = put(folder / "few.json", {"q1": {"a": 1}, "other": {"a": 1}, "bare": {"a": 1}})
    qrels = put(folder / "q.txt", "q1 0 a 1\nq2 0 a 1\nq3 0 a 1\nbare 0 a 0\n")
    found = evaluate_runs({"x": run}, qrels, metrics=["RR"])
    row = found.comparison.per_variant.to_dicts()[0]
    assert (row["value"], row["n"], row["missing"], row["extra"], row["skipped"]) == (1 / 3, 3, 2, 1, 1)
    assert "x: queries that are not in the run, counted as 0: 2" in found.notes
    assert "x: queries of the run that are not in the judged set, left out: 1" in found.notes


def test_ties_are_reported_with_the_range_of_each_metric(folder):
    run = put(folder / "tied.json", {"q1": {"a": 1, "b": 1, "c": 1}, "q2": {"b": 2, "a": 1}})
    found = evaluate_runs(
        {"x": run, "y": put(folder / "even.json", {"q1": {"a": 2, "b": 1}})},
        put(folder / "t.txt", "q1 0 b 1\nq2 0 a 1\n"), metrics=["RR", "Success@1"],
    )  # fmt: skip
    assert set(found.ranges) == {"x"}
    of = found.ranges["x"]["RR"]
    assert (of.low, of.value, of.high) == pytest.approx(((1 / 3 + 1 / 2) / 2, 1 / 2, 3 / 4))
    assert any("RR is 0.5000 in the order of the file and 0.4167 to 0.7500" in note for note in found.notes)
    assert [(r["variant"], r["metric"]) for r in found.to_dict()["tie_ranges"]] == [("x", "RR"), ("x", "Success@1")]


def test_ids_with_blanks_are_exported_as_json_and_read_back(folder):
    run = put(folder / "blank.json", {"q 1": {"notes/a b.md": 2, "c": 1}})
    found = evaluate_runs({"my run": run}, put(folder / "blank-q.json", {"q 1": {"notes/a b.md": 1}}))
    write_runs(folder / "blank/runs", found)
    again = evaluate_runs({"my run": folder / "blank/runs/my_run.json"}, folder / "blank/runs/qrels.json")
    assert again.to_frame().equals(found.to_frame())


def test_texts_of_queries_make_slices_and_name_the_unjudged(folder):
    queries = put(folder / "texts.jsonl", "".join(json.dumps({"_id": f"q{i}", "text": "tea" * (i % 2) or "a b c"}) + "\n" for i in range(30)))
    qrels = put(folder / "many.txt", "".join(f"q{i} 0 d{i} 1\n" for i in range(28)))
    found = evaluate_runs(
        {n: put(folder / f"{n}.json", {f"q{i}": {f"d{i}": 1} for i in range(0, 28, s)}) for n, s in (("x", 1), ("y", 2))},
        qrels, queries, metrics=["RR"],
    )  # fmt: skip
    assert found.comparison.n == 28 and found.comparison.skipped.height == 2
    assert not found.comparison.per_slice.is_empty() and found.differences[0].text == "tea"
