"""The home directory: which collections there are, which generation of each is the complete one, and opening it.

`<home>/collections/<name>/current` names the generation; it is replaced atomically when a load has ended, so a
reader sees the earlier collection or the new one, whole. `staging` beside it is a load under way or interrupted.

A reader holds the generation that it opened, by a shared lock on its manifest, and goes on with it whatever is loaded
meanwhile. A generation that is replaced is removed when nobody holds it: by the load, or by its last reader.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from workbench import settings
from workbench.errors import BadParameter, NotAvailable, WorkbenchError
from workbench.stores.filters.values import ALSO
from workbench.stores.journal import Waiting, waiting_in
from workbench.stores.manifest import (
    MANIFEST,
    BrokenCollection,
    Manifest,
    read_manifest,
    write_whole,
)
from workbench.stores.points.engines import check, open_catalog, open_points, retire
from workbench.stores.seal import read_seal
from workbench.stores.vectors.models import NO_VECTORS
from workbench.text import Tokenizer

if TYPE_CHECKING:
    from workbench.stores.catalog.catalog import Catalog
    from workbench.stores.filters.values import Points
    from workbench.stores.vectors.embedder import Embedder

STAGING, CURRENT = "staging", "current"
EMBEDDINGS = "embeddings.sqlite"
# A name is a directory here and part of a collection's name on a server. ".lock" is the lock's file.
_NAME = re.compile(r"(?!.*\.lock$)[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_GENERATION = re.compile(r"\d{8}T\d{12}-[0-9a-f]{8}")
# An update may replace the generation between reading `current` and holding what it names, which takes milliseconds.
HOLD_SECONDS = 10.0
_RETRY_SECONDS = 0.01
# SQLite maps a file of the cache: on a full disk that is a signal which ends the process.
CACHE_ROOM = 8 << 20


class UnknownCollection(BadParameter):
    """No collection of that name is loaded; lists those that are."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where one collection lives."""

    home: Path
    name: str

    @property
    def directory(self) -> Path:
        return self.home / "collections" / self.name

    @property
    def staging(self) -> Path:
        return self.directory / STAGING

    def current(self) -> Path | None:
        """The complete generation's directory, None where no load has ended yet. Raises BrokenCollection."""
        path = self.directory / CURRENT
        try:
            generation = path.read_bytes().decode("ascii", "replace").strip()
        except FileNotFoundError:
            return None
        if not _GENERATION.fullmatch(generation):
            raise BrokenCollection(
                "it does not name a generation", where=str(path), do="Load it again"
            )
        return self.directory / generation

    def hold(self) -> Held:
        """The complete generation, kept until it is released. Raises UnknownCollection, BrokenCollection."""
        end = time.monotonic() + HOLD_SECONDS
        while True:
            generation = generation_of(self)
            held = _held(self, generation)
            if held is not None and self.current() == generation:
                return held
            if held is not None:
                held.release()
            elif self.current() == generation and not (generation / MANIFEST).exists():
                raise BrokenCollection(
                    "it has no manifest", where=str(generation), do="Load it again"
                )
            if time.monotonic() > end:
                what = f"it was replaced again and again for {HOLD_SECONDS:g} s"
                raise BrokenCollection(what, where=str(self.directory), do="Try again")
            time.sleep(_RETRY_SECONDS)

    def switch(self, generation: str) -> None:
        """Make a generation the complete one, atomically, and remove the others that no reader holds."""
        write_whole(self.directory / CURRENT, generation + "\n")
        for other in self.directory.iterdir():
            if other.is_dir() and other.name not in (generation, STAGING):
                _remove(other)


@dataclass(frozen=True, slots=True)
class Held:
    """A generation that is not removed until it is released."""

    place: Place
    generation: Path
    file: IO[bytes]

    def __enter__(self) -> Path:
        return self.generation

    def __exit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        """Let it go; the last reader of a replaced one removes it."""
        if not self.file.closed:
            self.file.close()
            with suppress(WorkbenchError, OSError):
                if self.place.current() != self.generation:
                    _remove(self.generation)


def _held(where: Place, generation: Path) -> Held | None:
    """The generation held, None where it is being removed or is gone."""
    import portalocker

    try:
        file = (generation / MANIFEST).open("rb")
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        portalocker.lock(file, portalocker.LOCK_SH | portalocker.LOCK_NB)
    except portalocker.AlreadyLocked:
        file.close()
        return None
    except (portalocker.LockException, OSError):
        pass  # a file system without locks: it is read as it is
    return Held(where, generation, file)


def _remove(generation: Path) -> None:
    """Remove a replaced generation that no reader holds, and its collection on a server."""
    import portalocker

    try:
        with (generation / MANIFEST).open("r+b") as file:
            portalocker.lock(file, portalocker.LOCK_EX | portalocker.LOCK_NB)
            with suppress(WorkbenchError):
                retire(read_manifest(generation))
            shutil.rmtree(generation, ignore_errors=True)
    except FileNotFoundError:
        shutil.rmtree(generation, ignore_errors=True)
    except (portalocker.LockException, OSError):
        pass  # held, or not ours to write: a later load or its last reader removes it


@dataclass(frozen=True, slots=True)
class Stores:
    """An opened collection: manifest, DuckDB catalog, Qdrant points, model, the tokenizer for queries, and the second
    model where it was loaded with one."""

    manifest: Manifest
    catalog: Catalog
    points: Points
    embedder: Embedder
    tokenizer: Tokenizer
    also: Embedder | None = None
    held: Held | None = None

    def space(self, model: str) -> tuple[Embedder, str]:
        """What embeds a query for the model of this name ("" is the first), and the space of that model's vectors.

        Raises NotAvailable that names the collection's models.
        """
        spaces = {"": (self.embedder, ""), self.embedder.model.name: (self.embedder, "")}
        if self.embedder.model == NO_VECTORS:
            return self.embedder, ""  # it refuses every query by name
        if self.also is not None:
            spaces[self.also.model.name] = (self.also, ALSO)
        if model not in spaces:
            raise NotAvailable(
                f"the collection has no vectors of the model {model!r}, only of {' and '.join(filter(None, spaces))}",
                where=self.manifest.name,
                do=f"Load it with them: workbench load … --also {model}",
            )
        return spaces[model]

    def __enter__(self) -> Stores:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.catalog.close()
        self.points.close()
        for embedder in filter(None, (self.embedder, self.also)):
            embedder.close()
        if self.held is not None:
            self.held.release()


UNFINISHED = "its first load has not ended; load it again to resume"


@dataclass(frozen=True, slots=True)
class Listed:
    """One collection as `collections()` lists it: its manifest, or why it cannot be read, and what waits."""

    name: str
    manifest: Manifest | None
    broken: str = ""
    waiting: Waiting = Waiting()


def place(name: str) -> Place:
    """The place of a collection in this home. Raises BadParameter for a name that no directory should have."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise BadParameter(
            f"{name!r} cannot name a collection",
            do="Use up to 64 letters, digits, '.', '_' and '-', a letter or digit first",
        )
    return Place(settings.home(), name)


def collections() -> list[Listed]:
    """The collections of this home by name; one that cannot be read is listed with the reason."""
    root = settings.home() / "collections"
    names = sorted(p.name for p in root.iterdir() if p.is_dir()) if root.is_dir() else []
    return [_listed(name) for name in names]


def open_stores(name: str) -> Stores:
    """Open a loaded collection for reading, as it is now, whatever is loaded afterwards.

    Raises UnknownCollection, BrokenCollection, or an engine's own error.
    """
    held = place(name).hold()
    try:
        return _open(read_manifest(held.generation), held)
    except BaseException:
        held.release()
        raise


def check_collection(name: str) -> Manifest:
    """Compare every byte of a collection with its checksums, and return its manifest.

    Raises UnknownCollection, BrokenCollection, DamagedPoints or a store's own error, which name the file.
    """
    with place(name).hold() as generation:
        manifest = read_manifest(generation)
        check(generation, manifest, whole=True)
        return manifest


def generation_of(where: Place) -> Path:
    """The complete generation of a collection. Raises UnknownCollection where there is none."""
    generation = where.current()
    if generation is None:
        raise _unknown(where.name)
    return generation


def embedder_for(recorded: Mapping[str, Any]) -> Embedder:
    """The embedder of a recorded model, with this home's cache where it may be written."""
    from workbench.stores.vectors.embedder import Embedder
    from workbench.stores.vectors.models import Model

    home = settings.home()
    kept = os.access(home, os.W_OK) and shutil.disk_usage(home).free > CACHE_ROOM
    return Embedder(Model(**recorded), home / EMBEDDINGS if kept else None)


def _open(manifest: Manifest, held: Held) -> Stores:
    generation = held.generation
    read_seal(generation, error=BrokenCollection)
    catalog = open_catalog(generation, manifest)
    try:
        points = open_points(generation, manifest)
    except BaseException:
        catalog.close()
        raise
    also = embedder_for(manifest.also) if manifest.also else None
    return Stores(
        manifest, catalog, points, embedder_for(manifest.model), manifest.words, also, held
    )


def _listed(name: str) -> Listed:
    where = Place(settings.home(), name)
    try:
        if where.current() is None:
            return Listed(name, None, UNFINISHED)
        with where.hold() as generation:
            manifest = read_manifest(generation)
            check(generation, manifest)
            return Listed(name, manifest, waiting=waiting_in(generation))
    except (WorkbenchError, OSError) as error:
        return Listed(name, None, str(error))


def _unknown(name: str) -> UnknownCollection:
    known = [found.name for found in collections() if found.manifest]
    return UnknownCollection(
        f"no collection {name!r} is loaded",
        where=str(settings.home()),
        do=f"Loaded: {', '.join(known)}" if known else "Load one: workbench load SOURCE --as NAME",
    )
