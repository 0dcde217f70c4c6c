"""Searches against the sum of their engine calls, on the full incident where it is loaded, else on its small replica."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import cache
from statistics import median

import numpy as np

from benchmarks.harness import Row, at_most, benchmark

INCIDENT = "data/incidents/adr-0172.toml"
SMALL_SIZE = 20_000
TURNS = 25
TEN = ("adr_0172", "two_lists", "third_list_all_terms", "verbatim_outright", "verbatim_weighted", "verbatim_titles")


@cache
def incident():
    """The opened replica: the full one where a load made it, else the small one, loaded now."""
    from workbench.retrieval.search import open_collection
    from workbench.settings import project_root
    from workbench.stores.collections import UnknownCollection
    from workbench.stores.load import load

    try:
        return open_collection("adr-0172")
    except UnknownCollection:
        load(str(project_root() / INCIDENT), name=f"adr-0172-{SMALL_SIZE}", size=SMALL_SIZE, progress=False)
        return open_collection(f"adr-0172-{SMALL_SIZE}")


def queries() -> list[str]:
    from workbench.settings import project_root
    from workbench.sources.replica.spec import read_incident

    return [q.text for q in read_incident(project_root() / INCIDENT).queries]


@benchmark("searching")
def searching() -> Iterator[Row]:
    """One search by ADR 0172: over the sum of its engine calls, its percentiles, the counts' and payload's share."""
    from workbench.analysis.runs import engine_seconds

    collection = incident()
    ratios, seconds, counts, payload = [], [], [], []
    for turn in range(TURNS + 1):
        for text in queries():
            result = collection.search(text, "adr_0172")
            if turn:  # the first turn opens files and fills caches
                ratios.append(result.seconds / engine_seconds(result))
                seconds.append(result.seconds)
                counts.append(sum(s.seconds for s in result.calls("count")) / result.seconds)
                payload.append(sum(s.bytes for s in result.spans if s.engine == "qdrant"))
    n, on = len(ratios), f"{collection.stores.catalog.n:,} memories"
    yield Row("searching/over its engine calls", median(ratios), "×", at_most(1.5), f"the sum of its engine calls, {on}", n)
    for percent in (50, 95):
        yield Row(f"searching/p{percent}", float(np.percentile(seconds, percent)) * 1e3, "ms", None, on, n)
    yield Row("searching/share of the counts", median(counts), "", None, f"the whole search, {on}", n)
    yield Row("searching/payload read", median(payload) / 1e3, "kB", None, on, n)


@benchmark("variants")
def variants() -> Iterator[Row]:
    """Ten variants over the same channels against one of them: shared stages run once a query."""
    from workbench.retrieval.fusions import rrf
    from workbench.retrieval.variant import variant

    collection = incident()
    base = variant("adr_0172")
    ten = [*map(variant, TEN), *(base.replace(name=f"k{k}", fusion=rrf(k=k)) for k in (1, 10, 30, 100))]
    one, all_ten = [], []
    for turn in range(TURNS + 1):
        for text in queries():
            for chosen, kept in (([base], one), (ten, all_ten)):
                memo: dict = {}
                start = time.perf_counter()
                for v in chosen:
                    collection.search(text, v, with_chunks=False, memo=memo)
                if turn:
                    kept.append(time.perf_counter() - start)
    yield Row("variants/ten over one", median(all_ten) / median(one), "×", at_most(1.3), f"adr_0172 alone, {collection.stores.catalog.n:,} memories", len(one))
