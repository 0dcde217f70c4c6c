"""How time and bytes grow with the size of notes and with the number of chunks, and what a layout costs (B09, B13)."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from records.notes_search.subjects import LARGE, NEW_PAGE, Project, asked, in_turn, project
from records.subjects import full_size
from workbench.analysis.ledger.run import Run
from workbench.analysis.ledger.verdict import INCONCLUSIVE, Measured, returns
from workbench.retrieval.notes.duckdb import LAYOUTS, TWO_TABLES, DuckNotes
from workbench.retrieval.notes.files_made import build_layout, build_old, cut_catalog
from workbench.retrieval.notes.legacy import PAGE_ROWS, OldNotes
from workbench.retrieval.notes.search import Notes
from workbench.settings import home
from workbench.types import Query

STEPS = (16, 8, 4, 2, 1)
"""Sizes are one over these."""
NOTE_SIZE_SHARE = 0.25
"""Of the full collection: where notes are cut in parts, its chunks stay as many as they are."""
QUERIES, TURNS = 4, 3
LAYOUT_TURNS = 5
DIFFERENT = 0.1
"""Layouts whose times differ by less than a tenth are told apart by nothing that a service would feel."""
SELECTIVITIES = {
    "all": {},
    "a twelfth": {"tags": "storage"},
    "a hundredth": {"tags": "storage", "note_type": "transcript"},
}


@returns(
    "multi_round_searches",
    "new_bytes_over_chunks",
    "new_bytes_over_note_size",
    "new_time_over_chunks",
    "new_time_over_note_size",
    "old_rounds",
    "slopes",
)
def growth(run: Run) -> Measured:
    """B09: medians of both paths over chunk count at one note size, and over note size at one chunk count."""
    at = project(run, LARGE)
    base = NOTE_SIZE_SHARE if full_size(run) else 1.0
    rows = [{"over": "chunks", "share": 1 / s, **_at(at, share=1 / s)} for s in STEPS]
    rows += [{"over": "note size", "share": 1 / s, **_at(at, share=base, parts=s)} for s in STEPS]
    slopes = {
        over: {
            path: {
                what: _slope([r for r in rows if r["over"] == over], f"{path}_{what}")
                for what in ("seconds", "bytes")
            }
            for path in ("old", "new")
        }
        for over in ("chunks", "note size")
    }
    return Measured(
        {
            "new_time_over_note_size": slopes["note size"]["new"]["seconds"],
            "new_time_over_chunks": slopes["chunks"]["new"]["seconds"],
            "new_bytes_over_note_size": slopes["note size"]["new"]["bytes"],
            "new_bytes_over_chunks": slopes["chunks"]["new"]["bytes"],
            "multi_round_searches": sum(r["new_multi_round"] for r in rows),
            "slopes": slopes,
            "old_rounds": {f"{r['over']} × {r['share']:g}": r["old_rounds"] for r in rows},
        },
        at.where,
        "A slope is of log time or bytes over log size, by least squares: 1 is in proportion, 0 is no growth. The vector leg reads "
        f"every vector, so its time grows with the chunks: an index would change that. Notes are cut at {base:g} of the collection.",
        data=rows,
        timing_ratios=("new_time_over_note_size", "new_time_over_chunks", "slopes.*.*.seconds"),
    )


def _at(at: Project, *, share: float, parts: int = 1) -> dict[str, Any]:
    with TemporaryDirectory(dir=home()) as work:
        catalog = Path(at.collection.stores.catalog.path)
        if share < 1 or parts > 1:
            cut_catalog(catalog, Path(work) / "cut.duckdb", share=share, parts=parts)
            catalog = Path(work) / "cut.duckdb"
        build_old(catalog, Path(work) / "old.duckdb")
        with (
            OldNotes(catalog, Path(work) / "old.duckdb", at.new.embedder) as old,
            Notes(DuckNotes.open(catalog), at.new.embedder) as new,
        ):
            ((chunks, notes),) = old.file.rows(
                "SELECT (SELECT count(*) FROM chunk), count(*) FROM old.search_index WHERE source_type = 'entity'"
            )
            before = [old.search(Query(q.text, limit=PAGE_ROWS)) for q in asked(at, QUERIES)]
            after = [
                [new.search(Query(q.text, limit=NEW_PAGE)).span for q in asked(at, QUERIES)]
                for _ in range(TURNS)
            ]
    fastest = [min(turn[n].seconds for turn in after) for n in range(QUERIES)]
    return {
        "chunks": chunks,
        "notes": notes,
        "old_seconds": median(r.seconds for r in before),
        "old_bytes": median(r.bytes for r in before),
        "old_rounds": median(len(r.rounds) for r in before),
        "new_seconds": median(fastest),
        "new_bytes": median(s.bytes for s in after[0]),
        "new_multi_round": sum(s.rounds > 1 for turn in after for s in turn),
    }


def _slope(rows: list[dict[str, Any]], what: str) -> float:
    return round(
        float(
            np.polyfit(np.log([r["share"] for r in rows]), np.log([r[what] for r in rows]), 1)[0]
        ),
        2,
    )


@returns("admitted", "decided", "layouts", "ms", "one_table_over_two")
def layouts(run: Run) -> Measured:
    """B13: each layout's size, the time to make it, and the time of a search at three selectivities, in turn."""
    at = project(run, LARGE)
    catalog = Path(at.collection.stores.catalog.path)
    value: dict[str, Any] = {}
    ms: dict[str, dict[str, float]] = {}
    with TemporaryDirectory(dir=home()) as work:
        opened = {}
        for layout in LAYOUTS:
            path = Path(work) / f"{layout.name.replace(' ', '-')}.duckdb"
            start = time.perf_counter()
            build_layout(catalog, path, layout)
            value[layout.name] = {
                "mb": round(path.stat().st_size / 1e6, 1),
                "seconds_to_make": round(time.perf_counter() - start, 2),
            }
            beside = {} if layout is TWO_TABLES else {"layouts": path}
            opened[layout.name] = Notes(DuckNotes.open(catalog, layout, beside), at.new.embedder)
        admitted = {}
        for label, filters in SELECTIVITIES.items():
            spent = in_turn(
                {n: _search(notes, at, filters) for n, notes in opened.items()},
                LAYOUT_TURNS,
                QUERIES,
            )
            ms[label] = {n: round(spent_ms, 2) for n, spent_ms in spent.items()}
            admitted[label] = round(
                at.collection.stores.catalog.count([], "any", {"source_type": "entity", **filters})
                / at.chunks,
                4,
            )
        for notes in opened.values():
            notes.close()
    two, one = TWO_TABLES.name, "one table"
    ratios = {label: round(row[one] / row[two], 3) for label, row in ms.items()}
    decided = all(r > 1 + DIFFERENT for r in ratios.values()) or all(
        r < 1 - DIFFERENT for r in ratios.values()
    )
    return Measured(
        {
            **({"decided": True} if decided else {}),
            "one_table_over_two": ratios,
            "layouts": value,
            "ms": ms,
            "admitted": admitted,
        },
        at.where,
        "Narrow facets are a third table beside the two. "
        + (
            "Two tables are faster at every selectivity."
            if decided and ratios["all"] > 1
            else "One table is faster at every selectivity."
            if decided
            else "Neither is a tenth faster at every selectivity: what would decide is who writes them, as two tables let text and vectors be "
            "remade apart."
        ),
        verdict=None if decided else INCONCLUSIVE,
        timing=("ms", "layouts.*.seconds_to_make"),
        timing_ratios=("one_table_over_two", "decided"),
        data=[
            {"layout": n, "selectivity": label, "ms": t}
            for label, row in ms.items()
            for n, t in row.items()
        ],
    )


def _search(notes: Notes, at: Project, filters: dict[str, Any]) -> Callable[[], Any]:
    queries = [Query(q.text, filters, NEW_PAGE) for q in asked(at, QUERIES)]
    return lambda: [notes.search(q) for q in queries]
