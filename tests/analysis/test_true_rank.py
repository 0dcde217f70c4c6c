"""True ranks by one exact query are the places that the whole order gives."""

from __future__ import annotations

import pytest
from helpers.made_collection import documents, made_collection, queries
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.analysis.explain import absences as true_rank
from workbench.analysis.explain.absences import lexical_rank, semantic_rank
from workbench.registry import entries, make
from workbench.retrieval.context import Context
from workbench.retrieval.search import open_collection, scope
from workbench.types import Query

POLICIES = ("any_term", "all_terms_then_rarest", "all_terms_then_commonest", "all_terms_then_by_id", "rarest_first", "by_bm25", "by_engine_bm25")
CHANNELS = ("lexical_bm25", "lexical_engine_bm25", "lexical_fields")


def channel(name, **params):
    if name in POLICIES:
        return make("channel", "lexical", {"policy": make("policy", name, {"cap": 1, **params})})
    return make("channel", name, {"limit": 1, **params})


def whole_order(collection, query, stage):
    """Every row in the order that the cap or limit cuts."""
    ctx = Context(collection.stores, scope(query))
    everything = collection.stores.catalog.n
    policy = stage.get("policy")
    if policy is not None:
        return policy.replace(cap=everything)(query, ctx, ctx.terms(query)).ids
    return stage.replace(limit=everything)(query, ctx).ids


def agrees(collection, query, stage):
    order = whole_order(collection, query, stage)
    terms = Context(collection.stores, scope(query)).terms(query)
    for target in collection.stores.catalog.ids_where():
        place = lexical_rank(collection, query, stage, terms, target).rank
        assert place == (order.index(target) + 1 if target in order else None), (str(stage), target)


def test_every_policy_of_ours_is_tried_here():
    assert set(POLICIES) == {n for n, e in entries("policy").items() if e.function.__module__ == "workbench.retrieval.policies"}


@pytest.mark.parametrize("text", ["ferry", "the ferry leaves the harbour in november 2026", "meeting 2026-11-11 09:58", "zanzibar", "zanzibar ferry"])
@pytest.mark.parametrize("filters", [{}, {"source_type": "entity"}, {"project": "nowhere"}])
@pytest.mark.parametrize("name", [*POLICIES, *CHANNELS])
def test_the_place_in_the_stores_is_the_place_in_the_whole_reading(tiny_opened, name, text, filters):
    agrees(tiny_opened, Query(text, filters), channel(name))


@pytest.mark.parametrize("counted", [1, 2])
def test_a_reading_that_counts_some_terms_alone_is_followed(tiny_opened, counted):
    agrees(tiny_opened, Query("the ferry leaves the harbour in november 2026"), channel("all_terms_then_rarest", counted=counted))


@settings(max_examples=60, deadline=None)
@given(documents(), queries, st.sampled_from([n for n in POLICIES if n not in ("by_engine_bm25",)]))
def test_the_place_is_that_of_the_whole_reading_for_any_words(docs, text, name):
    collection = made_collection(docs)
    collection.stores.catalog.ids_where = lambda: [d.id for d in docs]
    agrees(collection, Query(text), channel(name))


def test_a_policy_of_ones_own_is_read_deeper_until_it_comes_to_the_target(tiny_opened, monkeypatch):
    from workbench.registry import put
    from workbench.retrieval.policies import any_term

    put("policy", "mine", lambda query, ctx, terms, *, cap=1: any_term(cap=cap)(query, ctx, terms))
    monkeypatch.setattr(true_rank, "_FIRST_DEPTH", 1)
    monkeypatch.setattr(true_rank, "_DEEPER", 2)
    agrees(tiny_opened, Query("ferry harbour meeting tea"), channel("lexical_fields"))
    agrees(tiny_opened, Query("ferry harbour meeting tea"), make("channel", "lexical", {"policy": make("policy", "mine", {"cap": 1})}))


def test_a_semantic_rank_is_exact_and_an_empty_query_has_none(tiny_opened):
    query = Query("ferry")
    order = make("channel", "semantic", {"limit": 50})(query, Context(tiny_opened.stores, scope(query))).ids
    assert [semantic_rank(tiny_opened, query, i).rank for i in order] == list(range(1, len(order) + 1))
    assert semantic_rank(tiny_opened, Query(""), order[0]).rank is None


@pytest.fixture(scope="module")
def tiny_opened(tiny_home):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_HOME", str(tiny_home))
        with open_collection("tiny") as collection:
            yield collection
