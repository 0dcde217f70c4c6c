"""Drawings tell the ranks that they are given, and stay inside their frames."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from helpers.made_collection import Document, made_collection

from workbench.analysis.evaluate.rankings import compare_results
from workbench.analysis.explain.counterfactual import counterfactuals
from workbench.reporting.charts import comparison as comparison_charts
from workbench.reporting.widgets import drawings as pictures
from workbench.reporting.widgets.bench import Bench
from workbench.reporting.widgets.drawings import Line, Stretch, curve, rank_lines, reading_order
from workbench.reporting.widgets.session import Session
from workbench.retrieval.channels import lexical, semantic
from workbench.retrieval.derived import verbatim
from workbench.retrieval.frozen import freeze
from workbench.retrieval.fusions import rrf
from workbench.retrieval.policies import any_term
from workbench.retrieval.variant import Variant
from workbench.types import Query

DOCS = [Document(n, "red" + " blue" * (n - 1), f"e{n}", "a", 15 * (7 - n)) for n in range(1, 8)]
CHOSEN = Variant("chosen", rrf(), lexical(policy=any_term(cap=4)), semantic(limit=5), derived=(verbatim(),))


def parsed(svg):
    return ElementTree.fromstring(str(svg))


def words(svg):
    return [t.text or "" for t in parsed(svg).iter("text")]


def test_rank_lines_show_every_rank_and_what_is_absent():
    lines = [Line("a", (1, 3, 1)), Line("b", (2, None, 2), strong=True)]
    said = words(rank_lines(["lexical", "semantic", "fused"], lines, "t"))
    assert said[:3] == ["lexical", "semantic", "fused"]
    assert sorted(said[3:]) == sorted(["1", "3", "1", "a", "2", "absent", "2", "b"])


def test_the_curve_has_a_step_for_every_rank_in_its_range_and_a_mark_for_now():
    frozen = freeze(made_collection(DOCS), Query("red"), CHOSEN, depth=8)
    for c in counterfactuals(frozen, 7, first=2):
        if not c.curve or not isinstance(c.curve[0][0], int | float) or isinstance(c.curve[0][0], bool):
            continue
        drawn = parsed(curve(c.curve, c.now, c.first, c.knob, plain=c.plain if c.verdict == "found" else None))
        width = float(drawn.get("width"))
        xs = [float(x) for path in drawn.iter("path") for x in re.findall(r"[ML]([\d.]+) ", path.get("d"))]
        assert all(0 <= x <= width for x in xs)
        marks = [line.get("class") for line in drawn.iter("line")]
        assert marks == ["now"] * isinstance(c.now, int | float) + ["then"] * (c.verdict == "found")


@pytest.mark.parametrize(("cap", "target"), [(1, None), (4, 3), (256, 90_000), (2048, 1), (1, 1)])
def test_a_reading_shows_its_cap_and_its_target_within_the_frame(cap, target):
    svg = reading_order("lexical", [Stretch("all terms", 1, 3), Stretch("term a", 4, 7)], cap, target, {}, cap_label="cap", note="not there")
    drawn, said = parsed(svg), words(svg)
    assert f"cap {cap:,}" in said and ("not there" in said) == (target is None)
    assert (f"the document, number {target:,}" in said) if target else not any("number" in w for w in said)
    width = float(drawn.get("width"))
    assert all(0 <= float(t.get("x")) <= width for t in drawn.iter("text"))


def test_fusion_ranks_are_those_of_the_result_with_the_target_once():
    bench = Bench(made_collection(DOCS))
    last = bench.look(Session("made", "red", variant="two_lists", first=3)).result.fused.ids[-1]
    view = bench.look(Session("made", "red", variant="two_lists", first=3, pinned=last))
    said = words(pictures.fusion_ranks(view, last))
    assert sum(w.startswith("RED") for w in said) == 4 and str(len(DOCS)) in said
    result = view.result
    for name in ("lexical", "semantic"):
        ranks = next(r for r in result.lists if r.name == name).ranks()
        for i in [*result.fused.ids[:3], last]:
            assert str(ranks[i]) in said


def test_the_place_beyond_the_depth_is_the_explanations():
    bench = Bench(made_collection(DOCS))
    view = bench.look(Session("made", "red", variant="adr_0005", first=2, depth=2, knobs={"cap": 2, "semantic_limit": 2}))
    far = next(d.id for d in DOCS if view.result.rank_of(d.id) is None)
    told = bench.explained(view, far)
    needed = {a.where: int(a.needed) for a in told.absences}
    said = words(f"<svg>{pictures.caps(view, far, told)}</svg>")
    assert [w for w in said if w.startswith("the document")] == [f"the document, number {needed[n]}" for n in ("lexical", "semantic")]


def test_the_slope_chart_has_both_ranks_of_every_row_and_its_lists():
    collection = made_collection(DOCS)
    left, right = collection.search("red", CHOSEN), collection.search("red", CHOSEN.replace(name="near", lexical=None, derived=()))
    found = compare_results(left, right, first=3)
    spec = comparison_charts.slope(found, {d.id: f"<b>{d.id}" for d in DOCS}, target=2).to_dict()
    (rows,) = [v for v in spec["datasets"].values()]
    shown = {(r["row"], r["side"]): r["shown"] for r in rows}
    for row in found.rows:
        assert shown[(str(row.id), "chosen")] == str(row.left.rank or "absent")
        assert shown[(str(row.id), "near")] == str(row.right.rank or "absent")
    assert {r["lists"] for r in rows} == {comparison_charts.membership(r) for r in found.rows}
    assert [r["row"] for r in rows if r["target"]] == ["2", "2"] or 2 not in [r.id for r in found.rows]


def test_the_charts_of_a_set_are_made_of_its_table_and_ranges():
    from workbench.analysis.evaluate.judged import judge
    from workbench.analysis.evaluate.rankings import compare_over
    from workbench.sources.base import JudgedQuery, Qrel

    asked = [JudgedQuery("q1", "red"), JudgedQuery("q2", "blue <script>")]
    near = CHOSEN.replace(name="near", lexical=None, derived=())
    both = compare_over(made_collection(DOCS), asked, CHOSEN, near, judged=judge(asked, [Qrel("q1", "e1", 1)]), metric="RR")
    bars = comparison_charts.most_different(both.table, both.left, both.right).to_dict()
    drawn = next(iter(bars["datasets"].values()))
    assert [r["difference"] for r in drawn] == [1 - rbo for rbo in both.table["rbo"]] == sorted((r["difference"] for r in drawn), reverse=True)
    assert [r["query"] for r in drawn] == both.table["text"].to_list() and bars["encoding"]["y"]["field"] == "query"
    twice = both.table.with_columns(text=both.table["text"].replace("red", "blue <script>"))
    drawn = next(iter(comparison_charts.most_different(twice, both.left, both.right).to_dict()["datasets"].values()))
    assert {r["query"] for r in drawn} == {"blue <script> (q1)", "blue <script> (q2)"}
    same = compare_over(made_collection(DOCS), asked, CHOSEN, CHOSEN.replace(name="same"))
    assert same.table["first_difference"].to_list() == [None, None]
    assert comparison_charts.most_different(same.table, same.left, same.right).to_dict()  # a column of nothing has a type too
    rows = next(iter(comparison_charts.tie_ranges(both.ranges).to_dict()["datasets"].values()))
    assert [(r["low"], r["value"], r["high"]) for r in rows] == [(v.low, v.value, v.high) for v in both.ranges.values()]
