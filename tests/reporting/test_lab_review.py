"""A reviewer in a real JupyterLab: reads both sides, approves one, rejects another; the library holds what was clicked."""

from __future__ import annotations

import nbformat
import pytest
from helpers.matching import said
from playwright.sync_api import expect

from workbench.matching.cascade import ask
from workbench.matching.library import open_library
from workbench.matching.queue import candidates
from workbench.matching.request import plain

pytestmark = pytest.mark.browser

MILLISECONDS = 180_000
HOSTILE = "<img src=x onerror=hacked=1>"  # few words, so that it is still near
CELL = 'from workbench.reporting.widgets.review import Review\n\nReview("lab", by="Ada")'


@pytest.fixture
def waiting(lab, monkeypatch):
    """Two missed requests with candidates, in the home of the lab's kernels; one of them is hostile."""
    monkeypatch.setenv("WORKBENCH_HOME", str(lab.home))
    with open_library("lab", create=True) as library:
        library.record(plain("what is the weather in Rome today", model="m"), said("sunny in Rome"))
        ask(library, plain("what is the weather in Oslo today", model="m"))
        ask(library, plain(f"what is the weather in {HOSTILE} today", model="m"))
        assert len(candidates(library)) == 2
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)], metadata=kernel)
    nbformat.write(notebook, lab.root / "review.ipynb")
    return "review.ipynb"


def test_a_reviewer_reads_both_sides_and_decides_by_clicking(waiting, open_notebook):
    opened = open_notebook(waiting)
    opened.run_all_cells()
    shown = opened.page.locator(".wb-review").first
    shown.wait_for(timeout=MILLISECONDS)
    assert (
        shown.locator("del").first.inner_text() == "Oslo"
        and shown.locator("ins").first.inner_text() == "Rome"
    )
    assert "sunny in Rome" in shown.inner_text() and "✓ speakers" in shown.inner_text()
    opened.page.get_by_role("button", name="Approve").click()
    opened.page.get_by_text("1 is approved").wait_for(timeout=MILLISECONDS)
    expect(opened.page.locator(".wb-review del").first).to_contain_text(HOSTILE)
    assert not opened.page.evaluate("'hacked' in window")
    opened.page.get_by_role("button", name="Reject").click()
    opened.page.get_by_text("No candidate is open").wait_for(timeout=MILLISECONDS)
    assert (opened.requests, opened.errors) == ([], [])
    with open_library("lab") as library:
        assert [(c.state, c.decided_by) for c in candidates(library, None)] == [
            ("approved", "Ada"),
            ("rejected", "Ada"),
        ]
        assert ask(library, plain("what is the weather in Oslo today", model="m")).tier == "alias"
