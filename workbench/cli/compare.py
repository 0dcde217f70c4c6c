"""`workbench compare`: variants on judged queries, with intervals, paired tests, slices and the queries that differ."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.console import new_console, progress_bar
from workbench.cli.targets import directory_to_write

if TYPE_CHECKING:
    from workbench.analysis.compared import Compared
    from workbench.analysis.comparison import Comparison

Name = Annotated[str, typer.Argument(help="A loaded collection.")]
Variants = Annotated[
    str, typer.Option(help="Variants with commas between; each as NAME, NAME(knob=value) or NAME+CHANNEL. The first is the one compared with.")
]
Queries = Annotated[
    str, typer.Option(help="A file, titles, spans, identifiers, or irds:NAME of ir_datasets; default: the collection's own.")
]
Qrels = Annotated[str, typer.Option(help="Judgements: a TREC, BEIR or ranx file; default: those of the queries or the collection.")]
Limit = Annotated[int | None, typer.Option(help="Evaluate so many queries, drawn by seed.", min=1)]
Seed = Annotated[int | None, typer.Option(help="Seed of what is drawn and resampled.")]
Depth = Annotated[int | None, typer.Option(help="Documents of a ranking that a metric without a cutoff reads; default 1,000.", min=1)]
KeepOwn = Annotated[bool, typer.Option("--keep-own", help="Keep a query's own document in its ranking.")]
Out = Annotated[Path | None, typer.Option(metavar="DIR", help="Write the report, its data and the runs there.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress on standard error.")]
AsJson = Annotated[bool, typer.Option("--json", help="As JSON and nothing else.")]

QUERIES_SHOWN = 5
GAP = 2
"""Blanks between two columns of a table without lines."""


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("compare")(_compare)


def _compare(
    name: Name,
    variants: Variants,
    queries: Queries = "",
    qrels: Qrels = "",
    metrics: Annotated[str, typer.Option(help="Metrics of ir-measures, with commas between; the first one leads.")] = "",
    pairs: Annotated[str, typer.Option(help="all: every two variants; first: each against the first.")] = "all",
    slices: Annotated[str, typer.Option(help="Attributes of the queries to slice by, with commas between; default: all that part them.")] = "",
    limit: Limit = None,
    seed: Seed = None,
    depth: Depth = None,
    keep_own: KeepOwn = False,
    tie_width: Annotated[float | None, typer.Option(help="Two values nearer than this are a tie.", min=0)] = None,
    out: Out = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Compare variants on judged queries: metrics, paired differences with interval and test, slices, what differs.

    What does not fit (queries without judgements, documents that do not exist, ids that differ by padding) is counted
    and said. Known-item sets are made from the collection itself: titles, spans, identifiers.
    """
    from workbench.analysis.compared import compare_variants
    from workbench.analysis.known_items import SEED
    from workbench.analysis.metrics import DEFAULT_METRICS, DEPTH
    from workbench.analysis.significance import TIE_WIDTH
    from workbench.errors import BadParameter
    from workbench.retrieval.spec import parse_all, split

    if pairs not in ("all", "first"):
        raise BadParameter(f"pairs are all or first, not {pairs!r}")
    chosen = parse_all(variants)
    directory_to_write(out)
    with progress_bar("searching", quiet or as_json) as told:
        compared = compare_variants(
            name, chosen, queries, qrels, [m for m in split(metrics) if m] or DEFAULT_METRICS,
            pairs=None if pairs == "all" else [(chosen[0].name, v.name) for v in chosen[1:]],
            slices=[s for s in split(slices) if s] or None, limit=limit, seed=SEED if seed is None else seed,
            tie_width=TIE_WIDTH if tie_width is None else tie_width, progress=told,
            depth=DEPTH if depth is None else depth, keep_own=keep_own,
        )  # fmt: skip
    page = _written(compared, out)
    if as_json:
        print(json.dumps({**compared.to_dict(), "report": str(page) if page else None}, ensure_ascii=True))
        return
    show(compared)
    if page:
        print(f"Report: {page}")


def _written(compared: Compared, out: Path | None) -> Path | None:
    if out is None:
        return None
    from workbench.reporting.comparison_page import write_comparison

    return write_comparison(out, compared)


def show(compared: Compared) -> None:
    """The comparison in the terminal: values and costs, then each pair's sentence, then what differs most."""
    from rich.text import Text

    from workbench.text import counted, visible

    console = new_console()
    c = compared.comparison
    console.print(Text(f"{compared.collection}: {counted(c.n, 'query', 'queries')} evaluated, {c.skipped.height} skipped; {visible(compared.queries.origin)}", style="bold"))
    for table in _values(compared, console.width):
        console.print(table, crop=False)
    console.print(Text(reading(c), style="dim"))
    for a, b, metric in c.per_pair.select("a", "b", "metric").rows():
        console.print(Text(visible(c.sentence(a, b, metric))))
    for note in compared.notes:
        console.print(Text(f"note: {visible(note)}", style="yellow"))
    worst = compared.differences[:QUERIES_SHOWN]
    if worst:
        console.print(Text(f"\nQueries that differ most, by {c.metrics[0]}", style="bold"))
    for d in worst:
        console.print(Text(f"{d.difference:+.3f}  {visible(' '.join(d.text.split()))[:110]}", style="green" if d.difference > 0 else "red"))
        for side in (d.a, d.b):
            console.print(Text(f"        {side.variant}: {visible(side.told)}", style="dim"))
        console.print(Text(f"        {visible(d.b.command)}"), soft_wrap=True)


def reading(c: Comparison) -> str:
    """What the metrics without a cutoff read, in one line."""
    from workbench.analysis.metrics import cutoff

    whole = [m for m in c.metrics if cutoff(m) is None]
    if not whole:
        return "each metric reads a ranking to its own cutoff"
    return f"{', '.join(whole)}: first {c.depth:,} documents of each ranking (--depth)"


def _values(compared: Compared, width: int) -> list[Any]:
    """One row a variant: the metrics, Judged@k of the first, and what a search costs; costs apart where one table is too
    wide. A variant's name is never broken."""
    c = compared.comparison
    costs = {row["variant"]: row for row in compared.runs.costs}
    rows = {v: c.per_variant.filter(variant=v).to_dicts() for v in c.variants}
    quality = {m: [f"{of[n]['value']:.4f}" for of in rows.values()] for n, m in enumerate(c.metrics)}
    firsts = [of[0] for of in rows.values()]
    quality[firsts[0]["judged_name"]] = ["–" if of["judged"] is None else f"{of['judged']:.1%}" for of in firsts]
    spent = {
        "p50 ms": [f"{costs[v]['p50_ms']:.1f}" for v in rows], "p95 ms": [f"{costs[v]['p95_ms']:.1f}" for v in rows],
        "calls": [f"{costs[v]['calls']:.1f}" for v in rows], "KB": [f"{costs[v]['payload_bytes'] / 1e3:,.0f}" for v in rows],
    }  # fmt: skip
    whole = _named_table(list(rows), {**quality, **spent})
    return [whole] if whole.width <= width else [_named_table(list(rows), quality), _named_table(list(rows), spent)]


def _named_table(names: list[str], columns: dict[str, list[str]]) -> Any:
    """A table as wide as its cells: a narrower terminal wraps its lines, no name."""
    from rich.cells import cell_len
    from rich.table import Table

    from workbench.text import visible

    cells = {"variant": [visible(n) for n in names], **columns}
    width = sum(max(map(cell_len, (heading, *of))) for heading, of in cells.items()) + GAP * (len(cells) - 1)
    table = Table(box=None, pad_edge=False, header_style="bold dim", width=width)
    for heading in cells:
        table.add_column(heading, justify="left" if heading == "variant" else "right", no_wrap=True)
    for row in zip(*cells.values(), strict=True):
        table.add_row(*row)
    return table
