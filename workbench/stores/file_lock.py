"""One writer at a time, across processes: an advisory lock on a file beside what is written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workbench.errors import WorkbenchError

_CHECK_SECONDS = 0.02


class Locked(WorkbenchError):
    """Another process holds the lock, or the lock's file cannot be written."""


def lock_path(directory: Path) -> Path:
    """The lock file of a directory stands beside it, so that it outlives a replacement of the directory."""
    return directory.with_name(directory.name + ".lock")


@contextmanager
def exclusive(directory: Path, doing: str, *, wait: float) -> Iterator[None]:
    """Hold the directory's lock; the operating system lets it go when the process ends, however it ends.

    Raises Locked after `wait` seconds, naming the process that holds it.
    """
    import portalocker

    path = lock_path(directory)
    lock = portalocker.Lock(path, "w", timeout=wait, check_interval=_CHECK_SECONDS)
    try:
        held = lock.acquire()
    except portalocker.LockException:
        holder = path.read_text(errors="replace").strip() or "another process"
        raise Locked(f"{holder} is at work here", where=str(directory), do="Wait until it ends") from None
    except OSError as error:
        what = f"searching and loading need a writable home: {error.strerror}"
        raise Locked(what, where=str(path), do="Make it writable, or copy the home to where it is") from None
    try:
        held.write(f"process {os.getpid()} ({doing})")
        held.flush()
        yield
    finally:
        lock.release()
