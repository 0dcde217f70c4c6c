"""`python -m benchmarks [names…]`: measure, write results.json and README.md, show the rows."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.harness import benchmarks, measure, merged, read_results, write_results
from workbench.errors import WorkbenchError
from workbench.text import visible

Names = Annotated[list[str] | None, typer.Argument(help="Benchmarks to run; all without a name.")]
Strict = Annotated[bool, typer.Option("--strict", help="Exit with 1 where a row misses its limit.")]
Listed = Annotated[bool, typer.Option("--list", help="Only name the benchmarks.")]


def main(names: Names = None, strict: Strict = False, listed: Listed = False) -> None:
    """Measure speed. Exits with 1 where one failed, or with --strict missed its limit; 2 for a wrong name."""
    console = Console(highlight=False)
    try:
        if listed:
            console.print("\n".join(benchmarks()))
            return
        earlier = read_results()
        measured, failed = {}, False
        for name, found in measure(names or ()):
            if isinstance(found, Exception):
                failed, measured[name] = True, []
                console.print(f"{name}: {escape(visible(f'{type(found).__name__}: {found}'))}", style="red")
            else:
                measured[name] = found
                console.print(_shown(found))
            write_results(merged(earlier, measured, benchmarks()))
    except WorkbenchError as error:
        console.print(escape(visible(str(error))), style="red")
        raise typer.Exit(2) from None
    missed = any(row.missed for rows in measured.values() for row in rows)
    if failed or (strict and missed):
        raise typer.Exit(1)


def _shown(rows: list) -> Table:
    table = Table("what", "value", "limit", "against", "n", box=None)
    for row in rows:
        value = f"{row.value:.3g} {row.unit}" + (" missed" if row.missed else "")
        style = "red" if row.missed else ""
        cells = (row.name, value, str(row.limit or ""), row.against, str(row.n))
        table.add_row(*map(escape, map(visible, cells)), style=style)
    return table


typer.run(main)
