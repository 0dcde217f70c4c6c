"""`workbench search` and `workbench variants`: the second move, and what there is to search with."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from workbench.cli.options import new_console

EXCERPT_CHARACTERS = 160
"""Of a row's text, in the table of results."""


def parse_filters(pairs: list[str]) -> dict[str, Any]:
    """`field=value` pairs to Query.filters; a field named twice means any of its values; `field=` means absent."""
    from workbench.errors import BadParameter

    out: dict[str, Any] = {}
    for pair in pairs:
        name, mark, value = pair.partition("=")
        if not mark or not name:
            raise BadParameter(
                f"filter {pair!r} is not of the form field=value",
                do="Write e.g. --filter project=meetings",
            )
        known = out.get(name)
        new = value or None
        out[name] = (
            new if name not in out else [*(known if isinstance(known, list) else [known]), new]
        )
    return out


def _search(
    name: Annotated[str, typer.Argument(help="A loaded collection.")],
    text: Annotated[str, typer.Argument(help="The query; any string is valid.")],
    variant: Annotated[
        str, typer.Option(help="A variant by name; `workbench variants` lists them.")
    ] = "adr_0172",
    mode: Annotated[str, typer.Option(help="hybrid, lexical or semantic.")] = "hybrid",
    filter: Annotated[
        list[str] | None, typer.Option(help="field=value, may be given several times.")
    ] = None,
    limit: Annotated[int, typer.Option(help="Results on the page.")] = 8,
    offset: Annotated[int, typer.Option(help="Results to pass over.")] = 0,
    trace: Annotated[bool, typer.Option("--trace", help="Show every engine call.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The whole result as JSON.")] = False,
) -> None:
    """Search a collection with a published variant and see per-list ranks and what each limit dropped."""

    from workbench.cli.load import say_waiting
    from workbench.retrieval.search import open_collection
    from workbench.stores.hints import refuse_hopeless
    from workbench.stores.journal import waiting_in
    from workbench.types import Query, as_plain

    query = Query(text, parse_filters(filter or []), limit, offset, mode)  # type: ignore[arg-type]
    with open_collection(name) as collection:
        result = collection.search(query, variant)
        if not result.hits:
            refuse_hopeless(collection.stores.catalog, query.filters)
        waiting = waiting_in(collection.stores.catalog.path.parent)
    if as_json:
        print(json.dumps({**plain(result), "waiting": as_plain(waiting)}, ensure_ascii=True))
        return
    _show(result, trace)
    say_waiting(new_console(), name, waiting)


def plain(result: Any) -> dict[str, Any]:
    """A result as JSON-ready data: what a tool needs to check it, without the candidates' payload."""
    from workbench.types import as_plain

    return {
        "query": as_plain(result.query),
        "variant": result.variant,
        "plan": result.evidence["variant"].plan(),
        "terms": list(result.evidence["terms"]),
        "inputs": dict(result.inputs),
        "hits": as_plain(result.hits),
        "lists": {r.name: len(r) for r in result.lists},
        "tie_rule": result.fused.tie_rule,
        "trace": as_plain(result.spans),
    }


def _show(result: Any, trace: bool) -> None:
    from rich.table import Table
    from rich.text import Text

    from workbench.text import excerpt, visible

    console = new_console()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for header, justify in (
        ("#", "right"),
        ("score", "right"),
        ("lists", "left"),
        ("id", "left"),
        ("title and text", "left"),
    ):
        table.add_column(header, justify=justify, no_wrap=header != "title and text")  # type: ignore[arg-type]
    for hit in result.hits:
        chunk = hit.chunk
        lists = " ".join(f"{n[:3]}:{r}" for n, r in hit.ranks.items())
        shown = Text(visible(chunk.title or chunk.entity_id).replace("\n", " "), style="bold")
        shown.append(
            " " + visible(excerpt(chunk.text, chunk.title, EXCERPT_CHARACTERS)), style="not bold"
        )
        table.add_row(str(hit.rank), f"{hit.score:.4f}", lists, visible(str(hit.id)), shown)
    console.print(table if result.hits else "No results.")
    limits = [s for s in result.spans if s.limit and s.call != "search"]
    for span in result.spans:
        if span.call == "note":
            console.print(Text(f"{span.stage}: {visible(span.note)}", style="dim"))
    if trace:
        _show_trace(console, result.spans)
    elif limits:
        console.print(
            Text(
                "Limits reached: "
                + ", ".join(dict.fromkeys(f"{s.stage} {s.limit}" for s in limits)),
                style="dim",
            )
        )


def _show_trace(console: Any, spans: Any) -> None:
    from rich.table import Table

    from workbench.text import visible

    table = Table(
        box=None, pad_edge=False, header_style="bold dim", title="trace", title_justify="left"
    )
    for header in ("stage", "call", "engine", "ms", "rows", "bytes", "limit", "dropped", "note"):
        table.add_column(
            header, justify="right" if header in ("ms", "rows", "bytes", "dropped") else "left"
        )
    for s in spans:
        dropped = "not told" if s.dropped is None else str(s.dropped)
        table.add_row(
            s.stage,
            s.call,
            s.engine,
            f"{s.seconds * 1e3:.1f}",
            str(s.rows),
            str(s.bytes),
            s.limit,
            dropped if s.limit else "",
            visible(s.note),
        )
    console.print(table)


def _variants(as_json: Annotated[bool, typer.Option("--json")] = False) -> None:
    """List the registered variants with their law and their plan."""
    from rich.text import Text

    from workbench.retrieval.variant import known, variant

    if as_json:
        print(
            json.dumps(
                [{"name": n, "law": law, "plan": variant(n).plan()} for n, law in known().items()]
            )
        )
        return
    console = new_console()
    for name, law in known().items():
        console.print(Text(name, style="bold"), Text(law))
        console.print(Text(variant(name).plan().split("\n", 1)[1], style="dim"))


def register(app: typer.Typer) -> None:
    app.command("search")(_search)
    app.command("variants")(_variants)
