"""All that a collection holds, in both stores or on disk, as plain data that two can be compared by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from workbench.stores.catalog.catalog import Catalog
from workbench.stores.collections import Stores, open_stores
from workbench.stores.filters.values import Points

TABLES = ("chunk", "vector", "posting", "title_posting", "dict", "corpus", "query", "qrel")
ALL = 10_000


def tables(catalog: Catalog) -> dict[str, list[tuple]]:
    """Every row of every table in the order in which it is stored."""
    return {table: catalog.sql(f"SELECT * FROM {table} ORDER BY rowid").rows() for table in TABLES}


def points(found: Points, terms: Sequence[str], vector: Sequence[float]) -> dict[str, Any]:
    """Every point, and what the engine counts, reads and ranks: whole lists, since the engine's own pruning of its BM25
    differs in the last bit by where a list is cut."""
    filters: tuple[Mapping[str, Any], ...] = ({}, {"project": "a"}, {"tags": ["x"]}, {"created": {"gte": "2026-02-01"}})
    return {
        "points": list(found.all_points()),
        "counts": [found.count([t], "any", f) for t in terms for f in filters],
        "scroll": [[p.id for p in found.scroll(terms, "any", f, ALL)] for f in filters],
        "nearest": [[(p.id, s) for p, s in found.nearest(vector, f, ALL)] for f in filters],
        "bm25": [[(p.id, s) for p, s in found.bm25(terms[:n], {}, ALL)] for n in range(1, len(terms) + 1)],
    }


def state(name: str, terms: Sequence[str]) -> dict[str, Any]:
    """The whole state of a collection, its manifest's content, key and counts among it."""
    with open_stores(name) as stores:
        return {
            **tables(stores.catalog), **points(stores.points, terms, query_of(stores)),
            "bm25 in SQL": stores.catalog.bm25_top(terms, {}, ALL),
            "bm25 over fields": stores.catalog.bm25_fields_top(terms, {}, ALL),
            "content": stores.manifest.content_hash, "manifest counts": dict(stores.manifest.counts),
        }  # fmt: skip


def snapshot(root: Path) -> dict[str, tuple[int, int, bytes]]:
    """Every file below a directory: inode, time of change and content; locks and the cache apart."""
    return {
        p.relative_to(root).as_posix(): (p.stat().st_ino, p.stat().st_mtime_ns, p.read_bytes())
        for p in sorted(root.rglob("*"))
        if p.is_file() and p.suffix != ".lock" and not p.name.startswith("embeddings")
    }


def query_of(stores: Stores) -> Sequence[float]:
    return stores.embedder.embed_query("when does the ferry leave the harbour").tolist()
