"""A shard made of another one: copied, less some of its points, and with others; run in the building process."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from workbench.stores.edge import OPEN_WAIT_SECONDS, copy_sparse
from workbench.stores.edge_worker import facet_indexes, finish, points_of, tell, terms_index
from workbench.stores.file_lock import exclusive
from workbench.stores.points import ALSO, KEYWORD_FIELDS, TERMS_FIELD
from workbench.stores.seal import PASSING, SEAL, read_seal
from workbench.stores.staged import BATCH, MetadataKeys, staged_points
from workbench.types import PointId


def change_shard(
    directory: Path, standing: Path, removed: Sequence[PointId], parts: list[Path], rows: dict[str, Any], total: int,
    facets: bool,
) -> None:  # fmt: skip
    """Fill the directory with the standing shard's points less those removed, and with the parts' points.

    The terms are indexed anew: the engine leaves what was deleted in its term statistics until it merges segments, and
    its BM25 would count it. The other indexes take up what is new; with `facets` they are made where there are none.
    `total` is how many points there must be.
    """
    import qdrant_edge as edge

    with exclusive(standing, "copying", wait=OPEN_WAIT_SECONDS):
        read_seal(standing, whole=True)  # damage is not copied, and sealed anew
        unsealed = shutil.ignore_patterns(SEAL, PASSING)
        shutil.copytree(standing, directory, copy_function=copy_sparse, ignore=unsealed, dirs_exist_ok=True)
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
        records, offset = shard.scroll(edge.ScrollRequest(limit=BATCH, offset=offset, with_payload=True))
        keys.see([record.payload for record in records])
        if offset is None:
            return keys
