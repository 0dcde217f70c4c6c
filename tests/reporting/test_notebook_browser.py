"""A notebook in a real JupyterLab without network: it runs, its chart is drawn, and the ledger is written."""

import pytest
from helpers.made_record import made_project

from workbench.analysis.ledger.ledger import Ledger

pytestmark = pytest.mark.browser

MILLISECONDS = 180_000


def test_run_all_draws_the_chart_and_writes_the_ledger_under_the_home(lab, open_notebook):
    made_project(lab.root, "whole")
    opened = open_notebook("notebooks/whole.ipynb")
    opened.run_all_cells()
    opened.page.locator(".vega-embed svg, .vega-embed canvas").first.wait_for(timeout=MILLISECONDS)
    opened.page.locator(".jp-OutputArea-output", has_text="2 HOLDS").last.wait_for(timeout=MILLISECONDS)
    assert (opened.requests, opened.errors) == ([], [])
    ledger = Ledger.read(lab.home / "runs" / "made-up")
    assert ledger.whole and ledger.header["parameters"] == {"limit": 8, "label": ""}
    assert not (lab.root / "reports").exists()
