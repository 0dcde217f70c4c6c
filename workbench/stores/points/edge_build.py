"""Build an embedded shard from the staged parts, in a process of its own, all or nothing."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import IO, Any

from workbench.errors import WorkbenchError
from workbench.stores.catalog.errors import StagingError
from workbench.stores.filters.values import ALSO, KEYWORD_FIELDS, TERMS_FIELD
from workbench.stores.locks import Locked, StorageError, exclusive
from workbench.stores.points.edge import OPEN_WAIT_SECONDS, EngineFault, copy_sparse
from workbench.stores.points.edge_worker import (
    building,
    facet_indexes,
    finish,
    points_of,
    tell,
    terms_index,
)
from workbench.stores.points.staged import BATCH, MetadataKeys, check_staging, staged_points
from workbench.stores.seal import PASSING, SEAL, DamagedPoints, read_seal
from workbench.types import PointId

# ---- Build an embedded shard from the staged parts, in a process of its own, all or nothing ----

Progress = Callable[[str, int, int], None]
"""Called with the stage ("points", "optimizing", "indexes", "complete"), how much is done, and of how much."""

# Each index is files of its own that are synced: a dozen cost 1.5 s on a common disk, however small the collection.
# A filter without an index reads every payload instead, about 5 microseconds each.
FACETS_INDEXED_FROM = 1000
# One index of 385,000 points takes 4 s, merging all segments less than a minute.
SILENCE_SECONDS = 900.0
# The engine's files grow by 32 MiB; below this a disk that fails a write is taken for a full one.
ROOM_BYTES = 256 << 20
_WORKER = "workbench.stores.points.edge_worker"
_KINDS = {k.__name__: k for k in (DamagedPoints, EngineFault, Locked, StagingError, WorkbenchError)}


def build_edge(
    directory: Path | str,
    parts: Sequence[Path | str],
    vectors: Path | str,
    *,
    progress: Progress | None = None,
    facets_indexed_from: int = FACETS_INDEXED_FROM,
    sparse: bool = False,
    also: Path | None = None,
) -> int:
    """Build a shard of the parts' rows and the rows of `vectors` (.npy, float32, (n, dim)); returns n.

    Terms are always indexed, facets from so many points on: it changes how long a filter takes, never what it admits.
    `sparse`: each point also carries its BM25 weights as a sparse vector; `also`: a second file of vectors, of another
    model, whose row each point carries under the name "also".

    The engine keeps Python's lock and would freeze this process, and hangs in a forked one: it runs in a fresh
    interpreter. The shard grows in `<directory>.building` and is renamed when it is complete; an interrupt or an
    error kills the worker and removes it; what a killed process left is removed by the next build.

    Raises VectorError (with the row), StagingError, DamagedPoints where `directory` exists, Locked while another
    process builds there, EngineFault.
    """
    job = _job(Path(directory), parts, vectors, also)
    return _run({**job, "facets": job["total"] >= facets_indexed_from, "sparse": sparse}, progress)


def change_edge(
    directory: Path | str,
    standing: Path | str,
    removed: Sequence[PointId],
    parts: Sequence[Path | str],
    vectors: Path | str,
    total: int,
    *,
    progress: Progress | None = None,
    also: Path | None = None,
    facets_indexed_from: int = FACETS_INDEXED_FROM,
) -> int:
    """Make a shard of the points of `standing`, less those removed, and of the parts' rows; it must hold `total`.

    The standing shard is only read. As `build_edge` otherwise. Points with sparse vectors cannot be changed so: each
    weight depends on the mean length of all.
    """
    changed = {"standing": str(Path(standing).absolute()), "removed": list(removed), "total": total}
    return _run(
        {
            **_job(Path(directory), parts, vectors, also),
            **changed,
            "facets": total >= facets_indexed_from,
        },
        progress,
    )


def _job(
    directory: Path, parts: Sequence[Path | str], vectors: Path | str, also: Path | None
) -> dict[str, Any]:
    """What every job says. Raises StagingError, VectorError, DamagedPoints."""
    found = [Path(p).absolute() for p in parts]
    files = {"vectors": Path(vectors).absolute(), "also": also and also.absolute()}
    total = [check_staging(found, file).shape[0] for file in files.values() if file][0]
    if directory.exists():
        raise DamagedPoints(
            "something stands here already", where=str(directory), do="Build elsewhere"
        )
    directory.parent.mkdir(parents=True, exist_ok=True)
    named = {name: file and str(file) for name, file in files.items()}
    return {
        "directory": str(directory.absolute()),
        "parts": [str(p) for p in found],
        "total": total,
        **named,
    }


def _run(job: dict[str, Any], progress: Progress | None) -> int:
    """Let a worker do a job; returns how many points there are."""
    with tempfile.TemporaryFile() as log, _worker(Path(job["directory"]), log) as worker:
        with suppress(BrokenPipeError):  # it ended at once; its exit is told below
            worker.stdin.write(json.dumps(job).encode() + b"\n")
            worker.stdin.flush()
        for line in _lines(worker):
            message = json.loads(line)
            if "error" in message:
                fault = message["error"]
                kind = _KINDS.get(fault["kind"], WorkbenchError)
                raise kind(fault["what"], where=fault["where"], do=fault["do"])
            if progress is not None:
                progress(message["stage"], message["done"], message["total"])
        if worker.wait() != 0:
            raise _ended(worker.returncode, _last_line(log), Path(job["directory"]).parent)
    return job["total"]


def _lines(worker: subprocess.Popen[bytes]) -> Iterator[bytes]:
    """What a worker reports, line by line. Raises EngineFault where it says nothing for too long."""
    silent = threading.Event()

    def end() -> None:
        silent.set()
        worker.kill()

    while True:
        timer = threading.Timer(SILENCE_SECONDS, end)
        timer.daemon = True
        timer.start()
        try:
            line = worker.stdout.readline()
        finally:
            timer.cancel()
        if silent.is_set():
            raise EngineFault(
                f"the building process said nothing for {SILENCE_SECONDS:g} s and was ended",
                do="Load again",
            )
        if not line:
            return
        yield line


def _ended(code: int, said: str, where: Path) -> WorkbenchError:
    """Why a building process ended: the engine maps its files, and a full disk is a signal to it."""
    free = shutil.disk_usage(where).free
    if code == -signal.SIGBUS or any(words in said for words in ("No space left", "os error 28")):
        full = StorageError(
            "the disk is full", where=str(where), do="Make room and load again; embeddings are kept"
        )
        return (
            full
            if free < ROOM_BYTES
            else StorageError("the disk failed while points were built", where=str(where))
        )
    return EngineFault(f"the building process ended with {code}: {said}", where=str(where))


@contextmanager
def _worker(directory: Path, log: IO[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """A running worker; however the block ends, it is dead and swept up after."""
    package = str(Path(__file__).parents[3])
    path = os.pathsep.join(p for p in (package, os.environ.get("PYTHONPATH")) if p)
    # A session of its own: Ctrl-C at the terminal reaches this process alone, which then ends the worker.
    worker = subprocess.Popen(
        [sys.executable, "-P", "-m", _WORKER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        env={**os.environ, "PYTHONPATH": path},
        start_new_session=True,
    )
    try:
        yield worker
    finally:
        worker.kill()
        worker.wait()
        worker.stdout.close()
        with suppress(OSError):
            worker.stdin.close()
        with suppress(Locked), exclusive(directory, "cleaning up", wait=0):
            shutil.rmtree(building(directory), ignore_errors=True)


def _last_line(log: IO[bytes]) -> str:
    log.seek(0)
    lines: list[Any] = log.read().decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it said nothing"


# ---- A shard made of another one: copied, less some of its points, and with others; run in  ----


def change_shard(
    directory: Path,
    standing: Path,
    removed: Sequence[PointId],
    parts: list[Path],
    rows: dict[str, Any],
    total: int,
    facets: bool,
) -> None:
    """Fill the directory with the standing shard's points less those removed, and with the parts' points.

    The terms are indexed anew: the engine leaves what was deleted in its term statistics until it merges segments, and
    its BM25 would count it. The other indexes take up what is new; with `facets` they are made where there are none.
    `total` is how many points there must be.
    """
    import qdrant_edge as edge

    with exclusive(standing, "copying", wait=OPEN_WAIT_SECONDS):
        read_seal(standing, whole=True)  # damage is not copied, and sealed anew
        unsealed = shutil.ignore_patterns(SEAL, PASSING)
        shutil.copytree(
            standing, directory, copy_function=copy_sparse, ignore=unsealed, dirs_exist_ok=True
        )
    shard = edge.EdgeShard.load(str(directory))
    shard.update(edge.UpdateOperation.delete_field_index(TERMS_FIELD))
    left = iter(removed)
    while some := list(islice(left, BATCH)):
        shard.update(edge.UpdateOperation.delete_points(some))
    for batch in staged_points(parts, rows[""]):
        shard.update(edge.UpdateOperation.upsert_points(points_of(batch, None, rows.get(ALSO))))
        tell("points", batch.start + len(batch.ids), len(rows[""]))
    tell("optimizing", 0, 1)
    shard.optimize()
    indexes = terms_index()
    if facets and not set(KEYWORD_FIELDS) & set(shard.info().payload_schema):
        indexes |= facet_indexes(_metadata_keys(shard))
    for name, params in indexes.items():
        shard.update(edge.UpdateOperation.create_field_index(name, params))
    finish(directory, shard, total, rows)


def _metadata_keys(shard: Any) -> MetadataKeys:
    import qdrant_edge as edge

    keys, offset = MetadataKeys(), None
    while True:
        records, offset = shard.scroll(
            edge.ScrollRequest(limit=BATCH, offset=offset, with_payload=True)
        )
        keys.see([record.payload for record in records])
        if offset is None:
            return keys
