"""A small collection to be updated, the law of an update in plain Python, and what both stores hold afterwards."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from helpers.made_sources import source_of
from workbench.sources.base import JudgedQuery, Qrel, Source
from workbench.stores.collections import open_stores
from workbench.types import Chunk, Facets, PointId, point_order

UUIDS = ("00000000-0000-4000-8000-00000000000a", "0b85ed4a-0000-4000-8000-00000000000a")
QUERIES = (JudgedQuery("q1", "ferry", {"kind": "short"}), JudgedQuery("q2", "tea"))
QRELS = (Qrel("q1", "e0", 1), Qrel("q1", "e7", 2), Qrel("q2", "gone", 1), Qrel("q3", "e1", 1))
FACETS = (
    Facets(), Facets("a", tags=("x", "y"), created="2026-02-03", metadata={"n": 1}), Facets("b", status="open", path="p.md"),
)  # fmt: skip
LINKS: tuple[tuple[tuple[str, str], ...], ...] = ((), (("wikilink", "crane.md"),))
HIGHEST = 2**40
FIRST = (
    Chunk(3, "e0", 0, "the ferry leaves the harbour at noon", "Ferry", facets=FACETS[1], links=LINKS[1]),
    Chunk(4, "e0", 1, "the crane stands still", "Ferry"),
    Chunk(9, "e1", 0, "tea in the harbour", "Tea"),
    Chunk(HIGHEST, "e2", 0, "ședință la 2026", source_type="observation"),
    Chunk(UUIDS[0], "e3", 0, "a crane and a crane", "Crane", facets=FACETS[2]),
    Chunk(UUIDS[1], "e2", 0, "noon"),
)

Documents = dict[tuple[str, str], list[Chunk]]


def first_source() -> Source:
    """FIRST with its queries and judgements."""
    return source_of(FIRST, queries=QUERIES, qrels=QRELS)


def changed(entity: str, *texts: str, **fields: Any) -> Source:
    """One document of these chunks, as a reader hands it over."""
    return source_of([Chunk(n, entity, n, text, **fields) for n, text in enumerate(texts)])


def linked(prepared: Path, home: Path) -> Path:
    """A prepared home, to be changed: a complete collection is never written to, so links will do."""
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    shutil.copytree(prepared / "collections", home / "collections", copy_function=os.link)
    (home / "embeddings.sqlite").symlink_to(prepared / "embeddings.sqlite")
    return home


def texts_in(name: str) -> dict[PointId, str]:
    """The texts by point id, in both stores, which must agree."""
    with open_stores(name) as stores:
        found = {i: payload["content"] for i, payload, _ in stores.points.all_points()}
        assert list(found.values()) == [c.text for c in stores.catalog.chunks(list(found))]
        assert stores.catalog.n == len(found) == stores.manifest.counts["chunks"]
        return found


class Oracle:
    """The law of an update: chunks by key; one that is new comes under the next id above every one that ever was."""

    def __init__(self) -> None:
        self.chunks = {c.key: c for c in FIRST}
        self.highest = HIGHEST

    def after(self, given: Documents, deleted: set[str]) -> Oracle:
        """The state after the documents given and the ids deleted."""
        new = Oracle()
        new.highest = self.highest
        new.chunks = {k: c for k, c in self.chunks.items() if k[1] not in deleted and k[:2] not in given}
        for found in given.values():
            for chunk in found:
                earlier = self.chunks.get(chunk.key)
                same = earlier is not None and replace(earlier, id=0) == replace(chunk, id=0)
                new.highest += not same
                new.chunks[chunk.key] = earlier if same else replace(chunk, id=new.highest)
        return new

    @property
    def whole(self) -> list[Chunk]:
        return sorted(self.chunks.values(), key=lambda c: point_order(c.id))
