"""Layouts of one collection rank alike; a smaller collection and notes cut in parts are whole collections."""

from __future__ import annotations

import pytest
from helpers.notes_world import FakeEmbedder, World

from workbench.errors import BadParameter
from workbench.retrieval.notes.duckdb import LAYOUTS, NARROW_FACETS, ONE_TABLE, DuckNotes, Layout
from workbench.retrieval.notes.files_made import build_layout, build_old, cut_catalog
from workbench.retrieval.notes.legacy import OldNotes, OldSettings
from workbench.retrieval.notes.model import Budget
from workbench.retrieval.notes.search import Notes, Plan
from workbench.stores.catalog.errors import CatalogMissing
from workbench.types import Query

PLAN = Plan(budget=Budget(page_rows=200))
FILTERS = ({}, {"project": "b"}, {"tags": "x", "status": None}, {"source_type": ["observation", "relation"]}, {"weight": 3})


@pytest.mark.parametrize("layout", [ONE_TABLE, NARROW_FACETS], ids=lambda x: x.name)
def test_every_layout_gives_the_same_rows_scores_and_pages(duck, notes_catalog, tmp_path, layout):
    build_layout(notes_catalog, tmp_path / "other.duckdb", layout)
    engine = DuckNotes.open(notes_catalog, layout, {"layouts": tmp_path / "other.duckdb"})
    with Notes(engine, FakeEmbedder()) as other:
        for filters in FILTERS:
            found, wanted = (n.search(Query("alpha fünf", filters, 50), PLAN, lists=True) for n in (other, duck))
            assert found.hits == wanted.hits and found.lists == wanted.lists and len(found.hits) > 0


def test_each_layout_can_be_built_and_an_unknown_one_is_refused(notes_catalog, tmp_path):
    for layout in LAYOUTS:
        build_layout(notes_catalog, tmp_path / f"{layout.name}.duckdb", layout)
    with pytest.raises(BadParameter, match="unknown layout 'three tables'"):
        build_layout(notes_catalog, tmp_path / "x.duckdb", Layout("three tables"))
    assert len(list(tmp_path.iterdir())) == len(LAYOUTS)


def test_a_smaller_collection_is_the_collection_of_its_notes(duck_world, notes_catalog, tmp_path):
    cut_catalog(notes_catalog, tmp_path / "cut.duckdb", share=0.5)
    with Notes(DuckNotes.open(tmp_path / "cut.duckdb"), FakeEmbedder()) as cut:
        ((n,),) = cut.engine.file.rows("SELECT count(*) FROM chunk")
        found = cut.search(Query("alpha fünf", limit=200), PLAN)
    kept = duck_world.chunks[:n]
    assert 0.45 < n / len(duck_world.chunks) < 0.6 and kept[-1].entity_id != duck_world.chunks[n].entity_id
    wanted = World(kept, duck_world.vectors[:n]).ranking("alpha fünf")
    assert [h.score for h in found.hits] == pytest.approx([s for _, s in wanted], abs=1e-6)


def test_notes_cut_in_parts_hold_the_same_chunks_in_smaller_notes(duck_world, notes_catalog, tmp_path):
    cut_catalog(notes_catalog, tmp_path / "cut.duckdb", parts=2)
    with Notes(DuckNotes.open(tmp_path / "cut.duckdb"), FakeEmbedder()) as cut:
        rows = cut.engine.file.rows("SELECT cid, entity_id, chunk_index, source_type, text FROM chunk ORDER BY cid")
    assert [r[4] for r in rows] == [c.text for c in duck_world.chunks]
    sizes = {}
    for _, entity, index, kind, _ in rows:
        if kind == "entity":
            sizes.setdefault(entity, []).append(index)
    assert all(s == list(range(len(s))) for s in sizes.values())
    whole = {}
    for c in duck_world.chunks:
        if c.source_type == "entity":
            whole[c.entity_id] = whole.get(c.entity_id, 0) + 1
    assert {f"{e}~{p}": n for e, size in whole.items() for p, n in enumerate((-(-size // 2), size // 2)) if n} == {
        e: len(s) for e, s in sizes.items()
    }


def test_the_old_schema_of_a_cut_collection_is_made_like_any_other(notes_catalog, tmp_path):
    cut_catalog(notes_catalog, tmp_path / "cut.duckdb", share=0.5, parts=2)
    build_old(tmp_path / "cut.duckdb", tmp_path / "old.duckdb")
    with (
        OldNotes(tmp_path / "cut.duckdb", tmp_path / "old.duckdb", FakeEmbedder()) as old,
        Notes(DuckNotes.open(tmp_path / "cut.duckdb"), FakeEmbedder()) as new,
    ):
        settings = OldSettings(min_similarity=0.0, lexical="chunks")
        before = old.search(Query("alpha", limit=200), settings=settings, ties="id")
        assert before.keys == new.search(Query("alpha", limit=200), PLAN).keys


@pytest.mark.parametrize("bad", [{"share": 0}, {"share": 1.5}, {"parts": 0}])
def test_a_share_or_number_of_parts_that_cannot_be_is_refused(notes_catalog, tmp_path, bad):
    with pytest.raises(BadParameter):
        cut_catalog(notes_catalog, tmp_path / "x.duckdb", **bad)


def test_a_catalog_that_is_not_there_leaves_nothing(tmp_path):
    with pytest.raises(Exception, match="nothing"):
        cut_catalog(tmp_path / "nothing.duckdb", tmp_path / "x.duckdb")
    with pytest.raises(CatalogMissing):
        DuckNotes.open(tmp_path / "nothing.duckdb")
    assert list(tmp_path.iterdir()) == []
