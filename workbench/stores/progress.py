"""What a load says while it works: phases with counts, to a terminal or to a caller's function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

Listener = Callable[[str, int, int | None], None]
"""Told (phase, done so far, total or None where it is not known) at each step; phases come in order."""

PHASES = {
    "read": "reading and checking",
    "parts": "embedding parts",
    "embed": "embedding",
    "embed also": "by the second model",
    "build": "filling both stores",
    "publish": "publishing",
}


class Report:
    """The running phase and its count. A phase begins with 0 done."""

    def __init__(self, listener: Listener) -> None:
        self._listener, self._phase, self._done, self._total = listener, "", 0, None
        self._lock = Lock()  # both stores are filled at once

    def phase(self, name: str, total: int | None = None) -> None:
        self._phase, self._done, self._total = name, 0, total
        self._listener(name, 0, total)

    def tick(self, more: int) -> None:
        with self._lock:
            self._done += more
            self._listener(self._phase, self._done, self._total)


@contextmanager
def reporting(progress: bool | Listener) -> Iterator[Report]:
    """A report to a rich progress display on standard error (True), to nobody (False), or to a function."""
    if callable(progress):
        yield Report(progress)
        return
    if not progress:
        yield Report(lambda phase, done, total: None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description:<22}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as display:
        tasks: dict[str, int] = {}

        def show(phase: str, done: int, total: int | None) -> None:
            if phase not in tasks:
                for earlier in tasks.values():
                    _end(display, earlier)
                tasks[phase] = display.add_task(PHASES[phase], total=total)
            display.update(tasks[phase], completed=done, total=total)

        yield Report(show)
        for task in tasks.values():
            _end(display, task)


def _end(display, task: int) -> None:
    found = display.tasks[task]
    display.update(
        task,
        total=found.total or max(found.completed, 1),
        completed=found.total or max(found.completed, 1),
    )
    display.stop_task(task)
