"""`workbench compare` and `workbench evaluate`: variants, and runs from files, on judged queries."""

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
Metrics = Annotated[str, typer.Option(help="Metrics of ir-measures, with commas between; the first one leads.")]
Pairs = Annotated[str, typer.Option(help="all: every two of them; first: each against the first.")]
Slices = Annotated[
    str, typer.Option(help="Attributes of the queries to slice by, with commas between; default: all that part them.")
]
TieWidth = Annotated[float | None, typer.Option(help="Two values nearer than this are a tie.", min=0)]
AsJson = Annotated[bool, typer.Option("--json", help="As JSON and nothing else.")]

QUERIES_SHOWN, PAIRS_SHOWN = 5, 8


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command("compare")(_compare)
    app.command("evaluate")(_evaluate)


def _compare(
    name: Name,
    variants: Variants,
    queries: Queries = "",
    qrels: Qrels = "",
    metrics: Metrics = "",
    run: Annotated[list[str] | None, typer.Option(metavar="NAME=FILE", help="Compare a run of another system too: a TREC or ranx file.")] = None,
    pairs: Pairs = "all",
    slices: Slices = "",
    limit: Limit = None,
    seed: Seed = None,
    depth: Depth = None,
    keep_own: KeepOwn = False,
    tie_width: TieWidth = None,
    out: Out = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Compare variants on judged queries: metrics, paired differences with interval and test, slices, what differs.

    What does not fit (queries without judgements, documents that do not exist, ids that differ by padding) is counted
    and said. Known-item sets are made from the collection itself: titles, spans, identifiers. With --run the rankings
    of other systems are in the same table, tests and report.
    """
    from workbench.analysis.compared import compare_variants
    from workbench.analysis.foreign import named_files
    from workbench.retrieval.spec import parse_all

    chosen, files = parse_all(variants), named_files(run or [], named=True)
    directory_to_write(out)
    settings = _settings([*(v.name for v in chosen), *files], metrics, pairs, slices, seed, depth, tie_width)
    with progress_bar("searching", quiet or as_json) as report:
        compared = compare_variants(
            name, chosen, queries, qrels, runs=files, limit=limit, keep_own=keep_own, progress=report, **settings
        )
    _finish(compared, out, as_json)


def _evaluate(
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="TREC or ranx (.json) files, also .gz; NAME=FILE names one.")],
    qrels: Annotated[str, typer.Option(help="Judgements: a TREC, BEIR or ranx file.")],
    queries: Annotated[str, typer.Option(help="The texts of the queries: a file of JSON lines, CSV or TSV.")] = "",
    metrics: Metrics = "",
    pairs: Pairs = "all",
    slices: Slices = "",
    seed: Seed = None,
    depth: Depth = None,
    tie_width: TieWidth = None,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Evaluate runs from files against judgements, without a collection: the same table, tests and report as compare.

    The scores order a run; where documents have equal scores, the range of each metric over their orders is given.
    A query that a run lacks counts as 0; queries that are not judged are left out; both are counted.
    """
    from workbench.analysis.compared import evaluate_runs
    from workbench.analysis.foreign import named_files

    files = named_files(runs, named=False)
    directory_to_write(out)
    settings = _settings(list(files), metrics, pairs, slices, seed, depth, tie_width)
    _finish(evaluate_runs(files, qrels, queries, **settings), out, as_json)


def _settings(
    names: list[str], metrics: str, pairs: str, slices: str, seed: int | None, depth: int | None,
    tie_width: float | None,
) -> dict[str, Any]:
    """What both commands hand on, with the defaults of the library. Raises BadParameter."""
    from workbench.analysis.known_items import SEED
    from workbench.analysis.metrics import DEFAULT_METRICS, DEPTH
    from workbench.analysis.significance import TIE_WIDTH
    from workbench.errors import BadParameter
    from workbench.retrieval.spec import split

    if pairs not in ("all", "first"):
        raise BadParameter(f"pairs are all or first, not {pairs!r}")
    return {
        "metrics": [m for m in split(metrics) if m] or DEFAULT_METRICS,
        "pairs": None if pairs == "all" else [(names[0], other) for other in names[1:]],
        "slices": [s for s in split(slices) if s] or None,
        "seed": SEED if seed is None else seed,
        "depth": DEPTH if depth is None else depth,
        "tie_width": TIE_WIDTH if tie_width is None else tie_width,
    }


def _finish(compared: Compared, out: Path | None, as_json: bool) -> None:
    page = _written(compared, out)
    if as_json:
        print(json.dumps({**compared.to_dict(), "report": str(page) if page else None}, ensure_ascii=True))
        return
    show(compared)
    if page:
        new_console().print(f"Report: {page}", markup=False)


def _written(compared: Compared, out: Path | None) -> Path | None:
    if out is None:
        return None
    from workbench.reporting.comparison_page import write_comparison

    return write_comparison(out, compared)


def show(compared: Compared) -> None:
    """The comparison in the terminal: warnings, the table, a verdict for every variant, then what differs most."""
    from rich.text import Text

    from workbench.text import counted, signed, visible

    console = new_console()
    c = compared.comparison
    subject = f"{compared.collection}: " if compared.collection else ""
    console.print(Text(f"{subject}{counted(c.n, 'query', 'queries')} evaluated, {c.skipped.height} skipped; {visible(compared.queries.origin)}", style="bold"))
    for warning in c.warnings:
        console.print(Text(f"warning: {visible(warning)}", style="bold yellow"))
    console.print(Text(compared.table.to_text(console.width)), soft_wrap=True)
    console.print(Text(reading(c), style="dim"))
    verdicts = c.verdicts()
    for said, figures in verdicts:
        console.print(Text(visible(said), style="bold"))
        if figures:
            console.print(Text(f"  {visible(figures)}", style="dim"))
    others = [s for s in map(c.sentence, *c.per_pair.select("a", "b", "metric")) if s not in dict(verdicts).values()]
    for said in others[:PAIRS_SHOWN]:
        console.print(Text(visible(said)))
    if len(others) > PAIRS_SHOWN:
        console.print(Text(f"and {counted(len(others) - PAIRS_SHOWN, 'more test')}: --json, or --out for the report", style="dim"))
    for note in compared.notes:
        console.print(Text(f"note: {visible(note)}", style="yellow"))
    worst = compared.differences[:QUERIES_SHOWN]
    if worst:
        console.print(Text(f"\nQueries that differ most, by {c.metrics[0]}", style="bold"))
    for d in worst:
        title = visible(" ".join(d.text.split()))[:110] or f"query {visible(d.query_id)}"
        console.print(Text(f"{signed(d.difference)}  {title}", style="green" if d.difference > 0 else "red"))
        for side in (d.a, d.b):
            console.print(Text(f"        {visible(side.variant)}: {visible(side.told)}", style="dim"))
        if command := d.b.command or d.a.command:
            console.print(Text(f"        {visible(command)}"), soft_wrap=True)


def reading(c: Comparison) -> str:
    """What the metrics without a cutoff read, in one line."""
    from workbench.analysis.metrics import cutoff

    whole = [m for m in c.metrics if cutoff(m) is None]
    if not whole:
        return "each metric reads a ranking to its own cutoff"
    return f"{', '.join(whole)}: first {c.depth:,} documents of each ranking (--depth)"
