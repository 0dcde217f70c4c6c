"""The stored facts of a catalog's chunks, as staging hashed them: what a content's hash and a comparison run over."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from workbench.stores.staged import point_id_of
from workbench.stores.staging import FACTS, encoded
from workbench.types import Chunk, Facets

if TYPE_CHECKING:
    from workbench.stores.catalog import Catalog

BATCH_ROWS = 8192

Facts = Sequence[Any]
"""One chunk in the order of FACTS."""


def all_facts(catalog: Catalog) -> Iterator[Facts]:
    """The facts of every chunk in cid order, read a batch at a time."""
    for start in range(0, catalog.n, BATCH_ROWS):
        yield from _facts(catalog, "cid >= $start AND cid < $stop", {"start": start, "stop": start + BATCH_ROWS})


def facts_of(catalog: Catalog, entity_ids: Sequence[str]) -> Iterator[Facts]:
    """The facts of these entities' chunks, of every source type, in cid order."""
    return _facts(catalog, "entity_id IN (SELECT unnest($entities::VARCHAR[]))", {"entities": list(entity_ids)})


def chunk_of(facts: Facts) -> Chunk:
    """The chunk that these facts were made of."""
    point_id, entity_id, index, source_type, title, source, text, project, note_type, tags, *dated, metadata, links = facts
    facets = Facets(project, note_type, tuple(tags), *dated, json.loads(metadata))
    pairs = tuple((kind, target) for kind, target in links)
    return Chunk(point_id_of(point_id), entity_id, index, text, title, source, source_type, facets, pairs)


def digest_of(catalog: Catalog) -> str:
    """The hash that staging these very chunks would give."""
    digest = hashlib.sha256()
    for facts in all_facts(catalog):
        digest.update(encoded(facts))
    return digest.hexdigest()


def _facts(catalog: Catalog, where: str, params: dict[str, Any]) -> Iterator[Facts]:
    rows = catalog.sql(f"SELECT {', '.join(FACTS)} FROM chunk WHERE {where} ORDER BY cid", params).rows()
    for *facts, links in rows:
        yield (*facts, [(link["kind"], link["target"]) for link in links])
