"""The home directory: which collections there are, which generation of each is the complete one, and opening it.

`<home>/collections/<name>/current` names the generation; it is replaced atomically when a load has ended, so a
reader sees the earlier collection or the new one, whole. `staging` beside it is a load under way or interrupted.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench import settings
from workbench.errors import BadParameter, NotAvailable, WorkbenchError
from workbench.stores.engines import check, open_catalog, open_points
from workbench.stores.manifest import Manifest, read_manifest, write_whole
from workbench.stores.points import ALSO
from workbench.stores.waiting import Waiting, waiting_in
from workbench.text import Tokenizer

if TYPE_CHECKING:
    from workbench.stores.catalog import Catalog
    from workbench.stores.embedding import Embedder
    from workbench.stores.points import Points

STAGING, CURRENT = "staging", "current"
EMBEDDINGS = "embeddings.sqlite"
# A name is a directory here and part of a collection's name on a server. ".lock" is the lock's file.
_NAME = re.compile(r"(?!.*\.lock$)[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_OPENINGS = 3  # a load may end between reading `current` and opening what it names


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
        """The complete generation's directory, None where no load has ended yet."""
        try:
            generation = (self.directory / CURRENT).read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            return None
        return self.directory / generation

    def switch(self, generation: str) -> None:
        """Make a generation the complete one, atomically, and remove the others."""
        write_whole(self.directory / CURRENT, generation + "\n")
        for other in self.directory.iterdir():
            if other.is_dir() and other.name not in (generation, STAGING):
                shutil.rmtree(other, ignore_errors=True)  # what a reader still holds open goes at the next load


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

    def space(self, model: str) -> tuple[Embedder, str]:
        """What embeds a query for the model of this name ("" is the first), and the space of that model's vectors.

        Raises NotAvailable that names the collection's models.
        """
        spaces = {"": (self.embedder, ""), self.embedder.model.name: (self.embedder, "")}
        if self.also is not None:
            spaces[self.also.model.name] = (self.also, ALSO)
        if model not in spaces:
            raise NotAvailable(
                f"the collection has no vectors of the model {model!r}, only of {' and '.join(filter(None, spaces))}",
                where=self.manifest.name, do=f"Load it with them: workbench load … --also {model}",
            )  # fmt: skip
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
    if not _NAME.fullmatch(name):
        raise BadParameter(
            f"{name!r} cannot name a collection", do="Use up to 64 letters, digits, '.', '_' and '-', a letter or digit first"
        )
    return Place(settings.home(), name)


def collections() -> list[Listed]:
    """The collections of this home by name; one that cannot be read is listed with the reason."""
    root = settings.home() / "collections"
    names = sorted(p.name for p in root.iterdir() if p.is_dir()) if root.is_dir() else []
    return [_listed(name) for name in names]


def open_stores(name: str) -> Stores:
    """Open a loaded collection for reading. Raises UnknownCollection, BrokenCollection, or an engine's own error."""
    where = place(name)
    for opening in range(1, _OPENINGS + 1):
        generation = generation_of(where)
        try:
            return _open(read_manifest(generation), generation)
        except WorkbenchError:
            if opening == _OPENINGS or where.current() == generation:
                raise
    raise AssertionError("unreachable")


def generation_of(where: Place) -> Path:
    """The complete generation of a collection. Raises UnknownCollection where there is none."""
    generation = where.current()
    if generation is None:
        raise _unknown(where.name)
    return generation


def embedder_for(recorded: Mapping[str, Any]) -> Embedder:
    """The embedder of a recorded model, with this home's cache where it may be written."""
    from workbench.stores.embedding import Embedder
    from workbench.stores.model import Model

    home = settings.home()
    return Embedder(Model(**recorded), home / EMBEDDINGS if os.access(home, os.W_OK) else None)


def _open(manifest: Manifest, generation: Path) -> Stores:
    catalog = open_catalog(generation, manifest)
    try:
        points = open_points(generation, manifest)
    except BaseException:
        catalog.close()
        raise
    also = embedder_for(manifest.also) if manifest.also else None
    return Stores(manifest, catalog, points, embedder_for(manifest.model), manifest.words, also)


def _listed(name: str) -> Listed:
    where = Place(settings.home(), name)
    try:
        generation = where.current()
        if generation is None:
            return Listed(name, None, UNFINISHED)
        manifest = read_manifest(generation)
        check(generation, manifest)
        return Listed(name, manifest, waiting=waiting_in(generation))
    except (WorkbenchError, OSError) as error:
        return Listed(name, None, str(error))


def _unknown(name: str) -> UnknownCollection:
    known = [found.name for found in collections() if found.manifest]
    return UnknownCollection(
        f"no collection {name!r} is loaded", where=str(settings.home()),
        do=f"Loaded: {', '.join(known)}" if known else "Load one: workbench load SOURCE --as NAME",
    )  # fmt: skip
