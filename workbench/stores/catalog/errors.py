"""The catalog's named errors, and the one place where DuckDB's own errors become them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workbench.errors import BadParameter, NotAvailable, WorkbenchError

RELOAD = "Load the collection again: workbench load SOURCE --as NAME"


class CatalogMissing(NotAvailable):
    """There is no catalog file at that path."""


class CatalogLocked(NotAvailable):
    """Another process has the file open for writing."""


class CatalogUnreadable(NotAvailable):
    """The system does not let the file be read: no right to, no room to spill, written by another DuckDB."""


class CatalogDamaged(NotAvailable):
    """The file is cut short, fails its checksums, or is no catalog."""


class CatalogClosed(NotAvailable):
    """The catalog was closed before it was asked."""


class StagingError(WorkbenchError):
    """The staged parts or vectors break the pipeline's contract; nothing was built."""


class BadVector(BadParameter):
    """A query vector of the wrong length, or without a direction: zero, NaN or infinite."""


class UnknownPoint(BadParameter):
    """A point id that the catalog does not hold."""


@contextmanager
def named_errors(path: Path) -> Iterator[None]:
    """Run a read of the catalog file: what DuckDB says of a locked or damaged file becomes a named error.

    Raises CatalogLocked, CatalogDamaged, CatalogUnreadable, CatalogClosed; a statement's own errors pass.
    """
    import duckdb

    try:
        yield
    except duckdb.ConnectionException as error:
        raise CatalogClosed("the catalog is closed", where=str(path), do="Open it again") from error
    except duckdb.IOException as error:
        raise _unread(path, str(error)) from error
    except (
        duckdb.FatalException,
        duckdb.InternalException,
        duckdb.SerializationException,
    ) as error:
        raise damaged(path, str(error)) from error
    except duckdb.Error as error:
        # A block that fails its checksum has no class of its own.
        if "Corrupt database file" in str(error):
            raise damaged(path, str(error)) from error
        raise


def _unread(path: Path, why: str) -> NotAvailable:
    if "Could not set lock" in why:
        what = "the catalog is open for writing in another process"
        return CatalogLocked(what, where=str(path), do="Close it there and try again")
    if "not a valid DuckDB" in why or "Could not read enough bytes" in why:
        return damaged(path, why)
    first = why.splitlines()[0]
    return CatalogUnreadable(
        f"the catalog cannot be read: {first}", where=str(path), do="Mend that and try again"
    )


def damaged(path: Path, why: str) -> CatalogDamaged:
    """The error for a file that cannot be read as a catalog; `why` is cut to its first line."""
    return CatalogDamaged(
        f"the catalog is damaged: {why.splitlines()[0]}", where=str(path), do=RELOAD
    )
