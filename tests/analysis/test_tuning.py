"""Tuning chooses on one half and judges on the other, and says what the choice is worth there."""

from __future__ import annotations

import json
import random

import pytest
from helpers.made_sources import source_of

from workbench.analysis.evaluate.compare import compare_variants
from workbench.analysis.evaluate.tuning import TUNED, TooFewToTune, tune
from workbench.cli.evaluate import grid
from workbench.errors import BadParameter
from workbench.reporting.pages.tuning import cross_validated, sentence, tuning_page, write_tuning
from workbench.retrieval.search import open_collection
from workbench.retrieval.variant import with_knobs
from workbench.sources.base import JudgedQuery, Qrel
from workbench.types import Chunk

WORDS = ["harbour", "ferry", "anchor", "rope", "sail", "storm", "tide", "crew", "deck", "chart", "fog", "light"]


@pytest.fixture(scope="module")
def sea_home(tmp_path_factory):
    """Documents whose words tell which one is meant and whose neighbours in meaning do not: lexical beats semantic."""
    from workbench.stores.load import load

    chance = random.Random(4)
    chunks = [Chunk(n, f"d{n}", 0, " ".join(chance.choices(WORDS, k=6)) + f" item{n}", title=f"t{n}") for n in range(1, 81)]
    queries = [JudgedQuery(f"q{n}", f"item{n} {chance.choice(WORDS)} {chance.choice(WORDS)}") for n in range(1, 61)]
    qrels = [Qrel(f"q{n}", f"d{n}", 1) for n in range(1, 61)]
    directory = tmp_path_factory.mktemp("sea-home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_HOME", str(directory))
        load(source_of(chunks, queries=tuple(queries), qrels=tuple(qrels)), name="sea", progress=False)
    return directory


@pytest.fixture
def sea(sea_home, monkeypatch, _no_settings):
    monkeypatch.setenv("WORKBENCH_HOME", str(sea_home))
    with open_collection("sea") as opened:
        yield opened


GRIDS = {"k": (1, 60), "weight.lexical": (0, 1, 4), "weight.semantic": (0, 1)}
BASE = "two_lists(weight.lexical=0)"


@pytest.fixture(scope="module")
def tuned(sea_home):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_HOME", str(sea_home))
        with open_collection("sea") as opened:
            return tune(opened, BASE, metric="RR", grids=GRIDS, resamples=199)


def test_no_query_tunes_and_judges_and_together_they_are_all(tuned):
    halves = [set(c.judged.ids) for c in (tuned.tune, tuned.judge)]
    assert not halves[0] & halves[1] and halves[0] | halves[1] == {f"q{n}" for n in range(1, 61)}


def test_the_setting_is_the_best_on_the_tuning_half_and_both_halves_are_told(tuned, sea):
    assert tuned.chosen.tune == max(t.tune for curve in tuned.curves.values() for t in curve)
    assert tuned.chosen.knobs["weight.lexical"] > 0 and tuned.chosen.tune > tuned.own.tune
    # What the figures say is what running the two variants says.
    ids = set(tuned.judge.judged.ids)
    queries = [q for q in sea.stores.catalog.queries() if q.id in ids]
    ran = compare_variants(sea, [tuned.own_variant, tuned.chosen_variant], queries, metrics=["RR"], resamples=99)
    row = ran.comparison.pair(tuned.own_variant.name, tuned.chosen_variant.name, "RR")
    assert (row["value_a"], row["value_b"]) == pytest.approx((tuned.own.judge, tuned.chosen.judge))
    assert tuned.optimism == pytest.approx((tuned.chosen.tune - tuned.own.tune) - row["difference"])


def test_the_chosen_variant_is_named_by_its_recipe(tuned):
    from workbench.retrieval.variant import parse

    assert parse(tuned.chosen_variant.name).hash == tuned.chosen_variant.hash != tuned.own_variant.hash
    assert all(tuned.own.knobs[k] == old for k, (old, _) in tuned.changed.items())


def test_tuning_words_its_result_as_compare_does(tuned):
    names = tuned.own_variant.name, tuned.chosen_variant.name
    verdict = tuned.judge.verdict(*names, tuned.metric)
    assert sentence(tuned)[0].endswith(f"on the half that did not choose it: {verdict}")
    assert verdict.startswith(names[1]) and "better than" in verdict


def test_where_nothing_is_better_the_own_setting_stays(sea):
    found = tune(sea, "two_lists", metric="RR", grids={"k": (60,)}, resamples=99)
    assert found.changed == {} and found.chosen_variant == found.own_variant and found.tune.per_pair.is_empty()
    assert sentence(found)[0].startswith("No setting that was tried is better")
    assert tuning_page(found)


def test_equal_values_leave_the_knob_where_it_stands(sea):
    # No query of this set stands verbatim anywhere, so the verbatim list's weight changes nothing.
    found = tune(sea, "adr_0172", metric="RR", grids={"weight.verbatim": (0, 0.5, 2, 4)}, resamples=99)
    assert found.changed == {} and len({t.tune for t in found.curves["weight.verbatim"]}) == 1


def test_other_fusions_have_their_own_knobs(sea):
    found = tune(sea, "adr_0172(fusion=max_min)", metric="RR", grids={"bonus": (0, 0.3, 1)}, resamples=99)
    assert set(found.curves) == {"bonus"}
    assert set(tune(sea, "adr_0172+recency", metric="RR", grids={"weight.recency": (0, 1)}, resamples=99).curves) == {"weight.recency"}


@pytest.mark.parametrize(
    ("spec", "grids", "said"),
    [("bm25_engine", {"k1": (1,)}, "no parameter 'k1'"), ("two_lists", {"bonus": (1,)}, "no parameter 'bonus'"), ("two_lists", {"k": (-1,)}, "k cannot be -1"),
     ("lexical_bm25", {"b": (1.5,)}, "b cannot be 1.5"), ("two_lists", {"cap": (2.5,)}, "cap cannot be 2.5"), ("two_lists", {"cap": (0,)}, "cap cannot be 0")],
)
def test_what_cannot_be_tuned_is_refused(sea, spec, grids, said):
    with pytest.raises(BadParameter, match=said):
        tune(sea, spec, grids=grids)


def test_a_half_without_enough_queries_is_refused(sea):
    with pytest.raises(TooFewToTune, match="queries to tune on, 10 are needed"):
        tune(sea, "two_lists", limit=12)
    with pytest.raises(TooFewToTune, match="only 0 queries to tune on"):
        tune(sea, "two_lists", fraction=0)


def test_equal_inputs_give_equal_data_and_a_page(tuned, sea, tmp_path):
    again = tune(sea, BASE, metric="RR", grids=GRIDS, resamples=199)
    assert json.dumps(tuned.to_dict()) == json.dumps(again.to_dict())
    page = write_tuning(tmp_path, tuned).read_text(encoding="utf-8")
    assert "half that did not choose it" in page and json.loads((tmp_path / "tuning.json").read_text())["chosen"]


@pytest.mark.parametrize(
    ("spec", "grids"),
    [
        ("lexical_bm25", {"k1": (0.1, 3), "b": (0, 1)}),
        ("bm25_fields", {"title_weight": (0.5, 8), "k": (1, 60)}),
        ("two_lists", {"cap": (4, 512), "semantic_limit": (2, 8), "floor": (0.2, 0.9)}),
        ("semantic", {"semantic_limit": (1, 4, 32), "floor": ()}),
        ("adr_0172+recency", {"half_life": (1, 365), "weight.recency": (0, 2)}),
    ],
)
def test_every_value_is_that_of_a_search_with_the_parameter(sea, spec, grids):
    found = tune(sea, spec, metric="RR", grids=grids, resamples=99)
    assert set(found.curves) == set(grids)
    queries = [q for q in sea.stores.catalog.queries() if q.id in set(found.judge.judged.ids)]
    for name, trials in found.curves.items():
        for trial in (trials[0], trials[-1]):
            ran = compare_variants(sea, [with_knobs(spec, trial.knobs)], queries, metrics=["RR"], resamples=99, differing=0)
            assert ran.comparison.per_variant.filter(metric="RR")["value"][0] == pytest.approx(trial.judge, abs=1e-12), (name, trial)


def test_a_variant_without_fusion_parameters_is_tuned_whole(sea):
    assert set(tune(sea, "lexical_bm25", metric="RR", resamples=99).curves) == {"lexical_limit", "k1", "b"}


def test_caps_limits_and_fusion_share_one_reading(sea, monkeypatch):
    searched = []
    search = sea.search
    monkeypatch.setattr(sea, "search", lambda *a, **k: searched.append(a) or search(*a, **k))
    tune(sea, "two_lists", metric="RR", grids={"cap": (8, 64), "floor": (0, 0.5), "k": (1, 60)}, resamples=99)
    assert len(searched) == 60
    searched.clear()
    tune(sea, "two_lists", metric="RR", grids={"k1": (0.5, 1.2, 2)}, resamples=99)
    assert len(searched) == 3 * 60


def test_folds_judge_each_query_without_it(sea):
    found = tune(sea, BASE, metric="RR", grids=GRIDS, folds=5, resamples=199)
    crossed = found.cross_validated
    assert len(crossed.folds) == 5 and sum(f.queries for f in crossed.folds) == 60
    row = crossed.held_out.pair(BASE, TUNED, "RR")
    assert row["value_b"] == pytest.approx(sum(f.held_out * f.queries for f in crossed.folds) / 60)
    assert row["value_a"] == pytest.approx(sum(f.base * f.queries for f in crossed.folds) / 60)
    assert row["value_b"] > row["value_a"] and crossed.low <= crossed.lost <= crossed.high
    again = tune(sea, BASE, metric="RR", grids=GRIDS, folds=5, resamples=199)
    assert json.dumps(again.to_dict()) == json.dumps(found.to_dict())
    assert "Cross-validation" in tuning_page(found) and "5 folds" in cross_validated(found)[0]


@pytest.mark.parametrize("folds", [1, -2, 200])
def test_folds_that_cannot_be_made_are_refused(sea, folds):
    with pytest.raises(BadParameter, match="folds of 60 queries"):
        tune(sea, "two_lists", folds=folds)


def test_a_grid_is_read_from_words():
    assert grid([]) is None
    assert grid(["k=1,60", "weight.verbatim=0,0.5"]) == {"k": (1, 60), "weight.verbatim": (0, 0.5)}
    assert grid(["b", "k1=0.6..2.0"]) == {"b": (), "k1": (0.6, 0.8, 1, 1.2, 1.4, 1.6, 1.8, 2)}
    assert grid(["cap=100..300..100"]) == {"cap": (100, 200, 300)}
    for bad in (["k="], ["=1"], ["k=1", "k=2"], ["k=x"], ["k=2..1"], ["k=1..2..0"], ["k=1..nan"], ["k=0..9..1e-9"]):
        with pytest.raises(BadParameter):
            grid(bad)
