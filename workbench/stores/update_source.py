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

CUT = ("chunk_size", "overlap")
"""How documents are cut: what changes are read with as the collection was."""


def changes_source(manifest: Manifest, changes: str | Path | Source, options: Mapping[str, Any]) -> Source:
    """Some documents, from a table unless `kind` says otherwise, cut and mapped as the collection's own were but for
    the options given. Raises as `whole_source`."""
    if isinstance(changes, Source):
        return _checked(manifest, changes)
    kind = options.get("kind") or "table"
    names = (*CUT, "columns") if kind == manifest.kind == "table" else CUT
    return _checked(manifest, open_source(changes, **{**_recorded(manifest, kind, names), "kind": kind, **options}))


def whole_source(manifest: Manifest, spec: str | Path | Source, options: Mapping[str, Any]) -> Source:
    """The source as it is now, read with the options that the collection records, where it is of the same kind.

    Raises NotAvailable for a source whose chunks have ids or vectors of their own, SourceError, BadParameter.
    """
    if isinstance(spec, Source):
        return _checked(manifest, spec)
    kind = options.get("kind") or (manifest.kind if str(spec) == manifest.location else detect(spec))
    recorded = _recorded(manifest, kind, tuple(manifest.settings)) if kind == manifest.kind else {}
    if "packages" in recorded:  # recorded with their versions
        recorded["packages"] = tuple(recorded["packages"])
    return _checked(manifest, open_source(spec, **{**recorded, "kind": kind, **options}))


def _recorded(manifest: Manifest, kind: str, names: tuple[str, ...]) -> dict[str, Any]:
    """Those of the named options that the collection records and this reader takes."""
    known = lookup("reader", kind).parameters
    return {n: manifest.settings[n] for n in names if n in known and manifest.settings.get(n) not in (None, "")}


def _checked(manifest: Manifest, source: Source) -> Source:
    if source.vectors is None and source.kind != "qdrant":
        return source
    what = f"a source of kind {source.kind} has ids or vectors of its own"
    raise NotAvailable(what, where=source.location, do=f"Load it again: workbench load … --as {manifest.name}")
