"""What the disk refuses, by name: full, not writable, or failing, and where."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workbench.errors import WorkbenchError

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
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
    except Exception as error:
        # DuckDB is imported only where it is used; its errors carry the system's words in theirs.
        if type(error).__module__.partition(".")[0] not in ("duckdb", "_duckdb"):
            raise
        raise StorageError(f"the catalog could not be built: {str(error).splitlines()[0]}", where=str(home)) from error


def _named(error: OSError, where: str) -> StorageError:
    if error.errno in _FULL:
        return StorageError("the disk is full", where=where, do="Make room and load again; embeddings are kept")
    if error.errno in _FORBIDDEN:
        return StorageError("writing is not allowed", where=where, do="Make it writable, or set WORKBENCH_HOME")
    return StorageError(error.strerror or str(error), where=where)
