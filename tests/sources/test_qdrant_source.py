"""A running Qdrant collection is read over the wire, kept as it is, and never written to."""

from __future__ import annotations

import hashlib
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.qdrant_double import QdrantDouble
from qdrant_client import QdrantClient, models

from workbench.sources import qdrant as module
from workbench.sources.base import SourceError
from workbench.sources.qdrant import qdrant

UUIDS = ("0b85ed4a-0000-4000-8000-000000000001", "ffffffff-0000-4000-8000-000000000002")
OWN = [
    (7, {"content": "Meeting 2026-11-11 09:58", "title": "Meeting", "source": "recording/0b85", "terms": "meeting",
         "entity_id": "m", "chunk_index": 0, "project": "meetings", "tags": ["a"], "created": "2026-11-11T10:11:43Z",
         "metadata": {"lang": "ro", "n": 3}}),
    (9, {"content": "second part", "entity_id": "m", "chunk_index": 1, "source_type": "entity"}),
    (UUIDS[1], {"content": "last", "entity_id": "x"}), (UUIDS[0], {"content": "before it", "extra": {"k": 1}}),
    (11, {"content": ""}),
]  # fmt: skip


@pytest.fixture
def double(tmp_path: Path) -> Iterator[QdrantDouble]:
    with QdrantDouble(tmp_path) as made:
        yield made


def fill(double: QdrantDouble, points: list, name: str = "notes", distance: str = "Cosine") -> str:
    client = QdrantClient(url=double.url, check_compatibility=False)
    client.create_collection(name, models.VectorParams(size=2, distance=models.Distance(distance)))
    made = [models.PointStruct(id=i, vector=[1.0, n], payload=p) for n, (i, p) in enumerate(points)]
    client.upsert(name, made, wait=True)
    client.close()
    double.requests.clear()
    return f"{double.url}/collections/{name}"


def test_points_come_in_id_order_with_their_own_ids_and_facets(double: QdrantDouble) -> None:
    source = qdrant()(fill(double, OWN))
    chunks = list(source.chunks())
    assert [c.id for c in chunks] == [7, 9, 11, *UUIDS]
    first = chunks[0]
    assert (first.text, first.title, first.source) == ("Meeting 2026-11-11 09:58", "Meeting", "recording/0b85")
    assert (first.facets.project, first.facets.tags, first.facets.created) == ("meetings", ("a",), "2026-11-11T10:11:43Z")
    assert dict(first.facets.metadata) == {"lang": "ro", "n": 3}
    assert [c.key for c in chunks] == [
        ("entity", "m", 0), ("entity", "m", 1), ("entity", "11", 0), ("entity", UUIDS[0], 0), ("entity", "x", 0),
    ]  # fmt: skip
    assert dict(chunks[3].facets.metadata) == {"extra.k": 1}
    assert source.count == 5 and source.vectors is None
    assert source.warnings == ["points have no text and are not searched: 1 (11)"]
    assert list(source.chunks()) == chunks


def test_a_reading_only_reads_and_leaves_every_byte(double: QdrantDouble) -> None:
    url = fill(double, OWN)
    client = QdrantClient(url=double.url, check_compatibility=False)

    def image() -> str:
        points = client.scroll("notes", limit=100, with_payload=True, with_vectors=True)[0]
        whole = [client.get_collection("notes").model_dump(mode="json"), [p.model_dump(mode="json") for p in points]]
        return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()

    before = image()
    double.requests.clear()
    source = qdrant(vectors=True)(url)
    list(source.chunks())
    list(source.vectors(lambda _: None))
    asked = {(method, path.rsplit("/", 1)[-1]) for method, path, _ in double.requests}
    assert asked == {("GET", "notes"), ("POST", "scroll"), ("POST", "count")}
    assert double.writes == []
    assert image() == before
    client.close()


def test_pages_join_without_a_gap(double: QdrantDouble, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGE", 2)
    source = qdrant(vectors=True)(fill(double, OWN))
    assert [c.id for c in source.chunks()] == [7, 9, 11, *UUIDS]
    assert sum(len(batch) for batch in source.vectors(lambda _: None)) == 4


def test_vectors_are_kept_in_order_for_the_points_that_have_text(double: QdrantDouble) -> None:
    source = qdrant(vectors=True)(fill(double, OWN))
    kept = np.concatenate(list(source.vectors(lambda _: None)))
    assert kept.shape == (4, 2) and kept.dtype == np.float32
    assert np.allclose(np.linalg.norm(kept, axis=1), 1)
    assert np.allclose(kept[:, 1] / kept[:, 0], [0, 1, 3, 2])  # written as [1, n]: 7, 9, the first UUID, the second


def test_a_foreign_payload_is_mapped(double: QdrantDouble) -> None:
    payload = {"page_content": "hello", "metadata": {"source": "a.md", "kind": "note", "page": 3, "doc": "d"}, "a.b": "dotted"}
    url = fill(double, [(1, payload), (2, payload)])
    columns = "text=page_content,source=metadata.source,note_type=metadata.kind,entity_id=metadata.doc,title=a.b"
    chunks = list(qdrant(columns=columns)(url).chunks())
    assert [(c.text, c.source, c.title, c.facets.note_type, c.key) for c in chunks] == [
        ("hello", "a.md", "dotted", "note", ("entity", "d", n)) for n in (0, 1)
    ]
    assert dict(chunks[0].facets.metadata) == {"page": 3}
    with pytest.raises(SourceError, match="missing columns: content; found: a.b, metadata, page_content"):
        qdrant()(url)


def test_the_collection_can_be_named_apart(double: QdrantDouble) -> None:
    fill(double, OWN, "with space")
    assert len(list(qdrant(collection="with space")(double.url).chunks())) == 5
    assert len(list(qdrant()(f"{double.url}/collections/with%20space").chunks())) == 5
    for location, name in ((double.url, ""), (f"{double.url}/collections/a", "b"), ("ftp://x", "a")):
        with pytest.raises(SourceError, match="the address names no collection|it names another collection than"):
            qdrant(collection=name)(location)


def test_a_server_that_does_not_answer_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    with pytest.raises(SourceError, match="does not answer") as caught:
        qdrant()(f"http://127.0.0.1:{port}/collections/notes")
    assert f"127.0.0.1:{port}/collections/notes" in str(caught.value)


def test_a_server_that_refuses_is_named(double: QdrantDouble, monkeypatch: pytest.MonkeyPatch) -> None:
    url = fill(double, OWN)
    with pytest.raises(SourceError, match="404"):
        qdrant(collection="none")(double.url)
    double.key = "secret"
    with pytest.raises(SourceError, match="Set QDRANT_API_KEY"):
        qdrant()(url)
    monkeypatch.setenv("QDRANT_API_KEY", "secret")
    assert qdrant()(url).count == 5


def test_a_server_that_fails_midway_is_an_error_not_a_short_collection(double: QdrantDouble) -> None:
    source = qdrant()(fill(double, OWN))
    double.broken = (500, "out of memory")
    with pytest.raises(SourceError, match="500"):
        list(source.chunks())


def test_a_collection_that_changes_under_the_reading_is_said(double: QdrantDouble) -> None:
    source = qdrant()(fill(double, OWN))
    client = QdrantClient(url=double.url, check_compatibility=False)
    client.upsert("notes", [models.PointStruct(id=1, vector=[1.0, 0.0], payload={"content": "new"})])
    client.close()
    assert len(list(source.chunks())) == 6
    assert any("5 points at first, 6 were read" in w for w in source.warnings)


@pytest.mark.parametrize(("distance", "name"), [("Dot", ""), ("Euclid", ""), ("Cosine", "other")])
def test_vectors_that_no_cosine_is_of_are_refused(double: QdrantDouble, distance: str, name: str) -> None:
    url = fill(double, OWN, distance=distance)
    with pytest.raises(SourceError, match="vector"):
        qdrant(vectors=True, vector_name=name)(url)
    assert qdrant()(url).count == 5


@pytest.mark.parametrize("vector", [[0.0, 0.0], [float("nan"), 1.0], [float("inf"), 1.0], None])
def test_a_vector_that_no_cosine_is_of_names_its_point(double: QdrantDouble, monkeypatch: pytest.MonkeyPatch, vector: object) -> None:
    source = qdrant(vectors=True)(fill(double, OWN))
    bad = [SimpleNamespace(id=7, payload={"content": "x"}, vector=vector)]
    monkeypatch.setattr(module._Collection, "pages", lambda self, **_: iter([bad]))
    with pytest.raises(SourceError, match="point 7"):
        list(source.vectors(lambda _: None))


def test_points_out_of_order_are_refused(double: QdrantDouble, monkeypatch: pytest.MonkeyPatch) -> None:
    source = qdrant()(fill(double, OWN))
    records = [SimpleNamespace(id=i, payload={"content": "x"}) for i in (2, 1)]
    monkeypatch.setattr(QdrantClient, "scroll", lambda *_, **__: (records, None))
    with pytest.raises(SourceError, match="out of order"):
        list(source.chunks())


def test_an_empty_collection_is_an_empty_source(double: QdrantDouble) -> None:
    source = qdrant(vectors=True)(fill(double, []))
    assert list(source.chunks()) == [] and list(source.vectors(lambda _: None)) == [] and source.count == 0
