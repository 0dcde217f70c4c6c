"""A load with a second model: one collection, two spaces, both models recorded, and none in the other's place."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from helpers.made_sources import chunks_of, numbered, source_of
from helpers.qdrant_double import QdrantDouble

from workbench.errors import BadParameter, NotAvailable
from workbench.stores.collections import open_stores, place
from workbench.stores.filters.values import ALSO
from workbench.stores.load import load
from workbench.stores.manifest import MANIFEST, read_manifest
from workbench.stores.vectors.embedder import Embedder
from workbench.stores.vectors.model_files import PACKAGED_EMBEDDER, locate_packaged
from workbench.stores.vectors.models import ModelDiffers, find_model

TEXTS = ("green tea", "the ferry leaves at nine", "a crane stands still")


def test_both_models_are_recorded_and_both_stores_hold_each_ones_vectors(home: Path, other: str) -> None:
    manifest = load(source_of(chunks_of(*TEXTS)), name="c", also=other, progress=False)
    first, second = find_model(), find_model(other)
    assert (manifest.model, manifest.also) == (first.recorded, second.recorded) and manifest.also["sha256"]
    assert (second.query_prefix, second.passage_prefix) == ("query: ", "passage: ")
    with open_stores("c") as stores:
        ids = stores.catalog.ids_where()
        for model, space, embedder in ((first, "", stores.embedder), (second, ALSO, stores.also)):
            assert embedder.model == model
            assert np.array_equal(stores.catalog.vectors(ids, space=space), Embedder(model).embed(TEXTS))
            query = embedder.embed_query("when does the boat leave")
            near = [(p.id, pytest.approx(s, abs=1e-6)) for p, s in stores.points.nearest(query, {}, 3, space=space)]
            assert stores.catalog.nearest(query, {}, 3, space=space) == near and near[0][0] == ids[1]


def test_a_server_holds_them_too(home: Path, other: str, tmp_path: Path) -> None:
    with QdrantDouble(tmp_path) as server:
        load(source_of(chunks_of(*TEXTS)), name="c", also=other, qdrant=server.url, sparse=True, progress=False)
        with open_stores("c") as stores:
            query = stores.also.embed_query("when does the boat leave")
            found = [(p.id, pytest.approx(s, abs=1e-6)) for p, s in stores.points.nearest(query, {}, 3, space=ALSO)]
            assert stores.catalog.nearest(query, {}, 3, space=ALSO) == found
            assert stores.points.sparse(["ferry"], {}, 3)[0][0].id == found[0][0]


def test_a_load_with_another_second_model_or_none_is_another_load(home: Path, other: str) -> None:
    loads = [load(source_of(chunks_of(*TEXTS)), name="c", also=a, progress=False) for a in (None, other, None)]
    assert [m.load_key for m in loads].count(loads[0].load_key) == 2 and loads[0].load_key != loads[1].load_key
    assert loads[0].content_hash == loads[2].content_hash != loads[1].content_hash
    again = load(source_of(chunks_of(*TEXTS)), name="c", also=other, progress=False)
    assert load(source_of(chunks_of(*TEXTS)), name="c", also=other, progress=False) == again


def test_a_collection_of_one_model_has_no_second_space_in_either_store(home: Path) -> None:
    assert load(source_of(chunks_of(*TEXTS)), name="c", progress=False).also == {}
    with open_stores("c") as stores:
        assert stores.also is None
        for store in (stores.points, stores.catalog):
            with pytest.raises(NotAvailable, match="no vectors 'also'.*--also MODEL"):
                store.nearest(stores.embedder.embed_query("tea"), {}, 3, space=ALSO)


def test_the_first_model_is_no_second_one(home: Path, tmp_path: Path) -> None:
    copied = shutil.copytree(locate_packaged(PACKAGED_EMBEDDER).directory, tmp_path / "copy")
    for same in (find_model(), find_model().name, str(copied)):
        with pytest.raises(BadParameter, match="the second model is the first"):
            load(source_of(chunks_of(*TEXTS)), name="c", also=same, progress=False)
    assert not place("c").directory.exists()


def test_a_source_that_composes_its_vectors_takes_no_second_model(home: Path, other: str) -> None:
    composed = source_of(chunks_of("tea"), vectors=lambda embed: iter([embed(["tea"])]))
    with pytest.raises(BadParameter, match="composes its vectors"):
        load(composed, name="c", also=other, progress=False)


def test_another_file_in_the_second_models_place_is_refused(home: Path, other: str) -> None:
    load(source_of(chunks_of(*TEXTS)), name="c", also=other, progress=False)
    with (Path(other) / "tokenizer_config.json").open("a") as file:
        file.write("\n")
    with open_stores("c") as stores, pytest.raises(ModelDiffers):
        stores.also.embed_query("never asked before")


def test_what_a_cut_text_is_to_the_second_model_is_said_under_its_name(home: Path, other: str) -> None:
    manifest = load(source_of(chunks_of("word " * 700)), name="c", also=other, progress=False)
    about = [w for w in manifest.warnings if "longer than the model" in w]
    assert len(about) == 2 and about[1].startswith(other)


def test_each_model_is_a_phase_of_its_own(home: Path, other: str) -> None:
    told: list[tuple[str, int, int | None]] = []
    load(source_of(numbered(5)), name="c", also=other, progress=lambda *step: told.append(step))
    assert list(dict.fromkeys(phase for phase, *_ in told)) == ["read", "embed", "embed also", "build", "publish"]
    assert [s for s in told if s[0] == "embed also"][-1] == ("embed also", 5, 5)


def test_a_load_that_is_stopped_in_the_second_pass_leaves_the_earlier_collection_and_is_taken_up(home: Path, other: str) -> None:
    def stop(phase: str, done: int, total: int | None) -> None:
        if phase == "embed also":
            raise KeyboardInterrupt

    first = load(source_of(chunks_of(*TEXTS)), name="c", progress=False)
    with pytest.raises(KeyboardInterrupt):
        load(source_of(chunks_of(*TEXTS)), name="c", also=other, progress=stop)
    assert read_manifest(place("c").current()) == first
    load(source_of(chunks_of(*TEXTS)), name="c", also=other, progress=False)
    with open_stores("c") as stores:
        assert len(stores.catalog.vectors(stores.catalog.ids_where(), space=ALSO)) == len(TEXTS)


def test_a_manifest_that_names_no_second_model_is_of_a_collection_without_one(home: Path) -> None:
    load(source_of(chunks_of(*TEXTS)), name="c", progress=False)
    generation = place("c").current()
    known = json.loads((generation / MANIFEST).read_text(encoding="utf-8"))
    del known["also"]
    (generation / MANIFEST).write_text(json.dumps(known), encoding="utf-8")
    assert read_manifest(generation).also == {}
