"""Run several variants over a query set: rankings of documents, and what each variant cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from workbench.analysis.evaluate.metrics import DEPTH, description, documents, reach
from workbench.retrieval.search import Collection
from workbench.retrieval.variant import Variant, variant
from workbench.sources.base import JudgedQuery
from workbench.text import counted
from workbench.types import Result, Span

PAYLOAD_ENGINES = ("qdrant", "http")
"""The engines whose rows cross a wire with their payload: Qdrant, and an endpoint of one's own. A variant that is
searched as a whole counts what it moves on the span of its search."""


@dataclass(frozen=True, slots=True)
class VariantRuns:
    """`runs`: variant to query id to document ids, best first. `costs`: a row a variant with p50_ms and p95_ms of
    a search (engine calls shared with another variant count in full), calls and payload_bytes a search.
    `listed`: list name to the number of queries that had such a list, by variant. `cut`: query id to the variant's
    own limits that left something out of its ranking, by variant."""

    runs: Mapping[str, Mapping[str, tuple[str, ...]]]
    costs: tuple[Mapping[str, Any], ...]
    listed: Mapping[str, Mapping[str, int]]
    cut: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)

    def short(self, metrics: Sequence[str], depth: int = DEPTH) -> tuple[str, ...]:
        """One sentence for each variant whose own limits end lists before a metric has read all that it reads.

        RR is left out: what it would read there adds less than the reciprocal of the list's length."""
        said = []
        for name, run in self.runs.items():
            limits: dict[str, None] = {}
            ended: dict[str, int] = {}
            for query, by in self.cut.get(name, {}).items():
                here = [m for m in metrics if m != "RR" and len(run[query]) < reach(m, depth)]
                ended |= {m: ended.get(m, 0) + 1 for m in here}
                limits |= dict.fromkeys(by) if here else {}
            if ended:
                most = max(ended.values())
                read = ", ".join(description(m, depth) for m in ended)
                said.append(
                    f"{name}: {', '.join(limits)} ends {most} of {counted(len(run), 'list')} before {read}"
                )
        return tuple(said)


def run_variants(
    collection: Collection,
    queries: Iterable[JudgedQuery],
    variants: Sequence[str | Variant],
    *,
    depth: int = DEPTH,
    progress: Callable[[int], None] | None = None,
) -> VariantRuns:
    """Search every query with every variant; stages that variants share run once a query.

    A document's rank is that of its best chunk; a query's own document is left out, and `depth` documents are kept.
    """
    chosen = [variant(v) for v in variants]
    runs: dict[str, dict[str, tuple[str, ...]]] = {v.name: {} for v in chosen}
    cut: dict[str, dict[str, tuple[str, ...]]] = {v.name: {} for v in chosen}
    spent: dict[str, list[Spent]] = {v.name: [] for v in chosen}
    listed: dict[str, dict[str, int]] = {v.name: {} for v in chosen}
    for done, query in enumerate(queries, 1):
        memo: dict[Any, Any] = {}
        results = {
            v.name: collection.search(query.search, v, with_chunks=False, memo=memo) for v in chosen
        }
        ids = list(dict.fromkeys(i for r in results.values() for i in r.fused.ids))
        entity = dict(zip(ids, collection.stores.catalog.entities(ids), strict=True)) if ids else {}
        for name, result in results.items():
            runs[name][query.id] = documents(
                result.fused.ids, entity, own=query.own_document, depth=depth
            )
            if by := limits_reached(result):
                cut[name][query.id] = by
            spent[name].append(Spent.of(result))
            for ranking in result.lists:
                listed[name][ranking.name] = listed[name].get(ranking.name, 0) + bool(len(ranking))
        if progress:
            progress(done)
    return VariantRuns(runs, tuple(_cost(n, of) for n, of in spent.items()), listed, cut)


@dataclass(frozen=True, slots=True)
class Spent:
    """What one search cost: `search_seconds`, its engine and model calls, and `moved_bytes`."""

    seconds: float
    calls: int
    bytes: int

    @classmethod
    def of(cls, result: Result) -> Spent:
        calls = sum(bool(s.engine) for s in result.spans)
        return cls(search_seconds(result), calls, moved_bytes(result.spans))


def limits_reached(result: Result) -> tuple[str, ...]:
    """The limits of a variant that cut something off in a search, each as `stage limit`; its page is not one."""
    cut = (s for s in result.spans if s.limit and s.dropped != 0 and s.call != "search")
    return tuple(dict.fromkeys(f"{s.stage} {s.limit}" for s in cut))


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


def _cost(name: str, spent: Sequence[Spent]) -> dict[str, Any]:
    if not spent:
        return {
            "variant": name,
            "p50_ms": None,
            "p95_ms": None,
            "calls": None,
            "payload_bytes": None,
        }
    ms = [s.seconds * 1e3 for s in spent]
    return {
        "variant": name,
        "p50_ms": float(np.percentile(ms, 50)),
        "p95_ms": float(np.percentile(ms, 95)),
        "calls": float(np.mean([s.calls for s in spent])),
        "payload_bytes": float(np.mean([s.bytes for s in spent])),
    }
