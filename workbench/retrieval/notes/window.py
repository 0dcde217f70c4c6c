"""The widening loop: it compares rows with a budget of chunks, doubles its window, and starts each round afresh."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from workbench.retrieval.notes.old_constants import Exit, OldSettings, Switches


@dataclass(frozen=True, slots=True)
class Reading:
    """One round's window: chunks that came back, the last one's similarity (None where none came), the rows that
    they belong to, and the admitted rows' similarity (best chunk), nearest first."""

    chunks: int
    tail: float | None
    rows: int
    admitted: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class Round:
    """One pass of the loop, numbered from 1."""

    number: int
    window: int
    chunks: int
    rows: int
    admitted: int


@dataclass(frozen=True, slots=True)
class Window:
    """What the loop ended with."""

    admitted: Mapping[int, float]
    rounds: tuple[Round, ...]
    exit: Exit


def candidate_window(
    read: Callable[[int, int], Reading], settings: OldSettings, switches: Switches, *, filtered: bool
) -> Window:
    """Read windows of chunks until one of `Exit` holds; `read(round, window)` starts from nothing each time."""
    budget = settings.row_budget if switches.row_budget else settings.candidate_limit
    window, rounds = min(settings.candidate_limit, settings.scan_limit), []
    while True:
        reading = read(len(rounds) + 1, window)
        rounds.append(Round(len(rounds) + 1, window, reading.chunks, reading.rows, len(reading.admitted)))
        way_out = _exit(reading, window, budget, settings) if filtered else Exit.UNFILTERED
        if way_out is not None:
            return Window(reading.admitted, tuple(rounds), way_out)
        window = min(window * 2, settings.scan_limit)


def _exit(reading: Reading, window: int, budget: int, settings: OldSettings) -> Exit | None:
    if len(reading.admitted) >= budget:
        return Exit.BUDGET
    if reading.chunks < window:
        return Exit.EXHAUSTED
    if reading.tail is not None and reading.tail < settings.min_similarity:
        return Exit.FLOOR
    return Exit.LIMIT if window >= settings.scan_limit else None
