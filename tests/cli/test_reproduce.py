"""`workbench reproduce`: exit codes, JSON alone on standard output, and one broken record that hides no other."""

import json

import pytest
import typer
from helpers.made_record import made_project
from typer.testing import CliRunner

from workbench.analysis.ledger.record import BadRecord
from workbench.cli.record import register_reproduce
from workbench.errors import BadParameter


@pytest.fixture
def project(tmp_path, monkeypatch, home):
    monkeypatch.chdir(made_project(tmp_path))
    made_project(tmp_path, "plain")
    return tmp_path


def call(*arguments):
    app = typer.Typer()
    register_reproduce(app)
    app.callback()(lambda: None)
    found = CliRunner().invoke(app, ["reproduce", *arguments])
    if found.exception and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found


def test_a_whole_build_ends_with_code_0_whatever_its_verdicts_say(project):
    found = call("made-up", "-p", "limit=3")
    assert found.exit_code == 0
    assert "M02" in found.stdout and "DIFFERS" in found.stdout and "2 HOLDS · 1 DIFFERS" in found.stdout
    assert (project / "reports" / "made-up" / "index.html").exists()


def test_a_claim_without_a_verdict_ends_with_code_1_and_its_id(project):
    made_project(project, "plain", second="raises")
    found = call("made-up")
    assert found.exit_code == 1
    assert "NO VERDICT" in found.stdout and "no verdict for M02" in found.stdout
    assert not (project / "reports" / "made-up").exists()


def test_json_stands_alone_on_standard_output(project):
    found = call("made-up", "-p", "limit=3", "--json", "--out", str(project / "elsewhere"))
    told = json.loads(found.stdout)
    assert (told["record"], told["whole"], told["header"]["parameters"]) == ("made-up", True, {"limit": 3, "label": ""})
    assert [r["verdict"] for r in told["rows"]] == ["HOLDS", "DIFFERS", "HOLDS"]
    assert (project / "elsewhere" / "made-up" / "ledger.json").exists() and not (project / "reports").exists()


def test_a_broken_record_hides_no_other(project):
    (project / "records" / "a_broken").mkdir()
    (project / "records" / "a_broken" / "record.toml").write_text("title = ")
    found = call("--all", "--json")
    assert found.exit_code == 2
    assert [r["record"] for r in json.loads(found.stdout)] == ["made-up"]
    assert "a-broken" in found.stderr and "not TOML" in found.stderr


@pytest.mark.parametrize(
    ("arguments", "error", "told"),
    [
        ([], BadParameter, "name one record, or --all"), (["made-up", "--all"], BadParameter, "name one record"),
        (["--all", "-p", "limit=3"], BadParameter, "belongs to one record"), (["nothing"], BadRecord, "Known: made-up"),
        (["made-up", "-p", "limit"], BadParameter, "not name=value"), (["made-up", "-p", "=3"], BadParameter, "not name=value"),
        (["made-up", "-p", "limit=3", "-p", "limit=4"], BadParameter, "given twice"),
        (["made-up", "-p", "limit=0123"], BadParameter, "no leading zero"),
        (["made-up", "-p", "limti=3"], BadParameter, "no parameter 'limti'"),
        (["made-up", "--size", "huge"], BadParameter, "unknown size 'huge'"),
    ],
)  # fmt: skip
def test_what_the_user_must_mend_is_said_before_anything_starts(project, arguments, error, told):
    with pytest.raises(error, match=told):
        call(*arguments)
    assert not (project / "reports").exists()


def test_all_records_of_a_project_that_one_is_not_in_are_never_run_unasked(tmp_path, monkeypatch, home):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadParameter, match=r"no project here or above: --all would run the [1-9]\d* records of .*cd "):
        call("--all")


@pytest.mark.parametrize("how", ["by folder", "by a link"])
def test_a_record_outside_the_current_project_is_run_only_with_trust(project, tmp_path_factory, monkeypatch, how):
    other = made_project(tmp_path_factory.mktemp("other"), name="foreign")
    named = folder = next(p.parent for p in other.rglob("record.toml"))
    if how == "by a link":
        (project / "records" / folder.name).symlink_to(folder)
        named = "foreign"
    with pytest.raises(BadParameter, match="outside the current project.*pass --trust"):
        call(str(named), "-p", "limit=3")
    assert not list(project.rglob("foreign/index.html"))
    def runs(record, *_, **__):
        raise LookupError(record.id)

    monkeypatch.setattr("workbench.cli.record._one", runs)
    with pytest.raises(LookupError, match="foreign"):
        call(str(named), "--trust")
