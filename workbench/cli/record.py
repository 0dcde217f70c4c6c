"""`workbench new-record`, `workbench verify` and `workbench ledger diff`: a record of one's own, kept true."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.options import directory_to_write, new_console
from workbench.errors import BadParameter, WorkbenchError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workbench.analysis.ledger.ledger import Comparison, Leaf, Ledger
    from workbench.analysis.ledger.record import Record
    from workbench.analysis.ledger.verify import Checked
    from workbench.reporting.launcher import Report

# ---- `workbench new-record`, `workbench verify` and `workbench ledger diff`: a record of on ----

GOOD, DIFFERS, TO_MEND = 0, 1, 2
REPORTS = "reports"

AsJson = Annotated[bool, typer.Option("--json", help="JSON and nothing else.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command("new-record")(_new_record)
    app.command("verify")(_verify)
    group = typer.Typer(no_args_is_help=True, help="Ledgers of two runs of one record.")
    group.callback()(lambda: None)
    group.command("diff")(_diff)
    app.add_typer(group, name="ledger")


def _new_record(
    title: Annotated[str, typer.Argument(help="The record's title, as its document has it.")],
    directory: Annotated[
        Path | None,
        typer.Option(
            "--in", metavar="DIR", help="The project; default: the nearest one upwards, else here."
        ),
    ] = None,
    record_id: Annotated[
        str, typer.Option("--id", help="The record's id; default: the title's words.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Make a working record: claims, measures, charts, notebook and test, with two sample claims measured on `pydoc`."""
    from workbench.reporting.new_record import new_record

    made = new_record(title, directory if directory is not None else _project(), record_id)
    if as_json:
        print(
            json.dumps(
                {
                    "record": made.id,
                    "root": str(made.root),
                    "files": [f.as_posix() for f in made.files],
                }
            )
        )
        return
    for file, what in zip(
        made.files,
        ("the claims", "the notebook", "the test", "the charts", "the measures"),
        strict=True,
    ):
        typer.echo(f"{file.as_posix():<40} {what}")
    inside = "" if made.root.resolve() == Path.cwd() else f"cd {shlex.quote(str(made.root))} && "
    typer.echo(f"Next: {inside}workbench reproduce {made.id}")


def _project() -> Path:
    """The nearest directory upwards that holds records, else the working directory."""
    from workbench.settings import project_above

    here = Path.cwd()
    return project_above(here) or here


def _verify(
    record: Annotated[str, typer.Argument(help="A record's id.")],
    text: Annotated[
        list[Path],
        typer.Option(
            "--text", metavar="FILE", help="A Markdown file with marked figures; repeatable."
        ),
    ],
    ledger: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="The ledger; default: that of the last run in the project's `reports`.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare the figures in a decision record's text with the ledger of the last run.

    A figure is marked by its claim, `<!-- claim:A07.score -->0.0328`; docs/ledger.md has all forms. Exit code 0:
    all agree, but for durations and superseded claims; 1: a verdict, a count or another figure differs; 2: a mark names nothing, or there is no mark.
    """
    from workbench.analysis.ledger.ledger import Ledger
    from workbench.analysis.ledger.record import load_record
    from workbench.analysis.ledger.verify import BadMark, marks, unmarked, verify

    known = load_record(record)
    path = ledger or known.root / REPORTS / record
    read = Ledger.read(path)
    if read.header.get("record") != record:
        raise BadMark(f"the ledger is that of {read.header.get('record')!r}", where=str(path))
    checked = {file: verify(read, marks(_read(file))) for file in text}
    if empty := [str(file) for file, found in checked.items() if not found]:
        raise BadMark(
            "no figure is marked",
            where=", ".join(empty),
            do="Write <!-- claim:ID.path --> before one",
        )
    stale = _stale(read, known)
    rest = unmarked(read, [c.mark for found in checked.values() for c in found])
    statuses = [c.status for found in checked.values() for c in found]
    if as_json:
        told = {
            "record": record,
            "ledger": str(path),
            "stale": stale,
            "unmarked": rest,
            "figures": [_as_data(file, c) for file, found in checked.items() for c in found],
        }
        print(json.dumps(told))
    else:
        _print_checked(checked, stale, rest)
    raise typer.Exit(
        TO_MEND if "nothing" in statuses else DIFFERS if "differs" in statuses else GOOD
    )


def _read(file: Path) -> str:
    from workbench.errors import BadParameter

    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadParameter(f"the text cannot be read: {error}", where=str(file)) from error


def _stale(ledger: Ledger, record: Record) -> list[str]:
    """What has changed since the run: of the workbench's code and the record's own claims, notebook and measures."""
    from workbench.analysis.ledger.run import code_hash, record_code

    now = {"workbench": code_hash(), **record_code(record)}
    return [name for name, value in now.items() if ledger.header["code"].get(name) != value]


def _as_data(file: Path, checked: Checked) -> dict[str, Any]:
    return {
        "file": str(file),
        "line": checked.mark.line,
        "mark": str(checked.mark),
        "status": checked.status,
        "written": checked.written,
        "measured": checked.measured,
        "why": checked.why,
    }


def _print_checked(
    checked: Mapping[Path, Sequence[Checked]], stale: Sequence[str], rest: Sequence[str]
) -> None:
    from workbench.text import visible

    counts = dict.fromkeys(("agrees", "differs", "timing", "superseded", "nothing"), 0)
    for file, found in checked.items():
        for c in found:
            counts[c.status] += 1
            if c.status != "agrees":
                kind = {
                    "timing": "a duration, differs",
                    "superseded": "superseded, differs",
                    "nothing": "names nothing",
                }.get(c.status, c.status)
                typer.echo(visible(f"{file}:{c.mark.line}: {c.mark} {kind}: {c.why}"))
    words = {
        "agrees": ("agrees", "agree"),
        "differs": ("differs", "differ"),
        "timing": ("differs by a duration", "differ by a duration"),
        "superseded": ("of a superseded claim differs", "of superseded claims differ"),
        "nothing": ("names nothing", "name nothing"),
    }
    told = ", ".join(f"{n} {words[s][n > 1]}" for s, n in counts.items() if n)
    total = sum(counts.values())
    typer.echo(f"{total} figure{'s' if total > 1 else ''}: {told}")
    if rest:
        typer.echo(f"Not marked: {', '.join(rest)}")
    if stale:
        names = {
            "workbench": "the workbench",
            "record": "the claims",
            "notebook": "the notebook",
            "measures": "the measures",
        }
        typer.echo(
            f"Changed since that run: {', '.join(names[s] for s in stale)}. Reproduce the record again",
            err=True,
        )


def _diff(
    before: Annotated[Path, typer.Argument(help="A ledger.json, or the directory that holds it.")],
    after: Annotated[Path, typer.Argument(help="The later one.")],
    across_inputs: Annotated[
        bool, typer.Option("--across-inputs", help="Compare although the inputs differ.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Compare the ledgers of two runs: what changed, and whether inputs, code, versions or chance did it.

    Exit code 0: nothing changed but durations and superseded claims; 1: something did; 2: not comparable, as where the inputs differ.
    """
    from workbench.analysis.ledger.ledger import Ledger, compare, differing, leaves, sentence

    ledgers = Ledger.read(before), Ledger.read(after)
    found = compare(*ledgers, across_inputs=across_inputs)
    changed = any(c.drift for c in found.changes)
    causes, rows = differing(*ledgers, found), leaves(found)
    if as_json:
        print(
            json.dumps(
                {
                    "record": ledgers[1].header["record"],
                    "changed": changed,
                    "told": sentence(found),
                    "causes": found.causes,
                    "differing": {
                        c: [_leaf(leaf) for leaf in parts] for c, parts in causes.items()
                    },
                    "changes": [_leaf(r) for r in rows],
                }
            )
        )
    else:
        _print_diff(ledgers[1].header["record"], found, causes, rows)
    raise typer.Exit(DIFFERS if changed else GOOD)


def _leaf(leaf: Leaf) -> dict[str, Any]:
    from workbench.types import as_plain

    return {k: v for k, v in as_plain(leaf).items() if k not in ("id", "superseded") or v}


def _print_diff(
    record: str, found: Comparison, causes: Mapping[str, Sequence[Leaf]], rows: Sequence[Leaf]
) -> None:
    from workbench.analysis.ledger.ledger import sentence, shown
    from workbench.text import visible

    def line(leaf: Leaf) -> str:
        return visible(f"{leaf.id}  {leaf.path}: {shown(leaf.before)} → {shown(leaf.after)}")

    typer.echo(f"{record}: {sentence(found)}")
    for cause, parts in causes.items():
        typer.echo(f"  {cause}")
        for part in parts:
            typer.echo("  " + line(part))
    for row in (r for r in rows if not r.timing):
        typer.echo(line(row) + ("  (superseded)" if row.superseded else ""))
    if clocks := sorted({r.id for r in rows if r.timing}):
        typer.echo(f"Durations changed, as they do: {', '.join(clocks)}")


# ---- `workbench reproduce`: run a record's notebook, print its verdicts, and write its repo ----

SIZES = ("full", "small", "tiny")
_GOOD, _NO_VERDICT, _TO_MEND = 0, 1, 2
_REPORTS = "reports"


def register_reproduce(app: typer.Typer) -> None:
    """Add the command to the command line."""

    @app.command()
    def reproduce(
        record: Annotated[
            str,
            typer.Argument(
                help="A record's id, or its folder; --all takes every record of the project that you are in."
            ),
        ] = "",
        parameter: Annotated[
            list[str],
            typer.Option(
                "-p",
                "--parameter",
                metavar="NAME=VALUE",
                help="A parameter of the notebook; may come many times.",
            ),
        ] = [],  # noqa: B006
        size: Annotated[
            str,
            typer.Option(
                help="full, small for a quick look, or tiny for tests, where a record comes in sizes."
            ),
        ] = "",
        out: Annotated[
            Path | None, typer.Option(help="Where reports land: the project's `reports`.")
        ] = None,
        trust: Annotated[
            bool,
            typer.Option("--trust", help="Run the code of a record outside the current project."),
        ] = False,
        every: Annotated[
            bool, typer.Option("--all", help="Reproduce every record, by name.")
        ] = False,
        as_json: Annotated[
            bool, typer.Option("--json", help="Print the ledgers as JSON alone.")
        ] = False,
    ) -> None:
        """Measure every claim of a decision record and write its report.

        Exit code 0: every claim has a verdict, whatever it says; 1: one has none; 2: something is to mend.
        """
        from workbench.analysis.ledger.record import record_ids
        from workbench.settings import project_root

        if bool(record) == every:
            raise BadParameter(
                "name one record, or --all", do=f"Known: {', '.join(record_ids()) or 'none'}"
            )
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
                report = _one(
                    _loaded(record_id, trust), parameter, size or None, reports, quiet=as_json
                )
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
            told = [_report_data(r) for r in done]
            print(json.dumps(told if every else told[0], ensure_ascii=True, indent=2))
        raise typer.Exit(code)


def _loaded(record_id: str, trust: bool) -> Record:
    """A record by its id or folder. Raises BadParameter for one outside the current project that is not trusted."""
    from workbench.analysis.ledger.record import load_record, record_folder, record_ids
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
            f"no project here or above: --all would run the {records:,} records of {root}",
            do=f"Run it there (cd {root}), or name one record",
        )


def _one(
    record: Record, texts: list[str], size: str | None, reports: Path, *, quiet: bool
) -> Report:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from workbench.reporting.launcher import bind_text, declared, launch

    values = bind_text(declared(record.root / record.notebook), _split(texts))
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("cell {task.completed}/{task.total}"),
        TimeElapsedColumn(),
    )
    with Progress(
        *columns, console=Console(stderr=True), transient=True, disable=quiet
    ) as progress:
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
        verdict = Text(row.shown, style=f"bold {VERDICT_COLOURS[row.shown]}").append(
            f"\n{row.evidence}", "not bold dim"
        )
        said = " ".join(filter(None, (row.explanation, row.note)))
        table.add_row(row.id, verdict, Text(_visible(row.statement)), Text(_visible(said)))
    console = new_console()
    console.print(table)
    if report.ledger.reduced:
        console.print(
            Text(
                f"\nA reduced run: size {report.ledger.reduced}. A full run decides what is inconclusive here."
            )
        )
    console.print(Text(f"\n{report.ledger}"))
    page = report.directory / "index.html"
    if report.ledger.whole:
        console.print(Text(f"Report: {page}"), soft_wrap=True)
    else:
        failed = ", ".join(r.id for r in report.ledger.failed)
        console.print(
            Text(
                f"The build failed: no verdict for {failed}. To look at: {page}", style="bold red"
            ),
            soft_wrap=True,
        )


def _report_data(report: Report) -> dict[str, object]:
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
