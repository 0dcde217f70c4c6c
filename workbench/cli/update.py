"""`workbench update`: documents added, changed and deleted in a loaded collection, or put to wait."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from workbench.cli.console import new_console


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("update")(_update)


def _update(
    name: Annotated[str, typer.Argument(help="A loaded collection.")],
    changes: Annotated[str | None, typer.Argument(help="A table (JSONL, CSV, TSV, Parquet) of whole documents to add, or to change by their id.")] = None,
    source: Annotated[str | None, typer.Option("--from", metavar="SOURCE", help="The whole source as it is now: what differs is added, changed and deleted.")] = None,
    delete: Annotated[list[str] | None, typer.Option(metavar="ID", help="A document to delete; repeatable.")] = None,
    missing_ok: Annotated[bool, typer.Option("--missing-ok", help="Pass over an id to delete that is not there.")] = False,
    defer: Annotated[bool, typer.Option("--defer", help="Only keep the changes: they wait until the next update.")] = False,
    kind: Annotated[str, typer.Option(help="The reader, where CHANGES is no table or the source does not tell.")] = "",
    columns: Annotated[list[str] | None, typer.Option("--map", metavar="ROLE=COLUMN", help="As for load; by default as the collection was loaded. Repeatable.")] = None,
    parameter: Annotated[list[str] | None, typer.Option("-p", "--parameter", metavar="NAME=VALUE", help="Any other parameter of the reader; by default as the collection was loaded. Repeatable.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress on standard error.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON and nothing else.")] = False,
) -> None:  # fmt: skip
    """Change a collection's documents in place, in both stores or in none; without changes, index what waits.

    A document is given whole. Its chunks that are as they were keep their ids and vectors, others get new ids above
    every earlier one. Ctrl-C at any moment leaves the collection as it was; the changes then wait for the next update.
    """

    from workbench.cli.load import plain_manifest, reader_options, say_waiting, summary
    from workbench.stores.update import update
    from workbench.types import as_plain

    done = update(
        name, changes, source=source, delete=delete or (), missing_ok=missing_ok, defer=defer, progress=not quiet,
        **reader_options(parameter or [], kind=kind, columns=columns),
    )  # fmt: skip
    if as_json:
        print(json.dumps({**as_plain(done), "manifest": plain_manifest(done.manifest)}))
        return
    changed = done.added + done.changed + done.deleted
    summary(done.manifest, "unchanged" if not changed else "to be changed" if defer else "updated", done.warnings)
    told = {"added": done.added, "changed": done.changed, "deleted": done.deleted, "unchanged": done.unchanged,
            "not found": len(done.not_found)}  # fmt: skip
    console = new_console()
    console.print("  documents: " + (", ".join(f"{count} {what}" for what, count in told.items() if count) or "none given, none waited"))
    say_waiting(console, name, done.waiting)
