"""A document that waits is absent for that reason and no other, and the reason is gone when it is lifted."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.made_sources import chunks_of, source_of
from helpers.qdrant_double import QdrantDouble

from workbench.analysis.explain.absences import NOT_INDEXED, REASONS
from workbench.analysis.explain.explain import explain
from workbench.analysis.explain.targets import NoSuchTarget, NotYetIndexed, resolve
from workbench.errors import WorkbenchError
from workbench.retrieval.search import open_collection
from workbench.stores.load import load
from workbench.stores.update import update

QUERY = "when does the ferry leave"


def test_a_document_in_the_journal_is_not_yet_indexed_until_the_update_that_is_named(home: Path) -> None:
    load(source_of(chunks_of("tea", "coffee")), name="c", progress=False)
    update("c", source_of(chunks_of("the ferry leaves at nine", first=7, title="Ferry")), defer=True, progress=False)
    with open_collection("c") as collection:
        result = collection.search(QUERY)
        for named in ("e7", "Ferry", "entity:e7", "title:Ferry"):
            with pytest.raises(NotYetIndexed, match="'e7' is not yet indexed: it waits to be added.*workbench update c") as waits:
                resolve(collection, named, result)
            assert waits.value.absence.reason == NOT_INDEXED in REASONS
        with pytest.raises(NoSuchTarget) as unknown:
            resolve(collection, "e8", result)
        assert not isinstance(unknown.value, NotYetIndexed)
    update("c", progress=False)
    with open_collection("c") as collection:
        result = collection.search(QUERY)
        assert explain(collection, result, resolve(collection, "e7", result)).rank == 1


def test_a_point_that_was_not_sent_to_the_server_is_not_yet_indexed_until_it_is(home: Path, tmp_path: Path) -> None:
    with QdrantDouble(tmp_path / "server") as server:
        load(source_of(chunks_of("tea", "coffee")), name="c", qdrant=server.url, progress=False)
        answer = server.answer

        def failing(method, path, body, key):
            server.broken = (500, "out of memory") if method == "PUT" and path.endswith("/points") else None
            return answer(method, path, body, key)

        server.answer = failing
        with pytest.raises(WorkbenchError, match="out of memory"):
            update("c", source_of(chunks_of("the ferry leaves at nine", first=7)), progress=False)
        server.answer, server.broken = answer, None
        with open_collection("c") as collection:
            result = collection.search(QUERY)
            with pytest.raises(NotYetIndexed, match="workbench update c") as waits:
                resolve(collection, "e7", result)
        assert waits.value.absence.reason == NOT_INDEXED
        update("c", progress=False)
        with open_collection("c") as collection:
            result = collection.search(QUERY)
            assert explain(collection, result, resolve(collection, "e7", result)).rank == 1
