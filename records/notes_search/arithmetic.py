"""What follows from the document's own figures, and the replica's counts (B01, B06, B23)."""

from __future__ import annotations

from records.notes_search.subjects import LARGE, megabytes, old_searches, project, spread
from workbench.analysis.ledger.run import Run
from workbench.analysis.ledger.verdict import Measured, returns
from workbench.retrieval.notes.legacy import CANDIDATE_LIMIT

NOTES = 7_136
NOTE_CHARACTERS = 41_522
"""The document's large project: notes, and characters of one on average."""
READS_AN_HOUR = 640
LARGE_SEARCH_MB = 350.0
ROUNDS_SECONDS = (1.7, 2.7, 7.5, 8.6, 19.0, 22.0)
"""The document's one search of six rounds, "101 seconds in total"."""


@returns("characters", "chunks", "chunks_a_note", "notes", "text_mb")
def collection_counts(run: Run) -> Measured:
    """B01: the replica's notes, chunks, characters a note and chunks a note."""
    at = project(run, LARGE)
    value = {
        "notes": at.notes,
        "chunks": at.chunks,
        "characters": round(at.characters / at.notes),
        "chunks_a_note": round(at.chunks / at.notes, 1),
        "text_mb": megabytes(at.text_bytes, 1),
    }
    return Measured(
        value,
        at.where,
        "Characters are of a note's text as its row holds it; 5 % of the chunks are observations and relations.",
    )


@returns("measured_mb", "on_paper_mb", {"rows": ["max", "mean", "p50", "p95"]})
def full_text_leg(run: Run) -> Measured:
    """B06: 260 rows of whole notes, on paper and as they cross."""
    at = project(run, LARGE)
    legs = [
        c for r in old_searches(run, at) for c in r.crossings if c.stage == "full text" and c.rows
    ]
    return Measured(
        {
            "on_paper_mb": megabytes(CANDIDATE_LIMIT * NOTE_CHARACTERS),
            "rows": spread([c.rows for c in legs], 0),
            "measured_mb": spread([megabytes(c.bytes) for c in legs]),
        },
        at.where,
        "The rows that rank first by full text are longer than the average note where they are ranked by their best "
        "chunk: more chunks, more chances.",
    )


@returns("mb_an_hour", "of_one_large_search")
def note_reads(run: Run) -> Measured:
    """B23: 640 reads of a note an hour, against one search."""
    hour = READS_AN_HOUR * NOTE_CHARACTERS / 1e6
    return Measured(
        {"mb_an_hour": round(hour, 1), "of_one_large_search": round(hour / LARGE_SEARCH_MB, 3)},
        "the document's figures",
        "An hour of reads moves less than a tenth of what one search of the large project does.",
    )
