"""Exact nearest neighbours in SQL."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from helpers.catalog_world import made, numbered, unit_rows
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.stores.catalog.catalog import Catalog
from workbench.stores.catalog.errors import BadVector, UnknownPoint
from workbench.types import Facets

COUNT, DIM = 300, 8
ROWS = np.concatenate([unit_rows(COUNT - 60), np.repeat(unit_rows(3, seed=9), 20, axis=0)])


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalog]:
    facets = [Facets(project=f"p{n % 10}") for n in range(COUNT)]
    with made(tmp_path_factory.mktemp("vectors"), numbered(["text"] * COUNT, facets=facets), ROWS) as opened:
        yield opened


directions = st.lists(st.floats(-1, 1, width=32), min_size=DIM, max_size=DIM).filter(
    lambda v: max(map(abs, v)) > 1e-3
)


@settings(max_examples=40, deadline=None)
@given(directions, st.integers(1, COUNT))
def test_the_nearest_are_the_whole_matrix_product_in_order(
    catalog: Catalog, vector: list[float], limit: int
) -> None:
    unit = np.array(vector) / np.linalg.norm(vector)
    exact = dict(zip(catalog.ids_where(), ROWS.astype(np.float64) @ unit, strict=True))
    found = catalog.nearest(vector, {}, limit)
    assert len(found) == limit
    assert all(score == pytest.approx(exact[i], abs=1e-6) for i, score in found)
    left_out = max((s for i, s in exact.items() if i not in dict(found)), default=-2)
    assert found[-1][1] >= left_out - 1e-6
    order = [(-score, catalog.position(i)) for i, score in found]
    assert order == sorted(order)


def test_equal_vectors_have_equal_scores_and_stand_in_point_id_order(catalog: Catalog) -> None:
    best = catalog.nearest(ROWS[-1], {}, 20)
    assert [i for i, _ in best] == catalog.ids_where()[-20:]
    assert len({score for _, score in best}) == 1
    assert [i for i, _ in catalog.nearest(ROWS[-1], {}, 7)] == catalog.ids_where()[-20:][:7]


def test_the_length_of_the_query_vector_changes_no_bit(catalog: Catalog) -> None:
    best = catalog.nearest(ROWS[4], {}, 50)
    assert catalog.nearest(ROWS[4] * 4, {}, 50) == best
    assert best[0][1] == pytest.approx(1, abs=1e-6)


def test_a_true_rank_is_the_place_among_all_within_the_filters(catalog: Catalog) -> None:
    for filters in ({}, {"project": "p3"}, {"project": ["p1", "p2"]}):
        whole = catalog.nearest(ROWS[-3], filters, COUNT)
        for at, (point, score) in list(enumerate(whole, 1))[:: max(1, len(whole) // 25)]:
            rank, found = catalog.true_rank(ROWS[-3], point, filters)
            assert (rank, found) == (at, score)


def test_a_point_outside_the_filters_has_its_cosine_and_no_rank(catalog: Catalog) -> None:
    point = catalog.ids_where({"project": "p4"}, 1)[0]
    assert catalog.true_rank(ROWS[0], point, {"project": "p5"}) == (
        None,
        catalog.true_rank(ROWS[0], point).score,
    )


def test_scores_are_equal_bit_by_bit_on_any_number_of_threads_and_within_any_filter(catalog: Catalog) -> None:
    everything = dict(catalog.nearest(ROWS[1], {}, COUNT))
    for threads in (1, 2, 5):
        catalog._file._con.execute(f"SET threads = {threads}")
        assert dict(catalog.nearest(ROWS[1], {}, COUNT)) == everything
        within = catalog.nearest(ROWS[1], {"project": "p7"}, COUNT)
        assert len(within) == COUNT // 10
        assert all(everything[i] == score for i, score in within)


@pytest.mark.parametrize(
    "vector",
    [[0.0] * DIM, [math.nan] + [1.0] * (DIM - 1), [math.inf] * DIM, [1.0] * (DIM - 1), [1.0] * (DIM + 1), [],
     [[1.0] * DIM], [1e300] * DIM],
    ids=["zero", "nan", "infinite", "short", "long", "empty", "nested", "beyond float32"],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:overflow")
def test_a_vector_without_a_direction_or_of_another_length_is_refused_by_name(
    catalog: Catalog, vector: list
) -> None:
    with pytest.raises(BadVector):
        catalog.nearest(vector, {}, 5)
    with pytest.raises(BadVector):
        catalog.true_rank(vector, catalog.ids_where({}, 1)[0])


def test_stored_vectors_come_back_bit_by_bit_in_the_order_asked(catalog: Catalog) -> None:
    ids = catalog.ids_where()
    order = np.random.default_rng(3).permutation(COUNT)
    found = catalog.vectors([ids[n] for n in order])
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, ROWS[order])
    np.testing.assert_array_equal(catalog.vectors([ids[5], ids[5]]), ROWS[[5, 5]])
    assert catalog.vectors([]).shape == (0, DIM)
    with pytest.raises(UnknownPoint):
        catalog.vectors([ids[0], 5])
