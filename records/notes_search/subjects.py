"""What the notes search's measures are made on: the replicas with the old schema beside them, and the searches that
several measures share."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from records.subjects import INCIDENTS, full_size, loaded
from workbench.analysis.ledger.run import Run
from workbench.retrieval.notes.duckdb import DuckNotes
from workbench.retrieval.notes.files_made import old_schema
from workbench.retrieval.notes.legacy import OLD, PAGE_ROWS, OldNotes, OldResult, Switches
from workbench.retrieval.notes.model import NotesResult
from workbench.retrieval.notes.search import Notes
from workbench.retrieval.search import Collection
from workbench.settings import project_root
from workbench.sources.base import JudgedQuery
from workbench.types import Query

FILE = "notes-search"
LARGE, SECOND = "large", "second"
SMALL_NOTES = {LARGE: 223, SECOND: 200}
"""Notes of the smaller sizes: a thirty-second of the large project and a tenth of the other."""

ASKED = 40
"""Queries that both paths answer in full: enough for a distribution, few enough for minutes at full size."""
NEW_PAGE = 10


class Remembering:
    """An embedder that keeps what it made, so that a search is timed without its query's embedding."""

    def __init__(self, embedder: Any) -> None:
        self._embedder, self._known = embedder, {}

    def embed_query(self, text: str) -> np.ndarray:
        if text not in self._known:
            self._known[text] = self._embedder.embed_query(text)
        return self._known[text]


@dataclass(frozen=True, slots=True)
class Project:
    """A replica with both paths opened. `text_bytes` is all its notes' text, once."""

    name: str
    collection: Collection
    new: Notes
    old: OldNotes
    notes: int
    characters: int
    text_bytes: int

    @property
    def chunks(self) -> int:
        return self.collection.stores.catalog.n

    @property
    def where(self) -> str:
        return f"replica {self.collection.name}: {self.notes:,} notes, {self.chunks:,} chunks"


def project(run: Run, name: str = LARGE) -> Project:
    """The replica of a project, at full size or at the run's small one, loaded and opened once."""
    return run.once(("notes project", name), lambda: _opened(run, name))


def _opened(run: Run, name: str) -> Project:
    notes = None if full_size(run) else SMALL_NOTES[name]
    label = "-".join([FILE, name, *([str(notes)] if notes else [])])
    options = {"project": name} | ({"notes": notes} if notes else {})
    collection = loaded(run, label, str(project_root() / INCIDENTS / f"{FILE}.toml"), **options)
    catalog = Path(collection.stores.catalog.path)
    embedder = Remembering(collection.stores.embedder)
    old = OldNotes(catalog, old_schema(collection), embedder)
    sql = "SELECT count(*), sum(length(content_snippet)), sum(content_bytes) FROM old.search_index WHERE source_type = 'entity'"
    ((count, characters, text_bytes),) = old.file.rows(sql)
    return Project(
        name,
        collection,
        Notes(DuckNotes.open(catalog), embedder),
        old,
        count,
        characters,
        text_bytes,
    )


def asked(at: Project, count: int = ASKED) -> tuple[JudgedQuery, ...]:
    """So many of the replica's queries, evenly over their order, which goes by kind."""
    known = at.collection.stores.catalog.queries()
    places = np.unique(np.linspace(0, len(known) - 1, min(count, len(known))).round().astype(int))
    return tuple(known[p] for p in places)


def some(run: Run, count: int) -> int:
    """That many at full size, and a third for a quick look."""
    return count if full_size(run) else -(-count // 3)


def old_searches(
    run: Run, at: Project, switches: Switches = OLD, count: int = ASKED
) -> list[OldResult]:
    """The old path's results of the asked queries, bytes weighed by stored lengths (see Wire)."""
    return run.once(
        ("old searches", at.name, switches, count),
        lambda: [
            at.old.search(Query(q.text, limit=PAGE_ROWS), switches, weigh=True)
            for q in asked(at, count)
        ],
    )


def new_searches(run: Run, at: Project, count: int = ASKED) -> list[NotesResult]:
    """The new path's results of the same queries."""
    return run.once(
        ("new searches", at.name, count),
        lambda: [at.new.search(Query(q.text, limit=NEW_PAGE)) for q in asked(at, count)],
    )


def in_turn(
    sides: Mapping[str, Callable[[], Any]], turns: int, queries: int, seed: int = 0
) -> dict[str, float]:
    """Median milliseconds a query of each side. All run in each turn, in an order drawn anew from the seed, since what
    runs before a side leaves the processor's caches warm or cold for it; one turn warms up where there are several."""
    spent: dict[str, list[float]] = {name: [] for name in sides}
    for call in sides.values() if turns > 1 else ():
        call()
    drawn = random.Random(seed)
    for _ in range(turns):
        for name, call in drawn.sample(list(sides.items()), len(sides)):
            start = time.perf_counter()
            call()
            spent[name].append((time.perf_counter() - start) / queries * 1e3)
    return {name: median(times) for name, times in spent.items()}


def spread(values: Sequence[float], digits: int = 1) -> dict[str, float]:
    """p50, p95, mean and max, rounded."""
    found = np.asarray(values, dtype=float)
    named = {
        "p50": np.percentile(found, 50),
        "p95": np.percentile(found, 95),
        "mean": found.mean(),
        "max": found.max(),
    }
    return {k: round(float(v), digits) for k, v in named.items()}


def megabytes(size: float, digits: int = 2) -> float:
    """Bytes as MB of a million."""
    return round(size / 1e6, digits)
