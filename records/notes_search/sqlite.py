"""SQLite: the bounded overfetch against the filter inside the vector search, by selectivity (B19)."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryDirectory
from typing import Any

from records.notes_search.subjects import LARGE, asked, project, some
from records.subjects import full_size
from workbench.analysis.ledger.run import Run
from workbench.analysis.ledger.verdict import NOT_MEASURABLE, Measured, returns
from workbench.errors import NotAvailable
from workbench.retrieval.notes.files_made import cut_catalog
from workbench.retrieval.notes.model import LEAST_K, Ask
from workbench.retrieval.notes.search import Notes, typed
from workbench.retrieval.notes.sqlite import OVERFETCH, SqliteNotes, build_sqlite, where
from workbench.settings import home
from workbench.types import Query

SHARE = 0.0625
"""Of the full collection, 23,000 chunks: SQLite reads all vectors of a search one by one."""
QUERIES = 15
FACTORS = (1, 2, 4, 8, 16)
FILTERS = {
    "half": {"note_type": ["note", "schedule"]},
    "quarter": {"note_type": "activity"},
    "sixteenth": {"note_type": "schedule"},
    "a subject": {"tags": "storage"},
    "a subject and a kind": {"tags": "storage", "note_type": "note"},
}
"""Kinds can go into the vector search; a tag, one of a list, stays out. A subject is near what is asked about it."""


@returns(
    "by_filter",
    "reads_at_most_4_k",
    "recall_where_a_subject_is_asked_for",
    "recall_where_half_is_admitted",
    "rounds",
    "seconds_to_build",
)
def bounded_overfetch(run: Run) -> Measured:
    """B19: recall of 4 × k against the exact filtered search, one round, by selectivity and by factor."""
    at = project(run, LARGE)
    with TemporaryDirectory(dir=home()) as work:
        catalog = Path(at.collection.stores.catalog.path)
        if full_size(run):
            cut_catalog(catalog, Path(work) / "cut.duckdb", share=SHARE)
            catalog = Path(work) / "cut.duckdb"
        start = time.perf_counter()
        try:
            build_sqlite(catalog, Path(work) / "notes.sqlite")
        except NotAvailable as error:
            return Measured(None, at.where, verdict=NOT_MEASURABLE, note=str(error))
        built = time.perf_counter() - start
        with Notes(SqliteNotes.open(Path(work) / "notes.sqlite"), at.new.embedder) as notes:
            queries = asked(at, some(run, QUERIES))
            asks = [_ask(notes, q.text) for q in queries]
            spans = [notes.search(Query(q.text, FILTERS["a subject"])).span for q in queries]
            rows = [_row(notes.engine, asks, label, filters) for label, filters in FILTERS.items()]
            ((chunks,),) = notes.engine.con.execute("SELECT count(*) FROM chunk").fetchall()
    by_label = {r["filter"]: {k: v for k, v in r.items() if k != "filter"} for r in rows}
    return Measured(
        {
            "rounds": max(s.rounds for s in spans),
            "reads_at_most_4_k": all(
                0 < (s.read_before_filter or 0) <= OVERFETCH * s.vec_k for s in spans
            ),
            "recall_where_half_is_admitted": by_label["half"][f"recall at {OVERFETCH} × k"],
            "recall_where_a_subject_is_asked_for": by_label["a subject"][
                f"recall at {OVERFETCH} × k"
            ],
            "by_filter": by_label,
            "seconds_to_build": round(built, 1),
        },
        f"{chunks:,} chunks of {at.collection.name} in SQLite, {len(asks)} queries, k = {LEAST_K}",
        f"Recall is of the {LEAST_K} nearest admitted chunks. {OVERFETCH} × k reaches them where about half is admitted; where less is, rows are "
        "missing without a word, and nearly all where the filter has nothing to do with the query. A filter that goes into the search, and "
        "else a comparison of every admitted vector (ms_exact), miss none.",
        data=rows,
        timing=("seconds_to_build", "by_filter.*.ms_exact", "by_filter.*.ms_overfetched"),
    )


def _ask(notes: Notes, text: str) -> tuple[tuple[str, ...], Any]:
    text = Query(text).normalised
    return tuple(notes.engine.tokenizer.terms(text)), notes.embedder.embed_query(text)


def _row(
    engine: SqliteNotes,
    asks: list[tuple[tuple[str, ...], Any]],
    label: str,
    filters: dict[str, Any],
) -> dict[str, Any]:
    made = [Ask(terms, vector, typed(filters), LEAST_K, LEAST_K, 0, 10) for terms, vector in asks]
    (admitted,) = engine.con.execute(*_count(filters)).fetchone()
    (total,) = engine.con.execute("SELECT count(*) FROM chunk").fetchone()
    truth = [set(engine.nearest_exact(ask)) for ask in made]
    row: dict[str, Any] = {
        "filter": label,
        "admitted": round(admitted / total, 4),
        "goes_in": engine.pushes_down(made[0]),
    }
    for factor in FACTORS:
        found = [set(engine.nearest_overfetched(ask, factor)) for ask in made]
        row[f"recall at {factor} × k"] = round(
            mean(len(f & t) / len(t) for f, t in zip(found, truth, strict=True) if t), 4
        )
    row["ms_exact"] = _ms(made, engine.nearest_exact)
    row["ms_overfetched"] = _ms(made, lambda ask: engine.nearest_overfetched(ask, OVERFETCH))
    return row


def _count(filters: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    clause = where(typed(filters))
    return f"SELECT count(*) FROM chunk WHERE {clause.sql}", clause.params


def _ms(asks: list[Ask], call: Callable[[Ask], Any]) -> float:
    """Median milliseconds of a call."""
    times = []
    for ask in asks:
        start = time.perf_counter()
        call(ask)
        times.append((time.perf_counter() - start) * 1e3)
    return round(median(times), 1)
