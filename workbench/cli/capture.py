"""`workbench capture`: an incident's file from a live collection, which is only read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.targets import file_to_write
from workbench.errors import BadParameter

if TYPE_CHECKING:
    from workbench.analysis.live import Live
    from workbench.types import PointId


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("capture")(_capture)


def _capture(
    collection: Annotated[str, typer.Argument(help="A loaded collection, or http://host:6333/collections/NAME.")],
    query: Annotated[str, typer.Argument(help="The query as it was asked.")],
    target: Annotated[str, typer.Option(metavar="ID", help="The point that was looked for: an integer or a UUID.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where to write the incident.")],
    private: Annotated[bool, typer.Option("--private", help="Keep no word of the content: neutral terms, the same figures.")] = False,
    limit: Annotated[int, typer.Option(help="Results that were asked for.")] = 8,
    depth: Annotated[int, typer.Option(help="How many chunks are recorded of each reading; 256 or more.")] = 256,
    content: Annotated[str, typer.Option(metavar="FIELD", help="At a URL: the payload field of the text.")] = "content",
    source: Annotated[str, typer.Option(metavar="FIELD", help="At a URL: the payload field of the source.")] = "source",
    terms: Annotated[str, typer.Option(metavar="FIELD", help="At a URL: the text-indexed field; default: `terms` where it is there, else the text's.")] = "",
    vector: Annotated[str, typer.Option(metavar="NAME", help="At a URL: the vector's name.")] = "",
    model: Annotated[str | None, typer.Option(help="At a URL: the model that made its vectors.")] = None,
) -> None:  # fmt: skip
    """Write an incident's file from a live collection: sizes, exact counts, ranks by list, lengths.

    Nothing is written to the collection. `workbench replica build FILE` makes the replica.
    """
    from workbench.analysis.capture import capture
    from workbench.analysis.capture_file import write_incident

    fields = {"content": content, "source": source, "terms": terms, "vector": vector}
    file_to_write(output)
    with live(collection, fields, model) as opened:
        incident = capture(opened, query, point_id(target), limit=limit, depth=depth, private=private)
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
    from workbench.analysis.live import Loaded
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
    from workbench.analysis.live import Attached
    from workbench.settings import home, settings
    from workbench.sources.qdrant import COLLECTION_IN_URL
    from workbench.stores.client import ClientPoints
    from workbench.stores.embedding import Embedder
    from workbench.stores.home import EMBEDDINGS
    from workbench.stores.model import find_model
    from workbench.stores.payload_names import PayloadNames

    found = COLLECTION_IN_URL.match(url)
    if not found:
        raise BadParameter(f"{url!r} names no collection", do="Write http://host:6333/collections/NAME")
    chosen = settings()
    home().mkdir(parents=True, exist_ok=True)
    embedder = Embedder(
        find_model(chosen.model if model is None else model, fetch=chosen.fetch, query_prefix=chosen.query_prefix),
        home() / EMBEDDINGS,
    )
    names = PayloadNames(
        content=fields["content"], source=fields["source"], terms=fields["terms"] or "terms", vector=fields["vector"]
    )
    points = ClientPoints(found["server"], found["name"], names=names)
    try:
        if not fields["terms"] and not any("terms" in p.payload for p in points.scroll((), "all", {}, 1, fields=("terms",))):
            points.close()
            points = ClientPoints(found["server"], found["name"], names=PayloadNames(
                content=fields["content"], source=fields["source"], terms=fields["content"], vector=fields["vector"]
            ))  # fmt: skip
        yield Attached(found["name"], points, embedder)
    finally:
        points.close()
        embedder.close()
