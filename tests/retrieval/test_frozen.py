"""Frozen lists answer as the engines do, ask none, and refuse what they do not hold."""

import pytest
from helpers.made_collection import documents, made_collection, queries
from helpers.made_variants import small, variants
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.registry import make, put
from workbench.retrieval.channels import lexical, semantic
from workbench.retrieval.frozen import BeyondFrozen, freeze
from workbench.retrieval.fusions import rrf
from workbench.retrieval.policies import any_term, by_bm25
from workbench.retrieval.variant import Variant, knobs, with_knobs
from workbench.types import Query, Ranking

SETTINGS = settings(max_examples=100, deadline=None)


@st.composite
def turned(draw, chosen):
    """The variant with some of its knobs turned."""
    for knob in knobs(chosen).values():
        if knob.again or draw(st.booleans()):
            continue
        if knob.kind == "choice":
            value = draw(st.sampled_from(knob.choices))
        elif knob.kind == "whole":
            value = draw(small)
        else:
            value = draw(st.sampled_from([0, 0.5, 1, 30]))
        if knob.name in knobs(chosen):
            chosen = with_knobs(chosen, {knob.name: value})
    return chosen


@SETTINGS
@given(documents(), queries, variants(), st.data(), st.sampled_from(["hybrid", "lexical", "semantic"]))
def test_a_replay_is_the_search_that_it_stands_for_and_asks_no_engine(docs, text, chosen, data, mode):
    collection = made_collection(docs)
    frozen = freeze(collection, Query(text), chosen, depth=12)
    changed = data.draw(turned(chosen))
    calls = collection.stores.points.calls
    replayed = frozen.replay(changed, mode=mode, limit=5, offset=1)
    assert collection.stores.points.calls == calls
    fresh = collection.search(Query(text, limit=5, offset=1, mode=mode), changed, with_chunks=False)
    assert replayed.fused == fresh.fused and replayed.lists == fresh.lists and replayed.hits == fresh.hits


@SETTINGS
@given(documents(least=8), queries, variants(), st.integers(1, 5))
def test_a_limit_beyond_the_depth_is_refused_unless_the_reading_ended_before_it(docs, text, chosen, depth):
    collection = made_collection(docs)
    frozen = freeze(collection, Query(text), chosen, depth=depth)
    changed = chosen.replace(semantic=chosen.semantic.replace(limit=12))
    if len(docs) >= max(depth, chosen.semantic["limit"]) < 12:
        with pytest.raises(BeyondFrozen, match="beyond the frozen depth"):
            frozen.replay(changed)
    else:
        assert frozen.replay(changed).fused == collection.search(Query(text), changed).fused


def test_another_policy_scoring_or_channel_retrieves_again():
    from helpers.made_collection import Document

    docs = [Document(n, "red blue", "e", "a", 15 * n) for n in range(1, 6)]
    chosen = Variant("made", rrf(), lexical(policy=any_term()), semantic())
    frozen = freeze(made_collection(docs), Query("red"), chosen)
    for changed in (
        chosen.replace(lexical=lexical(policy=by_bm25())),
        chosen.replace(lexical=lexical(policy=any_term(), k1=2.0)),
        chosen.replace(lexical=make("channel", "lexical_bm25", {})),
        chosen.replace(derived=(make("derived", "verbatim", {"b": 0.1}),)),
    ):
        query = frozen if changed.derived == () else freeze(made_collection(docs), Query("red blue"), chosen)
        with pytest.raises(BeyondFrozen, match="Retrieve again"):
            query.replay(changed)


def test_a_channel_of_ones_own_is_frozen_as_it_was_and_never_called_again():
    from helpers.made_collection import Document

    asked = []

    def mine(query, ctx):
        asked.append(query.text)
        return Ranking("mine", (3, 1), (2.0, 1.0))

    put("channel", "mine", mine)
    docs = [Document(n, "red", "e", "a", 15 * n) for n in range(1, 6)]
    chosen = Variant("made", rrf(), semantic=semantic(limit=2), own=(make("channel", "mine", {}),))
    frozen = freeze(made_collection(docs), Query("red"), chosen)
    assert frozen.replay(with_knobs(chosen, {"k": 1})).fused.ids[0] == 1 and asked == ["red"]
