"""The process that builds a shard: `python -m workbench.stores.points.edge_worker`, a job on its input, progress out.

It ends when its input ends, so that it never outlives the process that asked for it by more than one engine call.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
from importlib.metadata import version
from pathlib import Path
from typing import Any

from workbench.errors import WorkbenchError
from workbench.stores.filters.values import (
    ALSO,
    DATETIME_FIELDS,
    KEYWORD_FIELDS,
    MOMENT_FIELDS,
    TERMS_FIELD,
)
from workbench.stores.locks import exclusive
from workbench.stores.points.edge import engine_calls
from workbench.stores.points.sparse import SPARSE, TERMS_FILE, Weights
from workbench.stores.points.staged import Batch, MetadataKeys, staged_points
from workbench.stores.seal import write_seal
from workbench.stores.vectors.checks import read_vectors

# A worker whose parent was killed may still be inside one engine call; optimize() of 385,000 points takes 4 s.
LOCK_WAIT_SECONDS = 60.0


def building(directory: Path) -> Path:
    """Where a shard grows until it is complete."""
    return directory.with_name(directory.name + ".building")


def work(job: dict[str, Any]) -> None:
    """Make the shard that a job asks for beside its directory, and rename it when it is complete.

    `facets`: with their indexes; `sparse`: with BM25's weights as sparse vectors; `also`: with a second model's
    vectors; `standing`: of the points of another shard, less those `removed`.
    """
    directory, parts = Path(job["directory"]), [Path(p) for p in job["parts"]]
    rows = {
        space: read_vectors(Path(job[of]))
        for space, of in (("", "vectors"), (ALSO, "also"))
        if job[of]
    }
    with exclusive(directory, "building", wait=LOCK_WAIT_SECONDS), engine_calls(str(directory)):
        fresh = building(directory)
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)
        if "standing" in job:
            from workbench.stores.points.edge_build import change_shard

            change_shard(
                fresh,
                Path(job["standing"]),
                job["removed"],
                parts,
                rows,
                job["total"],
                job["facets"],
            )
        else:
            _build(fresh, parts, rows, job["total"], job["facets"], job["sparse"])
        os.replace(fresh, directory)


def _build(
    directory: Path, parts: list[Path], rows: dict[str, Any], total: int, facets: bool, sparse: bool
) -> None:
    import qdrant_edge as edge

    weights = Weights.of(parts) if sparse else None
    shard = edge.EdgeShard.create(
        str(directory), _config({n: r.shape[1] for n, r in rows.items()}, sparse)
    )
    keys = MetadataKeys()
    for batch in staged_points(parts, rows[""]):
        shard.update(edge.UpdateOperation.upsert_points(points_of(batch, weights, rows.get(ALSO))))
        keys.see(batch.payloads)
        tell("points", batch.start + len(batch.ids), total)
    tell("optimizing", 0, 1)
    shard.optimize()
    indexes = terms_index() | (facet_indexes(keys) if facets else {})
    for done, (name, params) in enumerate(indexes.items()):
        tell("indexes", done, len(indexes))
        shard.update(edge.UpdateOperation.create_field_index(name, params))
    if weights is not None:
        weights.write(directory / TERMS_FILE)
    finish(directory, shard, total, rows)


def finish(directory: Path, shard: Any, total: int, rows: dict[str, Any]) -> None:
    """Close a filled shard and seal it. Raises WorkbenchError where it does not hold `total` points."""
    import qdrant_edge as edge

    shard.flush()
    shard.close()
    # Opened once more: what is sealed is what a reader finds, and a shard that does not open fails here.
    shard = edge.EdgeShard.load(str(directory))
    held = shard.info().points_count
    shard.close()
    if held != total:
        raise WorkbenchError(
            f"the shard holds {held} points instead of {total}", do="An id stands twice"
        )
    dims = {name: r.shape[1] for name, r in rows.items()}
    facts = {"points": total, "dims": dims, "engine": f"qdrant-edge-py {version('qdrant-edge-py')}"}
    write_seal(directory, (p for p in directory.rglob("*") if p.is_file()), facts)


def _config(dims: dict[str, int], sparse: bool) -> Any:
    """Exact search without a graph, one segment, no write-ahead log: a build is repeated, never recovered."""
    import qdrant_edge as edge

    return edge.EdgeConfig(
        vectors={
            n: edge.EdgeVectorParams(size=dim, distance=edge.Distance.Cosine)
            for n, dim in dims.items()
        },
        sparse_vectors={SPARSE: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)}
        if sparse
        else None,
        hnsw_config=edge.HnswIndexConfig(m=0, ef_construct=100, full_scan_threshold=10_000),
        optimizers=edge.EdgeOptimizersConfig(default_segment_number=1, max_segment_size=20_000_000),
        wal_enabled=False,
    )


def points_of(batch: Batch, weights: Weights | None, also: Any) -> list[Any]:
    """A batch as the engine's points, with their sparse weights and their second vectors where there are any."""
    import qdrant_edge as edge

    columns: dict[str, list[Any]] = {"": batch.vectors.tolist()}
    if weights is not None:
        columns[SPARSE] = [
            edge.SparseVector(*weights.vector(p[TERMS_FIELD])) for p in batch.payloads
        ]
    if also is not None:
        columns[ALSO] = also[batch.start : batch.start + len(batch.ids)].tolist()
    vectors = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    return [edge.Point(*p) for p in zip(batch.ids, vectors, batch.payloads, strict=True)]


def terms_index() -> dict[str, Any]:
    """Terms are folded already: split by white space, kept as they are."""
    import qdrant_edge as edge

    words = edge.TokenizerType.Whitespace
    return {
        TERMS_FIELD: edge.TextIndexParams(
            tokenizer=words, lowercase=False, ascii_folding=False, scoring=True, enable_hnsw=False
        )
    }


def facet_indexes(keys: MetadataKeys) -> dict[str, Any]:
    import qdrant_edge as edge

    texts, numbers = keys.paths()
    keyword = edge.KeywordIndexParams(enable_hnsw=False)
    indexes: dict[str, Any] = dict.fromkeys([*KEYWORD_FIELDS, *DATETIME_FIELDS, *texts], keyword)
    indexes |= dict.fromkeys(numbers, edge.FloatIndexParams(enable_hnsw=False))
    indexes["path"] = edge.KeywordIndexParams(enable_hnsw=False, prefix=True)
    indexes |= dict.fromkeys(MOMENT_FIELDS.values(), edge.DatetimeIndexParams(enable_hnsw=False))
    return indexes


def tell(stage: str, done: int, total: int) -> None:
    print(json.dumps({"stage": stage, "done": done, "total": total}), flush=True)


def _end_with_parent() -> None:
    sys.stdin.read()
    os._exit(1)


def main() -> int:
    job = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        work(job)
    except WorkbenchError as error:
        fault = {
            "kind": type(error).__name__,
            "what": error.what,
            "where": error.where,
            "do": error.do,
        }
        print(json.dumps({"error": fault}), flush=True)
        return 1
    tell("complete", job["total"], job["total"])
    return 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    # Not sys.exit: the watching thread is blocked in a read and would hold the interpreter's end.
    os._exit(status)
