"""A widget is never blank: a report run and an exported notebook show its still picture."""

from __future__ import annotations

import json

import nbformat
import pytest

from workbench.analysis.ledger.run import OUT_VARIABLE
from workbench.reporting.widgets.bench import Bench
from workbench.reporting.widgets.investigation import Investigation
from workbench.reporting.widgets.session import Session
from workbench.retrieval.search import open_collection

VIEW = "application/vnd.jupyter.widget-view+json"


@pytest.fixture
def made(tiny):
    with open_collection(tiny) as collection:
        yield Investigation(Bench(collection), Session(tiny, "when does the ferry leave", first=2, other="adr_0005"))


def test_in_a_report_run_it_is_html_alone(made, monkeypatch, tmp_path):
    monkeypatch.setenv(OUT_VARIABLE, str(tmp_path))
    bundle = made._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"} and "<table" in bundle["text/html"] and "<svg" in bundle["text/html"]


def test_in_a_kernel_it_lives_and_says_in_words_what_it_is(made):
    bundle = made._repr_mimebundle_()
    assert VIEW in bundle and "text/html" not in bundle and "Investigation" in bundle["text/plain"]


def test_the_still_picture_has_the_page_the_drawings_and_the_explanation(made):
    assert "What would bring it" not in made.still()
    made.explain(made.view.rows[2].chunk.id)
    still = made.still()
    assert "What would bring it into the first 2" in still and "<button" not in still
    assert still.count('class="row') == len(made.view.rows) and still.count("<svg") > 3 and "Beside adr_0005" in still


def test_a_look_that_failed_says_why(tiny):
    with open_collection(tiny) as collection:
        made = Investigation(Bench(collection), Session(tiny, "x", variant="no_such"))
        assert made.view is None and "no_such" in made.still() and "no_such" in made._status.value


def test_an_exported_notebook_shows_it(made, tmp_path):
    """What JupyterLab saves — the living view, then the still picture — through nbconvert's own exporter."""
    from nbconvert import HTMLExporter

    outputs = [
        nbformat.v4.new_output("display_data", data={VIEW: {"model_id": "x", "version_major": 2, "version_minor": 0}, "text/plain": "Investigation"}),
        nbformat.v4.new_output("display_data", data={"text/html": made.still(), "text/plain": "HTML"}),
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("investigate()", outputs=outputs)])
    page, _ = HTMLExporter().from_notebook_node(notebook)
    assert 'class="wb wb-still"' in page and "The first 2 end here" in page


def test_its_state_is_json_that_a_saved_notebook_can_hold(made):
    json.dumps(made.get_state(), default=str)
    json.dumps(made._table.get_state(key=["html"]))
