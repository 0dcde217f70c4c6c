"""`workbench docs`: the pages of docs/ that are made from registrations, and the page of all commands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

GOOD, STALE = 0, 1
DOCS = "docs"


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""

    @app.command()
    def docs(
        directory: Annotated[
            Path | None,
            typer.Option(
                "--in", metavar="DIR", help="Where the pages stand: the project's `docs`."
            ),
        ] = None,
        check: Annotated[
            bool, typer.Option("--check", help="Write nothing; exit code 1 where a page is stale.")
        ] = False,
        as_json: Annotated[bool, typer.Option("--json", help="JSON and nothing else.")] = False,
    ) -> None:
        """Write the pages on variants, readers and commands from what is registered."""
        from workbench.analysis.canonical import write_text
        from workbench.reporting.reference import PAGES
        from workbench.settings import project_root

        where = directory or project_root() / DOCS
        pages = {name: make() for name, make in PAGES.items()} | {"commands.md": commands_page(app)}
        stale = [name for name, text in pages.items() if _standing(where / name) != text]
        if not check:
            where.mkdir(parents=True, exist_ok=True)
            for name in stale:
                write_text(where / name, pages[name])
        if as_json:
            print(json.dumps({"pages": list(pages), "stale": stale, "written": not check}))
        else:
            told = ", ".join(stale) or "nothing"
            typer.echo(f"stale: {told}" if check else f"written: {told}")
        raise typer.Exit(STALE if check and stale else GOOD)


def _standing(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


def commands(group: Any, before: str = "workbench") -> Iterator[tuple[str, Any]]:
    """Every command of a group with its whole name, inner groups taken apart, in the order of registration."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{before} {name}")
        else:
            yield f"{before} {name}", command


def commands_page(app: typer.Typer) -> str:
    """Every command with its help, arguments and options."""
    from workbench.reporting.reference import MADE, in_markdown, paragraphs, table

    lines = [
        MADE,
        "",
        "# Commands",
        "",
        "`workbench COMMAND --help` prints the same. Exit codes: 0 good; 1 a check failed; 2 something is to mend; 130 interrupted."
        " With `--json`, standard output is JSON and nothing else.",
    ]
    for name, command in commands(typer.main.get_command(app)):
        lines += ["", f"## {name}", "", "\n\n".join(paragraphs(command.help))]
        rows = [(_name(p), in_markdown(p.help or ""), _default(p)) for p in command.params]
        if rows:
            lines += ["", *table(("parameter", "meaning", "default"), rows)]
    return "\n".join(lines) + "\n"


def _name(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{parameter.metavar or parameter.name.upper()}`"
    return ", ".join(f"`{o}`" for o in parameter.opts) + (
        f" {parameter.metavar}" if parameter.metavar else ""
    )


def _default(parameter: Any) -> str:
    if parameter.required:
        return "needed"
    return "" if parameter.default in (None, "", False, []) else f"`{parameter.default}`"
