"""Chunks of a collection as a load stages a source's: those that an update adds, or all that a catalog holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.sources.source import Source
from workbench.stores.catalog import Catalog
from workbench.stores.catalog_facts import all_facts, chunk_of
from workbench.stores.loader import ALSO_VECTORS, VECTORS
from workbench.stores.manifest import Manifest
from workbench.stores.model import Model
from workbench.stores.points import ALSO
from workbench.stores.progress import Report
from workbench.stores.staging import parts_of, stage
from workbench.stores.vector_pass import write_vectors

if TYPE_CHECKING:
    import numpy as np

VECTORS_A_READ = 2048


@dataclass(frozen=True, slots=True)
class Delta:
    """A directory of parts, and the vectors of their rows by each model; how many texts a model did not read whole."""

    directory: Path
    truncated: int = 0
    warnings: tuple[str, ...] = ()

    @property
    def parts(self) -> list[Path]:
        return parts_of(self.directory)

    @property
    def vectors(self) -> Path:
        return self.directory / VECTORS

    @property
    def also(self) -> Path | None:
        """The second model's, None without one."""
        path = self.directory / ALSO_VECTORS
        return path if path.exists() else None


def stage_delta(
    directory: Path, source: Source, manifest: Manifest, cache: Path, report: Report, stored: Catalog | None = None
) -> Delta:
    """Stage a source's chunks as those of the collection, by its tokenizer and its models; with `stored`, a catalog of
    these very chunks, their vectors are as they stand there."""
    report.phase("read", source.count)
    rows = stage(source, directory, manifest.words, report.tick).chunks
    parts, made = parts_of(directory), []
    for space, file, recorded, phase in (("", VECTORS, manifest.model, "embed"), (ALSO, ALSO_VECTORS, manifest.also, "embed also")):
        if recorded:
            own = source if stored is None else replace(source, vectors=lambda _, space=space: stored_vectors(stored, space))
            made.append(write_vectors(directory / file, own, parts, rows, Model(**recorded), cache, report, phase))
    return Delta(directory, made[0].truncated, tuple(warning for found in made for warning in found.warnings))


def source_of(catalog: Catalog) -> Source:
    """All that a catalog holds, to be staged again."""
    return Source("catalog", str(catalog.path), {}, lambda: map(chunk_of, all_facts(catalog)), count=catalog.n)


def stored_vectors(catalog: Catalog, space: str) -> Iterator[np.ndarray]:
    """All vectors of a space in point-id order, a few rows at a time."""
    ids = catalog.ids_where()
    for start in range(0, len(ids), VECTORS_A_READ):
        yield catalog.vectors(ids[start : start + VECTORS_A_READ], space=space)
