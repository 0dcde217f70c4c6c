"""A loopback double of a Qdrant server: its REST API's wire format over the embedded engine, one shard a collection.

What it shows is that an unmodified `QdrantClient(url=...)` and our code speak that format; it shows nothing of a
server's own handlers, its cluster, or its speed. Every request is kept, so that a test can say what was written.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import unquote, urlsplit
from uuid import uuid4

import qdrant_edge as edge

from helpers.qdrant_wire import index_params, point, query, record, scored, selector
from workbench.stores.filters.qdrant import edge_filter

VERSION = "1.20.0"
WRITES = ("PUT", "PATCH", "DELETE")
HNSW = {"m": 16, "ef_construct": 100, "full_scan_threshold": 10_000}
OPTIMIZERS = {
    "deleted_threshold": 0.2, "vacuum_min_vector_number": 1000, "default_segment_number": 1, "flush_interval_sec": 5,
}  # fmt: skip
PARAMS = ("vectors", "sparse_vectors", "shard_number", "replication_factor", "write_consistency_factor")


class Refused(Exception):
    """An answer with an error, as a server gives it."""

    def __init__(self, status: int, words: str) -> None:
        self.status, self.words = status, words


@dataclass
class Collection:
    shard: Any
    config: dict[str, Any]
    schema: dict[str, Any] = field(default_factory=dict)


class QdrantDouble:
    """`with QdrantDouble(directory) as double:` answers at `double.url` until the block ends.

    `requests` holds (method, path, body) of every request, `targets` their paths with parameters; `key`, where set, is asked of every one; `broken`, where
    set, is a (status, words) that every request is answered with.
    """

    def __init__(self, directory: Path, key: str = "") -> None:
        self.directory, self.key = directory, key
        self.broken: tuple[int, str] | None = None
        self.requests: list[tuple[str, str, Any]] = []
        self.targets: list[str] = []
        self.collections: dict[str, Collection] = {}
        self._one_at_a_time = threading.Lock()

    def __enter__(self) -> QdrantDouble:
        handler = type("Handler", (_Handler,), {"double": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        for name in list(self.collections):
            self._delete(name)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def writes(self) -> list[tuple[str, str, Any]]:
        """The requests that change something: all but GET, and POST to points, which reads but where it deletes."""
        return [r for r in self.requests if r[0] in WRITES or r[1].endswith("/points/delete")]

    def answer(self, method: str, path: str, body: Any, key: str) -> Any:
        """The result of one request. Raises Refused."""
        self.requests.append((method, path, body))
        if self.broken:
            raise Refused(*self.broken)
        if self.key and key != self.key:
            raise Refused(401, "Must provide an API key or an Authorization bearer token")
        with self._one_at_a_time:
            match [method, *(unquote(p) for p in path.strip("/").split("/"))]:
                case ["GET", ""]:
                    return {"title": "qdrant - vector search engine", "version": VERSION}
                case ["GET", "collections"]:
                    return {"collections": [{"name": name} for name in self.collections]}
                case ["GET", "collections", name, "exists"]:
                    return {"exists": name in self.collections}
                case ["PUT", "collections", name]:
                    return self._create(name, body)
                case ["DELETE", "collections", name]:
                    return self._delete(name)
                case [method, "collections", name, *rest]:
                    return self._within(self._found(name), method, rest, body)
        raise Refused(404, f"this double does not answer {method} {path}")

    def _found(self, name: str) -> Collection:
        if name not in self.collections:
            raise Refused(404, f"Not found: Collection `{name}` doesn't exist!")
        return self.collections[name]

    def _create(self, name: str, body: dict[str, Any]) -> bool:
        if name in self.collections:
            raise Refused(409, f"Wrong input: Collection `{name}` already exists!")
        vectors = body["vectors"]
        several = "size" not in vectors
        params = {n: _vector_params(v) for n, v in vectors.items()} if several else _vector_params(vectors)
        sparse = {n: _sparse_params(v) for n, v in (body.get("sparse_vectors") or {}).items()}
        config = edge.EdgeConfig(
            vectors=params, sparse_vectors=sparse or None, hnsw_config=edge.HnswIndexConfig(**{**HNSW, "m": 0}), wal_enabled=False
        )
        shard = edge.EdgeShard.create(str(self.directory / uuid4().hex), config)
        self.collections[name] = Collection(shard, dict(body))
        return True

    def _delete(self, name: str) -> bool:
        gone = self.collections.pop(name, None)
        if gone is not None:
            gone.shard.close()
        return gone is not None

    def _within(self, at: Collection, method: str, rest: list[str], body: Any) -> Any:
        match [method, *rest]:
            case ["GET"]:
                return _described(at)
            case ["PATCH"]:
                at.config["metadata"] = {**(at.config.get("metadata") or {}), **body.get("metadata", {})}
                return True
            case ["PUT", "index"]:
                params = index_params(body["field_schema"])
                # An index changes how long a filter takes, never what it admits, and costs 1 s of syncing a collection.
                if isinstance(params, edge.TextIndexParams):
                    at.shard.update(edge.UpdateOperation.create_field_index(body["field_name"], params))
                at.schema[body["field_name"]] = body["field_schema"]
            case ["PUT", "points"]:
                at.shard.update(edge.UpdateOperation.upsert_points([point(p) for p in _points(body)]))
            case ["POST", "points", "delete"]:
                at.shard.update(edge.UpdateOperation.delete_points(body["points"]))
            case ["POST", "points"]:
                asked = [selector(body.get("with_payload", True)), body.get("with_vector", False)]
                return [record(r) for r in at.shard.retrieve(body["ids"], *asked)]
            case ["POST", "points", "count"]:
                request = edge.CountRequest(filter=edge_filter(body.get("filter")), exact=body.get("exact", True))
                return {"count": at.shard.count(request)}
            case ["POST", "points", "scroll"]:
                return _scrolled(at, body)
            case ["POST", "points", "query"]:
                return {"points": [scored(hit) for hit in at.shard.query(query(body))]}
            case _:
                raise Refused(404, f"this double does not answer {method} {'/'.join(rest)}")
        return {"operation_id": 0, "status": "completed"}


class _Handler(BaseHTTPRequestHandler):
    double: QdrantDouble
    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else {}
        path = urlsplit(self.path).path
        self.double.targets.append(f"{self.command} {self.path}")
        try:
            result = self.double.answer(self.command, path, body, self.headers.get("api-key", ""))
            status, answer = 200, result if path == "/" else {"result": result, "status": "ok", "time": 0.0}
        except Refused as refused:
            status, answer = refused.status, {"status": {"error": refused.words}, "time": 0.0}
        except Exception as error:  # what the engine refuses, a server refuses with 400
            status, answer = 400, {"status": {"error": f"Wrong input: {error}"}, "time": 0.0}
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_PUT = do_POST = do_PATCH = do_DELETE = _answer

    def log_message(self, *_: Any) -> None:
        """A test's output is its own."""


def _vector_params(form: dict[str, Any]) -> Any:
    return edge.EdgeVectorParams(size=form["size"], distance=getattr(edge.Distance, form["distance"]))


def _sparse_params(form: dict[str, Any]) -> Any:
    return edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf if form.get("modifier") == "idf" else None)


def _points(body: dict[str, Any]) -> list[dict[str, Any]]:
    if "points" in body:
        return body["points"]
    columns = body["batch"]
    vectors = columns["vectors"]
    if isinstance(vectors, dict):
        vectors = [dict(zip(vectors, row, strict=True)) for row in zip(*vectors.values(), strict=True)]
    rows = zip(columns["ids"], vectors, columns.get("payloads") or [], strict=True)
    return [{"id": i, "vector": v, "payload": p} for i, v, p in rows]


def _scrolled(at: Collection, body: dict[str, Any]) -> dict[str, Any]:
    request = edge.ScrollRequest(
        limit=body.get("limit", 10), offset=body.get("offset"), filter=edge_filter(body.get("filter")),
        with_payload=selector(body.get("with_payload", True)), with_vector=body.get("with_vector", False),
    )  # fmt: skip
    records, following = at.shard.scroll(request)
    if following is not None and not isinstance(following, int):
        following = str(following)
    return {"points": [record(r) for r in records], "next_page_offset": following}


def _described(at: Collection) -> dict[str, Any]:
    return {
        "status": "green", "optimizer_status": "ok", "segments_count": 1,
        "points_count": at.shard.count(edge.CountRequest(exact=True)), "indexed_vectors_count": 0,
        "config": {
            "params": {name: at.config[name] for name in PARAMS if at.config.get(name) is not None},
            "hnsw_config": {**HNSW, **(at.config.get("hnsw_config") or {})}, "optimizer_config": OPTIMIZERS,
            "metadata": at.config.get("metadata"),
        },
        "payload_schema": {
            name: {"data_type": schema if isinstance(schema, str) else schema["type"], "points": 0}
            for name, schema in at.schema.items()
        },
    }  # fmt: skip
