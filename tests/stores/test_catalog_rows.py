"""What was staged is what is read: chunks, entities, texts, judgements, ids, and SQL of one's own."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest
from helpers.catalog_world import made, numbered
from helpers.points_corpus import DIM, chunks, vectors
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.errors import BadParameter
from workbench.sources.base import JudgedQuery, Qrel
from workbench.stores.catalog.catalog import Catalog
from workbench.stores.catalog.errors import StagingError, UnknownPoint
from workbench.stores.catalog.ids import PointIds
from workbench.types import Chunk, Facets, point_order

STORED = chunks()
QUERIES = (
    JudgedQuery("q2", "the second is given first", {"kind": "paraphrase", "n": [1, 2]}),
    JudgedQuery("q1", "<script>\x1b[31m \u202e \x00 😀", {}),
    JudgedQuery("q1", "", {}),
)
QRELS = (Qrel("q2", "e3", 2), Qrel("q2", "nobody", -1), Qrel("q1", "e1", 0), Qrel("q2", "e3", 1))


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalog]:
    directory = tmp_path_factory.mktemp("rows")
    with made(directory, STORED, vectors(len(STORED)), queries=QUERIES, qrels=QRELS) as opened:
        yield opened


def test_every_chunk_comes_back_as_it_was_in_the_order_asked(catalog: Catalog) -> None:
    shuffled = random.Random(1).sample(STORED, len(STORED))
    assert catalog.chunks([c.id for c in shuffled]) == shuffled
    assert catalog.chunks([STORED[3].id, STORED[3].id]) == [STORED[3]] * 2
    assert catalog.chunks([]) == []


def test_links_and_a_title_come_back_as_they_were(tmp_path: Path) -> None:
    links = (("wiki", "A note"), ("relative", "../b.md"), ("wiki", "'; --"))
    chunk = Chunk(7, "e", 0, "text", "Tïtle <b>", "s", facets=Facets(tags=("a", "a", "")), links=links)
    with made(tmp_path, [chunk]) as catalog:
        assert catalog.chunks([7]) == [chunk]


def test_a_position_is_1_based_in_point_id_order(catalog: Catalog) -> None:
    ordered = sorted((c.id for c in STORED), key=point_order)
    assert catalog.ids_where() == ordered
    assert [catalog.position(i) for i in ordered] == list(range(1, len(ordered) + 1))


def test_entities_are_told_of_points_and_points_of_entities(catalog: Catalog) -> None:
    backwards = STORED[::-1]
    assert catalog.entities([c.id for c in backwards]) == [c.entity_id for c in backwards]
    assert catalog.entity("e7") == [c.id for c in STORED if c.entity_id == "e7"]
    assert catalog.entity("nobody") == catalog.entity("' OR 1=1 --") == catalog.entity("\ud800") == []


@pytest.mark.parametrize("batch", [1, 100, 10_000])
def test_all_texts_come_once_in_point_id_order_in_batches(catalog: Catalog, batch: int) -> None:
    found = list(catalog.texts(batch))
    assert [pair for part in found for pair in part] == [(c.id, c.text) for c in STORED]
    assert {len(part) for part in found[:-1]} <= {batch}


def test_a_reader_may_ask_something_else_between_two_batches(catalog: Catalog) -> None:
    seen = 0
    for part in catalog.texts(50):
        seen += len(part)
        assert catalog.count(()) == len(STORED)
    assert seen == len(STORED)


def test_judgements_come_back_in_their_order_repeats_and_hostile_text_included(catalog: Catalog) -> None:
    assert catalog.queries() == QUERIES
    assert catalog.qrels() == QRELS


def test_half_a_surrogate_pair_in_a_query_becomes_the_replacement_character(tmp_path: Path) -> None:
    asked = [JudgedQuery("q", "a \ud800 b", {"k": "\ud800"})]
    with made(tmp_path, numbered(["text"]), queries=asked) as catalog:
        (found,) = catalog.queries()
        assert found.text == "a \ufffd b"


@pytest.mark.parametrize(
    "unknown", [10**30, -1, 4, "", "e7", "00000000-0000-0000-0000-000000000000", "\ud800" * 36]
)
def test_an_unknown_point_is_refused_by_name(catalog: Catalog, unknown: int | str) -> None:
    for ask in (catalog.chunks, catalog.vectors, catalog.entities):
        with pytest.raises(UnknownPoint):
            ask([STORED[0].id, unknown])
    with pytest.raises(UnknownPoint):
        catalog.position(unknown)


numbers = st.sets(st.integers(0, 2**64 - 1), max_size=20).map(sorted)
uuids = st.sets(st.uuids().map(str), max_size=20).map(sorted)


def column(ids: list):
    import pyarrow as pa

    return pa.chunked_array([[str(i) for i in ids]], pa.string())


@settings(max_examples=60, deadline=None)
@given(numbers, uuids, st.randoms(use_true_random=False))
def test_ids_and_rows_are_each_others_inverse(
    integers: list[int], texts: list[str], draw: random.Random
) -> None:
    ids = [*integers, *texts]
    known = PointIds.of(column(ids))
    assert len(known) == len(ids)
    assert known.at(range(len(ids))) == ids
    order = draw.sample(range(len(ids)), len(ids))
    assert known.cids([ids[n] for n in order]).tolist() == order


@pytest.mark.parametrize(
    "ids",
    [
        [2, 1],
        [1, 1],
        [str(UUID(int=2)), str(UUID(int=1))],
        [str(UUID(int=1)), 5],
        ["x"],
        [-1],
        [2**64],
        [1.5],
    ],
    ids=str,
)
def test_ids_out_of_point_id_order_or_that_are_none_are_refused(ids: list) -> None:
    with pytest.raises(StagingError):
        PointIds.of(column(ids))


def test_one_select_of_ones_own_answers_with_a_frame(catalog: Catalog) -> None:
    frame = catalog.sql(
        "SELECT term, df FROM dict WHERE df >= $least ORDER BY df DESC, term LIMIT 3", {"least": 2}
    )
    assert frame.columns == ["term", "df"]
    assert dict(frame.iter_rows()) == catalog.df(frame["term"].to_list())
    assert catalog.sql("SELECT ? + 1 AS n", [41]).item() == 42
    embedding = catalog.sql("WITH v AS (SELECT * FROM vector) SELECT embedding FROM v LIMIT 1")["embedding"]
    assert embedding.dtype.shape == (DIM,)


@pytest.mark.parametrize(
    "query",
    ["DELETE FROM chunk", "CREATE TABLE t(x INT)", "CREATE TEMP TABLE t AS SELECT 1", "SET threads = 1",
     "SELECT 1; SELECT 2", "SELECT 1; DROP TABLE chunk", "DROP TABLE chunk", "COPY chunk TO '{away}'",
     "ATTACH '{away}'", "", "SELEC 1", "SELECT * FROM nowhere", "SELECT * FROM read_csv('{there}')",
     "SELECT * FROM '{there}'", "INSTALL fts", "LOAD fts", "SELECT $missing", "SELECT 'x'::INTEGER",
     "EXPORT DATABASE '{away}'", "PRAGMA force_checkpoint", "USE memory"],
)  # fmt: skip
def test_nothing_but_one_select_over_the_catalog_is_answered(
    catalog: Catalog, tmp_path: Path, query: str
) -> None:
    there, away = tmp_path / "there.csv", tmp_path / "away"
    there.write_text("a\n1\n")
    before = catalog.path.read_bytes()
    with pytest.raises(BadParameter):
        catalog.sql(query.format(there=there, away=away))
    assert not away.exists()
    assert catalog.path.read_bytes() == before
    assert catalog.count(()) == len(STORED)


def test_the_size_on_disk_is_the_files(catalog: Catalog) -> None:
    assert catalog.bytes_on_disk == catalog.path.stat().st_size > 0
