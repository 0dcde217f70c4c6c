"""The laws of a load into a server: the same as into the embedded engine, and it drops only what it made.

The server is a loopback double over the embedded engine: it shows the wire, not a real server's own behaviour.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.made_sources import chunks_of, numbered, source_of
from helpers.qdrant_double import QdrantDouble

from workbench.errors import WorkbenchError
from workbench.stores.collections import collections, open_stores, place
from workbench.stores.load import load


@pytest.fixture
def server(tmp_path: Path) -> Iterator[QdrantDouble]:
    with QdrantDouble(tmp_path / "server") as double:
        yield double


def texts_in(name: str) -> list[str]:
    with open_stores(name) as stores:
        points = [(i, payload["content"]) for i, payload, _ in stores.points.all_points()]
        assert points == [(c.id, c.text) for c in stores.catalog.chunks([i for i, _ in points])]
        return [text for _, text in points]


def test_the_points_go_to_the_server_with_its_shards_and_replicas(home: Path, server: QdrantDouble) -> None:
    manifest = load(source_of(chunks_of("tea", "ferry")), name="c", qdrant=server.url, shard_number=3, replication_factor=2, progress=False)
    engine = manifest.engines["qdrant"]
    assert (engine["url"], engine["shard_number"], engine["replication_factor"]) == (server.url, 3, 2)
    created = next(body for method, path, body in server.requests if method == "PUT" and path == f"/collections/{engine['collection']}")
    assert (created["shard_number"], created["replication_factor"], created["write_consistency_factor"]) == (3, 2, 2)
    assert texts_in("c") == ["tea", "ferry"]
    assert not (place("c").current() / "points").exists() and manifest.sizes["points"] == 0


def test_sparse_vectors_on_the_server_are_searched_by_the_table_beside_the_catalog(home: Path, server: QdrantDouble) -> None:
    chunks = chunks_of("tea and ferry", "ferry", "the")
    manifest = load(source_of(chunks), name="c", qdrant=server.url, sparse=True, progress=False)
    assert manifest.engines["qdrant"]["sparse"]["vector"] == "bm25"
    with open_stores("c") as stores:
        exact = stores.catalog.bm25_top(["tea", "ferry"], {}, 10)
        found = [(p.id, s) for p, s in stores.points.sparse(["tea", "ferry"], {}, 10)]
    assert dict(found) == pytest.approx(dict(exact), rel=1e-5) and [i for i, _ in found] == [i for i, _ in exact]


def test_the_server_can_be_a_setting_and_the_embedded_engine_asked_for_still(
    home: Path, server: QdrantDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_QDRANT", server.url)
    assert "qdrant" in load(source_of(chunks_of("tea")), name="c", progress=False).engines
    assert "qdrant-edge-py" in load(source_of(chunks_of("tea")), name="d", qdrant="", progress=False).engines


def test_the_same_source_again_writes_nothing_to_the_server(home: Path, server: QdrantDouble) -> None:
    first = load(source_of(chunks_of("tea")), name="c", qdrant=server.url, progress=False)
    del server.requests[:]
    assert load(source_of(chunks_of("tea")), name="c", qdrant=server.url, progress=False) == first
    assert not [r for r in server.requests if r[0] in ("PUT", "PATCH", "DELETE")]


def test_a_replaced_collection_is_dropped_from_the_server_and_no_other(home: Path, server: QdrantDouble) -> None:
    load(source_of(chunks_of("other")), name="d", qdrant=server.url, progress=False)
    load(source_of(chunks_of("tea")), name="c", qdrant=server.url, progress=False)
    second = load(source_of(chunks_of("ferry")), name="c", qdrant=server.url, progress=False)
    assert len(server.collections) == 2 and second.engines["qdrant"]["collection"] in server.collections
    assert texts_in("c") == ["ferry"] and texts_in("d") == ["other"]
    load(source_of(chunks_of("ferry")), name="c", qdrant="", progress=False)
    assert len(server.collections) == 1 and texts_in("c") == ["ferry"]


def test_what_the_server_lost_is_loaded_again(home: Path, server: QdrantDouble) -> None:
    first = load(source_of(chunks_of("tea")), name="c", qdrant=server.url, progress=False)
    server._delete(first.engines["qdrant"]["collection"])
    assert load(source_of(chunks_of("tea")), name="c", qdrant=server.url, progress=False).generation != first.generation
    assert texts_in("c") == ["tea"]


@pytest.mark.parametrize(("phase", "done"), [("embed", 1), ("build", 1), ("publish", 0)])
def test_an_interrupted_load_is_taken_up_or_leaves_nothing_on_the_server(
    home: Path, server: QdrantDouble, phase: str, done: int
) -> None:
    def interrupt(now: str, how_much: int, total: int | None) -> None:
        if now == phase and how_much >= done:
            raise KeyboardInterrupt

    load(source_of(chunks_of("tea")), name="c", qdrant=server.url, progress=False)
    for source in (numbered(30), numbered(20)):
        with pytest.raises(KeyboardInterrupt):
            load(source_of(source), name="c", qdrant=server.url, progress=interrupt)
        assert texts_in("c") == ["tea"]
    load(source_of(numbered(20)), name="c", qdrant=server.url, progress=False)
    assert len(server.collections) == 1 and len(texts_in("c")) == 20


def test_a_server_that_fails_in_the_middle_leaves_the_earlier_state(home: Path, server: QdrantDouble) -> None:
    load(source_of(chunks_of("tea")), name="c", qdrant=server.url, progress=False)

    def fail(now: str, how_much: int, total: int | None) -> None:
        if now == "build":
            server.broken = (500, "out of memory")

    with pytest.raises(WorkbenchError, match="out of memory"):
        load(source_of(numbered(5)), name="c", qdrant=server.url, progress=fail)
    server.broken = None
    assert texts_in("c") == ["tea"]
    assert [c.broken for c in collections()] == [""]
