"""One read-only DuckDB connection over a catalog and the notes files beside it, each attached under its name."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.stores.catalog.errors import CatalogMissing, named_errors
from workbench.stores.catalog.file import NO_EXTENSIONS, READER_MEMORY, Parsed, attach_sql

if TYPE_CHECKING:
    import pyarrow as pa

CATALOG = "catalog"


class NotesFile:
    """`catalog` is the default database; the others are named `alias.table`. Threads may share it: their
    statements run one after another."""

    def __init__(self, catalog: Path, beside: Mapping[str, Path] | None = None) -> None:
        """Raises CatalogMissing, CatalogLocked, CatalogDamaged."""
        import duckdb

        self.path = catalog
        self._lock = threading.Lock()
        self._run = threading.local()
        self._con = duckdb.connect(config={**NO_EXTENSIONS, "memory_limit": READER_MEMORY})
        self._parsed = Parsed(self._con)
        try:
            for alias, path in {CATALOG: catalog, **(beside or {})}.items():
                if not path.is_file():
                    raise CatalogMissing(
                        "there is no such file", where=str(path), do="Load or build it again"
                    )
                with named_errors(path):
                    self._con.execute(attach_sql(path, alias))
            self._con.execute(f"USE {CATALOG}")
            self._con.execute("SET TimeZone = 'UTC'")
            self._con.execute("SET enable_external_access = false")
        except BaseException:
            self.close()
            raise

    def rows(self, sql: str, params: Mapping[str, Any] | None = None) -> list[tuple]:
        """All rows of a statement."""
        self._run.statements = self.statements + 1
        with self._lock, named_errors(self.path):
            return self._parsed.rows(sql, params)

    @property
    def statements(self) -> int:
        """How many statements this thread has run."""
        return getattr(self._run, "statements", 0)

    def table(self, sql: str, params: Mapping[str, Any] | None = None) -> pa.Table:
        """All rows as an Arrow table."""
        with self._lock, named_errors(self.path):
            return self._con.sql(sql, params=params).to_arrow_table()

    def close(self) -> None:
        with suppress(AttributeError):
            self._con.close()
