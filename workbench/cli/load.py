"""`workbench load`, `workbench collections` and `workbench readers`: the first move, what there is, and from what."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.options import new_console
from workbench.errors import BadParameter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from workbench.stores.collections import Listed
    from workbench.stores.journal import Waiting
    from workbench.stores.manifest import Manifest

# ---- `workbench load`, `workbench collections` and `workbench readers`: the first move, wha ----

WARNINGS_SHOWN = 10


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command("load")(_load)
    app.command("collections")(_collections)
    app.command("check")(_check)
    app.command("readers")(_readers)


def reader_options(pairs: list[str], **named: Any) -> dict[str, Any]:
    """What a reader is told: the options that were given by name, and the rest as NAME=VALUE texts.

    Raises BadParameter for a text without `=`, and for an option that is given twice.
    """
    options = {name: value for name, value in named.items() if value not in (None, "", [])}
    for pair in pairs:
        name, mark, value = pair.partition("=")
        name = name.strip().replace("-", "_")
        if not mark or not name:
            raise BadParameter(
                f"parameter {pair!r} is not of the form NAME=VALUE", do="Write e.g. -p strict=true"
            )
        if name in options:
            raise BadParameter(f"the reader's parameter {name!r} is given twice")
        options[name] = value
    return options


def _load(
    source: Annotated[
        str,
        typer.Argument(help="A path, `pydoc`, or http://host:6333/collections/NAME (only read)."),
    ],
    name: Annotated[str, typer.Option("--as", metavar="NAME", help="The name of the collection.")],
    kind: Annotated[
        str,
        typer.Option(
            help="The reader, where the source does not tell; `workbench readers` lists them."
        ),
    ] = "",
    split: Annotated[
        str, typer.Option(help="BEIR: which judgements, e.g. train, dev or test.")
    ] = "",
    chunk_size: Annotated[int | None, typer.Option(help="Characters of a chunk at most.")] = None,
    overlap: Annotated[
        int | None, typer.Option(help="Characters that a chunk repeats of the one before.")
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="ROLE=COLUMN",
            help="Which column or payload field is the id, text, title, …; repeatable.",
        ),
    ] = None,
    packages: Annotated[
        str, typer.Option(help="pydoc: installed packages to document too, with commas between.")
    ] = "",
    parameter: Annotated[
        list[str] | None,
        typer.Option(
            "-p",
            "--parameter",
            metavar="NAME=VALUE",
            help="Any other parameter of the reader; repeatable.",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="multilingual-e5-small-q4, a directory, or a fastembed model's name; default: the packaged bge-small-en-v1.5."
        ),
    ] = None,
    also: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            help="A second model beside the first, its vectors apart, for adr_0172_multilingual and the channel semantic_by.",
        ),
    ] = "",
    no_vectors: Annotated[
        bool, typer.Option("--no-vectors", help="Embed nothing: for lexical search alone.")
    ] = False,
    fetch: Annotated[
        bool, typer.Option("--fetch", help="Let the model be fetched from the model hub.")
    ] = False,
    query_prefix: Annotated[
        str | None, typer.Option(help="Put before a query when it is embedded.")
    ] = None,
    stop: Annotated[
        str, typer.Option(help="The stop list: lucene-en-33 or none.")
    ] = "lucene-en-33",
    stem: Annotated[
        str, typer.Option(help="A Snowball stemmer, e.g. porter; whole words by default.")
    ] = "",
    qdrant: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="A Qdrant server for the points; the embedded engine by default."
        ),
    ] = None,
    shards: Annotated[int, typer.Option(help="Shards on the server.")] = 1,
    replicas: Annotated[int, typer.Option(help="Replicas of each shard on the server.")] = 1,
    sparse: Annotated[
        bool,
        typer.Option(
            "--sparse", help="Store BM25 as sparse vectors too, for the variant bm25_sparse."
        ),
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress on standard error.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="The manifest as JSON and nothing else.")
    ] = False,
) -> None:
    """Load a source into DuckDB and Qdrant as a collection; the same source again changes nothing.

    Ctrl-C at any moment leaves the last complete collection readable; run the same command to resume.
    """
    from workbench.settings import settings
    from workbench.stores.collections import place
    from workbench.stores.load import load
    from workbench.stores.vectors.models import Model, find_model
    from workbench.text import Tokenizer

    options = reader_options(
        parameter or [],
        kind=kind,
        split=split,
        chunk_size=chunk_size,
        overlap=overlap,
        columns=columns,
        packages=packages,
    )
    earlier, chosen = place(name).current(), settings()
    prefix = chosen.query_prefix if query_prefix is None else query_prefix
    found: str | Model | None = model
    if not no_vectors:
        found = find_model(
            chosen.model if model is None else model,
            fetch=fetch or chosen.fetch,
            query_prefix=prefix,
        )
    second = find_model(also, fetch=fetch or chosen.fetch) if also else None
    manifest = load(
        source,
        name=name,
        model=found,
        also=second,
        qdrant=qdrant,
        shard_number=shards,
        replication_factor=replicas,
        sparse=sparse,
        vectors=not no_vectors,
        tokenizer=Tokenizer(stop=stop, stem=stem),
        progress=not quiet,
        **options,  # type: ignore[arg-type]
    )
    if as_json:
        print(json.dumps(plain_manifest(manifest)))
        return
    unchanged = earlier is not None and earlier.name == manifest.generation
    summary(manifest, "unchanged" if unchanged else "loaded", manifest.warnings)


def _collections(
    as_json: Annotated[bool, typer.Option("--json", help="As JSON and nothing else.")] = False,
) -> None:
    """List the loaded collections: counts, engines, sizes, model, content hash and what waits; a broken one with its reason."""
    from workbench.stores.collections import collections
    from workbench.types import as_plain

    found = collections()
    if as_json:
        print(
            json.dumps(
                [
                    {
                        "name": c.name,
                        "broken": c.broken,
                        "manifest": c.manifest and plain_manifest(c.manifest),
                        "waiting": as_plain(c.waiting),
                    }
                    for c in found
                ]
            )
        )
        return
    _list(found)


def _check(name: Annotated[str, typer.Argument(help="The collection.")]) -> None:
    """Compare every byte of a collection with its checksums; exit with 2 and name the file where one differs."""
    from workbench.stores.collections import check_collection

    manifest = check_collection(name)
    new_console().print(
        f"{manifest.name} is whole: {_counted(manifest.counts)}, every file as it was written",
        markup=False,
    )


def _readers(
    as_json: Annotated[bool, typer.Option("--json", help="As JSON and nothing else.")] = False,
) -> None:
    """List what can be loaded: each reader with its law and its parameters."""
    from workbench.registry import entries

    known = [
        {
            "name": e.name,
            "law": e.law,
            "parameters": {n: str(p.default) for n, p in e.parameters.items()},
        }
        for e in entries("reader").values()
    ]
    if as_json:
        print(json.dumps(known))
        return
    console = new_console()
    for reader in known:
        console.print(f"[bold]{reader['name']}[/bold]  {reader['law']}", highlight=False)
        console.print(
            "  " + ", ".join(f"{n}={d or '…'}" for n, d in reader["parameters"].items()),
            style="dim",
            markup=False,
        )


def plain_manifest(manifest: Manifest) -> dict[str, Any]:
    """The manifest as JSON data; a server's URL without user and password."""
    from workbench.remote import shown_url
    from workbench.types import as_plain

    plain = as_plain(manifest)
    for engine in plain["engines"].values():
        if "url" in engine:
            engine["url"] = shown_url(engine["url"])
    return plain


def summary(manifest: Manifest, said: str, warnings: Sequence[str]) -> None:
    """What became of a collection, what it holds now, and the first warnings of what was read."""
    from rich.text import Text

    from workbench.text import visible

    console = new_console()
    _show(console, manifest, said)
    for warning in warnings[:WARNINGS_SHOWN]:
        console.print(
            Text("warning: ", style="yellow").append(
                visible(warning).replace("\n", " "), style="default"
            )
        )
    if len(warnings) > WARNINGS_SHOWN:
        console.print(f"and {len(warnings) - WARNINGS_SHOWN} more: workbench collections --json")


def _list(found: list[Listed]) -> None:
    from rich.text import Text

    from workbench.settings import home
    from workbench.stores.collections import UNFINISHED
    from workbench.text import visible

    console = new_console()
    if not found:
        console.print(
            f"No collection in {home()}. Load one: workbench load SOURCE --as NAME", markup=False
        )
    for c in found:
        if c.manifest is None:
            state = "unfinished" if c.broken == UNFINISHED else "broken"
            console.print(
                Text(visible(c.name), style="bold").append(
                    f"  {state}: {visible(c.broken)}", style="not bold red"
                )
            )
        else:
            _show(console, c.manifest)
            say_waiting(console, c.name, c.waiting)


def say_waiting(console: Console, name: str, waiting: Waiting) -> None:
    """A line where documents wait to be indexed."""
    from rich.text import Text

    if waiting.documents:
        console.print(Text(f"  {waiting}: workbench update {name}", style="yellow"))


def _show(console: Console, manifest: Manifest, said: str = "") -> None:
    """Two lines: what it holds, and what it is made of."""
    from rich.text import Text

    from workbench.text import visible

    head = Text(manifest.name, style="bold")
    head.append(f"{f' is {said}:' if said else ' '} {_counted(manifest.counts)}", style="not bold")
    models = " and ".join(
        f"{visible(m['name'])} {m['sha256'][:12]}" for m in (manifest.model, manifest.also) if m
    )
    models = "no vectors" if manifest.vectors == "none" else f"model {models}"
    console.print(head)
    console.print(
        Text(
            f"  {visible(_engines(manifest))}; {sum(manifest.sizes.values()) / 1e6:.1f} MB; {models}; "
            f"content {manifest.content_hash[:12]}",
            style="dim",
        )
    )


def _counted(counts: Any) -> str:
    from workbench.text import counted

    judged = (
        f", {counted(counts['queries'], 'query', 'queries')}, {counted(counts['qrels'], 'judgement')}"
        if counts["queries"]
        else ""
    )
    return (
        f"{counted(counts['chunks'], 'chunk')} of {counted(counts['entities'], 'document')}{judged}"
    )


def _engines(manifest: Manifest) -> str:
    engines = plain_manifest(manifest)["engines"]
    return ", ".join(
        f"{name} {e['version']}"
        + (f" at {e['url']}" if "url" in e else "")
        + (" with sparse BM25" if "sparse" in e else "")
        for name, e in engines.items()
    )


# ---- `workbench update`: documents added, changed and deleted in a loaded collection, or pu ----


def register_update(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("update")(_update)


def _update(
    name: Annotated[str, typer.Argument(help="A loaded collection.")],
    changes: Annotated[
        str | None,
        typer.Argument(
            help="A table (JSONL, CSV, TSV, Parquet) of whole documents to add, or to change by their id."
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="SOURCE",
            help="The whole source as it is now: what differs is added, changed and deleted.",
        ),
    ] = None,
    delete: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="A document to delete; repeatable.")
    ] = None,
    missing_ok: Annotated[
        bool, typer.Option("--missing-ok", help="Pass over an id to delete that is not there.")
    ] = False,
    defer: Annotated[
        bool,
        typer.Option("--defer", help="Only keep the changes: they wait until the next update."),
    ] = False,
    kind: Annotated[
        str, typer.Option(help="The reader, where CHANGES is no table or the source does not tell.")
    ] = "",
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="ROLE=COLUMN",
            help="As for load; by default as the collection was loaded. Repeatable.",
        ),
    ] = None,
    parameter: Annotated[
        list[str] | None,
        typer.Option(
            "-p",
            "--parameter",
            metavar="NAME=VALUE",
            help="Any other parameter of the reader; by default as the collection was loaded. Repeatable.",
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress on standard error.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON and nothing else.")] = False,
) -> None:
    """Change a collection's documents in place, in both stores or in none; without changes, index what waits.

    A document is given whole. Its chunks that are as they were keep their ids and vectors, others get new ids above
    every earlier one. Ctrl-C at any moment leaves the collection as it was; the changes then wait for the next update.
    """

    from workbench.stores.update import update
    from workbench.types import as_plain

    done = update(
        name,
        changes,
        source=source,
        delete=delete or (),
        missing_ok=missing_ok,
        defer=defer,
        progress=not quiet,
        **reader_options(parameter or [], kind=kind, columns=columns),
    )
    if as_json:
        print(json.dumps({**as_plain(done), "manifest": plain_manifest(done.manifest)}))
        return
    changed = done.added + done.changed + done.deleted
    summary(
        done.manifest,
        "unchanged" if not changed else "to be changed" if defer else "updated",
        done.warnings,
    )
    told = {
        "added": done.added,
        "changed": done.changed,
        "deleted": done.deleted,
        "unchanged": done.unchanged,
        "not found": len(done.not_found),
    }
    console = new_console()
    console.print(
        "  documents: "
        + (
            ", ".join(f"{count} {what}" for what, count in told.items() if count)
            or "none given, none waited"
        )
    )
    say_waiting(console, name, done.waiting)
