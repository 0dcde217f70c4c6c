"""Launching: the whole report is put in place, or the earlier one stays as it was."""

import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest
from helpers.made_record import made_project

from workbench.analysis.ledger.ledger import Ledger
from workbench.analysis.ledger.record import load_record
from workbench.analysis.ledger.run import OUT_VARIABLE
from workbench.errors import BadParameter
from workbench.reporting.launcher import BadNotebook, KernelDied, NotebookFailed, ReportBusy, launch

EARLIER = "the earlier report"
FILES = ["charts.json", "index.html", "ledger.json", "notebook.ipynb"]


@pytest.fixture
def project(tmp_path, monkeypatch, home):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(project, notebook="plain", given=None, **more):
    made_project(project, notebook, more.pop("second", "calls"))
    return launch(load_record("made-up", project), given or {}, project / "reports", **more)


def leave_an_earlier_report(project):
    earlier = project / "reports" / "made-up"
    earlier.mkdir(parents=True)
    (earlier / "index.html").write_text(EARLIER)
    return earlier


def the_earlier_one_stands_alone(earlier):
    return [p.name for p in earlier.iterdir()] == ["index.html"] and (
        earlier / "index.html"
    ).read_text() == EARLIER


def test_a_whole_run_leaves_page_ledger_charts_and_the_executed_notebook(project):
    earlier = leave_an_earlier_report(project)
    seen = []
    report = run(
        project,
        "whole",
        {"limit": np.int64(5), "label": "0123"},
        on_cell=lambda cell, of: seen.append((cell, of)),
    )
    assert report.directory == earlier and report.ledger.whole
    assert sorted(p.name for p in report.directory.iterdir()) == FILES
    assert [p.name for p in (project / "reports").iterdir()] == ["made-up"]
    assert Ledger.read(report.directory) == report.ledger
    # A numpy integer stays a number, and what looks like one stays text.
    assert report.ledger.header["parameters"] == {"limit": 5, "label": "0123"}
    page = (report.directory / "index.html").read_text(encoding="utf-8")
    assert 'id="figure-scores"' in page and '"rank":5' in page and '"rank":6' not in page
    book = json.loads((report.directory / "notebook.ipynb").read_text())
    assert seen[-1] == (len(book["cells"]), len(book["cells"]))
    text = (report.directory / "notebook.ipynb").read_text()
    # The executed notebook is evidence: it names no path of this machine, and holds no second copy of a chart.
    assert str(project) not in text and "vega.github.io" not in text and "drawn in the report page" in text
    assert OUT_VARIABLE not in os.environ


@pytest.mark.parametrize(
    ("notebook", "error", "told"),
    [
        (
            "failing_cell",
            NotebookFailed,
            r"cell 5 of failing_cell.ipynb raised ValueError: no such thing: <b>",
        ),
        ("killed_kernel", KernelDied, r"the process of killed_kernel.ipynb died .*cell 5"),
        ("exits_early", NotebookFailed, r"cell 6 of exits_early.ipynb was not run"),
        ("no_finish", NotebookFailed, r"no_finish.ipynb wrote no ledger .*run.finish"),
    ],
)
def test_a_run_that_breaks_is_named_and_leaves_the_earlier_report(project, notebook, error, told):
    earlier = leave_an_earlier_report(project)
    with pytest.raises(error, match=told):
        run(project, notebook)
    assert the_earlier_one_stands_alone(earlier)
    partial = project / "reports" / "made-up.partial"
    assert not (partial / "index.html").exists() and (partial / "notebook.ipynb").exists()


def test_a_measure_that_raises_shows_all_rows_but_replaces_no_report(project):
    earlier = leave_an_earlier_report(project)
    report = run(project, second="raises")
    assert not report.ledger.whole and report.directory == project / "reports" / "made-up.partial"
    assert [r.verdict for r in report.ledger.rows] == ["HOLDS", None, "HOLDS"]
    page = (report.directory / "index.html").read_text(encoding="utf-8")
    assert "This build failed" in page and "ZeroDivisionError" in page and 'id="claim-M03"' in page
    assert the_earlier_one_stands_alone(earlier)


@pytest.mark.parametrize(
    ("notebook", "given", "error"),
    [
        ("plain", {"limti": 8}, BadParameter), ("plain", {"limit": "8"}, BadParameter),
        ("plain", {"limit": True}, BadParameter), ("no_parameters", {}, BadNotebook),
        ("untyped_parameter", {}, BadNotebook),
    ],
)  # fmt: skip
def test_what_is_wrong_beforehand_starts_nothing(project, notebook, given, error):
    with pytest.raises(error):
        run(project, notebook, given)
    assert not (project / "reports").exists()


def test_a_size_is_ignored_by_a_record_of_one_size(project):
    assert "size" not in run(project, size="small").ledger.header["parameters"]


def test_a_second_run_of_the_same_report_is_refused_while_the_first_writes(project):
    made_project(project, "plain")
    partial = project / "reports" / "made-up.partial"
    partial.mkdir(parents=True)
    holder = subprocess.Popen(
        [sys.executable, "-c", f"import fcntl, time; f = open({str(partial / '.lock')!r}, 'w'); "
         "fcntl.flock(f, fcntl.LOCK_EX); print('held', flush=True); time.sleep(60)"],
        stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        holder.stdout.readline()
        with pytest.raises(ReportBusy, match="another run is writing made-up"):
            launch(load_record("made-up", project), {}, project / "reports")
    finally:
        holder.kill()
        holder.wait()


def test_what_a_killed_launcher_left_is_cleared_and_a_report_put_aside_comes_back(project):
    leave_an_earlier_report(project).rename(project / "reports" / "made-up.old")
    partial = project / "reports" / "made-up.partial"
    (partial / "rest").mkdir(parents=True)
    (partial / "ledger.json").write_text("{}")
    with pytest.raises(NotebookFailed):
        run(project, "no_finish")
    assert the_earlier_one_stands_alone(project / "reports" / "made-up")
    assert sorted(p.name for p in partial.iterdir()) == [".lock", "notebook.ipynb"]


def test_braces_in_a_path_are_braces(tmp_path, monkeypatch, home):
    odd = tmp_path / "a {limit} b"
    odd.mkdir()
    monkeypatch.chdir(odd)
    assert run(odd, given={"limit": 3}).directory == odd / "reports" / "made-up"


def test_a_killed_launcher_leaves_the_earlier_report_and_no_kernel(project):
    earlier = leave_an_earlier_report(project)
    made_project(project, "plain")
    sleeping = "import os, time\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(60)"
    book = json.loads((project / "notebooks" / "plain.ipynb").read_text())
    book["cells"][3]["source"] = sleeping
    (project / "notebooks" / "plain.ipynb").write_text(json.dumps(book))
    code = (
        "from pathlib import Path\nfrom workbench.analysis.ledger.record import load_record\n"
        "from workbench.reporting.launcher import launch\nlaunch(load_record('made-up'), {}, Path('reports'))"
    )
    launcher = subprocess.Popen([sys.executable, "-c", code], cwd=project)
    pid = project / "notebooks" / "pid"
    try:
        wait_until(lambda: pid.exists() and pid.read_text())
    finally:
        launcher.kill()
        launcher.wait()
    assert the_earlier_one_stands_alone(earlier)
    # The kernel watches its parent and ends by itself.
    wait_until(lambda: not os.path.exists(f"/proc/{pid.read_text()}"))


def wait_until(true, seconds=180):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.05)
