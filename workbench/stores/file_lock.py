"""One writer at a time, across processes: an advisory lock on a file beside what is written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from workbench.errors import WorkbenchError

_CHECK_SECONDS = 0.02


class Locked(WorkbenchError):
    """Another process holds the lock."""


class NotWritable(Locked):
    """The lock's file cannot be written."""


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
        what = f"loading needs a writable home: {error.strerror}"
        raise NotWritable(what, where=str(path), do="Make it writable, or copy the home to where it is") from None
    try:
        with suppress(OSError):  # on a full disk the lock is held all the same
            os.write(held.fileno(), f"process {os.getpid()} ({doing})".encode())
        yield
    finally:
        lock.release()
