"""Explanations of the notes paths: parts sum to the score, and what is said to keep a note out lets it in when lifted."""

from __future__ import annotations

from collections.abc import Iterator
from math import fsum, nextafter

import pytest
from helpers.notes_world import World, notes
from hypothesis import event, given, settings
from hypothesis import strategies as st

from workbench.analysis.explain import absences as why
from workbench.analysis.explain.explain import explain
from workbench.analysis.explain.targets import resolve
from workbench.retrieval.search import Collection
from workbench.retrieval.variant import variant
from workbench.types import Query

CHUNKS = {c.id: c for c in notes()}
QUERIES = ("alpha", "sechs fünf", "zwei nowhere", "nowhere", "", "the")
FILTERS = ({}, {}, {}, {}, {"project": "b"}, {"tags": "t3"}, {"source_type": "observation"}, {"path": "folder2/*", "status": "open"})
TARGETS = [i for i, c in CHUNKS.items() if c.chunk_index == 0 and (c.source_type == "entity" or i % 4 == 0)]
floors = st.sampled_from([None, 0.1, 0.7])


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    with World(list(CHUNKS.values())).collection(tmp_path_factory.mktemp("explained")) as opened:
        yield opened


def holds(collection: Collection, query: Query, name: str, params: dict, target: int, leg: str) -> bool:
    """Whether a leg holds the target's note under these parameters."""
    result = collection.search(query, variant(name, **params))
    stands = result.evidence["rows"].get(CHUNKS[target].key[:2])
    return any(stands in r.ids for r in result.lists if r.name == leg)


def check_leg(collection: Collection, query: Query, name: str, params: dict, target: int, reasons: list) -> None:
    """All of a leg's reasons lifted by their own numbers let the note into it, and one short of a rank does not."""
    leg = reasons[0].where
    if any(r.reason == why.NO_TERM for r in reasons) or not query.text:
        held = {t for c in CHUNKS.values() if c.key[:2] == CHUNKS[target].key[:2] for t in c.text.split()}
        assert leg == "lexical" and held.isdisjoint(query.text.split()) or not query.text
        return
    assert all(r.exact for r in reasons) and {r.where for r in reasons} == {leg}
    lifted = {**params, **{r.knob: r.needed for r in reasons}}
    assert holds(collection, query, name, lifted, target, leg)
    for r in reasons:
        short = {why.CAP: lambda n: n - 1, why.LIMIT: lambda n: n - 1, why.FLOOR: lambda n: nextafter(n, 2)}[r.reason](r.needed)
        if name in ("notes_rrf", "notes_max_min") and r.knob != "exact" and short:
            assert not holds(collection, query, name, {**lifted, r.knob: short}, target, leg)


def check(collection: Collection, query: Query, name: str, params: dict, target: int) -> str:
    """The explanation of a chunk's note held to its laws; returns what it was: "ranked" or the first reason."""
    result = collection.search(query, variant(name, **params))
    target = result.evidence["rows"].get(CHUNKS[target].key[:2], target)
    told = explain(collection, result, target)
    by_leg: dict[str, list] = {}
    if told.rank:
        assert fsum(told.contributions.values()) == told.score == result.fused.scores[told.rank - 1]
        assert [a.id for a in told.above] == list(result.fused.ids[: told.rank - 1])
        assert all(fsum(a.gains.values()) == pytest.approx(a.score - told.score, abs=1e-12) for a in told.above)
        assert set(told.ranks) | {m.where for m in told.missing} == {"lexical", "semantic"}
        for reason in told.missing:
            by_leg.setdefault(reason.where, []).append(reason)
        for reasons in by_leg.values():
            check_leg(collection, query, name, params, target, reasons)
        if told.on_page:
            assert not told.absences
            return "ranked"
        (absence,) = told.absences
        page = {"limit": query.limit, "offset": query.offset, absence.knob: absence.needed}
        assert told.target in [h.id for h in collection.search(Query(query.text, query.filters, **page), variant(name, **params)).hits]
        return absence.reason
    first = told.absences[0]
    chunk = CHUNKS[target]
    if first.reason == why.FILTERED:
        # Without a filter on source_type notes alone are asked for, so that filter is not left out but set right.
        right = {"source_type": chunk.source_type} if first.knob == "source_type" else {}
        rest = {n: v for n, v in query.filters.items() if n != first.knob} | right
        again = explain(collection, collection.search(Query(query.text, rest, query.limit), variant(name, **params)), target)
        assert all(a.knob != first.knob for a in again.absences)
    elif first.reason == why.NOT_ASKED:
        asked = Query(query.text, {**query.filters, "source_type": chunk.source_type}, query.limit)
        again = explain(collection, collection.search(asked, variant(name, **params)), target)
        assert all(a.reason != why.NOT_ASKED for a in again.absences)
    elif first.where == "fusion":
        assert first.reason == why.FLOOR and target in result.lists[1].ids and target not in result.lists[0].ids
        for floor, kept in ((first.needed, True), (nextafter(first.needed, 2), False)):
            assert bool(collection.search(query, variant(name, **{**params, first.knob: floor})).rank_of(target)) is kept
    else:
        for reason in told.absences:
            by_leg.setdefault(reason.where, []).append(reason)
        assert set(by_leg) == {"lexical", "semantic"}
        for reasons in by_leg.values():
            check_leg(collection, query, name, params, target, reasons)
    return first.reason


@settings(max_examples=80, deadline=None)
@given(
    st.sampled_from(["notes_max_min", "notes_rrf"]), st.sampled_from(QUERIES), st.sampled_from(FILTERS), st.integers(1, 50),
    st.integers(1, 50), floors, floors, floors, st.sampled_from([("duckdb", False), ("sqlite", False), ("sqlite", True)]),
    st.integers(1, 8), st.integers(0, 5), st.sampled_from(TARGETS),
)  # fmt: skip
def test_of_the_rebuilt_path_every_place_and_absence_is_explained_by_what_changes_it(
    collection, name, text, filters, k_fts, k_vec, every, unsupported, alone, engine, limit, offset, target
):
    params = {"k_fts": k_fts, "k_vec": k_vec, "floor": every, "floor_unsupported": unsupported, "floor_alone": alone, "page_rows": 200,
              "engine": engine[0], "exact": engine[1]}  # fmt: skip
    event(check(collection, Query(text, filters, limit, offset), name, params, target))


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(["notes_old", "notes_stopgap"]), st.sampled_from(QUERIES), st.sampled_from(FILTERS), st.integers(1, 60),
    st.sampled_from([0.0, 0.2, 0.4]), st.sampled_from(TARGETS),
)  # fmt: skip
def test_of_the_path_before_every_place_and_absence_is_explained_by_what_changes_it(collection, name, text, filters, limit, floor, target):
    event(check(collection, Query(text, filters), name, {"candidate_limit": limit, "min_similarity": floor}, target))


@pytest.mark.parametrize(("text", "params"), [("sechs", {"k_fts": 4, "floor_unsupported": 0.3}), ("nowhere", {"floor_alone": 0.3})])
def test_a_note_below_the_floor_of_those_that_full_text_does_not_find_is_let_in_by_its_own_cosine(collection, text, params):
    told = [check(collection, Query(text), "notes_rrf", {**params, "page_rows": 200}, target) for target in TARGETS if CHUNKS[target].source_type == "entity"]
    assert why.FLOOR in told and {"ranked", why.PAGE} <= {*told}


def reasons_of(collection: Collection, text: str, chosen: str, target: int, **fields) -> list[str]:
    return [a.reason for a in explain(collection, collection.search(Query(text, **fields), chosen), target).absences]


def test_each_rule_is_named(collection):
    first = collection.search("alpha vier", "notes_rrf").hits[0].id
    note = [i for i, c in CHUNKS.items() if c.key[:2] == CHUNKS[first].key[:2]]
    observation = next(i for i, c in CHUNKS.items() if c.source_type == "observation")
    last = collection.search("alpha vier", "notes_rrf").fused.ids[-1]
    assert reasons_of(collection, "alpha vier", "notes_rrf", first) == []
    (twin,) = explain(collection, collection.search("alpha vier", "notes_rrf"), next(i for i in note if i != first)).absences
    assert (twin.reason, twin.detail) == (why.TWIN, f"point {first} of the same note stands for it at rank 1")
    assert reasons_of(collection, "alpha vier", "notes_rrf", 10_000) == [why.NOT_THERE]
    assert reasons_of(collection, "alpha vier", "notes_rrf", observation) == [why.NOT_ASKED]
    assert reasons_of(collection, "alpha vier", "notes_rrf", observation, filters={"source_type": "entity"}) == [why.FILTERED]
    assert reasons_of(collection, "alpha vier", "notes_rrf", first, filters={"project": "nowhere"}) == [why.FILTERED]
    assert reasons_of(collection, "alpha vier", "notes_rrf", last) == [why.PAGE]
    assert reasons_of(collection, "nowhere", "notes_rrf(k_vec=1)", last) == [why.NO_TERM, why.LIMIT]
    assert reasons_of(collection, "nowhere", "notes_rrf(floor=0.99)", last) == [why.NO_TERM, why.FLOOR]
    assert reasons_of(collection, "nowhere", "notes_rrf(floor_alone=0.99)", last) == [why.FLOOR]
    assert reasons_of(collection, "alpha", "notes_rrf(k_fts=1,k_vec=1)", collection.search("alpha", "notes_rrf").lists[0].ids[-1])[0] == why.CAP
    assert reasons_of(collection, "?", "notes_rrf", last) == [why.NO_TERM, why.LIMIT]


def test_where_one_overfetch_missed_a_note_the_exact_way_is_named(collection):
    query, starved = Query("nowhere", {"tags": "t3"}), "notes_rrf(engine=sqlite,k_vec=3,k_fts=3)"
    everyone = collection.search(query, "notes_rrf").fused.ids
    result = collection.search(query, starved)
    told = [explain(collection, result, i).absences for i in everyone if not result.rank_of(i)]
    missed = [a for absences in told for a in absences if a.knob == "exact"]
    assert missed and all("one overfetch" in a.detail for a in missed)


def test_a_rank_that_no_leg_may_reach_has_no_number(collection, monkeypatch):
    from workbench.retrieval.notes import variants as new_variant

    monkeypatch.setattr(new_variant, "K_CAP", 5)
    result = collection.search("nowhere", "notes_rrf(k_vec=5)")
    absent = [explain(collection, result, i).absences[-1] for i in collection.search("nowhere", "notes_rrf").fused.ids if not result.rank_of(i)]
    assert absent and all(a.needed is None and "5 is the most that a leg may rank" in a.detail for a in absent)


@pytest.mark.parametrize("name", ["notes_rrf", "notes_old(min_similarity=0)"])
def test_a_note_is_named_by_its_id_its_title_or_a_point(collection, name):
    result = collection.search("alpha", name)
    best = result.fused.ids[3]
    chunk = CHUNKS[best]
    assert resolve(collection, chunk.entity_id, result) == resolve(collection, f"point:{best}", result) == best
    assert resolve(collection, f"entity:{chunk.entity_id}", result) == best
    if sum(c.title == chunk.title and c.entity_id != chunk.entity_id for c in CHUNKS.values()) == 0:
        assert resolve(collection, chunk.title, result) == best
