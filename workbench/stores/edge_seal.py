"""What a complete shard must hold, written last: the engine itself opens a shard that lost half its points."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from workbench.errors import WorkbenchError

SEAL = "seal.json"
# The engine writes these anew at every opening.
_CHANGING = (SEAL, "edge_config.json")
PASSING = ".atomicwrite*"
"""Directories in which the engine writes a file anew at every closing, before it puts it in its place."""


class DamagedPoints(WorkbenchError):
    """The embedded collection of points is absent, incomplete, or not what was built."""


@dataclass(frozen=True, slots=True)
class Seal:
    points: int
    dim: int
    engine: str
    also: int = 0
    """The second model's dimensions, 0 without one."""


def write_seal(directory: Path, points: int, dim: int, also: int = 0) -> None:
    """Record a closed shard's points, dimensions, engine and the size of every file. Call it last."""
    seal = {"points": points, "dim": dim, "engine": engine_name(), "also": also, "files": _sizes(directory)}
    (directory / SEAL).write_text(json.dumps(seal, sort_keys=True))


def read_seal(directory: Path) -> Seal:
    """The seal of a shard whose files have their sizes still. Raises DamagedPoints that names the first that has not."""
    again = "Load the collection again"
    if not directory.is_dir():
        raise DamagedPoints("there are no points here", where=str(directory), do=again)
    try:
        seal = json.loads((directory / SEAL).read_text())
    except (OSError, ValueError):
        raise DamagedPoints("the points were never completed", where=str(directory), do=again) from None
    # Only what was sealed is looked at: another process that closes the shard makes files and removes them meanwhile.
    for name, size in seal["files"].items():
        try:
            found = (directory / name).stat().st_size
        except (FileNotFoundError, NotADirectoryError):
            raise DamagedPoints(f"the file {name} is gone", where=str(directory), do=again) from None
        if found != size:
            what = f"the file {name} has {found} bytes instead of {size}"
            raise DamagedPoints(what, where=str(directory), do=again)
    return Seal(seal["points"], seal["dim"], seal["engine"], seal.get("also", 0))


def engine_name() -> str:
    return f"qdrant-edge-py {version('qdrant-edge-py')}"


def _sizes(directory: Path) -> dict[str, int]:
    files = (p for p in sorted(directory.rglob("*")) if p.is_file() and p.name not in _CHANGING)
    return {p.relative_to(directory).as_posix(): p.stat().st_size for p in files}
