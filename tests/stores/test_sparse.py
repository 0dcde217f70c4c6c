"""BM25 as sparse vectors in Qdrant is the catalog's BM25, on the embedded engine and over a server's wire format."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from helpers.points_corpus import FILTERS, chunks, term_sets, vectors, write_staging
from helpers.qdrant_double import QdrantDouble

from workbench.errors import BadParameter, NotAvailable
from workbench.stores.catalog.build import build_catalog
from workbench.stores.catalog.catalog import Catalog
from workbench.stores.filters.values import Points
from workbench.stores.manifest import BrokenCollection
from workbench.stores.points.edge import EdgePoints
from workbench.stores.points.edge_build import build_edge
from workbench.stores.points.server import ClientPoints
from workbench.stores.points.server_build import build_client, in_memory
from workbench.stores.points.sparse import TERMS_FILE, TermTable
from workbench.stores.seal import DamagedPoints
from workbench.types import point_order

STORED = chunks()
ROWS = vectors(len(STORED))
CLOSE = 1e-5
"""Relative: the engine adds float32, the catalog float64."""


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sparse")


@pytest.fixture(scope="module")
def staged(directory: Path):
    return write_staging(directory / "staging", STORED, ROWS)


@pytest.fixture(scope="module")
def catalog(directory: Path, staged) -> Iterator[Catalog]:
    build_catalog(directory / "catalog.duckdb", *staged)
    with Catalog.open(directory / "catalog.duckdb") as opened:
        yield opened


@pytest.fixture(scope="module")
def engines(directory: Path, staged) -> Iterator[dict[str, Points]]:
    build_edge(directory / "points", *staged, sparse=True)
    with QdrantDouble(directory) as double:
        build_client(double.url, "sparse", *staged, sparse_terms=directory / TERMS_FILE)
        with (
            EdgePoints.open(directory / "points") as edge,
            ClientPoints(double.url, "sparse", sparse_terms=directory / TERMS_FILE) as server,
        ):
            yield {"edge": edge, "server": server}


@pytest.fixture(params=("edge", "server"))
def points(request: pytest.FixtureRequest, engines: dict[str, Points]) -> Points:
    return engines[request.param]


def agree(found: list, expected: list) -> None:
    """The same scores place by place; each point with its own, so that only equal ones may change places."""
    assert [s for _, s in found] == pytest.approx([s for _, s in expected], rel=CLOSE)
    own = dict(expected)
    assert [own[p.id] for p, _ in found if p.id in own] == pytest.approx([s for p, s in found if p.id in own], rel=CLOSE)
    # A point that the other cut off lies at the cut's score.
    assert all(s == pytest.approx(expected[-1][1], rel=CLOSE) for p, s in found if p.id not in own)


def test_some_of_these_chunks_hold_no_term(catalog: Catalog) -> None:
    assert catalog.sql("SELECT count(DISTINCT cid) FROM posting").item() < catalog.n


@pytest.mark.parametrize("limit", [10, 1000])
def test_it_is_the_catalogs_bm25_of_any_terms(points: Points, catalog: Catalog, limit: int) -> None:
    for terms in term_sets():
        expected = catalog.bm25_top(terms, {}, limit)
        found = points.sparse(terms, {}, limit)
        agree(found, expected)
        assert found == sorted(found, key=lambda f: (-f[1], point_order(f[0].id)))


@pytest.mark.parametrize("filters", FILTERS, ids=str)
def test_filters_leave_the_scores_what_they_are(points: Points, catalog: Catalog, filters: dict) -> None:
    for limit in (5, 1000):
        agree(
            points.sparse(["object", "value", "python"], filters, limit),
            catalog.bm25_top(["object", "value", "python"], filters, limit),
        )


@pytest.mark.parametrize("asked", [["class", "class", "object"], ["value", "object", "value", "value"]])
def test_a_repeated_term_counts_as_often_as_it_occurs(points: Points, catalog: Catalog, asked: list[str]) -> None:
    agree(points.sparse(asked, {}, 50), catalog.bm25_top(asked, {}, 50))
    assert points.sparse(asked, {}, 50) != points.sparse(list(dict.fromkeys(asked)), {}, 50)


def test_an_unknown_term_counts_not_at_all(points: Points) -> None:
    once = points.sparse(["class"], {}, 50)
    assert once and points.sparse(["class", "nowhere0", "\ud800"], {}, 50) == once
    assert points.sparse(["nowhere0"], {}, 5) == points.sparse([], {}, 5) == []


def test_only_the_fields_asked_for_are_read(points: Points) -> None:
    assert all(p.payload == {} for p, _ in points.sparse(["class"], {}, 5))
    assert all(set(p.payload) == {"title"} for p, _ in points.sparse(["class"], {}, 5, fields=("title",)))


def test_a_filter_that_means_nothing_is_refused(points: Points) -> None:
    with pytest.raises(BadParameter):
        points.sparse(["class"], {"created": {"after": "2026-01-01"}}, 5)


def test_the_dense_vector_and_full_text_bm25_stand_beside_it(points: Points, catalog: Catalog) -> None:
    read = list(points.all_points(batch=64))
    assert [i for i, _, _ in read] == [c.id for c in STORED]
    assert np.allclose([v for _, _, v in read], ROWS, atol=1e-6)
    nearest = points.nearest(ROWS[0], {}, 20, fields=())
    assert [p.id for p, _ in nearest] == [i for i, _ in catalog.nearest(ROWS[0], {}, 20)]
    assert {p.id for p, _ in points.bm25(["class"], {}, 1000)} == {p.id for p, _ in points.sparse(["class"], {}, 1000)}


def test_points_loaded_without_it_say_how_to_load_them(directory: Path, staged) -> None:
    build_edge(directory / "plain", *staged)
    with QdrantDouble(directory) as double:
        build_client(double.url, "plain", *staged)
        with (
            EdgePoints.open(directory / "plain") as edge,
            ClientPoints(double.url, "plain") as server,
            in_memory(*staged) as memory,
        ):
            for plain in (edge, server, memory):
                with pytest.raises(NotAvailable, match="--sparse"):
                    plain.sparse(["class"], {}, 5)


def test_a_table_of_terms_that_is_gone_is_told(staged, tmp_path: Path) -> None:
    with pytest.raises(BrokenCollection, match="table of terms"):
        TermTable(tmp_path / "none.json", "here").query(["class"])
    build_edge(tmp_path / "points", *staged, sparse=True)
    (tmp_path / "points" / TERMS_FILE).unlink()
    with pytest.raises(DamagedPoints, match=TERMS_FILE):
        EdgePoints.open(tmp_path / "points")
