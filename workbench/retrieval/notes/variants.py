"""The notes search's paths by name: as it was, its stopgap whole and in parts, and as it is rebuilt with either fusion."""

from __future__ import annotations

from workbench.registry import Stage, register
from workbench.retrieval.fusions import MAX_MIN_BONUS, RRF_K, max_min, rrf
from workbench.retrieval.notes.budget import K_CAP, PAGE_ROWS, Budget
from workbench.retrieval.notes.new_variant import NotesVariant
from workbench.retrieval.notes.old_constants import (
    CANDIDATE_LIMIT,
    MIN_SIMILARITY,
    OLD,
    ROW_BUDGET,
    STOPGAP,
    OldSettings,
    Switches,
)
from workbench.retrieval.notes.old_variant import OldNotesVariant
from workbench.retrieval.notes.request import Floors
from workbench.retrieval.notes.search import Plan

_STOPGAP = "notes search rebuild, Suggested order of work, 1"


@register("variant")
def notes_old(
    *, candidate_limit: int = CANDIDATE_LIMIT, min_similarity: float = MIN_SIMILARITY, bonus: float = MAX_MIN_BONUS
) -> OldNotesVariant:
    """The notes search as it was: whole rows in every step, a window that widens until rows meet a budget of chunks."""
    settings = OldSettings(candidate_limit=candidate_limit, min_similarity=min_similarity, bonus=bonus)
    return OldNotesVariant("notes_old", OLD, settings, "notes search rebuild, Why it happens")


@register("variant")
def notes_stopgap(
    *, candidate_limit: int = CANDIDATE_LIMIT, row_budget: int = ROW_BUDGET, min_similarity: float = MIN_SIMILARITY,
    bonus: float = MAX_MIN_BONUS,
) -> OldNotesVariant:  # fmt: skip
    """The stopgap: rows are compared with a budget of rows, the source type is in the vector query, no content in between."""
    settings = OldSettings(candidate_limit=candidate_limit, row_budget=row_budget, min_similarity=min_similarity, bonus=bonus)
    return OldNotesVariant("notes_stopgap", STOPGAP, settings, _STOPGAP)


@register("variant")
def notes_row_budget(*, row_budget: int = ROW_BUDGET) -> OldNotesVariant:
    """The old path with one part of the stopgap: the loop ends when its rows meet a budget of rows."""
    return OldNotesVariant("notes_row_budget", Switches(row_budget=True), OldSettings(row_budget=row_budget), _STOPGAP)


@register("variant")
def notes_type_pushed() -> OldNotesVariant:
    """The old path with one part of the stopgap: the source type is asked in the vector query."""
    return OldNotesVariant("notes_type_pushed", Switches(type_pushed=True), OldSettings(), _STOPGAP)


@register("variant")
def notes_no_content() -> OldNotesVariant:
    """The old path with one part of the stopgap: candidates are read and filtered without their whole text."""
    return OldNotesVariant("notes_no_content", Switches(no_content=True), OldSettings(), _STOPGAP)


@register("variant")
def notes_max_min(
    *, bonus: float = MAX_MIN_BONUS, k_fts: int = K_CAP, k_vec: int = K_CAP, floor: float | None = None,
    floor_unsupported: float | None = None, floor_alone: float | None = None, page_rows: int = PAGE_ROWS,
    engine: str = "duckdb", exact: bool = False,
) -> NotesVariant:  # fmt: skip
    """The rebuilt notes search with the fusion that it had: ids ranked in one statement, text for the page alone."""
    how = _plan(max_min(bonus=bonus), k_fts, k_vec, Floors(floor, floor_unsupported, floor_alone), page_rows)
    return NotesVariant("notes_max_min", how, engine, exact, "notes search rebuild, Proposed design")


@register("variant")
def notes_rrf(
    *, k: float = RRF_K, k_fts: int = K_CAP, k_vec: int = K_CAP, floor: float | None = None,
    floor_unsupported: float | None = None, floor_alone: float | None = None, page_rows: int = PAGE_ROWS,
    engine: str = "duckdb", exact: bool = False,
) -> NotesVariant:  # fmt: skip
    """The rebuilt notes search fused by RRF: the first of its open questions."""
    how = _plan(rrf(k=k), k_fts, k_vec, Floors(floor, floor_unsupported, floor_alone), page_rows)
    return NotesVariant("notes_rrf", how, engine, exact, "notes search rebuild, Open questions")


def _plan(fusion: Stage, k_fts: int, k_vec: int, floors: Floors, page_rows: int) -> Plan:
    return Plan(fusion, floors, Budget(k_fts, k_vec, page_rows))
