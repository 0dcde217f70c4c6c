"""The commands: load, ask, decide, rules, settings, log; JSON and nothing else where it is asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from helpers.matching import cassette, chat, chat_answer
from typer.testing import CliRunner

from workbench.cli import app
from workbench.errors import WorkbenchError


@pytest.fixture
def source(tmp_path: Path, home: Path) -> Path:
    folder = tmp_path / "recorded"
    folder.mkdir()
    held = cassette((chat("what is the weather in Rome"), chat_answer("sunny")), (chat("x"), "<html>"))
    (folder / "a.yaml").write_text(yaml.safe_dump(held))
    return folder


def run(*args: str, code: int = 0, stdin: str | None = None) -> str:
    found = CliRunner().invoke(app, ["matching", *args], input=stdin)
    if isinstance(found.exception, WorkbenchError):
        raise found.exception
    assert found.exit_code == code, found.output
    return found.stdout


def loaded(source: Path) -> dict:
    return json.loads(run("load", str(source), "--as", "demo", "--json"))


def body(text: str, path: Path) -> str:
    path.write_text(json.dumps(chat(text)))
    return str(path)


def test_load_says_what_was_read_and_what_was_left_out(source):
    report = loaded(source)
    assert (report["recordings"], report["entries"], report["formats"]) == (1, 1, {"openai-chat": 1})
    assert report["skipped"] == [
        {"file": "a.yaml", "number": 2, "reason": "the answer is neither JSON nor an event stream"}
    ]
    told = run("load", str(source), "--as", "demo")
    assert "1 recordings, 0 new entries" in told and "a.yaml no. 2" in told
    assert json.loads(run("list", "--json"))["demo"]["entries"] == 1


def test_ask_serves_from_a_file_or_standard_input_and_exits_1_on_a_miss(source, tmp_path):
    loaded(source)
    asked = body("what is the weather in Rome", tmp_path / "r.json")
    assert "sunny" in run("ask", "demo", asked)
    served = json.loads(run("ask", "demo", "-", "--json", stdin=Path(asked).read_text()))
    assert (served["tier"], served["answer"]["text"]) == ("exact", "sunny")
    missed = json.loads(run("ask", "demo", "hello", "--json", code=1))
    assert not missed["served"] and [s["verdict"] for s in missed["steps"]] == ["miss"] * 4


def test_the_queue_is_listed_and_decided_by_command(source, tmp_path):
    loaded(source)
    near = body("what is the weather in Paris", tmp_path / "near.json")
    waiting = json.loads(run("ask", "demo", near, "--json", code=1))["candidates"]
    (listed,) = json.loads(run("queue", "demo", "--json"))
    assert [listed["id"]] == waiting and listed["request"] == "what is the weather in Paris"
    assert "asked  what is the weather in Paris" in run("queue", "demo")
    assert json.loads(run("approve", "demo", str(waiting[0]), "--by", "ann", "--json"))["decided_by"] == "ann"
    assert json.loads(run("ask", "demo", near, "--json"))["tier"] == "alias"
    assert "is rejected" in run("reject", "demo", str(waiting[0]))
    with pytest.raises(WorkbenchError, match="rejected already"):
        run("reject", "demo", str(waiting[0]))
    assert "no candidate is open" in run("queue", "demo")
    states = [c["state"] for c in json.loads(run("queue", "demo", "--state", "all", "--json"))]
    assert states == ["rejected"]


def test_rules_are_shown_tried_and_added(source, tmp_path):
    loaded(source)
    told = json.loads(run("rules", "--test", "to ann@example.org at 2026-11-11T09:58:01Z", "--json"))
    assert told["test"].endswith("at <time>") and "ann@" not in told["test"]
    mine = tmp_path / "mine.toml"
    mine.write_text('[[rule]]\nname = "ticket"\npattern = "T-[0-9]+"\nreplace = "<ticket>"\n')
    assert "ticket" in run("rules", "demo", "--add", str(mine), "--to", "scrubbing")
    assert json.loads(run("rules", "demo", "--test", "see T-42", "--json"))["test"] == "see <ticket>"
    with pytest.raises(WorkbenchError, match="no rule set"):
        run("rules", "demo", "--add", str(mine), "--to", "nothing")


def test_settings_are_shown_with_their_source_and_changed(source):
    loaded(source)
    assert "ADR-0003" in run("settings", "demo")
    changed = json.loads(
        run("settings", "demo", "serve=0.97", "gates=[]", "tail_n=2", "index=scan", "--json")
    )
    assert (changed["serve"], changed["gates"], changed["tail_n"], changed["index"]) == (0.97, [], 2, "scan")
    assert json.loads(run("settings", "demo", "--json")) == changed
    with pytest.raises(WorkbenchError, match="NAME=VALUE"):
        run("settings", "demo", "serve")


def test_the_log_tells_why(source):
    loaded(source)
    run("ask", "demo", "hello", code=1)
    (row,) = json.loads(run("log", "demo", "--json"))
    assert row["outcome"] == "miss" and row["steps"][0][0] == "exact"
    assert "no entry has this request" in run("log", "demo")


@pytest.mark.parametrize("name", ["nowhere", "../up", "", "a/b"])
def test_a_library_that_is_not_there_or_no_name_is_an_error(home, name):
    with pytest.raises(WorkbenchError):
        run("ask", name, "hello")


def test_a_file_that_is_no_library_is_an_error_and_stays(home):
    path = home / "matching" / "other.sqlite"
    path.parent.mkdir(parents=True)
    path.write_text("not a database at all, but a text that is long enough to be looked at" * 20)
    before = path.read_bytes()
    with pytest.raises(WorkbenchError, match="not a matching library"):
        run("ask", "other", "hello")
    assert path.read_bytes() == before


def test_a_damaged_library_is_an_error_that_names_it(source, tmp_path, home):
    loaded(source)
    path = home / "matching" / "demo.sqlite"
    held = bytearray(path.read_bytes())
    held[4096:] = b"\xa5" * (len(held) - 4096)
    path.write_bytes(held)
    with pytest.raises(WorkbenchError, match=r"cannot be used.*demo\.sqlite"):
        run("ask", "demo", "hello")


def test_hostile_text_is_shown_as_text(source, tmp_path):
    hostile = chat("what is the weather in \x1b[31mRome\u202e <script>")
    (source / "b.yaml").write_text(yaml.safe_dump(cassette((hostile, chat_answer("\x1b]0;title\x07")))))
    loaded(source)
    path = tmp_path / "h.json"
    path.write_text(json.dumps(hostile))
    told = (
        run("ask", "demo", str(path))
        + run("ask", "demo", body("what is the weather in Oslo", path), code=1)
        + run("queue", "demo")
    )
    assert "\x1b" not in told and "\u202e" not in told and "\\x1b" in told


def test_a_source_without_one_call_is_an_error_and_leaves_no_library(home, tmp_path, source):
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"foo": 1}\n{"foo": 2}\n')
    for location, said in ((bad, r"no recorded call was read \(2 skipped: the line has neither"), (tmp_path / "none.jsonl", "none.jsonl")):
        with pytest.raises(WorkbenchError, match=said):
            run("load", str(location), "--as", "c2")
        assert not list((home / "matching").iterdir())
    loaded(source)
    with pytest.raises(WorkbenchError, match="no recorded call"):
        run("load", str(bad), "--as", "demo")
    assert json.loads(run("list", "--json"))["demo"]["entries"] == 1


@pytest.mark.parametrize("request_", ["nofile.json", "nofile.JSONL", "./nofile", "", "  ", "FOLDER"])
def test_what_was_meant_as_a_file_is_no_question_and_is_not_logged(source, tmp_path, request_):
    loaded(source)
    with pytest.raises(WorkbenchError, match="no such file|is empty|is a directory"):
        run("ask", "demo", str(tmp_path) if request_ == "FOLDER" else request_)
    assert json.loads(run("log", "demo", "--json")) == []
    run("ask", "demo", "what is in package.json", code=1)
