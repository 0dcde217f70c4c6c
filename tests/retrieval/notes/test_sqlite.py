"""What is SQLite's own: which filters go into the vector search, and the one bounded overfetch for those that do not."""

from __future__ import annotations

import sqlite3

import numpy as np
import pytest
from helpers.notes_world import FakeEmbedder, World, notes

from workbench.errors import BadParameter, NotAvailable
from workbench.retrieval.notes import sqlite as sqlite_open
from workbench.retrieval.notes.model import Ask, Budget
from workbench.retrieval.notes.search import Notes, Plan
from workbench.retrieval.notes.sqlite import SqliteNotes, build_sqlite, pushed, where
from workbench.stores.catalog.catalog import Catalog
from workbench.types import Chunk, Facets, Query

FACETS = [
    Facets("a", "idea", ("x", "y"), "open", "2026-01-01", "2026-02-01T10:00:00+02:00", "f/1.md", {"n": 1, "list": [1, "z"], "flag": True}),
    Facets("a", None, (), None, None, None, None, {"n": 2.5, "when": "2026-03-01"}),
    Facets("b", "log", ("y",), "open", "2026-06-01T09:58", None, "f/2.md", {"n": "1", "list": [], "half": None}),
    Facets(None, "idea", ("it's",), "done", "no time", "2026-02-01", "g/3.md", {'od"d key/~': "v", "flag": False}),
]
FILTERS = [
    {}, {"project": "a"}, {"project": ["a", "b"]}, {"project": None}, {"project": ["b", None]}, {"note_type": "idea", "status": "open"},
    {"status": None}, {"tags": "y"}, {"tags": ["x", "it's"]}, {"tags": None}, {"path": "f/*"}, {"path": "f/1.md"}, {"path": None},
    {"created": {"gte": "2026-01-01"}}, {"created": {"lt": "2026-06-01"}}, {"created": {"gt": "2026-01-01", "lte": "2026-12-31"}},
    {"updated": {"lte": "2026-02-01T08:00:00Z"}}, {"created": None}, {"created": "2026-01-01"}, {"n": 1}, {"n": "1"}, {"n": {"gte": 1, "lt": 3}},
    {"n": [1, 2.5]}, {"n": None}, {"list": "z"}, {"list": 1}, {"list": None}, {"flag": True}, {"flag": False}, {"half": None}, {"when": {"gte": "2026-02-15"}},
    {'od"d key/~': "v"}, {"project": []}, {"source_type": "entity"}, {"entity_id": "e1"}, {"project": "\ud800"}, {"nothing": "'; DROP TABLE chunk"},
]  # fmt: skip


@pytest.fixture(scope="module")
def filed(tmp_path_factory):
    chunks = [Chunk(n + 1, f"e{n}", 0, f"text {n}", facets=f) for n, f in enumerate(FACETS)]
    directory = tmp_path_factory.mktemp("filed")
    with World(chunks).catalog(directory) as catalog:
        build_sqlite(catalog.path, directory / "notes.sqlite")
        engine = SqliteNotes.open(directory / "notes.sqlite")
        yield catalog, engine
        engine.close()


@pytest.mark.parametrize("filters", FILTERS, ids=str)
def test_a_filter_admits_in_sqlite_what_it_admits_in_the_catalog(filed: tuple[Catalog, SqliteNotes], filters):
    catalog, engine = filed
    clause = where(filters)
    found = engine.con.execute(f"SELECT point_id FROM chunk WHERE {clause.sql or '1'} ORDER BY cid", clause.params).fetchall()
    assert [int(i) for (i,) in found] == catalog.ids_where(filters)


@pytest.mark.parametrize("filters", FILTERS, ids=str)
def test_what_goes_into_the_vector_search_admits_no_less_and_all_of_it_no_more(filed, filters):
    catalog, engine = filed
    inside, whole = pushed(filters)
    sql = f"SELECT cid FROM vec WHERE embedding MATCH :q AND k = 4{inside.sql}"
    found = {cid + 1 for (cid,) in engine.con.execute(sql, {"q": np.ones(8, np.float32).tobytes(), **inside.params})}
    wanted = set(catalog.ids_where(filters))
    assert found == wanted if whole else found >= wanted


def test_the_default_filter_and_single_facets_go_in_and_lists_stay_out():
    for filters in ({"source_type": ["entity"]}, {"project": ["a", "b"], "status": None}, {"created": {"gte": "2026-01-01"}}):
        assert pushed(filters)[1]
    for filters in ({"tags": "x"}, {"path": "f/*"}, {"weight": 3}, {"project": "a", "tags": "x"}):
        assert not pushed(filters)[1]


def test_an_unknown_operator_is_refused_as_everywhere():
    with pytest.raises(BadParameter, match="unknown operator 'near'"):
        where({"created": {"near": "2026"}})


def in_a_row(rare: int, engine_dir, overfetch: int = 4, k: int = 5):
    """100 notes ever farther from the query; the tag stands on the `rare` farthest."""
    chunks = [Chunk(n, f"n{n:03d}", 0, f"text {n}", facets=Facets(tags=("rare",) if n > 100 - rare else ())) for n in range(1, 101)]
    angle = np.linspace(0, 1.5, 100)
    vectors = np.zeros((100, 8), np.float32)
    vectors[:, 0], vectors[:, 1] = np.cos(angle), np.sin(angle)

    class Here:
        def embed_query(self, text):
            return vectors[0]

    with World(chunks, vectors).catalog(engine_dir) as catalog:
        build_sqlite(catalog.path, engine_dir / "n.sqlite")
    with Notes(SqliteNotes.open(engine_dir / "n.sqlite", overfetch), Here()) as opened:
        return opened.search(Query("elsewhere", {"tags": "rare"}), Plan(budget=Budget(k, k)))


def test_one_overfetch_of_four_times_k_and_no_retry(tmp_path):
    found = in_a_row(82, tmp_path / "near")
    assert found.keys == (("entity", "n019"), ("entity", "n020"))  # 20 were fetched, 18 of them rejected
    assert in_a_row(10, tmp_path / "far").keys == ()
    assert len([s for s in found.spans if s.stage == "rank"]) == 1


def test_the_factor_is_a_parameter_and_the_engines_limit_holds(tmp_path):
    assert len(in_a_row(10, tmp_path / "more", overfetch=20).keys) == 5
    assert len(in_a_row(10, tmp_path / "most", overfetch=100_000).keys) == 5


def test_the_exact_way_starves_no_page_where_the_overfetch_does(tmp_path):
    in_a_row(3, tmp_path)
    vectors = np.eye(1, 8, dtype=np.float32)

    class Here:
        def embed_query(self, text):
            return vectors[0]

    query, plan = Query("elsewhere", {"tags": "rare"}), Plan(budget=Budget(5, 5))
    for exact, rows in ((False, 0), (True, 3)):
        with Notes(SqliteNotes.open(tmp_path / "n.sqlite", exact=exact), Here()) as opened:
            assert len(opened.search(query, plan).keys) == rows


def test_a_build_that_fails_leaves_nothing(tmp_path):
    with pytest.raises(Exception, match="nothing"):
        build_sqlite(tmp_path / "nothing.duckdb", tmp_path / "n.sqlite")
    with pytest.raises(NotAvailable, match="no such file"):
        SqliteNotes.open(tmp_path / "n.sqlite")
    assert list(tmp_path.iterdir()) == []


def test_other_connections_of_the_process_are_left_as_they_were(tmp_path):
    sqlite_open.connect(tmp_path / "x.sqlite").close()
    with pytest.raises(sqlite3.OperationalError, match="no such function"):
        sqlite3.connect(":memory:").execute("SELECT vec_version()")


def test_an_old_sqlite_and_one_that_takes_no_extension_are_refused_by_name(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite_open, "NEEDED", (99, 0, 0))
    with pytest.raises(NotAvailable, match="older than 99.0.0"):
        sqlite_open.connect(tmp_path / "x.sqlite")
    monkeypatch.undo()
    import ctypes

    class Bare:
        def __init__(self, *_):
            pass

    if not hasattr(sqlite3.Connection, "enable_load_extension"):
        monkeypatch.setattr(ctypes, "CDLL", Bare)
        with pytest.raises(NotAvailable, match="takes no extension"):
            sqlite_open.connect(tmp_path / "x.sqlite")


def test_a_file_open_for_reading_cannot_be_written(notes_catalog, tmp_path):
    build_sqlite(notes_catalog, tmp_path / "n.sqlite")
    engine = SqliteNotes.open(tmp_path / "n.sqlite")
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        engine.con.execute("DELETE FROM chunk")
    engine.close()


def test_both_engines_rank_the_vector_leg_alike(duck, notes_catalog, tmp_path):
    build_sqlite(notes_catalog, tmp_path / "n.sqlite")
    with Notes(SqliteNotes.open(tmp_path / "n.sqlite"), FakeEmbedder()) as lite:
        for text in ("alpha", "nowhere", "sechs"):
            a, b = (n.search(Query(text, {"project": "a"}), lists=True).lists[1] for n in (duck, lite))
            assert a.ids == b.ids and a.scores == pytest.approx(b.scores, abs=1e-6)
    assert len(notes()) > 100


@pytest.mark.parametrize("filters", [{"project": "a"}, {"tags": "x"}, {"project": "a", "tags": "t3"}])
def test_a_large_overfetch_reaches_what_the_exact_filtered_search_finds(notes_catalog, tmp_path, filters):
    build_sqlite(notes_catalog, tmp_path / "n.sqlite")
    engine = SqliteNotes.open(tmp_path / "n.sqlite")
    ask = Ask((), FakeEmbedder().embed_query("sechs"), filters, 5, 5, 0, 5)
    exact = engine.nearest_exact(ask)
    assert len(exact) == 5 and engine.nearest_overfetched(ask, 100) == exact
    assert set(engine.nearest_overfetched(ask, 1)) < set(exact)
    engine.close()
