"""`workbench compare`: one line a fault, JSON alone where asked, the report where named."""

from __future__ import annotations

import json

import pytest

from workbench.analysis.evaluate.formats import read_run
from workbench.sources.judgements import read_qrels


def test_the_report_its_data_and_the_runs_are_written_and_agree(tiny, run, tmp_path):
    out = tmp_path / "report"
    code, said, err = run(
        "compare", tiny, "--variants", "adr_0005,adr_0172,adr_0172(k=1)", "--queries", "titles", "--metrics", "RR,Success@1", "--out", str(out)
    )
    assert code == 0 and f"Report: {out / 'index.html'}" in said.replace("\n", "") and "7 queries evaluated, 0 skipped" in said
    data = json.loads((out / "comparison.json").read_text())
    assert data["variants"] == ["adr_0005", "adr_0172", "adr_0172(k=1)"] and len(data["per_pair"]) == 6
    runs = {p.name for p in (out / "runs").iterdir()}
    assert runs == {"adr_0005.run", "adr_0172.run", "adr_0172_k_1_.run", "qrels.txt"}
    assert len(read_run(out / "runs" / "adr_0172.run").rankings) == len(read_qrels(out / "runs" / "qrels.txt")) == 7


def test_json_is_alone_on_standard_output(tiny, run, monkeypatch):
    monkeypatch.setattr("workbench.cli.options.LINE_EVERY", 0.0)
    code, out, err = run("compare", tiny, "--variants", "adr_0005,adr_0172", "--json", "--pairs", "first")
    data = json.loads(out)
    assert (code, err) == (0, "") and data["evaluated"] == 3 and data["report"] is None
    assert data["metrics"] == ["nDCG@10", "R@100", "RR", "Success@8"]


@pytest.mark.parametrize("width", ["40", "80", "200"])
def test_no_variant_s_name_is_broken_at_any_width(tiny, run, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", width)
    _, out, _ = run("compare", tiny, "--variants", "adr_0172,verbatim_weighted(weight=0.25)", "--quiet")
    heads = [line.split() for line in out.splitlines() if line.strip().startswith("variant ")]
    named = [line for line in out.splitlines() if line.startswith("b  verbatim_weighted(weight=0.25)  ")]
    assert [h[-1] for h in heads] == (["KB"] if width == "200" else ["Judged@10", "KB"]) and len(named) == len(heads)


def test_a_report_s_target_is_looked_at_before_the_work(tiny, run, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr("workbench.analysis.evaluate.compare.compare_variants", lambda *a, **k: pytest.fail("worked first"))
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        code, _, err = run("compare", tiny, "--variants", "adr_0172", "--out", str(out))
        assert code == 2 and "is a file" in err and err.count("\n") == 1
    for target, said in ((tmp_path, "this is a directory"), (tmp_path / "none" / "x.toml", "is not there")):
        code, _, err = run("capture", tiny, "tea", "--target", "1", "-o", str(target))
        assert code == 2 and said in err and not list(tmp_path.parent.glob("*.partial"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--variants", "adr_0005", "--metrics", "nDCG@0"), "unknown metric 'nDCG@0'"),
        (("--variants", "adr_0005", "--queries", "none.tsv"), "the query file is not there"),
        (("--variants", "adr_0005,nope"), "unknown variant 'nope'"),
        (("--variants", "adr_0005", "--slices", "colour"), "no query has the attribute 'colour'"),
        (("--variants", "adr_0005", "--pairs", "some"), "pairs are all or first"),
        (("--variants", ""), "no variant is named"),
    ],
)
def test_what_a_user_can_mend_is_one_line_and_exit_code_2(tiny, run, arguments, said):
    code, out, err = run("compare", tiny, "--quiet", *arguments)
    assert code == 2 and out == "" and err.startswith("workbench: ") and said in err and err.count("\n") == 1


def test_a_file_of_ones_own_is_known_to_every_command(tiny, run, tmp_path, monkeypatch):
    mine = tmp_path / "mine.py"
    mine.write_text(
        "from workbench.retrieval.custom import channel\n\n"
        "@channel\ndef by_id(query, ctx, *, limit: int = 5):\n    return sorted(ctx.stores.catalog.ids_where({}, limit))\n"
    )
    monkeypatch.setenv("WORKBENCH_OWN", str(mine))
    code, out, _ = run("compare", tiny, "--variants", "adr_0172,adr_0172+by_id,by_id", "--json")
    data = json.loads(out)
    assert code == 0 and data["listed"]["adr_0172+by_id"]["by_id"] == 3 and data["listed"]["by_id"] == {"by_id": 3}
    mine.write_text("1 / 0\n")
    code, out, err = run("compare", tiny, "--variants", "adr_0172")
    assert code == 2 and "ZeroDivisionError" in err and "mine.py:1" in err


def test_a_run_that_was_written_is_evaluated_and_compared_again(tiny, run, tmp_path):
    other = "semantic(floor=0.9)"
    asked = ("compare", tiny, "--queries", "titles", "--metrics", "RR,AP", "--json", "--variants")
    _, first, _ = run(*asked, f"adr_0172,{other}", "--out", str(tmp_path))
    runs = tmp_path / "runs"
    files = [str(runs / "adr_0172.run"), f"{other}={runs / 'semantic_floor_0.9_.run'}"]
    code, foreign, _ = run("evaluate", *files, "--qrels", str(runs / "qrels.txt"), "--metrics", "RR,AP", "--json")
    assert code == 0
    theirs, ours = json.loads(foreign), json.loads(first)
    assert theirs["per_pair"] == ours["per_pair"] and theirs["verdicts"] == ours["verdicts"]
    code, mixed, _ = run(*asked, "adr_0172", "--run", f"theirs={runs / 'semantic_floor_0.9_.run'}")
    renamed = [{**row, "b": "theirs"} for row in ours["per_pair"]]
    assert code == 0 and json.loads(mixed)["per_pair"] == renamed
    assert json.loads(mixed)["differences"] and [c["variant"] for c in json.loads(mixed)["costs"]] == ["adr_0172"]


def test_the_terminal_shows_the_table_of_the_library(tiny, run):
    import workbench as wb

    _, out, _ = run("compare", tiny, "--variants", "adr_0172,adr_0005", "--metrics", "RR", "--quiet")
    table = repr(wb.compare(tiny, ["adr_0172", "adr_0005"], metrics=["RR"])).splitlines()
    assert [line.split()[:4] for line in table if line[:1] in "ab"] == [
        line.split()[:4] for line in out.splitlines() if line[:3] in ("a  ", "b  ")
    ]
    assert table[-1] in out


@pytest.mark.parametrize("arguments", [("x=a.run", "x=b.run"), ("=a.run",), ("none.run",)])
def test_runs_that_cannot_be_told_apart_or_read_are_refused(run, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    for name in ("a.run", "b.run", "q.qrels"):
        (tmp_path / name).write_text("q Q0 d 1 1 t\n" if name != "q.qrels" else "q 0 d 1\n")
    code, out, err = run("evaluate", *arguments, "--qrels", "q.qrels")
    assert code == 2 and out == "" and err.startswith("workbench: ") and err.count("\n") == 1


def test_a_run_called_as_a_variant_is_refused(tiny, run, tmp_path):
    (tmp_path / "a.run").write_text("q Q0 d 1 1 t\n")
    code, _, err = run("compare", tiny, "--variants", "adr_0005", "--run", f"adr_0005={tmp_path / 'a.run'}", "--quiet")
    assert code == 2 and "both called 'adr_0005'" in err


def test_no_command_wraps_what_is_piped(tiny, run, monkeypatch, tmp_path):
    monkeypatch.delenv("COLUMNS", raising=False)
    (tmp_path / "log.jsonl").write_text(json.dumps({"text": "wörter " * 30}) + "\n")
    commands = {
        "compare": ("compare", tiny, "--variants", "adr_0172,adr_0005", "--quiet"),
        "replay": ("replay", str(tmp_path / "log.jsonl"), "--on", tiny, "--variants", "two_lists,adr_0172", "--quiet"),
        "readers": ("readers",),
        "variants": ("variants",),
        "collections": ("collections",),
        "search": ("search", tiny, "tea"),
    }
    for name, command in commands.items():
        code, out, _ = run(*command)
        monkeypatch.setenv("COLUMNS", "60")
        _, narrow, _ = run(*command)
        monkeypatch.delenv("COLUMNS")
        assert code == 0 and max(map(len, out.splitlines())) > 80, name
        assert narrow.count("\n") > out.count("\n"), name


def test_there_is_one_console():
    from pathlib import Path

    import workbench.cli

    others = [p.name for p in Path(workbench.cli.__file__).parent.glob("*.py") if "Console(" in p.read_text().replace("new_console(", "").replace("Console(stderr=True)", "")]
    assert others == ["options.py"]


def test_progress_is_plain_lines_where_no_terminal_is(monkeypatch, capsys):
    from workbench.cli import options as console

    monkeypatch.setattr(console, "LINE_EVERY", 0.0)
    with console.progress_bar("searching", quiet=False) as report:
        report(1, 4)
        report(4, 4)
    first, last = capsys.readouterr().err.splitlines()
    assert first.startswith("searching 1 of 4, about ") and last == "searching 4 of 4, about 0 s left"
    with console.progress_bar("searching", quiet=True) as report:
        assert report is None
