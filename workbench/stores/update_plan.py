"""What a journal does to the catalog that it was told against: which chunks go, and which come under which ids."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from workbench.errors import BadParameter
from workbench.sources.source import Source
from workbench.stores.catalog import Catalog
from workbench.stores.catalog_facts import chunk_of
from workbench.stores.manifest import Manifest
from workbench.stores.staged import point_id_of
from workbench.stores.staging import LARGEST_ID
from workbench.stores.waiting import Journal, WaitingDocument
from workbench.types import Chunk, PointId


class NothingLeft(BadParameter):
    """An update that would leave a collection without a chunk."""


class NoIdLeft(BadParameter):
    """The largest point id is taken, so that no new chunk can come after it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """`removed` are the cids, `ids` their points; `fresh` the facts of the new chunks but for their ids, which begin at
    `first`; `readings` what was said when the documents were read."""

    documents: tuple[WaitingDocument, ...]
    readings: tuple[dict[str, Any], ...]
    removed: tuple[int, ...]
    ids: tuple[PointId, ...]
    fresh: tuple[list[Any], ...]
    first: int

    def source(self, kind: str, location: str) -> Source:
        """The new chunks."""
        return Source(kind, location, {}, self._chunks, count=len(self.fresh))

    @property
    def last(self) -> int:
        """The highest integer id that was ever given."""
        return self.first + len(self.fresh) - 1

    def _chunks(self) -> Iterator[Chunk]:
        return (chunk_of([str(number), *facts]) for number, facts in enumerate(self.fresh, self.first))


def highest_of(manifest: Manifest) -> int:
    """The highest integer id that an update ever gave in this collection, 0 before the first."""
    return manifest.updates.get("highest", 0)


def plan_of(catalog: Catalog, journal: Journal, highest: int) -> Plan:
    """The plan. A new chunk's id is above `highest` and above every integer id that stands, in the order in which the
    documents were put, then by index; no id is ever given twice.

    Raises NothingLeft, NoIdLeft.
    """
    documents, kept, fresh = journal.documents(), set(journal.kept()), tuple(journal.fresh())
    changed = {(d.source_type, d.entity_id) for d in documents}
    found = catalog.sql(
        "SELECT cid, point_id, source_type, entity_id, chunk_index FROM chunk"
        " WHERE entity_id IN (SELECT unnest($entities::VARCHAR[])) ORDER BY cid",
        {"entities": [d.entity_id for d in documents]},
    ).rows()
    removed = [(cid, point_id_of(i)) for cid, i, *key in found if tuple(key[:2]) in changed and tuple(key) not in kept]
    if catalog.n - len(removed) + len(fresh) == 0:
        raise NothingLeft("nothing would be left of the collection", do="Keep a document, or load another source")
    largest = catalog.sql("SELECT max(try_cast(point_id AS UBIGINT)) FROM chunk").item() or 0
    first = max(highest, largest) + 1
    if first + len(fresh) - 1 > LARGEST_ID:
        raise NoIdLeft(f"no point id is left above {first - 1}", do="Load the collection again")
    cids, ids = tuple(cid for cid, _ in removed), tuple(i for _, i in removed)
    return Plan(tuple(documents), tuple(journal.readings()), cids, ids, fresh, first)
