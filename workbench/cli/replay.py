"""`workbench replay`: a log of real queries through variants, what changed on the first page, the worst first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.compare import AsJson, KeepOwn, Out, Quiet
from workbench.cli.console import new_console, progress_bar
from workbench.cli.targets import directory_to_write

if TYPE_CHECKING:
    from workbench.analysis.replay import Replayed

WORST_SHOWN = 3
GOOD, CHANGED = 0, 1


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("replay")(_replay)


def _replay(
    log: Annotated[Path, typer.Argument(help="The log: JSON lines, CSV, TSV or Parquet, `.gz` too.")],
    on: Annotated[str, typer.Option("--on", metavar="NAME", help="The loaded collection.")],
    variants: Annotated[str, typer.Option(help="Variants with commas between; the first is what the others are compared with.")],
    first: Annotated[int, typer.Option(help="Rows of a page.", min=1)] = 8,
    columns: Annotated[list[str] | None, typer.Option("--map", metavar="ROLE=COLUMN", help="Which column is the text, time, filters or shown; repeatable.")] = None,
    shown: Annotated[str, typer.Option(help="What the log's shown ids are: documents or points.")] = "documents",
    limit: Annotated[int | None, typer.Option(help="Read so many rows.", min=1)] = None,
    most_changed: Annotated[float | None, typer.Option(metavar="SHARE", help="Exit with 1 where a larger share of the queries changed, one is newly empty, or one failed.", min=0, max=1)] = None,
    keep_own: KeepOwn = False,
    out: Out = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Run a log of real queries through variants and show what changed: pages, new empties, latency and bytes.

    Each query runs once, however often it was asked. Where the log says what was shown, then is compared with now.
    Each of the worst changes comes with the command that explains it.
    """
    from workbench.analysis.query_log import read_log
    from workbench.analysis.replay import replay
    from workbench.errors import BadParameter
    from workbench.retrieval.spec import parse_all

    roles: dict[str, str] = {}
    for pair in columns or []:
        role, mark, column = pair.partition("=")
        if not mark or not role or not column or role in roles:
            raise BadParameter(f"{pair!r} is not one ROLE=COLUMN", do="Write e.g. --map text=query_string")
        roles[role] = column
    chosen = parse_all(variants)
    directory_to_write(out)
    read = read_log(log, roles, limit)
    with progress_bar("replaying", quiet or as_json) as told:
        replayed = replay(on, read, chosen, first=first, shown=shown, keep_own=keep_own, progress=told)
    page = None
    if out is not None:
        from workbench.reporting.replay_page import write_replay

        page = write_replay(out, replayed)
    code = _code(replayed, most_changed)
    if as_json:
        print(json.dumps({**replayed.to_dict(), "report": str(page) if page else None, "exit_code": code}, ensure_ascii=True))
    else:
        _show(replayed)
        if page:
            print(f"Report: {page}")
    raise typer.Exit(code)


def _code(replayed: Replayed, most: float | None) -> int:
    """1 where a gate is set and a variant's pages, failures or new empties pass it."""
    if most is None:
        return GOOD
    passed = any(p.queries and (p.changed / p.queries > most or p.emptied) for p in replayed.pairs)
    return CHANGED if passed or replayed.failed else GOOD


def _show(replayed: Replayed) -> None:
    from rich.text import Text

    from workbench.reporting.replay_page import came_and_left, sentence
    from workbench.text import counted, visible

    console = new_console()
    console.print(Text(f"{counted(replayed.log.rows, 'row')}, {counted(len(replayed.log.queries), 'distinct query', 'distinct queries')}, on {replayed.collection}", style="bold"))
    for c in replayed.costs:
        if c["p50_ms"] is not None:
            spent = f"p50 {c['p50_ms']:.1f} ms, p95 {c['p95_ms']:.1f} ms, {c['calls']:.1f} calls, {c['payload_bytes'] / 1e3:,.0f} KB a search"
            console.print(Text(f"{visible(c['variant'])}: {spent}; {counted(c['empty'], 'query', 'queries')} without results", style="dim"))
    for name, (count, why) in replayed.failed.items():
        console.print(Text(f"{visible(name)}: {counted(count, 'query', 'queries')} failed; the first: {visible(why)}", style="red"))
    for pair in replayed.pairs:
        said, figures = sentence(pair, replayed.first)
        console.print(Text(visible(said), style="bold"))
        console.print(Text(f"  {visible(figures)}", style="dim"))
        for change, reasons in zip(replayed.changes[pair.a, pair.b][:WORST_SHOWN], replayed.reasons[pair.a, pair.b], strict=False):
            state = "newly empty" if change.emptied else came_and_left(change)
            console.print(Text(f"  {visible(' '.join(change.query.text.split()))[:100] or '(empty)'}  [{state}]"))
            for reason in reasons:
                title = " ".join((replayed.titles.get(reason.document) or reason.document).split())[:60]
                console.print(Text(f"      {visible(title)}, {reason.variant}: {visible(reason.told or 'not looked up')}", style="dim"))
                if reason.command:
                    console.print(Text(f"      {visible(reason.command)}"), soft_wrap=True)
    for note in replayed.notes:
        console.print(Text(f"note: {visible(note)}", style="yellow"))
