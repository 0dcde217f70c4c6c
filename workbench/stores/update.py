"""A collection changed in place: documents added, changed and deleted by id.

The law: what is to change is first put into a journal, for good; then the next generation is made of the one that
stands and of the journal, and takes its place in one step, in which the journal goes. Until then every reader sees the
earlier collection, whole. Afterwards it is, to the last count, the collection that a load of the same chunks under the
same ids would make. What waits in a journal is known, and `update(name)` takes it up.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import BadParameter, NotAvailable
from workbench.registry import lookup
from workbench.sources.base import Source, SourceError
from workbench.sources.readers import detect, open_source
from workbench.stores.catalog.build import build_catalog
from workbench.stores.catalog.catalog import Catalog
from workbench.stores.catalog.merge import (
    Facts,
    all_facts,
    chunk_of,
    digest_of,
    facts_of,
    merge_catalogs,
)
from workbench.stores.collections import EMBEDDINGS, Place, generation_of, place
from workbench.stores.filters.values import ALSO
from workbench.stores.journal import (
    ADDED,
    CHANGED,
    DELETED,
    Document,
    Journal,
    Rows,
    Waiting,
    WaitingDocument,
    waiting_documents,
    waiting_in,
)
from workbench.stores.load import ALSO_VECTORS, VECTORS, VERSIONS_OF, WHOLE, plain, unknown_judged
from workbench.stores.locks import exclusive, storage_errors
from workbench.stores.manifest import (
    Manifest,
    content_of,
    digest_of_vectors,
    load_key_of,
    read_manifest,
)
from workbench.stores.points.engines import (
    CATALOG,
    POINTS,
    Embedded,
    Engine,
    abandon,
    check,
    engine_of,
    open_catalog,
    seal,
    stored,
)
from workbench.stores.points.staged import point_id_of
from workbench.stores.progress import Listener, Report, reporting
from workbench.stores.staging import LARGEST_ID, NAMED, Checked, encoded, parts_of, some, stage
from workbench.stores.vectors.embedder import Embedder
from workbench.stores.vectors.models import Model
from workbench.stores.vectors.write import write_vectors
from workbench.text import DEFAULT, well_formed
from workbench.types import Chunk, PointId

if TYPE_CHECKING:
    import numpy as np

# ---- What differs between documents as they are given and as they stand: the law of an upda ----


class EmptyDocument(SourceError):
    """A changed document without a visible character; names it."""


class UnknownDocument(BadParameter):
    """A document to delete that the collection does not hold; names it."""


Change = tuple[Document, str, str, Rows]
"""A document, what becomes of it (added, changed, deleted), its title, and its chunks."""


@dataclass(slots=True)
class Difference:
    """`unchanged` documents are given as they stand; `not_found` are ids to delete that are not there."""

    changes: list[Change] = field(default_factory=list)
    unchanged: list[Document] = field(default_factory=list)
    not_found: list[str] = field(default_factory=list)
    skipped_empty: int = 0
    warnings: list[str] = field(default_factory=list)


Standing = Mapping[Document, Mapping[int, bytes]]
"""The digest of each chunk that stands, by document and index."""


def difference(
    catalog: Catalog,
    source: Source | None,
    delete: Iterable[str],
    *,
    whole: bool = False,
    waiting: Iterable[Document] = (),
) -> Difference:
    """The documents of `source` against the catalog's, and those of the ids in `delete`, of every source type.

    `whole`: the source is all there is; what it lacks is deleted, and a document without text is absent as in a load.
    `waiting` are documents that wait already, which may be deleted before they ever stood.

    Raises EmptyDocument, BadChunk as `stage` does, BadParameter for an id that is both given and deleted, SourceError.
    """
    read, deleted = Checked(DEFAULT), [well_formed(entity) for entity in dict.fromkeys(delete)]
    given = _given(source, read)
    if whole:
        standing = _standing(all_facts(catalog))
    else:
        given = list(given)
        standing = _standing(facts_of(catalog, [facts[1] for facts in given] + deleted))
    wanted, titles = _wanted(given, standing)
    known = sorted({*standing, *waiting})
    if not whole:
        _check_given(read.staged.entities, {entity for _, entity in wanted}, deleted)
    for document in standing if whole else [d for d in known if d[1] in deleted]:
        wanted.setdefault(document, {})
    said = read.finish()
    out = Difference(
        not_found=[entity for entity in deleted if entity not in {e for _, e in known}],
        skipped_empty=said.skipped_empty,
        warnings=[*source.warnings, *said.warnings] if source else [],
    )
    for document, rows in wanted.items():
        held = standing.get(document, {})
        if rows.keys() == held.keys() and not any(rows.values()):
            out.unchanged.append(document)
        else:
            change = DELETED if not rows else CHANGED if held else ADDED
            out.changes.append((document, change, titles.get(document, ""), rows))
    return out


def _check_given(read: set[str], with_text: set[str], deleted: list[str]) -> None:
    """Raises EmptyDocument, BadParameter."""
    empty, both = sorted(read - with_text), [entity for entity in deleted if entity in read]
    if empty:
        raise EmptyDocument(
            f"documents without text: {some(empty[:NAMED], len(empty))}",
            do="Delete them: --delete ID",
        )
    if both:
        raise BadParameter(
            f"given and to be deleted: {some(both[:NAMED], len(both))}", do="Do one, then the other"
        )


def _given(source: Source | None, read: Checked) -> Iterator[Facts]:
    for chunk in source.chunks() if source else ():
        facts = read.facts(chunk)
        if facts is not None:
            yield facts


def _standing(facts: Iterable[Facts]) -> dict[Document, dict[int, bytes]]:
    found: dict[Document, dict[int, bytes]] = {}
    for chunk in facts:
        found.setdefault(_document(chunk), {})[chunk[2]] = _digest(_content(chunk))
    return found


def _wanted(
    given: Iterable[Facts], standing: Standing
) -> tuple[dict[Document, dict[int, str | None]], dict[Document, str]]:
    """Each given document's chunks, those that stand as None, and its title."""
    wanted: dict[Document, dict[int, str | None]] = {}
    titles: dict[Document, str] = {}
    for facts in given:
        document, content = _document(facts), _content(facts)
        same = standing.get(document, {}).get(facts[2]) == _digest(content)
        wanted.setdefault(document, {})[facts[2]] = None if same else content.decode()
        titles.setdefault(document, facts[4])
    return wanted, titles


def _document(facts: Facts) -> Document:
    return facts[3], facts[1]


def _content(facts: Facts) -> bytes:
    """All but the point id."""
    return encoded(facts[1:])


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


# ---- Chunks of a collection as a load stages a source's: those that an update adds, or all  ----

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
    directory: Path,
    source: Source,
    manifest: Manifest,
    cache: Path,
    report: Report,
    stored: Catalog | None = None,
) -> Delta:
    """Stage a source's chunks as those of the collection, by its tokenizer and its models; with `stored`, a catalog of
    these very chunks, their vectors are as they stand there."""
    report.phase("read", source.count)
    rows = stage(source, directory, manifest.words, report.tick).chunks
    parts, made = parts_of(directory), []
    for space, file, recorded, phase in (
        ("", VECTORS, manifest.model, "embed"),
        (ALSO, ALSO_VECTORS, manifest.also, "embed also"),
    ):
        if recorded:
            own = (
                source
                if stored is None
                else replace(source, vectors=lambda _, space=space: stored_vectors(stored, space))
            )
            made.append(
                write_vectors(
                    directory / file, own, parts, rows, Model(**recorded), cache, report, phase
                )
            )
    return Delta(
        directory, made[0].truncated, tuple(warning for found in made for warning in found.warnings)
    )


def source_of(catalog: Catalog) -> Source:
    """All that a catalog holds, to be staged again."""
    return Source(
        "catalog", str(catalog.path), {}, lambda: map(chunk_of, all_facts(catalog)), count=catalog.n
    )


def stored_vectors(catalog: Catalog, space: str) -> Iterator[np.ndarray]:
    """All vectors of a space in point-id order, a few rows at a time."""
    ids = catalog.ids_where()
    for start in range(0, len(ids), VECTORS_A_READ):
        yield catalog.vectors(ids[start : start + VECTORS_A_READ], space=space)


# ---- What a journal does to the catalog that it was told against: which chunks go, and whic ----


class NothingLeft(BadParameter):
    """An update that would leave a collection without a chunk."""


class NoIdLeft(BadParameter):
    """The largest point id is taken, so that no new chunk can come after it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """`removed` are the cids, `ids` their points; `fresh` the facts of the new chunks but for their ids, which begin at
    `first`; `readings` what was said when the documents were read."""

    documents: tuple[WaitingDocument, ...]
    readings: tuple[dict[str, Any], ...]
    removed: tuple[int, ...]
    ids: tuple[PointId, ...]
    fresh: tuple[list[Any], ...]
    first: int

    def source(self, kind: str, location: str) -> Source:
        """The new chunks."""
        return Source(kind, location, {}, self._chunks, count=len(self.fresh))

    @property
    def last(self) -> int:
        """The highest integer id that was ever given."""
        return self.first + len(self.fresh) - 1

    def _chunks(self) -> Iterator[Chunk]:
        return (
            chunk_of([str(number), *facts]) for number, facts in enumerate(self.fresh, self.first)
        )


def highest_of(manifest: Manifest) -> int:
    """The highest integer id that an update ever gave in this collection, 0 before the first."""
    return manifest.updates.get("highest", 0)


def plan_of(catalog: Catalog, journal: Journal, highest: int) -> Plan:
    """The plan. A new chunk's id is above `highest` and above every integer id that stands, in the order in which the
    documents were put, then by index; no id is ever given twice.

    Raises NothingLeft, NoIdLeft.
    """
    documents, kept, fresh = journal.documents(), set(journal.kept()), tuple(journal.fresh())
    changed = {(d.source_type, d.entity_id) for d in documents}
    found = catalog.sql(
        "SELECT cid, point_id, source_type, entity_id, chunk_index FROM chunk"
        " WHERE entity_id IN (SELECT unnest($entities::VARCHAR[])) ORDER BY cid",
        {"entities": [d.entity_id for d in documents]},
    ).rows()
    removed = [
        (cid, point_id_of(i))
        for cid, i, *key in found
        if tuple(key[:2]) in changed and tuple(key) not in kept
    ]
    if catalog.n - len(removed) + len(fresh) == 0:
        raise NothingLeft(
            "nothing would be left of the collection", do="Keep a document, or load another source"
        )
    largest = catalog.sql("SELECT max(try_cast(point_id AS UBIGINT)) FROM chunk").item() or 0
    first = max(highest, largest) + 1
    if first + len(fresh) - 1 > LARGEST_ID:
        raise NoIdLeft(f"no point id is left above {first - 1}", do="Load the collection again")
    cids, ids = tuple(cid for cid, _ in removed), tuple(i for _, i in removed)
    return Plan(tuple(documents), tuple(journal.readings()), cids, ids, fresh, first)


# ---- The next generation of a collection, made of the one that stands and of its journal ----

WORK = "update"
"""The directory of an update under way within the staging."""


def apply(
    where: Place, generation: Path, manifest: Manifest, report: Report
) -> tuple[Manifest, tuple[WaitingDocument, ...]]:
    """Make what waits in the journal the next generation; returns its manifest and the documents that waited.

    The lock is held. Until the last step, and after any error, the generation that stands is the current one and its
    journal waits on.
    """
    if not waiting_in(generation).documents:
        return manifest, ()
    with open_catalog(generation, manifest) as catalog, Journal.open(generation) as journal:
        plan = plan_of(catalog, journal, highest_of(manifest))
        gone = (
            [chunk.text for chunk in catalog.chunks(plan.ids)]
            if manifest.counts["truncated"]
            else []
        )
    work = where.staging / WORK
    try:
        _clear(work)
        made = _Apply(
            where, generation, manifest, plan, gone, engine_of(manifest), work, report
        ).run()
    finally:
        _clear(work)
        with suppress(OSError):  # an interrupted load's stages are there
            where.staging.rmdir()
    return made, plan.documents


def _clear(work: Path) -> None:
    abandon(work / WHOLE)
    shutil.rmtree(work, ignore_errors=True)


@dataclass(slots=True)
class _Apply:
    where: Place
    generation: Path
    manifest: Manifest
    plan: Plan
    gone: list[str]
    engine: Engine
    work: Path
    report: Report

    def run(self) -> Manifest:
        whole, cache = self.work / WHOLE, self.where.home / EMBEDDINGS
        whole.mkdir(parents=True)
        fresh = self.plan.source(self.manifest.kind, self.manifest.location)
        delta = stage_delta(self.work / "delta", fresh, self.manifest, cache, self.report)
        self.report.phase("build", len(self.plan.fresh))
        added = self.work / "added.duckdb"
        build_catalog(
            added, delta.parts, delta.vectors, also=delta.also, tokenizer=self.manifest.words
        )
        merge_catalogs(whole / CATALOG, self.generation / CATALOG, self.plan.removed, added)
        with Catalog.open(whole / CATALOG) as catalog:
            made = self._manifest(catalog, delta)
            if isinstance(self.engine, Embedded) and not self.engine.sparse:
                from workbench.stores.points.edge_build import change_edge

                change_edge(
                    whole / POINTS,
                    self.generation / POINTS,
                    self.plan.ids,
                    delta.parts,
                    delta.vectors,
                    catalog.n,
                    progress=stored(self.report.tick),
                    also=delta.also,
                )
            else:
                # A sparse weight depends on the mean length of all, and a server's collection is one generation's, so
                # that whoever has the earlier one open goes on with it: every point is stored anew.
                every = stage_delta(
                    self.work / "every",
                    source_of(catalog),
                    self.manifest,
                    cache,
                    self.report,
                    catalog,
                )
                self.engine.build(
                    self.where.name, whole, every.parts, every.vectors, self.report.tick, every.also
                )
        return self._publish(made, whole)

    def _manifest(self, catalog: Catalog, delta: Delta) -> Manifest:
        """The new generation's account of its content: what stands as it was said, what changed counted anew."""
        base = self.manifest
        for reading in self.plan.readings:
            base = _read(base, reading)
        queries, qrels = catalog.queries(), catalog.qrels()
        entities = set(catalog.sql("SELECT DISTINCT entity_id FROM chunk").to_series())
        unknown, warnings = unknown_judged(queries, qrels, entities)
        model, also = Model(**base.model), Model(**base.also) if base.also else None
        composed = (
            digest_of_vectors(stored_vectors(catalog, "")) if base.vectors == "composed" else ""
        )
        content = content_of(
            digest_of(catalog), queries, qrels, base.words, model, base.vectors + composed, also
        )
        key = load_key_of(
            content, base.kind, base.location, base.settings, model, self.engine.settings, also
        )
        cut = (
            Embedder(model).truncated(self.gone) if self.gone and base.vectors == "embedded" else 0
        )
        counts = {
            "chunks": catalog.n,
            "entities": len(entities),
            **unknown,
            "truncated": base.counts["truncated"] + delta.truncated - cut,
        }
        now = datetime.now(UTC)
        return replace(
            base,
            counts={**base.counts, **counts},
            content_hash=content,
            load_key=key,
            generation=f"{now:%Y%m%dT%H%M%S%f}-{key[:8]}",
            created=now.isoformat(timespec="seconds"),
            versions={p: version(p) for p in VERSIONS_OF},
            updates=self._lineage(),
            warnings=tuple(dict.fromkeys([*base.warnings, *delta.warnings, *warnings])),
        )

    def _lineage(self) -> dict[str, Any]:
        earlier, done = self.manifest.updates, [d.change for d in self.plan.documents]
        return {
            "number": earlier.get("number", 0) + 1,
            "loaded": earlier.get("loaded", self.manifest.content_hash),
            "before": self.manifest.content_hash,
            "highest": self.plan.last,
            **{change: done.count(change) for change in (ADDED, CHANGED, DELETED)},
        }

    def _publish(self, made: Manifest, whole: Path) -> Manifest:
        """Move the generation to its place, and make it the current one."""
        self.report.phase("publish", 1)
        sizes = {"catalog": (whole / CATALOG).stat().st_size, "points": self.engine.size(whole)}
        made = replace(
            made,
            engines={"duckdb": {"version": version("duckdb")}, **self.engine.described(whole)},
            sizes=sizes,
        )
        made.write(whole)
        seal(whole)
        check(whole, made)
        os.replace(whole, self.where.directory / made.generation)
        self.where.switch(made.generation)
        self.report.tick(1)
        return made


def _read(manifest: Manifest, reading: dict[str, Any]) -> Manifest:
    """The manifest after a reading: a whole source takes the place of what was read before, changes add to it."""
    said = dict(reading)
    warnings, skipped = said.pop("warnings"), said.pop("skipped_empty", None)
    if skipped is None:
        return replace(manifest, warnings=(*manifest.warnings, *warnings))
    return replace(
        manifest,
        **said,
        warnings=tuple(warnings),
        counts={**manifest.counts, "skipped_empty": skipped},
    )


# ---- What an update reads: a table of changed documents, or the whole source as it is now,  ----

CUT = ("chunk_size", "overlap")
"""How documents are cut: what changes are read with as the collection was."""


def changes_source(
    manifest: Manifest, changes: str | Path | Source, options: Mapping[str, Any]
) -> Source:
    """Some documents, from a table unless `kind` says otherwise, cut and mapped as the collection's own were but for
    the options given. Raises as `whole_source`."""
    if isinstance(changes, Source):
        return _checked(manifest, changes)
    kind = options.get("kind") or "table"
    names = (*CUT, "columns") if kind == manifest.kind == "table" else CUT
    return _checked(
        manifest,
        open_source(changes, **{**_recorded(manifest, kind, names), "kind": kind, **options}),
    )


def whole_source(
    manifest: Manifest, spec: str | Path | Source, options: Mapping[str, Any]
) -> Source:
    """The source as it is now, read with the options that the collection records, where it is of the same kind.

    Raises NotAvailable for a source whose chunks have ids or vectors of their own, SourceError, BadParameter.
    """
    if isinstance(spec, Source):
        return _checked(manifest, spec)
    kind = options.get("kind") or (
        manifest.kind if str(spec) == manifest.location else detect(spec)
    )
    recorded = _recorded(manifest, kind, tuple(manifest.settings)) if kind == manifest.kind else {}
    if "packages" in recorded:  # recorded with their versions
        recorded["packages"] = tuple(recorded["packages"])
    return _checked(manifest, open_source(spec, **{**recorded, "kind": kind, **options}))


def _recorded(manifest: Manifest, kind: str, names: tuple[str, ...]) -> dict[str, Any]:
    """Those of the named options that the collection records and this reader takes."""
    known = lookup("reader", kind).parameters
    return {
        n: manifest.settings[n]
        for n in names
        if n in known and manifest.settings.get(n) not in (None, "")
    }


def _checked(manifest: Manifest, source: Source) -> Source:
    if source.vectors is None and source.kind != "qdrant":
        return source
    what = f"a source of kind {source.kind} has ids or vectors of its own"
    raise NotAvailable(
        what, where=source.location, do=f"Load it again: workbench load … --as {manifest.name}"
    )


# ---- A collection changed in place: documents added, changed and deleted by id ----


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
    with (
        storage_errors(where.home),
        exclusive(where.directory, f"updating {name}", wait=0),
        reporting(progress) as report,
    ):
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
        warnings = tuple(
            dict.fromkeys([*found.warnings, *(w for w in manifest.warnings if w not in known)])
        )
        waiting = waiting_in(generation_of(where))
        return Updated(
            manifest, *counts, len(found.unchanged), tuple(found.not_found), waiting, warnings
        )


def _asked(changes: Any, source: Any, deleted: tuple[str, ...], defer: bool) -> bool:
    """Whether there is anything to change but what waits. Raises BadParameter."""
    if source is not None and (changes is not None or deleted):
        raise BadParameter(
            "a whole source was given, and changes beside it",
            do="The source tells what is deleted; give it alone",
        )
    asked = changes is not None or source is not None or bool(deleted)
    if defer and not asked:
        raise BadParameter(
            "there is nothing to defer", do="Give changes, a source, or ids to delete"
        )
    return asked


def _opened(
    manifest: Manifest, changes: Any, source: Any, options: dict[str, Any]
) -> Source | None:
    if source is not None:
        return whole_source(manifest, source, options)
    return None if changes is None else changes_source(manifest, changes, options)


def _put(
    generation: Path,
    manifest: Manifest,
    source: Source | None,
    whole: bool,
    deleted: tuple[str, ...],
    missing_ok: bool,
) -> Difference:
    """Put what differs into the journal, or nothing of it."""
    with open_catalog(generation, manifest) as catalog:
        waiting = [(d.source_type, d.entity_id) for d in waiting_documents(generation)]
        found = difference(catalog, source, deleted, whole=whole, waiting=waiting)
        if found.not_found and not missing_ok:
            raise UnknownDocument(
                f"no such document: {some(found.not_found[:NAMED], len(found.not_found))}",
                where=manifest.name,
                do="Mend the id, or pass over what is not there: --missing-ok",
            )
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
        said |= {
            "kind": whole.kind,
            "location": whole.location,
            "settings": plain(whole.settings),
            "skipped_empty": found.skipped_empty,
        }
    return said
