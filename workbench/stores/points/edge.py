"""The embedded Qdrant engine as Points: a shard in this process, no server."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from workbench.errors import NotAvailable, WorkbenchError
from workbench.stores.filters.qdrant import edge_filter, filter_json
from workbench.stores.filters.values import READ_FIELDS, TERMS_FIELD, Match, Point
from workbench.stores.locks import NotWritable, Scratch, exclusive, says_full
from workbench.stores.points.sparse import SPARSE, TERMS_FILE, TermTable
from workbench.stores.points.staged import Scored, best
from workbench.stores.seal import PASSING, DamagedPoints, read_seal
from workbench.stores.vectors.checks import check_query_vector, dim_of
from workbench.types import PointId

# Opening takes under a second at 385,000 points; the wait is for other processes that open the same shard.
OPEN_WAIT_SECONDS = 60.0
COPY_BLOCK = 1 << 16  # 64 KiB; the engine's holes are of whole megabytes
_HOLE = bytes(COPY_BLOCK)


class EngineFault(WorkbenchError):
    """The engine refused a call or failed in it; carries the engine's own words."""


class EdgePoints:
    """One complete shard, open for reading. Any number of processes may read the same one, each opening it itself.

    Search is exact: there is no graph. Every call holds Python's lock until it returns, so threads wait for one
    another, and Ctrl-C comes after the call. Orders and ties are those that Points states; scores are float32.
    """

    def __init__(self, shard: Any, directory: Path, seal: Mapping[str, Any]) -> None:
        self._shard: Any = shard
        self._pid = os.getpid()
        self._scratch: Scratch | None = None
        self.directory, self.points, self.engine = directory, seal["points"], seal["engine"]
        self.dims = seal["dims"]
        self.dim = self.dims[""]
        table = directory / TERMS_FILE
        self._terms = TermTable(table if table.exists() else None, str(directory))

    @classmethod
    def open(cls, directory: Path | str) -> EdgePoints:
        """The shard in this directory. Raises DamagedPoints, Locked, EngineFault, or StorageError.

        The engine rewrites its configuration at every opening, so openings take turns under the shard's lock; where
        that cannot be written, in a home that is read-only or full, a temporary copy is opened.
        """
        directory = Path(directory)
        if not directory.is_dir():
            raise DamagedPoints(
                "there are no points here", where=str(directory), do="Load the collection again"
            )
        try:
            return cls._open(directory)
        except (NotWritable, EngineFault) as error:
            if isinstance(error, EngineFault) and not says_full(error):
                raise
        read_seal(directory, locked=False)
        scratch = Scratch(
            sum(p.stat().st_blocks * 512 for p in directory.rglob("*") if p.is_file())
        )
        try:
            copy = scratch.path / directory.name
            shutil.copytree(
                directory, copy, copy_function=copy_sparse, ignore=shutil.ignore_patterns(PASSING)
            )
            opened = cls._open(copy)
        except BaseException:
            scratch.close()
            raise
        opened._scratch, opened.directory = scratch, directory
        return opened

    @classmethod
    def _open(cls, directory: Path) -> EdgePoints:
        import qdrant_edge as edge

        with exclusive(directory, "opening", wait=OPEN_WAIT_SECONDS), engine_calls(str(directory)):
            seal = read_seal(directory)
            shard = edge.EdgeShard.load(str(directory))
            held = shard.info().points_count
        if held != seal["points"]:
            shard.close()
            what = f"{held} points where {seal['points']} were stored"
            raise DamagedPoints(what, where=str(directory), do="Load the collection again")
        return cls(shard, directory, seal)

    def count(
        self, terms: Sequence[str], match: Match, filters: Mapping[str, Any], *, exact: bool = True
    ) -> int:
        import qdrant_edge as edge

        with self._calls() as shard:
            return shard.count(
                edge.CountRequest(filter=_filter(terms, match, filters), exact=exact)
            )

    def scroll(
        self,
        terms: Sequence[str],
        match: Match,
        filters: Mapping[str, Any],
        limit: int,
        *,
        fields: Sequence[str] = READ_FIELDS,
    ) -> list[Point]:
        import qdrant_edge as edge

        with self._calls() as shard:
            request = edge.ScrollRequest(
                limit=limit, filter=_filter(terms, match, filters), with_payload=_payload(fields)
            )
            return [_point(record) for record in shard.scroll(request)[0]]

    def nearest(
        self,
        vector: Sequence[float],
        filters: Mapping[str, Any],
        limit: int,
        *,
        fields: Sequence[str] = READ_FIELDS,
        space: str = "",
    ) -> list[Scored]:
        import qdrant_edge as edge

        dim = dim_of(self.dims, space, str(self.directory))
        query = edge.Query.Nearest(check_query_vector(vector, dim), space or None)
        return self._best(
            query, _filter((), "any", filters), limit, fields, edge.SearchParams(exact=True)
        )

    def bm25(
        self,
        terms: Sequence[str],
        filters: Mapping[str, Any],
        limit: int,
        *,
        fields: Sequence[str] = (),
    ) -> list[Scored]:
        """The engine's BM25 (k1 = 1.2, b = 0.75), document frequencies over the whole shard whatever the filters;
        points without a term count neither as documents nor in the mean length. It counts a repeated term once."""
        import qdrant_edge as edge

        if not terms:
            return []
        query = edge.TextQuery(TERMS_FIELD, " ".join(terms))
        return self._best(query, _filter((), "any", filters), limit, fields, None)

    def sparse(
        self,
        terms: Sequence[str],
        filters: Mapping[str, Any],
        limit: int,
        *,
        fields: Sequence[str] = (),
    ) -> list[Scored]:
        """As `bm25`, but over every point as a document, in the lengths and frequencies of the catalog."""
        import qdrant_edge as edge

        indices, counts = self._terms.query(terms)
        if not indices:
            return []
        query = edge.Query.Nearest(edge.SparseVector(indices, counts), SPARSE)
        return self._best(query, _filter((), "any", filters), limit, fields, None)

    def retrieve(
        self, ids: Sequence[PointId], *, fields: Sequence[str] = READ_FIELDS
    ) -> list[Point]:
        with self._calls() as shard:
            found = {
                p.id: p for p in map(_point, shard.retrieve(list(ids), _payload(fields), False))
            }
        return [found[i] for i in ids if i in found]

    def all_points(
        self, batch: int = 1000
    ) -> Iterator[tuple[PointId, Mapping[str, Any], list[float] | None]]:
        """Vectors come back at unit length, as the engine stores them."""
        import qdrant_edge as edge

        offset = None
        while True:
            with self._calls() as shard:
                records, offset = shard.scroll(
                    edge.ScrollRequest(
                        limit=batch, offset=offset, with_payload=True, with_vector=True
                    )
                )
            for record in records:
                vector = record.vector[""] if isinstance(record.vector, Mapping) else record.vector
                yield _id(record.id), record.payload or {}, vector
            if offset is None:
                return

    def close(self) -> None:
        shard, self._shard = self._shard, None
        if shard is not None and self._pid == os.getpid():
            with (
                suppress(EngineFault),
                engine_calls(str(self.directory)),
            ):  # it writes what it need not, on a full disk
                shard.close()
        if self._scratch is not None:
            self._scratch.close()

    def __enter__(self) -> EdgePoints:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _best(
        self, query: Any, within: Any, limit: int, fields: Sequence[str], params: Any
    ) -> list[Scored]:
        import qdrant_edge as edge

        def read(wanted: int) -> list[Scored]:
            with self._calls() as shard:
                request = edge.QueryRequest(
                    limit=wanted,
                    query=query,
                    filter=within,
                    params=params,
                    with_payload=_payload(fields),
                )
                return [(_point(hit), hit.score) for hit in shard.query(request)]

        return best(read, limit)

    @contextmanager
    def _calls(self) -> Iterator[Any]:
        if self._shard is None:
            raise NotAvailable(
                "these points are closed", where=str(self.directory), do="Open them again"
            )
        if self._pid != os.getpid():
            what = (
                "the engine cannot be used across a fork: its threads stayed in the other process"
            )
            raise NotAvailable(
                what, where=str(self.directory), do="Open the points in this process"
            )
        with engine_calls(str(self.directory)):
            yield self._shard


@contextmanager
def engine_calls(where: str) -> Iterator[None]:
    """Turn what the engine raises into EngineFault, its panics too, which are no Exception."""
    try:
        yield
    except WorkbenchError:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise EngineFault(
            f"the embedded engine failed: {str(error).splitlines()[0]}", where=where
        ) from error


def _filter(terms: Sequence[str], match: Match, filters: Mapping[str, Any]) -> Any:
    return edge_filter(filter_json(terms, match, filters))


def _payload(fields: Sequence[str]) -> Any:
    import qdrant_edge as edge

    return edge.PayloadSelector.Include(list(fields)) if fields else False


def _point(record: Any) -> Point:
    return Point(_id(record.id), record.payload or {})


def _id(point_id: Any) -> PointId:
    return point_id if isinstance(point_id, int) else str(point_id)


def copy_sparse(source: str, target: str) -> None:
    """Copy a file and leave its holes: most of what the engine's files claim is never written."""
    with open(source, "rb") as old, open(target, "wb") as new:
        while block := old.read(COPY_BLOCK):
            if block == _HOLE[: len(block)]:
                new.seek(len(block), 1)
            else:
                new.write(block)
        new.truncate()
