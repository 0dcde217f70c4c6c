"""The benchmark harness: rows replace their own, a missed limit is marked, a failure takes no other along."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from workbench.errors import BadParameter

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def harness(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    import benchmarks.harness as module

    monkeypatch.setattr(module, "_BENCHMARKS", {})
    monkeypatch.setattr(module, "iter_modules", lambda _: ())
    return module


def row(harness, name, value=1.0, **more):
    return harness.Row(name, value, "×", machine="here", **more)


def test_a_limit_is_kept_on_its_own_side_only(harness):
    assert harness.at_most(1.5).kept(1.5) and not harness.at_most(1.5).kept(1.51)
    assert harness.at_least(8).kept(8) and not harness.at_least(8).kept(7.9)
    assert not harness.at_most(1).kept(float("nan")) and not harness.at_least(1).kept(float("nan"))
    for limit in (harness.at_most(1.5), harness.at_least(8)):
        assert harness.Limit.parse(str(limit)) == limit


def test_rows_are_written_read_back_and_replaced_by_their_own_benchmark(harness, tmp_path):
    rows = [
        row(harness, "load/both", 1.2, limit=harness.at_most(1.5), against="the engines"),
        row(harness, "search/p50"),
    ]
    harness.write_results(rows, tmp_path)
    assert harness.read_results(tmp_path) == rows
    assert set(json.loads((tmp_path / "results.json").read_text())[0]) == {
        "name", "value", "limit", "unit", "against", "n", "machine",
    }  # fmt: skip
    again = {"search": [row(harness, "search/p95", 3.0)]}
    assert [r.name for r in harness.merged(rows, again, ["load", "search"])] == ["load/both", "search/p95"]
    assert [r.name for r in harness.merged(rows, {"load": []}, ["load", "search"])] == ["search/p50"]
    assert [r.name for r in harness.merged(rows, {}, ["search"])] == ["search/p50"]


def test_a_value_that_misses_its_limit_is_marked_in_the_table(harness):
    rows = [
        row(harness, "a/kept", 1.4, limit=harness.at_most(1.5)),
        row(harness, "a/missed", 7, limit=harness.at_least(8)),
        row(harness, "a/free", 9),
    ]
    assert [r.missed for r in rows] == [False, True, False]
    lines = harness.table(rows).splitlines()
    assert [("missed**" in line) for line in lines if line.startswith("| a/")] == [False, True, False]


def test_a_benchmark_that_fails_is_told_and_the_others_still_run(harness):
    @harness.benchmark("broken")
    def broken():
        raise OSError("no engine")
        yield

    @harness.benchmark("whole")
    def whole():
        yield harness.Row("whole/one", 2, "s")

    found = dict(harness.measure())
    assert isinstance(found["broken"], OSError) and [r.name for r in found["whole"]] == ["whole/one"]
    assert found["whole"][0].machine == harness.machine()
    assert [name for name, _ in harness.measure(["whole"])] == ["whole"]


def test_a_row_of_another_name_and_an_unknown_benchmark_are_refused(harness):
    @harness.benchmark("one")
    def one():
        yield harness.Row("two/x", 1, "s")

    assert "two/x" in str(dict(harness.measure())["one"])
    with pytest.raises(BadParameter, match="unknown benchmark 'nope'.*one"):
        next(harness.measure(["nope"]))
    for name in ("one", "a/b"):
        with pytest.raises(BadParameter, match="taken or holds a slash"):
            harness.benchmark(name)(one)


def test_damaged_results_are_named_and_not_overwritten(harness, tmp_path):
    (tmp_path / "results.json").write_text('[{"name": 1}]')
    with pytest.raises(harness.ResultsDamaged, match="results.json"):
        harness.read_results(tmp_path)
    assert harness.read_results(tmp_path / "none") == []


def test_a_ratio_runs_both_sides_in_turn_and_is_their_median(harness):
    ran, now = [], [0.0]

    def side(name, cost):
        def run():
            ran.append(name)
            now[0] += cost

        return run

    assert harness.ratio(side("a", 3.0), side("b", 2.0), turns=3, clock=lambda: now[0]) == 1.5
    assert ran == ["a", "b", "b", "a", "a", "b"]


def test_the_command_names_its_benchmarks_and_refuses_an_unknown_one():
    def run(*args):
        command = [sys.executable, "-m", "benchmarks", *args]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)

    assert "import" in run("--list").stdout.split()
    refused = run("nope")
    assert refused.returncode == 2 and "unknown benchmark 'nope'" in refused.stdout


def test_comparing_counts_the_engine_calls_of_its_searches(tiny, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.comparing import compare_over_engine
    from workbench.retrieval.search import open_collection

    with open_collection(tiny) as collection:
        whole, engine, n = compare_over_engine(collection, 3)
    assert n == 3 and 0 < engine < whole
