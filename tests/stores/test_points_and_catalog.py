"""Two stores, one truth: what Qdrant counts and admits, DuckDB counts and admits, number by number on real text."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from helpers.points_corpus import DIM, FILTERS, chunks, term_sets, vectors, write_staging

from workbench.stores.catalog.build import build_catalog
from workbench.stores.catalog.catalog import Catalog
from workbench.stores.points.edge import EdgePoints
from workbench.stores.points.edge_build import build_edge
from workbench.types import Chunk, Facets

# How times are written in notes, tables and logs; each is stored as found, as `created` and as a metadata value.
WRITTEN_TIMES = (
    "2026-11-11", "2026-11-11T09:58", "2026-11-11 09:58", "2026-11-11T09:58:01", "2026-11-11 09:58:01",
    "2026-11-11T09:58:01Z", "2026-11-11T09:58:01.5Z", "2026-11-11T09:58:01.123456789Z", "2026-11-11T09:58:01+02:00",
    "2026-11-11 09:58:01+02:00", "2026-11-11T09:58:01+0200", "2026-11-11T09:58Z", "2026-11-11T09:58+02:00",
    "2026-11-11T09", "2026-11", "2026", "20261111", "20261111T095801", "2026-W46-3", "2026-315", "11/11/2026",
    "11 Nov 2026", "Wed, 11 Nov 2026 09:58:01 GMT", "1794390000", "2026-11-31", "2026-13-01", "2026-11-11T25:00:00",
    "2026-11-11T09:58:60Z", "0001-01-01", "9999-12-31", "yesterday", "epoch", "infinity", "", " 2026-11-11",
    "2026-11-11 ", "2026-11-11T09:58:01z", "2026-11-11t09:58:01Z", "2026-11-11T09:58:01 UTC", "2026-11-11 09:58:01 +02:00",
)  # fmt: skip
# What Qdrant's own reader makes of a metadata value, where ours decides otherwise: a zone after minutes is refused,
# and the lower case letters, blanks and names are taken that ISO 8601's extended form does not have.
READ_BY_QDRANT_ALONE = {
    "2026-11-11T09:58Z", "2026-11-11T09:58+02:00", "2026-11-11T09:58:60Z", " 2026-11-11", "2026-11-11T09:58:01z",
    "2026-11-11t09:58:01Z", "2026-11-11T09:58:01 UTC", "2026-11-11 09:58:01 +02:00",
}  # fmt: skip
RANGES = (
    {"gte": "2026-11-11"}, {"gt": "2026-11-11", "lt": "2026-11-12"}, {"lte": "2026-11-11T09:58:00Z"},
    {"gte": "2026-11-11T07:58:00Z", "lte": "2026-11-11T09:58:01Z"}, {"lt": "2000-01-01"}, {"gt": "2100-01-01"},
)  # fmt: skip
Stores = tuple[Catalog, EdgePoints]


def opened(directory, stored: list[Chunk]) -> Iterator[Stores]:
    staged = write_staging(directory / "staging", stored, vectors(len(stored)))
    build_catalog(directory / "catalog.duckdb", *staged, (), ())
    build_edge(directory / "points", *staged, facets_indexed_from=0)
    with Catalog.open(directory / "catalog.duckdb") as catalog, EdgePoints.open(directory / "points") as points:
        yield catalog, points


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    yield from opened(tmp_path_factory.mktemp("both"), chunks())


@pytest.fixture(scope="module")
def times(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    stored = [
        Chunk(i, f"e{i}", 0, "text", facets=Facets(created=time, metadata={"when": time}))
        for i, time in enumerate(WRITTEN_TIMES * 4)
    ]
    yield from opened(tmp_path_factory.mktemp("times"), stored)


def test_both_stores_count_the_same_points_for_any_and_all_terms(stores: Stores) -> None:
    catalog, points = stores
    for terms in term_sets():
        for match in ("any", "all"):
            assert catalog.count(terms, match, {}) == points.count(terms, match, {}), (terms, match)


def test_both_stores_know_every_terms_document_frequency(stores: Stores) -> None:
    catalog, points = stores
    terms = sorted({term for found in term_sets() for term in found})
    assert catalog.df(terms) == {term: points.count((term,), "any", {}) for term in terms}


@pytest.mark.parametrize("filters", FILTERS, ids=str)
def test_both_stores_admit_the_same_points_by_every_kind_of_filter(stores: Stores, filters: dict) -> None:
    catalog, points = stores
    for terms in ((), ("python", "object")):
        assert catalog.count(terms, "any", filters) == points.count(terms, "any", filters)
        in_sql = catalog.holding(terms, "any", filters, 1000) if terms else catalog.ids_where(filters)
        assert in_sql == [p.id for p in points.scroll(terms, "any", filters, 1000, fields=())]


@pytest.mark.parametrize("bounds", RANGES, ids=str)
def test_both_stores_read_a_written_time_alike(times: Stores, bounds: dict) -> None:
    assert differing(times, {"created": bounds}) == set()


@pytest.mark.parametrize("bounds", RANGES, ids=str)
def test_in_metadata_qdrants_own_reader_differs_in_these_forms_only(times: Stores, bounds: dict) -> None:
    assert differing(times, {"when": bounds}) <= READ_BY_QDRANT_ALONE


def test_in_metadata_each_of_these_forms_does_differ(times: Stores) -> None:
    assert set().union(*(differing(times, {"when": bounds}) for bounds in RANGES)) == READ_BY_QDRANT_ALONE


def differing(times: Stores, filters: dict) -> set[str]:
    """The written times that one store admits and the other does not."""
    catalog, points = times
    found = {p.id for p in points.scroll((), "any", filters, 1000, fields=())}
    return {WRITTEN_TIMES[i % len(WRITTEN_TIMES)] for i in found ^ set(catalog.ids_where(filters))}


def test_both_stores_measure_the_same_cosines(stores: Stores) -> None:
    catalog, points = stores
    query = vectors(3)[1] + 0.1
    assert query.shape == (DIM,)
    found = points.nearest(query, {}, 20, fields=())
    in_sql = catalog.nearest(query, {}, 20)
    assert [p.id for p, _ in found] == [i for i, _ in in_sql]
    assert [s for _, s in found] == pytest.approx([s for _, s in in_sql], abs=2e-6)
