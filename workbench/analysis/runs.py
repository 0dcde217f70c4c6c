"""Run several variants over a query set: rankings of documents, and what each variant cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.retrieval.search import Collection
from workbench.retrieval.variant import Variant, variant
from workbench.sources.source import JudgedQuery
from workbench.types import Query, Result, Span

DEPTH = 100
"""Documents kept a query: as deep as recall@100 looks."""


PAYLOAD_ENGINES = ("qdrant", "http")
"""The engines whose rows cross a wire with their payload: Qdrant, and an endpoint of one's own. A variant that is
searched as a whole counts what it moves on the span of its search."""


@dataclass(frozen=True, slots=True)
class VariantRuns:
    """`runs`: variant to query id to document ids, best first. `costs`: a row a variant with p50_ms and p95_ms of
    a search (engine calls shared with another variant count in full), calls and payload_bytes a search.
    `listed`: list name to the number of queries that had such a list, by variant."""

    runs: Mapping[str, Mapping[str, tuple[str, ...]]]
    costs: tuple[Mapping[str, Any], ...]
    listed: Mapping[str, Mapping[str, int]]


def run_variants(
    collection: Collection, queries: Iterable[JudgedQuery], variants: Sequence[str | Variant], *,
    depth: int = DEPTH, progress: Callable[[int], None] | None = None,
) -> VariantRuns:  # fmt: skip
    """Search every query with every variant; stages that variants share run once a query.

    A document's rank is that of its best chunk. Chunks are fetched to `depth` documents where the fused list
    holds as many.
    """
    chosen = [variant(v) for v in variants]
    runs: dict[str, dict[str, tuple[str, ...]]] = {v.name: {} for v in chosen}
    spans: dict[str, list[Result]] = {v.name: [] for v in chosen}
    for done, query in enumerate(queries, 1):
        memo: dict[Any, Any] = {}
        results = {v.name: collection.search(Query(query.text, limit=1), v, with_chunks=False, memo=memo) for v in chosen}
        ids = list(dict.fromkeys(i for r in results.values() for i in r.fused.ids))
        entity = dict(zip(ids, collection.stores.catalog.entities(ids), strict=True)) if ids else {}
        for name, result in results.items():
            runs[name][query.id] = tuple(dict.fromkeys(entity[i] for i in result.fused.ids))[:depth]
            spans[name].append(result)
        if progress:
            progress(done)
    return VariantRuns(runs, tuple(_cost(n, r) for n, r in spans.items()), {n: _listed(r) for n, r in spans.items()})


def engine_seconds(result: Result) -> float:
    """Seconds inside engine and model calls, those shared with another variant included."""
    return sum(s.seconds for s in result.spans if s.engine)


def search_seconds(result: Result) -> float:
    """Seconds of a search as it would take alone: its own wall time, and the shared calls that it did not make."""
    shared = sum(s.seconds for s in result.spans if s.engine and s.note.endswith("shared"))
    return result.seconds + shared


def moved_bytes(spans: Iterable[Span]) -> int:
    """Bytes that cross a wire with their payload: what a search moves."""
    return sum(s.bytes for s in spans if s.engine in PAYLOAD_ENGINES or s.call == "search")


def _cost(name: str, results: Sequence[Result]) -> dict[str, Any]:
    if not results:
        return {"variant": name, "p50_ms": None, "p95_ms": None, "calls": None, "payload_bytes": None}
    ms = [search_seconds(r) * 1e3 for r in results]
    return {
        "variant": name,
        "p50_ms": float(np.percentile(ms, 50)),
        "p95_ms": float(np.percentile(ms, 95)),
        "calls": float(np.mean([sum(bool(s.engine) for s in r.spans) for r in results])),
        "payload_bytes": float(np.mean([moved_bytes(r.spans) for r in results])),
    }


def _listed(results: Sequence[Result]) -> dict[str, int]:
    names = dict.fromkeys(r.name for result in results for r in result.lists)
    return {n: sum(any(r.name == n and len(r) for r in result.lists) for result in results) for n in names}
