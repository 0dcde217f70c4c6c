"""The console of every command, and its progress bar."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

PIPED_WIDTH = 100_000
"""Characters of a line where no terminal reads it: a program that reads lines gets them whole."""


def new_console(soft_wrap: bool = False) -> Console:
    """Standard output: wrapped to a terminal's width, or to $COLUMNS where it is set, and never where it is piped;
    with `soft_wrap` never at all."""
    from rich.console import Console

    piped = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return Console(highlight=False, width=PIPED_WIDTH if piped else None, soft_wrap=soft_wrap)


class progress_bar:  # noqa: N801 - used as a function
    """A bar on standard error; `with progress_bar(text, quiet) as report` gives report(done, of), or None where quiet."""

    def __init__(self, text: str, quiet: bool) -> None:
        self.text, self.quiet = text, quiet
        self.progress: Any = None

    def __enter__(self) -> Callable[[int, int], None] | None:
        if self.quiet:
            return None
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        self.progress = Progress(*columns, console=Console(stderr=True), transient=True)
        self.progress.start()
        task = self.progress.add_task(self.text, total=None)
        return lambda done, of: self.progress.update(task, completed=done, total=of)

    def __exit__(self, *_: object) -> None:
        if self.progress is not None:
            self.progress.stop()
