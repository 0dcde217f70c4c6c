"""What `make` does beside installing."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_the_lab_opens_a_copy_that_git_ignores_and_that_stays_as_a_person_left_it(tmp_path: Path) -> None:
    for name in ("Makefile", "requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "notebooks", tmp_path / "notebooks", ignore=shutil.ignore_patterns("own"))
    shipped = tmp_path / "notebooks" / "investigate.ipynb"
    jupyter = tmp_path / ".venv" / "bin" / "jupyter"
    jupyter.parent.mkdir(parents=True)
    jupyter.write_text('#!/bin/sh\nfor word in "$@"; do case "$word" in *.ipynb) echo run >> "$word";; esac; done\n')
    jupyter.chmod(0o755)
    (tmp_path / ".venv" / ".installed").touch()
    for times in (1, 2):
        subprocess.run(["make", "lab"], cwd=tmp_path, check=True, capture_output=True)
        copy = tmp_path / "notebooks" / "own" / "investigate.ipynb"
        assert copy.read_text() == shipped.read_text() + "run\n" * times
    assert shipped.read_text() == (ROOT / "notebooks" / "investigate.ipynb").read_text()
    assert "notebooks/own/" in (ROOT / ".gitignore").read_text().split()
