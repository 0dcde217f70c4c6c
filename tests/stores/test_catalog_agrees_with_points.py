"""One truth in two stores: what is counted, filtered and near in DuckDB is so in the embedded Qdrant."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from helpers.catalog_world import made, staged
from helpers.points_corpus import chunks, vectors

from workbench.stores.catalog.catalog import Catalog
from workbench.stores.points.edge import EdgePoints
from workbench.stores.points.edge_build import build_edge
from workbench.types import Chunk, Facets

TIMES = (
    "2026-03-01", "2026-03-01 00:00", "2026-03-01 00:00:00", "2026-03-01T00:00:00", "2026-03-01T00:00:00Z",
    "2026-03-01T02:00:00+02:00", "2026-03-01T00:00:00.000Z", "2026-03-01T00:00:00.5Z", "2026-02-28T23:59:59Z",
    "epoch", "infinity", "now", "2026-13-45", "", None, "20260301", " 2026-03-01", "March",
    "2026-03-01 02:00:00 Europe/Bucharest",
)  # fmt: skip


def dated(number: int, chunk: Chunk) -> Chunk:
    return replace(chunk, facets=Facets(created=TIMES[number % len(TIMES)]))


STORED = [dated(n, c) for n, c in enumerate(chunks())]
ROWS = vectors(len(STORED))


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Catalog, EdgePoints]]:
    directory = tmp_path_factory.mktemp("both")
    build_edge(directory / "points", *staged(directory / "parts", STORED, ROWS))
    with (
        made(directory / "catalog", STORED, ROWS) as catalog,
        EdgePoints.open(directory / "points") as points,
    ):
        yield catalog, points


def test_every_terms_count_is_the_same_number_in_both_stores(stores: tuple[Catalog, EdgePoints]) -> None:
    catalog, points = stores
    terms = catalog.sql("SELECT term FROM dict WHERE df > 0 ORDER BY term")["term"].to_list()
    assert len(terms) > 1000
    df = catalog.df(terms)
    assert df == {t: points.count([t], "any", {}) for t in terms}


def test_the_first_holders_in_point_id_order_are_the_same_in_both_stores(
    stores: tuple[Catalog, EdgePoints],
) -> None:
    catalog, points = stores
    for terms in (["python"], ["python", "object"], ["class", "value", "nowhere"]):
        for match in ("any", "all"):
            scrolled = points.scroll(terms, match, {}, 25, fields=())
            assert catalog.holding(terms, match, {}, 25) == [p.id for p in scrolled]


@pytest.mark.parametrize(
    "bounds",
    [{"gte": "2026-03-01", "lte": "2026-03-01"}, {"gte": "0001-01-01"}, {"lt": "2026-03-01T00:00:00Z"},
     {"gt": "2026-03-01T01:00:00+01:00"}, {"lt": "9999-12-31"}],
    ids=str,
)  # fmt: skip
def test_the_same_texts_are_moments_in_both_stores(stores: tuple[Catalog, EdgePoints], bounds: dict) -> None:
    catalog, points = stores
    filters = {"created": bounds}
    found = [p.id for p in points.scroll((), "any", filters, 1000, fields=())]
    held = {c.id: c.facets.created for c in STORED}
    assert {held[i] for i in catalog.ids_where(filters)} == {held[i] for i in found}


def test_the_nearest_are_the_same_points_with_the_same_cosines(stores: tuple[Catalog, EdgePoints]) -> None:
    catalog, points = stores
    for query in (ROWS[0], ROWS[-1], np.ones(ROWS.shape[1])):
        exact = catalog.nearest(query, {}, 30)
        engine = points.nearest(query.tolist(), {}, 30, fields=())
        assert dict(exact) == pytest.approx({p.id: score for p, score in engine}, abs=1e-6)
