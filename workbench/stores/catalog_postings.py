"""Postings in pure SQL: which term stands in which chunk how often, for the text and for the title.

Both fields come as (cid, terms) with the terms joined by one blank, and share one dictionary. Terms are
numbered in the order of their code points; postings are stored by (term_id, cid), so that the zone maps of a
term's rows are narrow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

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


def count_postings(con: duckdb.DuckDBPyConnection, tokenizer: str, words: str, text: str, title: str) -> None:
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
