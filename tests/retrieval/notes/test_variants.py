"""The notes paths as variants: what a variant returns is what its path ranks, every part of it, and its cost is told."""

from __future__ import annotations

from math import fsum

import pytest
from helpers.notes_world import World, notes
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.errors import BadParameter
from workbench.retrieval.frozen import freeze
from workbench.retrieval.notes.files_made import old_schema, sqlite_file
from workbench.retrieval.notes.legacy import EVERY_SWITCH, OLD, OldNotes, OldSettings
from workbench.retrieval.notes.search import Notes
from workbench.retrieval.notes.sqlite import SqliteNotes
from workbench.retrieval.notes.variants import NoteFusion, NotesVariant, NotTheSame, OldNotesVariant
from workbench.retrieval.variant import (
    NotComposed,
    Variant,
    at_time,
    knobs,
    known,
    parse,
    variant,
    with_knobs,
)
from workbench.types import Query

NEW = ("notes_max_min", "notes_rrf")
BEFORE = ("notes_old", "notes_stopgap", "notes_row_budget", "notes_type_pushed", "notes_no_content")
QUERIES = ("alpha", "sechs fünf", "drei vier alpha?", "zwei nowhere", "nowhere", "", "the", "eins beta gamma delta")
FILTERS = ({}, {"project": "b"}, {"tags": "t3"}, {"source_type": ["entity", "observation"]}, {"path": "folder2/*"})
floors = st.sampled_from([None, None, -0.2, 0.1, 0.4])


def path_of(collection, chosen: NotesVariant) -> Notes:
    if chosen.engine == "duckdb":
        return Notes.of(collection)
    return Notes(SqliteNotes.open(sqlite_file(collection), exact=chosen.exact), collection.stores.embedder)


# -- the rebuilt path -----------------------------------------------------------------------------------------
@settings(max_examples=80, deadline=None)
@given(
    st.sampled_from(NEW), st.sampled_from(QUERIES), st.sampled_from(FILTERS), st.integers(1, 60), st.integers(1, 60), floors, floors, floors,
    st.sampled_from([("duckdb", False), ("sqlite", False), ("sqlite", True)]), st.integers(1, 40), st.integers(0, 20),
)  # fmt: skip
def test_a_result_is_the_statements_page_with_parts_that_sum_to_its_scores(
    collection, name, text, filters, k_fts, k_vec, every, unsupported, alone, engine, limit, offset
):
    chosen = variant(name, k_fts=k_fts, k_vec=k_vec, floor=every, floor_unsupported=unsupported, floor_alone=alone, page_rows=40,
                     engine=engine[0], exact=engine[1])  # fmt: skip
    query = Query(text, filters, limit, offset)
    result = collection.search(query, chosen)
    with path_of(collection, chosen) as path:
        found = path.search(query, chosen.how)
    assert [(h.rank, h.id, h.score, h.chunk.entity_id, h.chunk.text) for h in result.hits] == [
        (h.rank, h.best_chunk, h.score, h.id, h.excerpt) for h in found.hits
    ]
    assert all(fsum(h.contributions.values()) == h.score for h in result.hits)
    assert len(result.fused) > offset + len(found.hits) if found.more else len(result.fused) <= offset + limit


def test_ranks_are_those_of_notes_in_each_leg(collection):
    result = collection.search(Query("alpha vier", limit=10), "notes_rrf")
    for hit in result.hits:
        assert hit.score == fsum(1 / (60 + rank) for rank in hit.ranks.values())
        assert hit.match == tuple(hit.ranks)
    assert all(len({collection.stores.catalog.entities([i])[0] for i in r.ids}) == len(r) for r in result.lists)


def test_a_hit_is_shown_by_its_excerpt_title_path_and_type(collection):
    world = {c.id: c for c in World(notes()).chunks}
    for hit in collection.search("alpha vier", "notes_rrf").hits:
        chunk = world[hit.id]
        shown = hit.chunk
        assert (shown.key, shown.title, shown.text) == (chunk.key, chunk.title, chunk.text)
        assert (shown.facets.path, shown.facets.note_type) == (chunk.facets.path, chunk.facets.note_type)


def test_what_the_search_moves_stands_on_its_span_and_the_account_of_the_legs_apart(collection):
    result = collection.search("alpha vier", variant("notes_rrf", k_fts=5, k_vec=7))
    with Notes.of(collection) as path:
        plain = path.search("alpha vier", variant("notes_rrf", k_fts=5, k_vec=7).how)
    (search,) = result.calls("search")
    (lists,) = [s for s in result.spans if s.stage == "lists"]
    assert search.bytes == plain.span.bytes and lists.rows == 12 and lists.limit == "k_fts 5, k_vec 7"
    assert [s.stage for s in result.spans].index("lists") > [s.stage for s in result.spans].index("search")
    (told,) = [s.note for s in result.spans if s.stage == "bytes"]
    assert told.startswith(f"{search.bytes:,}: ids ") and f"12 chunks took {lists.bytes:,} more" in told


def test_a_page_that_its_fusion_does_not_give_is_never_told(collection, monkeypatch):
    monkeypatch.setattr(NoteFusion, "__call__", lambda self, lists: self.stage(lists[::-1][:1]))
    with pytest.raises(NotTheSame, match="notes_rrf gave another page"):
        collection.search("alpha sechs", "notes_rrf")


# -- the path before ------------------------------------------------------------------------------------------
@settings(max_examples=40, deadline=None)
@given(st.sampled_from(BEFORE), st.sampled_from(QUERIES), st.sampled_from(FILTERS), st.integers(1, 80), st.floats(-0.1, 0.6))
def test_the_path_before_gives_its_whole_ranking_with_parts_that_sum_to_its_scores(collection, name, text, filters, limit, floor):
    chosen: OldNotesVariant = variant(name)
    chosen = chosen.replace(settings=OldSettings(candidate_limit=limit, row_budget=9, min_similarity=floor))
    query = Query(text, filters, 10)
    result = collection.search(query, chosen)
    with OldNotes(collection.stores.catalog.path, old_schema(collection), collection.stores.embedder) as old:
        found = old.search(query, chosen.switches, chosen.settings)
    catalog = collection.stores.catalog
    keys = [c.key[:2] for c in catalog.chunks(list(result.fused.ids))] if result.fused.ids else []
    assert list(zip(keys, result.fused.scores, strict=True)) == list(found.ranking)
    assert [h.id for h in result.hits] == list(result.fused.ids[:10])
    assert all(fsum(result.evidence["fused"].contributions[i].values()) == s for i, s in zip(result.fused.ids, result.fused.scores, strict=True))


def test_rounds_rows_and_bytes_by_stage_are_told(collection):
    result = collection.search("alpha", "notes_old(candidate_limit=20,min_similarity=0)")
    loop = result.evidence["old"]
    told = {s.stage: s.note for s in result.spans if s.call == "note"}
    assert len(loop.rounds) > 1 and told["rounds"] == f"{len(loop.rounds)}, ended by: {loop.exit}"
    assert told["bytes"].startswith(f"{loop.bytes:,}: full text ") and "hydrate" in told["bytes"]
    by_round = [s for s in result.spans if s.note == "round 2"]
    assert {s.stage for s in by_round} == {"vector", "chunk text", "hydrate", "filter pass"}
    assert sum(s.bytes for s in result.spans if s.engine) == loop.bytes == result.calls("search")[0].bytes


def test_each_part_of_the_stopgap_is_a_variant_and_none_is_another(collection):
    switches = {variant(n).switches for n in BEFORE}
    assert switches <= set(EVERY_SWITCH) and len(switches) == len(BEFORE) and variant("notes_old").switches == OLD


# -- files ----------------------------------------------------------------------------------------------------
def test_what_a_path_needs_is_made_once_by_content_and_closed_with_the_collection(tmp_path):
    with World(notes(count=4)).collection(tmp_path) as small:
        small.search("alpha", "notes_old")
        small.search("alpha", "notes_rrf(engine=sqlite)")
        made = {p: p.stat().st_mtime_ns for p in (old_schema(small), sqlite_file(small))}
        small.search("beta", "notes_stopgap")
        assert {p: p.stat().st_mtime_ns for p in made} == made and all(p.parent == tmp_path for p in made)
        small.stores.manifest.content_hash = "of other notes"
        assert sqlite_file(small) not in made
        engine = small.kept(("notes", "sqlite", False), lambda: None).engine
    with pytest.raises(Exception, match="closed"):
        engine.con.execute("SELECT 1")


# -- as variants ----------------------------------------------------------------------------------------------
def test_they_are_registered_once_and_each_says_its_law_plan_and_source():
    assert [n for n in known() if n.startswith("notes_")] == [*BEFORE, *NEW]
    for name in (*BEFORE, *NEW):
        chosen = variant(name)
        assert chosen.plan().startswith(f"{name}  [notes search rebuild") and not isinstance(chosen, Variant)
    assert len({variant(n).hash for n in (*BEFORE, *NEW)}) == len(BEFORE) + len(NEW)


def test_a_parameter_is_written_as_every_variants_are():
    chosen = parse("notes_rrf(k=10,floor_alone=0.5,engine=sqlite,exact=true)")
    assert chosen == variant("notes_rrf", k=10, floor_alone=0.5, engine="sqlite", exact=True).replace(name=chosen.name)
    for line in ("rrf(k=10", "floors    where full text finds nothing 0.5", "on sqlite, every filter before the ranking"):
        assert line in chosen.plan()
    assert chosen.hash != variant("notes_rrf").hash and at_time(chosen, "2026-01-01") is chosen


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda c: knobs("notes_rrf"), "notes_rrf is searched as a whole"),
        (lambda c: with_knobs("notes_old", {"k": 1}), "notes_old is searched as a whole"),
        (lambda c: freeze(c, Query("alpha"), "notes_rrf"), "notes_rrf is searched as a whole"),
        (lambda c: parse("notes_rrf+recency"), "notes_rrf is searched as a whole"),
    ],
)
def test_what_only_stages_have_is_refused_by_name(collection, call, said):
    with pytest.raises(NotComposed, match=said):
        call(collection)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda c: parse("notes_rrf(nope=1)"), "'notes_rrf' has no knob 'nope'. It has: k, k_fts"),
        (lambda c: parse("notes_rrf(engine=postgres)"), "no engine 'postgres'. Use duckdb or sqlite"),
        (lambda c: parse("notes_rrf(k_fts=1001)"), "k_fts is 1001"),
        (lambda c: c.search(Query("alpha", limit=11), "notes_rrf"), "a page of 11 rows exceeds the budget of 10"),
        (lambda c: c.search("alpha", "notes_rrf", mode="lexical"), "hybrid, not lexical"),
        (lambda c: c.search("alpha", "notes_old", mode="semantic"), "hybrid, not semantic"),
    ],
)
def test_what_a_notes_path_has_not_is_refused_by_name(collection, call, said):
    with pytest.raises(BadParameter, match=said):
        call(collection)
