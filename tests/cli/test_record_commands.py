"""`new-record`, `verify` and `ledger diff`: exit codes that can gate a pull request, JSON alone on standard output."""

import json

import pytest
import typer
from helpers.made_record import made_project
from typer.testing import CliRunner

from workbench.analysis.ledger.ledger import BadLedger, DifferentInputs, Ledger, Row
from workbench.analysis.ledger.record import BadRecord, load_record
from workbench.analysis.ledger.run import code_hash, record_code
from workbench.analysis.ledger.verify import BadMark
from workbench.cli.record import register
from workbench.errors import BadParameter
from workbench.reporting.new_record import AlreadyThere


def call(*arguments):
    app = typer.Typer()
    register(app)
    app.callback()(lambda: None)
    found = CliRunner().invoke(app, [str(a) for a in arguments])
    if found.exception and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found


def ledger_of(project, measured=8, **header):
    record = load_record("made-up", project)
    rows = (
        Row("M01", "says", "arith", {}, 0, {"score": 1 / 61}, "HOLDS", "on paper"),
        Row("M02", "says", "count", 7, 0, measured, "DIFFERS", "the trace"),
        Row("M03", "says", "ratio", {}, 0, {"seconds": 1.3}, "HOLDS", "here", timing=("",)),
    )
    code = {"workbench": code_hash(), **record_code(record)}
    return Ledger({"record": "made-up", "inputs": {}, "parameters": {}, "code": code, **header}, rows)


@pytest.fixture
def project(tmp_path, monkeypatch, home):
    monkeypatch.chdir(made_project(tmp_path, "plain"))
    (tmp_path / "reports" / "made-up").mkdir(parents=True)
    ledger_of(tmp_path).write(tmp_path / "reports" / "made-up")
    return tmp_path


def verify(project, text, *more):
    (project / "decision.md").write_text(text, encoding="utf-8")
    return call("verify", "made-up", "--text", "decision.md", *more)


def test_figures_that_agree_end_with_code_0_and_name_what_is_not_marked(project):
    found = verify(project, "<!-- claim:M01.score -->0.0164, <!-- claim:M02 -->8 calls")
    assert (found.exit_code, found.stderr) == (0, "")
    assert found.stdout == "2 figures: 2 agree\nNot marked: M03\n"


def test_a_figure_that_differs_ends_with_code_1_and_its_line(project):
    found = verify(project, "# Title\n\nIt makes <!-- claim:M02 -->7 calls.")
    assert found.exit_code == 1
    assert "decision.md:3: M02 differs: written 7, measured 8\n1 figure: 1 differs\n" in found.stdout


def test_a_mark_that_names_nothing_ends_with_code_2_even_beside_one_that_differs(project):
    found = verify(project, "<!-- claim:M02 -->7 <!-- claim:M09 -->7")
    assert found.exit_code == 2
    assert "M09 names nothing: the ledger has no claim M09" in found.stdout and "M02 differs" in found.stdout


def test_a_duration_is_told_and_never_gates(project):
    found = verify(project, "<!-- claim:M03.seconds -->2.1 s")
    assert found.exit_code == 0 and "a duration, differs: written 2.1, measured 1.3" in found.stdout


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("<!-- claim:M04.ms -->2.1", 0), ("<!-- claim:M04.ratio -->1.9", 1), ("<!-- claim:M04.calls -->8", 1),
        ("<!-- claim:M04@verdict -->HOLDS", 1), ("<!-- claim:M04.ratio within 60 % -->1.9", 0),
        ("<!-- claim:M04.calls -->7 <!-- claim:M04@verdict -->DIFFERS <!-- claim:M04.ms -->9", 0),
        ("<!-- claim:M05 -->9", 0), ("<!-- claim:M04.cals -->7", 2),
    ],
)  # fmt: skip
def test_of_a_timed_row_only_a_duration_may_be_wrong(project, text, code):
    measured = {"ms": 1.5, "ratio": 1.2, "calls": 7}
    timed = Row("M04", "says", "ratio", {"ratio": {"at_most": 1.1}}, 0, measured, "DIFFERS", "here",
                timing=("ms",), timing_ratios=("ratio",), cause="duration")  # fmt: skip
    old = Row("M05", "says", "count", 7, 0, 8, "DIFFERS", "here", superseded="adr-0200")
    ledger = ledger_of(project)
    Ledger(ledger.header, (*ledger.rows, timed, old)).write(project / "reports" / "made-up")
    assert verify(project, text).exit_code == code


def test_verify_as_json_stands_alone(project):
    found = verify(project, "<!-- claim:M02 -->7", "--json")
    told = json.loads(found.stdout)
    assert found.exit_code == 1 and told["record"] == "made-up" and told["unmarked"] == ["M01", "M03"]
    assert told["figures"] == [{"file": "decision.md", "line": 1, "mark": "M02", "status": "differs", "written": "7",
                                "measured": 8, "why": "written 7, measured 8"}]  # fmt: skip


def test_several_texts_are_checked_together(project):
    (project / "more.md").write_text("<!-- claim:M02 -->9")
    found = verify(project, "<!-- claim:M02 -->8", "--text", "more.md")
    assert found.exit_code == 1 and "more.md:1: M02 differs" in found.stdout and "2 figures: 1 agrees, 1 differs" in found.stdout


def test_a_run_before_the_last_change_is_told_to_be_old(project):
    record = project / "records" / "made_up" / "record.toml"
    record.write_text(record.read_text().replace("expected = 7", "expected = 8"))
    (project / "made_measures.py").write_text("# changed\n" + (project / "made_measures.py").read_text())
    found = verify(project, "<!-- claim:M02 -->8")
    assert found.exit_code == 0
    assert found.stderr == "Changed since that run: the claims, the measures. Reproduce the record again\n"
    assert json.loads(verify(project, "<!-- claim:M02 -->8", "--json").stdout)["stale"] == ["record", "measures"]


@pytest.mark.parametrize(
    ("text", "more", "error", "told"),
    [
        ("no figure at all", (), BadMark, "no figure is marked"), ("<!-- claim M02 -->8", (), BadMark, "is no mark"),
        ("<!-- claim:M02 -->8", ("--text", "gone.md"), BadParameter, "cannot be read"),
        ("<!-- claim:M02 -->8", ("--ledger", "gone.json"), BadLedger, "workbench reproduce"),
    ],
)  # fmt: skip
def test_a_check_that_could_not_fail_is_refused(project, text, more, error, told):
    with pytest.raises(error, match=told):
        verify(project, text, *more)


def test_another_records_ledger_is_refused(project):
    ledger_of(project, record="other").write(project)
    with pytest.raises(BadMark, match="that of 'other'"):
        verify(project, "<!-- claim:M02 -->8", "--ledger", "ledger.json")


def test_an_unknown_record_is_refused(project):
    with pytest.raises(BadRecord, match="Known: made-up"):
        call("verify", "nothing", "--text", "decision.md")


def diff(project, after, *more):
    (project / "later").mkdir(exist_ok=True)
    after.write(project / "later")
    return call("ledger", "diff", "reports/made-up", "later", *more)


def test_equal_runs_end_with_code_0(project):
    found = diff(project, ledger_of(project))
    assert (found.exit_code, found.stdout) == (0, "made-up: nothing changed\n")


def test_a_change_ends_with_code_1_and_names_its_cause(project):
    found = diff(project, ledger_of(project, 9, versions={"duckdb": "2"}))
    assert found.exit_code == 1
    assert found.stdout.splitlines() == [
        "made-up: 1 claim changed, and of what the two runs stood on only versions differ", "  versions",
        "    versions: nothing → {'duckdb': '2'}", "M02  measured: 8 → 9",
    ]  # fmt: skip


def test_other_inputs_are_refused_unless_it_is_meant(project):
    after = ledger_of(project, 9, inputs={"pydoc": {"content": "ab"}})
    with pytest.raises(DifferentInputs, match="the inputs differ: pydoc"):
        diff(project, after)
    found = diff(project, after, "--across-inputs", "--json")
    told = json.loads(found.stdout)
    assert found.exit_code == 1 and told["causes"] == ["inputs"] and told["changed"] is True
    assert told["changes"] == [{"id": "M02", "path": "measured", "before": 8, "after": 9, "timing": False}]
    assert told["differing"]["inputs"][0]["path"] == "pydoc"


def test_a_new_record_says_what_it_made_and_what_comes_next(project, monkeypatch):
    monkeypatch.chdir(project / "notebooks")
    found = call("new-record", "Fresh notes first")
    assert "records/fresh_notes_first/record.toml" in found.stdout
    assert found.stdout.splitlines()[-1] == f"Next: cd {project} && workbench reproduce fresh-notes-first"
    assert (project / "notebooks" / "fresh_notes_first.ipynb").exists()
    with pytest.raises(AlreadyThere):
        call("new-record", "Fresh notes first")


def test_a_new_record_goes_where_it_is_told_and_says_so_as_json(project):
    told = json.loads(call("new-record", "Fresh", "--in", project / "elsewhere", "--id", "own", "--json").stdout)
    assert told["record"] == "own" and told["files"][0] == "records/own/record.toml"
    assert (project / "elsewhere" / told["files"][0]).exists()
