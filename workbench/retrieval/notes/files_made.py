"""Files made of a catalog in SQL, each all or nothing: a smaller collection, notes cut in parts, another layout."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.errors import BadParameter
from workbench.retrieval.notes.duckdb import NARROW_FACETS, ONE_TABLE, TWO_TABLES, Layout
from workbench.retrieval.notes.file import CATALOG
from workbench.retrieval.notes.sqlite import build_sqlite
from workbench.stores.catalog.build import new_catalog
from workbench.stores.catalog.errors import named_errors
from workbench.stores.catalog.file import attach_sql
from workbench.stores.locks import NotWritable, Scratch, StorageError, exclusive, storage_errors
from workbench.stores.seal import SEAL, DamagedPoints, read_seal, write_seal

if TYPE_CHECKING:
    import duckdb

    from workbench.retrieval.search import Collection

# ---- Files made of a catalog in SQL, each all or nothing: a smaller collection, notes cut i ----

MEMORY_LIMIT = "3GB"
"""The notes of 300 MB are sorted by row when the old schema is made."""

_FACET_COLUMNS = "cid, source_type, entity_id, project, note_type, tags, status, created, updated, path, metadata, created_at, updated_at"
_UNCOMPRESSED = "PRAGMA force_compression = 'uncompressed'"
_COMPRESSED = "PRAGMA force_compression = 'auto'"


@contextmanager
def made_beside(catalog: Path, path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to a new file, the catalog attached; the file takes its place when the block has ended well.

    Raises the catalog's named errors.
    """
    with new_catalog(path, MEMORY_LIMIT) as con, named_errors(catalog):
        con.execute(attach_sql(catalog, CATALOG))
        yield con
        con.execute(f"DETACH {CATALOG}")


def build_layout(catalog: Path, path: Path, layout: Layout) -> None:
    """The tables of a layout apart from the postings, which are the same in each."""
    steps = {
        # Compressed as DuckDB chooses: an array takes no setting of its own, and with all of it uncompressed the vectors of
        # all chunks take two thirds of the time, but a search filtered by tags a third more.
        ONE_TABLE.name: (
            f"CREATE TABLE unit AS SELECT c.*, v.embedding FROM {CATALOG}.chunk c JOIN {CATALOG}.vector v USING (cid) ORDER BY cid",
            _keyed("unit"),
        ),
        TWO_TABLES.name: (
            f"CREATE TABLE chunk AS SELECT * FROM {CATALOG}.chunk ORDER BY cid",
            _keyed("chunk"),
            "CHECKPOINT",
            _UNCOMPRESSED,
            f"CREATE TABLE vector AS SELECT * FROM {CATALOG}.vector ORDER BY cid",
            "CHECKPOINT",
            _COMPRESSED,
        ),
        NARROW_FACETS.name: (
            f"CREATE TABLE facet AS SELECT {_FACET_COLUMNS} FROM {CATALOG}.chunk ORDER BY cid",
        ),
    }
    if layout.name not in steps:
        raise BadParameter(f"unknown layout {layout.name!r}", do=f"Known: {', '.join(steps)}")
    _run(catalog, path, steps[layout.name])


def cut_catalog(catalog: Path, path: Path, *, share: float = 1.0, parts: int = 1) -> None:
    """A smaller collection: the first notes that hold this share of the chunks, each note cut in `parts`.

    A note of fewer sections than parts becomes as many notes as it has sections; its observations and relations
    stay as they are. Term numbers are the catalog's; frequencies and lengths are counted anew.
    """
    if not 0 < share <= 1 or parts < 1:
        raise BadParameter(
            f"share {share} and parts {parts} cannot be",
            do="A share is above 0 to 1, parts at least 1",
        )
    part = f"(chunk_index * {parts:d} // count(*) OVER note)"
    cut = parts > 1
    renamed = (
        f"CASE WHEN source_type = 'entity' THEN entity_id || '~' || {part} ELSE entity_id END"
        if cut
        else "entity_id"
    )
    within = (
        "row_number() OVER (PARTITION BY source_type, entity_id ORDER BY cid) - 1"
        if cut
        else "chunk_index"
    )
    steps = (
        f"""CREATE TABLE chunk AS SELECT * REPLACE (({within})::INTEGER AS chunk_index) FROM (
              SELECT * REPLACE ({renamed} AS entity_id) FROM {CATALOG}.chunk WHERE cid < $cut
              WINDOW note AS (PARTITION BY source_type, entity_id)) ORDER BY cid""",
        _keyed("chunk"),
        "CHECKPOINT",
        _UNCOMPRESSED,
        f"CREATE TABLE vector AS SELECT * FROM {CATALOG}.vector WHERE cid < $cut ORDER BY cid",
        "CHECKPOINT",
        _COMPRESSED,
        f"CREATE TABLE posting AS SELECT * FROM {CATALOG}.posting WHERE cid < $cut ORDER BY term_id, cid",
        f"""CREATE TABLE dict AS SELECT term, term_id, held.df FROM {CATALOG}.dict
              JOIN (SELECT term_id, count(*)::INTEGER AS df FROM posting GROUP BY term_id) held USING (term_id)
              ORDER BY term_id""",
        "ALTER TABLE dict ADD PRIMARY KEY (term)",
        f"""CREATE TABLE corpus AS SELECT held.n, coalesce(words, 0) / held.n AS avgdl, tokenizer
              FROM {CATALOG}.corpus, (SELECT sum(tf) AS words FROM posting), (SELECT count(*) AS n FROM chunk) held""",
    )
    _run(catalog, path, steps, share)


def _run(catalog: Path, path: Path, steps: Sequence[str], share: float = 1.0) -> None:
    with made_beside(catalog, path) as con:
        cut = _cut(con, share)
        for step in steps:
            con.execute(step.replace("$cut", str(cut)))


def _keyed(table: str) -> str:
    """As the catalog's chunks are: a page's ten rows are read by the key."""
    return f"ALTER TABLE {table} ADD PRIMARY KEY (cid)"


def _cut(con: duckdb.DuckDBPyConnection, share: float) -> int:
    """The first cid that is left out: where a note begins, at the share or behind it."""
    sql = f"""SELECT min(cid) FROM {CATALOG}.chunk WHERE source_type = 'entity' AND chunk_index = 0
                AND cid >= $share * (SELECT count(*) FROM {CATALOG}.chunk)"""
    found = con.execute(sql, {"share": share}).fetchall()[0][0]
    return (
        con.execute(f"SELECT count(*) FROM {CATALOG}.chunk").fetchall()[0][0]
        if found is None
        else found
    )


# ---- The old schema beside a catalog: a row a note, observation or relation, which holds th ----

PARAGRAPH = "\n\n"
"""What stands between two chunks in the text of their note."""

# The columns that filters name, so that one predicate serves chunks and rows.
_FACETS = (
    "project",
    "note_type",
    "tags",
    "status",
    "created",
    "updated",
    "path",
    "metadata",
    "created_at",
    "updated_at",
)

_ROWS = f"""
CREATE TABLE search_index AS
SELECT (row_number() OVER (ORDER BY first_cid) - 1)::INTEGER AS cid, * EXCLUDE (first_cid),
       strlen(content_snippet)::INTEGER AS content_bytes
FROM (SELECT min(cid) AS first_cid, source_type, entity_id, arg_min(title, chunk_index) AS title,
             string_agg(text, '{PARAGRAPH}' ORDER BY chunk_index) AS content_snippet,
             {", ".join(f"arg_min({name}, chunk_index) AS {name}" for name in _FACETS)}
      FROM {CATALOG}.chunk GROUP BY source_type, entity_id)
ORDER BY cid
"""
_STEPS = (
    _ROWS,
    f"""CREATE TABLE chunk_row AS
    SELECT c.cid, r.cid AS row, strlen(c.text)::INTEGER AS bytes
    FROM {CATALOG}.chunk c JOIN search_index r USING (source_type, entity_id) ORDER BY c.cid""",
    f"""CREATE TABLE posting AS
    SELECT term_id, row AS cid, sum(tf)::UINTEGER AS tf, any_value(length)::UINTEGER AS dl
    FROM {CATALOG}.posting JOIN chunk_row USING (cid) JOIN (
      SELECT row, sum(dl) AS length FROM chunk_row JOIN (
        SELECT cid, any_value(dl) AS dl FROM {CATALOG}.posting GROUP BY cid) USING (cid) GROUP BY row) USING (row)
    GROUP BY term_id, row ORDER BY term_id, row""",
    f"""CREATE TABLE dict AS
    SELECT d.term, d.term_id, held.df FROM {CATALOG}.dict d
    JOIN (SELECT term_id, count(*)::INTEGER AS df FROM posting GROUP BY term_id) held USING (term_id) ORDER BY d.term_id""",
    "ALTER TABLE dict ADD PRIMARY KEY (term)",
    f"""CREATE TABLE corpus AS
    SELECT count(*) AS n, (SELECT n * avgdl FROM {CATALOG}.corpus) / count(*) AS avgdl FROM search_index""",
)


def build_old(catalog: Path, path: Path) -> None:
    """Make the old schema of a catalog at `path`; what stood there stays until the new one is whole.

    A row's text is its chunks' texts one after the other, so a reader's overlap stands in it twice; its length in
    terms is the sum of its chunks'.
    """
    with made_beside(catalog, path) as con:
        for step in _STEPS:
            con.execute(step)


# ---- Files that a notes path needs beside a collection's catalog, made when they are first  ----

_GROWTH = 2  # the file is at most about as large as the catalog, and is built in one more
WAIT = 600.0
"""Seconds that a search waits for another one that makes the same file: at 373,000 chunks it takes minutes."""


def old_schema(collection: Collection) -> Path:
    """The old path's schema (see build_old)."""
    return _made(collection, "old.duckdb", build_old)


def sqlite_file(collection: Collection) -> Path:
    """The collection as one SQLite file (see build_sqlite)."""
    return _made(collection, "sqlite", build_sqlite)


def _made(collection: Collection, ending: str, build: Callable[[Path, Path], None]) -> Path:
    """The file beside the catalog, named by the content that it was made of; it goes when its generation does. Where it
    cannot be written there, it is made in a temporary directory for this collection as it is open.

    Raises Locked, StorageError, and what `build` does.
    """
    catalog = Path(collection.stores.catalog.path)
    try:
        return _beside(collection, catalog, ending, build)
    except (NotWritable, StorageError):  # a home that is read-only or full
        scratch = collection.kept(
            f"scratch {ending}", lambda: Scratch(catalog.stat().st_size * _GROWTH)
        )
        path = scratch.path / f"notes.{ending}"
        if not path.is_file():
            build(catalog, path)
        return path


def _beside(
    collection: Collection, catalog: Path, ending: str, build: Callable[[Path, Path], None]
) -> Path:
    path = catalog.with_name(f"notes-{collection.inputs['content'][:12]}.{ending}")
    if not _whole(path):
        with exclusive(path, f"making {path.name}", wait=WAIT), storage_errors(path):
            if not _whole(path):
                path.unlink(missing_ok=True)
                build(catalog, path)
                write_seal(path.parent, [path], {}, f"{path.name}.{SEAL}")
    return path


def _whole(path: Path) -> bool:
    """Whether the file is there as it was made; it is made again where it is damaged."""
    try:
        read_seal(path.parent, seal=f"{path.name}.{SEAL}")
    except DamagedPoints:
        return False
    return True
