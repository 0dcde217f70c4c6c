"""Where a command is to write: looked at before the work, so that an hour of it is not lost to a wrong path."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import BadParameter

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

# ---- Where a command is to write: looked at before the work, so that an hour of it is not l ----


def directory_to_write(path: Path | None) -> None:
    """Raises BadParameter for a path that is a file, lies below one, or may not be written."""
    if path is None:
        return
    standing = next(p for p in (path, *path.absolute().parents) if p.exists())
    if not standing.is_dir():
        raise BadParameter(
            f"the reports need a directory, and {standing} is a file", do="Name another one"
        )
    if not os.access(standing, os.W_OK):
        raise BadParameter(
            "the directory may not be written", where=str(standing), do="Name another one"
        )


def file_to_write(path: Path) -> None:
    """Raises BadParameter for a path that is a directory, or whose directory is not there or may not be written."""
    if path.is_dir():
        raise BadParameter(
            "a file is to be written, and this is a directory",
            where=str(path),
            do="Name a file in it",
        )
    if not path.absolute().parent.is_dir():
        raise BadParameter(
            "the directory of the file is not there",
            where=str(path.absolute().parent),
            do="Make it, or name another one",
        )
    if not os.access(path.absolute().parent, os.W_OK):
        raise BadParameter(
            "the directory may not be written",
            where=str(path.absolute().parent),
            do="Name another one",
        )


# ---- The console of every command, and its progress bar ----

PIPED_WIDTH = 100_000
"""Characters of a line where no terminal reads it: a program that reads lines gets them whole."""


def new_console(soft_wrap: bool = False) -> Console:
    """Standard output: wrapped to a terminal's width, or to $COLUMNS where it is set, and never where it is piped;
    with `soft_wrap` never at all."""
    from rich.console import Console

    piped = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return Console(highlight=False, width=PIPED_WIDTH if piped else None, soft_wrap=soft_wrap)


LINE_EVERY = 5.0
"""Seconds between two lines of progress where standard error is no terminal."""


class progress_bar:  # noqa: N801 - used as a function
    """Progress and the time left on standard error: a bar, or a line now and then where it is no terminal.

    `with progress_bar(text, quiet) as report` gives report(done, of), or None where quiet."""

    def __init__(self, text: str, quiet: bool) -> None:
        self.text, self.quiet = text, quiet
        self.progress: Any = None

    def __enter__(self) -> Callable[[int, int], None] | None:
        if self.quiet:
            return None
        if not sys.stderr.isatty():
            return _lines(self.text)
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

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


def _lines(text: str) -> Callable[[int, int], None]:
    """A report that writes a line at most every LINE_EVERY seconds."""
    start = said = time.monotonic()

    def report(done: int, of: int) -> None:
        nonlocal said
        now = time.monotonic()
        if done and now - said >= LINE_EVERY:
            said = now
            left = (now - start) / done * (of - done)
            print(
                f"{text} {done:,} of {of:,}, about {left:,.0f} s left", file=sys.stderr, flush=True
            )

    return report
