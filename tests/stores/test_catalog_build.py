"""Building the catalog: all or nothing, the same from the same parts, and what the postings hold."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.catalog_world import DIM, made, numbered, staged, unit_rows
from helpers.points_corpus import chunks, vectors

from workbench.errors import BadParameter
from workbench.stores.catalog.build import TF_MAX, build_catalog
from workbench.stores.catalog.catalog import Catalog
from workbench.stores.catalog.errors import CatalogLocked, StagingError
from workbench.text import Tokenizer

STORED = chunks()
TABLES = ("chunk", "vector", "posting", "title_posting", "dict", "corpus", "query", "qrel")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Path], Path]:
    return staged(tmp_path_factory.mktemp("build") / "staged", STORED, vectors(len(STORED)))


@pytest.fixture
def earlier(tmp_path: Path) -> Iterator[Path]:
    """The path of a complete catalog of one chunk; at the end of the test it must still be that."""
    path = tmp_path / "home" / "catalog.duckdb"
    made(path.parent, numbered(["the earlier one"])).close()
    before = path.read_bytes()
    yield path
    assert path.read_bytes() == before


def contents(path: Path) -> dict[str, list[tuple]]:
    with Catalog.open(path) as catalog:
        return {table: catalog.sql(f"SELECT * FROM {table} ORDER BY rowid").rows() for table in TABLES}


def test_the_same_parts_make_the_same_tables_row_by_row(corpus: tuple, tmp_path: Path) -> None:
    for name in ("one", "two"):
        build_catalog(tmp_path / name / "catalog.duckdb", *corpus)
    first = contents(tmp_path / "one" / "catalog.duckdb")
    assert first == contents(tmp_path / "two" / "catalog.duckdb")
    assert len(first["chunk"]) == len(first["vector"]) == len(STORED)


def test_how_the_parts_are_cut_changes_nothing(corpus: tuple, tmp_path: Path) -> None:
    parts, rows = corpus
    whole = pq.read_table(parts[0])
    cut = []
    for number, (start, stop) in enumerate([(0, 1), (1, 200), (200, len(whole))]):
        cut.append(tmp_path / f"chunks-{number:05d}.parquet")
        pq.write_table(whole.slice(start, stop - start), cut[-1])
    build_catalog(tmp_path / "whole.duckdb", parts, rows)
    build_catalog(tmp_path / "cut.duckdb", cut, rows)
    assert contents(tmp_path / "cut.duckdb") == contents(tmp_path / "whole.duckdb")


def test_nothing_but_the_catalog_is_left_beside_it(corpus: tuple, tmp_path: Path) -> None:
    told: list[str] = []
    build_catalog(tmp_path / "new" / "catalog.duckdb", *corpus, progress=told.append)
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["catalog.duckdb"]
    assert told == ["checking vectors", "chunks", "vectors", "postings", "queries and judgements"]


def test_paths_with_marks_of_patterns_and_quotes_are_paths(tmp_path: Path) -> None:
    with made(tmp_path / "it's [a*b]; --", numbered(["text"])) as catalog:
        assert catalog.count(["text"]) == 1
    parts, rows = staged(tmp_path / "what? [a*b]{c}", numbered(["text"]), unit_rows(1))
    build_catalog(tmp_path / "catalog.duckdb", parts, rows)
    with pytest.raises(BadParameter, match="question mark"):
        build_catalog(tmp_path / "what?" / "catalog.duckdb", parts, rows)


def _rows(rows: np.ndarray, at: int, value: object) -> np.ndarray:
    changed = rows.copy()
    changed[at] = value
    return changed


@pytest.mark.parametrize(
    ("change", "named"),
    [(lambda r: _rows(r, 2, np.nan), "row 2"), (lambda r: _rows(r, 2, np.inf), "row 2"),
     (lambda r: _rows(r, 3, 0), "row 3"),
     (lambda r: _rows(r, 1, r[1] * 1.01), "row 1"),
     (lambda r: r[:-1], "4"), (lambda r: r.astype(np.float64), "float64"),
     (lambda r: r[0], "shape")],
    ids=["nan", "infinite", "zero", "not of unit length", "too few", "of doubles", "one row only"],
)  # fmt: skip
def test_bad_vectors_are_refused_with_the_row_and_leave_the_earlier_catalog(
    earlier: Path, change, named: str
) -> None:
    parts, rows = staged(earlier.parent / "next", numbered(["a b"] * 5), unit_rows(5))
    np.save(rows, change(unit_rows(5)))
    with pytest.raises(StagingError, match=named):
        build_catalog(earlier, parts, rows)
    assert not (earlier.parent / "catalog.duckdb.building").exists()


@pytest.mark.parametrize(
    ("column", "values", "named"),
    [("cid", [0, 1, 3, 2, 4], "cid 2"), ("cid", [1, 2, 3, 4, 5], "cid 1"),
     ("cid", [0, 1, 2, 3, 3], "uplicate"),
     ("point_id", ["5", "4", "6", "7", "8"], "4"), ("point_id", ["1", "1", "6", "7", "8"], "1"),
     ("point_id", ["1", "x", "6", "7", "8"], "integer"), ("metadata", ["{}", "{", "{}", "{}", "{}"], "JSON"),
     ("text", ["a", None, "b", "c", "d"], "text"), ("entity_id", None, "entity_id")],
    ids=["out of order", "not from 0", "twice", "ids out of order", "an id twice",
         "no id", "no JSON", "no text", "a column missing"],
)  # fmt: skip
def test_bad_parts_are_refused_and_leave_the_earlier_catalog(
    earlier: Path, column: str, values, named: str
) -> None:
    parts, rows = staged(earlier.parent / "next", numbered(["a b"] * 5), unit_rows(5))
    table = pq.read_table(parts[0])
    at = table.schema.get_field_index(column)
    kind = table.schema.field(column).type
    table = (
        table.remove_column(at) if values is None else table.set_column(at, column, pa.array(values, kind))
    )
    pq.write_table(table, parts[0])
    with pytest.raises(StagingError, match=named):
        build_catalog(earlier, parts, rows)
    assert not (earlier.parent / "catalog.duckdb.building").exists()


_HANGING = """
import sys, time
from pathlib import Path
from workbench.stores.catalog.build import build_catalog
def progress(step):
    if step == "postings":
        print("there", flush=True)
        time.sleep(600)
directory = Path(sys.argv[2])
parts = sorted(directory.glob("chunks-*.parquet"))
build_catalog(Path(sys.argv[1]), parts, directory / "vectors.npy", progress=progress)
"""


def test_a_killed_build_leaves_the_earlier_catalog_and_the_next_build_clears_it(
    corpus: tuple, tmp_path: Path
) -> None:
    path = tmp_path / "catalog.duckdb"
    made(tmp_path, numbered(["the earlier one"])).close()
    command = [sys.executable, "-c", _HANGING, str(path), str(corpus[1].parent)]
    building = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert building.stdout.readline() == "there\n"
        with pytest.raises(CatalogLocked, match="building"):
            build_catalog(path, *corpus)
        with Catalog.open(path) as catalog:
            assert catalog.n == 1
    finally:
        os.kill(building.pid, signal.SIGKILL)
        building.wait()
        building.stdout.close()
    assert (tmp_path / "catalog.duckdb.building").exists()
    with Catalog.open(path) as catalog:
        assert catalog.count(["earlier"]) == 1
    build_catalog(path, *corpus)
    assert not (tmp_path / "catalog.duckdb.building").exists()
    with Catalog.open(path) as catalog:
        assert catalog.n == len(STORED)


@pytest.mark.parametrize(
    "tokenizer", [Tokenizer(), Tokenizer(stop="none"), Tokenizer(stem="porter")], ids=str
)
def test_postings_and_counts_are_those_of_the_collections_own_tokenizer(
    tmp_path: Path, tokenizer: Tokenizer
) -> None:
    texts = [
        "The ferries are running",
        "a ferry ferry ran",
        "?",
        "Ședință — şedinţă",
        "RULE-A002: it's 2026-11-11",
    ]
    titles = ["The Ferry", "The Ferry", "", "½ ferries", "'; DROP TABLE dict; --"]
    stored = numbered(texts, titles)
    parts, rows = staged(tmp_path / "made", stored, unit_rows(len(stored)), tokenizer)
    build_catalog(tmp_path / "catalog.duckdb", parts, rows, tokenizer=tokenizer)
    with Catalog.open(tmp_path / "catalog.duckdb") as catalog:
        assert catalog.tokenizer == tokenizer.name
        for field, held in (
            ("posting", [c.text for c in stored]),
            ("title_posting", [c.title for c in stored]),
        ):
            expected = sorted(
                (term, cid, tf, len(tokenizer.terms(text)))
                for cid, text in enumerate(held)
                for term, tf in Counter(tokenizer.terms(text)).items()
            )
            found = catalog.sql(
                f"SELECT term, cid, tf, dl FROM {field} JOIN dict USING (term_id) ORDER BY term, cid"
            )
            assert found.rows() == expected
        lengths = [len(tokenizer.terms(c.text)) for c in stored]
        assert catalog.avgdl == sum(lengths) / len(lengths)
        assert catalog.title_avgdl == sum(len(tokenizer.terms(c.title)) for c in stored) / len(stored)


def test_postings_are_stored_by_term_and_row_and_the_dictionary_counts_them(
    corpus: tuple, tmp_path: Path
) -> None:
    build_catalog(tmp_path / "catalog.duckdb", *corpus)
    with Catalog.open(tmp_path / "catalog.duckdb") as catalog:
        for table in ("posting", "title_posting"):
            order = catalog.sql(f"SELECT term_id, cid FROM {table} ORDER BY rowid").rows()
            assert order == sorted(set(order))
        terms = catalog.sql("SELECT term FROM dict ORDER BY term_id")["term"].to_list()
        assert terms == sorted(set(terms))
        wrong = catalog.sql(
            "SELECT * FROM dict d WHERE df <> (SELECT count(*) FROM posting p WHERE p.term_id = d.term_id)"
            " OR title_df <> (SELECT count(*) FROM title_posting p WHERE p.term_id = d.term_id)"
            " OR either_df <> (SELECT count(*) FROM (SELECT cid FROM posting p WHERE p.term_id = d.term_id"
            " UNION SELECT cid FROM title_posting p WHERE p.term_id = d.term_id))"
        )
        assert wrong.is_empty()


def test_a_term_frequency_beyond_its_column_is_cut_and_the_length_is_not(tmp_path: Path) -> None:
    with made(tmp_path, numbered(["tea " * (TF_MAX + 50), "tea"])) as catalog:
        found = catalog.sql("SELECT tf, dl FROM posting ORDER BY cid").rows()
        assert found == [(TF_MAX, TF_MAX + 50), (1, 1)]
        assert catalog.dim == DIM
