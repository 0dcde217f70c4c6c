"""Run a record's notebook and put its report in place: the whole of it, or nothing.

The law: everything is written to `<id>.partial` beside the report; only a run whose every cell ran and whose
every claim has a verdict replaces `<id>`. Until then the earlier report stands untouched, and what a failed
run left in `.partial` is there to be looked at.
"""

from __future__ import annotations

import ast
import fcntl
import io
import json
import math
import os
import re
import shutil
import tokenize
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from workbench.analysis.ledger.ledger import LEDGER_NAME, Ledger
from workbench.analysis.ledger.record import Record
from workbench.analysis.ledger.run import OUT_VARIABLE
from workbench.errors import BadParameter, WorkbenchError
from workbench.reporting.pages.record import write_page
from workbench.settings import HOME_VARIABLE, home

# ---- A notebook's parameters: declared in its one cell tagged `parameters`, checked before  ----

PARAMETERS_TAG = "parameters"
_INT = re.compile(r"[+-]?(0|[1-9][0-9]*)")
_SCALARS = ("str", "int", "float", "bool")


class BadNotebook(WorkbenchError):
    """A notebook that cannot be launched: unreadable, or without a proper parameters cell."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A declared parameter; `type` is the annotation as written."""

    name: str
    type: str
    default: Any
    help: str = ""

    def __str__(self) -> str:
        return f"{self.name}: {self.type} = {self.default!r}"


def declared(notebook: Path) -> dict[str, Parameter]:
    """The parameters of a notebook by name, in order. Raises BadNotebook."""
    import nbformat

    try:
        book = nbformat.read(notebook, as_version=4)
    except FileNotFoundError as error:
        raise BadNotebook("no such notebook", where=notebook.name) from error
    except Exception as error:
        # nbformat raises its own errors, json's and Unicode's for a file that is no notebook.
        raise BadNotebook(f"not a notebook: {type(error).__name__}", where=notebook.name) from error
    tagged = [c for c in book.cells if PARAMETERS_TAG in c.metadata.get("tags", [])]
    if len(tagged) != 1 or tagged[0].cell_type != "code":
        do = f"Tag exactly one code cell {PARAMETERS_TAG!r}"
        raise BadNotebook(
            f"{len(tagged)} cells are tagged {PARAMETERS_TAG!r}", where=notebook.name, do=do
        )
    return _parse(tagged[0].source, notebook.name)


def bind(parameters: Mapping[str, Parameter], given: Mapping[str, Any]) -> dict[str, Any]:
    """Values given from Python, checked by type; numpy numbers become plain ones, nothing else is converted.

    Raises BadParameter for an unknown name or a wrong type.
    """
    return {n: _checked(_type(_known(parameters, n)), v, parameters[n]) for n, v in given.items()}


def bind_text(parameters: Mapping[str, Parameter], given: Mapping[str, str]) -> dict[str, Any]:
    """Values typed at the command line, read as their parameter declares. Raises BadParameter."""
    return {
        n: _read(_type(_known(parameters, n)), text, parameters[n]) for n, text in given.items()
    }


def _known(parameters: Mapping[str, Parameter], name: str) -> Parameter:
    if name not in parameters:
        known = "; ".join(map(str, parameters.values())) or "it has none"
        raise BadParameter(f"the notebook has no parameter {name!r}", do=f"Declared: {known}")
    return parameters[name]


def _parse(source: str, where: str) -> dict[str, Parameter]:
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise BadNotebook(
            f"the parameters cell is not Python: {error.msg}", where=f"{where}, line {error.lineno}"
        ) from error
    comments = _comments(source)
    found: dict[str, Parameter] = {}
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            continue
        line = ast.unparse(node)
        if (
            not isinstance(node, ast.AnnAssign)
            or not isinstance(node.target, ast.Name)
            or node.value is None
        ):
            raise BadNotebook(
                f"{line!r} is no declared parameter", where=where, do="Write `name: type = default`"
            )
        try:
            default = ast.literal_eval(node.value)
        except ValueError as error:
            raise BadNotebook(f"the default in {line!r} must be a literal", where=where) from error
        one = Parameter(
            node.target.id, ast.unparse(node.annotation), default, comments.get(node.end_lineno, "")
        )
        try:
            _checked(_type(one), default, one)
        except BadParameter as error:
            raise BadNotebook(str(error), where=where) from error
        found[one.name] = one
    return found


def _comments(source: str) -> dict[int, str]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {t.start[0]: t.string.lstrip("# ") for t in tokens if t.type == tokenize.COMMENT}


# -- types: ("str",) ("int",) ("float",) ("bool",) ("list", T) ("literal", values) ("optional", T) -----------
def _type(parameter: Parameter) -> tuple[Any, ...]:
    found = _form(ast.parse(parameter.type, mode="eval").body)
    if found is None:
        do = "Use str, int, float, bool, list[T], Literal[…] or T | None"
        raise BadParameter(f"{parameter.name!r} is declared as {parameter.type!r}", do=do)
    return found


def _form(node: ast.expr) -> tuple[Any, ...] | None:
    match node:
        case ast.Name(id=name) if name in _SCALARS:
            return (name,)
        case ast.Subscript(value=ast.Name(id="list"), slice=inner) if (of := _form(inner)) and of[
            0
        ] in _SCALARS:
            return ("list", of)
        case ast.Subscript(value=ast.Name(id="Literal"), slice=inner):
            options = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            if all(isinstance(o, ast.Constant) for o in options):
                return ("literal", tuple(o.value for o in options))
        case ast.BinOp(left=left, op=ast.BitOr(), right=ast.Constant(value=None)) if of := _form(
            left
        ):
            return ("optional", of)
    return None


def _checked(form: tuple[Any, ...], value: Any, parameter: Parameter) -> Any:
    if hasattr(value, "dtype") and getattr(value, "ndim", 1) == 0:
        value = value.item()
    match form:
        case ("optional", of):
            return None if value is None else _checked(of, value, parameter)
        case ("list", of) if isinstance(value, list | tuple):
            return [_checked(of, v, parameter) for v in value]
        case ("literal", options) if any(type(o) is type(value) and o == value for o in options):
            return value
        case ("str",) if isinstance(value, str):
            return str(value)
        case ("bool",) if isinstance(value, bool):
            return value
        case ("int",) if isinstance(value, Integral) and not isinstance(value, bool):
            return int(value)
        case ("float",) if (
            isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
        ):
            return float(value)
    raise BadParameter(
        f"{parameter.name!r} must be {parameter.type}, not {type(value).__name__} {_short(value)}"
    )


def _read(form: tuple[Any, ...], text: str, parameter: Parameter) -> Any:
    match form:
        case ("str",):
            return text
        case ("int",) if _INT.fullmatch(text):
            return int(text)
        case ("float",):
            try:
                return _checked(form, float(text), parameter)
            except ValueError:
                pass
        case ("bool",) if text in ("true", "false"):
            return text == "true"
        case ("literal", options) if any(str(o) == text for o in options):
            return next(o for o in options if str(o) == text)
        case ("optional", of):
            return None if text == "none" else _read(of, text, parameter)
        case ("list", of):
            if text.startswith("["):
                try:
                    return _checked(form, json.loads(text), parameter)
                except json.JSONDecodeError as error:
                    raise BadParameter(
                        f"{parameter.name!r} is not a JSON array: {error.msg}"
                    ) from error
            return [_read(of, part.strip(), parameter) for part in text.split(",")] if text else []
    hint = (
        "An int has no leading zero"
        if form == ("int",) and text.strip("+-").startswith("0")
        else ""
    )
    raise BadParameter(f"{parameter.name!r} must be {parameter.type}, not {_short(text)}", do=hint)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "…"


# ---- Run a record's notebook and put its report in place: the whole of it, or nothing ----

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


def _execute(
    notebook: Path, directory: Path, values: Mapping[str, Any], on_cell: OnCell | None
) -> None:
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
            {
                OUT_VARIABLE: str(directory.resolve()),
                HOME_VARIABLE: str(home()),
                "PYTHONHASHSEED": "0",
            }
        ):
            papermill.execute_notebook(
                # papermill fills {…} in paths from the parameters: doubled, a brace is a brace.
                _braces(notebook.resolve()),
                _braces(executed.resolve()),
                parameters=dict(values),
                kernel_name=_KERNEL,
                language="python",
                extra_arguments=[_QUIET_KERNEL],
                cwd=str(notebook.parent.resolve()),
                progress_bar=False,
                on_cell_start=started,
            )
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
            f"{record.notebook} wrote no ledger",
            where=str(directory),
            do="End it with `run.finish()`",
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
