"""A person in a real JupyterLab: Run All, read, click a row, move a knob, ask another question, pin a document, turn
what would bring it in. Each rank that is read is the rank that a direct call gives."""

from __future__ import annotations

import os
import re
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import expect

from workbench.reporting.widgets.session import Session
from workbench.retrieval.search import open_collection
from workbench.retrieval.variant import with_knobs
from workbench.sources.base import Source
from workbench.stores.load import load
from workbench.types import Chunk

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "notebooks" / "investigate.ipynb"
RUN_MILLISECONDS, STEP_MILLISECONDS = 300_000, 90_000
QUERY, EXPECTED = "merge two dictionaries", "mapping.update"
SCRIPT = "<script>window.hacked = 1</script>"
IMAGE = '"><img src=x onerror="window.hacked = 1">'

# No cell waits or runs: an empty or starred prompt would say so.
ALL_RAN = """(() => {
  const bar = document.querySelector('#jp-main-statusbar');
  return bar && /\\| Idle/.test(bar.textContent);
})()"""

DOCUMENTS = [
    ("mapping.update", "Combine a dict with another dict: the keys and values of both are joined into one mapping."),
    ("heap.merge", "Merge several sorted inputs into one sorted output, two at a time."),
    ("git.merge", "Merge a branch into the one that is checked out; two parents are recorded."),
    ("cells.merge", "Merge two cells of a table into one."),
    ("pipe", "Returns a tuple of two ends, one to read and one to write."),
    ("compare", "Compare two sequences of lines and tell how they differ."),
    ("dictionaries.print", "Dictionaries and spelling: where printed dictionaries are sold in two languages."),
    ("lanes", "Two lanes merge into one after the bridge."),
    ("companies", "Two companies merge; their shareholders are asked."),
    ("files.merge", "Merge two files line by line."),
    ("sets", "The union of two sets as a new set."),
    ("clocks", "The difference of two clocks in seconds."),
    ("colours", "Merge two layers of a picture, the upper one half transparent."),
    ("lookup", "Dictionaries of two scripts, one beside the other."),
    (f"Hostile {SCRIPT}", f"Two {SCRIPT} dictionaries {IMAGE} \x1b[31mred \u202eevil"),
    ("Long", "merge " + "x" * 1_000_000),
    ("Emoji 👩‍👩‍👧", "Two 👩‍👩‍👧 merge."),
]  # fmt: skip


@pytest.fixture(scope="module")
def shelf(lab):
    """The documents above as a collection in the home of the lab's kernels, opened here too."""
    chunks = [Chunk(n, title.split()[0], 0, text, title=title) for n, (title, text) in enumerate(DOCUMENTS, 1)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_HOME", str(lab.home))
        load(Source("test", "test", {}, lambda: iter(chunks)), name="shelf", progress=False)
        with open_collection("shelf") as collection:
            yield collection


@pytest.fixture(scope="module")
def notebook(lab, shelf):
    """investigate.ipynb with its parameters set as a person would set them."""
    copy = nbformat.read(NOTEBOOK, as_version=4)
    (cell,) = [c for c in copy.cells if "parameters" in c.metadata.get("tags", [])]
    for name, value in {"collection": "shelf", "query": QUERY, "expected": EXPECTED}.items():
        cell.source = re.sub(rf'^{name}: str = ".*?"', f"{name}: str = {value!r}", cell.source, flags=re.MULTILINE)
    nbformat.write(copy, lab.root / "investigate.ipynb")
    return "investigate.ipynb"


@pytest.fixture
def page(open_notebook, notebook):
    """The notebook after Run All: every cell has run."""
    opened = open_notebook(notebook)
    opened.run_all_cells()
    opened.page.locator(".wb-investigation .answers tr").first.wait_for(timeout=RUN_MILLISECONDS)
    opened.page.wait_for_function(ALL_RAN, timeout=RUN_MILLISECONDS)
    opened.page.locator(".wb-investigation").scroll_into_view_if_needed()
    return opened


def rank_of(collection, name, text=QUERY, **knobs):
    (target,) = collection.stores.catalog.entity(name)
    return collection.search(text, with_knobs("adr_0172", knobs), with_chunks=False).rank_of(target)


def watched(page, rank):
    """Wait until the pinned document's line shows this rank."""
    page.locator(f'.wb-investigation .watch[data-rank="{rank}"]').wait_for(timeout=STEP_MILLISECONDS)


def ranked(page, shelf, query):
    """Wait until the first 8 rows are those of a direct call: a table may come a moment after the pinned line."""
    page.wait_for_function(
        "(ids) => JSON.stringify(ids) === JSON.stringify("
        "[...document.querySelectorAll('.wb-investigation .ranking tr.row')].slice(0, 8).map((r) => r.dataset.row))",
        arg=[str(i) for i in shelf.search(query).fused.ids[:8]],
        timeout=STEP_MILLISECONDS,
    )


def test_a_person_finds_out_why_and_what_would_bring_it_in(page, shelf, tmp_path):
    opened, page = page, page.page
    inside = page.locator(".wb-investigation")
    assert page.locator("[data-mime-type*='err']").count() == 0

    # The worked case: the expected document is pinned and not in the first 8.
    watched(page, rank_of(shelf, EXPECTED))
    assert rank_of(shelf, EXPECTED) > 8 and "not in the first 8" in inside.locator(".watch").inner_text()
    ranked(page, shelf, QUERY)
    screenshot(page, "investigate")

    # Click a row: it is explained, with the rank that it has.
    row = inside.locator(".ranking tr.row").nth(2)
    title = row.locator(".title").inner_text()
    row.locator(".title").click()
    inside.locator(".explanation h4", has_text=title).wait_for(timeout=STEP_MILLISECONDS)
    expect(inside.locator(".explanation .lead")).to_contain_text("It is ranked 3 of")
    expect(inside.locator(".ranking tr[aria-selected=true] .title")).to_have_text(title, use_inner_text=True)

    # Move a knob: the pinned rank follows, from frozen lists.
    handle = inside.locator(".wb-knob-weight-semantic .noUi-handle")
    handle.focus()
    for _ in range(12):
        handle.press("ArrowRight")
    page.wait_for_timeout(1000)
    value = float(inside.locator(".wb-knob-weight-semantic .widget-readout").inner_text())
    assert value > 1
    watched(page, rank_of(shelf, EXPECTED, **{"weight.semantic": value}))
    inside.get_by_text("Answered from frozen lists").wait_for(timeout=STEP_MILLISECONDS)
    inside.locator(".lm-TabBar-tabLabel", has_text="What changed").click()
    inside.get_by_text("weight of the semantic list").first.wait_for(timeout=STEP_MILLISECONDS)

    # Back, and turn what would bring it in: its promised rank is the rank that is read.
    inside.locator(".wb-reset").click()
    watched(page, rank_of(shelf, EXPECTED))
    inside.locator(".ranking tr.pinned .title").click()
    inside.locator(".explanation h4", has_text=EXPECTED).wait_for(timeout=STEP_MILLISECONDS)
    answer = inside.locator(".answers tr.does").first
    knob, said = answer.get_attribute("data-knob"), answer.locator(".said").inner_text()
    promised = int(re.search(r"brings rank (\d+)", said)[1])
    answer.get_by_role("button", name="turn it").click()
    watched(page, promised)
    assert promised <= 8 and knob in inside.locator("textarea").input_value()
    inside.locator(".wb-reset").click()
    watched(page, rank_of(shelf, EXPECTED))

    # Ask another question: it retrieves again and says so.
    asked = "two ends of a pipe"
    inside.locator(".wb-query input").fill(asked)
    inside.locator(".wb-query input").press("Enter")
    inside.get_by_text("Retrieved: a new query").wait_for(timeout=STEP_MILLISECONDS)
    watched(page, rank_of(shelf, EXPECTED, asked))
    ranked(page, shelf, asked)

    # Pin another document by its name.
    inside.locator(".wb-pin input").fill("pipe")
    inside.locator(".wb-pin input").press("Enter")
    inside.locator(".watch", has_text="pipe").wait_for(timeout=STEP_MILLISECONDS)
    watched(page, rank_of(shelf, "pipe", asked))

    # What is wrong is said, and the last good look stays.
    inside.locator(".wb-filters input").fill("nonsense")
    inside.locator(".wb-filters input").press("Enter")
    inside.locator(".error", has_text="not of the form").wait_for(timeout=STEP_MILLISECONDS)
    ranked(page, shelf, asked)

    assert opened.errors == [] and opened.requests == []


def test_hostile_documents_are_read_as_text_in_every_tab(page, shelf):
    page = page.page
    inside = page.locator(".wb-investigation")
    inside.locator(".wb-rows input").fill("17")
    inside.locator(".wb-rows input").press("Enter")
    page.wait_for_function("document.querySelectorAll('.wb-investigation .ranking tr.row').length >= 15", timeout=STEP_MILLISECONDS)
    assert SCRIPT in inside.locator(".ranking").inner_text() and "\\x1b[31m" in inside.locator(".ranking").inner_text()
    inside.locator(".ranking tr.row", has_text="Hostile").locator(".title").click()
    inside.locator(".explanation h4", has_text="Hostile").wait_for(timeout=STEP_MILLISECONDS)
    for tab in ("Ranks by list", "What was read", "Compare", "What changed", "Code", "Explanation"):
        inside.locator(".lm-TabBar-tabLabel", has_text=tab).click()
    assert page.evaluate("window.hacked") is None and page.locator("img[src=x]").count() == 0
    wide = page.evaluate("(() => { const w = document.querySelector('.wb-investigation'); return w.scrollWidth - w.clientWidth; })()")
    assert wide <= 1


def test_a_saved_notebook_exports_the_last_look_and_hides_it_while_it_lives(page, lab, shelf, browser, tmp_path):
    opened, page = page, page.page
    inside = page.locator(".wb-investigation")
    # JupyterLab keeps no cell in the page that is far from what is shown: so all is shown.
    page.set_viewport_size({"width": 1280, "height": 5200})
    assert page.locator("[data-mime-type*='err']").count() == 0
    assert page.locator(".wb-still").count() == 1 and not page.locator(".wb-still").is_visible()
    page.wait_for_function("document.querySelectorAll('.vega-embed canvas, .vega-embed svg.marks').length === 3", timeout=RUN_MILLISECONDS)
    assert page.locator(".wb-still-chart").count() == 3
    assert not any(page.locator(".wb-still-chart").nth(n).is_visible() for n in range(3))
    inside.locator(".wb-query input").fill("two clocks")
    inside.locator(".wb-query input").press("Enter")
    watched(page, rank_of(shelf, EXPECTED, "two clocks"))
    kept = "(() => { const t = document.querySelector('.wb-still').textContent; return t.includes('“two clocks”') && t.includes('What would bring'); })()"
    page.wait_for_function(kept, timeout=STEP_MILLISECONDS)
    page.locator('.jp-NotebookPanel-toolbar [data-jp-item-name="save"]').first.click()
    saved, waited = lab.root / "investigate.ipynb", 0
    while "“two clocks”" not in (text := saved.read_text(encoding="utf-8")) or "What would bring it" not in text.split("“two clocks”")[1]:
        page.wait_for_timeout(100)
        waited += 100
        assert waited < STEP_MILLISECONDS, "JupyterLab did not save"
    from nbconvert import HTMLExporter

    html, _ = HTMLExporter().from_notebook_node(nbformat.read(saved, as_version=4))
    target = tmp_path / "exported.html"
    target.write_text(html, encoding="utf-8")
    context = browser.new_context(viewport={"width": 1280, "height": 1600})
    context.route("**/*", lambda route: route.continue_() if route.request.url.startswith("file:") else route.abort())
    exported = context.new_page()
    exported.goto(target.as_uri())
    still = exported.locator(".wb-still")
    assert still.is_visible() and "“two clocks” in shelf" in still.inner_text() and "What would bring it" in still.inner_text()
    assert still.locator(".title").first.evaluate("e => getComputedStyle(e).textAlign") in ("left", "start")
    assert still.locator("tr.row").count() == 13 and still.locator("svg").first.is_visible()
    charts = exported.locator(".wb-still-chart svg")
    assert charts.count() == 3 and all(charts.nth(n).is_visible() for n in range(3))
    assert exported.evaluate("window.hacked") is None
    screenshot(exported, "exported", still)
    context.close()
    assert Session("shelf", "two clocks").chosen.name == "adr_0172"
    assert opened.errors == []


def screenshot(page, name, element=None):
    """Keep a picture where a person asked for pictures: $WORKBENCH_PICTURES."""
    if directory := os.environ.get("WORKBENCH_PICTURES"):
        (element or page).screenshot(path=str(Path(directory) / f"{name}.png"))
