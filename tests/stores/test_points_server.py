"""A server by URL, at wire level: the unmodified client against a loopback double. All or nothing, and read only."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.points_corpus import write_staging
from helpers.qdrant_double import QdrantDouble
from qdrant_client import QdrantClient, models

from workbench.errors import BadParameter, NotAvailable
from workbench.stores.filters.qdrant import PayloadNames
from workbench.stores.points.server import (
    ClientPoints,
    NoSuchCollection,
    ServerRefused,
    ServerSilent,
)
from workbench.stores.points.server_build import (
    IN_MEMORY_LIMIT,
    build_client,
    drop_client,
    in_memory,
)
from workbench.stores.vectors.checks import VectorError
from workbench.types import Chunk, Facets

COUNT, DIM = 60, 4
ROWS = np.random.default_rng(4).normal(size=(COUNT, DIM)).astype(np.float32)
FOREIGN = PayloadNames(
    content="page_content", source="metadata.source", title="metadata.title", terms="page_content",
    facets={"project": "metadata.space"}, metadata="metadata", vector="dense",
)  # fmt: skip
Staged = tuple[list[Path], Path]


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Staged:
    chunks = [Chunk(i, f"e{i}", 0, f"text {i}", facets=Facets(metadata={"lang": "en", "page": i, 'qu"ote': "x"})) for i in range(COUNT)]
    return write_staging(tmp_path_factory.mktemp("server") / "staging", chunks, ROWS)


@pytest.fixture
def double(tmp_path: Path) -> Iterator[QdrantDouble]:
    with QdrantDouble(tmp_path) as served:
        yield served


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, staged: Staged) -> Iterator[QdrantDouble]:
    """A server that holds the staged points as "c"; tests with this one only read."""
    with QdrantDouble(tmp_path_factory.mktemp("built")) as served:
        shards = {"shard_number": 6, "replication_factor": 2, "write_consistency_factor": 2}
        served.told = []
        build_client(served.url, "c", *staged, **shards, progress=lambda *now: served.told.append(now))
        yield served


def bare(double: QdrantDouble, **metadata: Any) -> None:
    """A collection "c" with its points and no index."""
    client = QdrantClient(url=double.url, check_compatibility=False)
    shape = models.VectorParams(size=DIM, distance=models.Distance.COSINE)
    client.create_collection("c", shape, metadata=metadata or None)
    client.upsert("c", models.Batch(ids=list(range(COUNT)), vectors=ROWS.tolist(), payloads=[{"terms": "text"}] * COUNT))


def foreign(double: QdrantDouble, **vectors: Any) -> QdrantClient:
    """A collection as other tools lay it out: nested metadata, a named vector, a text index on the content itself."""
    client = QdrantClient(url=double.url, check_compatibility=False)
    client.create_collection("theirs", vectors or {"dense": models.VectorParams(size=2, distance=models.Distance.COSINE)})
    texts = ("Ședința de luni", "sedinta de marti", "RULE-A002 forbids it")
    payloads = [
        {"page_content": t, "metadata": {"source": f"/{i}.md", "space": "ab"[i % 2], "page": i}} for i, t in enumerate(texts)
    ]
    points = [models.PointStruct(id=i, vector={"dense": [1.0, i]}, payload=p) for i, p in enumerate(payloads)]
    if not vectors:
        client.upsert("theirs", points)
    word = models.TextIndexParams(type=models.TextIndexType.TEXT, tokenizer=models.TokenizerType.WORD, lowercase=True)
    client.create_payload_index("theirs", "page_content", word)
    return client


def test_shards_replicas_and_consistency_are_the_collections_own(built: QdrantDouble) -> None:
    method, path, body = built.writes[0]
    assert (method, path) == ("PUT", "/collections/c")
    assert (body["shard_number"], body["replication_factor"], body["write_consistency_factor"]) == (6, 2, 2)
    assert body["hnsw_config"] == {"m": 0}
    assert body["metadata"]["workbench"]["complete"] is False
    assert all("wait=true" in t for t in built.targets if t.startswith("PUT /collections/c/"))


def test_unset_shards_are_left_to_the_server(double: QdrantDouble, staged: Staged) -> None:
    with pytest.raises(ZeroDivisionError):
        build_client(double.url, "c", *staged, progress=lambda *_: 1 // 0)
    assert not {"shard_number", "replication_factor", "write_consistency_factor"} & set(double.writes[0][2])


def test_the_terms_are_indexed_as_they_are_and_every_facet_has_an_index(built: QdrantDouble) -> None:
    indexes = {b["field_name"]: b["field_schema"] for _, path, b in built.writes if path.endswith("/index")}
    assert indexes["terms"] == {
        "type": "text", "tokenizer": "whitespace", "lowercase": False, "scoring": True, "enable_hnsw": False,
    }  # fmt: skip
    assert indexes["path"]["prefix"] is True
    kinds = {name: schema["type"] for name, schema in indexes.items() if name.startswith("metadata")}
    assert kinds == {"metadata.lang": "keyword", "metadata.page": "float"}  # the third key cannot be named
    assert {"project", "tags", "created", "created_at", "updated_at"} < set(indexes)


def test_a_build_tells_its_progress(built: QdrantDouble) -> None:
    assert built.told[0] == ("points", COUNT, COUNT)
    assert built.told[-1] == ("complete", COUNT, COUNT)


def test_reading_never_writes(built: QdrantDouble) -> None:
    before = len(built.writes)
    with ClientPoints(built.url, "c") as points:
        points.count(("text",), "any", {})
        points.scroll(("text",), "all", {"lang": "en"}, 5)
        points.nearest(ROWS[0], {}, 5)
        points.bm25(("text",), {}, 5)
        points.retrieve([1, 2])
        list(points.all_points())
    assert len(built.writes) == before


def test_a_long_scroll_is_read_in_pages_and_stays_in_order(
    built: QdrantDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workbench.stores.points.server.PAGE", 7)
    with ClientPoints(built.url, "c") as points:
        assert [p.id for p in points.scroll(("text",), "any", {}, 50)] == list(range(50))
        assert [p.id for p in points.scroll(("text",), "any", {}, 1000)] == list(range(COUNT))
        assert [p.id for p in points.retrieve(range(COUNT))] == list(range(COUNT))


def test_an_interrupt_while_it_builds_deletes_the_collection(double: QdrantDouble, staged: Staged) -> None:
    def interrupt(stage: str, done: int, total: int) -> None:
        assert "c" in double.collections
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_client(double.url, "c", *staged, progress=interrupt)
    assert double.collections == {}


def test_a_bad_vector_is_refused_before_the_server_is_asked(double: QdrantDouble, staged: Staged, tmp_path: Path) -> None:
    bad = ROWS.copy()
    bad[33, 2] = np.nan
    np.save(tmp_path / "bad.npy", bad)
    with pytest.raises(VectorError, match="row 33 is NaN"):
        build_client(double.url, "c", staged[0], tmp_path / "bad.npy")
    assert double.requests == []


def test_what_a_killed_build_left_is_not_read_and_is_replaced(double: QdrantDouble, staged: Staged) -> None:
    bare(double, workbench={"complete": False})
    with pytest.raises(NoSuchCollection, match="never completed"):
        ClientPoints(double.url, "c")
    assert build_client(double.url, "c", *staged) == COUNT
    with ClientPoints(double.url, "c") as points:
        assert points.count((), "any", {}) == COUNT


def test_a_collection_of_someone_elses_is_left_alone(double: QdrantDouble, staged: Staged) -> None:
    foreign(double)
    before = len(double.writes)
    with pytest.raises(ServerRefused, match="'theirs' is there already"):
        build_client(double.url, "theirs", *staged)
    assert len(double.writes) == before


def test_dropping_a_collection_twice_is_no_error(double: QdrantDouble) -> None:
    bare(double)
    drop_client(double.url, "c")
    drop_client(double.url, "c")
    with pytest.raises(NoSuchCollection, match="no collection 'c'"):
        ClientPoints(double.url, "c")


def test_foreign_fields_are_read_under_the_workbenchs_names(double: QdrantDouble) -> None:
    foreign(double)
    with ClientPoints(double.url, "theirs", names=FOREIGN) as points:
        assert points.retrieve([1])[0].payload == {"content": "sedinta de marti", "source": "/1.md"}
        assert points.scroll((), "any", {"project": "a", "page": {"gte": 1}}, 9, fields=("source", "title"))[0].payload == {
            "source": "/2.md"
        }
        assert [p.id for p, _ in points.nearest([1, 1], {}, 2)] == [1, 2]
        assert next(points.all_points())[1]["page_content"] == "Ședința de luni"
        assert next(points.all_points())[2] == pytest.approx([1.0, 0.0])


def test_on_foreign_content_a_term_is_what_the_servers_index_makes_of_it(double: QdrantDouble) -> None:
    """The server's words keep their diacritics, so a folded term misses one of the two that the workbench would find."""
    foreign(double)
    with ClientPoints(double.url, "theirs", names=FOREIGN) as points:
        assert points.count(("sedinta",), "any", {}) == 1
        assert points.count(("ședința",), "any", {}) == 1
        assert points.count(("rule", "a002"), "all", {}) == 1


def test_bm25_without_a_scoring_index_is_not_available_by_name(double: QdrantDouble) -> None:
    foreign(double)
    with (
        ClientPoints(double.url, "theirs", names=FOREIGN) as points,
        pytest.raises(NotAvailable, match="does not score"),
    ):
        points.bm25(("luni",), {}, 5)


@pytest.mark.parametrize(
    ("vectors", "says"),
    [({"dense": models.VectorParams(size=2, distance=models.Distance.DOT)}, "the distance Dot"),
     ({"other": models.VectorParams(size=2, distance=models.Distance.COSINE)}, "no vector 'dense'.*'other'")],
    ids=["dot", "unknown name"],
)  # fmt: skip
def test_vectors_that_no_cosine_can_be_asked_of_are_refused(double: QdrantDouble, vectors: dict, says: str) -> None:
    foreign(double, **vectors)
    with pytest.raises(NotAvailable, match=says):
        ClientPoints(double.url, "theirs", names=FOREIGN)


@pytest.mark.parametrize("bad", [{"facets": {"colour": "c"}}, {"content": ""}, {"source": "a[].b"}, {"terms": 'a"b'}])
def test_a_payload_mapping_that_names_no_field_is_refused(bad: dict) -> None:
    with pytest.raises(BadParameter):
        PayloadNames(**bad)


def silent(call: Callable[[], Any], url: str) -> None:
    with pytest.raises(ServerSilent, match="does not answer") as caught:
        call()
    assert url in str(caught.value)
    assert "start the server" in str(caught.value)


def test_a_server_that_is_not_there_does_not_answer_and_the_error_says_what_to_do(staged: Staged) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        silent(lambda: ClientPoints(url, "c"), url)
        silent(lambda: build_client(url, "c", *staged), url)
        silent(lambda: drop_client(url, "c"), url)


def test_a_server_that_accepts_and_says_nothing_is_given_up_on(staged: Staged) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        url = f"http://127.0.0.1:{mute.getsockname()[1]}"
        start = time.monotonic()
        silent(lambda: ClientPoints(url, "c", timeout=1), url)
        assert time.monotonic() - start < 10


def test_a_server_that_dies_between_two_calls_is_named(tmp_path: Path) -> None:
    with QdrantDouble(tmp_path) as double:
        bare(double)
        url = double.url
        points = ClientPoints(url, "c")
    silent(lambda: points.count((), "any", {}), url)
    points.close()
    with pytest.raises(NotAvailable, match="closed"):
        points.count((), "any", {})


def test_a_key_is_sent_from_the_argument_or_the_environment_and_never_shown(
    double: QdrantDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare(double)
    double.key = "s3cret"
    monkeypatch.delenv("QDRANT_API_KEY", raising=False)
    with pytest.raises(ServerRefused, match="refuses this key"):
        ClientPoints(double.url, "c")
    with ClientPoints(double.url, "c", api_key="s3cret") as points:
        assert points.count((), "any", {}) == COUNT
    monkeypatch.setenv("QDRANT_API_KEY", "s3cret")
    drop_client(double.url, "c")
    assert double.collections == {}


@pytest.mark.parametrize(("status", "kind"), [(400, NotAvailable), (500, ServerRefused), (503, ServerRefused)])
def test_what_the_server_says_is_in_the_error(double: QdrantDouble, status: int, kind: type) -> None:
    bare(double)
    with ClientPoints(double.url, "c") as points:
        double.broken = (status, "strict mode forbids it")
        with pytest.raises(kind, match=f"{status}.*strict mode forbids it"):
            points.count((), "any", {"nobody": "x"})


@pytest.mark.parametrize("url", ["ftp://host", "http://[::1", "http://host:port"])
def test_what_is_no_url_of_a_server_is_refused(url: str) -> None:
    with pytest.raises(BadParameter, match="no URL"):
        ClientPoints(url, "c")


def test_the_in_memory_mode_refuses_what_it_is_too_slow_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, staged: Staged) -> None:
    assert IN_MEMORY_LIMIT == 10_000
    monkeypatch.setattr("workbench.stores.points.server_build.IN_MEMORY_LIMIT", COUNT - 1)
    with pytest.raises(NotAvailable, match="at most 59 points"):
        in_memory(*staged)
