"""Judging without a label: what several variants found, pooled and shuffled, graded one by one and saved as judgements.

The law: a pool holds the first documents of every variant, each once, in the order of the hash of seed, query and
document; nothing in it tells who found what, or where. Every grade is on disk when the next document is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from workbench.analysis.compared import PAGE
from workbench.analysis.formats import write_qrels, write_queries
from workbench.analysis.known_items import SEED
from workbench.analysis.metrics import documents
from workbench.analysis.own_documents import with_own_documents
from workbench.errors import BadParameter
from workbench.retrieval.search import Collection, open_collection
from workbench.retrieval.spec import distinct_variants
from workbench.retrieval.variant import Variant
from workbench.sources.judgements import read_qrels
from workbench.sources.source import JudgedQuery, Qrel
from workbench.types import content_hash

SCALE = ("not relevant", "related", "relevant", "exactly this")
"""What the grades 0, 1, 2 and 3 mean; 1 and more count as relevant, as everywhere."""

EXCERPT = 1_500
"""Characters of a document's text that a judge is shown: what one reads in half a minute."""


@dataclass(frozen=True, slots=True)
class Item:
    """One document to judge, as it is shown: its best chunk's text. `found_by` is for afterwards and is never shown."""

    entity_id: str
    title: str
    text: str
    found_by: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Pool:
    """One query with its documents in the order in which they are judged."""

    query: JudgedQuery
    items: tuple[Item, ...]


def pools(
    collection: str | Collection, queries: Sequence[JudgedQuery | str], variants: Sequence[str | Variant], *,
    depth: int = PAGE, seed: int = SEED,
) -> tuple[Pool, ...]:  # fmt: skip
    """The pools of these queries: the first `depth` documents of each variant, without a query's own. A text is a query whose id is `q` and its
    place, from 1. Raises BadParameter for an id that stands twice."""
    if depth < 1:
        raise BadParameter(f"a pool of depth {depth} is empty", do="Use at least 1")
    chosen = distinct_variants(variants)
    asked = [q if isinstance(q, JudgedQuery) else JudgedQuery(f"q{n}", q) for n, q in enumerate(queries, 1)]
    if len({q.id for q in asked}) < len(asked):
        raise BadParameter("a query id stands twice in what is to be judged")
    with nullcontext(collection) if isinstance(collection, Collection) else open_collection(collection) as opened:
        asked, _ = with_own_documents(opened, asked, (), opened.stores.catalog.documents())
        return tuple(_pool(opened, q, chosen, depth, seed) for q in asked)


def _pool(collection: Collection, query: JudgedQuery, variants: Sequence[Variant], depth: int, seed: int) -> Pool:
    memo: dict = {}
    catalog = collection.stores.catalog
    found_by: dict[str, list[str]] = {}
    best: dict[str, object] = {}
    for v in variants:
        ids = collection.search(query.search, v, with_chunks=False, memo=memo).fused.ids
        entity = dict(zip(ids, catalog.entities(ids), strict=True)) if ids else {}
        first: dict[str, object] = {}
        for point in ids:
            first.setdefault(entity[point], point)
        for document in documents(ids, entity, own=query.own_document, depth=depth):
            found_by.setdefault(document, []).append(v.name)
            best.setdefault(document, first[document])
    order = sorted(found_by, key=lambda d: content_hash(seed, query.id, d))
    chunks = catalog.chunks([best[d] for d in order]) if order else []
    return Pool(query, tuple(
        Item(d, c.title, c.text[:EXCERPT], tuple(found_by[d])) for d, c in zip(order, chunks, strict=True)
    ))  # fmt: skip


class Judging:
    """A judge's way through pools: where they stand, what they graded, all of it saved at once.

    `path` is the judgements' file, its kind told by its name (`.json` ranx, `.tsv` BEIR, else TREC); grades that it
    holds already are kept, and judging goes on at the first document without one. The queries are saved beside it.
    """

    def __init__(self, pooled: Sequence[Pool], path: str | Path, scale: Sequence[str] = SCALE) -> None:
        if not 2 <= len(scale) <= 10:
            raise BadParameter(f"a scale has 2 to 10 grades, not {len(scale)}", do="One key is one grade")
        self.pools, self.path, self.scale = tuple(p for p in pooled if p.items), Path(path), tuple(scale)
        self.grades: dict[tuple[str, str], int] = {}
        if self.path.exists():
            self.grades = {(q.query_id, q.entity_id): q.grade for q in read_qrels(self.path)}
        self._order = [(p.query.id, i.entity_id) for p in self.pools for i in p.items]
        self.place = self._next_open(0)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_queries(self.queries_path, [p.query for p in self.pools])

    @property
    def queries_path(self) -> Path:
        """The queries' file beside the judgements: `NAME.queries.jsonl`."""
        return self.path.with_name(f"{self.path.name.split('.')[0]}.queries.jsonl")

    @property
    def total(self) -> int:
        return len(self._order)

    @property
    def judged(self) -> int:
        """How many of these pools' documents have a grade."""
        return sum(key in self.grades for key in self._order)

    @property
    def current(self) -> tuple[Pool, Item] | None:
        """The query and document that is judged now; None where there is none."""
        place = self.place
        for pool in self.pools:
            if place < len(pool.items):
                return pool, pool.items[place]
            place -= len(pool.items)
        return None

    def grade(self, value: int) -> None:
        """Grade the current document, save, and go to the next one without a grade. Raises BadParameter."""
        if not 0 <= value < len(self.scale):
            raise BadParameter(f"grade {value} is not on the scale", do=f"Use 0 to {len(self.scale) - 1}")
        if self.place < self.total:
            self.grades[self._order[self.place]] = value
            self.save()
            self.place = self._next_open(self.place + 1)

    def step(self, by: int) -> None:
        """Go so many documents on or back; beyond the last one stands the end."""
        self.place = max(0, min(self.total, self.place + by))

    def grade_of(self, item: Item, pool: Pool) -> int | None:
        return self.grades.get((pool.query.id, item.entity_id))

    def save(self) -> None:
        """Write every grade there is, those of other queries in the file too, by query and document."""
        write_qrels(self.path, [Qrel(q, d, g) for (q, d), g in sorted(self.grades.items())])

    def _next_open(self, start: int) -> int:
        """The first document from `start` on without a grade, then from the beginning; the end where all have one."""
        order = [*range(start, self.total), *range(min(start, self.total))]
        return next((n for n in order if self._order[n] not in self.grades), self.total)
