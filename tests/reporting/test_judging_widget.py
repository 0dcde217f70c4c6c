"""The judging widget: what a judge sees names no variant, keys grade, and hostile text is text."""

from __future__ import annotations

import re
from html import unescape

import nbformat
import pytest
from helpers.made_sources import source_of

from workbench.analysis.evaluate.judging import Item, Judging, Pool
from workbench.reporting.widgets.judging import JudgingWidget, judge, judging_html
from workbench.sources.base import JudgedQuery
from workbench.sources.judgements import read_qrels
from workbench.types import Chunk

HOSTILE = "<script>window.hacked = 1</script>\"><img src=x onerror='window.hacked = 1'>\x1b[31m\u202e"
VARIANTS = ["semantic", "lexical_bm25"]


def pool(*texts: str, query: str = "a query") -> Pool:
    return Pool(JudgedQuery("q1", query), tuple(Item(f"d{n}", t[:20], t, ("adr_0172",)) for n, t in enumerate(texts)))


def send(widget, kind, value):
    widget._heard(widget, {"kind": kind, "value": value}, [])


def test_what_a_judge_sees_names_no_variant_rank_or_score(tiny, tmp_path):
    widget = judge(tiny, ["ferry harbour", "green tea"], VARIANTS, tmp_path / "ann.qrels", depth=3)
    seen = []
    for _ in range(widget.judging.total):
        seen.append(widget.html)
        send(widget, "grade", "0")
    for html in seen:
        assert not any(name in html for name in (*VARIANTS, "score", "rank"))
    assert "All documents are judged." in widget.html and len(read_qrels(tmp_path / "ann.qrels")) == len(seen)


def test_messages_grade_and_step_and_anything_else_is_nothing(tmp_path):
    widget = JudgingWidget(Judging([pool("one", "two", "three")], tmp_path / "ann.json"))
    first = widget.html
    for kind, value in (("grade", "7"), ("grade", 2), ("grade", "²"), ("grade", "-1"), ("step", "far"), ("run", "x"), ("grade", None)):
        send(widget, kind, value)
        assert widget.html == first and widget.judging.judged == 0
    widget._heard(widget, "text", [])
    send(widget, "step", "next")
    assert "document 2 of 3" in widget.html
    send(widget, "grade", "3")
    assert "document 3 of 3" in widget.html and widget.judging.judged == 1
    send(widget, "step", "back")
    assert 'data-value="3" aria-pressed="true"' in widget.html


@pytest.mark.parametrize("text", [HOSTILE, "x" * 1_000_000, "\ud800", "", "👩‍👩‍👧"])
def test_hostile_texts_are_texts(tmp_path, text):
    html = judging_html(Judging([pool(text, query=text)], tmp_path / "ann.json"))
    assert "<script>" not in html and "<img" not in html and "\x1b" not in html and "\u202e" not in html
    assert html.encode("utf-8") and len(html) < 1_100_000
    tags = set(re.findall(r"<(\w+)", html))
    assert tags <= {"div", "span", "i", "p", "h4", "button", "kbd"}


def test_in_an_export_it_stands_as_it_was_left(tmp_path):
    widget = JudgingWidget(Judging([pool("the document's own text")], tmp_path / "ann.json"))
    bundle = widget._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    assert "application/vnd.jupyter.widget-view+json" in data
    assert "the document's own text" in unescape(data["text/html"]) and "0 of 1 documents judged" in data["text/plain"]


@pytest.mark.browser
def test_a_person_grades_by_key_in_a_real_jupyterlab(lab, open_notebook):
    from workbench.stores.load import load

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_HOME", str(lab.home))
        chunks = [Chunk(n, f"d{n}", 0, f"harbour {word} {HOSTILE}", title=word) for n, word in enumerate(("anchor", "rope", "sail"), 1)]
        load(source_of(chunks), name="sea", progress=False)
    code = (
        "from workbench.reporting.widgets.judging import judge\n"
        "judge('sea', ['harbour'], ['semantic', 'lexical_bm25'], 'ann.qrels', depth=3)"
    )
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)], metadata=kernel), lab.root / "judge.ipynb")
    opened = open_notebook("judge.ipynb")
    opened.run_all_cells()
    widget = opened.page.locator(".jp-OutputArea-output .wb-judging[tabindex]").first
    widget.wait_for(timeout=180_000)
    widget.locator(".query").click()
    for key, done in (("2", "1 of 3"), ("ArrowRight", "1 of 3"), ("0", "2 of 3"), ("3", "3 of 3")):
        opened.page.keyboard.press(key)
        widget.locator(".top", has_text=f"{done} documents judged").wait_for(timeout=180_000)
    widget.locator(".query", has_text="All documents are judged.").wait_for(timeout=180_000)
    assert sorted(q.grade for q in read_qrels(lab.root / "ann.qrels")) == [0, 2, 3]
    assert opened.page.evaluate("window.hacked") is None and (opened.requests, opened.errors) == ([], [])
    # The digits went to the widget: JupyterLab did not make headings of the cell.
    assert opened.page.locator(".jp-MarkdownCell").count() == 0
    assert opened.page.locator(".wb-judging:visible").count() == 1
