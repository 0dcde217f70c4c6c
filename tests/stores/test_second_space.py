"""A second model's vectors stand beside the first one's in every store, and no question reads both."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.points_corpus import FILTERS, Oracle, chunks, vectors, write_staging
from helpers.qdrant_double import QdrantDouble

from workbench.errors import NotAvailable
from workbench.stores.catalog.build import build_catalog
from workbench.stores.catalog.catalog import Catalog
from workbench.stores.catalog.errors import BadVector, StagingError
from workbench.stores.filters.values import ALSO
from workbench.stores.points.edge import EdgePoints
from workbench.stores.points.edge_build import build_edge
from workbench.stores.points.server import ClientPoints
from workbench.stores.points.server_build import build_client

STORED = chunks()
ROWS = vectors(len(STORED))
SECOND = np.random.default_rng(7).normal(size=(len(STORED), 24)).astype(np.float32)
SECOND /= np.linalg.norm(SECOND, axis=1, keepdims=True)
SPACES = {"": ROWS, ALSO: SECOND}
CLOSE = 2e-6
"""The oracle's cosines have six digits; the engines' are float32."""
ORACLES = {space: Oracle(STORED, rows) for space, rows in SPACES.items()}


def saved(directory: Path, rows: np.ndarray) -> Path:
    np.save(directory / "vectors-also.npy", rows)
    return directory / "vectors-also.npy"


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    directory = tmp_path_factory.mktemp("second")
    staged = write_staging(directory / "staging", STORED, ROWS)
    also, table = saved(directory, SECOND), directory / "terms.json"
    build_edge(directory / "points", *staged, also=also)
    build_catalog(directory / "catalog.duckdb", *staged, also=also)
    with QdrantDouble(directory) as double:
        build_client(double.url, "c", *staged, also=also, sparse_terms=table)
        with (
            EdgePoints.open(directory / "points") as edge,
            ClientPoints(double.url, "c", sparse_terms=table) as server,
            Catalog.open(directory / "catalog.duckdb") as catalog,
        ):
            yield {"edge": edge, "server": server, "catalog": catalog}


@pytest.fixture(params=("edge", "server", "catalog"))
def store(request: pytest.FixtureRequest, stores: dict[str, Any]) -> Any:
    return stores[request.param]


def near(store: Any, vector: Any, filters: dict, space: str) -> list[tuple[Any, float]]:
    found = store.nearest(vector, filters, 40, space=space)
    return [(getattr(point, "id", point), score) for point, score in found]


@pytest.mark.parametrize("space", SPACES)
def test_the_nearest_of_a_space_are_its_own_vectors_nearest(store: Any, space: str) -> None:
    for row in (0, 100, 250):
        for filters in ({}, *FILTERS[:6]):
            wanted = ORACLES[space].nearest(SPACES[space][row], filters)
            found = near(store, SPACES[space][row], filters, space)
            assert [s for _, s in found] == pytest.approx([s for _, s in wanted[:40]], abs=CLOSE)
            # Only copies may change places.
            assert [dict(wanted)[i] for i, _ in found] == pytest.approx([s for _, s in found], abs=CLOSE)


def test_a_vector_of_the_other_space_is_refused_where_its_length_tells(store: Any) -> None:
    for space, other in ((ALSO, ROWS), ("", SECOND)):
        with pytest.raises(BadVector):
            store.nearest(other[0], {}, 5, space=space)


def test_a_space_that_is_not_there_is_refused_by_name(store: Any) -> None:
    with pytest.raises(NotAvailable, match="'third'.*--also MODEL"):
        store.nearest(ROWS[0], {}, 5, space="third")


def test_points_loaded_with_one_model_have_no_second_space(tmp_path: Path) -> None:
    staged = write_staging(tmp_path / "staging", STORED[:20], ROWS[:20])
    build_edge(tmp_path / "points", *staged)
    build_catalog(tmp_path / "catalog.duckdb", *staged)
    with EdgePoints.open(tmp_path / "points") as edge, Catalog.open(tmp_path / "catalog.duckdb") as catalog:
        for store in (edge, catalog):
            with pytest.raises(NotAvailable, match="'also'"):
                store.nearest(ROWS[0], {}, 5, space=ALSO)


def test_the_catalog_has_each_spaces_ranks_and_vectors(stores: dict[str, Any]) -> None:
    catalog, ids = stores["catalog"], [c.id for c in STORED]
    for space, rows in SPACES.items():
        assert np.array_equal(catalog.vectors(ids, space=space), rows)
        order = [i for i, _ in catalog.nearest(rows[3], {}, len(ids), space=space)]
        assert [catalog.true_rank(rows[3], i, space=space).rank for i in order[:9]] == list(range(1, 10))


def test_the_first_space_is_read_as_if_there_were_no_second(stores: dict[str, Any]) -> None:
    for name in ("edge", "server"):
        read = list(stores[name].all_points(batch=100))
        assert np.allclose([v for *_, v in read], ROWS, atol=1e-6)
        assert stores[name].dim == ROWS.shape[1]


def test_a_second_file_with_other_rows_is_refused_before_anything_is_stored(tmp_path: Path) -> None:
    staged = write_staging(tmp_path / "staging", STORED[:20], ROWS[:20])
    short = saved(tmp_path, SECOND[:19])
    for build in (build_edge, build_catalog):
        with pytest.raises(StagingError, match="19"):
            build(tmp_path / "made", *staged, also=short)
        assert not (tmp_path / "made").exists()
