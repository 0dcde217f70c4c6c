"""The next generation of a collection, made of the one that stands and of its journal."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from workbench.stores.catalog import Catalog
from workbench.stores.catalog_build import build_catalog
from workbench.stores.catalog_facts import digest_of
from workbench.stores.catalog_merge import merge_catalogs
from workbench.stores.delta import Delta, source_of, stage_delta, stored_vectors
from workbench.stores.embedding import Embedder
from workbench.stores.engines import (
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
from workbench.stores.hashes import content_of, digest_of_vectors, load_key_of
from workbench.stores.home import EMBEDDINGS, Place
from workbench.stores.loader import VERSIONS_OF, WHOLE, unknown_judged
from workbench.stores.manifest import Manifest
from workbench.stores.model import Model
from workbench.stores.progress import Report
from workbench.stores.update_plan import Plan, highest_of, plan_of
from workbench.stores.waiting import ADDED, CHANGED, DELETED, Journal, WaitingDocument, waiting_in

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
        gone = [chunk.text for chunk in catalog.chunks(plan.ids)] if manifest.counts["truncated"] else []
    work = where.staging / WORK
    try:
        _clear(work)
        made = _Apply(where, generation, manifest, plan, gone, engine_of(manifest), work, report).run()
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
        build_catalog(added, delta.parts, delta.vectors, also=delta.also, tokenizer=self.manifest.words)
        merge_catalogs(whole / CATALOG, self.generation / CATALOG, self.plan.removed, added)
        with Catalog.open(whole / CATALOG) as catalog:
            made = self._manifest(catalog, delta)
            if isinstance(self.engine, Embedded) and not self.engine.sparse:
                from workbench.stores.edge_build import change_edge

                change_edge(
                    whole / POINTS, self.generation / POINTS, self.plan.ids, delta.parts, delta.vectors, catalog.n,
                    progress=stored(self.report.tick), also=delta.also,
                )  # fmt: skip
            else:
                # A sparse weight depends on the mean length of all, and a server's collection is one generation's, so
                # that whoever has the earlier one open goes on with it: every point is stored anew.
                every = stage_delta(self.work / "every", source_of(catalog), self.manifest, cache, self.report, catalog)
                self.engine.build(self.where.name, whole, every.parts, every.vectors, self.report.tick, every.also)
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
        composed = digest_of_vectors(stored_vectors(catalog, "")) if base.vectors == "composed" else ""
        content = content_of(digest_of(catalog), queries, qrels, base.words, model, base.vectors + composed, also)
        key = load_key_of(content, base.kind, base.location, base.settings, model, self.engine.settings, also)
        cut = Embedder(model).truncated(self.gone) if self.gone and base.vectors == "embedded" else 0
        counts = {"chunks": catalog.n, "entities": len(entities), **unknown,
                  "truncated": base.counts["truncated"] + delta.truncated - cut}  # fmt: skip
        now = datetime.now(UTC)
        return replace(
            base, counts={**base.counts, **counts}, content_hash=content, load_key=key,
            generation=f"{now:%Y%m%dT%H%M%S%f}-{key[:8]}", created=now.isoformat(timespec="seconds"),
            versions={p: version(p) for p in VERSIONS_OF}, updates=self._lineage(),
            warnings=tuple(dict.fromkeys([*base.warnings, *delta.warnings, *warnings])),
        )  # fmt: skip

    def _lineage(self) -> dict[str, Any]:
        earlier, done = self.manifest.updates, [d.change for d in self.plan.documents]
        return {
            "number": earlier.get("number", 0) + 1, "loaded": earlier.get("loaded", self.manifest.content_hash),
            "before": self.manifest.content_hash, "highest": self.plan.last,
            **{change: done.count(change) for change in (ADDED, CHANGED, DELETED)},
        }  # fmt: skip

    def _publish(self, made: Manifest, whole: Path) -> Manifest:
        """Move the generation to its place, and make it the current one."""
        self.report.phase("publish", 1)
        sizes = {"catalog": (whole / CATALOG).stat().st_size, "points": self.engine.size(whole)}
        made = replace(made, engines={"duckdb": {"version": version("duckdb")}, **self.engine.described(whole)}, sizes=sizes)
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
    return replace(manifest, **said, warnings=tuple(warnings), counts={**manifest.counts, "skipped_empty": skipped})
