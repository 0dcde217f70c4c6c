"""Open the catalog file read-only: attached to a private in-memory database, so that any number of readers,
in this process or others, share the file, whatever else has it open for reading."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import BadParameter
from workbench.stores.catalog.errors import RELOAD, CatalogMissing, damaged, named_errors

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

# ---- Statements of a DuckDB connection, each text parsed once: parsing takes half a millise ----

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


# ---- Open the catalog file read-only: attached to a private in-memory database, so that any ----

# Extensions cannot be had without network, and nothing may reach for it in the middle of a query.
NO_EXTENSIONS = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
READER_MEMORY = "2GB"  # holds the vectors of 1.3 million chunks of 384 dimensions or spills
HEADER_BYTES = 3 * 4096  # DuckDB storage: one main and two database headers precede the blocks
TABLES = {"chunk", "vector", "posting", "title_posting", "dict", "corpus", "query", "qrel"}


def attach_sql(path: Path, name: str, how: str = "READ_ONLY") -> str:
    """The statement that attaches a file under a name, by default only to be read."""
    return f"ATTACH '{str(path).replace(chr(39), chr(39) * 2)}' AS {name} ({how})"


def attach(path: Path) -> duckdb.DuckDBPyConnection:
    """A connection whose default database is this catalog: read-only, no file, network or extension in reach.

    A time without zone is UTC in it. Raises CatalogMissing, CatalogLocked, CatalogDamaged (a file that is cut
    short, no catalog, or wrong in its header or list of tables; a wrong block inside is found when read).
    """
    import duckdb

    if not path.is_file():
        raise CatalogMissing("there is no catalog file", where=str(path), do=RELOAD)
    spill = Path(tempfile.gettempdir()) / f"workbench-spill-{os.getpid()}"
    con = duckdb.connect(
        config={**NO_EXTENSIONS, "memory_limit": READER_MEMORY, "temp_directory": str(spill)}
    )
    try:
        with named_errors(path):
            con.execute(attach_sql(path, "catalog"))
            con.execute("USE catalog")
            con.execute("SET TimeZone = 'UTC'")
            con.execute("SET enable_external_access = false")
            blocks = con.execute(
                "SELECT total_blocks * block_size FROM pragma_database_size() WHERE database_name = 'catalog'"
            ).fetchall()
            if path.stat().st_size < HEADER_BYTES + blocks[0][0]:
                raise damaged(path, "it is cut short")
            found = {
                name
                for (name,) in con.execute(
                    "SELECT table_name FROM duckdb_tables() WHERE database_name = 'catalog'"
                ).fetchall()
            }
            if not found >= TABLES:
                raise damaged(path, f"it has no table {', '.join(sorted(TABLES - found))}")
    except BaseException:
        con.close()
        raise
    return con


class CatalogFile:
    """One reader of a catalog file. Threads may share it: their statements run one after another."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._con = attach(path)
        self._parsed = Parsed(self._con)
        self._lock = threading.Lock()

    def rows(self, sql: str, params: Mapping[str, Any] | None = None) -> list[tuple]:
        """All rows of a statement. Raises CatalogDamaged where a block turns out to be wrong."""
        with self._lock, named_errors(self.path):
            return self._parsed.rows(sql, params)

    def table(self, sql: str, params: Mapping[str, Any] | None = None) -> pa.Table:
        """All rows as an Arrow table."""
        with self._lock, named_errors(self.path):
            return self._con.sql(sql, params=params).to_arrow_table()

    def query(self, sql: str, params: Any = None) -> pa.Table:
        """A statement of the user's own. Raises BadParameter unless it is one SELECT that DuckDB accepts."""
        import duckdb

        try:
            with self._lock, named_errors(self.path):
                statements = self._con.extract_statements(sql)
                if [s.type for s in statements] != [duckdb.StatementType.SELECT]:
                    raise BadParameter(
                        "the catalog answers one SELECT at a time and is never written"
                    )
                return self._con.sql(sql, params=params).to_arrow_table()
        except duckdb.Error as error:
            raise BadParameter(
                f"DuckDB refuses the query: {error}", where=str(self.path)
            ) from error

    def close(self) -> None:
        self._con.close()
