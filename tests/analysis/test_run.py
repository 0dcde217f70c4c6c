"""The run object: every claim gets a row whatever its measure does, and what a report cannot show is refused."""

import json
import sys

import altair as alt
import numpy as np
import polars as pl
import pytest
from helpers.made_record import enter_project

from workbench.analysis.canonical import NotJson
from workbench.analysis.ledger.blocks import CHART_ROWS, TABLE_ROWS, BadBlock
from workbench.analysis.ledger.ledger import Ledger
from workbench.analysis.ledger.record import BadRecord
from workbench.analysis.ledger.run import OUT_VARIABLE, open_run
from workbench.analysis.ledger.verdict import NoVerdict

ROWS = [{"rank": r, "score": 1 / (60 + r)} for r in range(1, 9)]


@pytest.fixture
def project(tmp_path, monkeypatch, home):
    yield enter_project(monkeypatch, tmp_path)
    sys.modules.pop("made_measures", None)


@pytest.fixture
def run(project):
    return open_run("made-up", out=project / "out", limit=8)


def chart(rows=ROWS, **fields):
    return alt.Chart(alt.Data(values=rows), **fields).mark_line().encode(x="rank:Q", y="score:Q")


def test_a_row_says_what_was_expected_and_what_was_found(run):
    row = run.measure("M01")
    assert (row.verdict, row.where, row.kind) == ("HOLDS", "on paper", "arith")
    assert (row.expected, row.measured, row.tolerance) == ({"score": 0.0164}, {"score": 1 / 61}, 0.00005)
    assert run.measure("M02").verdict == "DIFFERS" and run.row("M02").note == "expected 7, measured 8"


@pytest.mark.parametrize(
    ("second", "note"),
    [
        ("raises", "ZeroDivisionError: integer division"),
        ("forgets", "NoVerdict: made_measures:forgets returned int"),
    ],
)
def test_a_measure_that_fails_leaves_its_row_without_a_verdict_and_the_others_whole(
    tmp_path, monkeypatch, home, second, note, capsys
):
    enter_project(monkeypatch, tmp_path, second=second)
    run = open_run("made-up", out=tmp_path / "out", limit=8)
    run.measure_all()
    ledger = run.finish()
    assert [r.verdict for r in ledger.rows] == ["HOLDS", None, "HOLDS"]
    assert ledger.row("M02").note.startswith(note) and not ledger.whole
    assert Ledger.read(tmp_path / "out") == ledger
    assert "M02 NO VERDICT" in capsys.readouterr().out


def test_an_unmeasured_claim_fails_the_build_by_its_id(run):
    run.measure_all(["M01", "M03"])
    assert [(r.id, r.note) for r in run.finish().failed] == [("M02", "not measured")]


def test_measuring_all_leaves_what_is_measured_alone_and_prints_the_rest(run, capsys):
    first = run.measure("M03")
    run.measure_all()
    assert [line[:3] for line in capsys.readouterr().out.splitlines()] == ["M01", "M02"]
    assert run.row("M03") == first


def test_the_rows_stand_in_the_order_of_the_record(run):
    for claim in ("M03", "M01", "M02"):
        run.measure(claim)
    assert [r.id for r in run.ledger().rows] == ["M01", "M02", "M03"]


def test_a_value_is_computed_once_a_run_and_a_failure_is_tried_again(run):
    calls = []

    def compute():
        calls.append(1)
        return 1 // (len(calls) - 1)

    with pytest.raises(ZeroDivisionError):
        run.once("key", compute)
    assert [run.once("key", compute), run.once("key", compute)] == [1, 1]
    assert len(calls) == 2


def test_a_measure_that_is_not_there_is_found_before_the_run(project):
    text = (project / "records/made_up/record.toml").read_text()
    (project / "records/made_up/record.toml").write_text(
        text.replace("made_measures:clock", "made_measures:missing")
    )
    with pytest.raises(BadRecord, match="made_measures:missing.*claim M03"):
        open_run("made-up")


def test_parameters_are_plain_and_the_seed_is_one_of_them(project):
    run = open_run("made-up", out=project / "out", limit=np.int64(3), seed=np.int64(7))
    assert dict(run.params) == {"limit": 3, "seed": 7} and run.seed == 7
    assert type(run.params["limit"]) is int
    assert run.ledger().header["seeds"] == {"seed": 7}
    with pytest.raises(NotJson, match="parameters.limit"):
        open_run("made-up", limit={1, 2})


def test_two_runs_give_the_same_ledger_but_for_timings(project):
    ledgers = []
    for _ in range(2):
        run = open_run("made-up", out=project / "out", limit=8)
        run.measure_all()
        ledgers.append(run.finish())
    assert ledgers[0].row("M03").measured != ledgers[1].row("M03").measured
    assert ledgers[0].without_timings().json() == ledgers[1].without_timings().json()


def test_no_path_of_the_machine_stands_in_a_ledger(run, project):
    run.measure_all()
    run.finish()
    assert str(project) not in (project / "out" / "ledger.json").read_text()


def test_by_hand_a_run_writes_under_the_home_and_launched_where_it_is_told(project, home, monkeypatch):
    assert open_run("made-up").out == home / "runs" / "made-up"
    monkeypatch.setenv(OUT_VARIABLE, str(project / "told"))
    assert open_run("made-up").out == project / "told"


def test_an_input_that_changes_during_the_run_is_refused(run):
    run.input("corpus", content="aa")
    run.input("corpus", content="aa")
    with pytest.raises(BadBlock, match="'corpus' changed"):
        run.input("corpus", content="bb")
    assert run.ledger().header["inputs"] == {"corpus": {"content": "aa"}}


def test_an_opened_collection_is_opened_once_and_its_hashes_are_inputs(run, tiny):
    first = run.open(tiny)
    assert run.open(tiny) is first
    assert run.inputs == {tiny: first.inputs} and len(first.inputs["content"]) == 64


def test_the_story_keeps_its_order_and_its_section(run, project):
    run.story("Before.")
    run.chart("scores", chart(), "Scores.", section="Why", claims="M01")
    run.story("After.")
    run.table("ranks", pl.DataFrame({"a": [1, None]}), claims=["M01", "M02"])
    run.finish()
    blocks = json.loads((project / "out" / "charts.json").read_text())["blocks"]
    assert [(b["kind"], b["section"], b["claims"]) for b in blocks] == [
        ("text", "", []), ("chart", "Why", ["M01"]), ("text", "Why", []), ("table", "Why", ["M01", "M02"])
    ]  # fmt: skip
    assert blocks[3]["content"] == {"columns": ["a"], "rows": [[1], [None]]}
    assert blocks[1]["content"]["data"]["values"] == ROWS


def test_a_chart_carries_no_theme_of_the_notebook(run, project):
    from workbench.reporting.theme import enable_theme

    enable_theme()
    run.chart("scores", chart())
    run.finish()
    spec = json.loads((project / "out" / "charts.json").read_text())["blocks"][0]["content"]
    assert "config" not in spec


def test_a_chart_is_returned_for_the_notebook_to_show(run):
    made = chart()
    assert run.chart("scores", made) is made


@pytest.mark.parametrize(
    ("made", "fault"),
    [
        (lambda: alt.Chart("https://example.invalid/x.json").mark_bar(), "reads 'https://example.invalid/x.json'"),
        (lambda: chart() | alt.Chart("rows.csv").mark_bar().encode(x="a:Q"), "reads 'rows.csv'"),
        (lambda: chart(ROWS * (CHART_ROWS // 8 + 1)), "5,008 rows.*Aggregate"),
        (lambda: alt.Chart(pl.DataFrame({"rank": range(CHART_ROWS + 1)})).mark_bar().encode(x="rank"), "more than 5,000 rows"),
        (lambda: "a picture", "cannot make this chart"),
        (lambda: chart([{"rank": 1, "score": float("nan")}]), "nan"),
    ],
)  # fmt: skip
def test_a_chart_that_a_page_without_network_cannot_show_is_refused_by_its_name(run, made, fault):
    with pytest.raises((BadBlock, NotJson), match=f"(?s){fault}|the-name.*{fault}"):
        run.chart("the-name", made())


def test_a_table_that_nobody_would_read_is_refused(run):
    with pytest.raises(BadBlock, match="501 rows"):
        run.table("long", pl.DataFrame({"a": range(TABLE_ROWS + 1)}))
    with pytest.raises(BadBlock, match="a polars DataFrame, not dict"):
        run.table("wrong", {"a": [1]})


@pytest.mark.parametrize("name", ["", "Two Words", 'a"b', "1st", "a/b", "ș"])
def test_a_name_is_an_anchor_or_refused(run, name):
    with pytest.raises(BadBlock, match="the name"):
        run.chart(name, chart())


def test_a_chart_for_an_unknown_claim_is_refused(run):
    with pytest.raises(BadRecord, match="no claim 'M99'"):
        run.chart("scores", chart(), claims=["M99"])


def test_by_hand_a_cell_may_run_twice_and_its_chart_stays_in_place(run):
    run.chart("scores", chart(), "first")
    run.story("After.")
    run.chart("scores", chart(), "second")
    assert [(b.name, b.caption) for b in run._blocks] == [("scores", "second"), ("", "")]


def test_in_a_launched_run_a_name_stands_once(project, monkeypatch):
    monkeypatch.setenv(OUT_VARIABLE, str(project / "out"))
    run = open_run("made-up")
    run.chart("scores", chart())
    with pytest.raises(BadBlock, match="two charts or tables are named 'scores'"):
        run.chart("scores", chart())


def test_a_row_that_was_not_measured_is_no_row(run):
    with pytest.raises(NoVerdict, match="M01 was not measured"):
        run.row("M01")


DECLARED = """
from workbench.analysis.ledger.verdict import Measured, returns

@returns("rank", "score")
def found(run):
    return Measured({"rank": 3, "score": 0.5}, "here")

def undeclared(run):
    return Measured({"rank": 3}, "here")
"""
CLAIM = """
title = "Declared"
text = "t"
notebook = "notebooks/plain.ipynb"

[[claims]]
id = "D01"
statement = "s"
kind = "behaviour"
measure = "declared_measures:found"
"""


def declared(project, monkeypatch, claim):
    monkeypatch.delitem(sys.modules, "declared_measures", raising=False)
    (project / "declared_measures.py").write_text(DECLARED)
    (project / "records" / "made_up" / "record.toml").write_text(CLAIM + claim)


@pytest.mark.parametrize("claim", ["expected = { rnak = 3 }", 'expected = { rank = 3 }\nif_differs = "It is {rnak}th."'])
def test_a_misspelt_key_is_found_before_the_run(project, monkeypatch, claim):
    declared(project, monkeypatch, claim)
    with pytest.raises(BadRecord, match="'rnak', which is not measured; there are rank, score.*D01"):
        open_run("made-up")


def test_an_undeclared_misspelt_key_lists_what_was_measured(project, monkeypatch):
    declared(project, monkeypatch, "expected = { rnak = 3 }")
    file = project / "records" / "made_up" / "record.toml"
    file.write_text(file.read_text().replace(":found", ":undeclared"))
    row = open_run("made-up", out=project / "out").measure("D01")
    assert row.verdict is None and "not measured: rnak" in row.note and "Measured were: rank" in row.note


def test_a_difference_is_explained_with_the_measured_value(project, monkeypatch):
    declared(project, monkeypatch, 'expected = { rank = 1 }\nif_differs = "It is {rank}rd, still on the page."')
    assert open_run("made-up", out=project / "out").measure("D01").explanation == "It is 3rd, still on the page."


def test_evidence_is_declared_and_not_measurable_replaces_it(project, monkeypatch):
    declared(project, monkeypatch, 'expected = { rank = 3 }\nevidence = "on paper"')
    assert open_run("made-up", out=project / "out").measure("D01").evidence == "on paper"
    file = project / "records" / "made_up" / "record.toml"
    file.write_text(file.read_text().replace('"behaviour"', '"production"'))
    assert open_run("made-up", out=project / "out").measure("D01").evidence == "not measurable here"


def test_a_key_that_needs_the_full_size_is_open_in_a_reduced_run(project, monkeypatch):
    declared(project, monkeypatch, 'expected = { rank = 1, score = 0.5 }\nneeds_full = ["rank"]')
    verdicts = [open_run("made-up", out=project / "out", size=s).measure("D01").verdict for s in ("full", "small")]
    assert verdicts == ["DIFFERS", "INCONCLUSIVE"]


def test_a_superseded_claim_needs_no_measure_and_fails_no_build(project, monkeypatch):
    declared(project, monkeypatch, 'expected = { rnak = 3 }\nsuperseded = "adr-0200"')
    run = open_run("made-up", out=project / "out")
    row = run.measure("D01")
    assert row.verdict is None and row.shown == "SUPERSEDED" and run.ledger().whole


@pytest.mark.parametrize(
    ("claim", "fault"),
    [
        ('expected = 1\nevidence = "seen"', "unknown evidence 'seen'"),
        ('expected = { a = 1 }\nneeds_full = ["b"]', "'needs_full' must be a list of keys of 'expected'"),
        ('expected = { a = 1 }\nindependent = ["a"]', "'independent' belongs to evidence"),
        ('expected = 1\nif_differs = "{"', "'if_differs' is no format text"),
    ],
)  # fmt: skip
def test_a_wrong_key_of_a_claim_is_refused_by_name(project, monkeypatch, claim, fault):
    declared(project, monkeypatch, claim)
    with pytest.raises(BadRecord, match=fault):
        open_run("made-up")
