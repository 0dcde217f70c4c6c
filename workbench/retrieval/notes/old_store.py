"""The old schema beside a catalog: a row a note, observation or relation, which holds the whole text; a full-text
index of those documents; and which chunk belongs to which row. Built in SQL, all or nothing."""

from __future__ import annotations

from pathlib import Path

from workbench.retrieval.notes.derive import made_beside
from workbench.retrieval.notes.file import CATALOG

PARAGRAPH = "\n\n"
"""What stands between two chunks in the text of their note."""

# The columns that filters name, so that one predicate serves chunks and rows.
_FACETS = ("project", "note_type", "tags", "status", "created", "updated", "path", "metadata", "created_at", "updated_at")

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
