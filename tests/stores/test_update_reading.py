"""What an update reads: a whole source or a table as the collection's own was, and what it counts and says of it."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers.made_sources import chunks_of, source_of
from helpers.made_updates import FIRST, QRELS, QUERIES, changed, texts_in

from workbench.errors import NotAvailable
from workbench.sources.base import Source
from workbench.stores.collections import open_stores
from workbench.stores.load import load
from workbench.stores.update import update, whole_source
from workbench.types import Facets


def test_a_whole_source_adds_changes_and_deletes_what_differs_and_is_what_the_collection_is_of(home: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    for name, text in (("crane", "# Crane\n\nIt stands still.\n"), ("ferry", "# Ferry\n\nAt nine.\n")):
        (notes / f"{name}.md").write_text(text)
    load(str(notes), name="n", progress=False, chunk_size=200, overlap=0)
    (notes / "crane.md").write_text("# Crane\n\nIt works.\n")
    (notes / "tea.md").write_text("# Tea\n\nGreen.\n")
    (notes / "ferry.md").unlink()
    done = update("n", source=str(notes), progress=False)
    assert (done.added, done.changed, done.deleted, done.unchanged) == (1, 1, 1, 0)
    assert texts_in("n") == {3: "Crane\n\nIt works.", 4: "Tea\n\nGreen."} and done.manifest.settings["chunk_size"] == 200
    moved = shutil.copytree(notes, tmp_path / "moved")
    (moved / "crane.md").write_text("# Crane\n\nIt stands again.\n")
    done = update("n", source=str(moved), progress=False)
    assert (done.manifest.location, done.changed, done.unchanged) == (str(moved), 1, 1)


def test_a_table_is_read_as_the_collections_own_was(home: Path, tmp_path: Path) -> None:
    (tmp_path / "bugs.csv").write_text("Key,Summary,Details\nH-1,Timeout,The scheduler gives up.\n")
    load(str(tmp_path / "bugs.csv"), name="b", progress=False, columns="id=Key,title=Summary,text=Details")
    (tmp_path / "more.csv").write_text("Key,Summary,Details\nH-1,Timeout,It gives up.\nH-2,Crane,It stands.\n")
    done = update("b", str(tmp_path / "more.csv"), progress=False)
    assert (done.added, done.changed) == (1, 1) and list(texts_in("b").values()) == ["Timeout\n\nIt gives up.", "Crane\n\nIt stands."]


def test_changes_may_be_of_another_kind_and_are_cut_as_the_collection_was(home: Path, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "ferry.md").write_text("# Ferry\n\nAt nine.\n")
    load(str(tmp_path / "notes"), name="n", progress=False, chunk_size=200, overlap=0)
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "crane.md").write_text("# Crane\n\n" + "It stands still.\n\n" * 20)
    done = update("n", tmp_path / "more", kind="markdown", progress=False)
    assert done.added == 1 and len(texts_in("n")) > 2 and max(map(len, texts_in("n").values())) <= 200
    (tmp_path / "more.jsonl").write_text('{"id": "tea", "text": "' + "tea is green " * 40 + '"}')
    assert max(map(len, texts_in("n").values())) <= 200 and update("n", tmp_path / "more.jsonl", progress=False).added == 1
    assert max(map(len, texts_in("n").values())) <= 200


def test_counts_of_cut_texts_and_of_what_is_judged_and_absent_are_of_what_is_there_now(updatable: Path) -> None:
    long = "harbour " * 600
    done = update("c", changed("e7", long), progress=False)
    assert done.manifest.counts["truncated"] == 1 and done.manifest.counts["unknown_qrel_documents"] == 1
    assert any("1 texts are longer" in w for w in done.manifest.warnings)
    done = update("c", changed("e7", "short"), delete=["e1"], progress=False)
    assert done.manifest.counts["truncated"] == 0 and done.manifest.counts["unknown_qrel_documents"] == 2
    with open_stores("c") as stores:
        assert stores.catalog.queries() == QUERIES and stores.catalog.qrels() == QRELS


def test_of_a_whole_source_a_document_without_text_is_absent_as_in_a_load(updatable: Path) -> None:
    rest = [c for c in FIRST if c.entity_id != "e1"]
    done = update("c", source=source_of([*rest[:2], *chunks_of(" ", first=9), *rest[2:]]), progress=False)
    assert (done.deleted, done.unchanged, done.manifest.counts["skipped_empty"]) == (1, 4, 1)
    assert any("1 empty chunks are not stored" in w for w in done.manifest.warnings)


def test_warnings_of_the_load_stay_beside_those_of_changes_and_go_with_a_whole_reading(home: Path) -> None:
    load(source_of(chunks_of("tea", "ferry", "")), name="w", progress=False)
    said = update("w", source_of(chunks_of("coffee", first=5, facets=_odd())), progress=False).manifest.warnings
    assert any("1 empty chunks" in w for w in said) and any("NaN" in w for w in said)
    assert update("w", source=source_of(chunks_of("tea")), progress=False).manifest.warnings == ()


def _odd() -> Facets:
    return Facets(metadata={"n": float("nan")})


def test_a_source_with_ids_or_vectors_of_its_own_is_loaded_again(updatable: Path) -> None:
    for source in (source_of(chunks_of("tea"), vectors=lambda embed: iter(())), Source("qdrant", "http://x", {}, lambda: iter(()))):
        with pytest.raises(NotAvailable, match="ids or vectors of its own.*Load it again"):
            update("c", source=source, progress=False)
        with pytest.raises(NotAvailable, match="ids or vectors of its own"):
            update("c", source, progress=False)


def test_pydoc_is_read_again_with_the_options_it_was_loaded_with() -> None:
    manifest = SimpleNamespace(
        kind="pydoc", location="pydoc", name="p",
        settings={"scope": "core", "packages": {"pluggy": "1"}, "chunk_size": 500, "overlap": 7, "python": "3", "platform": "x"},
    )  # fmt: skip
    found = whole_source(manifest, "pydoc", {})
    assert (found.settings["chunk_size"], found.settings["overlap"], list(found.settings["packages"])) == (500, 7, ["pluggy"])
    assert whole_source(manifest, "pydoc", {"chunk_size": 600}).settings["chunk_size"] == 600
