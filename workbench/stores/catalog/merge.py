"""A catalog made of another one: less some of its rows, and with those of a second one; nothing is read again.

What stands in the new file is what a build of all its chunks would put there: rows numbered in point-id order, terms
in the order of their code points, no term that no chunk holds, every count and mean over what is there now.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.stores.catalog.build import (
    CHUNK,
    JUDGED,
    MEMORY_LIMIT,
    count_postings,
    new_catalog,
    new_vectors,
)
from workbench.stores.catalog.catalog import Catalog
from workbench.stores.catalog.file import attach_sql
from workbench.stores.catalog.sql import vector_table
from workbench.stores.points.staged import point_id_of
from workbench.stores.staging import FACTS, encoded
from workbench.types import Chunk, Facets

if TYPE_CHECKING:
    import duckdb

# ---- A catalog made of another one: less some of its rows, and with those of a second one;  ----

STANDING, ADDED = "standing", "added"
SIDES = (STANDING, ADDED)

# Each row's new number: integers ascending, then UUIDs, as Qdrant orders points.
_PLACES = f"""
CREATE TEMP TABLE place AS
SELECT side, was, (row_number() OVER (ORDER BY try_cast(point_id AS UBIGINT) NULLS LAST, point_id) - 1)::INTEGER AS cid
FROM (SELECT '{STANDING}' AS side, cid AS was, point_id FROM {STANDING}.chunk ANTI JOIN removed USING (cid)
      UNION ALL SELECT '{ADDED}', cid, point_id FROM {ADDED}.chunk)
"""
_POSTINGS = ("posting", "title_posting")
_WORDS = "sum(dl)"


def merge_catalogs(
    path: Path,
    standing: Path,
    removed: Sequence[int],
    added: Path,
    *,
    memory_limit: str = MEMORY_LIMIT,
) -> None:
    """Make the catalog at `path`: the rows of `standing` less the cids `removed`, and all of `added`.

    Queries and judgements are those of `standing`. No point id may stand in both. Raises CatalogDamaged, and
    CatalogLocked, BadParameter as `new_catalog` does.
    """
    with Catalog.open(standing) as found, Catalog.open(added):
        dims, tokenizer = found.dims, found.tokenizer
    with new_catalog(path, memory_limit) as con:
        for side, file in zip(SIDES, (standing, added), strict=True):
            con.execute(attach_sql(file, side))
        con.execute(
            "CREATE TEMP TABLE removed AS SELECT unnest($cids::INTEGER[]) AS cid",
            {"cids": list(removed)},
        )
        con.execute(_PLACES)
        con.execute(CHUNK)
        con.execute(f"INSERT INTO chunk {_rows('chunk', 'was.* EXCLUDE (cid)')} ORDER BY cid")
        for space, dim in dims.items():
            table = vector_table(space)
            with new_vectors(con, table, dim):
                con.execute(f"INSERT INTO {table} {_rows(table, 'embedding')} ORDER BY cid")
        _merge_postings(con)
        lengths = (f"(SELECT any_value(dl) AS dl FROM {table} GROUP BY cid)" for table in _POSTINGS)
        count_postings(con, tokenizer, _WORDS, *lengths)
        for statement in JUDGED:
            con.execute(statement)
        for table in ("query", "qrel"):
            con.execute(f"INSERT INTO {table} SELECT * FROM {STANDING}.{table} ORDER BY rowid")
        for side in SIDES:
            con.execute(f"DETACH {side}")


def _rows(table: str, columns: str) -> str:
    """The rows of both files' table under their new numbers."""
    return " UNION ALL ".join(
        f"SELECT place.cid, {columns} FROM {side}.{table} was JOIN place ON side = '{side}' AND place.was = was.cid"
        for side in SIDES
    )


def _merge_postings(con: duckdb.DuckDBPyConnection) -> None:
    """Make the postings, and `word`: the terms that any of them holds, numbered anew."""
    held = " UNION ".join(
        f"SELECT term FROM {side}.dict SEMI JOIN"
        f" (SELECT term_id FROM {side}.{table} was JOIN place ON side = '{side}' AND place.was = was.cid) USING (term_id)"
        for side in SIDES
        for table in _POSTINGS
    )
    con.execute(
        f"CREATE TEMP TABLE word AS SELECT term, (row_number() OVER (ORDER BY term) - 1)::INTEGER AS term_id FROM ({held})"
    )
    for table in _POSTINGS:
        spelled = " UNION ALL ".join(
            f"SELECT word.term_id, place.cid, tf, dl FROM {side}.{table} was"
            f" JOIN place ON side = '{side}' AND place.was = was.cid"
            f" JOIN (SELECT dict.term_id AS was_id, word.term_id FROM {side}.dict JOIN word USING (term)) word"
            " ON was_id = was.term_id"
            for side in SIDES
        )
        con.execute(f"CREATE TABLE {table} AS SELECT * FROM ({spelled}) ORDER BY term_id, cid")


# ---- The stored facts of a catalog's chunks, as staging hashed them: what a content's hash  ----

BATCH_ROWS = 8192

Facts = Sequence[Any]
"""One chunk in the order of FACTS."""


def all_facts(catalog: Catalog) -> Iterator[Facts]:
    """The facts of every chunk in cid order, read a batch at a time."""
    for start in range(0, catalog.n, BATCH_ROWS):
        yield from _facts(
            catalog, "cid >= $start AND cid < $stop", {"start": start, "stop": start + BATCH_ROWS}
        )


def facts_of(catalog: Catalog, entity_ids: Sequence[str]) -> Iterator[Facts]:
    """The facts of these entities' chunks, of every source type, in cid order."""
    return _facts(
        catalog,
        "entity_id IN (SELECT unnest($entities::VARCHAR[]))",
        {"entities": list(entity_ids)},
    )


def chunk_of(facts: Facts) -> Chunk:
    """The chunk that these facts were made of."""
    (
        point_id,
        entity_id,
        index,
        source_type,
        title,
        source,
        text,
        project,
        note_type,
        tags,
        *dated,
        metadata,
        links,
    ) = facts
    facets = Facets(project, note_type, tuple(tags), *dated, json.loads(metadata))
    pairs = tuple((kind, target) for kind, target in links)
    return Chunk(
        point_id_of(point_id), entity_id, index, text, title, source, source_type, facets, pairs
    )


def digest_of(catalog: Catalog) -> str:
    """The hash that staging these very chunks would give."""
    digest = hashlib.sha256()
    for facts in all_facts(catalog):
        digest.update(encoded(facts))
    return digest.hexdigest()


def _facts(catalog: Catalog, where: str, params: dict[str, Any]) -> Iterator[Facts]:
    rows = catalog.sql(
        f"SELECT {', '.join(FACTS)} FROM chunk WHERE {where} ORDER BY cid", params
    ).rows()
    for *facts, links in rows:
        yield (*facts, [(link["kind"], link["target"]) for link in links])
