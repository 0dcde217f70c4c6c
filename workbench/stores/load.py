"""One load that fills both stores, all or nothing: read, embed, build, publish.

The law: until the last step the earlier collection is what every reader sees; the last step replaces one small
file. A load that was killed or interrupted leaves its staging, and the next load of the same source takes up
what was complete in it; the embeddings were kept as they were made. The same source again changes nothing.
"""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Container, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench import settings
from workbench.errors import BadParameter, WorkbenchError
from workbench.sources.base import JudgedQuery, Qrel, Source, SourceError
from workbench.stores.collections import EMBEDDINGS, Place, place
from workbench.stores.locks import exclusive, storage_errors
from workbench.stores.manifest import (
    Manifest,
    content_of,
    digest_of_file,
    load_key_of,
    read_manifest,
)
from workbench.stores.points.engines import CATALOG, Engine, abandon, check, engine_for, seal
from workbench.stores.progress import Listener, Report, reporting
from workbench.stores.staging import NAMED, Staged, parts_of, some, stage
from workbench.stores.vectors.models import NO_VECTORS, Model, find_model
from workbench.text import DEFAULT, STOP_LISTS, Tokenizer, well_formed
from workbench.types import as_plain

if TYPE_CHECKING:
    from workbench.stores.vectors.write import VectorPass

PARTS, VECTORS, ALSO_VECTORS, WHOLE = "parts", "vectors.npy", "vectors-also.npy", "whole"
VERSIONS_OF = ("ranking-workbench", "duckdb", "fastembed", "onnxruntime", "numpy")


def load(
    spec: str | Path | Source,
    *,
    name: str,
    model: str | Model | None = None,
    qdrant: str | None = None,
    shard_number: int = 1,
    replication_factor: int = 1,
    sparse: bool = False,
    also: str | Model | None = None,
    vectors: bool = True,
    tokenizer: Tokenizer = DEFAULT,
    progress: bool | Listener = True,
    **reader_options: Any,
) -> Manifest:
    """Load a source as the collection `name`, and return its manifest; unchanged, it is the one that stands.

    `spec` is what `open_source` reads with `reader_options`, or a Source. `model`: a name or path for
    `find_model`; None is the settings' one. `qdrant`: a server's URL, "" the embedded engine, None the settings'
    one; shards and replicas are a server's; `sparse`: each point also carries its BM25 weights as a sparse vector, which
    the variant `bm25_sparse` searches. `also`: a second model, named as the first; both stores hold its vectors apart,
    and the channel `semantic_by` searches them. Without `vectors` no text is embedded: the collection is for lexical work
    alone, and what needs vectors refuses by name. `progress`: a display on standard error, or a function that is told
    (phase, done, total).

    Raises SourceError for a source that cannot be read, BadParameter for a second model that is the first, or is asked
    for beside vectors that the source composes, Locked (naming the process) while another load of the
    same name runs, NotAvailable for a model or engine that is not there, StorageError for a disk that is full or
    not writable.
    """
    where, chosen = place(name), settings.settings()
    _check_tokenizer(tokenizer)
    source = spec if isinstance(spec, Source) else _opened(spec, reader_options)
    if not vectors:
        if model or also:
            raise BadParameter(
                "a collection without vectors has no model",
                do="Leave out --no-vectors, or --model and --also",
            )
        model, source = NO_VECTORS, replace(source, vectors=None)
    if not isinstance(model, Model):
        named = chosen.model if model is None else model
        model = find_model(named, fetch=chosen.fetch, query_prefix=chosen.query_prefix)
    second = _second(also, model, source)
    engine = engine_for(
        chosen.qdrant if qdrant is None else qdrant, shard_number, replication_factor, sparse=sparse
    )
    with storage_errors(where.home):
        where.directory.parent.mkdir(parents=True, exist_ok=True)
        with exclusive(where.directory, f"loading {name}", wait=0), reporting(progress) as report:
            return _Load(where, source, model, engine, tokenizer, report, second).run()


def _second(also: str | Model | None, model: Model, source: Source) -> Model | None:
    """The second model. Raises BadParameter where it is none beside the first."""
    if not also:
        return None
    found = also if isinstance(also, Model) else find_model(also, fetch=settings.settings().fetch)
    if found.key == model.key or found.name == model.name:
        raise BadParameter(
            f"the second model is the first: {found.name!r}", do="Name another one with --also"
        )
    if source.vectors is not None:
        raise BadParameter(
            "this source composes its vectors by one model",
            where=source.location,
            do="Load it without --also",
        )
    return found


def _check_tokenizer(tokenizer: Tokenizer) -> None:
    """Raises BadParameter for a stop list or stemmer that is not known."""
    from snowballstemmer import algorithms

    for what, named, known in (
        ("stop list", tokenizer.stop, STOP_LISTS),
        ("stemmer", tokenizer.stem, ("", *algorithms())),
    ):
        if named not in known:
            raise BadParameter(
                f"unknown {what} {named!r}", do=f"Known: {', '.join(filter(None, known))}"
            )


def _opened(spec: str | Path, options: dict[str, Any]) -> Source:
    from workbench.sources.readers import open_source

    return open_source(str(spec), **options)


@dataclass(slots=True)
class _Load:
    """The steps of one load; the lock is held."""

    where: Place
    source: Source
    model: Model
    engine: Engine
    tokenizer: Tokenizer
    report: Report
    also: Model | None = None

    def run(self) -> Manifest:
        try:
            return self._run()
        except Exception:
            # What is wrong with the source or the disk is wrong next time too; only an interrupt is resumed.
            self._clear()
            raise

    def _run(self) -> Manifest:
        self.report.phase("read", self.source.count)
        _, key = self._hashes(self.source.made_from, "")
        if self.source.made_from and (standing := self._standing(key)):
            return standing
        reading = self.where.staging / f"reading-{os.getpid()}"
        shutil.rmtree(reading, ignore_errors=True)
        staged = stage(self.source, reading, self.tokenizer, self.report.tick)
        if not staged.chunks:
            raise SourceError("there is no text to load", where=self.source.location)
        composed = None
        if self.source.vectors is not None:
            composed = self._vectors_in(
                reading / VECTORS, parts_of(reading), staged.chunks, self.model
            )
        digest = digest_of_file(reading / VECTORS) if composed else ""
        content, found = self._hashes(staged.digest, digest)
        if not self.source.made_from:
            key = found
            if standing := self._standing(key):
                return standing
        work = self._workplace(reading, key)
        truncated, warnings = self._fill(work, staged, composed)
        return self._publish(work / WHOLE, staged, truncated, warnings, content, key)

    def _vectors_in(
        self, path: Path, parts: Sequence[Path], rows: int, model: Model, phase: str = "embed"
    ) -> VectorPass:
        from workbench.stores.vectors.write import write_vectors

        cache = self.where.home / EMBEDDINGS
        return write_vectors(path, self.source, parts, rows, model, cache, self.report, phase)

    def _hashes(self, digest: str, composed: str) -> tuple[str, str]:
        """The hash of the content by its chunks' digest, and of all that a load depends on."""
        source = self.source
        content = content_of(
            digest,
            source.queries,
            source.qrels,
            self.tokenizer,
            self.model,
            self._vectors() + composed,
            self.also,
        )
        location = (source.kind, source.location, plain(source.settings))
        return content, load_key_of(content, *location, self.model, self.engine.settings, self.also)

    def _vectors(self) -> str:
        if self.model == NO_VECTORS:
            return "none"
        return "embedded" if self.source.vectors is None else "composed"

    def _standing(self, key: str) -> Manifest | None:
        """The manifest of the current generation where it is this very load's and can be opened;
        the load then ends."""
        manifest = self._earlier()
        if manifest is None or manifest.load_key != key:
            return None
        try:
            check(self.where.directory / manifest.generation, manifest, server=True)
        except WorkbenchError:
            return None
        self._clear()
        return manifest

    def _workplace(self, reading: Path, key: str) -> Path:
        """The directory of this load's stages, with those of an interrupted load of the same key."""
        work = self.where.staging / key[:16]
        self._clear(keep=(work, reading))
        work.mkdir(exist_ok=True)
        if (reading / VECTORS).exists():
            os.replace(reading / VECTORS, work / VECTORS)
        if (work / PARTS).exists():
            shutil.rmtree(reading, ignore_errors=True)
        else:
            os.replace(reading, work / PARTS)
        return work

    def _clear(self, keep: tuple[Path, ...] = ()) -> None:
        """Remove the staging but for these; a first load that failed leaves nothing."""
        staging = self.where.staging
        for left in staging.iterdir() if staging.is_dir() else ():
            if left not in keep:
                abandon(left / WHOLE)
                shutil.rmtree(left, ignore_errors=True)
        if not keep:
            for directory in (staging, self.where.directory):
                with suppress(OSError):  # not empty, or not there
                    directory.rmdir()

    def _fill(
        self, work: Path, staged: Staged, composed: VectorPass | None
    ) -> tuple[int, list[str]]:
        """Both stores in `whole`; returns how many texts were cut, and the warnings."""
        from workbench.stores.catalog.build import build_catalog

        parts, vectors, whole = parts_of(work / PARTS), work / VECTORS, work / WHOLE
        whole.mkdir(exist_ok=True)
        made = composed or self._vectors_in(vectors, parts, staged.chunks, self.model)
        warnings, also = made.warnings, None
        if self.also is not None:
            also = work / ALSO_VECTORS
            second = self._vectors_in(also, parts, staged.chunks, self.also, "embed also")
            warnings += [f"{self.also.name}: {w}" for w in second.warnings]
        self.report.phase("build", 2 * staged.chunks)

        def catalog() -> None:
            if not (whole / CATALOG).exists():
                build_catalog(
                    whole / CATALOG,
                    parts,
                    vectors,
                    self.source.queries,
                    self.source.qrels,
                    also=also,
                    tokenizer=self.tokenizer,
                )
            self.report.tick(staged.chunks)

        _together(
            catalog,
            lambda: self.engine.build(
                self.where.name, whole, parts, vectors, self.report.tick, also
            ),
        )
        return made.truncated, warnings

    def _publish(
        self,
        whole: Path,
        staged: Staged,
        truncated: int,
        warnings: list[str],
        content: str,
        key: str,
    ) -> Manifest:
        """Write the manifest, move the generation to its place, and make it the current one."""
        self.report.phase("publish", 1)
        source, now = self.source, datetime.now(UTC)
        unknown, unknown_warnings = unknown_judged(source.queries, source.qrels, staged.entities)
        manifest = Manifest(
            name=self.where.name,
            kind=source.kind,
            location=source.location,
            settings=plain(source.settings),
            counts={
                "chunks": staged.chunks,
                "entities": staged.stored_entities,
                "queries": len(source.queries),
                "qrels": len(source.qrels),
                **unknown,
                "skipped_empty": staged.skipped_empty,
                "truncated": truncated,
            },
            model=self.model.recorded,
            tokenizer={
                "name": self.tokenizer.name,
                "stop": self.tokenizer.stop,
                "stem": self.tokenizer.stem,
            },
            vectors=self._vectors(),
            engines={"duckdb": {"version": version("duckdb")}, **self.engine.described(whole)},
            sizes={"catalog": (whole / CATALOG).stat().st_size, "points": self.engine.size(whole)},
            content_hash=content,
            load_key=key,
            generation=f"{now:%Y%m%dT%H%M%S%f}-{key[:8]}",
            created=now.isoformat(timespec="seconds"),
            versions={p: version(p) for p in VERSIONS_OF},
            warnings=tuple(
                dict.fromkeys([*source.warnings, *staged.warnings, *warnings, *unknown_warnings])
            ),
            also=self.also.recorded if self.also else {},
        )
        manifest.write(whole)
        seal(whole)
        check(whole, manifest)
        os.replace(whole, self.where.directory / manifest.generation)
        self.where.switch(manifest.generation)
        self._clear()
        self.report.tick(1)
        return manifest

    def _earlier(self) -> Manifest | None:
        """The manifest that stands, None where there is none or it cannot be read."""
        try:
            generation = self.where.current()
            return read_manifest(generation) if generation else None
        except WorkbenchError:
            return None


def unknown_judged(
    queries: Sequence[JudgedQuery], qrels: Sequence[Qrel], entities: Container[str]
) -> tuple[dict[str, int], list[str]]:
    """Judgements of documents or queries that are not there: counted and said, and kept as they are."""
    asked = {q.id for q in queries}
    documents = Counter(r.entity_id for r in qrels if well_formed(r.entity_id) not in entities)
    unasked = Counter(r.query_id for r in qrels if r.query_id not in asked)
    counts = {"unknown_qrel_documents": len(documents), "unknown_qrel_queries": len(unasked)}
    warnings = [
        f"{sum(found.values())} judgements name {len(found)} {what} that the collection does not hold: "
        f"{some(list(found)[:NAMED], len(found))}"
        for what, found in (("documents", documents), ("queries", unasked))
        if found
    ]
    return counts, warnings


def plain(settings_: Any) -> Any:
    """A source's settings as JSON gives them back."""
    return json.loads(json.dumps(as_plain(settings_), default=str))


def _together(aside: Callable[[], None], here: Callable[[], None]) -> None:
    """Run one in a thread and one in this one, which an interrupt reaches; both have ended on return."""
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(aside)
        here()
        other.result()
