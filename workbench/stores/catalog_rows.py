"""Rows of the catalog as value objects: chunks, judged queries, judgements."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from workbench.sources.source import JudgedQuery, Qrel
from workbench.stores.catalog_ids import PointIds
from workbench.stores.catalog_open import CatalogFile
from workbench.types import Chunk, Facets, PointId

# These rows in the order asked. `cid IN (1, 2, …)` would read the whole text column.
IN_ORDER = "(SELECT unnest($cids::INTEGER[]) AS cid, generate_subscripts($cids::INTEGER[], 1) AS place) asked"
_FACETS = "project, note_type, tags, status, created, updated, path, metadata"
_CHUNK = f"entity_id, chunk_index, text, title, source, source_type, links, {_FACETS}"


def chunks(file: CatalogFile, ids: Sequence[PointId], cids: Sequence[int]) -> list[Chunk]:
    """The chunks of these rows, in the order asked."""
    sql = f"SELECT {_CHUNK} FROM {IN_ORDER} JOIN chunk USING (cid) ORDER BY place"
    return [_chunk(i, row) for i, row in zip(ids, file.rows(sql, {"cids": cids}), strict=True)]


def _chunk(point_id: PointId, row: tuple) -> Chunk:
    entity_id, chunk_index, text, title, source, source_type, links, *facets = row
    pairs = tuple((link["kind"], link["target"]) for link in links)
    return Chunk(point_id, entity_id, chunk_index, text, title, source, source_type, _facets(facets), pairs)


def facets(file: CatalogFile, cids: Sequence[int]) -> list[Facets]:
    """The facets of these rows, in the order asked."""
    sql = f"SELECT {_FACETS} FROM {IN_ORDER} JOIN chunk USING (cid) ORDER BY place"
    return [_facets(row) for row in file.rows(sql, {"cids": cids})]


def _facets(row: Sequence) -> Facets:
    project, note_type, tags, *dated, metadata = row
    return Facets(project, note_type, tuple(tags), *dated, json.loads(metadata))


def entities(file: CatalogFile, cids: Sequence[int]) -> list[str]:
    """The entity ids of these rows, in the order asked."""
    sql = f"SELECT entity_id FROM {IN_ORDER} JOIN chunk USING (cid) ORDER BY place"
    return [entity for (entity,) in file.rows(sql, {"cids": cids})]


def texts(file: CatalogFile, ids: PointIds, batch: int) -> Iterator[list[tuple[PointId, str]]]:
    """(id, text) of all rows in cid order, at most `batch` at a time."""
    for start in range(0, len(ids), batch):
        found = file.rows(
            "SELECT cid, text FROM chunk WHERE cid >= $start AND cid < $stop ORDER BY cid",
            {"start": start, "stop": start + batch},
        )
        yield list(zip(ids.at([cid for cid, _ in found]), [text for _, text in found], strict=True))


def queries(file: CatalogFile) -> tuple[JudgedQuery, ...]:
    """The judged queries in the order in which they were given."""
    found = file.rows("SELECT query_id, text, attributes FROM query ORDER BY rowid")
    return tuple(JudgedQuery(i, text, json.loads(attributes)) for i, text, attributes in found)


def qrels(file: CatalogFile) -> tuple[Qrel, ...]:
    """The judgements in the order in which they were given."""
    return tuple(
        Qrel(*row) for row in file.rows("SELECT query_id, entity_id, grade FROM qrel ORDER BY rowid")
    )
