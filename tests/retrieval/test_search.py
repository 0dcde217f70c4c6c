"""Searches by the published variants: lists, modes, filters, match types, trace, and hostile queries."""

import numpy as np
import pytest

from workbench.errors import BadParameter
from workbench.registry import entries
from workbench.retrieval.search import open_collection
from workbench.retrieval.variant import Variant, known, variant
from workbench.text import verbatim_key
from workbench.types import Query

TEXT = "alpha beta gamma"
HOSTILE = ["", "?", "the THE", "🎉", "a/b", "-19", '"quoted', "covid-19", "órgãos", "2026-11-11 09:58", "DO NOT USE FIND /",
           "'; DROP TABLE chunk; --", "<script>alert(1)</script>", "\x1b[31m", "\u202eabc", "x" * 5000, "NULL", "%_*[a-z](?:)"]  # fmt: skip


def lists(result):
    return {r.name: r for r in result.lists}


def test_the_lexical_list_is_bm25_of_the_candidates(collection, world):
    result = collection.search(TEXT, "adr_0172")
    exact = collection.stores.catalog.bm25_of(result.evidence["lexical"].ids, ["alpha", "beta", "gamma"])
    expected = sorted(exact, key=lambda i: (-exact[i], i))
    assert list(lists(result)["lexical"].ids) == expected


def test_the_semantic_list_is_the_exact_nearest(collection, world):
    query = collection.stores.embedder.embed([TEXT])[0]
    expected = np.argsort(-(world.vectors @ query), kind="stable")[:256] + 1
    assert list(lists(collection.search(TEXT))["semantic"].ids) == expected.tolist()


def test_the_verbatim_list_is_the_candidates_that_hold_the_phrase_in_lexical_order(collection, world):
    result = collection.search(TEXT, "adr_0172")
    read = {*result.evidence["lexical"].ids, *result.evidence["semantic"].ids}
    holding = {i for i in read if verbatim_key(TEXT) in verbatim_key(world.chunks[i].text)}
    assert holding and set(lists(result)["verbatim"].ids) == holding
    order = [i for i in lists(result)["lexical"].ids if i in holding]
    assert [i for i in lists(result)["verbatim"].ids if i in set(order)] == order


def test_adr_0005_has_two_lists_and_no_third(collection):
    assert [r.name for r in collection.search(TEXT, "adr_0005").lists] == ["lexical", "semantic"]


def test_a_single_term_has_no_third_list(collection):
    assert len(lists(collection.search("alpha", "adr_0172"))["verbatim"]) == 0
    assert collection.search("alpha", "adr_0172").fused == collection.search("alpha", "two_lists").fused


@pytest.mark.parametrize("mode", ["lexical", "semantic"])
def test_the_other_modes_are_their_one_list(collection, mode):
    result = collection.search(TEXT, "adr_0172", mode=mode)
    assert [r.name for r in result.lists] == [mode]
    assert result.fused.ids == lists(collection.search(TEXT, "adr_0172"))[mode].ids


def test_semantic_mode_is_the_same_in_both_variants(collection):
    before, after = (collection.search(TEXT, v, mode="semantic") for v in ("adr_0005", "adr_0172"))
    assert before.fused == after.fused and before.hits == after.hits


def searchable() -> list[str]:
    """Every variant that needs no second model, which this collection has not: test_second_model.py has that one."""
    return [name for name in entries("variant") if name != "adr_0172_multilingual"]


@pytest.mark.parametrize("filters", [{"project": "odd"}, {"project": ["odd", "even"]}, {"source_type": "entity"}])
def test_every_variant_keeps_to_the_filters(collection, world, filters):
    allowed, memo = filters.get("project", ["odd", "even"]), {}
    for name in searchable():
        result = collection.search(Query(TEXT, filters), name, memo=memo)
        assert result.fused.ids, name
        assert all(world.chunks[i].facets.project in allowed for i in result.fused.ids), name


@pytest.mark.parametrize("text", HOSTILE)
def test_any_string_is_a_valid_query_of_every_variant(collection, text):
    memo = {}
    for name in searchable():
        result = collection.search(text, name, memo=memo)
        assert len(result.hits) <= 8
        if not collection.stores.tokenizer.terms(text):
            assert any("no terms" in s.note for s in result.spans), name


def test_an_empty_query_says_that_nothing_was_embedded(collection):
    result = collection.search("  ? ")
    assert not result.hits and any("nothing to embed" in s.note for s in result.spans)


@pytest.mark.parametrize("mark", "?.!")
def test_a_mark_at_the_end_changes_nothing(collection, mark):
    assert collection.search(TEXT + mark).hits == collection.search(TEXT).hits


def test_match_types_are_the_membership_in_the_two_channels(collection):
    result = collection.search(Query(TEXT, limit=300))
    held = {n: set(r.ids) for n, r in lists(result).items()}
    for hit in result.hits:
        assert hit.match == tuple(n for n in ("lexical", "semantic") if hit.id in held[n])


def test_pages_are_cuts_of_one_ranking(collection):
    whole = collection.search(Query(TEXT, limit=20)).hits
    pages = [h for offset in (0, 10) for h in collection.search(Query(TEXT, limit=10, offset=offset)).hits]
    assert [h.id for h in pages] == [h.id for h in whole] and [h.rank for h in pages] == list(range(1, 21))


def test_variants_share_the_stages_that_they_have_in_common(collection):
    memo = {}
    first = collection.search(TEXT, "two_lists", memo=memo)
    again = collection.search(TEXT, "adr_0172", memo=memo)
    alone = collection.search(TEXT, "adr_0172")
    assert again.fused == alone.fused
    shared = [s for s in again.spans if s.note.endswith("shared")]
    assert len(shared) == sum(bool(s.engine) and s.stage != "page" for s in first.spans)
    # A shared call still counts: the variant would have made it alone.
    assert [(s.stage, s.call) for s in again.spans if s.engine] == [(s.stage, s.call) for s in alone.spans if s.engine]


def test_a_memo_is_not_shared_between_filters(collection, world):
    memo = {}
    collection.search(Query(TEXT), memo=memo)
    odd = collection.search(Query(TEXT, {"project": "odd"}), memo=memo)
    assert all(world.chunks[i].facets.project == "odd" for i in odd.fused.ids)


def test_the_same_search_twice_is_the_same_result(collection):
    a, b = (collection.search(TEXT) for _ in range(2))
    assert (a.hits, a.fused, a.lists, a.inputs) == (b.hits, b.fused, b.lists, b.inputs)


def test_a_result_records_the_hashes_that_made_it(collection):
    inputs = collection.search(TEXT).inputs
    assert inputs["content"] == collection.stores.manifest.content_hash
    assert inputs["variant"] == variant("adr_0172").hash != variant("adr_0172", cap=10).hash


def test_every_variant_prints_a_plan_and_says_its_law():
    for name, law in known().items():
        assert law.endswith(".") and "fusion" in variant(name).plan()


def test_one_name_is_one_composition():
    hashes = {name: variant(name).hash for name in known()}
    same = {h: [n for n in hashes if hashes[n] == h] for h in hashes.values()}
    assert [n for n in same.values() if len(n) > 1] == []


def test_a_variant_of_ones_own_is_made_of_the_same_stages(collection):
    from workbench.retrieval.channels import semantic
    from workbench.retrieval.fusions import single

    mine = Variant("mine", single(name="semantic"), semantic=semantic(limit=3))
    assert len(collection.search(TEXT, mine).fused) == 3


@pytest.mark.parametrize(
    "call",
    [lambda c: c.search(TEXT, "no_such"), lambda c: variant("adr_0172", caps=3), lambda c: c.search(TEXT, mode="exact"),
     lambda c: c.search(TEXT, limit=0), lambda c: c.search(TEXT, offset=-1), lambda c: Query(7)],
)  # fmt: skip
def test_an_unknown_name_or_a_value_out_of_range_is_refused_by_name(collection, call):
    with pytest.raises(BadParameter):
        call(collection)


@pytest.mark.parametrize(
    "fields", [{"limit": "5"}, {"limit": 2**64}, {"offset": 2**70}, {"offset": -1}, {"limit": True}, {"filters": ["a"]}, {"filters": {3: "a"}}],
)  # fmt: skip
def test_a_query_of_wrong_types_or_beyond_64_bits_is_a_named_error(fields):
    with pytest.raises(BadParameter, match=next(iter(fields))):
        Query("tea", **fields)


@pytest.mark.parametrize("name", [None, 3, b"c", "", ["c"]])
def test_a_collection_or_variant_of_a_wrong_type_is_a_named_error(name):
    with pytest.raises(BadParameter, match="cannot name a collection"):
        open_collection(name)
    if not isinstance(name, str):
        with pytest.raises(BadParameter, match="a variant is a name"):
            variant(name)
