"""Counterfactuals: each is borne out by a search, no smaller change does the same, and what is said never to help
does not help anywhere on a grid."""

from __future__ import annotations

from math import inf, nextafter

from helpers.made_collection import Document, documents, made_collection, queries
from helpers.made_variants import variants
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from workbench.analysis.explain.counterfactual import Counterfactual, counterfactuals
from workbench.analysis.explain.knob_ranks import ListColumns
from workbench.registry import make, put
from workbench.retrieval.channels import lexical, semantic
from workbench.retrieval.derived import verbatim
from workbench.retrieval.frozen import freeze
from workbench.retrieval.fusions import max_min, rrf
from workbench.retrieval.policies import any_term
from workbench.retrieval.variant import Variant, knobs, with_knobs, with_prior
from workbench.types import Query

SETTINGS = settings(max_examples=60, deadline=None, phases=set(Phase) - {Phase.shrink, Phase.explain})
GRID = [0, 1e-9, 0.01, 0.1, 0.2, 0.3, 0.45, 0.5, 0.7, 0.9, 1, 1.1, 1.5, 2, 2.5, 3, 5, 7.5, 10, 20, 37, 60, 100, 250, 1e3, 1e5, 1e8]
worlds = st.tuples(documents(), queries, variants(), st.integers(1, 3), st.integers(0, 11))


def rank_by_search(collection, text, chosen, knob, value, target):
    return collection.search(text, with_knobs(chosen, {knob: value}), with_chunks=False).rank_of(target)


def within(rank, first):
    return rank is not None and rank <= first


def answers(world, depth=16, only=None):
    docs, text, chosen, first, place = world
    collection = made_collection(docs)
    target = docs[place % len(docs)].id
    frozen = freeze(collection, Query(text), chosen, depth=depth)
    return collection, target, counterfactuals(frozen, target, first=first, only=only)


@SETTINGS
@given(worlds)
def test_every_counterfactual_brings_its_promised_rank_in_a_search_of_the_engines(world):
    _, text, chosen, first, _ = world
    collection, target, found = answers(world)
    for c in found:
        if c.verdict == "found":
            assert within(c.rank, first) and within(c.plain_rank, first) and not within(c.rank_now, first)
            assert rank_by_search(collection, text, chosen, c.knob, c.value, target) == c.rank
            assert rank_by_search(collection, text, chosen, c.knob, c.plain, target) == c.plain_rank


@SETTINGS
@given(worlds)
def test_no_smaller_change_does(world):
    _, text, chosen, first, _ = world
    collection, target, found = answers(world)
    kinds = knobs(chosen)
    for c in found:
        if c.verdict != "found" or kinds[c.knob].kind == "choice":
            continue
        now = c.curve[0][0] if c.now is None else c.now
        if kinds[c.knob].kind == "whole":
            nearer = [v for v in range(1, 17) if abs(v - now) < abs(c.value - now)]
        else:
            step = nextafter(c.value, inf if c.value < now else -inf)
            nearer = [step, *(now + (c.value - now) * part for part in (0.25, 0.5, 0.75, 0.999))] if step != now else []
            # A number that rounding carries past the found one is no nearer.
            nearer = [v for v in nearer if abs(v - now) < abs(c.value - now)]
        for value in nearer:
            assert not within(rank_by_search(collection, text, chosen, c.knob, value, target), first), (c, value)


@SETTINGS
@given(worlds)
def test_where_no_value_does_none_of_a_grid_does_and_the_best_rank_is_never_beaten(world):
    _, text, chosen, first, _ = world
    collection, target, found = answers(world)
    for c in found:
        knob = knobs(chosen)[c.knob]
        if c.verdict != "none":
            continue
        grid = knob.choices if knob.kind == "choice" else range(1, 20) if knob.kind == "whole" else GRID
        if c.knob == "floor":
            grid = [v / 50 - 1 for v in range(101)]
        ranks = [rank_by_search(collection, text, chosen, c.knob, value, target) for value in grid]
        assert not any(within(r, first) for r in ranks) and c.proof
        assert all(r is None or r >= c.best_rank for r in ranks)
        if c.best_rank is not None:
            assert rank_by_search(collection, text, chosen, c.knob, c.best, target) == c.best_rank


@SETTINGS
@given(worlds, st.data())
def test_the_curve_is_the_rank_at_every_value(world, data):
    _, text, chosen, _, _ = world
    collection, target, found = answers(world)
    for c in found:
        if knobs(chosen)[c.knob].kind == "choice":
            continue
        low, high, rank = data.draw(st.sampled_from(c.curve))
        ends = [low, high] if high is not None else [low, max(low, 1) * 2]
        for value in ends:
            if knobs(chosen)[c.knob].kind == "whole" or c.knob == "floor" or value < 1e100:
                assert rank_by_search(collection, text, chosen, c.knob, value, target) == rank, (c.knob, value)


@SETTINGS
@given(worlds)
def test_rows_above_at_every_value_stand_above_at_every_value_of_a_grid(world):
    docs, text, chosen, _, _ = world
    collection, target, found = answers(world)
    label = {d.id: d.entity if chosen.distinct else d.id for d in docs}
    for c in found:
        assert len({label[i] for i in c.always_above}) == len(c.always_above)
        for value in GRID if c.always_above else ():
            ids = collection.search(text, with_knobs(chosen, {c.knob: value}), with_chunks=False).fused.ids
            above = {label[i] for i in ids[: ids.index(target)]} if target in ids else None
            assert above is None or {label[i] for i in c.always_above} <= above


@SETTINGS
@given(worlds)
def test_moves_are_the_other_rows_of_both_pages_with_their_ranks(world):
    _, text, chosen, first, _ = world
    collection, target, found = answers(world)
    before = collection.search(text, chosen, with_chunks=False).fused
    for c in found:
        if c.verdict == "found":
            after = collection.search(text, with_knobs(chosen, c.change), with_chunks=False).fused
            pages = {*before.ids[:first], *after.ids[:first]} - {target}
            assert {m.id for m in c.moves} == pages
            assert all((m.before, m.after) == (before.ranks().get(m.id), after.ranks().get(m.id)) for m in c.moves)


@SETTINGS
@given(worlds, st.integers(1, 3))
def test_beyond_the_depth_none_is_said_only_where_no_reading_helps(world, depth):
    docs, text, chosen, first, _ = world
    only = ["cap", "lexical_limit", "semantic_limit"]
    collection, target, found = answers(world, depth=depth, only=only)
    for c in found:
        grid = range(1, len(docs) + 2)
        helps = [v for v in grid if within(rank_by_search(collection, text, chosen, c.knob, v, target), first)]
        if c.verdict == "none":
            assert not helps, c
        elif c.verdict == "beyond the depth":
            assert all(v > c.curve[-1][1] for v in helps), c


@SETTINGS
@given(worlds, st.data())
def test_columns_are_the_lists_and_the_rank_at_any_setting(world, data):
    docs, text, chosen, _, _ = world
    frozen = freeze(made_collection(docs), Query(text), chosen, depth=16)
    turned = {n: data.draw(st.integers(1, 14)) for n in ("cap", "lexical_limit", "semantic_limit") if n in knobs(chosen)}
    result = frozen.replay(with_knobs(chosen, turned))
    columns = ListColumns(frozen, result.evidence["variant"], "hybrid")
    held = columns.at(columns.setting())
    assert columns.lists(held) == result.lists
    assert all(columns.rank(held, d.id) == result.rank_of(d.id) for d in docs)


ROWS = [Document(n, "red" + " blue" * (n % 3), f"e{n}", "a", 10 * n) for n in range(1, 9)]
FOUR = Variant("four", rrf(), lexical(policy=any_term(cap=8)), semantic(limit=8), derived=(verbatim(),))


def test_the_crossing_of_two_rows_is_found_to_the_last_double():
    docs = [Document(1, "red red", "a", "a", 30), Document(2, "red", "b", "a", 15), Document(3, "blue blue red red", "c", "a", 0)]
    frozen = freeze(made_collection(docs), Query("red"), FOUR, depth=8)
    assert [r.ids for r in frozen.replay(FOUR).lists[:2]] == [(1, 2, 3), (3, 2, 1)]
    # 1 and 3 have the same score and the smaller id stands first: the least there is less for the lexical list decides.
    (less,) = counterfactuals(frozen, 3, first=1, only=["weight.lexical"])
    assert (less.verdict, less.value, less.plain) == ("found", nextafter(1, 0), 0.99)
    (more,) = counterfactuals(frozen, 3, first=1, only=["weight.semantic"])
    assert (more.verdict, more.value, more.plain) == ("found", nextafter(1, 2), 1.01)
    # 1/x is convex, so second in both lists is never better than the better of the two others.
    for c in counterfactuals(frozen, 2, first=1, only=["k", "weight.lexical", "weight.semantic"]):
        assert c.verdict == "none" and c.best_rank in (2, 3) and "best rank" in c.proof


def test_what_stands_on_the_page_already_is_told_with_the_values_that_keep_it():
    frozen = freeze(made_collection(ROWS), Query("red"), FOUR, depth=8)
    target = frozen.replay(FOUR).fused.ids[0]
    for c in counterfactuals(frozen, target, first=2):
        assert (c.verdict, c.rank, c.change) == ("holds already", 1, {})
        if c.low is not None:
            assert c.low <= (0 if c.now is None else c.now) and (c.high is None or c.now is None or c.now <= c.high)


def test_a_fusion_of_ones_own_is_answered_by_running_it():
    def last_first(lists, *, sign: int = 1):
        fused = rrf()(lists)
        turned = fused.ranking.ids[::-1]
        from workbench.retrieval.fusions import Fused
        from workbench.types import Ranking

        return Fused(Ranking("last_first", turned, fused.ranking.scores), fused.contributions)

    put("fusion", "last_first", last_first)
    try:
        chosen = FOUR.replace(fusion=make("fusion", "last_first", {}), semantic=semantic(limit=4))
        frozen = freeze(made_collection(ROWS), Query("red"), chosen, depth=8)
        target = frozen.replay(chosen).fused.ids[-1]
        found = {c.knob: c for c in counterfactuals(frozen, target, first=1)}
        assert found["fusion"].verdict == "found" and "k" not in found
        for c in found.values():
            if c.verdict == "found":
                assert frozen.replay(with_knobs(chosen, c.change)).rank_of(target) == 1
    finally:
        from workbench import registry

        del registry._REGISTRY["fusion"]["last_first"]


def test_a_list_of_ones_own_has_a_weight_that_is_solved_like_ours():
    from workbench.types import Ranking

    put("channel", "mine", lambda query, ctx: Ranking("mine", (7, 6), (2.0, 1.0)))
    chosen = FOUR.replace(own=(make("channel", "mine", {}),), derived=())
    collection = made_collection(ROWS)
    frozen = freeze(collection, Query("red"), chosen, depth=8)
    first = {c.knob: c for c in counterfactuals(frozen, 7, first=1)}["weight.mine"]
    assert first.verdict == "found" and first.value > 1
    for value, wanted in ((first.value, 1), (nextafter(first.value, 0), 2)):
        rank = collection.search("red", with_knobs(chosen, {"weight.mine": value})).rank_of(7)
        assert rank == wanted or (wanted == 2 and rank > 1)


def test_answers_that_help_come_first_and_the_one_that_moves_the_fewest_leads():
    frozen = freeze(made_collection(ROWS), Query("red blue"), FOUR, depth=8)
    found = counterfactuals(frozen, frozen.replay(FOUR).fused.ids[2], first=2)
    helps = [c for c in found if c.verdict == "found"]
    assert helps and list(found[: len(helps)]) == helps
    assert [c.moved for c in helps] == sorted(c.moved for c in helps)


def test_of_answers_that_do_not_help_the_nearest_leads():
    docs = [Document(n, "red" + " blue" * (n - 1), f"e{n}", "a", 15 * (7 - n)) for n in range(1, 8)]
    frozen = freeze(made_collection(docs), Query("red"), FOUR, depth=8)
    found = [c for c in counterfactuals(frozen, 4, first=1) if c.verdict == "none"]
    best = [99 if c.best_rank is None else c.best_rank for c in found]
    assert best == sorted(best) and len(set(best)) > 1


def test_the_bonus_is_solved_as_a_line():
    docs = [Document(1, "red", "a", "a", 60), Document(2, "blue red", "b", "a", 0), Document(3, "red red", "c", "a", 60)]
    chosen = FOUR.replace(fusion=max_min(), derived=())
    frozen = freeze(made_collection(docs), Query("red"), chosen, depth=8)
    found = {c.knob: c for c in counterfactuals(frozen, 3, first=1)}
    assert isinstance(found["bonus"], Counterfactual)
    assert all(frozen.replay(with_knobs(chosen, c.change)).rank_of(3) == 1 for c in found.values() if c.verdict == "found")


def test_a_weight_is_solved_without_the_jump_at_0_where_a_row_loses_its_priors_too():
    docs = [Document(n, text, "e", project, 0) for n, text, project in ((1, "", "b"), (2, "", "a"), (3, "red", "a"))]
    chosen = Variant(
        "v", rrf(k=0, weights={"lexical": 0.25, "semantic": 0.25}), lexical(policy=any_term(cap=1)), semantic(limit=1)
    )
    chosen = with_prior(chosen, make("prior", "project", {"preferred": ("a",)}), 0.25)
    frozen = freeze(made_collection(docs), Query("red"), chosen, depth=16)
    (weight,) = counterfactuals(frozen, 3, first=1, only=["weight.lexical"])
    assert weight.verdict == "holds already" and [rank for *_, rank in weight.curve] == [None, 1]
    (weight,) = counterfactuals(frozen, 1, first=1, only=["weight.lexical"])
    assert weight.value == 0 and [rank for *_, rank in weight.curve] == [1, 2]


def test_a_fusion_of_one_file_is_solved_weighed_and_tried():
    from workbench import registry
    from workbench.retrieval.fusions import fusion, where

    @fusion(counts_every_list=True, linear=("weights",))
    def borda(row, *, depth: int = 10, weights: tuple[tuple[str, float], ...] = ()):
        """Σ weight × (depth + 1 - rank), 0 beyond the depth."""
        given = dict(weights)
        return {
            n: w * where(r <= depth, depth + 1 - r, 0 * r)
            for n, r in row.ranks.items()
            if (w := given.get(n, 1))
        }

    try:
        chosen = with_knobs(FOUR, {"fusion": "borda(depth=3)"})
        frozen = freeze(made_collection(ROWS), Query("red"), chosen, depth=8)
        target = frozen.replay(chosen).fused.ids[-1]
        found = {c.knob: c for c in counterfactuals(frozen, target, first=4)}
        assert {"depth", "weight.lexical", "weight.semantic", "weight.verbatim"} <= found.keys()
        for c in found.values():
            for value in (1, 2, 5, 8) if c.knob in ("depth", "weight.semantic") else ():
                rank = frozen.replay(with_knobs(chosen, {c.knob: value})).rank_of(target)
                assert rank == next(r for low, high, r in c.curve if low <= value and (high is None or value <= high))
    finally:
        del registry._REGISTRY["fusion"]["borda"]
