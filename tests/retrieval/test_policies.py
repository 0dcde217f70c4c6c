"""Candidate policies against plain Python: which points are read, in which order, by how many calls."""

import pytest

from workbench.errors import BadParameter
from workbench.registry import entries
from workbench.retrieval import policies
from workbench.retrieval.context import Context
from workbench.types import Query

TERMS = ["alpha", "sechs", "drei"]
CAPS = (1, 7, 40, 400)


def read(collection, stage, terms=TERMS, filters=None):
    ctx = Context(collection.stores)
    found = stage(Query(" ".join(terms), filters or {}), ctx, terms)
    return found, ctx.trace.spans


def unique(*parts):
    return list(dict.fromkeys(i for part in parts for i in part))


@pytest.mark.parametrize("cap", CAPS)
@pytest.mark.parametrize("filters", [{}, {"project": "odd"}])
def test_any_term_reads_the_first_points_by_id(collection, world, cap, filters):
    found, spans = read(collection, policies.any_term(cap=cap), filters=filters)
    assert list(found.ids) == world.holding(TERMS, "any", filters)[:cap]
    assert [s.call for s in spans] == ["scroll"]


@pytest.mark.parametrize("cap", CAPS)
@pytest.mark.parametrize("filters", [{}, {"project": "odd"}])
def test_all_terms_then_rarest_reads_as_the_record_says(collection, world, cap, filters):
    found, _ = read(collection, policies.all_terms_then_rarest(cap=cap), filters=filters)
    rarest = sorted(TERMS, key=lambda t: (len(world.holding([t], "all", filters)), TERMS.index(t)))
    expected = unique(world.holding(TERMS, "all", filters), *(world.holding([t], "all", filters) for t in rarest))
    assert list(found.ids) == expected[:cap]


@pytest.mark.parametrize("cap", CAPS)
def test_the_partial_fixes_read_as_named(collection, world, cap):
    every, either = world.holding(TERMS, "all"), world.holding(TERMS, "any")
    by_count = sorted(TERMS, key=lambda t: (len(world.holding([t], "all")), TERMS.index(t)))
    commonest = sorted(TERMS, key=lambda t: (-len(world.holding([t], "all")), TERMS.index(t)))
    expected = {
        policies.all_terms_then_by_id(cap=cap): unique(every, either),
        policies.all_terms_then_commonest(cap=cap): unique(every, *(world.holding([t], "all") for t in commonest)),
        policies.rarest_first(cap=cap): unique(*(world.holding([t], "all") for t in by_count)),
    }
    for stage, ids in expected.items():
        assert list(read(collection, stage)[0].ids) == ids[:cap], stage


@pytest.mark.parametrize("name", [n for n in entries("policy") if not n.startswith("by_")])
def test_a_larger_cap_only_adds_at_the_end(collection, name):
    stage = entries("policy")[name]
    whole = stage.function(Query("x"), Context(collection.stores), TERMS, cap=400)
    for cap in CAPS:
        assert stage.function(Query("x"), Context(collection.stores), TERMS, cap=cap).ids == whole.first(cap).ids


def test_counts_are_made_only_while_room_is_left(collection, world):
    small = min(len(world.holding(TERMS, "all")), 3)
    _, spans = read(collection, policies.all_terms_then_rarest(cap=small))
    assert [s.call for s in spans] == ["scroll"]
    _, spans = read(collection, policies.all_terms_then_rarest(cap=400))
    assert [s.call for s in spans].count("count") == len(TERMS)


def test_a_single_term_costs_one_scroll_and_no_count(collection, world):
    found, spans = read(collection, policies.all_terms_then_rarest(cap=400), ["sechs"])
    assert [s.call for s in spans] == ["scroll"]
    assert list(found.ids) == world.holding(["sechs"], "all")


def test_a_term_that_no_point_holds_is_not_scrolled(collection):
    _, spans = read(collection, policies.all_terms_then_rarest(cap=400), ["alpha", "nowhere"])
    assert sum(s.call == "scroll" for s in spans) == 2


def test_counting_only_the_rarest_terms_counts_so_many(collection):
    found, spans = read(collection, policies.all_terms_then_rarest(cap=400, counted=1))
    assert sum(s.call == "count" for s in spans) == 1
    assert set(found.ids) == set(read(collection, policies.all_terms_then_rarest(cap=400))[0].ids)


def test_a_reached_cap_is_said_and_what_it_dropped_is_not_guessed(collection):
    _, spans = read(collection, policies.any_term(cap=5))
    assert spans[0].limit == "limit 5" and spans[0].dropped is None


def test_payload_bytes_are_those_of_what_was_read(collection, world):
    found, spans = read(collection, policies.any_term(cap=5))
    assert spans[0].bytes >= sum(len(world.chunks[i].text.encode()) for i in found.ids)


def test_a_cap_below_one_is_refused(collection):
    with pytest.raises(BadParameter, match="cap"):
        read(collection, policies.any_term(cap=0))
