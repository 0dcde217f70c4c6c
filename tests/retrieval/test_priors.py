"""Priors: what each says of a row, that they bring no row in, and that their share is told like any list's."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from fractions import Fraction
from math import fsum

import pytest
from helpers.made_sources import source_of
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.analysis.explain.explain import explain
from workbench.errors import BadParameter
from workbench.retrieval.frozen import freeze
from workbench.retrieval.fusions import rrf, rrf_priors
from workbench.retrieval.variant import at_time, variant, with_prior
from workbench.types import Chunk, Facets, Query, Ranking

NEWEST = datetime(2026, 11, 29, tzinfo=UTC)


def facets(n: int) -> Facets:
    """Row n is n days older than the newest; rows 5, 10, … have no time; three projects; row 7 is pinned, row 8 by a tag."""
    created = None if n % 5 == 0 else (NEWEST - timedelta(days=n)).isoformat()
    pin = {7: {"pinned": True}, 9: {"pinned": "false"}, 11: {"pinned": "yes"}}.get(n, {})
    return Facets(("apollo", "Zephyr North", None)[n % 3], tags=("pinned",) if n == 8 else (), created=created, metadata=pin)


@pytest.fixture(scope="module")
def dated_home(tmp_path_factory):
    from workbench.stores.load import load

    directory = tmp_path_factory.mktemp("dated-home")
    chunks = [Chunk(n, f"e{n}", 0, f"harbour meeting number {n}", facets=facets(n)) for n in range(1, 25)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_HOME", str(directory))
        load(source_of(chunks), name="dated", progress=False)
    return directory


@pytest.fixture
def dated(dated_home, monkeypatch, _no_settings):
    from workbench.retrieval.search import open_collection

    monkeypatch.setenv("WORKBENCH_HOME", str(dated_home))
    with open_collection("dated") as opened:
        yield opened


def listed(collection, spec: str, text: str = "harbour meeting", name: str | None = None) -> dict[int, float]:
    result = collection.search(text, spec, limit=3)
    found = next(r for r in result.lists if r.name == (name or spec.partition("+")[2].partition("(")[0]))
    return dict(zip(found.ids, found.scores, strict=True))


def test_a_row_loses_half_of_its_newness_each_half_life_from_the_newest(dated):
    found = listed(dated, "adr_0172+recency(half_life=7)")
    assert set(found) == {n for n in range(1, 25) if n % 5}
    assert found[1] == 1 and found[8] == 0.5 and found[22] == 0.125
    later = listed(dated, "adr_0172+recency(half_life=7,now=2026-12-05)")
    assert later[1] == 0.5
    earlier = listed(dated, "adr_0172+recency(half_life=7,now=2026-11-22)")
    assert earlier[1] == earlier[7] == 1 and earlier[14] == 0.5


def test_a_project_counts_where_the_query_holds_its_whole_name_or_it_is_preferred(dated):
    assert set(listed(dated, "adr_0172+project", "harbour of apollo")) == {n for n in range(1, 25) if n % 3 == 0}
    assert set(listed(dated, "adr_0172+project", "the NORTH meeting in zephyr")) == {n for n in range(1, 25) if n % 3 == 1}
    assert listed(dated, "adr_0172+project", "zephyr harbour") == {}
    assert set(listed(dated, "adr_0172+project(preferred=apollo)", "harbour")) == {n for n in range(1, 25) if n % 3 == 0}


def test_what_is_pinned_by_key_or_tag_counts_whole(dated):
    assert listed(dated, "adr_0172+pinned") == {7: 1.0, 8: 1.0, 11: 1.0}


def test_rows_of_the_named_time_count_and_a_query_that_names_none_has_no_such_list(dated):
    assert set(listed(dated, "adr_0172+dated", "harbour meeting on 2026-11-25")) == {4}
    # The newest row is of Saturday 28 November, so last week is 16 to 22 November.
    assert set(listed(dated, "adr_0172+dated", "harbour meeting last week")) == {7, 8, 9, 11, 12, 13}
    assert listed(dated, "adr_0172+dated", "harbour meeting 03/04/2026") == listed(dated, "adr_0172+dated") == {}
    moved = at_time(variant("adr_0172+dated"), "2026-11-25T10:00:00Z")
    assert {i for i in dated.search("harbour yesterday", moved).lists[-1].ids} == set()  # row 5 has no time
    assert moved.derived[-1]["now"].startswith("2026-11-25") and variant("adr_0172+dated").derived[-1]["now"] == ""


def test_a_prior_brings_no_row_in(dated):
    plain, with_priors = (dated.search("number 7", v) for v in ("adr_0172(cap=3,semantic_limit=3)", "adr_0172(cap=3,semantic_limit=3)+recency+pinned"))
    assert set(with_priors.fused.ids) == set(plain.fused.ids)


def test_a_whole_prior_counts_as_a_first_rank_times_its_weight(dated):
    result = dated.search("harbour meeting number 7", "adr_0172_priors(pinned=0.5)")
    parts = result.evidence["fused"].contributions
    assert parts[7]["pinned"] == 0.5 / 61 and parts[8]["pinned"] == 0.5 / 61 and "pinned" not in parts[1]
    assert dated.search("harbour meeting", "adr_0172_priors(recency=0,project=0,pinned=0,dated=0)").fused.ids == dated.search(
        "harbour meeting", "adr_0172"
    ).fused.ids


def test_a_prior_is_explained_as_any_list_is_and_frozen_lists_hold_it(dated):
    spec = variant("adr_0172+pinned")
    result = dated.search(Query("harbour meeting number 3", limit=2), spec)
    told = explain(dated, result, 7)
    assert told.ranks["pinned"] == 1 and told.scores["pinned"] == 1.0 and fsum(told.contributions.values()) == told.score
    frozen = freeze(dated, result.query, spec, 100)
    for turned in ("adr_0172(weight.pinned=9)+pinned", "adr_0172(cap=5,k=3)+pinned", "adr_0172+pinned+recency"):
        assert frozen.replay(turned).fused.ids == dated.search(result.query, turned).fused.ids


def test_facets_are_read_once_for_all_priors_and_never_a_text(dated):
    spans = [s for s in dated.search("harbour meeting", "adr_0172_priors").spans if s.stage == "priors"]
    assert len([s for s in spans if not s.note.endswith("shared")]) == 1


@pytest.mark.parametrize(
    ("spec", "said"),
    [("adr_0172+recency(half_life=0)", "above 0 days"), ("adr_0172+recency(now=tomorrow)", "no date or time"),
     ("adr_0172+recency(field=status)", "field cannot be 'status'. Use updated or created")],
)  # fmt: skip
def test_a_bad_parameter_is_refused(dated, spec, said):
    with pytest.raises(BadParameter, match=said):
        dated.search("harbour", spec)


@st.composite
def some_lists(draw):
    names = ["lexical", "semantic", "recency", "pinned"]
    out = []
    for name in draw(st.lists(st.sampled_from(names), min_size=1, max_size=4, unique=True)):
        ids = draw(st.lists(st.integers(1, 6), max_size=6, unique=True))
        scores = sorted(draw(st.lists(st.sampled_from([0.125, 0.25, 0.5, 1.0]), min_size=len(ids), max_size=len(ids))), reverse=True)
        out.append(Ranking(name, tuple(ids), tuple(scores)))
    return out


@settings(max_examples=200, deadline=None)
@given(some_lists(), st.sampled_from([0, 1, 60]), st.dictionaries(st.sampled_from(["lexical", "recency", "pinned"]), st.sampled_from([0, 0.5, 2])))
def test_the_fusion_is_rrf_plus_the_values_by_exact_fractions(lists, k, weights):
    priors = ("recency", "pinned")
    fused = rrf_priors(priors=priors, k=k, weights=weights)(lists)
    ranked = [r for r in lists if r.name not in priors]
    held = set(rrf(k=k, weights=weights)(ranked).ranking.ids)
    best = {i: min(r.ids.index(i) for r in ranked if i in r.ids) for i in held}

    def exact(i):
        total = Fraction(0)
        for r in lists:
            if i in r.ids:
                place = r.ids.index(i)
                share = Fraction(r.scores[place]) / (k + 1) if r.name in priors else Fraction(1) / (k + place + 1)
                total += Fraction(weights.get(r.name, 1)) * share
        return total

    assert list(fused.ranking.ids) == sorted(held, key=lambda i: (-exact(i), best[i], i))
    for i, score in zip(fused.ranking.ids, fused.ranking.scores, strict=True):
        assert score == fsum(fused.contributions[i].values()) == pytest.approx(float(exact(i)))


def test_without_priors_it_is_rrf(dated):
    lists = dated.search("harbour meeting").lists
    assert rrf_priors(priors=())(lists).ranking.ids == rrf()(lists).ranking.ids


def test_a_prior_is_added_with_a_weight_of_its_own():
    made = with_prior(variant("adr_0172"), variant("adr_0172+recency").derived[-1], weight=2)
    assert dict(made.fusion["weights"])["recency"] == 2 and made.fusion["priors"] == ("recency",)
