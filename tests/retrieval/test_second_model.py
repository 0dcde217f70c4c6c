"""A second model's list: by its own vectors alone, in the semantic list's place or beside it, explained as any list."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from workbench.analysis.explain.explain import explain
from workbench.errors import NotAvailable
from workbench.retrieval.frozen import freeze
from workbench.retrieval.search import Collection, open_collection
from workbench.retrieval.variant import Variant, variant
from workbench.retrieval.variants import semantic_by
from workbench.stores.load import load
from workbench.stores.vectors.model_files import PACKAGED_EMBEDDER, locate_packaged
from workbench.types import Query

QUERY = "when does the boat leave the port"


@pytest.fixture(scope="module")
def two_models(tiny_source: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """(home, the second model): the tiny collection, whose second model is the first with the mean of its tokens."""
    directory = tmp_path_factory.mktemp("two-models")
    model = Path(shutil.copytree(locate_packaged(PACKAGED_EMBEDDER).directory, directory / "model"))
    (model / "1_Pooling").mkdir()
    (model / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_mean_tokens": True}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_HOME", str(directory / "home"))
        load(tiny_source, name="two", also=str(model), progress=False)
        load(tiny_source, name="one", progress=False)
    yield str(directory / "home"), str(model)


@pytest.fixture
def model(two_models: tuple[str, str], monkeypatch: pytest.MonkeyPatch, _no_settings: None) -> str:
    monkeypatch.setenv("WORKBENCH_HOME", two_models[0])
    return two_models[1]


@pytest.fixture
def two(model: str) -> Iterator[Collection]:
    with open_collection("two") as opened:
        yield opened


def other(model: str, **params: object) -> Variant:
    """ADR 0172 with the second model's list in the semantic one's place."""
    return variant("adr_0172_multilingual", model=model).replace(semantic=semantic_by(model=model, name="semantic", **params))


def by_hand(two: Collection, space: str) -> list:
    embedder = two.stores.also if space else two.stores.embedder
    return two.stores.catalog.nearest(embedder.embed_query(QUERY), {}, 256, space=space)


def test_each_list_holds_its_own_models_nearest(two: Collection, model: str) -> None:
    result = two.search(QUERY, f'adr_0172+semantic_by(model="{model}")')
    lists = {r.name: r for r in result.lists}
    for name, space in (("semantic", ""), ("second", "also")):
        wanted = by_hand(two, space)
        assert list(lists[name].ids) == [i for i, _ in wanted]
        assert lists[name].scores == pytest.approx([s for _, s in wanted], abs=1e-6)
    assert lists["semantic"].scores != lists["second"].scores


def test_in_the_semantic_lists_place_it_is_that_list_in_every_mode(two: Collection, model: str) -> None:
    for mode in ("hybrid", "semantic"):
        result = two.search(QUERY, other(model), mode=mode)
        (found,) = [r for r in result.lists if r.name == "semantic"]
        assert found.scores == pytest.approx([s for _, s in by_hand(two, "also")], abs=1e-6)
    assert [r.name for r in two.search(QUERY, other(model), mode="lexical").lists] == ["lexical"]


def test_named_by_name_the_first_model_is_the_semantic_channel(two: Collection) -> None:
    first = two.search(QUERY, "semantic_by(model=bge-small-en-v1.5-int8)")
    plain = two.search(QUERY, "semantic")
    assert (first.lists[0].ids, first.lists[0].scores) == (plain.lists[0].ids, plain.lists[0].scores)


def test_two_models_share_no_vector_though_a_memo_is_shared(two: Collection, model: str) -> None:
    memo: dict = {}
    alone = {v: two.search(QUERY, v) for v in ("adr_0172", other(model))}
    shared = {v: two.search(QUERY, v, memo=memo) for v in alone}
    assert all(shared[v].lists == alone[v].lists for v in alone)
    assert [s.note for s in shared[other(model)].spans if s.call == "embed"] == [model]


def test_a_model_that_the_collection_was_not_loaded_with_is_refused_by_name(model: str) -> None:
    with open_collection("one") as one, pytest.raises(NotAvailable, match=r"only of bge-small-en-v1.5-int8.*--also"):
        one.search(QUERY, other(model))
    with open_collection("two") as two, pytest.raises(NotAvailable, match="no vectors of the model 'nobody'"):
        two.search(QUERY, "semantic_by(model=nobody)")


def test_its_floor_and_its_filters_are_those_of_any_semantic_list(two: Collection, model: str) -> None:
    rows = by_hand(two, "also")
    floor = (rows[2][1] + rows[3][1]) / 2
    result = two.search(QUERY, other(model, floor=floor), mode="semantic")
    assert result.lists[0].ids == tuple(i for i, _ in rows[:3])
    filtered = two.search(QUERY, other(model), mode="semantic", filters={"entity_id": "ferry"})
    assert len(filtered.lists[0]) == 1


@pytest.mark.parametrize("beside", [False, True])
def test_an_absence_from_its_list_is_told_by_its_own_true_rank(two: Collection, model: str, beside: bool) -> None:
    chosen, name = other(model, limit=2), "semantic"
    if beside:
        stage, name = semantic_by(model=model, limit=2), "second"
        chosen = Variant("beside", variant("adr_0172").fusion, own=(stage,))
    order = [i for i, _ in by_hand(two, "also")]
    result = two.search(Query(QUERY, limit=2), chosen.replace(lexical=None, derived=()))
    reasons = explain(two, result, order[4]).absences
    (told,) = [a for a in reasons if a.where == name]
    assert (told.reason, told.exact) == ("below the semantic limit", True) and "its true rank is 5 " in told.detail
    assert (told.knob, told.needed) == (("", None) if beside else ("semantic_limit", 5))


def test_frozen_lists_answer_for_it(two: Collection, model: str) -> None:
    frozen = freeze(two, Query(QUERY), other(model))
    for limit in (1, 3, 256):
        live = two.search(QUERY, other(model, limit=limit))
        assert frozen.replay(other(model, limit=limit)).fused == live.fused


def test_an_empty_query_embeds_nothing(two: Collection, model: str) -> None:
    result = two.search("", f'semantic_by(model="{model}")')
    assert len(result.fused) == 0 and not [s for s in result.spans if s.call == "embed"]


def test_the_multilingual_variant_is_adr_0172_but_for_its_semantic_list() -> None:
    made, base = variant("adr_0172_multilingual"), variant("adr_0172")
    assert made.semantic == semantic_by(model="multilingual-e5-small-q4", name="semantic")
    assert made.replace(semantic=base.semantic).hash == base.hash
