"""A made-up record in a directory of its own: claims, measures and a notebook, as a user's project has them."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from workbench.analysis.ledger.record import record_folder

NOTEBOOKS = Path(__file__).resolve().parents[1] / "fixtures" / "notebooks"

RECORD = """
title = "Made-up record <b>of one's own</b>"
text = "It says *three* things."
notebook = "notebooks/{notebook}.ipynb"

[parameters]
limit = "results on a page"

[[claims]]
id = "M01"
statement = "A first place in one list scores 0.0164"
kind = "arith"
expected = {{ score = 0.0164 }}
tolerance = 0.00005
measure = "made_measures:score"

[[claims]]
id = "M02"
statement = "A search makes seven calls"
kind = "count"
expected = 7
measure = "made_measures:{second}"
args = {{ calls = 8 }}

[[claims]]
id = "M03"
statement = "It takes the same time"
kind = "ratio"
expected = {{ between = [0.0, 1e9] }}
measure = "made_measures:clock"
"""

MEASURES = """
import time
from workbench.analysis.ledger.verdict import Measured

def score(run):
    return Measured({"score": 1 / 61}, "on paper")

def calls(run, calls):
    return Measured(calls, "the trace")

def raises(run, calls):
    return 1 // (calls - 8)

def forgets(run, calls):
    return calls

def clock(run):
    return Measured(time.perf_counter(), "this machine", timing=True)
"""


def made_project(root: Path, notebook: str = "whole", second: str = "calls", name: str = "made-up") -> Path:
    """A project under `root` with the record `name`; `second` is the measure of its second claim."""
    folder = root / record_folder(name)
    folder.mkdir(parents=True, exist_ok=True)
    (root / "notebooks").mkdir(exist_ok=True)
    text = RECORD.format(notebook=notebook, second=second)
    (folder / "record.toml").write_text(text, encoding="utf-8")
    (root / "made_measures.py").write_text(MEASURES, encoding="utf-8")
    shutil.copy(NOTEBOOKS / f"{notebook}.ipynb", root / "notebooks")
    return root


def enter_project(
    patch: pytest.MonkeyPatch, root: Path, notebook: str = "plain", second: str = "calls"
) -> Path:
    """Make a project and work inside it; its measures are imported anew, and forgotten after the test."""
    patch.chdir(made_project(root, notebook, second))
    patch.setattr(sys, "path", list(sys.path))
    patch.delitem(sys.modules, "made_measures", raising=False)
    patch.delenv("WORKBENCH_RUN_OUT", raising=False)
    return root
