"""A statement parsed once answers for every parameter it is given, and a new file's rows come in groups for every core."""

from __future__ import annotations

import duckdb
import pytest

from workbench.stores.catalog.build import ROW_GROUP, new_catalog
from workbench.stores.catalog.file import KEPT, Parsed


def test_a_text_that_was_parsed_before_takes_other_parameters_and_types():
    with duckdb.connect() as con:
        parsed = Parsed(con)
        asked = [parsed.rows("SELECT $x, typeof($x)", {"x": x}) for x in (1, "a'; DROP TABLE t", None, [1.5], 1)]
    assert asked == [[(1, "INTEGER")], [("a'; DROP TABLE t", "VARCHAR")], [(None, '"NULL"')], [([1.5], "DOUBLE[]")], [(1, "INTEGER")]]


def test_it_sees_what_changed_since_it_was_parsed():
    with duckdb.connect() as con:
        parsed = Parsed(con)
        con.execute("CREATE TABLE t AS SELECT 1 AS a")
        assert parsed.rows("SELECT * FROM t") == [(1,)]
        con.execute("DROP TABLE t")
        con.execute("CREATE TABLE t AS SELECT 'x' AS a, 2 AS b")
        assert parsed.rows("SELECT * FROM t") == [("x", 2)]


def test_it_takes_one_statement_and_forgets_the_oldest_texts():
    with duckdb.connect() as con:
        parsed = Parsed(con)
        with pytest.raises(ValueError, match="too many values"):
            parsed.rows("SELECT 1; SELECT 2")
        assert [parsed.rows(f"SELECT {n}") for n in range(2 * KEPT)] == [[(n,)] for n in range(2 * KEPT)]
        assert parsed._statements.cache_info().currsize == KEPT


def test_a_new_file_keeps_its_rows_in_groups_that_two_threads_share(tmp_path):
    with new_catalog(tmp_path / "x.duckdb") as con:
        con.execute(f"CREATE TABLE t AS SELECT range AS a FROM range({3 * ROW_GROUP})")
    with duckdb.connect(str(tmp_path / "x.duckdb"), read_only=True) as con:
        assert con.execute("SELECT count(DISTINCT row_group_id) FROM pragma_storage_info('t')").fetchall() == [(3,)]
