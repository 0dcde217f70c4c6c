"""The new path's one statement on DuckDB: two filtered legs, fused and grouped, ids only.

Parameters: terms, k1, b, vector, k_fts, k_vec, first, rows, and those of the filters.
"""

from __future__ import annotations

from workbench.retrieval.notes.fusion_sql import double, fused_sql
from workbench.retrieval.notes.layouts import Layout
from workbench.retrieval.notes.request import Ask, Floors, Returns
from workbench.stores.catalog_sql import bm25_scores

NOTE_KEY = "note"
"""The metadata key under which an observation or relation names its note (sources.markdown)."""

_ORDER = "score DESC, cid"
LEGS = 2
"""A chunk that both legs admitted stands twice among a row's best."""


def lexical_leg(layout: Layout, where: str) -> str:
    """The k_fts best admitted chunks by BM25: (cid, score), score descending, then cid."""
    return f"SELECT cid, score FROM ({bm25_scores(layout.admit(where))}) ORDER BY {_ORDER} LIMIT $k_fts::BIGINT"


def vector_leg(layout: Layout, dim: int, where: str, floors: Floors, *, asked: bool) -> str:
    """The k_vec nearest admitted chunks, none below the floor: (cid, score); empty where nothing was embedded."""
    if not asked:
        return "SELECT NULL::INTEGER AS cid, NULL::DOUBLE AS score WHERE false"
    leg = f"SELECT cid, score FROM ({layout.cosines(dim, where)}) ORDER BY {_ORDER} LIMIT $k_vec::BIGINT"
    return leg if floors.every is None else f"SELECT * FROM ({leg}) WHERE score >= {double(floors.every)}"


def numbered(leg: str, chunk: str, only: str = "true") -> str:
    """A leg's chunks as `Leg` has them, best first; `only` keeps some of them, at the ranks that they have among all."""
    return (
        "SELECT point_id, place, score, source_type, entity_id, chunk_index"
        f" FROM (SELECT cid, score, row_number() OVER (ORDER BY {_ORDER}) AS place FROM ({leg}) leg) placed"
        f" JOIN {chunk} USING (cid) WHERE {only} ORDER BY place"
    )


def ranking(ask: Ask, layout: Layout, dim: int, where: str) -> str:
    """$rows rows of the fused ranking behind its $first ones: (type, id, score, chunks, fts, vec).

    `chunks` are the row's best ones by their share in a leg, then cid, one of both legs twice; `fts` and `vec` are how many
    chunks each leg admitted, the same on every row.
    """
    kind, key = _key(ask.returns)
    admitted, read, by = layout.once(where)
    return f"""
WITH {admitted}
fts AS MATERIALIZED ({lexical_leg(read, by)}),
vec AS MATERIALIZED ({vector_leg(read, dim, by, ask.floors, asked=ask.vector is not None)}),
note AS (
  SELECT {kind} AS type, {key} AS id, max(fs) AS fs, max(vs) AS vs,
         arg_max(cid, (coalesce(fs, vs), -cid), {LEGS * ask.chunks:d}) AS chunks
  FROM (SELECT cid, score / (SELECT max(score) FROM fts) AS fs, NULL::DOUBLE AS vs FROM fts
        UNION ALL SELECT cid, NULL, greatest(score, 0e0) FROM vec) share JOIN {layout.chunk} USING (cid)
  GROUP BY ALL)
SELECT type, id, score, chunks, (SELECT count(*) FROM fts), (SELECT count(*) FROM vec)
FROM ({fused_sql("note", ask.fusion)}) scored WHERE {supported(ask.floors, "fts")}
ORDER BY score DESC, type, id LIMIT $rows::BIGINT OFFSET $first::BIGINT"""


def _key(returns: Returns) -> tuple[str, str]:
    """The SQL of a row's type and id."""
    if returns == "itself":
        return "source_type", "entity_id"
    note = f"json_extract_string(metadata, '/{NOTE_KEY}')"
    return "'entity'", f"CASE WHEN source_type = 'entity' THEN entity_id ELSE coalesce({note}, entity_id) END"


def supported(floors: Floors, leg: str) -> str:
    """The predicate that a row without lexical support must meet; `leg` names the full-text leg."""
    apart = floors.alone if floors.alone is not None else floors.unsupported
    if apart is None:
        return "true"
    beside = floors.unsupported if floors.unsupported is not None else -1.0
    return (
        f"fs IS NOT NULL OR vs >= CASE WHEN (SELECT count(*) FROM {leg}) = 0"
        f" THEN {double(apart)} ELSE {double(beside)} END"
    )
