"""A collection changed in place: documents added, changed and deleted by id.

The law: what is to change is first put into a journal, for good; then the next generation is made of the one that
stands and of the journal, and takes its place in one step, in which the journal goes. Until then every reader sees the
earlier collection, whole. Afterwards it is, to the last count, the collection that a load of the same chunks under the
same ids would make. What waits in a journal is known, and `update(name)` takes it up.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.errors import BadParameter
from workbench.sources.source import Source
from workbench.stores.difference import Difference, UnknownDocument, difference
from workbench.stores.engines import open_catalog
from workbench.stores.file_lock import exclusive
from workbench.stores.home import generation_of, place
from workbench.stores.loader import plain
from workbench.stores.manifest import Manifest, read_manifest
from workbench.stores.progress import Listener, reporting
from workbench.stores.staging import NAMED, some
from workbench.stores.storage_errors import storage_errors
from workbench.stores.update_apply import apply
from workbench.stores.update_plan import highest_of, plan_of
from workbench.stores.update_source import changes_source, whole_source
from workbench.stores.waiting import ADDED, CHANGED, DELETED, Journal, Waiting, waiting_documents, waiting_in


@dataclass(frozen=True, slots=True)
class Updated:
    """`added`, `changed` and `deleted` count the documents that are so in both stores now, or, deferred, that were put to
    wait; `unchanged` were given as they stand; `not_found` are ids to delete that are not there; `warnings` are of what
    this update read or indexed, where the manifest's are of all that stands."""

    manifest: Manifest
    added: int
    changed: int
    deleted: int
    unchanged: int
    not_found: tuple[str, ...]
    waiting: Waiting
    warnings: tuple[str, ...]


def update(
    name: str,
    changes: str | Path | Source | None = None,
    *,
    source: str | Path | Source | None = None,
    delete: Iterable[str] = (),
    missing_ok: bool = False,
    defer: bool = False,
    progress: bool | Listener = True,
    **reader_options: Any,
) -> Updated:
    """Change a collection's documents; without anything to change, take up what waits.

    `changes` is a table of documents to add, or to change where their id is there, each given whole; `delete` are ids.
    `source` is the whole source as it is now: the difference is applied, and what waits is forgotten for it.
    `defer`: put it into the journal and no more. `missing_ok`: an id to delete that is not there is no error.
    `reader_options` are the table's or the source's; by default they are what the collection records of its own
    reading. `progress` as for `load`.

    Raises UnknownCollection, SourceError, BadChunk, EmptyDocument, UnknownDocument, NothingLeft, BadParameter,
    NotAvailable for a source with ids or vectors of its own, Locked, StorageError, and the engines' named errors.
    """
    where, deleted = place(name), tuple(delete)
    generation_of(where)
    asked = _asked(changes, source, deleted, defer)
    with storage_errors(where.home), exclusive(where.directory, f"updating {name}", wait=0), reporting(progress) as report:
        generation = generation_of(where)
        manifest, found = read_manifest(generation), Difference()
        if asked:
            report.phase("read")
            given = _opened(manifest, changes, source, reader_options)
            found = _put(generation, manifest, given, source is not None, deleted, missing_ok)
        done, known = [what for _, what, _, _ in found.changes], set(manifest.warnings)
        if not defer:
            manifest, documents = apply(where, generation, manifest, report)
            done = [d.change for d in documents]
        counts = (done.count(change) for change in (ADDED, CHANGED, DELETED))
        warnings = tuple(dict.fromkeys([*found.warnings, *(w for w in manifest.warnings if w not in known)]))
        waiting = waiting_in(generation_of(where))
        return Updated(manifest, *counts, len(found.unchanged), tuple(found.not_found), waiting, warnings)


def _asked(changes: Any, source: Any, deleted: tuple[str, ...], defer: bool) -> bool:
    """Whether there is anything to change but what waits. Raises BadParameter."""
    if source is not None and (changes is not None or deleted):
        raise BadParameter("a whole source was given, and changes beside it", do="The source tells what is deleted; give it alone")
    asked = changes is not None or source is not None or bool(deleted)
    if defer and not asked:
        raise BadParameter("there is nothing to defer", do="Give changes, a source, or ids to delete")
    return asked


def _opened(manifest: Manifest, changes: Any, source: Any, options: dict[str, Any]) -> Source | None:
    if source is not None:
        return whole_source(manifest, source, options)
    return None if changes is None else changes_source(manifest, changes, options)


def _put(
    generation: Path, manifest: Manifest, source: Source | None, whole: bool, deleted: tuple[str, ...], missing_ok: bool
) -> Difference:
    """Put what differs into the journal, or nothing of it."""
    with open_catalog(generation, manifest) as catalog:
        waiting = [(d.source_type, d.entity_id) for d in waiting_documents(generation)]
        found = difference(catalog, source, deleted, whole=whole, waiting=waiting)
        if found.not_found and not missing_ok:
            raise UnknownDocument(
                f"no such document: {some(found.not_found[:NAMED], len(found.not_found))}", where=manifest.name,
                do="Mend the id, or pass over what is not there: --missing-ok",
            )  # fmt: skip
        if not found.changes and not waiting:
            return found
        with Journal.open(generation) as journal:
            if whole:
                journal.clear()
            for document in found.unchanged:
                journal.drop(document)
            for document, change, title, rows in found.changes:
                journal.put(document, change, title, rows)
            journal.say(_said(found, source if whole else None))
            plan_of(catalog, journal, highest_of(manifest))
    return found


def _said(found: Difference, whole: Source | None) -> dict[str, Any]:
    """What the manifest will say of the reading; a whole source takes the place of what was read before."""
    said: dict[str, Any] = {"warnings": found.warnings}
    if whole is not None:
        said |= {"kind": whole.kind, "location": whole.location, "settings": plain(whole.settings),
                 "skipped_empty": found.skipped_empty}  # fmt: skip
    return said
