"""How far the replica's figures depend on chance and on composed vectors: ranks over seeds, and fidelity."""

from __future__ import annotations

from typing import Any

from records.subjects import full_size, incident, size_of
from workbench.analysis.fidelity import Fidelity, fidelity
from workbench.analysis.run import Run

SEEDS = {"full": 20, "small": 2, "tiny": 2}
"""Replicas with other seeds, by the run's size."""

SEED_SIZE = 5_000
EXACT_SIZE = 20_000
FIRST_SEED = 1


def ranks_over_seeds(run: Run) -> list[dict[str, Any]]:
    """A row a seed: the target's rank by variant for both queries, on replicas of SEED_SIZE memories."""

    def measure() -> list[dict[str, Any]]:
        rows = []
        for seed in range(FIRST_SEED, FIRST_SEED + SEEDS[size_of(run)]):
            at = incident(run, size=SEED_SIZE, seed=seed)
            rows += [
                {"seed": seed, "query": q, "variant": v, "rank": at.search(q, v).rank_of(at.target)}
                for q in at.queries for v in ("adr_0005", "two_lists", "adr_0172")
            ]  # fmt: skip
        return rows

    return run.once("ranks over seeds", measure)


def seed_range(run: Run, query: str, variant: str) -> dict[str, Any]:
    """The lowest and highest rank of the target over the seeds; `absent` counts those without one."""
    ranks = [r["rank"] for r in ranks_over_seeds(run) if (r["query"], r["variant"]) == (query, variant)]
    found = [r for r in ranks if r is not None]
    return {"seeds": len(ranks), "memories": SEED_SIZE, "ranks": [min(found), max(found)] if found else None,
            "absent": len(ranks) - len(found)}  # fmt: skip


def composed_fidelity(run: Run) -> list[dict[str, Any]]:
    """A row a query: how true the composed vectors are on the run's replica, and at full size against exact ones.

    The exact collection embeds every one of its texts, so only a full run makes it.
    """
    rows = _rows("this replica", fidelity(incident(run).collection, seed=run.seed))
    if full_size(run):
        composed, exact = (incident(run, size=EXACT_SIZE, **more) for more in ({}, {"vectors": "exact"}))
        rows += _rows(f"{EXACT_SIZE:,} memories, all embedded", fidelity(composed.collection, exact=exact.collection, seed=run.seed))
    return rows


def _rows(on: str, found: Fidelity) -> list[dict[str, Any]]:
    return [
        {"on": on, "query": q.id, "cosine to own true vector": round(found.document_mean, 3),
         "cosine to query, true": f"{q.true_mean:.3f} ± {q.true_spread:.3f}",
         "cosine to query, stored": f"{q.stored_mean:.3f} ± {q.stored_spread:.3f}",
         "composed among the first 256": q.composed_in_first, "target's rank": q.target_rank,
         "target's rank, exact": q.exact_target_rank,
         "overlap of the first 256": None if q.overlap is None else round(q.overlap, 3)}
        for q in found.queries
    ]  # fmt: skip
