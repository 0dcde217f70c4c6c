"""`workbench replica build` and `workbench replica show`: a collection made from an incident's file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.options import file_to_write, new_console
from workbench.errors import BadParameter

if TYPE_CHECKING:
    from workbench.analysis.capture.live import Live
    from workbench.sources.replica.spec import Incident
    from workbench.types import PointId

# ---- `workbench replica build` and `workbench replica show`: a collection made from an inci ----

FileArgument = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help="An incident: data/incidents/*.toml, or one that was captured."
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    group = typer.Typer(
        no_args_is_help=True, help="Make the whole collection of an incident from its file."
    )
    group.command("build")(_build)
    group.command("show")(_show)
    app.add_typer(group, name="replica")


def _build(
    file: FileArgument,
    name: Annotated[
        str,
        typer.Option(
            "--as",
            metavar="NAME",
            help="The collection's name; default: the file's, with size and seed where given.",
        ),
    ] = "",
    size: Annotated[
        int | None, typer.Option(help="Another size; counts shrink or grow in proportion.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Another seed: other chunks hold the terms, equally many.")
    ] = None,
    vectors: Annotated[
        str,
        typer.Option(
            help="composed, or exact: every text embedded, an hour and more at full size."
        ),
    ] = "composed",
    decoy: Annotated[
        bool,
        typer.Option(
            "--decoy",
            help="Plant a chunk that holds all terms of the first query without its phrase.",
        ),
    ] = False,
    filler: Annotated[
        str, typer.Option(metavar="NAME", help="Take a loaded collection's chunks as filler text.")
    ] = "",
    qdrant: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="A Qdrant server for the points; the embedded engine by default."
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress on standard error.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="The manifest as JSON and nothing else.")
    ] = False,
) -> None:
    """Build a replica: exact counts, the target where it stood. Interrupted, the same command resumes it."""
    from workbench.errors import BadParameter
    from workbench.sources.replica.spec import is_notes_spec
    from workbench.stores.load import load
    from workbench.types import as_plain

    options: dict[str, Any] = {
        "size": size,
        "seed": seed,
        "vectors": vectors,
        "decoy": decoy or None,
    }
    kind = "replica"
    if is_notes_spec(file):  # its size is in notes
        if decoy or filler or vectors != "composed":
            raise BadParameter(
                "a replica of notes has no decoy, filler or exact vectors", where=str(file)
            )
        options, kind = {"notes": size, "seed": seed}, "notes_replica"
    if filler:
        options |= {"filler": filler, "filler_texts": texts_of(filler)}
    given = {k: v for k, v in options.items() if v is not None}
    manifest = load(
        file,
        name=name or default_name(file, size, seed),
        qdrant=qdrant,
        progress=not quiet,
        kind=kind,
        **given,
    )
    if as_json:
        print(json.dumps(as_plain(manifest)))
        return
    typer.echo(
        f"{manifest.name}: {manifest.counts['chunks']:,} memories, vectors {manifest.vectors}"
    )


def default_name(file: Path, size: int | None, seed: int | None) -> str:
    """The collection's name where none is given: the file's own, with what was asked for beside it."""
    return "-".join(
        [file.stem, *([str(size)] if size else []), *([f"seed{seed}"] if seed is not None else [])]
    )


def texts_of(name: str) -> Callable[[], Iterator[str]]:
    """The chunk texts of a loaded collection, read when asked for. Raises UnknownCollection at once."""
    from workbench.stores.collections import open_stores

    open_stores(name).close()

    def texts() -> Iterator[str]:
        with open_stores(name) as stores:
            for batch in stores.catalog.texts():
                yield from (text for _, text in batch)

    return texts


def _show(
    file: FileArgument,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON and nothing else.")] = False,
) -> None:
    """Show what an incident file asks for: sizes, counts, target, groups and checks."""
    from workbench.sources.replica.spec import read_incident
    from workbench.types import as_plain

    incident = read_incident(file)
    if as_json:
        print(json.dumps(as_plain(incident), default=sorted))
        return
    _print(incident)


def _print(incident: Incident) -> None:
    from rich.table import Table
    from rich.text import Text

    from workbench.text import visible

    console = new_console()
    console.print(Text(visible(incident.name), style="bold"), Text(visible(incident.about)))
    target = incident.target
    facts = [
        ("size", f"{incident.size:,}"),
        *((f"query {q.id}", f"{q.text}  (first {q.limit})") for q in incident.queries),
        ("limits", f"lexical {incident.limits.lexical}, semantic {incident.limits.semantic}"),
        (
            "target",
            f"{target.title}, {len(target.chunks)} chunks in {target.project}, from place {target.position:,}",
        ),
        ("terms", ", ".join(f"{t} {n:,}" for t, n in incident.terms.items())),
        (
            "together",
            f"{len(incident.cells)} cells, {sum(c.rows for c in incident.cells):,} chunks with two terms or more",
        ),
        *(
            (
                f"group {g.name}",
                f"{g.rows:,} hold {', '.join(sorted(g.holds)) or 'none of the terms'}",
            )
            for g in incident.groups
        ),
        *((f"phrase {p.text}", f"in {p.rows:,}") for p in incident.phrases),
        (
            "checked",
            ", ".join(
                [
                    *(f"first by BM25: {q}" for q in incident.checks.lexically_first),
                    *(f"outside the semantic list: {q}" for q in incident.checks.outside_semantic),
                ]
            )
            or "counts",
        ),
    ]
    if incident.captured:
        kept = (
            "without a word of the original"
            if incident.captured.private
            else "with the query's own words"
        )
        facts.append(("captured", f"{len(incident.captured.rows):,} chunks recorded, {kept}"))
    table = Table(box=None, show_header=False, pad_edge=False)
    for label, value in facts:
        table.add_row(Text(visible(label), style="dim"), Text(visible(value)))
    console.print(table)


# ---- `workbench capture`: an incident's file from a live collection, which is only read ----


def register_capture(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("capture")(_capture)


def _capture(
    collection: Annotated[
        str, typer.Argument(help="A loaded collection, or http://host:6333/collections/NAME.")
    ],
    query: Annotated[str, typer.Argument(help="The query as it was asked.")],
    target: Annotated[
        str, typer.Option(metavar="ID", help="The point that was looked for: an integer or a UUID.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Where to write the incident.")
    ],
    private: Annotated[
        bool,
        typer.Option(
            "--private", help="Keep no word of the content: neutral terms, the same figures."
        ),
    ] = False,
    limit: Annotated[int, typer.Option(help="Results that were asked for.")] = 8,
    depth: Annotated[
        int, typer.Option(help="How many chunks are recorded of each reading; 256 or more.")
    ] = 256,
    content: Annotated[
        str, typer.Option(metavar="FIELD", help="At a URL: the payload field of the text.")
    ] = "content",
    source: Annotated[
        str, typer.Option(metavar="FIELD", help="At a URL: the payload field of the source.")
    ] = "source",
    terms: Annotated[
        str,
        typer.Option(
            metavar="FIELD",
            help="At a URL: the text-indexed field; default: `terms` where it is there, else the text's.",
        ),
    ] = "",
    vector: Annotated[str, typer.Option(metavar="NAME", help="At a URL: the vector's name.")] = "",
    model: Annotated[
        str | None, typer.Option(help="At a URL: the model that made its vectors.")
    ] = None,
) -> None:
    """Write an incident's file from a live collection: sizes, exact counts, ranks by list, lengths.

    Nothing is written to the collection. `workbench replica build FILE` makes the replica.
    """
    from workbench.analysis.capture.capture import capture, write_incident

    fields = {"content": content, "source": source, "terms": terms, "vector": vector}
    file_to_write(output)
    with live(collection, fields, model) as opened:
        incident = capture(
            opened, query, point_id(target), limit=limit, depth=depth, private=private
        )
    write_incident(output, incident)
    recorded = incident.captured
    typer.echo(f"{output}: {incident.size:,} memories, {len(recorded.rows):,} recorded")
    for variant, ranks in recorded.ranks.items():
        places = ", ".join(f"{name} {rank}" for name, rank in ranks.items()) or "absent"
        typer.echo(f"  {variant}: target {places}")


def point_id(text: str) -> PointId:
    """A point id as it is written on a command line. Raises BadParameter."""
    from uuid import UUID

    if text.isascii() and text.isdecimal():
        return int(text)
    try:
        return str(UUID(text))
    except ValueError:
        raise BadParameter(f"{text!r} is no point id", do="Give an integer or a UUID") from None


@contextmanager
def live(name: str, fields: dict[str, str], model: str | None) -> Iterator[Live]:
    """A collection by name or URL, opened read-only."""
    from workbench.analysis.capture.live import Loaded
    from workbench.retrieval.search import open_collection
    from workbench.sources.qdrant import is_address

    if is_address(name):
        with _attached(name, fields, model) as opened:
            yield opened
        return
    with open_collection(name) as collection:
        yield Loaded(collection)


@contextmanager
def _attached(url: str, fields: dict[str, str], model: str | None) -> Iterator[Live]:
    from workbench.analysis.capture.live import Attached
    from workbench.settings import home, settings
    from workbench.sources.qdrant import COLLECTION_IN_URL
    from workbench.stores.collections import EMBEDDINGS
    from workbench.stores.filters.qdrant import PayloadNames
    from workbench.stores.points.server import ClientPoints
    from workbench.stores.vectors.embedder import Embedder
    from workbench.stores.vectors.models import find_model

    found = COLLECTION_IN_URL.match(url)
    if not found:
        raise BadParameter(
            f"{url!r} names no collection", do="Write http://host:6333/collections/NAME"
        )
    chosen = settings()
    home().mkdir(parents=True, exist_ok=True)
    embedder = Embedder(
        find_model(
            chosen.model if model is None else model,
            fetch=chosen.fetch,
            query_prefix=chosen.query_prefix,
        ),
        home() / EMBEDDINGS,
    )
    names = PayloadNames(
        content=fields["content"],
        source=fields["source"],
        terms=fields["terms"] or "terms",
        vector=fields["vector"],
    )
    points = ClientPoints(found["server"], found["name"], names=names)
    try:
        if not fields["terms"] and not any(
            "terms" in p.payload for p in points.scroll((), "all", {}, 1, fields=("terms",))
        ):
            points.close()
            points = ClientPoints(
                found["server"],
                found["name"],
                names=PayloadNames(
                    content=fields["content"],
                    source=fields["source"],
                    terms=fields["content"],
                    vector=fields["vector"],
                ),
            )
        yield Attached(found["name"], points, embedder)
    finally:
        points.close()
        embedder.close()
