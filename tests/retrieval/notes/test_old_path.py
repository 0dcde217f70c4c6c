"""The old path and its stopgap: how the loop ends, what crosses, and where both paths agree."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.notes_world import FakeEmbedder, World, notes
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.errors import BadParameter
from workbench.retrieval.notes.duckdb import DuckNotes
from workbench.retrieval.notes.files_made import build_old
from workbench.retrieval.notes.legacy import (
    EVERY_SWITCH,
    OLD,
    STOPGAP,
    Exit,
    OldNotes,
    OldSettings,
    Reading,
    Switches,
    candidate_window,
)
from workbench.retrieval.notes.model import Budget
from workbench.retrieval.notes.search import Notes, Plan
from workbench.types import Chunk, Facets, Query

OPEN = OldSettings(min_similarity=0.0, lexical="chunks")
"""Exhaustive and ranking by the unit of the new path: the mechanism alone is left to differ."""
QUERIES = ("alpha", "sechs fünf", "drei vier alpha?", "zwei nowhere", "nowhere")
FILTERS = ({}, {"project": "b"}, {"tags": "x"}, {"created": {"gte": "2026-04-01"}}, {"path": "folder2/*"},
           {"source_type": ["entity", "observation", "relation"]}, {"source_type": "relation", "status": "open"})  # fmt: skip


@pytest.fixture(scope="module")
def old(notes_catalog, tmp_path_factory):
    path = tmp_path_factory.mktemp("old") / "old.duckdb"
    build_old(notes_catalog, path)
    with OldNotes(notes_catalog, path, FakeEmbedder()) as opened:
        yield opened


# -- the loop alone -------------------------------------------------------------------------------------------
def loop(rows_a_chunk: float, *, chunks: int = 10**9, tail: float = 1.0, switches=OLD, filtered=True, **limits):
    """The loop over a made ranking: how many admitted rows a window of chunks resolves to."""

    def read(number, window):
        got = min(window, chunks)
        admitted = int(got * rows_a_chunk)
        return Reading(got, tail, admitted, dict.fromkeys(range(admitted), 0.9))

    return candidate_window(read, OldSettings(**limits), switches, filtered=filtered)


def test_an_even_note_of_52_chunks_needs_seven_rounds():
    found = loop(1 / 52)
    assert [r.window for r in found.rounds] == [260, 520, 1040, 2080, 4160, 8320, 16640]
    assert found.exit == Exit.BUDGET and found.rounds[-2].admitted == 160


def test_the_window_ends_at_fifty_thousand():
    found = loop(0)
    assert [r.window for r in found.rounds][-3:] == [16640, 33280, 50000] and found.exit == Exit.LIMIT
    assert len(found.rounds) == 9


@pytest.mark.parametrize(
    ("made", "way_out"),
    [
        ({"rows_a_chunk": 1.0}, Exit.BUDGET),
        ({"rows_a_chunk": 0.01, "chunks": 100}, Exit.EXHAUSTED),
        ({"rows_a_chunk": 0.01, "tail": 0.54}, Exit.FLOOR),
        ({"rows_a_chunk": 0.0, "scan_limit": 260}, Exit.LIMIT),
        ({"rows_a_chunk": 0.0, "filtered": False}, Exit.UNFILTERED),
    ],
)
def test_every_way_out_can_be_taken_in_the_first_round(made, way_out):
    found = loop(**made)
    assert found.exit == way_out and len(found.rounds) == 1


def test_a_row_budget_ends_where_a_chunk_budget_goes_on():
    assert len(loop(1 / 10, switches=Switches(row_budget=True)).rounds) == 1
    assert len(loop(1 / 10).rounds) == 5


@settings(max_examples=60, deadline=None)
@given(st.floats(0, 1), st.integers(0, 60_000), st.floats(0, 1))
def test_the_loop_ends_and_each_round_asks_for_twice_as_much(rows_a_chunk, chunks, tail):
    found = loop(rows_a_chunk, chunks=chunks, tail=tail)
    windows = [r.window for r in found.rounds]
    assert len(windows) <= 9 and all(b == min(2 * a, 50_000) for a, b in zip(windows, windows[1:], strict=False))
    assert [r.number for r in found.rounds] == list(range(1, len(windows) + 1))


# -- both paths -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("text", QUERIES)
@pytest.mark.parametrize("filters", FILTERS)
def test_both_paths_give_the_same_order_where_the_old_one_was_exhaustive(old, duck, text, filters):
    before = old.search(Query(text, filters, limit=200), settings=OPEN, ties="id")
    after = duck.search(Query(text, filters, limit=200), Plan(budget=Budget(page_rows=200)))
    assert before.exit in (Exit.EXHAUSTED, Exit.BUDGET) and before.keys == after.keys
    assert [s for _, s in before.ranking] == [h.score for h in after.hits]


@pytest.mark.parametrize("switches", EVERY_SWITCH, ids=lambda s: s.name)
def test_every_switch_keeps_the_order_where_the_ranking_is_exhausted(old, switches):
    wide = OldSettings(min_similarity=0.0, lexical="chunks", row_budget=1000)
    for text in QUERIES:
        assert old.search(text, switches, wide, ties="id", limit=40).keys == old.search(text, settings=wide, ties="id", limit=40).keys


def test_ranking_whole_documents_is_another_order(old):
    """Why the order changes where the ranked unit does, and only there."""
    orders = {unit: [old.search(q, settings=OldSettings(min_similarity=0.0, lexical=unit), limit=40).keys for q in QUERIES]
              for unit in ("chunks", "document", "larger")}  # fmt: skip
    assert orders["document"] != orders["chunks"] and orders["larger"] != orders["chunks"]


def test_similarity_below_the_floor_is_no_row(old, duck_world):
    found = old.search(Query("nowhere", limit=200), settings=OldSettings(min_similarity=0.4))
    _, vec = duck_world.legs("nowhere", lambda c: c.source_type == "entity", 1000)
    assert {i for _, i in found.keys} == {duck_world.chunks[n].entity_id for n, s in vec if s >= 0.4}
    assert found.exit == Exit.EXHAUSTED


def test_a_default_search_is_filtered_and_one_without_is_not(old):
    small = OldSettings(candidate_limit=20, min_similarity=0.0)
    plain = old.search("alpha", settings=small, default_type=False)
    assert plain.exit == Exit.UNFILTERED and len(plain.rounds) == 1
    assert "filter pass" not in plain.by_stage()
    default = old.search("alpha", settings=small)
    assert len(default.rounds) > 1 and {t for (t, _), _ in default.ranking} == {"entity"}


# -- what crosses ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("switches", EVERY_SWITCH, ids=lambda s: s.name)
def test_weighing_counts_what_crosses(old, switches):
    limits = OldSettings(candidate_limit=20, min_similarity=0.0, hydration_batch=7)
    for text in QUERIES:
        crossed, weighed = (old.search(text, switches, limits, weigh=w) for w in (False, True))
        counts = [[(c.stage, c.round, c.rows, c.bytes, c.text) for c in r.crossings] for r in (crossed, weighed)]
        assert counts[0] == counts[1] and crossed.ranking == weighed.ranking


def test_every_round_reads_chunk_texts_and_whole_rows_again(old, duck_world):
    found = old.search("alpha", settings=OldSettings(candidate_limit=40, min_similarity=0.0))
    assert len(found.rounds) > 2
    whole = {}
    for c in duck_world.chunks:
        whole.setdefault((c.source_type, c.entity_id), []).append(c.text)
    for r in found.rounds:
        here = {c.stage: c for c in found.crossings if c.round == r.number}
        assert set(here) == {"vector", "chunk text", "hydrate", "filter pass"}
        assert here["vector"].rows == here["chunk text"].rows == r.chunks and here["hydrate"].rows == r.rows
        assert here["filter pass"].rows == r.admitted and here["hydrate"].text >= here["filter pass"].text > 0
    last = found.rounds[-1].number
    sent = sum(c.text for c in found.crossings if c.round == last and c.stage == "filter pass")
    assert sent == sum(len("\n\n".join(whole[key]).encode()) for key in {k for k in whole if k[0] == "entity"})


def test_rows_are_hydrated_in_batches(old):
    found = old.search("alpha", settings=OldSettings(candidate_limit=20, hydration_batch=4, min_similarity=0.0))
    for r in found.rounds:
        batches = [c.rows for c in found.crossings if c.stage == "hydrate" and c.round == r.number]
        assert sum(batches) == r.rows and max(batches) <= 4 and len(batches) == -(-r.rows // 4)


def test_the_stopgap_stops_early_and_reads_no_notes_in_its_rounds(old):
    limits = OldSettings(candidate_limit=20, row_budget=6, min_similarity=0.0)
    before, after = (old.search("alpha", s, limits) for s in (OLD, STOPGAP))
    assert len(after.rounds) == 1 < len(before.rounds) and after.exit == Exit.BUDGET
    assert all(c.text == 0 for c in after.crossings if c.stage in ("hydrate", "filter pass"))
    assert [c.text for c in after.crossings if c.stage == "full text"] == [c.text for c in before.crossings if c.stage == "full text"]
    assert after.bytes < before.bytes / 2


def test_a_pushed_type_leaves_other_types_out_of_the_window(old):
    limits = OldSettings(candidate_limit=20, min_similarity=0.0)
    loose, pushed = (old.search("alpha", Switches(type_pushed=p), limits) for p in (False, True))
    assert all(r.rows == r.admitted for r in pushed.rounds) and any(r.rows > r.admitted for r in loose.rounds)


def test_pages_of_the_new_path_are_full_where_the_old_ones_starve(tmp_path):
    """A filter that admits one note, far from the query: the floor ends the old loop before it is reached."""
    chunks = [Chunk(n, f"n{n}", 0, f"text {n}", facets=Facets(tags=("rare",) if n == 400 else ())) for n in range(1, 401)]
    angle = np.linspace(0, 1.55, 400)
    vectors = np.zeros((400, 8), np.float32)
    vectors[:, 0], vectors[:, 1] = np.cos(angle), np.sin(angle)

    class Here:
        def embed_query(self, text):
            return vectors[0]

    world = World(chunks, vectors)
    with world.catalog(tmp_path / "c") as catalog:
        build_old(catalog.path, tmp_path / "old.duckdb")
        with OldNotes(catalog.path, tmp_path / "old.duckdb", Here()) as before, Notes(DuckNotes.open(catalog.path), Here()) as after:
            starved = before.search("elsewhere", filters={"tags": "rare"})
            found = after.search("elsewhere", filters={"tags": "rare"})
    assert starved.keys == () and starved.exit == Exit.FLOOR
    assert found.keys == (("entity", "n400"),)


def test_an_empty_query_reads_nothing_by_vector(old):
    found = old.search("  ?")
    assert found.keys == () and found.rounds == ()


def test_a_build_that_fails_leaves_the_earlier_file(notes_catalog, tmp_path):
    path = tmp_path / "old.duckdb"
    build_old(notes_catalog, path)
    before = path.read_bytes()
    with pytest.raises(Exception, match="nothing"):
        build_old(tmp_path / "nothing.duckdb", path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_an_unknown_lexical_unit_is_refused():
    with pytest.raises(BadParameter, match="unknown lexical unit 'heading'"):
        OldSettings(lexical="heading")


def test_the_made_notes_have_uneven_chunks():
    counts = [sum(c.entity_id == e for c in notes()) for e in {c.entity_id for c in notes() if c.source_type == "entity"}]
    assert max(counts) > 2 * min(counts)


@pytest.mark.parametrize(("end", "chunks", "rows"), [(8, 260, 26), (25, 260, 26), (40, 410, 41)])
def test_the_old_window_grows_with_the_pages_end(end, chunks, rows):
    at = OldSettings().of_page(end)
    assert (at.candidate_limit, at.row_budget) == (chunks, rows)
