"""The law of a merge: a catalog less some rows and with others is, row by row, the catalog built of the chunks left."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.catalog_world import DIM, made, numbered, staged, unit_rows
from helpers.whole_state import tables
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from workbench.sources.base import JudgedQuery, Qrel
from workbench.stores.catalog.build import build_catalog
from workbench.stores.catalog.errors import CatalogDamaged
from workbench.stores.catalog.merge import merge_catalogs
from workbench.text import Tokenizer
from workbench.types import Facets

WORDS = ("ferry", "harbour", "crane", "noon", "ședință", "a-b", "the")
QUERIES, QRELS = (JudgedQuery("q", "ferry", {"n": 1}),), (Qrel("q", "e0", 2), Qrel("q", "gone", 0))
STEMMED = Tokenizer(stem="porter")
FACETS = (Facets(), Facets("p", tags=("x",), created="2026-01-02T03:04:05Z", metadata={"k": [1, "a"]}))

texts = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join).map(lambda t: t or "!")
rows = st.lists(st.tuples(texts, texts, st.sampled_from(FACETS), st.sampled_from(("stays", "goes", "comes"))), min_size=1, max_size=12)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows)
def test_what_is_merged_is_what_is_built_table_by_table_in_the_order_stored(tmp_path_factory: pytest.TempPathFactory, found) -> None:
    where = tmp_path_factory.mktemp("merge")
    chunks = numbered([t for t, *_ in found], [h for _, h, *_ in found], [f for _, _, f, _ in found])
    vectors, fate = unit_rows(len(chunks)), np.array([what for *_, what in found])

    def catalog(name: str, *fates: str):
        kept = np.flatnonzero(np.isin(fate, fates))
        return made(where / name, [chunks[i] for i in kept], vectors[kept], queries=QUERIES, qrels=QRELS, tokenizer=STEMMED)

    with catalog("standing", "stays", "goes") as standing, catalog("added", "comes") as added, catalog("whole", "stays", "comes") as whole:
        removed = np.flatnonzero(fate[np.isin(fate, ("stays", "goes"))] == "goes").tolist()
        merge_catalogs(where / "merged.duckdb", standing.path, removed, added.path)
        with type(whole).open(where / "merged.duckdb") as merged:
            assert tables(merged) == tables(whole)
            assert (merged.n, merged.dim, merged.tokenizer) == (whole.n, DIM, STEMMED.name)


def test_a_second_models_vectors_are_merged_too(tmp_path: Path) -> None:
    chunks, first, second = numbered(["ferry", "crane", "noon"]), unit_rows(3), unit_rows(3, seed=8, dim=4)

    def catalog(name: str, which: list[int]) -> Path:
        parts, vectors = staged(tmp_path / name, [chunks[i] for i in which], first[which])
        np.save(tmp_path / name / "also.npy", second[which])
        build_catalog(tmp_path / f"{name}.duckdb", parts, vectors, also=tmp_path / name / "also.npy")
        return tmp_path / f"{name}.duckdb"

    merge_catalogs(tmp_path / "merged.duckdb", catalog("standing", [0, 1]), [0], catalog("added", [2]))
    from workbench.stores.catalog.catalog import Catalog

    with Catalog.open(tmp_path / "merged.duckdb") as merged:
        ids = merged.ids_where()
        assert merged.vectors(ids, space="also").tobytes() == second[1:].tobytes()
        assert merged.vectors(ids).tobytes() == first[1:].tobytes()


def test_a_merge_that_fails_leaves_what_was_there_and_nothing_beside_it(tmp_path: Path) -> None:
    made(tmp_path / "standing", numbered(["ferry"])).close()
    (tmp_path / "added.duckdb").write_bytes(b"nothing like it" * 9999)
    (tmp_path / "merged.duckdb").write_text("earlier")
    with pytest.raises(CatalogDamaged):
        merge_catalogs(tmp_path / "merged.duckdb", tmp_path / "standing" / "catalog.duckdb", [], tmp_path / "added.duckdb")
    assert (tmp_path / "merged.duckdb").read_text() == "earlier" and not (tmp_path / "merged.duckdb.building").exists()
