"""What an update reads: a table of changed documents, or the whole source as it is now, as the collection was read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.errors import NotAvailable
from workbench.registry import lookup
from workbench.sources.readers import detect, open_source
from workbench.sources.source import Source
from workbench.stores.manifest import Manifest

# How a table's documents are cut, where the collection records it; a table's columns are its own reader's.
CUT = ("chunk_size", "overlap")


def changes_source(manifest: Manifest, changes: str | Path | Source, options: Mapping[str, Any]) -> Source:
    """A table of documents, cut and mapped as the collection's own were, but for the options given."""
    if isinstance(changes, Source):
        return changes
    names = (*CUT, "columns") if manifest.kind == "table" else CUT
    recorded = {n: manifest.settings[n] for n in names if manifest.settings.get(n) is not None}
    return open_source(changes, kind="table", **{**recorded, **options})


def whole_source(manifest: Manifest, spec: str | Path | Source, options: Mapping[str, Any]) -> Source:
    """The source as it is now, read with the options that the collection records, where it is of the same kind.

    Raises NotAvailable for a source whose chunks have ids or vectors of their own, SourceError.
    """
    source = spec if isinstance(spec, Source) else _opened(manifest, str(spec), options)
    if source.vectors is not None or source.kind == "qdrant":
        what = f"a source of kind {source.kind} has ids or vectors of its own"
        raise NotAvailable(what, where=source.location, do=f"Load it again: workbench load … --as {manifest.name}")
    return source


def _opened(manifest: Manifest, spec: str, options: Mapping[str, Any]) -> Source:
    kind = options.get("kind") or (manifest.kind if spec == manifest.location else detect(spec))
    recorded = {}
    if kind == manifest.kind:
        known = lookup("reader", kind).parameters
        recorded = {n: v for n, v in manifest.settings.items() if n in known and v not in (None, "")}
    if "packages" in recorded:  # recorded with their versions
        recorded["packages"] = tuple(recorded["packages"])
    return open_source(spec, **{**recorded, **options, "kind": kind})
