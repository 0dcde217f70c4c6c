"""A collection without vectors: lexical work as with them, the rest refused by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.made_sources import chunks_of, source_of
from helpers.qdrant_double import QdrantDouble

from workbench.analysis.explain.explain import explain
from workbench.errors import BadParameter, NotAvailable
from workbench.retrieval.search import open_collection
from workbench.sources.base import JudgedQuery, Qrel
from workbench.stores.collections import check_collection, collections
from workbench.stores.load import load
from workbench.stores.update import update
from workbench.stores.vectors import models
from workbench.types import Query

TEXTS = ("the ferry leaves the harbour", "the crane and its cable", "ferry, ferry, crane")
LEXICAL = ("lexical_bm25", "lexical_fields", "lexical_engine_bm25", "lexical_bm25(k1=0.9,b=0.4)")


@pytest.fixture
def bare(home: Path, monkeypatch: pytest.MonkeyPatch):
    """A small collection without vectors; no model is opened for it."""
    queries, qrels = (JudgedQuery("q", "ferry crane"),), (Qrel("q", "e0", 1),)
    with monkeypatch.context() as patched:
        patched.setattr(models, "_locate", lambda *_: pytest.fail("a model was looked for"))
        return load(
            source_of(chunks_of(*TEXTS), queries=queries, qrels=qrels),
            name="bare",
            vectors=False,
            progress=False,
        )


def test_the_manifest_and_the_list_of_collections_say_so(bare) -> None:
    assert bare.vectors == "none" and bare.model["name"] == "none" and bare.counts["chunks"] == 3
    assert [c.manifest.vectors for c in collections()] == ["none"]
    assert check_collection("bare").content_hash == bare.content_hash


@pytest.mark.parametrize("spec", LEXICAL)
def test_lexical_lists_are_those_of_a_load_with_vectors(bare, spec: str, embedder) -> None:
    load(source_of(chunks_of(*TEXTS)), name="full", model=embedder.model, progress=False)
    for text in ("ferry", "crane ferry crane"):
        with open_collection("bare") as one, open_collection("full") as other:
            assert one.search(text, spec).fused == other.search(text, spec).fused
            assert (
                one.search(text, "adr_0172", mode="lexical").fused
                == other.search(text, "adr_0172", mode="lexical").fused
            )


@pytest.mark.parametrize(
    "spec",
    [
        "adr_0172",
        "semantic",
        "adr_0172_multilingual",
        "semantic_by(model=bge-m3)",
        "notes_max_min",
        "notes_old",
    ],
)
def test_what_needs_vectors_refuses_by_name_and_says_what_to_do(bare, spec: str) -> None:
    with (
        open_collection("bare") as collection,
        pytest.raises(NotAvailable, match="needs vectors") as error,
    ):
        collection.search(Query("ferry"), spec)
    assert "without --no-vectors" in str(error.value)


def test_an_absence_is_explained_without_vectors(bare) -> None:
    with open_collection("bare") as collection:
        result = collection.search("ferry", "lexical_bm25")
        crane = next(c for c in collection.stores.catalog.ids_where() if c not in result.fused.ids)
        assert "ferry" in str(explain(collection, result, crane))


def test_an_update_keeps_it_without_vectors(bare) -> None:
    done = update("bare", delete=["e1"], progress=False)
    assert done.deleted == 1 and done.manifest.vectors == "none"
    fresh = source_of(chunks_of(TEXTS[0], "", "a new crane"))
    assert update("bare", source=fresh, progress=False).manifest.vectors == "none"
    with open_collection("bare") as collection:
        assert [
            c.text
            for c in collection.stores.catalog.chunks(
                collection.search("crane", "lexical_bm25").fused.ids
            )
        ]


def test_vectors_that_a_source_composes_are_left_out(home: Path) -> None:
    composed = source_of(
        chunks_of("tea", "coffee"), vectors=lambda embed: pytest.fail("asked for vectors")
    )
    assert load(composed, name="c", vectors=False, progress=False).vectors == "none"


def test_on_a_server_the_points_serve_their_payload(home: Path, tmp_path: Path) -> None:
    with QdrantDouble(tmp_path) as double:
        load(
            source_of(chunks_of(*TEXTS)), name="s", vectors=False, qdrant=double.url, progress=False
        )
        with open_collection("s") as collection:
            assert len(collection.search("ferry", "adr_0005", mode="lexical").fused) == 2
            assert collection.stores.points.count(["crane"], "any", {}) == 2
            assert np.asarray([v for *_, v in collection.stores.points.all_points()]).shape == (
                3,
                1,
            )


@pytest.mark.parametrize(
    "given", [{"model": "multilingual-e5-small-q4"}, {"also": "multilingual-e5-small-q4"}]
)
def test_no_vectors_and_a_model_exclude_each_other(home: Path, given: dict) -> None:
    with pytest.raises(BadParameter, match="without vectors has no model"):
        load(source_of(chunks_of("tea")), name="c", vectors=False, progress=False, **given)
