"""Files that a notes path needs beside a collection's catalog, made when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.retrieval.notes.old_store import build_old
from workbench.retrieval.notes.sqlite_build import build_sqlite
from workbench.stores.file_lock import NotWritable, exclusive
from workbench.stores.seal import SEAL, DamagedPoints, read_seal, write_seal
from workbench.stores.storage_errors import Scratch, StorageError, storage_errors

if TYPE_CHECKING:
    from workbench.retrieval.search import Collection

_GROWTH = 2  # the file is at most about as large as the catalog, and is built in one more
WAIT = 600.0
"""Seconds that a search waits for another one that makes the same file: at 373,000 chunks it takes minutes."""


def old_schema(collection: Collection) -> Path:
    """The old path's schema (see build_old)."""
    return _made(collection, "old.duckdb", build_old)


def sqlite_file(collection: Collection) -> Path:
    """The collection as one SQLite file (see build_sqlite)."""
    return _made(collection, "sqlite", build_sqlite)


def _made(collection: Collection, ending: str, build: Callable[[Path, Path], None]) -> Path:
    """The file beside the catalog, named by the content that it was made of; it goes when its generation does. Where it
    cannot be written there, it is made in a temporary directory for this collection as it is open.

    Raises Locked, StorageError, and what `build` does.
    """
    catalog = Path(collection.stores.catalog.path)
    try:
        return _beside(collection, catalog, ending, build)
    except (NotWritable, StorageError):  # a home that is read-only or full
        scratch = collection.kept(f"scratch {ending}", lambda: Scratch(catalog.stat().st_size * _GROWTH))
        path = scratch.path / f"notes.{ending}"
        if not path.is_file():
            build(catalog, path)
        return path


def _beside(collection: Collection, catalog: Path, ending: str, build: Callable[[Path, Path], None]) -> Path:
    path = catalog.with_name(f"notes-{collection.inputs['content'][:12]}.{ending}")
    if not _whole(path):
        with exclusive(path, f"making {path.name}", wait=WAIT), storage_errors(path):
            if not _whole(path):
                path.unlink(missing_ok=True)
                build(catalog, path)
                write_seal(path.parent, [path], {}, f"{path.name}.{SEAL}")
    return path


def _whole(path: Path) -> bool:
    """Whether the file is there as it was made; it is made again where it is damaged."""
    try:
        read_seal(path.parent, seal=f"{path.name}.{SEAL}")
    except DamagedPoints:
        return False
    return True
