"""The three records end to end at their tiny size: notebooks run under papermill, pages draw, JupyterLab opens them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from workbench.analysis.ledger.ledger import Ledger
from workbench.analysis.ledger.record import load_record, record_ids
from workbench.settings import project_root

pytestmark = pytest.mark.browser
SECONDS = 2700
MILLISECONDS = 180_000

KEEP = "WORKBENCH_KEEP_REPORTS"
"""Where continuous integration keeps the reports that these tests write, as its artefact."""

MUST_HOLD = {
    "adr-0172": ("A02", "A04", "A06", "A07", "A08", "A10", "A17", "A18", "A19", "A23", "A24"),
    "adr-0003": ("C01", "C02", "C07", "C08", "C12", "C13", "C17"),
    "notes-search": ("B05", "B08", "B10", "B16", "B17", "B18", "B20", "B21", "B23"),
}
"""What needs no size, no public collection and no quiet machine."""


@pytest.fixture(scope="module")
def reports(tmp_path_factory) -> Path:
    """The reports of real runs of all records, by the command."""
    base = tmp_path_factory.mktemp("records")
    out = Path(os.environ.get(KEEP) or base / "reports").resolve()
    command = [str(Path(sys.executable).with_name("workbench")), "reproduce", "--all", "--size", "tiny", "--out", str(out)]
    environment = {**os.environ, "WORKBENCH_HOME": str(base / "home")}
    done = subprocess.run(command, env=environment, cwd=project_root(), capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


@pytest.mark.parametrize("record", record_ids())
def test_every_claim_has_a_verdict_from_a_run(reports, record):
    ledger = Ledger.read(reports / record)
    assert ledger.whole and [r.id for r in ledger.rows] == [c.id for c in load_record(record).claims]
    assert all(row.where for row in ledger.rows)
    assert [r.id for r in ledger.rows if r.verdict == "DIFFERS" and not r.explanation] == []


@pytest.mark.parametrize("record", record_ids())
def test_the_record_holds_where_it_must(reports, record):
    ledger = Ledger.read(reports / record)
    assert {c: ledger.row(c).verdict for c in MUST_HOLD[record]} == dict.fromkeys(MUST_HOLD[record], "HOLDS")


@pytest.mark.parametrize("record", record_ids())
def test_the_header_names_versions_seeds_and_hashes(reports, record):
    header = json.loads((reports / record / "ledger.json").read_text())["header"]
    assert isinstance(header["seeds"]["seed"], int)
    assert {"duckdb", "qdrant-edge-py", "fastembed"} <= header["versions"].keys()
    assert header["inputs"] and all(len(h) == 64 for i in header["inputs"].values() for k, h in i.items() if k == "content")


@pytest.mark.parametrize("record", record_ids())
def test_the_page_draws_all_its_charts_without_a_request(open_page, reports, record):
    opened = open_page(reports / record / "index.html")
    assert (opened.requests, opened.errors) == ([], [])
    assert opened.page.locator(".chart svg.marks").count() == opened.page.locator(".chart").count() >= 5
    assert opened.overflow() <= 0


def test_a_notebook_opens_in_jupyterlab_without_outputs(lab, open_notebook):
    source = project_root() / "notebooks" / "adr_0172.ipynb"
    assert all(not c.get("outputs") for c in json.loads(source.read_text())["cells"])
    (lab.root / "adr_0172.ipynb").write_bytes(source.read_bytes())
    opened = open_notebook("adr_0172.ipynb")
    opened.page.locator(".jp-RenderedHTMLCommon h1", has_text="exact matches survive").first.wait_for(timeout=MILLISECONDS)
    assert (opened.requests, opened.errors) == ([], [])
