"""An update of a collection on a server: the points go into a new collection there, and the earlier one stays until nobody
has it open."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.made_sources import chunks_of, source_of
from helpers.made_updates import FIRST, HIGHEST, changed, first_source, texts_in
from helpers.qdrant_double import QdrantDouble
from helpers.whole_state import state

from workbench.errors import WorkbenchError
from workbench.retrieval.search import open_collection
from workbench.stores.collections import collections, open_stores, place
from workbench.stores.journal import Waiting, waiting_in
from workbench.stores.load import load
from workbench.stores.update import update
from workbench.types import Chunk

TERMS = ("ferry", "harbour", "crane")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[QdrantDouble]:
    with QdrantDouble(tmp_path / "server") as double:
        yield double


@pytest.fixture
def served(home: Path, server: QdrantDouble) -> QdrantDouble:
    """The server, with FIRST loaded into it as `c`."""
    load(first_source(), name="c", qdrant=server.url, progress=False)
    del server.requests[:]
    return server


def waiting() -> Waiting:
    return waiting_in(place("c").current())


def test_an_open_collection_on_a_server_survives_an_update(served: QdrantDouble) -> None:
    (before,) = served.collections
    with open_collection("c") as opened:
        answer = opened.search("ferry harbour crane tea noon coffee", limit=50)
        done = update("c", changed("e1", "coffee"), delete=["e3"], progress=False)
        assert set(served.collections) == {before, done.manifest.engines["qdrant"]["collection"]}
        assert opened.search("ferry harbour crane tea noon coffee", limit=50).hits == answer.hits
    assert set(served.collections) == {done.manifest.engines["qdrant"]["collection"]}
    assert "coffee" in texts_in("c").values()


def test_another_collection_of_the_server_is_not_touched(served: QdrantDouble) -> None:
    load(source_of(chunks_of("other")), name="d", qdrant=served.url, progress=False)
    done = update("c", source_of([*changed("e1", "coffee").chunks(), *chunks_of("new", first=8)]), delete=["e3"], progress=False)
    assert (done.added, done.changed, done.deleted, done.waiting) == (1, 1, 1, Waiting())
    assert sorted(texts_in("c").values()) == sorted([*(c.text for c in FIRST if c.entity_id in ("e0", "e2")), "coffee", "new"])
    assert texts_in("d") == {0: "other"} and len(served.collections) == 2


def test_it_is_as_a_load_of_the_same_chunks(served: QdrantDouble) -> None:
    update("c", source_of([*changed("e1", "the harbour", "and tea").chunks()]), delete=["e3"], progress=False)
    chunks = [c for c in FIRST if c.entity_id not in ("e1", "e3")]
    new = [Chunk(HIGHEST + 1 + n, "e1", n, text) for n, text in enumerate(("the harbour", "and tea"))]
    source = first_source()
    load(source_of([*chunks[:3], *new, *chunks[3:]], queries=source.queries, qrels=source.qrels), name="fresh", qdrant=served.url, progress=False)
    assert state("c", TERMS) == state("fresh", TERMS)


@pytest.mark.parametrize("path", ["/points", "/index"])
def test_a_server_that_fails_in_any_step_leaves_all_as_it_was_and_the_changes_wait(served: QdrantDouble, path: str) -> None:
    (before,), answer = served.collections, served.answer

    def failing(method: str, asked: str, body, key: str):
        if method == "PUT" and asked.endswith(path):
            served.broken = (500, "out of memory")
        try:
            return answer(method, asked, body, key)
        finally:
            served.broken = None

    served.answer = failing
    with pytest.raises(WorkbenchError, match="out of memory"):
        update("c", changed("e1", "coffee"), delete=["e3"], progress=False)
    served.answer = answer
    assert list(served.collections) == [before] and sorted(texts_in("c").values()) == sorted(c.text for c in FIRST)
    assert [c.waiting for c in collections()] == [Waiting(changed=1, deleted=1)]
    assert update("c", progress=False).waiting == Waiting()
    assert "coffee" in texts_in("c").values() and len(texts_in("c")) == len(FIRST) - 1 and len(served.collections) == 1


def test_changes_can_be_put_to_wait_while_the_server_is_away(served: QdrantDouble) -> None:
    served.broken = (503, "away")
    assert update("c", changed("e1", "coffee"), defer=True, progress=False).waiting == Waiting(changed=1)
    with pytest.raises(WorkbenchError, match="away"):
        update("c", progress=False)
    served.broken = None
    assert waiting() == Waiting(changed=1)
    update("c", progress=False)
    assert "coffee" in texts_in("c").values()


def test_a_running_collection_that_was_read_is_never_written_to(served: QdrantDouble) -> None:
    (foreign,) = served.collections
    load(f"{served.url}/collections/{foreign}", name="copy", progress=False)
    del served.requests[:]
    done = update("copy", changed("e1", "coffee"), delete=["e3"], progress=False)
    assert (done.changed, done.deleted) == (1, 1) and "coffee" in texts_in("copy").values() and served.requests == []
    with pytest.raises(WorkbenchError, match="ids or vectors of its own"):
        update("copy", source=f"{served.url}/collections/{foreign}", progress=False)


def test_points_with_sparse_weights_go_into_a_new_collection_and_the_old_one_is_dropped(home: Path, server: QdrantDouble) -> None:
    load(source_of(chunks_of("the ferry", "a crane")), name="c", qdrant=server.url, sparse=True, progress=False)
    (before,) = server.collections
    done = update("c", changed("e1", "tea", "noon"), progress=False)
    (after,) = server.collections
    assert before != after == done.manifest.engines["qdrant"]["collection"] and done.waiting == Waiting()
    assert sorted(texts_in("c").values()) == ["noon", "tea", "the ferry"]
    with open_stores("c") as stores:
        assert [p.id for p, _ in stores.points.sparse(["tea"], {}, 5)] == stores.catalog.holding(["tea"], "any", {}, 5)
