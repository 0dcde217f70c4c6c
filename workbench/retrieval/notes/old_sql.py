"""The old path's statements. Each ends with its text column; weighed, with that text's stored length in bytes."""

from __future__ import annotations

from workbench.errors import BadParameter
from workbench.retrieval.notes.old_constants import LexicalUnit
from workbench.stores.catalog_sql import admit, bm25_scores, cosine_scores
from workbench.stores.sql_filters import Where

OLD_SCHEMA = "old"
"""The name under which the old schema's file is attached."""

_ROW = "source_type, entity_id"
_REST = "title, path, project, note_type, tags, status, created, updated, metadata"
_ROWS = f"{OLD_SCHEMA}.search_index"
_ASKED = "(SELECT unnest($cids::INTEGER[]) AS cid, generate_subscripts($cids::INTEGER[], 1) AS place) asked"


def full_text(unit: LexicalUnit, admitted: Where, *, weigh: bool) -> str:
    """Whole rows by full-text rank: (row, type, id, score, …, text). Parameters: terms, k1, b, limit.

    The whole document and, by a subquery over its chunks, the best of them are ranked; `unit` says which counts.
    """
    document = bm25_scores(of=f"{OLD_SCHEMA}.")
    chunks = (
        f"SELECT row AS cid, max(score) AS score FROM ({bm25_scores()}) JOIN {OLD_SCHEMA}.chunk_row USING (cid) GROUP BY row"
    )
    rank = {"larger": "greatest(d.score, coalesce(c.score, 0e0))", "document": "d.score", "chunks": "coalesce(c.score, 0e0)"}
    if unit not in rank:
        raise BadParameter(f"unknown lexical unit {unit!r}")
    ranked = f"SELECT cid, {rank[unit]} AS score FROM ({document}) d LEFT JOIN ({chunks}) c USING (cid)"
    kept = f"SEMI JOIN (SELECT cid FROM {_ROWS} WHERE {admitted.sql}) admitted USING (cid)" if admitted.sql else ""
    return (
        f"SELECT cid, {_ROW}, score, {_REST}, {_content(weigh)}"
        f" FROM (SELECT cid, score FROM ({ranked}) {kept} ORDER BY score DESC, cid LIMIT $limit::BIGINT) best"
        f" JOIN {_ROWS} USING (cid) ORDER BY score DESC, cid"
    )


def nearest(dim: int, pushed: Where) -> str:
    """(chunk, row, similarity) of the window: similarity descending, then chunk. Parameters: vector, window."""
    return (
        f"SELECT cid, row, greatest(score, 0e0)::DOUBLE FROM (SELECT cid, score FROM"
        f" ({cosine_scores(dim, admit(pushed.sql))}) ORDER BY score DESC, cid LIMIT $window::BIGINT) near"
        f" JOIN {OLD_SCHEMA}.chunk_row USING (cid) ORDER BY score DESC, cid"
    )


def chunk_texts(*, weigh: bool) -> str:
    """(chunk, text) of every chunk of the window."""
    text, source = ("bytes", f"{OLD_SCHEMA}.chunk_row") if weigh else ("text", "chunk")
    return f"SELECT cid, {text} FROM {_ASKED} JOIN {source} USING (cid) ORDER BY place"


def whole_rows(admitted: Where, *, content: bool, weigh: bool) -> str:
    """(row, type, id, …, text) of the rows asked for that the filters admit, in the order asked."""
    text = f", {_content(weigh)}" if content else ""
    return (
        f"SELECT cid, {_ROW}, {_REST}{text} FROM {_ASKED} JOIN {_ROWS} USING (cid)"
        f" WHERE {admitted.sql or 'true'} ORDER BY place"
    )


def _content(weigh: bool) -> str:
    return "content_bytes" if weigh else "content_snippet"
