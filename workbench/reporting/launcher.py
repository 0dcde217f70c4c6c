"""Run a record's notebook and put its report in place: the whole of it, or nothing.

The law: everything is written to `<id>.partial` beside the report; only a run whose every cell ran and whose
every claim has a verdict replaces `<id>`. Until then the earlier report stands untouched, and what a failed
run left in `.partial` is there to be looked at.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.analysis.ledger import LEDGER_NAME, Ledger
from workbench.analysis.record import Record
from workbench.analysis.run import OUT_VARIABLE
from workbench.errors import WorkbenchError
from workbench.reporting.page import write_page
from workbench.reporting.parameters import bind, declared
from workbench.settings import HOME_VARIABLE, home

NOTEBOOK_NAME = "notebook.ipynb"
_LOCK_NAME = ".lock"
_KERNEL = "python3"
# The kernel's own log is no output of the notebook; the errors of its cells come back as replies.
_QUIET_KERNEL = "--log-level=50"
SIZE = "size"

OnCell = Callable[[int, int], None]


class NotebookFailed(WorkbenchError):
    """A cell raised, was not run, or the notebook ended without a ledger; the executed notebook is kept."""


class KernelDied(NotebookFailed):
    """The notebook's process ended in a cell: killed, out of memory, or a crash in native code."""


class ReportBusy(WorkbenchError):
    """Another run is writing the same report."""


@dataclass(frozen=True, slots=True)
class Report:
    """Where a run's report stands. Where the ledger is not whole that is the `.partial` directory."""

    record: Record
    directory: Path
    ledger: Ledger


def launch(
    record: Record,
    given: Mapping[str, Any],
    reports: Path,
    *,
    size: str | None = None,
    on_cell: OnCell | None = None,
) -> Report:
    """Run a record's notebook with these parameters and write `reports/<id>/`.

    `size` goes to notebooks that declare such a parameter; a record of one size ignores it. `on_cell` is
    told the number of the cell that starts (1-based) and how many there are. Raises BadNotebook and
    BadParameter before anything starts, ReportBusy, KernelDied, NotebookFailed.
    """
    notebook = record.root / record.notebook
    parameters = declared(notebook)
    if size is not None and SIZE in parameters:
        given = {SIZE: size, **given}
    values = bind(parameters, given)
    with _partial(reports, record.id) as directory:
        _execute(notebook, directory, values, on_cell)
        ledger = _ledger(record, directory)
        write_page(directory)
        if not ledger.whole:
            return Report(record, directory, ledger)
        return Report(record, _install(directory, reports / record.id), ledger)


@contextmanager
def _partial(reports: Path, name: str) -> Iterator[Path]:
    """An empty `.partial` directory, ours alone; a report that a crash left aside is put back first."""
    reports.mkdir(parents=True, exist_ok=True)
    aside, final, partial = reports / f"{name}.old", reports / name, reports / f"{name}.partial"
    partial.mkdir(exist_ok=True)
    with (partial / _LOCK_NAME).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ReportBusy(
                f"another run is writing {name}", where=str(partial), do="Wait for it, or stop it"
            ) from error
        if aside.exists() and not final.exists():
            os.rename(aside, final)
        for entry in partial.iterdir():
            if entry.name != _LOCK_NAME:
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        yield partial


def _install(partial: Path, final: Path) -> Path:
    aside = final.with_name(f"{final.name}.old")
    (partial / _LOCK_NAME).unlink()
    shutil.rmtree(aside, ignore_errors=True)
    if final.exists():
        os.rename(final, aside)
    os.rename(partial, final)
    shutil.rmtree(aside, ignore_errors=True)
    return final


def _execute(notebook: Path, directory: Path, values: Mapping[str, Any], on_cell: OnCell | None) -> None:
    import nbformat
    import papermill
    from nbclient.exceptions import DeadKernelError

    executed = directory / NOTEBOOK_NAME
    cells = len(nbformat.read(notebook, as_version=4).cells) + bool(values)
    running = 0

    def started(cell: Any, cell_index: int) -> None:
        nonlocal running
        running = cell_index + 1
        if on_cell:
            on_cell(cell_index + 1, cells)

    try:
        # A kernel inherits the environment. A fixed hash seed makes the order of sets equal in every run.
        with _environment(
            {OUT_VARIABLE: str(directory.resolve()), HOME_VARIABLE: str(home()), "PYTHONHASHSEED": "0"}
        ):
            papermill.execute_notebook(
                # papermill fills {…} in paths from the parameters: doubled, a brace is a brace.
                _braces(notebook.resolve()), _braces(executed.resolve()), parameters=dict(values),
                kernel_name=_KERNEL, language="python", extra_arguments=[_QUIET_KERNEL],
                cwd=str(notebook.parent.resolve()), progress_bar=False, on_cell_start=started,
            )  # fmt: skip
    except papermill.PapermillExecutionError as error:
        raise NotebookFailed(
            f"cell {error.cell_index + 1} of {notebook.name} raised {error.ename}: {error.evalue}",
            where=str(executed),
        ) from error
    except DeadKernelError as error:
        raise KernelDied(
            f"the process of {notebook.name} died",
            where=f"{executed}, cell {running}",
            do="It was killed, ran out of memory, or crashed; no report was written",
        ) from error
    _all_ran(notebook.name, executed)


def _all_ran(name: str, executed: Path) -> None:
    """Every code cell has a number (exit() in a cell ends the rest), and no path of this machine stays."""
    import nbformat

    book = nbformat.read(executed, as_version=4)
    for number, cell in enumerate(book.cells, 1):
        if cell.cell_type == "code" and cell.source.strip() and cell.execution_count is None:
            raise NotebookFailed(
                f"cell {number} of {name} was not run",
                where=str(executed),
                do="Does a cell before it call exit()?",
            )
    book.metadata["papermill"].update(input_path=name, output_path=executed.name)
    nbformat.write(book, executed)


def _ledger(record: Record, directory: Path) -> Ledger:
    if not (directory / LEDGER_NAME).exists():
        raise NotebookFailed(
            f"{record.notebook} wrote no ledger", where=str(directory), do="End it with `run.finish()`"
        )
    ledger = Ledger.read(directory)
    expected, found = [c.id for c in record.claims], [r.id for r in ledger.rows]
    if (ledger.header.get("record"), found) != (record.id, expected):
        raise NotebookFailed(
            f"the ledger is not that of {record.id}",
            where=str(directory),
            do="Open the run by the record's id",
        )
    return ledger


def _braces(path: Path) -> str:
    return str(path).replace("{", "{{").replace("}", "}}")


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name)
            else:
                os.environ[name] = value
