"""The story of the notes search's report: which charts and tables tell it, from what the measures kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from workbench.analysis.claims import notes_search_judged
from workbench.analysis.claims.notes_search_bytes import LIMIT
from workbench.analysis.run import Run
from workbench.reporting import notes_charts


def tell_old(run: Run) -> None:
    """Rounds of the old path, and one search round by round."""
    if rows := run.data.get("B03"):
        run.chart("rounds", notes_charts.rounds(rows), "How many rounds a search takes in the old path, on both projects.", "The old path", claims=["B03", "B22"])
    if rows := run.data.get("B04"):
        run.chart("waterfall", notes_charts.waterfall(rows), "One search in the old path: each round starts from nothing, with twice the window.", claims=["B04", "B05"])


def tell_bytes(run: Run) -> None:
    """Bytes of the three paths against the limit, and what each part of the stopgap removes."""
    if rows := run.data.get("B08"):
        run.chart("bytes", notes_charts.bytes_by_path(rows, LIMIT), "What one search moves, one mark a query, the median as a diamond.", "Bytes", claims=["B02", "B08", "B21"])
    if rows := run.data.get("B21"):
        run.chart("stopgap", notes_charts.parts(rows), "The stopgap's parts singly and together.", claims=["B21"])


def tell_growth(run: Run) -> None:
    """Growth of time and bytes over note size and chunk count, and what a layout costs."""
    if rows := run.data.get("B09"):
        slopes = run.row("B09").measured["slopes"]
        for what in ("seconds", "bytes"):
            run.chart(f"growth-{what}", notes_charts.growth(rows, what, slopes), f"Growth of {'time' if what == 'seconds' else 'bytes'}: a slope of 1 is in proportion.", "Growth", claims=["B09"])
    if rows := run.data.get("B13"):
        run.chart("layouts", notes_charts.layouts(rows), "One search by layout and by how much the filter admits.", claims=["B13"])


def tell_questions(run: Run) -> None:
    """Fusions, floors and cosines on judged collections."""
    trials, absent = notes_search_judged.trials(run)
    for name, trial in trials.items():
        table = notes_search_judged.compared(run, trial).per_variant.pivot(on="metric", index="variant", values="value")
        run.table(f"fusions-{name}", table, f"{name}: {len(trial.judged.ids)} queries, both fusions and each leg alone.", "The open questions", claims=["B11"])
    if kept := run.data.get("B14"):
        run.chart("floors", notes_charts.floor_sweep(kept["sweep"]), "A weak-match floor from 0.40 to 0.90: what it refuses where the relevant documents are gone, and what it loses where they are there.", claims=["B14"])
        run.chart("cosines", notes_charts.cosine_overlap(kept["overlap"]), "The nearest relevant and the nearest irrelevant document of every query.", claims=["B14"])
    for reason in absent:
        run.story(f"Not measured: {reason}.")


def tell_own(run: Run, queries: list[str], limit: int) -> None:
    """One's own queries over one's own collection, by the new path: rows, excerpts, and the span."""
    import polars as pl

    from workbench.retrieval.notes.budget import Budget
    from workbench.retrieval.notes.duck import DuckNotes
    from workbench.retrieval.notes.search import Notes, Plan

    name = run.params["collection"]
    if not (name and queries):
        return
    collection = run.open(name)
    with Notes(DuckNotes.open(Path(collection.stores.catalog.path)), collection.stores.embedder) as notes:
        for number, text in enumerate(queries, 1):
            found = notes.search(text, Plan(budget=Budget(page_rows=limit)), limit=limit)
            rows = [_row(h) for h in found.hits]
            caption = f"“{text}” in {name}: {found.span.bytes:,} bytes, {found.span.rows_admitted} chunks admitted."
            run.table(f"own-{number}", pl.DataFrame(rows), caption, "One's own queries")


def _row(hit: Any) -> dict[str, Any]:
    return {"rank": hit.rank, "type": hit.type, "id": hit.id, "score": round(hit.score, 4), "title": hit.title, "excerpt": " ".join(hit.excerpt.split())[:160]}
