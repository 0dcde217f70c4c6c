"""The story of the notes search's report: which charts and tables tell it, from what the measures kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from records.notes_search import charts, judged
from records.notes_search.charts import slope_text
from records.notes_search.egress import LIMIT
from workbench.analysis.ledger.run import Run
from workbench.analysis.ledger.verdict import HOLDS
from workbench.text import excerpt

EXCERPT_CHARACTERS = 160
"""Of a row's excerpt, in the table of one's own queries."""
_FUSIONS = {"rrf": "RRF", "max_min": "Max + 0.3 × min"}

WATERFALL = (
    "One search in the old path: each round starts from nothing, with twice the window. Left: when each ran; right: what it moved, by stage. "
    "“outside” is what runs once a search and in no round: the full-text leg."
)


def tell_old(run: Run) -> None:
    """Rounds of the old path, and one search round by round."""
    if rows := run.data.get("B03"):
        run.chart(
            "rounds",
            charts.rounds(rows),
            "How many rounds a search takes in the old path, on both projects.",
            "The old path",
            claims=["B03", "B22"],
        )
    if rows := run.data.get("B04"):
        run.chart("waterfall", charts.waterfall(rows), WATERFALL, claims=["B04", "B05"])


def tell_bytes(run: Run) -> None:
    """Bytes of the three paths against the limit, and what each part of the stopgap removes."""
    if rows := run.data.get("B08"):
        run.chart(
            "bytes",
            charts.bytes_by_path(rows, LIMIT),
            "What one search moves, one mark a query, the median as a diamond.",
            "Bytes",
            claims=["B02", "B08", "B21"],
        )
    if rows := run.data.get("B21"):
        run.chart(
            "stopgap",
            charts.parts(rows),
            "The stopgap's parts singly and together.",
            claims=["B21"],
        )


def tell_growth(run: Run) -> None:
    """Growth of time and bytes over note size and chunk count, and what a layout costs."""
    if rows := run.data.get("B09"):
        slopes = run.row("B09").measured["slopes"]
        for what in ("seconds", "bytes"):
            run.chart(
                f"growth-{what}",
                charts.growth(rows, what, slopes),
                f"Growth of {'time' if what == 'seconds' else 'bytes'}: a slope of 1 is in proportion.",
                "Growth",
                claims=["B09"],
            )
    if rows := run.data.get("B13"):
        run.chart(
            "layouts",
            charts.layouts(rows),
            "One search by layout and by how much the filter admits. Narrow facets: two tables, and what filters ask for in a third one of its own.",
            claims=["B13"],
        )


def tell_questions(run: Run) -> None:
    """Fusions, floors and cosines on judged collections."""
    import polars as pl

    trials, absent = judged.trials(run)
    for name, trial in trials.items():
        table = (
            judged.compared(run, trial)
            .per_variant.pivot(on="metric", index="variant", values="value")
            .with_columns(pl.exclude("variant").round(4))
        )
        run.table(
            f"fusions-{name}",
            table,
            f"{name}: {len(trial.judged.ids)} queries, both fusions and each leg alone.",
            "The open questions",
            claims=["B11"],
        )
    if kept := run.data.get("B14"):
        run.chart(
            "floors",
            charts.floor_sweep(kept["sweep"]),
            "A weak-match floor from 0.40 to 0.90: what it refuses where the relevant documents are gone, and what it loses where they are there.",
            claims=["B14"],
        )
        run.chart(
            "cosines",
            charts.cosine_overlap(kept["overlap"]),
            "The nearest relevant and the nearest irrelevant document of every query.",
            claims=["B14"],
        )
    for reason in absent:
        run.story(f"Not measured: {reason}.")


def tell_own(run: Run, queries: list[str], limit: int) -> None:
    """One's own queries over one's own collection, by the new path: rows, excerpts, and the span."""
    import polars as pl

    from workbench.retrieval.notes.duckdb import DuckNotes
    from workbench.retrieval.notes.model import Budget
    from workbench.retrieval.notes.search import Notes, Plan

    name = run.params["collection"]
    if not (name and queries):
        return
    collection = run.open(name)
    with Notes(
        DuckNotes.open(Path(collection.stores.catalog.path)), collection.stores.embedder
    ) as notes:
        for number, text in enumerate(queries, 1):
            found = notes.search(text, Plan(budget=Budget(page_rows=limit)), limit=limit)
            rows = [_row(h) for h in found.hits]
            caption = f"“{text}” in {name}: {found.span.bytes:,} bytes, {found.span.rows_admitted} rows admitted."
            run.table(f"own-{number}", pl.DataFrame(rows), caption, "One's own queries")


def _row(hit: Any) -> dict[str, Any]:
    return {
        "rank": hit.rank,
        "type": hit.type,
        "id": hit.id,
        "score": round(hit.score, 4),
        "title": hit.title,
        "excerpt": excerpt(hit.excerpt, hit.title, EXCERPT_CHARACTERS),
    }


def find(run: Run) -> None:
    """What a reader of the document wants to know within a minute, in the run's own figures."""
    old, new, parts, growth = (run.row(c).measured for c in ("B02", "B08", "B21", "B09"))
    share = {k: parts[f"{k}_removes"] for k in ("stopgap", "stop_condition_alone")}
    run.finding(
        f"**Bytes.** A search of the large project moves {old['large']['megabytes']['p50']:,.0f} MB by the old path (median) and "
        f"{new['bytes']['p50'] / 1e3:.1f} KB by the new one, at most {new['bytes']['max'] / 1e3:.1f} KB. The stopgap removes "
        f"{share['stopgap']:.0%} of one large search, its stop condition alone {share['stop_condition_alone']:.0%}.",
        ["B02", "B08", "B21"],
    )
    run.finding(
        f"**Growth.** The new path never runs a second round, and its bytes do not grow. Its time has a slope of "
        f"{slope_text(growth['new_time_over_chunks'])} over the number of chunks and of {slope_text(growth['new_time_over_note_size'])} over the "
        "note size (0 is no growth, 1 growth in proportion); the old path's slopes are "
        f"{slope_text(growth['slopes']['chunks']['old']['seconds'])} and {slope_text(growth['slopes']['note size']['old']['seconds'])}.",
        ["B09"],
    )
    pages = run.row("B15").measured
    lost = pages["growing"]["queries_that_differ"]
    run.finding(
        f"**Pages.** With one fixed k, pages equal one long page. With k growing with the page, as the document words it, {lost} queries "
        "lost or repeated rows."
        if pages["one k"]["all_pages_equal_one_long_page"]
        else f"**Pages.** Pages differ from one long page even with one fixed k; with a growing k {lost} queries do.",
        ["B15"],
    )
    run.finding("**The open questions.** " + " ".join(_answers(run)), ["B11", "B12", "B13", "B14"])


def _answers(run: Run) -> list[str]:
    """Each open question's verdict, and the figures of those that were decided."""
    fusion, observations = run.row("B11"), run.row("B12")
    told = []
    if isinstance(fusion.measured, dict):
        better = _FUSIONS.get(fusion.measured["better"], "Undecided")
        sets = ", ".join(
            f"{s['nDCG@10']['difference']:+.4f} on {n}"
            for n, s in fusion.measured["by_set"].items()
        )
        told.append(f"RRF or max + 0.3 × min? {better} (RRF minus the other, nDCG@10: {sets}).")
    if isinstance(observations.measured, dict):
        found = observations.measured["success_at_8"]
        told.append(
            f"Observation chunks? The right note is in the first 8 for {found['with']:.3f} of the queries with them, {found['without']:.3f} without."
        )
    faster, floor = run.row("B13"), run.row("B14")
    told.append(
        "One table or two? "
        + ("One is faster." if faster.verdict == HOLDS else f"{faster.verdict.capitalize()}.")
    )
    if isinstance(floor.measured, dict):
        found = (
            "There is one"
            if floor.measured["a_floor_refuses_half_and_loses_5_percent"]
            else "None of those swept"
        )
        told.append(
            f"A weak-match floor that refuses half of the wrong rows and loses 5 % of the right ones? {found}."
        )
    return told
