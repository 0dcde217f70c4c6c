"""The points of a collection changed, by the engine that holds them: what an update does beside the catalog.

The embedded engine's points are made anew beside those that stand. A server's are changed where they are, in an order
in which every catalog that a reader may open knows all of the engine's points: what goes is deleted before the next
catalog is the current one, what comes is stored after. What an interruption leaves undone is known and can be repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from workbench.stores.delta import Delta
from workbench.stores.engines import POINTS, QDRANT, stored
from workbench.stores.manifest import Manifest
from workbench.types import PointId

Tick = Callable[[int], None]


def in_place(manifest: Manifest) -> bool:
    """Whether the points that stand are changed themselves, so that new ones are sent when their catalog is there. With
    sparse vectors they are all made anew: each weight depends on the mean length."""
    return QDRANT in manifest.engines and "sparse" not in manifest.engines[QDRANT]


def change_points(
    manifest: Manifest, standing: Path, whole: Path, removed: Sequence[PointId], delta: Delta, total: int, tick: Tick
) -> None:
    """Before the switch: let the points removed go, and of the embedded engine the delta's come, `total` in all.

    Raises the builders' and the server's named errors.
    """
    if in_place(manifest):
        from workbench.stores.client_change import remove_points

        remove_points(*_where(manifest), removed)
        return
    from workbench.stores.edge_build import change_edge

    change_edge(
        whole / POINTS, standing / POINTS, removed, delta.parts, delta.vectors, total, progress=stored(tick), also=delta.also
    )


def send_points(manifest: Manifest, delta: Delta, tick: Tick) -> None:
    """After the switch: store the delta's points on the server, once more where they are there."""
    from workbench.stores.client_change import add_points

    add_points(*_where(manifest), delta.parts, delta.vectors, also=delta.also, progress=stored(tick))


def _where(manifest: Manifest) -> tuple[str, str]:
    server = manifest.engines[QDRANT]
    return server["url"], server["collection"]
