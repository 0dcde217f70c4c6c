"""What `workbench matching` shows: one place for its console, its progress line and its JSON."""

from __future__ import annotations

import json
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from workbench.cli import console

if TYPE_CHECKING:
    from pathlib import Path

    from workbench.matching.load import LoadReport
    from workbench.matching.schema import LibraryError

new_console = partial(console.new_console, soft_wrap=True)

SKIPPED_SHOWN, REASONS_SAID = 10, 2
WIDTH_SHOWN = 160


def show_load(name: str, report: LoadReport) -> None:
    console = new_console()
    console.print(
        f"{name}: {report.recordings:,} recordings, {report.entries:,} new entries, {report.answers:,} new answers"
    )
    for form, count in report.formats.items():
        console.print(f"  {count:>6,}  {form}", markup=False)
    for rule, count in report.redacted.items():
        console.print(f"  {count:>6,}  redacted: {rule}", markup=False)
    if report.opaque:
        kinds = ", ".join(f"{n} {k}" for k, n in report.opaque.items())
        console.print(f"  parts compared whole only: {kinds}", markup=False, style="dim")
    if report.skipped:
        console.print(f"{len(report.skipped):,} skipped; --json lists all", style="yellow")
    for reason, count in list(report.reasons.items())[:SKIPPED_SHOWN]:
        first = next(s for s in report.skipped if s.reason.split(":", 1)[0] == reason)
        console.print(
            f"  {count:>6,}  {visible(reason)}  e.g. {visible(first.file)} no. {first.number}", markup=False
        )


def nothing_read(source: Path, report: LoadReport) -> LibraryError:
    """The error for a source of which no call was read, with the most frequent reason."""
    from workbench.matching.schema import LibraryError

    why = "; ".join(f"{count:,} skipped: {reason}" for reason, count in list(report.reasons.items())[:REASONS_SAID])
    return LibraryError(f"no recorded call was read{f' ({why})' if why else ''}", where=str(source), do="Give a vcrpy cassette or JSONL of calls")


def progress(number: int) -> None:
    if number % 500 == 0:
        progress_line(f"{number:,} interactions read")


def progress_line(text: str) -> None:
    print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def print_json(value: Any) -> None:
    print(json.dumps(plain(value)))


def plain(value: Any) -> Any:
    from workbench.types import as_plain

    return as_plain(value)


def short(text: str) -> str:
    shown = " ".join(text.split())
    return visible(shown if len(shown) <= WIDTH_SHOWN else shown[:WIDTH_SHOWN] + " …")


def visible(text: str) -> str:
    from workbench.text import visible

    return visible(text)
