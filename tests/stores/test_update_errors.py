"""What is wrong with an update is said by name, and leaves the collection and what waits as they were."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from helpers.made_sources import chunks_of, source_of
from helpers.made_updates import FIRST, changed, texts_in
from helpers.whole_state import snapshot

from workbench.errors import BadParameter, WorkbenchError
from workbench.sources.base import SourceError
from workbench.stores.collections import UnknownCollection, collections, place
from workbench.stores.journal import Waiting
from workbench.stores.load import load
from workbench.stores.locks import Locked, StorageError, exclusive
from workbench.stores.staging import BadChunk
from workbench.stores.update import EmptyDocument, NoIdLeft, NothingLeft, UnknownDocument, update
from workbench.types import Chunk, Facets

EVERY = ["e0", "e1", "e2", "e3"]

FAULTS = {
    "an unknown id to delete": ({"delete": ["e0", "nobody"]}, UnknownDocument, "no such document: nobody"),
    "an empty document": ({"changes": changed("e0", " \n")}, EmptyDocument, "without text: e0.*--delete"),
    "given and to be deleted": ({"changes": changed("e0", "tea"), "delete": ["e0"]}, BadParameter, "given and to be deleted: e0"),
    "a document twice": ({"changes": source_of([*chunks_of("a"), Chunk(1, "e0", 0, "b")])}, BadChunk, "stands twice"),
    "no id": ({"changes": source_of([Chunk(0, "", 0, "tea")])}, BadChunk, "no entity id"),
    "metadata that is no JSON": ({"changes": changed("e0", "tea", facets=Facets(metadata={"x": [float("nan")]}))}, BadChunk, "JSON"),
    "nothing left": ({"delete": EVERY}, NothingLeft, "nothing would be left"),
    "a whole source without text": ({"source": source_of([])}, NothingLeft, "nothing would be left"),
    "changes beside a whole source": ({"changes": changed("x", "y"), "source": source_of(FIRST)}, BadParameter, "give it alone"),
    "no such file": ({"changes": "/nowhere.jsonl"}, SourceError, "not there"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("defer", [False, True])
def test_a_fault_is_named_and_changes_nothing(updatable: Path, fault: str, defer: bool) -> None:
    asked, kind, said = FAULTS[fault]
    before = snapshot(updatable)
    with pytest.raises(kind, match=said):
        update("c", defer=defer, progress=False, **asked)
    assert snapshot(updatable) == before


def test_a_missing_id_can_be_passed_over(updatable: Path) -> None:
    done = update("c", delete=["e0", "nobody", "nothing"], missing_ok=True, progress=False)
    assert (done.deleted, done.not_found) == (1, ("nobody", "nothing"))


def test_a_table_without_an_id_column_is_said_with_what_was_found(updatable: Path, tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_text(json.dumps({"key": "a", "text": "tea"}))
    with pytest.raises(SourceError, match="missing columns: id; found: key, text"):
        update("c", tmp_path / "c.jsonl", progress=False)
    done = update("c", tmp_path / "c.jsonl", columns="id=key", progress=False)
    assert done.added == 1


def test_an_unknown_collection_is_said_and_nothing_is_made(home: Path) -> None:
    with pytest.raises(UnknownCollection, match="no collection 'c' is loaded"):
        update("c", changed("e0", "tea"), progress=False)
    assert not home.exists()


def test_no_id_above_the_largest_can_be_given(home: Path) -> None:
    load(source_of(chunks_of("tea", first=2**64 - 1)), name="c", progress=False)
    with pytest.raises(NoIdLeft, match="Load the collection again"):
        update("c", changed("x", "coffee"), progress=False)
    assert texts_in("c") == {2**64 - 1: "tea"} and collections()[0].waiting == Waiting()


def test_a_second_update_or_load_at_once_is_refused_naming_the_first(updatable: Path) -> None:
    def other(phase: str, done: int, total: int | None) -> None:
        if phase == "build" and not done:
            for attempt in (lambda: update("c", delete=["e0"], progress=False), lambda: load(source_of(FIRST), name="c", progress=False)):
                with pytest.raises(Locked, match=f"process {os.getpid()} .*updating c"):
                    attempt()

    update("c", changed("e1", "coffee"), progress=other)
    with exclusive(place("c").directory, "loading c", wait=0), pytest.raises(Locked):
        update("c", changed("e1", "tea"), defer=True, progress=False)


def test_a_broken_catalog_is_said(updatable: Path) -> None:
    path = place("c").current() / "catalog.duckdb"
    path.unlink()
    path.write_bytes(b"damaged")
    with pytest.raises(WorkbenchError, match="Load the collection again"):
        update("c", changed("e1", "tea"), progress=False)


def test_a_model_that_is_gone_leaves_the_changes_waiting(updatable: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from workbench.errors import NotAvailable

    def gone(model):
        raise NotAvailable("the model is gone")

    with monkeypatch.context() as patch:
        patch.setattr("workbench.stores.vectors.embedder.open_model", gone)
        with pytest.raises(NotAvailable):
            update("c", changed("e1", "a text that was never embedded"), progress=False)
    assert collections()[0].waiting == Waiting(changed=1) and not place("c").staging.exists()
    assert update("c", progress=False).changed == 1


def test_a_collection_that_may_not_be_written_is_said(updatable: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(updatable))

    monkeypatch.setattr(Path, "mkdir", refused)
    with pytest.raises(StorageError, match="writing is not allowed"):
        update("c", changed("e1", "tea"), progress=False)
