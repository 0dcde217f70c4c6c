"""ADR 0172 end to end at its tiny size: the notebook runs under papermill, its page draws, and JupyterLab opens it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from workbench.analysis.ledger import Ledger
from workbench.settings import project_root

pytestmark = pytest.mark.browser
ASKED = ("A06", "A07", "A10", "A15", "A16", "A17", "A18", "A19", "A24")
SECONDS = 900
MILLISECONDS = 60_000


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> Path:
    """The report of one real run, by the command."""
    base = tmp_path_factory.mktemp("adr-0172")
    command = [str(Path(sys.executable).with_name("workbench")), "reproduce", "adr-0172", "-p", "size=tiny", "--out", str(base / "reports")]
    environment = {**os.environ, "WORKBENCH_HOME": str(base / "home")}
    done = subprocess.run(command, env=environment, cwd=project_root(), capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
    return base / "reports" / "adr-0172"


def test_every_claim_has_a_verdict_from_a_run(report):
    ledger = Ledger.read(report)
    assert ledger.whole and len(ledger.rows) == 24
    assert all(row.where for row in ledger.rows)


def test_the_record_holds_on_the_replica_where_it_must(report):
    ledger = Ledger.read(report)
    for claim in ("A02", "A04", "A05", "A06", "A07", "A08", "A10", "A17", "A18", "A19", "A23", "A24"):
        assert ledger.row(claim).verdict == "HOLDS", (claim, ledger.row(claim))


def test_what_the_first_issue_asks_for_has_a_verdict(report):
    ledger = Ledger.read(report)
    assert {c: ledger.row(c).verdict for c in ASKED}.keys() == set(ASKED)
    assert all(ledger.row(c).verdict in ("HOLDS", "DIFFERS", "NOT MEASURABLE HERE") for c in ASKED)


def test_the_header_names_versions_machine_seeds_and_hashes(report):
    header = json.loads((report / "ledger.json").read_text())["header"]
    assert header["seeds"]["seed"] == 20261111
    assert {"duckdb", "qdrant-edge-py", "fastembed"} <= header["versions"].keys()
    assert all(len(i["content"]) == 64 and len(i["model"]) == 64 for i in header["inputs"].values())


def test_the_page_draws_all_its_charts_without_a_request(open_page, report):
    opened = open_page(report / "index.html")
    assert (opened.requests, opened.errors) == ([], [])
    assert opened.page.locator(".chart svg.marks").count() == opened.page.locator(".chart").count() >= 8
    assert opened.overflow() <= 0


def test_the_notebook_opens_in_jupyterlab_without_outputs(lab, open_notebook):
    source = project_root() / "notebooks" / "adr_0172.ipynb"
    assert all(not c.get("outputs") for c in json.loads(source.read_text())["cells"])
    (lab.root / "adr_0172.ipynb").write_bytes(source.read_bytes())
    opened = open_notebook("adr_0172.ipynb")
    opened.page.locator(".jp-RenderedHTMLCommon h1", has_text="exact matches survive").first.wait_for(timeout=MILLISECONDS)
    assert (opened.requests, opened.errors) == ([], [])
