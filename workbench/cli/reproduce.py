"""`workbench reproduce`: run a record's notebook, print its verdicts, and write its report."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.console import new_console
from workbench.cli.targets import directory_to_write
from workbench.errors import BadParameter, WorkbenchError

if TYPE_CHECKING:
    from workbench.analysis.record import Record
    from workbench.reporting.launcher import Report

SIZES = ("full", "small", "tiny")
_GOOD, _NO_VERDICT, _TO_MEND = 0, 1, 2
_REPORTS = "reports"


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""

    @app.command()
    def reproduce(
        record: Annotated[str, typer.Argument(help="A record's id, or its folder; --all takes every record of the project that you are in.")] = "",
        parameter: Annotated[list[str], typer.Option("-p", "--parameter", metavar="NAME=VALUE",
                             help="A parameter of the notebook; may come many times.")] = [],  # noqa: B006
        size: Annotated[str, typer.Option(help="full, small for a quick look, or tiny for tests, where a record comes in sizes.")] = "",
        out: Annotated[Path | None, typer.Option(help="Where reports land: the project's `reports`.")] = None,
        trust: Annotated[bool, typer.Option("--trust", help="Run the code of a record outside the current project.")] = False,
        every: Annotated[bool, typer.Option("--all", help="Reproduce every record, by name.")] = False,
        as_json: Annotated[bool, typer.Option("--json", help="Print the ledgers as JSON alone.")] = False,
    ) -> None:  # fmt: skip
        """Measure every claim of a decision record and write its report.

        Exit code 0: every claim has a verdict, whatever it says; 1: one has none; 2: something is to mend.
        """
        from workbench.analysis.record import record_ids
        from workbench.settings import project_root

        if bool(record) == every:
            raise BadParameter("name one record, or --all", do=f"Known: {', '.join(record_ids()) or 'none'}")
        if every and parameter:
            raise BadParameter("-p belongs to one record, not to --all")
        if size not in ("", *SIZES):
            raise BadParameter(f"unknown size {size!r}", do=f"Use {', '.join(SIZES)}")
        if every:
            _inside(project_root(), len(record_ids()))
        reports = out or project_root() / _REPORTS
        directory_to_write(reports)
        code, done = _GOOD, []
        for record_id in record_ids() if every else [record]:
            try:
                report = _one(_loaded(record_id, trust), parameter, size or None, reports, quiet=as_json)
            except WorkbenchError as error:
                if not every:
                    raise
                # One broken record must not hide the others.
                print(f"workbench: {record_id}: {_visible(str(error))}", file=sys.stderr)
                code = _TO_MEND
                continue
            done.append(report)
            code = max(code, _GOOD if report.ledger.whole else _NO_VERDICT)
            if not as_json:
                _print(report)
        if as_json:
            told = [_as_data(r) for r in done]
            print(json.dumps(told if every else told[0], ensure_ascii=True, indent=2))
        raise typer.Exit(code)


def _loaded(record_id: str, trust: bool) -> Record:
    """A record by its id or folder. Raises BadParameter for one outside the current project that is not trusted."""
    from workbench.analysis.record import load_record, record_folder, record_ids
    from workbench.settings import project_above

    root, folder = None, Path(record_id)
    if folder.name != record_id:
        folder = folder.absolute()
        root = project_above(folder)
        known = record_ids(root) if root else ()
        record_id = next((i for i in known if root / record_folder(i) == folder), record_id)
    record = load_record(record_id, root)
    real = (record.root / record_folder(record_id)).resolve()
    current = (project_above(Path.cwd()) or (record.root if root is None else Path.cwd())).resolve()
    if not trust and not real.is_relative_to(current):
        what = "the record is outside the current project, and to reproduce it is to run its code"
        raise BadParameter(what, where=str(real), do="Read its code, then pass --trust")
    return record


def _inside(root: Path, records: int) -> None:
    """Raises BadParameter where the project is only that of this package, and nobody said that all of it is to run."""
    here = Path.cwd()
    if root not in (here, *here.parents):
        raise BadParameter(
            f"no project here or above: --all would run the {records:,} records of {root}", do=f"Run it there (cd {root}), or name one record"
        )


def _one(record: Record, texts: list[str], size: str | None, reports: Path, *, quiet: bool) -> Report:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from workbench.reporting.launcher import launch
    from workbench.reporting.parameters import bind_text, declared

    values = bind_text(declared(record.root / record.notebook), _split(texts))
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("cell {task.completed}/{task.total}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=quiet) as progress:
        task = progress.add_task(record.id, total=None)
        return launch(
            record,
            values,
            reports,
            size=size,
            on_cell=lambda cell, of: progress.update(task, completed=cell, total=of),
        )


def _split(texts: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise BadParameter(f"-p {text!r} is not name=value")
        if name in found:
            raise BadParameter(f"-p {name} is given twice")
        found[name] = value
    return found


def _print(report: Report) -> None:
    from rich.table import Table
    from rich.text import Text

    from workbench.reporting.theme import VERDICT_COLOURS

    table = Table(
        title=_visible(report.record.title),
        title_justify="left",
        title_style="bold",
        box=None,
        pad_edge=False,
    )
    table.add_column("claim", no_wrap=True)
    table.add_column("verdict", ratio=1)
    table.add_column("the document says", ratio=3)
    table.add_column("note", ratio=2, style="dim")
    for row in report.ledger.rows:
        verdict = Text(row.shown, style=f"bold {VERDICT_COLOURS[row.shown]}").append(f"\n{row.evidence}", "not bold dim")
        said = " ".join(filter(None, (row.explanation, row.note)))
        table.add_row(row.id, verdict, Text(_visible(row.statement)), Text(_visible(said)))
    console = new_console()
    console.print(table)
    if report.ledger.reduced:
        console.print(Text(f"\nA reduced run: size {report.ledger.reduced}. A full run decides what is inconclusive here."))
    console.print(Text(f"\n{report.ledger}"))
    page = report.directory / "index.html"
    if report.ledger.whole:
        console.print(Text(f"Report: {page}"), soft_wrap=True)
    else:
        failed = ", ".join(r.id for r in report.ledger.failed)
        console.print(
            Text(f"The build failed: no verdict for {failed}. To look at: {page}", style="bold red"), soft_wrap=True
        )


def _as_data(report: Report) -> dict[str, object]:
    ledger = json.loads(report.ledger.json())
    return {
        "record": report.record.id,
        "whole": report.ledger.whole,
        "directory": str(report.directory),
        **ledger,
    }


def _visible(text: str) -> str:
    from workbench.text import visible

    return visible(text)
