"""A variant written as one word is the variant, and its name is its recipe."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.errors import BadParameter
from workbench.retrieval.fusions import max_min
from workbench.retrieval.variant import Part, known, parse, parse_all, split, variant


@pytest.mark.parametrize(
    "text",
    ["adr_0172", "adr_0172(cap=512)", "adr_0172(k=10,weight.verbatim=0.5)", "adr_0172+recency+pinned", "semantic", "lexical_bm25(limit=5)",
     'adr_0172+endpoint(url="http://h/s?a=1,2",name=theirs)', "adr_0172(weight.recency=2)+recency(half_life=7.5)", "cap_n(cap=9)"],
)  # fmt: skip
def test_a_name_is_its_recipe(text):
    made = parse(text)
    assert made.name == text and parse(made.name) == made


def test_a_plain_name_is_the_registered_variant():
    assert [parse(name) for name in known()] == [variant(name) for name in known()]


def test_knobs_are_what_the_factory_or_with_knobs_makes_of_them():
    assert parse("adr_0172(cap=512)").hash == variant("adr_0172", cap=512).hash
    assert parse("adr_0172(weight.verbatim=0.5)").hash == variant("verbatim_weighted", weight=0.5).hash
    assert parse("adr_0172 ( third_list = none )").hash == variant("two_lists").hash
    assert parse("adr_0172(fusion=max_min,bonus=0.5)").fusion == max_min(bonus=0.5)
    assert parse("adr_0172(distinct=true)").distinct is True
    assert parse("adr_0172(floor=0.2)").semantic["floor"] == 0.2


def test_white_space_and_order_of_the_words_change_nothing_but_the_name():
    assert parse(" adr_0172 + recency ( half_life = 7 ) ").hash == parse("adr_0172+recency(half_life=7)").hash


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nothing", "unknown variant 'nothing'.*adr_0172"),
        ("adr_0172(depth=3)", "no knob 'depth'.*cap"),
        ("adr_0172(cap=3,cap=4)", "not one knob=value"),
        ("adr_0172(cap)", "not one knob=value"),
        ("adr_0172(cap=3", "without its other one"),
        ("adr_0172)", "without its other one"),
        ('adr_0172(cap="3)', "without its other one"),
        ("adr_0172+nothing", "neither a channel of one's own nor a prior"),
        ("adr_0172+semantic", "neither a channel of one's own nor a prior"),
        ("adr_0172+recency(day=1)", "prior 'recency' has no parameter 'day'"),
        ("adr_0172+recency+recency", "has the prior 'recency' already"),
        ("verbatim_outright+recency", "a prior is added to RRF"),
        ("adr_0172+", "is no variant"),
        ("", "is no variant"),
        ("lexical", "needs the parameter 'policy'"),
    ],
)
def test_what_is_wrong_is_named(text, said):
    with pytest.raises(BadParameter, match=said):
        parse(text)


def test_a_list_of_variants_is_split_outside_of_brackets():
    assert [v.name for v in parse_all("adr_0005, adr_0172(k=10,cap=5),semantic")] == ["adr_0005", "adr_0172(k=10,cap=5)", "semantic"]
    with pytest.raises(BadParameter, match="named twice"):
        parse_all("adr_0005,adr_0005")
    with pytest.raises(BadParameter, match="no variant is named"):
        parse_all(" , ")


words = st.text(st.characters(codec="ascii", exclude_characters=' "()+,='), min_size=1, max_size=8).filter(str.isprintable)
values = st.one_of(st.integers(-99, 99), st.floats(allow_nan=False), st.booleans(), st.none(), words, st.just("a,b(c)+d"))


@settings(max_examples=200, deadline=None)
@given(words, st.dictionaries(words, values, max_size=3))
def test_a_part_written_down_is_read_back(name, params):
    from workbench.retrieval.variant import _part

    part = Part(name, tuple(params.items()))
    assert _part(str(part)) == part and split(f"{part},x") == [str(part), "x"]


ENDPOINT = 'endpoint(url="http://host/s",name=theirs)'


@pytest.mark.parametrize("fusion", ["max_min", "verbatim_first"])
def test_a_fusion_that_counts_no_prior_is_refused_with_one(fusion):
    for name in (f"adr_0172(fusion={fusion})+recency", f"adr_0172_priors(fusion={fusion})"):
        with pytest.raises(BadParameter, match="recency|prior"):
            variant(name)


def test_a_fusion_that_counts_no_channel_is_refused_with_one():
    with pytest.raises(BadParameter, match="max_min counts no custom list"):
        variant(f"adr_0172(fusion=max_min)+{ENDPOINT}")
    assert variant(f"adr_0172(fusion=verbatim_first)+{ENDPOINT}").own


def test_the_same_channel_twice_is_refused_another_is_not():
    with pytest.raises(BadParameter, match="has the channel 'endpoint' already"):
        variant(f"adr_0172+{ENDPOINT}+{ENDPOINT}")
    made = variant(f"adr_0172+{ENDPOINT}+{ENDPOINT.replace('theirs', 'others')}")
    assert [s["name"] for s in made.own] == ["theirs", "others"]


def test_a_fusion_is_chosen_with_its_own_parameters():
    assert variant("adr_0172(fusion=rrf(k=7))").fusion["k"] == 7
    with pytest.raises(BadParameter, match="no parameter 'depth'"):
        variant("adr_0172(fusion=rrf(depth=7))")


def test_a_changed_fusion_keeps_the_priors_it_counts():
    base = variant("adr_0172_priors")
    for name in ("adr_0172_priors(k=7)", "adr_0172_priors(fusion=rrf_priors,k=7)"):
        made = variant(name)
        assert made.fusion["priors"] == base.fusion["priors"] and made.fusion["k"] == 7
        assert made.derived == base.derived
    with pytest.raises(BadParameter, match="does not count the list"):
        variant("adr_0172_priors(fusion=rrf)")
