"""Public collections that may lie beside the repository, for measurements: found, unpacked once, never required."""

from __future__ import annotations

import os
import shutil
import tarfile
from pathlib import Path

from workbench.settings import home, project_root

WHERE = Path("..") / "shared" / "data"
"""Relative to the project: an archive a collection, its README naming source and licence."""


def public(name: str) -> Path | None:
    """The unpacked folder of a public collection, None where its archive is not beside the repository."""
    archive = (project_root() / WHERE / f"{name}.tar.gz").resolve()
    if not archive.is_file():
        return None
    folder = home() / "public" / name
    if not folder.is_dir():
        partial = folder.with_name(f"{name}.{os.getpid()}.partial")
        partial.mkdir(parents=True, exist_ok=True)
        with tarfile.open(archive) as packed:
            packed.extractall(partial, filter="data")
        try:
            partial.rename(folder)
        except OSError:  # another process was first
            shutil.rmtree(partial)
    inner = [p for p in folder.iterdir() if p.is_dir()]
    return inner[0] if len(inner) == 1 and not any(p.is_file() for p in folder.iterdir()) else folder


def why_absent(name: str) -> str:
    """The plain reason that a test skips with and a ledger row notes."""
    return f"the public collection {name} is not at {WHERE}/{name}.tar.gz beside the repository"
