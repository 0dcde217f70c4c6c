"""The rebuilt search: one statement, ids first, bounded text, stable pages, filters inside both legs."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.notes_world import keys, notes, same_order
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.errors import BadParameter
from workbench.retrieval.fusions import max_min, rrf, verbatim_first
from workbench.retrieval.notes.model import K_CAP, Budget, Floors
from workbench.retrieval.notes.search import Notes, Plan, RerankFailed
from workbench.types import Chunk, Facets, Query

WIDE = Budget(page_rows=200)
WHOLE = Plan(budget=WIDE)
QUERIES = ("alpha", "sechs fünf", "drei vier alpha?", "zwei nowhere", "eins beta gamma delta")


class Backwards:
    """Scores later texts higher."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def scores(self, query, texts):
        self.read += texts
        return list(range(len(texts)))


def every(notes: Notes, text: str, plan: Plan = WHOLE, **fields) -> list:
    return list(notes.search(Query(text, limit=200, **fields), plan).keys)


@pytest.mark.parametrize("text", QUERIES)
@pytest.mark.parametrize("fusion", [max_min(), max_min(bonus=0.0), rrf(), rrf(k=1)])
def test_the_statement_ranks_as_the_same_fusion_in_python(engine, notes_world, text, fusion):
    assert same_order(every(engine, text, Plan(fusion=fusion, budget=WIDE)), notes_world.ranking(text, fusion=fusion))


@pytest.mark.parametrize("k", [1, 5, 30])
def test_each_leg_ranks_k_chunks_and_no_more(engine, notes_world, k):
    plan = Plan(budget=Budget(k, k, page_rows=200))
    for text in QUERIES:
        assert same_order(every(engine, text, plan), notes_world.ranking(text, k=k))


def test_scores_fall_and_ties_are_by_type_then_id(engine):
    hits = engine.search(Query("alpha beta", {"source_type": ["entity", "observation"]}, 200), Plan(budget=WIDE)).hits
    assert [(-h.score, h.type, h.id) for h in hits] == sorted((-h.score, h.type, h.id) for h in hits)


FILTERS = {
    "project": ({"project": "b"}, lambda c: c.facets.project == "b"),
    "note type": ({"note_type": ["idea", "log"]}, lambda c: c.facets.note_type in ("idea", "log")),
    "tags": ({"tags": "t3"}, lambda c: "t3" in c.facets.tags),
    "status absent": ({"status": None}, lambda c: c.facets.status is None),
    "dates": ({"created": {"gte": "2026-03-01", "lt": "2026-05-01"}}, lambda c: "2026-03" <= c.facets.created < "2026-05"),
    "path": ({"path": "folder1/*"}, lambda c: c.facets.path.startswith("folder1/")),
    "metadata": ({"weight": {"gte": 20}}, lambda c: c.facets.metadata.get("weight", 0) >= 20),
    "two": ({"project": "a", "tags": "x"}, lambda c: c.facets.project == "a" and "x" in c.facets.tags),
}


@pytest.mark.parametrize("name", FILTERS)
def test_a_filter_is_a_predicate_in_both_legs(engine, notes_world, name):
    filters, admits = FILTERS[name]
    stays_out = engine.engine.name == "sqlite" and name in ("tags", "path", "metadata", "two")
    for k in (1000,) if stays_out else (1000, 4):  # a filter that stays out is asked of 4 × k chunks: see test_sqlite
        wanted = notes_world.ranking("alpha vier", lambda c: c.source_type == "entity" and admits(c), k)
        plan = Plan(budget=Budget(k, k, page_rows=200))
        assert wanted and same_order(every(engine, "alpha vier", plan, filters=filters), wanted)


def test_only_notes_come_back_until_other_types_are_asked_for(engine, notes_world):
    assert {t for t, _ in every(engine, "alpha")} == {"entity"}
    found = every(engine, "alpha", filters={"source_type": ["observation", "relation"]})
    assert {t for t, _ in found} == {"observation", "relation"}
    assert same_order(found, notes_world.ranking("alpha", lambda c: c.source_type != "entity"))
    with pytest.raises(BadParameter, match="unknown source type 'heading'"):
        engine.search("alpha", filters={"source_type": "heading"})


def test_an_observation_stands_for_itself_or_for_its_note(engine, notes_world):
    everything = {"source_type": ["entity", "observation", "relation"]}

    def note(c: Chunk) -> tuple[str, str]:
        return "entity", c.facets.metadata.get("note", c.entity_id)

    found = every(engine, "alpha beta", Plan(returns="note", budget=WIDE), filters=everything)
    assert same_order(found, notes_world.ranking("alpha beta", lambda c: True, key=note))
    assert len(set(found)) == len(found)


def test_entity_seven_and_relation_seven_both_come_back(opens):
    """CASES row 16: keys are (type, id)."""
    chunks = [Chunk(1, "7", 0, "the note on ferries"), Chunk(2, "7", 0, "a ferry connects to a port", source_type="relation")]
    with opens(chunks) as notes:
        found = notes.search("ferry ferries", filters={"source_type": ["entity", "relation"]})
    assert set(found.keys) == {("entity", "7"), ("relation", "7")}


@pytest.mark.parametrize("limit", [1, 3, 10])
@pytest.mark.parametrize("fusion", [max_min(), rrf()])
def test_pages_are_cut_from_one_ranking(engine, limit, fusion):
    plan = Plan(fusion=fusion, budget=WIDE)
    whole = engine.search(Query("alpha beta", limit=200), plan)
    hits, offset, more = [], 0, True
    while more:
        page = engine.search(Query("alpha beta", limit=limit, offset=offset), plan)
        hits += page.hits
        offset, more = offset + limit, page.more
    assert tuple(hits) == whole.hits and len(hits) > 3 * limit


def test_pages_are_stable_where_all_scores_tie(opens):
    chunks = [Chunk(n, f"n{n % 29:02d}", n // 29, "same words here") for n in range(1, 88)]
    with opens(chunks, np.repeat(np.eye(1, 8, dtype=np.float32), len(chunks), axis=0)) as notes:
        double = notes.search("same words", limit=20, plan=Plan(budget=WIDE)).keys
        pages = [notes.search("same words", limit=10, offset=o).keys for o in (0, 10, 20)]
    assert pages[0] + pages[1] == double and list(double) == sorted(double)
    assert sorted({k for page in pages for k in page}) == [("entity", f"n{n:02d}") for n in range(29)]


def test_one_more_row_tells_of_a_next_page(engine, notes_world):
    total = len(notes_world.ranking("alpha"))
    assert engine.search(Query("alpha", limit=total - 1), Plan(budget=WIDE)).more
    assert not engine.search(Query("alpha", limit=total), Plan(budget=WIDE)).more
    beyond = engine.search(Query("alpha", limit=10, offset=total), Plan(budget=WIDE))
    assert beyond.hits == () and beyond.more is False


@pytest.mark.parametrize("offset", [0, 3, 5000])
def test_rows_admitted_do_not_depend_on_the_offset(engine, notes_world, offset):
    total = len(notes_world.ranking("alpha"))
    span = engine.search(Query("alpha", limit=2, offset=offset), Plan(budget=WIDE)).span
    assert span.rows_admitted == total > 3


def test_more_is_unknown_where_k_ends_the_pages(engine):
    found = engine.search(Query("alpha", limit=10, offset=200), Plan(budget=Budget(2, 2)))
    assert found.hits == () and found.more is None


def test_a_filter_that_admits_one_note_returns_it_in_one_round(engine):
    found = engine.search("nowhere", filters={"path": "folder1/007.md"})
    assert found.keys == (("entity", "007.md"),)
    assert len([s for s in found.spans if s.stage == "rank"]) == 1


def test_twelve_nearer_rows_that_the_filter_rejects_never_hide_three(opens):
    """CASES row 17."""
    chunks = [Chunk(n, f"n{n}", 0, f"text {n}", facets=Facets("archive" if n <= 12 else "live")) for n in range(1, 16)]
    rows = np.asarray([[1.0, n / 20] + [0.0] * 6 for n in range(15)], np.float32)
    vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    with opens(chunks, vectors, vectors[0]) as notes:
        found = notes.search("elsewhere", Plan(budget=Budget(k_fts=3, k_vec=3)), filters={"project": "live"})
    assert found.keys == (("entity", "n13"), ("entity", "n14"), ("entity", "n15"))


@pytest.mark.parametrize("text", ["", "   ", "?", "the", "THE", "DO NOT USE FIND /", "covid-19", "\ud800", "<script>",
                                  "🙂", "2026-11-11 09:58", "órgãos", "x" * 100_000, "'; DROP TABLE chunk; --"])  # fmt: skip
def test_any_text_is_a_query(engine, text):
    found = engine.search(text)
    assert len(found.hits) == (8 if Query(text).normalised else 0)


def test_a_question_mark_at_the_end_changes_nothing(engine):
    assert engine.search("drei vier alpha?").hits == engine.search("drei vier alpha").hits


# -- text -----------------------------------------------------------------------------------------------------
def test_the_excerpt_is_the_best_chunk_capped(engine, notes_world):
    hits = engine.search("alpha vier", Plan(budget=Budget(excerpt_chars=10))).hits
    by_id = {c.id: c for c in notes_world.chunks}
    for hit in hits:
        chunk = by_id[hit.best_chunk]
        assert hit.excerpt == chunk.text[:10] and chunk.entity_id == hit.id
        assert (hit.title, hit.path, hit.note_type) == (chunk.title, chunk.facets.path, chunk.facets.note_type or "")


def test_two_or_three_chunks_share_the_excerpts_cap(engine):
    one, three = (engine.search("alpha vier", Plan(excerpt_chunks=n)).hits for n in (1, 3))
    assert [h.best_chunk for h in one] == [h.best_chunk for h in three]
    assert any(h.excerpt.count("…") == 2 for h in three)
    assert all(t.excerpt.startswith(o.excerpt) for o, t in zip(one, three, strict=True))
    capped = engine.search("alpha vier", Plan(excerpt_chunks=3, budget=Budget(excerpt_chars=12))).hits
    assert all(len(h.excerpt) <= 12 for h in capped)


def test_bytes_of_a_search_stay_within_the_budget_whatever_the_notes_hold(opens):
    long = "🙂" * 3_000_000 + " alpha"
    chunks = [Chunk(n, f"n{n}", 0, f"alpha {long}" if n == 3 else "alpha", "T" * 50_000, facets=Facets(path="p" * 50_000))
              for n in range(1, 30)]  # fmt: skip
    budget = Budget()
    with opens(chunks) as notes:
        span = notes.search("alpha", Plan(budget=budget, excerpt_chunks=3), limit=10, rerank=Backwards()).span
    assert span.bytes_ids + span.bytes_page <= budget.bytes_at_most(10) < 100_000
    assert 0 < span.bytes_rerank <= budget.rerank_bytes_at_most


def test_the_span_tells_budgets_rows_and_bytes(engine, notes_world):
    result = engine.search(Query("alpha", limit=5), Plan(budget=Budget(7, 9)))
    fts, vec = notes_world.legs("alpha", lambda c: c.source_type == "entity", 1000)
    told = result.span.plain()
    assert (told["fts_k"], told["vec_k"], told["rows_returned"]) == (7, 9, 5)
    chunks = [notes_world.chunks[n] for n, _ in [*fts[:7], *vec[:9]]]
    admitted = {(c.source_type, c.entity_id) for c in chunks}
    assert told["rows_admitted"] == len(admitted) and told["rounds"] == 1
    assert told["bytes_materialised"] == told["bytes_page"] > 0 and told["seconds"] > 0
    assert told["bytes"] == told["bytes_ids"] + told["bytes_page"]
    assert [s.stage for s in result.spans if s.engine in ("duckdb", "sqlite")] == ["rank", "page"]


def test_a_page_beyond_the_budget_is_refused(engine):
    with pytest.raises(BadParameter, match="a page of 11 rows exceeds the budget of 10"):
        engine.search("alpha", limit=11)
    with pytest.raises(BadParameter, match="k_fts is 1001"):
        Budget(k_fts=K_CAP + 1)
    with pytest.raises(BadParameter, match="excerpt of 4 chunks"):
        Plan(excerpt_chunks=4)


def test_a_growing_budget_asks_ten_chunks_a_row_up_to_its_cap():
    budget = Budget(growing=True)
    assert [budget.k(end) for end in (10, 25, 50, 5000)] == [(260, 260), (260, 260), (510, 510), (1000, 1000)]


# -- rerank ---------------------------------------------------------------------------------------------------
def test_the_same_prefix_is_reranked_on_every_page_and_pages_stay_stable(engine):
    plan = Plan(budget=Budget(rerank_candidates=6, page_rows=40))
    plain = engine.search(Query("alpha", limit=20), plan).keys
    whole = engine.search(Query("alpha", limit=20), plan, rerank=Backwards()).keys
    assert whole == plain[:6][::-1] + plain[6:]
    pages = [engine.search(Query("alpha", limit=4, offset=o), plan, rerank=Backwards()).keys for o in (0, 4, 8, 12, 16)]
    assert sum(pages, ()) == whole


def test_a_page_behind_the_prefix_reads_nothing_for_reranking(engine):
    scorer = Backwards()
    plan = Plan(budget=Budget(rerank_candidates=6))
    assert engine.search(Query("alpha", limit=4, offset=8), plan, rerank=scorer).span.bytes_rerank == 0 and not scorer.read


def test_reranking_reads_the_best_chunks_cut_at_their_cap(engine, notes_world):
    scorer = Backwards()
    budget = Budget(rerank_candidates=6, document_chars=8)
    span = engine.search("alpha", Plan(budget=budget), limit=3, rerank=scorer).span
    assert len(scorer.read) == 6 and all(len(t) <= 8 for t in scorer.read)
    assert span.bytes_rerank == sum(len(t.encode()) for t in scorer.read) <= budget.rerank_bytes_at_most


@pytest.mark.parametrize("scores", [lambda n: [0.5] * (n - 1), lambda n: [float("nan")] * n, lambda n: 1 / 0])
def test_a_failing_reranker_is_an_error_and_never_a_fall_back(engine, scores):
    class Broken:
        def scores(self, query, texts):
            return scores(len(texts))

    with pytest.raises(RerankFailed):
        engine.search("alpha", rerank=Broken())


# -- floors ---------------------------------------------------------------------------------------------------
def test_a_floor_on_every_chunk_takes_it_out_of_the_vector_leg(engine, notes_world):
    result = engine.search(Query("nowhere", limit=200), Plan(floors=Floors(every=0.3), budget=WIDE))
    _, vec = notes_world.legs("nowhere", lambda c: c.source_type == "entity", 1000)
    wanted = {notes_world.chunks[n].entity_id for n, s in vec if s >= 0.3}
    assert {h.id for h in result.hits} == wanted and 0 < len(wanted) < 40


def test_a_row_without_lexical_support_needs_the_higher_floor(engine, notes_world):
    ranking = notes_world.ranking("sechs")
    fts, vec = notes_world.legs("sechs", lambda c: c.source_type == "entity", 1000)
    supported = {notes_world.chunks[n].entity_id for n, _ in fts}
    near = {notes_world.chunks[n].entity_id for n, s in vec if s >= 0.4}
    found = every(engine, "sechs", Plan(floors=Floors(unsupported=0.4), budget=WIDE))
    assert found == [k for k in keys(ranking) if k[1] in supported | near] and near - supported


def test_where_full_text_finds_nothing_the_floor_alone_decides(engine, notes_world):
    plan = Plan(floors=Floors(alone=0.5), budget=WIDE)
    _, vec = notes_world.legs("nowhere", lambda c: c.source_type == "entity", 1000)
    assert {i for _, i in every(engine, "nowhere", plan)} == {notes_world.chunks[n].entity_id for n, s in vec if s >= 0.5}
    assert same_order(every(engine, "sechs", plan), notes_world.ranking("sechs"))


def test_a_floor_is_a_cosine(engine):
    with pytest.raises(BadParameter, match="the floor alone is 55"):
        Floors(alone=55)


def test_a_fusion_without_sql_is_refused_by_name(engine):
    with pytest.raises(BadParameter, match="'verbatim_first' has no SQL here"):
        engine.search("alpha", Plan(fusion=verbatim_first()))


# -- trace ----------------------------------------------------------------------------------------------------
def test_the_trace_level_lists_returns_both_legs_and_counts_their_bytes_apart(engine, notes_world):
    plain, told = (engine.search("alpha vier", Plan(budget=Budget(8, 8)), lists=on) for on in (False, True))
    fts, vec = notes_world.legs("alpha vier", lambda c: c.source_type == "entity", 8)
    for ranking, leg in zip(told.lists, (fts, vec), strict=True):
        assert ranking.scores == pytest.approx([s for _, s in leg], abs=1e-6) and len(set(ranking.ids)) == 8
    assert plain.lists == () and plain.span.bytes_lists == 0
    assert told.span.bytes_lists > 0 and told.span.bytes == plain.span.bytes


def test_fused_lists_give_the_ranking_back(engine, notes_world):
    result = engine.search(Query("alpha vier", limit=200), Plan(budget=WIDE), lists=True)
    entity = {c.id: c.entity_id for c in notes_world.chunks}
    lexical, semantic = ({}, {})
    for found, ranking in ((lexical, result.lists[0]), (semantic, result.lists[1])):
        for i, s in zip(ranking.ids, ranking.scores, strict=True):
            found[entity[i]] = max(s, found.get(entity[i], s))
    top = max(lexical.values())
    for hit in result.hits:
        pair = lexical.get(hit.id, 0.0) / top, max(semantic.get(hit.id, 0.0), 0.0)
        assert hit.score == max(pair) + 0.3 * min(pair)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 60), st.integers(0, 60), st.sampled_from(QUERIES), st.integers(1, 40))
def test_a_page_is_a_slice_of_the_ranking(engine, limit, offset, text, k):
    plan = Plan(budget=Budget(k, k, page_rows=200))
    whole = every(engine, text, plan)
    page = engine.search(Query(text, limit=limit, offset=offset), plan)
    assert list(page.keys) == whole[offset : offset + limit] and (page.more is True) == (len(whole) > offset + limit)


def test_the_made_notes_hold_every_type_and_many_chunks_a_note():
    made = notes()
    assert {c.source_type for c in made} == {"entity", "observation", "relation"} and len(made) > 150
