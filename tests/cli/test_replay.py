"""`workbench replay` and `workbench tune`: JSON alone where asked, a gate as an exit code, one line a fault."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "queries.jsonl"
    path.write_text("".join(json.dumps({"q": t}) + "\n" for t in ("ferry harbour", "green tea", "zzz qqq", "green tea")))
    return str(path)


def test_what_changed_is_told_with_the_command_that_explains_it(tiny, run, log, tmp_path):
    out = tmp_path / "report"
    code, said, _ = run("replay", log, "--on", tiny, "--variants", "semantic,lexical_bm25", "--first", "3", "--out", str(out), "--quiet")
    flat = " ".join(said.split())
    assert code == 0 and "4 rows, 3 distinct queries, on tiny" in flat and "newly empty" in flat
    assert "workbench explain tiny --target point:" in said and "not say what was shown" in flat
    assert {p.name for p in out.iterdir()} == {"index.html", "replay.json", "changes.jsonl"}


def test_json_is_alone_and_the_gate_is_an_exit_code(tiny, run, log):
    arguments = ("replay", log, "--on", tiny, "--first", "3", "--json")
    code, out, err = run(*arguments, "--variants", "semantic,lexical_bm25", "--most-changed", "1")
    data = json.loads(out)
    assert (code, err, data["exit_code"]) == (1, "", 1) and data["pairs"][0]["emptied"] == 1
    assert data["worst"][0]["emptied"] and data["worst"][0]["reasons"]
    assert run(*arguments, "--variants", "adr_0172,adr_0172(k=59)", "--most-changed", "1")[0] == 0
    assert run(*arguments, "--variants", "semantic,lexical_bm25")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("replay", "none.jsonl", "--on", "tiny", "--variants", "adr_0172"), "the log is not there"),
        (("replay", "LOG", "--on", "nope", "--variants", "adr_0172"), "no collection 'nope'"),
        (("replay", "LOG", "--on", "tiny", "--variants", "nope"), "unknown variant 'nope'"),
        (("replay", "LOG", "--on", "tiny", "--variants", "adr_0172", "--map", "text"), "not one ROLE=COLUMN"),
        (("replay", "LOG", "--on", "tiny", "--variants", "adr_0172", "--map", "text=foo", "--most-changed", "0"), "no row has the column 'foo'"),
        (("replay", "EMPTY", "--on", "tiny", "--variants", "adr_0172", "--most-changed", "0"), "the log holds no query (it has no rows)"),
        (("replay", "LOG", "--on", "tiny", "--variants", "adr_0172", "--out", "LOG"), "is a file"),
        (("tune", "tiny", "--out", "LOG"), "is a file"),
        (("replay", "LOG", "--on", "tiny", "--variants", "adr_0172", "--shown", "rows"), "must be documents or points"),
        (("tune", "tiny"), "queries to tune on, 10 are needed"),
        (("tune", "tiny", "--variant", "semantic", "--grid", "k=1,2"), "has no parameter 'k'"),
        (("tune", "tiny", "--grid", "k="), "not one parameter=values"),
    ],
)
def test_what_a_user_can_mend_is_one_line_and_exit_code_2(tiny, run, log, arguments, said):
    empty = log.replace("queries", "empty")
    with open(empty, "w"):
        pass
    code, out, err = run(*({"LOG": log, "EMPTY": empty}.get(a, a) for a in arguments), "--quiet")
    assert code == 2 and out == "" and said in err and err.count("\n") == 1


def test_two_judges_are_compared(run, tmp_path):
    (tmp_path / "a.qrels").write_text("q 0 x 2\nq 0 y 0\nq 0 z 1\n")
    (tmp_path / "b.qrels").write_text("q 0 x 0\nq 0 y 0\nq 0 w 1\n")
    judges = str(tmp_path / "a.qrels"), str(tmp_path / "b.qrels")
    code, out, _ = run("agreement", *judges)
    assert code == 0 and "2 pairs judged by both, 50% equal" in out and "2 against 0: query q, document x" in out
    code, out, err = run("agreement", *judges, "--json")
    assert json.loads(out)["table"] == [{"a": 0, "b": 0, "pairs": 1}, {"a": 2, "b": 0, "pairs": 1}] and err == ""
    assert run("agreement", judges[0], "none.qrels")[0] == 2
