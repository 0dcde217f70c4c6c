"""Which Qdrant engine holds a collection's points: the embedded one, or a server by URL; chosen in one place.

A server's collection belongs to one generation: it is made under the generation's own name, recorded before it is
made, and dropped when the generation is. So a load that dies leaves the earlier collection as it was.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Protocol

from workbench.errors import BadParameter, WorkbenchError
from workbench.remote import check_address, credentials
from workbench.stores.manifest import BrokenCollection, Manifest, write_whole
from workbench.stores.points.sparse import SETTINGS, TERMS_FILE
from workbench.stores.seal import SEAL, read_seal, write_seal

if TYPE_CHECKING:
    from workbench.stores.catalog.catalog import Catalog
    from workbench.stores.filters.values import Points

CATALOG, POINTS, SERVER = "catalog.duckdb", "points", "server.json"
EDGE, QDRANT = "qdrant-edge-py", "qdrant"
BLOCK = 512  # bytes, the unit of st_blocks by POSIX


class Engine(Protocol):
    """An engine to build for: what it was told, how it builds, and what the manifest says of it."""

    @property
    def settings(self) -> dict[str, Any]: ...

    def build(
        self,
        name: str,
        whole: Path,
        parts: Sequence[Path],
        vectors: Path,
        tick: Callable[[int], None],
        also: Path | None = None,
    ) -> None:
        """Put the points where `whole` says, all or nothing; what an interrupted load completed is kept. `also` are a
        second model's vectors."""

    def described(self, whole: Path) -> dict[str, dict[str, Any]]: ...

    def size(self, whole: Path) -> int:
        """Bytes on this disk."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """The engine in this process, built in one of its own, in `points` beside the catalog."""

    sparse: bool = False

    @property
    def settings(self) -> dict[str, Any]:
        return {"engine": EDGE, **(SETTINGS if self.sparse else {})}

    def build(
        self,
        name: str,
        whole: Path,
        parts: Sequence[Path],
        vectors: Path,
        tick: Callable[[int], None],
        also: Path | None = None,
    ) -> None:
        from workbench.stores.points.edge_build import build_edge

        if (whole / POINTS).exists():
            return
        build_edge(
            whole / POINTS, parts, vectors, progress=stored(tick), sparse=self.sparse, also=also
        )

    def described(self, whole: Path) -> dict[str, dict[str, Any]]:
        return {EDGE: {"version": version(EDGE), **(SETTINGS if self.sparse else {})}}

    def size(self, whole: Path) -> int:
        # The engine's files are sparse: what they take is far less than what they say.
        return sum(p.stat().st_blocks * BLOCK for p in (whole / POINTS).rglob("*") if p.is_file())


@dataclass(frozen=True, slots=True)
class Server:
    """A Qdrant server or cluster. Every replica confirms each write, so that a load that ends is whole."""

    url: str
    shard_number: int
    replication_factor: int
    sparse: bool = False

    @property
    def settings(self) -> dict[str, Any]:
        return {
            "engine": QDRANT,
            "url": self.url,
            "credentials": credentials(self.url),
            "shard_number": self.shard_number,
            "replication_factor": self.replication_factor,
            **(SETTINGS if self.sparse else {}),
        }

    def build(
        self,
        name: str,
        whole: Path,
        parts: Sequence[Path],
        vectors: Path,
        tick: Callable[[int], None],
        also: Path | None = None,
    ) -> None:
        from workbench.stores.points.server_build import build_client

        found = _server(whole)
        if found and found["complete"]:
            return
        _drop(found)
        # Two homes may use one server: a name is used once, so that neither drops the other's.
        record = {"url": self.url, "collection": f"{name}-{token_hex(4)}", "complete": False}
        write_whole(whole / SERVER, json.dumps(record))
        build_client(
            self.url,
            record["collection"],
            parts,
            vectors,
            shard_number=self.shard_number,
            replication_factor=self.replication_factor,
            write_consistency_factor=self.replication_factor,
            progress=stored(tick),
            sparse_terms=whole / TERMS_FILE if self.sparse else None,
            also=also,
        )
        write_whole(whole / SERVER, json.dumps({**record, "complete": True}))

    def described(self, whole: Path) -> dict[str, dict[str, Any]]:
        return {
            QDRANT: {
                "version": f"client {version('qdrant-client')}",
                **self.settings,
                **_server(whole),
            }
        }

    def size(self, whole: Path) -> int:
        return 0


def engine_for(
    url: str, shard_number: int = 1, replication_factor: int = 1, *, sparse: bool = False
) -> Engine:
    """The server at a URL, the embedded engine for ""; `sparse`: points carry BM25's weights too. Raises BadParameter for numbers below 1, or shards or
    replicas of the embedded engine, which has neither."""
    if min(shard_number, replication_factor) < 1:
        raise BadParameter(
            f"{shard_number} shards and {replication_factor} replicas must be at least 1"
        )
    if url:
        check_address(url)
        return Server(url, shard_number, replication_factor, sparse)
    if (shard_number, replication_factor) != (1, 1):
        raise BadParameter(
            "the embedded engine has one shard and no replicas",
            do="Name a server with --qdrant URL",
        )
    return Embedded(sparse)


def engine_of(manifest: Manifest) -> Engine:
    """The engine that a collection was loaded into, with its settings."""
    server = manifest.engines.get(QDRANT)
    if server is None:
        return Embedded("sparse" in manifest.engines[EDGE])
    return Server(
        server["url"], server["shard_number"], server["replication_factor"], "sparse" in server
    )


def open_catalog(generation: Path, manifest: Manifest) -> Catalog:
    """The catalog of a generation. Raises the catalog's named errors, or BrokenCollection where it is another's."""
    from workbench.stores.catalog.catalog import Catalog

    catalog = Catalog.open(generation / CATALOG)
    if catalog.n == manifest.counts["chunks"]:
        return catalog
    catalog.close()
    raise BrokenCollection(
        f"the catalog holds {catalog.n} chunks instead of {manifest.counts['chunks']}",
        where=str(generation),
        do="Load it again",
    )


def open_points(generation: Path, manifest: Manifest) -> Points:
    """The points of a generation, by the engine that the manifest names."""
    if QDRANT in manifest.engines:
        from workbench.stores.points.server import ClientPoints

        server = manifest.engines[QDRANT]
        table = generation / TERMS_FILE if "sparse" in server else None
        return ClientPoints(url=server["url"], collection=server["collection"], sparse_terms=table)
    from workbench.stores.points.edge import EdgePoints

    return EdgePoints.open(generation / POINTS)


def seal(generation: Path) -> None:
    """Record the files of a complete generation; a shard's own seal stands for the shard."""
    files = [p for p in generation.iterdir() if p.is_file() and p.suffix != ".lock"]
    points = generation / POINTS / SEAL
    write_seal(generation, [*files, points] if points.exists() else files, {})


def check(
    generation: Path, manifest: Manifest, *, whole: bool = False, server: bool = False
) -> None:
    """Raise BrokenCollection, DamagedPoints or a store's own error where a generation is not what was sealed.

    Sizes, small files and the catalog's header are compared; with `whole` every byte of every file, those that
    variants made beside the catalog too. With `server` or `whole` the server counts its points. Nothing is written.
    """
    read_seal(generation, whole=whole, error=BrokenCollection)
    open_catalog(generation, manifest).close()
    if EDGE in manifest.engines:
        read_seal(generation / POINTS, whole=whole, locked=whole)
    if whole:
        for made in sorted(generation.glob(f"*.{SEAL}")):
            read_seal(generation, whole=True, seal=made.name, error=BrokenCollection)
    if (whole or server) and QDRANT in manifest.engines:
        _check_server(generation, manifest)


def _check_server(generation: Path, manifest: Manifest) -> None:
    with open_points(generation, manifest) as points:
        held = points.count((), "any", {})
    if held != manifest.counts["chunks"]:
        what = f"the server holds {held} points instead of {manifest.counts['chunks']}"
        raise BrokenCollection(what, where=points.where, do="Load it again")


def abandon(whole: Path) -> None:
    """Drop the server's collection of a load that was given up. A server that does not answer keeps it."""
    _drop(_server(whole))


def retire(manifest: Manifest) -> None:
    """Drop the server's collection of a generation that was replaced."""
    _drop(manifest.engines.get(QDRANT))


def stored(tick: Callable[[int], None]) -> Callable[[str, int, int], None]:
    """A builder's progress as a count of points more."""
    told = 0

    def progress(stage: str, done: int, total: int) -> None:
        nonlocal told
        if stage == "points":
            tick(done - told)
            told = done

    return progress


def _server(whole: Path) -> dict[str, Any]:
    path = whole / SERVER
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _drop(server: Any) -> None:
    if not server:
        return
    from workbench.stores.points.server_build import drop_client

    with suppress(WorkbenchError):
        drop_client(server["url"], server["collection"])
