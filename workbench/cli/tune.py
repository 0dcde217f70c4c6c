"""`workbench tune`: a fusion's parameters, chosen on one half of the queries and judged on the other."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from workbench.cli.compare import (
    AsJson,
    Depth,
    KeepOwn,
    Limit,
    Name,
    Out,
    Qrels,
    Queries,
    Quiet,
    Seed,
)
from workbench.cli.console import new_console, progress_bar
from workbench.cli.targets import directory_to_write


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("tune")(_tune)


def grid(texts: list[str]) -> dict[str, tuple[float, ...]] | None:
    """`knob=1,2,3` texts as the values to try of each knob; None where there are none.

    Raises BadParameter for a text without values, a value that is no number, and a knob that is given twice.
    """
    from workbench.errors import BadParameter

    out: dict[str, tuple[float, ...]] = {}
    for text in texts:
        name, mark, values = text.partition("=")
        if not mark or not name or not values or name in out:
            raise BadParameter(f"{text!r} is not one knob=values", do="Write e.g. --grid k=10,60 --grid weight.verbatim=0,0.5,1")
        try:
            numbers = [float(v) for v in values.split(",")]
        except ValueError as error:
            raise BadParameter(f"{text!r} holds a value that is no number") from error
        out[name] = tuple(int(v) if v.is_integer() else v for v in numbers)
    return out or None


def _tune(
    name: Name,
    variant: Annotated[str, typer.Option(help="The variant whose fusion is tuned.")] = "adr_0172",
    queries: Queries = "",
    qrels: Qrels = "",
    metric: Annotated[str, typer.Option(help="The metric of ir-measures to tune by.")] = "nDCG@10",
    grid_values: Annotated[list[str] | None, typer.Option("--grid", metavar="KNOB=VALUES", help="Values of one knob, with commas between; repeatable. Default: all knobs of the fusion.")] = None,
    fraction: Annotated[float, typer.Option(help="The share of the queries that tune; the rest judge.", min=0, max=1)] = 0.5,
    limit: Limit = None,
    seed: Seed = None,
    depth: Depth = None,
    keep_own: KeepOwn = False,
    out: Out = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Tune a fusion's k, list weights or bonus on one half of the queries, judge it on the other, and report both.

    The halves are parted by the hash of seed and query id; no query tunes and judges.
    """
    from rich.text import Text

    from workbench.analysis.known_items import SEED
    from workbench.analysis.metrics import DEPTH, description
    from workbench.analysis.tuning import tune
    from workbench.text import visible

    directory_to_write(out)
    with progress_bar("retrieving", quiet or as_json) as told:
        tuned = tune(
            name, variant, queries, qrels, metric, grids=grid(grid_values or []), fraction=fraction, limit=limit,
            seed=SEED if seed is None else seed, progress=told,
            depth=DEPTH if depth is None else depth, keep_own=keep_own,
        )  # fmt: skip
    page = None
    if out is not None:
        from workbench.reporting.tuning_page import write_tuning

        page = write_tuning(out, tuned)
    if as_json:
        print(json.dumps({**tuned.to_dict(), "report": str(page) if page else None}, ensure_ascii=True))
        return
    from workbench.reporting.tuning_page import sentence

    console = new_console()
    verdict, figures = sentence(tuned)
    console.print(Text(verdict, style="bold"))
    console.print(Text(f"judged on {len(tuned.judge.judged.queries)}: {visible(figures)}"))
    if tuned.changed:
        before = tuned.tune.sentence(tuned.own_variant.name, tuned.chosen_variant.name, tuned.metric)
        console.print(Text(f"tuned on {len(tuned.tune.judged.queries)}: {visible(before)}", style="dim"))
    console.print(Text(f"{description(tuned.metric, tuned.judge.depth)}; {tuned.tried} settings tried in {tuned.rounds} rounds; halves: {tuned.rule}", style="dim"))
    for note in tuned.queries.notes:
        console.print(Text(f"note: {visible(note)}", style="yellow"))
    if tuned.changed:
        console.print(Text(f"The setting: --variant '{tuned.chosen_variant.name}'"), soft_wrap=True)
    if page:
        print(f"Report: {page}")
