"""Explanations: parts sum to the whole, what would pass the row above does, and the reason of an absence is the one
whose lifting lets the row in."""

from __future__ import annotations

from dataclasses import replace
from math import fsum, nextafter

import pytest
from helpers.made_collection import PROJECTS, Document, documents, made_collection, queries
from helpers.made_variants import variants
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.analysis.explain import absences as why
from workbench.analysis.explain.explain import NotExplained, explain
from workbench.registry import make
from workbench.retrieval.channels import lexical, lexical_fields, semantic
from workbench.retrieval.fusions import moved, rrf, single
from workbench.retrieval.policies import any_term
from workbench.retrieval.variant import Variant, with_knobs
from workbench.types import Query

SETTINGS = settings(max_examples=100, deadline=None)
PLAIN = Variant("plain", rrf(), lexical(policy=any_term(cap=2)), semantic(limit=2))
ROWS = [
    Document(n, text, f"e{n}", "ab"[n % 2], 10 * n)
    for n, text in enumerate(["red", "red blue", "blue", "red red", "green", "blue blue red"], 1)
]


@SETTINGS
@given(documents(), queries, variants(), st.sampled_from([1, 3]), st.integers(0, 2))
def test_contributions_sum_to_the_score_and_gains_to_the_distance(docs, text, chosen, limit, offset):
    collection = made_collection(docs)
    result = collection.search(Query(text, limit=limit, offset=offset), chosen)
    for rank, (target, score) in enumerate(zip(result.fused.ids, result.fused.scores, strict=True), 1):
        told = explain(collection, result, target)
        assert (told.rank, told.score) == (rank, score) and fsum(told.contributions.values()) == score
        assert told.on_page == (offset < rank <= offset + limit) == (not told.absences)
        assert [a.id for a in told.above] == list(result.fused.ids[: rank - 1])
        for row in told.above:
            assert fsum(row.gains.values()) == pytest.approx(row.score - score, abs=1e-9)
            assert row.gains[row.by] == max(row.gains.values())


@SETTINGS
@given(documents(), queries, variants())
def test_the_rank_that_would_pass_the_row_above_does_and_the_next_one_does_not(docs, text, chosen):
    collection = made_collection(docs)
    result = collection.search(text, chosen)

    def passes(name, target, rival, rank):
        lists = [moved(r, target, rank) if r.name == name else r for r in result.lists]
        order = chosen.fusion(lists).ranking.ranks()
        return order.get(target, 99) < order.get(rival, 99)

    for place, target in enumerate(result.fused.ids[1:], 1):
        rival = result.fused.ids[place - 1]
        told = explain(collection, result, target)
        assert set(told.to_pass) == {r.name for r in result.lists}
        for name, rank in told.to_pass.items():
            own = next(r for r in result.lists if r.name == name)
            last = own.ranks().get(target, len(own) + 1)
            assert rank is not None or not passes(name, target, rival, 1)
            if rank is not None:
                assert passes(name, target, rival, rank)
                assert rank >= last or not passes(name, target, rival, rank + 1)


def let_in(collection, result, reasons):
    """The same search with each limit that an absence names set to the number that it names."""
    query, chosen = result.query, result.evidence["variant"]
    fields = {"limit": query.limit, "offset": query.offset}
    for absence in reasons:
        if absence.knob in fields:
            fields[absence.knob] = int(absence.needed)
        elif absence.reason == why.NO_WEIGHT and absence.knob == "fusion":
            chosen = chosen.replace(fusion=rrf())
        else:
            chosen = with_knobs(chosen, {absence.knob: 1e-6 if absence.reason == why.NO_WEIGHT else absence.needed})
    return collection.search(Query(query.text, dict(query.filters), mode=query.mode, **fields), chosen)


def one_short(absence):
    """The absence with a number that is one step short of what is needed."""
    short = nextafter(absence.needed, 2.0) if absence.knob == "floor" else absence.needed - 1
    return replace(absence, needed=short)


def held(result, name):
    return next(r.ids for r in result.lists if r.name == name)


@SETTINGS
@given(documents(), queries, variants(), st.sampled_from([1, 2, 8]), st.integers(0, 2))
def test_the_stated_reason_is_the_one_whose_lifting_lets_the_row_in(docs, text, chosen, limit, offset):
    collection = made_collection(docs)
    result = collection.search(Query(text, limit=limit, offset=offset), chosen)
    for doc in docs:
        told = explain(collection, result, doc.id)
        if told.on_page:
            continue
        assert told.absences and all(a.reason in why.REASONS for a in told.absences)
        if told.absences[0].reason == why.PAGE:
            assert doc.id in [h.id for h in let_in(collection, result, told.absences).hits]
        elif told.absences[0].where in ("page", "fusion"):
            lifted = let_in(collection, result, told.absences)
            # What the fusion counts again may still have a twin that stands for it: the next rule, not this one.
            assert lifted.rank_of(doc.id) or doc.id in lifted.evidence["deduplicated"]
        for name in ("lexical", "semantic"):
            reasons = [a for a in told.absences if a.where == name]
            if [a.reason for a in reasons] == [why.NO_TERM]:
                assert not set(text.split()) & set(doc.text.split())
            elif reasons:
                assert doc.id in held(let_in(collection, result, reasons), name)
                for n, absence in enumerate(reasons):
                    if absence.knob == "floor" or absence.needed > 1:
                        short = [*reasons[:n], one_short(absence), *reasons[n + 1 :]]
                        assert doc.id not in held(let_in(collection, result, short), name)


@SETTINGS
@given(documents(), queries, variants())
def test_a_row_moved_to_where_it_stands_changes_nothing(docs, text, chosen):
    for ranking in made_collection(docs).search(text, chosen).lists:
        assert all(moved(ranking, point_id, rank) == ranking for point_id, rank in ranking.ranks().items())


@SETTINGS
@given(documents(), queries, variants())
def test_of_a_ranked_row_each_list_that_lacks_it_is_explained(docs, text, chosen):
    collection = made_collection(docs)
    result = collection.search(text, chosen)
    for target in result.fused.ids:
        told = explain(collection, result, target)
        lacking = {r.name for r in result.lists if target not in r.ids} & {"lexical", "semantic"}
        assert {a.where for a in told.missing} == lacking


@pytest.mark.parametrize("project", PROJECTS)
def test_a_filter_that_does_not_admit_the_row_is_named_and_lifting_it_admits_the_row(project):
    collection = made_collection(ROWS)
    wide = PLAIN.replace(lexical=lexical(policy=any_term()), semantic=semantic())
    result = collection.search(Query("red", {"project": project}), wide)
    for doc in ROWS:
        told = explain(collection, result, doc.id)
        if doc.project != project:
            assert [(a.reason, a.knob) for a in told.absences] == [(why.FILTERED, "project")]
            assert collection.search("red", wide).rank_of(doc.id)
        else:
            assert told.rank


def test_a_row_that_the_engine_lacks_waits_to_be_indexed_and_is_found_once_it_is():
    wide = PLAIN.replace(lexical=lexical(policy=any_term()), semantic=semantic())
    lacking, whole = made_collection(ROWS, missing=[2]), made_collection(ROWS)
    result = lacking.search("red", wide)
    assert [a.reason for a in explain(lacking, result, 2).absences] == [why.NOT_INDEXED]
    assert whole.search("red", wide).rank_of(2)


def test_an_id_that_no_point_has_is_not_in_the_collection():
    collection = made_collection(ROWS)
    result = collection.search("red", PLAIN)
    for nobody in (99, "no-uuid", -1):
        assert [a.reason for a in explain(collection, result, nobody).absences] == [why.NOT_THERE]


def test_a_twin_names_the_row_that_stands_for_it():
    twins = [Document(1, "red", "same", "a", 0), Document(2, "red red", "same", "a", 90), Document(3, "red", "other", "a", 15)]
    collection = made_collection(twins)
    result = collection.search("red", Variant("d", rrf(), lexical(policy=any_term()), semantic(), distinct=True))
    stays = [i for i in (1, 2) if result.rank_of(i)]
    (gone,) = {1, 2} - set(stays)
    (absence,) = explain(collection, result, gone).absences
    assert absence.reason == why.TWIN and f"point {stays[0]} " in absence.detail and len(stays) == 1


def test_a_query_without_terms_holds_none_of_them_and_an_empty_one_embeds_nothing():
    collection = made_collection(ROWS)
    narrow = PLAIN.replace(semantic=semantic(limit=1))
    stop = explain(collection, collection.search("the", narrow), 5)
    assert [a.reason for a in stop.absences] == [why.NO_TERM, why.LIMIT] and "stop list" in stop.absences[0].detail
    empty = explain(collection, collection.search("", narrow), 5)
    assert "nothing was embedded" in empty.absences[1].detail


def test_a_list_that_the_fusion_does_not_count_is_the_reason():
    collection = made_collection(ROWS)
    chosen = Variant("d", single(name="lexical"), lexical(policy=any_term()), semantic())
    told = explain(collection, collection.search("red", chosen), 5)
    assert [a.reason for a in told.absences] == [why.NO_WEIGHT] and told.ranks == {"semantic": 5}


def test_a_channel_of_ones_own_tells_no_reason():
    collection = made_collection(ROWS)
    from workbench.registry import put
    from workbench.types import Ranking

    put("channel", "silent", lambda query, ctx: Ranking("silent", (1,), (1.0,)))
    chosen = Variant("d", rrf(), own=(make("channel", "silent", {}),))
    result = collection.search("red", chosen)
    assert [a.reason for a in explain(collection, result, 2).absences] == [why.OWN]


def test_a_result_of_another_content_is_refused():
    collection = made_collection(ROWS)
    result = collection.search("red", PLAIN)
    collection.stores.manifest.content_hash = "another"
    with pytest.raises(NotExplained, match="Search again"):
        explain(collection, result, 1)


def test_every_reason_of_the_closed_list_is_produced_by_a_test_here():
    produced = {why.NOT_THERE, why.FILTERED, why.NOT_INDEXED, why.NO_TERM, why.CAP, why.LIMIT, why.FLOOR, why.OWN,
                why.NO_WEIGHT, why.TWIN, why.PAGE}  # fmt: skip
    produced |= {why.NOT_ASKED}  # by test_explain_notes
    assert produced == set(why.REASONS)


def test_the_cap_and_the_floor_name_their_numbers():
    collection = made_collection(ROWS)
    capped = explain(collection, collection.search("red", PLAIN), 4).absences
    assert [(a.reason, a.needed, a.exact) for a in capped] == [(why.CAP, 3, True), (why.LIMIT, 4, True)]
    floored = PLAIN.replace(semantic=semantic(limit=6, floor=0.9))
    low = explain(collection, collection.search("red", floored), 5).absences[1]
    assert low.reason == why.FLOOR and low.needed == pytest.approx(0.6427876)


def test_a_list_over_fields_is_asked_for_the_rank_that_its_own_scoring_gives(tiny):
    from workbench.retrieval.search import open_collection

    with open_collection(tiny) as collection:
        chosen = Variant("f", rrf(), lexical_fields(limit=1))
        result = collection.search("ferry harbour meeting", chosen)
        full = collection.search("ferry harbour meeting", Variant("f", rrf(), lexical_fields(limit=50)))
        for target in full.lists[0].ids[1:]:
            (absence,) = explain(collection, result, target).absences
            assert (absence.reason, absence.needed) == (why.CAP, full.lists[0].ranks()[target])
