"""`workbench compare`: one line a fault, JSON alone where asked, the report where named."""

from __future__ import annotations

import json

import pytest

from workbench.analysis.formats import read_run
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
    assert runs == {"adr_0005.json", "adr_0172.json", "adr_0172_k_1_.json", "qrels.json"}
    assert len(read_run(out / "runs" / "adr_0172.json").rankings) == len(read_qrels(out / "runs" / "qrels.json")) == 7


def test_json_is_alone_on_standard_output(tiny, run):
    code, out, err = run("compare", tiny, "--variants", "adr_0005,adr_0172", "--json", "--pairs", "first")
    data = json.loads(out)
    assert (code, err) == (0, "") and data["evaluated"] == 3 and data["report"] is None
    assert data["metrics"] == ["nDCG@10", "R@100", "RR", "Success@8"]


@pytest.mark.parametrize("width", ["40", "80", "200"])
def test_no_variant_s_name_is_broken_at_any_width(tiny, run, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", width)
    _, out, _ = run("compare", tiny, "--variants", "adr_0172,verbatim_weighted(weight=0.25)", "--quiet")
    heads = [line.split() for line in out.splitlines() if line.startswith("variant ")]
    named = [line for line in out.splitlines() if line.startswith("verbatim_weighted(weight=0.25)  ")]
    assert [h[-1] for h in heads] == (["KB"] if width == "200" else ["Judged@10", "KB"]) and len(named) == len(heads)


def test_a_report_s_target_is_looked_at_before_the_work(tiny, run, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr("workbench.analysis.compared.compare_variants", lambda *a, **k: pytest.fail("worked first"))
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
        "from workbench.retrieval.own import channel\n\n"
        "@channel\ndef by_id(query, ctx, *, limit: int = 5):\n    return sorted(ctx.stores.catalog.ids_where({}, limit))\n"
    )
    monkeypatch.setenv("WORKBENCH_OWN", str(mine))
    code, out, _ = run("compare", tiny, "--variants", "adr_0172,adr_0172+by_id,by_id", "--json")
    data = json.loads(out)
    assert code == 0 and data["listed"]["adr_0172+by_id"]["by_id"] == 3 and data["listed"]["by_id"] == {"by_id": 3}
    mine.write_text("1 / 0\n")
    code, out, err = run("compare", tiny, "--variants", "adr_0172")
    assert code == 2 and "ZeroDivisionError" in err and "mine.py:1" in err
