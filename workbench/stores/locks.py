"""One writer at a time, across processes: an advisory lock on a file beside what is written."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from workbench.errors import WorkbenchError

# ---- One writer at a time, across processes: an advisory lock on a file beside what is writ ----

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
        raise Locked(
            f"{holder} is at work here", where=str(directory), do="Wait until it ends"
        ) from None
    except OSError as error:
        what = f"loading needs a writable home: {error.strerror}"
        raise NotWritable(
            what, where=str(path), do="Make it writable, or copy the home to where it is"
        ) from None
    try:
        with suppress(OSError):  # on a full disk the lock is held all the same
            os.write(held.fileno(), f"process {os.getpid()} ({doing})".encode())
        yield
    finally:
        lock.release()


# ---- What the disk refuses, by name: full, not writable, or failing, and where ----

_MARGIN = 16 << 20
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FULL_WORDS = (
    "No space left",
    "no space left",
    "disk is full",
    "Disk quota",
    "os error 28",
    "os error 122",
)
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}


class StorageError(WorkbenchError):
    """Something could not be written or read; what was complete before is as it was."""


@contextmanager
def storage_errors(home: Path) -> Iterator[None]:
    """Turn what the operating system and DuckDB say of the disk into StorageError; other errors pass."""
    try:
        yield
    except OSError as error:
        raise _named(error, str(error.filename or home)) from error
    except StorageError:
        raise
    except Exception as error:
        if says_full(error):
            raise _full(getattr(error, "where", "") or str(home)) from error
        # DuckDB is imported only where it is used; its errors carry the system's words in theirs.
        if type(error).__module__.partition(".")[0] not in ("duckdb", "_duckdb"):
            raise
        raise StorageError(
            f"the catalog could not be built: {str(error).splitlines()[0]}", where=str(home)
        ) from error


def says_full(error: BaseException) -> bool:
    """Whether an error's words say that a disk is full, whichever engine speaks."""
    return any(words in str(error) for words in _FULL_WORDS)


class Scratch:
    """A temporary directory on a disk with room for so many bytes, for what cannot be written where it belongs."""

    def __init__(self, size: int) -> None:
        """Raises StorageError where no disk has room."""
        for place in (os.environ.get("TMPDIR"), "/tmp", "/var/tmp", "/dev/shm"):
            if (
                place
                and os.access(place, os.W_OK)
                and shutil.disk_usage(place).free > size + _MARGIN
            ):
                self._made = tempfile.TemporaryDirectory(
                    prefix="workbench-", dir=place, ignore_cleanup_errors=True
                )
                self.path = Path(self._made.name)
                return
        what = f"no temporary directory has room for {size:,} bytes"
        raise StorageError(what, do="Make room, or set TMPDIR to a disk that has it")

    def close(self) -> None:
        self._made.cleanup()


def _full(where: str) -> StorageError:
    return StorageError(
        "the disk is full", where=where, do="Make room and load again; embeddings are kept"
    )


def _named(error: OSError, where: str) -> StorageError:
    if error.errno in _FULL:
        return _full(where)
    if error.errno in _FORBIDDEN:
        return StorageError(
            "writing is not allowed", where=where, do="Make it writable, or set WORKBENCH_HOME"
        )
    return StorageError(error.strerror or str(error), where=where)
