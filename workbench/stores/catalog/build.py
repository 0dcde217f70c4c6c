"""Build the catalog file from the staged parts and vectors: all or nothing, in bounded memory."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from workbench.errors import BadParameter
from workbench.sources.base import JudgedQuery, Qrel
from workbench.stores.catalog.errors import CatalogDamaged, CatalogMissing, StagingError
from workbench.stores.catalog.file import NO_EXTENSIONS, attach, attach_sql
from workbench.stores.catalog.ids import PointIds
from workbench.stores.catalog.sql import vector_table
from workbench.stores.filters.sql import moment_sql
from workbench.stores.filters.values import ALSO
from workbench.stores.staging import schema
from workbench.stores.vectors.checks import check_vectors, read_vectors
from workbench.text import DEFAULT, Tokenizer, well_formed
from workbench.types import as_plain

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

# ---- A new catalog file: its tables, and how it takes its place when it is whole ----

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
def new_catalog(
    path: Path, memory_limit: str = MEMORY_LIMIT
) -> Iterator[duckdb.DuckDBPyConnection]:
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
        config = {
            **NO_EXTENSIONS,
            "memory_limit": memory_limit,
            "temp_directory": str(workplace / "spill"),
        }
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


# ---- Postings in pure SQL: which term stands in which chunk how often, for the text and for ----

TF_MAX = 65_535
"""The largest term frequency that is stored; BM25 is flat long before it (tf/(tf+k1) > 0.99998)."""

TEXT_FIELD, TITLE_FIELD = "text_field", "title_field"

_WORDS = f"""
CREATE TEMP TABLE word AS
SELECT term, (row_number() OVER (ORDER BY term) - 1)::INTEGER AS term_id
FROM (SELECT unnest(string_split(terms, ' ')) AS term FROM {TEXT_FIELD}
      UNION
      SELECT unnest(string_split(terms, ' ')) AS term FROM {TITLE_FIELD})
WHERE term <> ''
"""

# A histogram a row keeps the counting local: no hash table over all (term, chunk) pairs is ever built.
_POSTINGS = """
CREATE TABLE {table} AS
SELECT word.term_id, cid, least(tf, {tf_max})::USMALLINT AS tf, dl
FROM (SELECT cid, len(split)::UINTEGER AS dl,
             unnest(map_keys(counts)) AS term, unnest(map_values(counts)) AS tf
      FROM (SELECT cid, split, list_histogram(split) AS counts
            FROM (SELECT cid, string_split(terms, ' ') AS split FROM {field} WHERE terms <> '')))
JOIN word USING (term)
ORDER BY word.term_id, cid
"""

# In either field = in the text + in the title - in both.
_DICT = """
INSERT INTO dict
SELECT term, term_id, coalesce(t.df, 0), coalesce(h.df, 0),
       coalesce(t.df, 0) + coalesce(h.df, 0) - coalesce(b.df, 0)
FROM word
LEFT JOIN (SELECT term_id, count(*) AS df FROM posting GROUP BY term_id) t USING (term_id)
LEFT JOIN (SELECT term_id, count(*) AS df FROM title_posting GROUP BY term_id) h USING (term_id)
LEFT JOIN (SELECT term_id, count(*) AS df FROM title_posting JOIN posting USING (term_id, cid)
           GROUP BY term_id) b USING (term_id)
ORDER BY term_id
"""

_CORPUS = """
CREATE TABLE corpus AS
SELECT n, coalesce(words / nullif(n, 0), 0)::DOUBLE AS avgdl,
       coalesce(title_words / nullif(n, 0), 0)::DOUBLE AS title_avgdl, $tokenizer::VARCHAR AS tokenizer
FROM (SELECT count(*) AS n FROM chunk),
     (SELECT {words} AS words FROM {text}), (SELECT {words} AS title_words FROM {title})
"""
_COUNT_WORDS = "sum(len(string_split(terms, ' '))) FILTER (WHERE terms <> '')"


def build_postings(con: duckdb.DuckDBPyConnection, tokenizer: str) -> None:
    """Make `posting`, `title_posting`, `dict` and `corpus` from the relations TEXT_FIELD and TITLE_FIELD.

    `dl` counts terms with repeats; the two averages run over all chunks, an empty one as 0.
    """
    con.execute(_WORDS)
    for table, field in (("posting", TEXT_FIELD), ("title_posting", TITLE_FIELD)):
        con.execute(_POSTINGS.format(table=table, field=field, tf_max=TF_MAX))
    count_postings(con, tokenizer, _COUNT_WORDS, TEXT_FIELD, TITLE_FIELD)


def count_postings(
    con: duckdb.DuckDBPyConnection, tokenizer: str, words: str, text: str, title: str
) -> None:
    """Make `dict` and `corpus` from `chunk`, the postings and the temporary table `word` (term, term_id), which goes.

    `words` counts the words of a field in SQL, over the relations `text` and `title`.
    """
    con.execute(
        "CREATE TABLE dict(term VARCHAR PRIMARY KEY, term_id INTEGER NOT NULL, df INTEGER NOT NULL,"
        " title_df INTEGER NOT NULL, either_df INTEGER NOT NULL)"
    )
    con.execute(_DICT)
    con.execute(_CORPUS.format(words=words, text=text, title=title), {"tokenizer": tokenizer})
    con.execute("DROP TABLE word")


# ---- Build the catalog file from the staged parts and vectors: all or nothing, in bounded m ----

BATCH_ROWS = 8192  # 12 MB of vectors at 384 dimensions
UNIT_TOLERANCE = 1e-3  # float32 rounding of a norm over some hundred dimensions is below 1e-6

# The moments are parsed once, here: a range of times then costs as little as one of numbers.
_FILL = f"""
INSERT INTO chunk
SELECT cid, point_id, entity_id, chunk_index, source_type, coalesce(title, ''), coalesce(source, ''), text,
       project, note_type, coalesce(tags, []), status, created, updated, path, coalesce(metadata, '{{}}'),
       coalesce(links, []), {moment_sql("created")}, {moment_sql("updated")}
FROM staged
"""

Progress = Callable[[str], None]


def build_catalog(
    path: Path,
    parts: Sequence[Path],
    vectors: Path,
    queries: Sequence[JudgedQuery] = (),
    qrels: Sequence[Qrel] = (),
    *,
    also: Path | None = None,
    tokenizer: Tokenizer = DEFAULT,
    memory_limit: str = MEMORY_LIMIT,
    progress: Progress | None = None,
) -> None:
    """Make the catalog at `path` of the staged Parquet parts (in cid order) and `vectors` (.npy, row = cid).

    `also` are the vectors of a second model, which get a table of their own. `tokenizer` is the one that made the
    column `terms`; the titles are split by it here. `progress` is told the name of each step as it begins.

    Raises StagingError where parts and vectors break the contract: rows out of cid or point-id order,
    metadata that is not JSON, a vector that is not of unit length; CatalogLocked where another build of this
    file runs; BadParameter for a path that DuckDB cannot write. Nothing is then left at `path` but what was
    there.
    """
    say = progress or (lambda step: None)
    say("checking vectors")
    matrix = _unit_vectors(Path(vectors))
    second = None if also is None else _unit_vectors(also)
    if second is not None and len(second) != len(matrix):
        raise StagingError(
            f"the second model has {len(second)} vectors for {len(matrix)}", where=str(also)
        )
    with new_catalog(Path(path), memory_limit) as con:
        _fill_chunks(con, parts, len(matrix), say)
        say("vectors")
        _fill_vectors(con, matrix, vector_table())
        if second is not None:
            _fill_vectors(con, second, vector_table(ALSO))
        say("postings")
        _split_titles(con, tokenizer)
        build_postings(con, tokenizer.name)
        say("queries and judgements")
        _fill_judgements(con, queries, qrels)


def _unit_vectors(path: Path) -> np.ndarray:
    """The staged matrix (n, dim) float32, memory-mapped, every row checked to be of unit length."""
    matrix = read_vectors(path)
    check_vectors(matrix, where=str(path))
    if matrix.dtype != np.float32:
        raise StagingError(f"the vectors are {matrix.dtype}, not float32", where=str(path))
    for start in range(0, len(matrix), BATCH_ROWS):
        rows = matrix[start : start + BATCH_ROWS]
        norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        bad = np.flatnonzero(np.abs(norms - 1) > UNIT_TOLERANCE)
        if bad.size:
            raise StagingError(
                f"the vector of row {start + bad[0]} has length {norms[bad[0]]:.3g}, not 1",
                where=str(path),
            )
    return matrix


def _fill_chunks(
    con: duckdb.DuckDBPyConnection, parts: Sequence[Path], rows: int, say: Progress
) -> None:
    import duckdb

    broken_contract = (
        duckdb.InvalidInputException,
        duckdb.BinderException,
        duckdb.DataError,
        duckdb.IntegrityError,
    )
    say("chunks")
    con.execute(CHUNK)
    try:
        if parts:
            con.read_parquet([_as_glob(p) for p in parts]).create_view("staged")
        else:  # a collection without chunks has no part
            con.register("staged", schema().empty_table())
        con.execute(_FILL)
    except broken_contract as error:
        where = str(parts[0].parent)
        raise StagingError(f"the staged parts break the contract: {error}", where=where) from error
    con.execute(f"CREATE TEMP VIEW {TEXT_FIELD} AS SELECT cid, terms FROM staged")
    count, astray = con.execute(
        "SELECT count(*), min(cid) FILTER (WHERE cid <> rowid) FROM chunk"
    ).fetchall()[0]
    if count != rows:
        raise StagingError(f"the parts hold {count} chunks, the vectors {rows}")
    if astray is not None:
        raise StagingError(
            f"cid {astray} is out of place", do="cids run 0, 1, 2, … through the parts"
        )
    PointIds.of(con.sql("SELECT point_id FROM chunk ORDER BY cid").to_arrow_table().column(0))
    broken = con.execute(
        "SELECT point_id FROM chunk WHERE NOT json_valid(metadata) ORDER BY cid LIMIT 1"
    ).fetchall()
    if broken:
        raise StagingError(f"the metadata of point {broken[0][0]} is not JSON")


def _fill_vectors(con: duckdb.DuckDBPyConnection, matrix: np.ndarray, table: str) -> None:
    import pyarrow as pa

    dim = matrix.shape[1]
    schema = pa.schema([("cid", pa.int32()), ("embedding", pa.list_(pa.float32(), dim))])

    def batches() -> Iterator[pa.RecordBatch]:
        for start in range(0, len(matrix), BATCH_ROWS):
            rows = np.ascontiguousarray(matrix[start : start + BATCH_ROWS])
            cids = pa.array(np.arange(start, start + len(rows), dtype=np.int32))
            yield pa.record_batch(
                [cids, pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), dim)],
                schema=schema,
            )

    with new_vectors(con, table, dim):
        _insert(con, table, pa.RecordBatchReader.from_batches(schema, batches()))


def _split_titles(con: duckdb.DuckDBPyConnection, tokenizer: Tokenizer) -> None:
    """The relation TITLE_FIELD (cid, terms): every distinct title is split once."""
    import pyarrow as pa

    schema = pa.schema([("title", pa.string()), ("terms", pa.string())])
    titles = con.sql("SELECT DISTINCT title FROM chunk WHERE title <> ''").to_arrow_table()

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in titles.to_batches(max_chunksize=BATCH_ROWS):
            terms = [" ".join(tokenizer.terms(t)) for t in batch.column(0).to_pylist()]
            yield pa.record_batch([batch.column(0), pa.array(terms, pa.string())], schema=schema)

    con.execute("CREATE TEMP TABLE title_terms(title VARCHAR, terms VARCHAR)")
    _insert(con, "title_terms", pa.RecordBatchReader.from_batches(schema, batches()))
    con.execute(
        f"CREATE TEMP VIEW {TITLE_FIELD} AS SELECT cid, terms FROM chunk JOIN title_terms USING (title)"
    )


def _fill_judgements(
    con: duckdb.DuckDBPyConnection, queries: Sequence[JudgedQuery], qrels: Sequence[Qrel]
) -> None:
    """Queries and judgements in the order given; a query's attributes as JSON."""
    import pyarrow as pa

    for table in JUDGED:
        con.execute(table)
    asked = [
        (
            well_formed(q.id),
            well_formed(q.text),
            well_formed(json.dumps(as_plain(q.attributes), sort_keys=True)),
        )
        for q in queries
    ]
    judged = [(well_formed(r.query_id), well_formed(r.entity_id), r.grade) for r in qrels]
    text, grade = pa.string(), pa.int32()
    _insert(con, "query", _table(asked, {"query_id": text, "text": text, "attributes": text}))
    _insert(con, "qrel", _table(judged, {"query_id": text, "entity_id": text, "grade": grade}))


def _table(rows: list[tuple], types: dict[str, pa.DataType]) -> pa.Table:
    import pyarrow as pa

    columns = zip(*rows, strict=True) if rows else ((),) * len(types)
    arrays = [pa.array(c, t) for c, t in zip(columns, types.values(), strict=True)]
    return pa.table(arrays, names=list(types))


def _insert(
    con: duckdb.DuckDBPyConnection, table: str, rows: pa.Table | pa.RecordBatchReader
) -> None:
    con.register("incoming", rows)
    con.execute(f"INSERT INTO {table} SELECT * FROM incoming")
    con.unregister("incoming")


def _as_glob(path: Path) -> str:
    """A path that `read_parquet`, which expands patterns, takes as it stands."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in str(path))
