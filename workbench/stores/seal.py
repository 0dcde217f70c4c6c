"""Seals: the size and checksum of every file of a complete directory, written last and checked before it is read.

An engine opens a shard that lost half its points, repairs what it finds damaged, answers from flipped bytes, or ends
the whole process. So no engine sees files that are not what was written.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from workbench.errors import WorkbenchError

SEAL = "seal.json"
REWRITTEN = "edge_config.json"
"""The engine writes it anew at every opening: it is read only under the shard's lock."""
PASSING = ".atomicwrite*"
"""Directories in which the engine writes a file anew at every closing, before it puts it in its place."""

# An opening reads files whole up to this size, 10 ms each at most, and the engine's id mappings always.
SMALL_BYTES = 8 << 20
ALWAYS = "id_tracker"
BLOCK = 1 << 16
_HOLE = bytes(BLOCK)
_AGAIN = "Load the collection again"


class DamagedPoints(WorkbenchError):
    """The embedded collection of points is absent, incomplete, or not what was built."""


def write_seal(
    directory: Path, files: Iterable[Path], facts: Mapping[str, Any], seal: str = SEAL
) -> None:
    """Record these files of a directory, and what is known of it. Call it last."""
    sizes = {
        p.relative_to(directory).as_posix(): [p.stat().st_size, checksum(p)] for p in sorted(files)
    }
    body = {**facts, "files": sizes}
    # Not atomic: what is sealed is not in its place yet.
    (directory / seal).write_text(json.dumps({**body, "checksum": _of(body)}, sort_keys=True))


def read_seal(
    directory: Path,
    *,
    whole: bool = False,
    locked: bool = True,
    seal: str = SEAL,
    error: type[WorkbenchError] = DamagedPoints,
) -> dict[str, Any]:
    """What is known of a directory whose files are as they were sealed.

    Sizes are always compared, and the content of small files; with `whole` that of all. `locked`: the shard's lock is
    held, so that the file that the engine rewrites can be read too. Raises `error` that names the first that differs.
    """
    if not directory.is_dir():
        raise error("there is nothing here", where=str(directory), do=_AGAIN)
    try:
        found = json.loads((directory / seal).read_text())
        body = {name: value for name, value in found.items() if name != "checksum"}
    except (OSError, ValueError, AttributeError):
        raise error(
            "it was never completed, or its seal is damaged", where=str(directory), do=_AGAIN
        ) from None
    if found.get("checksum") != _of(body):
        raise error("the seal is damaged", where=str(directory / seal), do=_AGAIN)
    files = {n: f for n, f in body.pop("files").items() if locked or n != REWRITTEN}

    def differs(name: str) -> str:
        path, (size, digest) = directory / name, files[name]
        try:
            # Only what was sealed is looked at: another process makes files and removes them meanwhile.
            stat = path.stat()
            if stat.st_size != size:
                return f"the file {name} has {stat.st_size} bytes instead of {size}"
            read = whole or ALWAYS in name or min(size, stat.st_blocks * 512) <= SMALL_BYTES
            return (
                ""
                if not read or checksum(path) == digest
                else f"the file {name} is not what was written"
            )
        except (FileNotFoundError, NotADirectoryError):
            return f"the file {name} is gone"
        except OSError as fault:
            return f"the file {name} cannot be read: {fault.strerror}"

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        fault = next(filter(None, pool.map(differs, files)), "")
    if fault:
        raise error(fault, where=str(directory), do=_AGAIN)
    return body


def checksum(path: Path) -> str:
    """SHA-256 over a file's blocks that are not zero, each with its place: holes cost nothing, copied or not.

    Of JSON that of its content: the engine writes its settings anew, in another order of keys.
    """
    if path.suffix == ".json":
        try:
            return _of(json.loads(path.read_bytes()))
        except ValueError:
            pass  # damaged: its bytes are not what was written either
    found = hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        end = os.fstat(file.fileno()).st_size
        at = _data(file.fileno(), 0, end)
        while at < end:
            file.seek(at)
            block = file.read(BLOCK)
            if not block:
                break
            if block != _HOLE[: len(block)]:
                found.update(b"%d:" % at)
                found.update(block)
            at = _data(file.fileno(), at + len(block), end)
    return found.hexdigest()


def _data(descriptor: int, at: int, end: int) -> int:
    """The block at or after this place that holds data, by what the file system knows of holes."""
    if at >= end or not hasattr(os, "SEEK_DATA"):
        return at
    try:
        return os.lseek(descriptor, at, os.SEEK_DATA) // BLOCK * BLOCK
    except OSError:  # no data until the end, or a file system that does not say
        return end if _hole_to_end(descriptor, at, end) else at


def _hole_to_end(descriptor: int, at: int, end: int) -> bool:
    try:
        return os.lseek(descriptor, at, os.SEEK_HOLE) == at
    except OSError:
        return False


def _of(body: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
