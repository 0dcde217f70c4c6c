"""A catalog as one SQLite file: chunks, FTS5 over their terms, and vec0 with the facets that it can filter by."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from workbench.retrieval.notes.duck import tokenizer_of
from workbench.retrieval.notes.file import NotesFile
from workbench.retrieval.notes.sqlite_filters import ABSENT, NO_MOMENT
from workbench.retrieval.notes.sqlite_open import connect

BATCH = 2_000

# The tokenizer's terms come joined by blanks; FTS5 must split at nothing else. Contentless, and detail=full, without
# which bm25() is wrong.
_SCHEMA = """
CREATE TABLE chunk(cid INTEGER PRIMARY KEY, point_id TEXT, entity_id TEXT, chunk_index INTEGER, source_type TEXT,
  title TEXT, text TEXT, project TEXT, note_type TEXT, tags TEXT, status TEXT, path TEXT, metadata TEXT,
  created TEXT, updated TEXT, created_at REAL, updated_at REAL);
CREATE TABLE corpus(tokenizer TEXT, dim INTEGER);
CREATE VIRTUAL TABLE fts USING fts5(terms, content='',
  tokenize="unicode61 remove_diacritics 0 categories 'L* N* M* Co'");
CREATE VIRTUAL TABLE vec USING vec0(cid INTEGER PRIMARY KEY, embedding FLOAT[{dim}] distance_metric=cosine,
  source_type TEXT, project TEXT, note_type TEXT, status TEXT, created_at FLOAT, updated_at FLOAT);
"""
_COLUMNS = "cid, point_id, entity_id, chunk_index, source_type, title, text, project, note_type, tags, status, path, metadata, created, updated"


def build_sqlite(catalog: Path, path: Path) -> None:
    """Make the file at `path`, all or nothing. Raises the catalog's named errors, NotAvailable without sqlite-vec."""
    source = NotesFile(catalog)
    workplace = path.with_name(path.name + ".building")
    shutil.rmtree(workplace, ignore_errors=True)
    workplace.mkdir(parents=True)
    try:
        ((named,),) = source.rows("SELECT tokenizer FROM corpus")
        ((kind,),) = source.rows("SELECT typeof(embedding) FROM vector LIMIT 1")
        dim = int(kind.removeprefix("FLOAT[").removesuffix("]"))
        con = connect(workplace / path.name)
        try:
            con.executescript(_SCHEMA.format(dim=dim))
            con.execute("INSERT INTO corpus VALUES (?, ?)", (named, dim))
            terms = tokenizer_of(named).terms
            for rows, vectors in _batches(source, dim):
                con.executemany(f"INSERT INTO chunk VALUES ({', '.join('?' * 15)}, moment(?), moment(?))", [(*r, r[13], r[14]) for r in rows])
                con.executemany("INSERT INTO fts(rowid, terms) VALUES (?, ?)", [(r[0], " ".join(terms(r[6]))) for r in rows])
                con.executemany(
                    "INSERT INTO vec VALUES (?, ?, ?, ?, ?, ?, coalesce(moment(?), ?), coalesce(moment(?), ?))",
                    [
                        (r[0], v.tobytes(), *(ABSENT if r[c] is None else r[c] for c in (4, 7, 8, 10)), r[13], NO_MOMENT, r[14], NO_MOMENT)
                        for r, v in zip(rows, vectors, strict=True)
                    ],
                )
            con.execute("INSERT INTO fts(fts) VALUES ('optimize')")
            con.commit()
        finally:
            con.close()
        os.replace(workplace / path.name, path)
    finally:
        source.close()
        shutil.rmtree(workplace, ignore_errors=True)


def _batches(source: NotesFile, dim: int) -> Iterator[tuple[list[tuple], np.ndarray]]:
    """Rows of `chunk` with their tags as JSON, and their vectors (n, dim) float32, in cid order."""
    ((size,),) = source.rows("SELECT count(*) FROM chunk")
    for start in range(0, size, BATCH):
        within = {"start": start, "stop": start + BATCH}
        sql = f"SELECT {_COLUMNS} FROM chunk WHERE cid >= $start AND cid < $stop ORDER BY cid"
        rows = [(*r[:9], json.dumps(r[9], ensure_ascii=False), *r[10:]) for r in source.rows(sql, within)]
        found = source.table("SELECT embedding FROM vector WHERE cid >= $start AND cid < $stop ORDER BY cid", within).column(0)
        yield rows, np.concatenate([part.flatten().to_numpy() for part in found.chunks]).reshape(-1, dim)
