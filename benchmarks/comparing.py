"""A comparison of ten variants over many judged queries, against the engine calls that it makes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from unittest.mock import patch

from benchmarks.harness import Row, at_most, benchmark
from benchmarks.searching import INCIDENT
from workbench.retrieval.search import Collection

CHUNKS, QUERIES, LIMIT = 50_000, 1_000, 1.3
VARIANTS = (
    "adr_0172", "two_lists", "third_list_all_terms", "verbatim_outright", "verbatim_weighted", "verbatim_titles",
    *(f"adr_0172(k={k})" for k in (1, 10, 30, 100)),
)  # fmt: skip


def compare_over_engine(collection: Collection, queries: int) -> tuple[float, float, int]:
    """(seconds of the whole comparison, seconds of the engine calls that it made, queries evaluated)."""
    from workbench.analysis.evaluate.compare import compare_variants

    engine = 0.0
    search = Collection.search

    def timed(*args, **named):
        nonlocal engine
        result = search(*args, **named)
        engine += sum(s.seconds for s in result.spans if s.engine and not s.note.endswith("shared"))
        return result

    with patch.object(Collection, "search", timed):
        start = time.perf_counter()
        found = compare_variants(collection, VARIANTS, "titles", limit=queries)
        return time.perf_counter() - start, engine, found.comparison.n


@benchmark("comparing")
def comparing() -> Iterator[Row]:
    """`compare` with ten variants over 1,000 queries of 50,000 chunks: over its engine calls, and per query."""
    from workbench.retrieval.search import open_collection
    from workbench.settings import project_root
    from workbench.stores.collections import UnknownCollection
    from workbench.stores.load import load

    name = f"adr-0172-{CHUNKS}"
    try:
        collection = open_collection(name)
    except UnknownCollection:
        load(str(project_root() / INCIDENT), name=name, size=CHUNKS, progress=False)
        collection = open_collection(name)
    with collection:
        whole, engine, n = compare_over_engine(collection, QUERIES)
        on = f"{collection.stores.catalog.n:,} memories, {len(VARIANTS)} variants"
    yield Row("comparing/over its engine calls", whole / engine, "×", at_most(LIMIT), on, n)
    yield Row("comparing/per query", whole / max(n, 1) * 1e3, "ms", None, on, n)
