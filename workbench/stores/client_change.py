"""Points of a collection on a Qdrant server changed in place: what is not there any more deleted, what is new stored.

Both can be repeated: an id that is gone is deleted again, one that is there is stored again, to the same end.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from workbench.stores.client_build import upsert, writing
from workbench.stores.edge_build import Progress
from workbench.stores.points import ALSO
from workbench.stores.staged import BATCH, check_staging
from workbench.types import PointId


def remove_points(url: str, collection: str, ids: Sequence[PointId], *, api_key: str | None = None) -> None:
    """Delete these points, a batch a call. Raises ServerSilent, ServerRefused, NoSuchCollection."""
    left = iter(ids)
    with writing(url, collection, api_key) as client:
        while some := list(islice(left, BATCH)):
            client.delete(collection, some, wait=True)


def add_points(
    url: str, collection: str, parts: Sequence[Path], vectors: Path, *, also: Path | None = None,
    api_key: str | None = None, progress: Progress | None = None,
) -> None:  # fmt: skip
    """Store the parts' rows with the rows of `vectors`, and of `also`. Raises as `remove_points`, StagingError."""
    rows = {"": check_staging(parts, vectors), **({ALSO: check_staging(parts, also)} if also else {})}
    with writing(url, collection, api_key) as client:
        for batch in upsert(client, collection, parts, rows):
            if progress is not None:
                progress("points", batch.start + len(batch.ids), len(rows[""]))

