"""Faults that the claims of notes-search must notice."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from pytest import MonkeyPatch

from faults import Fault
from records.notes_search import arithmetic, growth, rounds, subjects
from records.notes_search import floors as floor_measures
from records.notes_search import observations as observation_measures
from workbench.retrieval.notes import duckdb, legacy, model, search, sqlite
from workbench.retrieval.notes.legacy import Exit, OldNotes, Window


def vector_leg_without_the_filter(patch: MonkeyPatch) -> None:
    real = duckdb.Layout.cosines

    def cosines(self: Any, dim: int, where: str) -> str:
        # "true" reads the admitted rows of a CTE; a filter of its own keeps its parameters.
        return real(self, dim, "" if where in ("", "true") else f"(({where}) OR true)")

    patch.setattr(duckdb.Layout, "cosines", cosines)


def loop_stops_after_round_one(patch: MonkeyPatch) -> None:
    def first(read: Any, settings: Any, switches: Any, *, filtered: bool) -> Window:
        found = read(1, min(settings.candidate_limit, settings.scan_limit))
        window = settings.candidate_limit
        made = legacy.Round(1, window, found.chunks, found.rows, len(found.admitted))
        return Window(found.admitted, (made,), Exit.FLOOR)

    patch.setattr(legacy, "candidate_window", first)
    patch.setattr(rounds, "candidate_window", first)


def loop_never_doubles(patch: MonkeyPatch) -> None:
    patch.setattr(rounds, "CHUNKS_A_NOTE", 26)


def statement_with_another_k(patch: MonkeyPatch) -> None:
    real = duckdb.fused_sql

    def other(notes: str, fusion: Any, *names: str) -> str:
        return real(notes, fusion.replace(k=10) if fusion.name == "rrf" else fusion, *names)

    patch.setattr(duckdb, "fused_sql", other)


def new_path_asks_four_times(patch: MonkeyPatch) -> None:
    real = duckdb.DuckNotes.ranked
    patch.setattr(
        duckdb.DuckNotes, "ranked", lambda self, ask: [real(self, ask) for _ in range(4)][-1]
    )


def four_times_with_a_filter(patch: MonkeyPatch) -> None:
    real = duckdb.DuckNotes.ranked

    def ranked(self: Any, ask: Any) -> Any:
        filtered = ask.filters.get("source_type") == ["entity"]
        return [real(self, ask) for _ in range(4 if filtered else 1)][-1]

    patch.setattr(duckdb.DuckNotes, "ranked", ranked)


def sqlite_asks_again(patch: MonkeyPatch) -> None:
    real = sqlite.SqliteNotes.ranked
    patch.setattr(
        sqlite.SqliteNotes, "ranked", lambda self, ask: [real(self, ask) for _ in range(2)][-1]
    )


def page_reads_whole_notes(patch: MonkeyPatch) -> None:
    real = duckdb.DuckNotes.page

    def page(self: Any, rows: Any, excerpt_chars: int, label_chars: int) -> Any:
        shown = real(self, rows, excerpt_chars, label_chars)
        return [s._replace(excerpt=s.excerpt + " and so on" * 5_000) for s in shown]

    patch.setattr(duckdb.DuckNotes, "page", page)


def stopgap_is_not_switched_on(patch: MonkeyPatch) -> None:
    real = OldNotes.search

    def search(self: Any, query: Any, switches: Any = None, *given: Any, **more: Any) -> Any:
        return real(self, query, legacy.OLD, *given, **more)

    patch.setattr(OldNotes, "search", search)


def budget_is_met_at_once(patch: MonkeyPatch) -> None:
    real = legacy._exit
    patch.setattr(
        legacy,
        "_exit",
        lambda reading, window, budget, settings: real(reading, window, 1, settings),
    )


def fusion_without_its_bonus(patch: MonkeyPatch) -> None:
    real = duckdb.fused_sql

    def other(notes: str, fusion: Any, *names: str) -> str:
        return real(
            notes, fusion.replace(bonus=0.9) if fusion.name == "max_min" else fusion, *names
        )

    patch.setattr(duckdb, "fused_sql", other)


def pages_are_ordered_by_id_alone(patch: MonkeyPatch) -> None:
    real = search._run

    def run(engine: Any, query: Any, *rest: Any) -> Any:
        found = real(engine, query, *rest)
        return replace(found, hits=tuple(reversed(found.hits)))

    patch.setattr(search, "_run", run)


def reranker_reads_whole_documents(patch: MonkeyPatch) -> None:
    real = duckdb.DuckNotes.documents
    patch.setattr(
        duckdb.DuckNotes,
        "documents",
        lambda self, chunks, chars: [t * 200 for t in real(self, chunks, chars)],
    )


def span_forgets_the_page(patch: MonkeyPatch) -> None:
    patch.setattr(model.NotesSpan, "bytes", property(lambda self: self.bytes_ids))


def excerpt_is_of_another_chunk(patch: MonkeyPatch) -> None:
    real = duckdb.DuckNotes.page

    def page(self: Any, rows: Any, *caps: int) -> Any:
        return [s._replace(excerpt=s.excerpt[::-1]) for s in real(self, rows, *caps)]

    patch.setattr(duckdb.DuckNotes, "page", page)


def constant(module: Any, name: str, value: Any, patch: MonkeyPatch) -> None:
    patch.setattr(module, name, value)


def replica_lacks_notes(patch: MonkeyPatch) -> None:
    real = subjects.project

    def project(run: Any, label: str) -> Any:
        found = real(run, label)
        return replace(found, characters=found.characters // 2)

    patch.setattr(arithmetic, "project", project)


def weighing_is_wrong(patch: MonkeyPatch) -> None:
    real = OldNotes.search

    def wrong(self: Any, *given: Any, weigh: bool = False, **more: Any) -> Any:
        found = real(self, *given, weigh=weigh, **more)
        cut = tuple(replace(c, bytes=c.bytes // 2) for c in found.crossings)
        return replace(found, crossings=cut) if weigh else found

    patch.setattr(OldNotes, "search", wrong)


def decided_without_a_test(module: Any, patch: MonkeyPatch) -> None:
    patch.setattr(module, "sign_of", lambda row: 1)


FAULTS = [
    Fault(
        "the statement's vector leg ignores the filter",
        ("B08", "B10", "B18", "B20"),
        vector_leg_without_the_filter,
        quick=("B20",),
    ),
    Fault(
        "the widening loop stops after round one", ("B03", "B07", "B22"), loop_stops_after_round_one
    ),
    Fault("RRF in the statement with another k", ("B11",), statement_with_another_k),
    Fault(
        "the new path runs its query four times for the default filter",
        ("B07",),
        four_times_with_a_filter,
    ),
    Fault("the new path runs its query four times", ("B09",), new_path_asks_four_times),
    Fault("SQLite's fallback asks again", ("B19",), sqlite_asks_again),
    Fault("a page carries whole notes", ("B08", "B16"), page_reads_whole_notes),
    Fault("an excerpt is not of the best chunk", ("B16",), excerpt_is_of_another_chunk),
    Fault("the stopgap is not switched on", ("B21",), stopgap_is_not_switched_on),
    Fault("even notes have half the chunks", ("B05",), loop_never_doubles),
    Fault("the loop's budget is one row", ("B22", "B04"), budget_is_met_at_once),
    Fault("max + 0.9 × min in the statement", ("B10",), fusion_without_its_bonus),
    Fault("a page is turned round", ("B15",), pages_are_ordered_by_id_alone),
    Fault("the reranker reads whole documents", ("B17",), reranker_reads_whole_documents),
    Fault("the span forgets the page's bytes", ("B18",), span_forgets_the_page),
    Fault("the replica has half the text", ("B01",), replica_lacks_notes),
    Fault("weighed bytes are half", ("B02",), weighing_is_wrong),
    Fault(
        "notes have a tenth of their length",
        ("B06",),
        partial(constant, arithmetic, "NOTE_CHARACTERS", 4_152),
    ),
    Fault(
        "6,400 reads an hour",
        ("B23",),
        partial(constant, arithmetic, "READS_AN_HOUR", 6_400),
        quick=True,
    ),
    Fault(
        "every difference decides",
        ("B12",),
        partial(decided_without_a_test, observation_measures),
        size="full",
    ),
    Fault(
        "any difference of layouts decides", ("B13",), partial(constant, growth, "DIFFERENT", -1e9)
    ),
    Fault(
        "a floor may lose every answer",
        ("B14",),
        partial(constant, floor_measures, "LOST_AT_MOST", 1.0),
    ),
]
