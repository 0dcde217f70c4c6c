"""`workbench tune`: a variant's parameters, chosen on one half of the queries and judged on the other."""

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

RANGE_VALUES, MOST_VALUES = 8, 200


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("tune")(_tune)


def grid(texts: list[str]) -> dict[str, tuple[float, ...]] | None:
    """The values to try of each parameter, () for the default ones; None where there are no texts.

    `k1` asks for the default values, `k1=0.9,1.2` for these, `k1=0.6..2.0` for eight from 0.6 to 2.0, and
    `cap=100..500..100` for those with that step. Raises BadParameter for a value that is no number, a range that is empty,
    and a parameter that is given twice.
    """
    from workbench.errors import BadParameter

    out: dict[str, tuple[float, ...]] = {}
    for text in texts:
        name, mark, values = text.partition("=")
        if not name or bool(mark) != bool(values) or name in out:
            raise BadParameter(f"{text!r} is not one parameter=values", do="Write e.g. --grid k=10,60 --grid k1=0.6..2.0 --grid b")
        try:
            numbers = _range(values) if ".." in values else [float(v) for v in values.split(",") if mark]
        except ValueError as error:
            raise BadParameter(f"{text!r} holds a value that is no number") from error
        out[name] = tuple(int(v) if v.is_integer() else v for v in numbers)
    return out or None


def _range(text: str) -> list[float]:
    """The numbers of LOW..HIGH, RANGE_VALUES of them, or of LOW..HIGH..STEP. Raises BadParameter, ValueError."""
    from workbench.errors import BadParameter

    low, high, *rest = map(float, text.split(".."))
    step = rest[0] if rest else (high - low) / (RANGE_VALUES - 1)
    # The comparison is false for NaN, too.
    if len(rest) > 1 or not (step > 0 and low < high < float("inf") and (high - low) / step <= MOST_VALUES):
        raise BadParameter(f"{text!r} is no range", do=f"Write LOW..HIGH or LOW..HIGH..STEP of at most {MOST_VALUES} values")
    return [round(low + n * step, 10) for n in range(int((high - low) / step + 1e-9) + 1)]


def _tune(
    name: Name,
    variant: Annotated[str, typer.Option(help="The variant that is tuned.")] = "adr_0172",
    queries: Queries = "",
    qrels: Qrels = "",
    metric: Annotated[str, typer.Option(help="The metric of ir-measures to tune by.")] = "nDCG@10",
    grid_values: Annotated[list[str] | None, typer.Option("--grid", metavar="NAME[=VALUES]", help="A parameter to tune: k1, b, title_weight, cap, lexical_limit, semantic_limit, floor, k, bonus, weight.LIST, half_life. Values with commas between, LOW..HIGH or LOW..HIGH..STEP; repeatable. Default: all of the fusion.")] = None,
    fraction: Annotated[float, typer.Option(help="The share of the queries that tune; the rest judge.", min=0, max=1)] = 0.5,
    folds: Annotated[int, typer.Option(help="Cross-validate in so many folds, too; 0 does not.", min=0)] = 0,
    limit: Limit = None,
    seed: Seed = None,
    depth: Depth = None,
    keep_own: KeepOwn = False,
    out: Out = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Tune a variant's parameters on one half of the queries, judge them on the other, and report both.

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
            name, variant, queries, qrels, metric, grids=grid(grid_values or []), fraction=fraction, folds=folds, limit=limit,
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
    from workbench.reporting.tuning_page import cross_validated, sentence

    console = new_console()
    verdict, figures = sentence(tuned)
    console.print(Text(verdict, style="bold"))
    console.print(Text(f"judged on {len(tuned.judge.judged.queries)}: {visible(figures)}"))
    if tuned.changed:
        before = tuned.tune.sentence(tuned.own_variant.name, tuned.chosen_variant.name, tuned.metric)
        console.print(Text(f"tuned on {len(tuned.tune.judged.queries)}: {visible(before)}", style="dim"))
    if tuned.cross_validated is not None:
        console.print(Text("\n".join(map(visible, cross_validated(tuned)))))
    console.print(Text(f"{description(tuned.metric, tuned.judge.depth)}; {tuned.tried} settings tried in {tuned.rounds} rounds; halves: {tuned.rule}", style="dim"))
    for note in tuned.queries.notes:
        console.print(Text(f"note: {visible(note)}", style="yellow"))
    if tuned.changed:
        console.print(Text(f"The setting: --variant '{tuned.chosen_variant.name}'"), soft_wrap=True)
    if page:
        print(f"Report: {page}")
