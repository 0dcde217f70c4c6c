"""Statements of a DuckDB connection, each text parsed once: parsing takes half a millisecond of a long one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import duckdb

KEPT = 256
"""Texts: values are parameters, so a search of one shape has one text."""


class Parsed:
    """A connection as seen by its readers. One thread at a time."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self._con = con
        self._statements = lru_cache(KEPT)(con.extract_statements)

    def rows(self, sql: str, params: Mapping[str, Any] | None = None) -> list[tuple]:
        """All rows of one statement."""
        (statement,) = self._statements(sql)
        return self._con.execute(statement, params).fetchall()
