"""Are observation chunks of their own worth their place in the vector index (B12)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from statistics import median

import numpy as np

from records.notes_search.judged import DEPTH, METRICS, sign_of
from records.notes_search.subjects import Remembering, some
from records.subjects import archive, loaded
from workbench.analysis.evaluate import known_items
from workbench.analysis.evaluate.comparison import Comparison, compare
from workbench.analysis.evaluate.judged import judge
from workbench.analysis.ledger.run import Run
from workbench.analysis.ledger.verdict import INCONCLUSIVE, NOT_MEASURABLE, Measured
from workbench.retrieval.notes.duckdb import DuckNotes
from workbench.retrieval.notes.model import Budget
from workbench.retrieval.notes.search import Notes, Plan
from workbench.retrieval.search import Collection
from workbench.sources.base import JudgedQuery, Qrel, Source
from workbench.sources.readers import open_source
from workbench.types import Chunk, Query

QUERIES = 400
"""Observations asked for, evenly over all: a set of them resolves two points of success@8."""
TITLES = 200
ITEMS_A_NOTE = 2
ITEM_WORDS = (6, 60)
"""A list item of so many words is taken as an observation; shorter ones are labels."""


def observation_chunks(run: Run) -> Measured:
    """B12: with and without separate observation chunks: size, time, and each observation as the target of a query."""
    folder = archive(run, "meetings-minutes")
    if isinstance(folder, str):
        return Measured(None, "minutes", verdict=NOT_MEASURABLE, note=folder)
    plain = loaded(run, "meetings", str(folder))
    with_items = loaded(run, "meetings-observations", _with_observations(folder))  # type: ignore[arg-type]
    catalog = with_items.stores.catalog
    said = [c for c in catalog.chunks(catalog.ids_where({"source_type": "observation"}))]
    said = [
        said[n]
        for n in np.unique(
            np.linspace(0, len(said) - 1, min(some(run, QUERIES), len(said))).round().astype(int)
        )
    ]
    queries = [JudgedQuery(c.entity_id, every_second_word(c.text)) for c in said]
    note = {c.entity_id: str(c.facets.metadata["note"]) for c in said}
    judged_set = judge(queries, [Qrel(q.id, note[q.id], 1) for q in queries])
    ways = {
        "without": (plain, {}, "itself"),
        "with": (with_items, {"source_type": ["entity", "observation"]}, "note"),
        "observations alone": (with_items, {"source_type": "observation"}, "note"),
    }
    runs, ms, itself = {}, {}, 0
    for name, (collection, filters, returns) in ways.items():
        plan = Plan(returns=returns, budget=Budget(page_rows=DEPTH, excerpt_chars=1))
        with Notes(
            DuckNotes.open(Path(collection.stores.catalog.path)),
            Remembering(with_items.stores.embedder),
        ) as notes:
            found = {q.id: notes.search(Query(q.text, filters, DEPTH), plan) for q in queries}
            if name == "observations alone":
                own = {
                    q.id: notes.search(
                        Query(q.text, filters, 1), plan.replace(returns="itself")
                    ).keys
                    for q in queries
                }
                itself = sum(keys == (("observation", q),) for q, keys in own.items())
        runs[name] = {q: tuple(i for _, i in r.keys) for q, r in found.items()}
        ms[name] = round(
            median(next(s.seconds for s in r.spans if s.stage == "rank") for r in found.values())
            * 1e3,
            2,
        )
    comparison = compare(
        runs,
        judged_set,
        METRICS,
        seed=run.seed,
        pairs=[("without", "with"), ("without", "observations alone")],
    )
    row = comparison.pair("without", "with", "Success@8")
    sign = sign_of(row)
    sizes = {"chunks_without": plain.stores.catalog.n, "chunks_with": catalog.n}
    return Measured(
        {
            **({"decided": True} if sign else {}),
            "better": {1: "with", -1: "without"}.get(sign),
            **sizes,
            "success_at_8": {n: round(v, 4) for n, v in _values(comparison, "Success@8").items()},
            "rr": {n: round(v, 4) for n, v in _values(comparison, "RR").items()},
            "observation_itself_first": round(itself / len(queries), 4),
            "rank_ms": ms,
            "titles_success_at_8": _titles(run, {"without": plain, "with": with_items}),
        },
        f"minutes, {len(queries)} list items of {len(set(note.values()))} notes as observations",
        f"{comparison.sentence('without', 'with', 'Success@8')}. A query is every second word of its observation; its target is the note "
        "that holds it. Only with chunks of their own can an observation be returned for itself. Where they join an ordinary search "
        "they crowd notes out (titles_success_at_8), so they belong in the index and behind the source type. The public vaults hold no "
        f"observations of the form “- [category] text”, so list items of {ITEM_WORDS[0]} to {ITEM_WORDS[1]} words stand for them."
        + ("" if sign else " More queries, or one's own observations, would decide."),
        verdict=None if sign else INCONCLUSIVE,
    )


def _titles(run: Run, collections: dict[str, Collection]) -> dict[str, float]:
    """Ordinary searches beside: the minutes' titles as queries for their notes, observations returned as notes."""
    out = {}
    for name, collection in collections.items():
        items = known_items.titles(
            known_items.chunks_of(collection.stores.catalog), limit=some(run, TITLES), seed=run.seed
        )
        wanted = {q.query_id: q.entity_id for q in items.qrels}
        filters = {"source_type": ["entity", "observation"]}
        with Notes(
            DuckNotes.open(Path(collection.stores.catalog.path)),
            Remembering(collection.stores.embedder),
        ) as notes:
            found = [
                ("entity", wanted[q.id])
                in notes.search(Query(q.text, filters), Plan(returns="note")).keys
                for q in items.queries
            ]
        out[name] = round(sum(found) / len(found), 4)
    return out


def every_second_word(text: str) -> str:
    """The stated rule: the first, third, fifth … word."""
    return " ".join(text.split()[::2])


def _values(comparison: Comparison, metric: str) -> dict[str, float]:
    return {
        r["variant"]: r["value"] for r in comparison.per_variant.filter(metric=metric).to_dicts()
    }


def _with_observations(folder: Path) -> Source:
    """The minutes with their list items as observation chunks, at most ITEMS_A_NOTE a note, each text once."""
    plain = open_source(str(folder))

    def chunks() -> Iterator[Chunk]:
        held: dict[str, None] = {}
        items: list[Chunk] = []
        number = count(1)
        for chunk in plain.chunks():
            yield replace(chunk, id=next(number))
            mine = [i for i in items if i.facets.metadata["note"] == chunk.entity_id]
            for text in _items(chunk.text):
                if len(mine) < ITEMS_A_NOTE and text not in held:
                    held[text] = None
                    made = replace(
                        chunk,
                        entity_id=f"{chunk.entity_id}#observation/{len(mine)}",
                        chunk_index=0,
                        text=text,
                        source_type="observation",
                        links=(),
                        facets=replace(chunk.facets, metadata={"note": chunk.entity_id}),
                    )
                    items.append(made)
                    mine.append(made)
        for made in items:
            yield replace(made, id=next(number))

    settings = {**plain.settings, "items_a_note": ITEMS_A_NOTE, "item_words": ITEM_WORDS}
    return Source("minutes with observations", plain.location, settings, chunks)


def _items(text: str) -> Iterator[str]:
    """The text of each list item, its mark left out."""
    for line in text.splitlines():
        mark, _, rest = line.strip().partition(" ")
        words = rest.split()
        if mark in ("-", "*", "+") and ITEM_WORDS[0] <= len(words) <= ITEM_WORDS[1]:
            yield " ".join(words)
