"""A new catalog file: its tables, and how it takes its place when it is whole.

The file is made in a directory beside its place, with DuckDB's spill, and moved there as the last step. A build that
was killed leaves that directory, and the next build clears it; an earlier catalog stays as it was.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.errors import BadParameter
from workbench.stores.catalog_errors import CatalogDamaged, CatalogMissing
from workbench.stores.catalog_open import NO_EXTENSIONS, attach, attach_sql

if TYPE_CHECKING:
    import duckdb

MEMORY_LIMIT = "2GB"  # issue 2: 100,000 chunks load in at most 2 GB
ROW_GROUP = 61_440
"""Rows that one thread takes at a time. DuckDB's own 122,880 make three of 373,000 chunks: on two threads the second one
idles through a third of a scan of the vectors, which takes a fifth longer."""

CHUNK = """
CREATE TABLE chunk(
  cid INTEGER PRIMARY KEY, point_id VARCHAR NOT NULL, entity_id VARCHAR NOT NULL,
  chunk_index INTEGER NOT NULL, source_type VARCHAR NOT NULL, title VARCHAR NOT NULL, source VARCHAR NOT NULL,
  text VARCHAR NOT NULL, project VARCHAR, note_type VARCHAR, tags VARCHAR[] NOT NULL, status VARCHAR,
  created VARCHAR, updated VARCHAR, path VARCHAR, metadata VARCHAR NOT NULL,
  links STRUCT(kind VARCHAR, target VARCHAR)[] NOT NULL,
  created_at TIMESTAMPTZ, updated_at TIMESTAMPTZ)
"""
JUDGED = (
    "CREATE TABLE query(query_id VARCHAR NOT NULL, text VARCHAR NOT NULL, attributes VARCHAR NOT NULL)",
    "CREATE TABLE qrel(query_id VARCHAR NOT NULL, entity_id VARCHAR NOT NULL, grade INTEGER NOT NULL)",
)


@contextmanager
def new_catalog(path: Path, memory_limit: str = MEMORY_LIMIT) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to an empty file; when the block ends well, the file takes its place at `path`.

    Raises CatalogLocked where another build of this file runs, BadParameter for a path that DuckDB cannot write.
    """
    import duckdb

    if "?" in str(path):
        # DuckDB puts the name of its log before the mark, into a directory that is not there.
        raise BadParameter("DuckDB cannot write under a path with a question mark", where=str(path))
    workplace = path.with_name(path.name + ".building")
    _clear(workplace, path.name)
    workplace.mkdir(parents=True)
    try:
        config = {**NO_EXTENSIONS, "memory_limit": memory_limit, "temp_directory": str(workplace / "spill")}
        with duckdb.connect(config=config) as con:
            con.execute(attach_sql(workplace / path.name, "made", f"ROW_GROUP_SIZE {ROW_GROUP}"))
            con.execute("USE made")
            con.execute("SET TimeZone = 'UTC'")
            yield con
            con.execute("CHECKPOINT")
        os.replace(workplace / path.name, path)
    finally:
        shutil.rmtree(workplace, ignore_errors=True)


@contextmanager
def new_vectors(con: duckdb.DuckDBPyConnection, table: str, dim: int) -> Iterator[None]:
    """The block fills the table of (cid, embedding), which is made before it."""
    con.execute("CHECKPOINT")
    # Vectors hardly compress (6 %), and uncompressed ones are a third cheaper to read one by one.
    con.execute("PRAGMA force_compression = 'uncompressed'")
    con.execute(f"CREATE TABLE {table}(cid INTEGER NOT NULL, embedding FLOAT[{dim}] NOT NULL)")
    yield
    con.execute("CHECKPOINT")
    con.execute("PRAGMA force_compression = 'auto'")


def _clear(workplace: Path, name: str) -> None:
    """Remove what a killed build left; raises CatalogLocked where that build still runs."""
    with suppress(CatalogDamaged, CatalogMissing):
        attach(workplace / name).close()
    shutil.rmtree(workplace, ignore_errors=True)
