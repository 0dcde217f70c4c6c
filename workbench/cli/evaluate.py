"""`workbench compare` and `workbench evaluate`: variants, and runs from files, on judged queries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.options import directory_to_write, new_console, progress_bar

if TYPE_CHECKING:
    from workbench.analysis.evaluate.compare import Compared
    from workbench.analysis.evaluate.comparison import Comparison
    from workbench.analysis.replay.replay import Replayed

# ---- `workbench compare` and `workbench evaluate`: variants, and runs from files, on judged ----

Name = Annotated[str, typer.Argument(help="A loaded collection.")]
Variants = Annotated[
    str,
    typer.Option(
        help="Variants with commas between; each as NAME, NAME(knob=value) or NAME+CHANNEL. The first is the one compared with."
    ),
]
Queries = Annotated[
    str,
    typer.Option(
        help="A file, titles, spans, identifiers, or irds:NAME of ir_datasets; default: the collection's own."
    ),
]
Qrels = Annotated[
    str,
    typer.Option(
        help="Judgements: a TREC, BEIR or ranx file; default: those of the queries or the collection."
    ),
]
Limit = Annotated[int | None, typer.Option(help="Evaluate so many queries, drawn by seed.", min=1)]
Seed = Annotated[int | None, typer.Option(help="Seed of what is drawn and resampled.")]
Depth = Annotated[
    int | None,
    typer.Option(
        help="Documents of a ranking that a metric without a cutoff reads; default 1,000.", min=1
    ),
]
KeepOwn = Annotated[
    bool, typer.Option("--keep-own", help="Keep a query's own document in its ranking.")
]
Out = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Write the report, its data and the runs there.")
]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress on standard error.")]
Metrics = Annotated[
    str, typer.Option(help="Metrics of ir-measures, with commas between; the first one leads.")
]
Pairs = Annotated[str, typer.Option(help="all: every two of them; first: each against the first.")]
Slices = Annotated[
    str,
    typer.Option(
        help="Attributes of the queries to slice by, with commas between; default: all that part them."
    ),
]
TieWidth = Annotated[
    float | None, typer.Option(help="Two values nearer than this are a tie.", min=0)
]
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
    run: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FILE", help="Compare a run of another system too: a TREC or ranx file."
        ),
    ] = None,
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
    from workbench.analysis.evaluate.compare import compare_variants
    from workbench.analysis.evaluate.formats import named_files
    from workbench.retrieval.variant import parse_all

    chosen, files = parse_all(variants), named_files(run or [], named=True)
    directory_to_write(out)
    settings = _settings(
        [*(v.name for v in chosen), *files], metrics, pairs, slices, seed, depth, tie_width
    )
    with progress_bar("searching", quiet or as_json) as report:
        compared = compare_variants(
            name,
            chosen,
            queries,
            qrels,
            runs=files,
            limit=limit,
            keep_own=keep_own,
            progress=report,
            **settings,
        )
    _finish(compared, out, as_json)


def _evaluate(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN...", help="TREC or ranx (.json) files, also .gz; NAME=FILE names one."
        ),
    ],
    qrels: Annotated[str, typer.Option(help="Judgements: a TREC, BEIR or ranx file.")],
    queries: Annotated[
        str, typer.Option(help="The texts of the queries: a file of JSON lines, CSV or TSV.")
    ] = "",
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
    from workbench.analysis.evaluate.compare import evaluate_runs
    from workbench.analysis.evaluate.formats import named_files

    files = named_files(runs, named=False)
    directory_to_write(out)
    settings = _settings(list(files), metrics, pairs, slices, seed, depth, tie_width)
    _finish(evaluate_runs(files, qrels, queries, **settings), out, as_json)


def _settings(
    names: list[str],
    metrics: str,
    pairs: str,
    slices: str,
    seed: int | None,
    depth: int | None,
    tie_width: float | None,
) -> dict[str, Any]:
    """What both commands hand on, with the defaults of the library. Raises BadParameter."""
    from workbench.analysis.evaluate.known_items import SEED
    from workbench.analysis.evaluate.metrics import DEFAULT_METRICS, DEPTH
    from workbench.analysis.evaluate.significance import TIE_WIDTH
    from workbench.errors import BadParameter
    from workbench.retrieval.variant import split

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
        print(
            json.dumps(
                {**compared.to_dict(), "report": str(page) if page else None}, ensure_ascii=True
            )
        )
        return
    show(compared)
    if page:
        new_console().print(f"Report: {page}", markup=False)


def _written(compared: Compared, out: Path | None) -> Path | None:
    if out is None:
        return None
    from workbench.reporting.pages.comparison import write_comparison

    return write_comparison(out, compared)


def show(compared: Compared) -> None:
    """The comparison in the terminal: warnings, the table, a verdict for every variant, then what differs most."""
    from rich.text import Text

    from workbench.text import counted, signed, visible

    console = new_console()
    c = compared.comparison
    subject = f"{compared.collection}: " if compared.collection else ""
    console.print(
        Text(
            f"{subject}{counted(c.n, 'query', 'queries')} evaluated, {c.skipped.height} skipped; {visible(compared.queries.origin)}",
            style="bold",
        )
    )
    for warning in c.warnings:
        console.print(Text(f"warning: {visible(warning)}", style="bold yellow"))
    console.print(Text(compared.table.to_text(console.width)), soft_wrap=True)
    console.print(Text(reading(c), style="dim"))
    verdicts = c.verdicts()
    for said, figures in verdicts:
        console.print(Text(visible(said), style="bold"))
        if figures:
            console.print(Text(f"  {visible(figures)}", style="dim"))
    others = [
        s
        for s in map(c.sentence, *c.per_pair.select("a", "b", "metric"))
        if s not in dict(verdicts).values()
    ]
    for said in others[:PAIRS_SHOWN]:
        console.print(Text(visible(said)))
    if len(others) > PAIRS_SHOWN:
        console.print(
            Text(
                f"and {counted(len(others) - PAIRS_SHOWN, 'more test')}: --json, or --out for the report",
                style="dim",
            )
        )
    for note in compared.notes:
        console.print(Text(f"note: {visible(note)}", style="yellow"))
    worst = compared.differences[:QUERIES_SHOWN]
    if worst:
        console.print(Text(f"\nQueries that differ most, by {c.metrics[0]}", style="bold"))
    for d in worst:
        title = visible(" ".join(d.text.split()))[:110] or f"query {visible(d.query_id)}"
        console.print(
            Text(f"{signed(d.difference)}  {title}", style="green" if d.difference > 0 else "red")
        )
        for side in (d.a, d.b):
            console.print(
                Text(f"        {visible(side.variant)}: {visible(side.told)}", style="dim")
            )
        if command := d.b.command or d.a.command:
            console.print(Text(f"        {visible(command)}"), soft_wrap=True)


def reading(c: Comparison) -> str:
    """What the metrics without a cutoff read, in one line."""
    from workbench.analysis.evaluate.metrics import cutoff

    whole = [m for m in c.metrics if cutoff(m) is None]
    if not whole:
        return "each metric reads a ranking to its own cutoff"
    return f"{', '.join(whole)}: first {c.depth:,} documents of each ranking (--depth)"


# ---- `workbench tune`: a variant's parameters, chosen on one half of the queries and judged ----

RANGE_VALUES, MOST_VALUES = 8, 200


def register_tune(app: typer.Typer) -> None:
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
            raise BadParameter(
                f"{text!r} is not one parameter=values",
                do="Write e.g. --grid k=10,60 --grid k1=0.6..2.0 --grid b",
            )
        try:
            numbers = (
                _range(values) if ".." in values else [float(v) for v in values.split(",") if mark]
            )
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
    if len(rest) > 1 or not (
        step > 0 and low < high < float("inf") and (high - low) / step <= MOST_VALUES
    ):
        raise BadParameter(
            f"{text!r} is no range",
            do=f"Write LOW..HIGH or LOW..HIGH..STEP of at most {MOST_VALUES} values",
        )
    return [round(low + n * step, 10) for n in range(int((high - low) / step + 1e-9) + 1)]


def _tune(
    name: Name,
    variant: Annotated[str, typer.Option(help="The variant that is tuned.")] = "adr_0172",
    queries: Queries = "",
    qrels: Qrels = "",
    metric: Annotated[str, typer.Option(help="The metric of ir-measures to tune by.")] = "nDCG@10",
    grid_values: Annotated[
        list[str] | None,
        typer.Option(
            "--grid",
            metavar="NAME[=VALUES]",
            help="A parameter to tune: k1, b, title_weight, cap, lexical_limit, semantic_limit, floor, k, bonus, weight.LIST, half_life. Values with commas between, LOW..HIGH or LOW..HIGH..STEP; repeatable. Default: all of the fusion.",
        ),
    ] = None,
    fraction: Annotated[
        float,
        typer.Option(help="The share of the queries that tune; the rest judge.", min=0, max=1),
    ] = 0.5,
    folds: Annotated[
        int, typer.Option(help="Cross-validate in so many folds, too; 0 does not.", min=0)
    ] = 0,
    limit: Limit = None,
    seed: Seed = None,
    depth: Depth = None,
    keep_own: KeepOwn = False,
    out: Out = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Tune a variant's parameters on one half of the queries, judge them on the other, and report both.

    The halves are parted by the hash of seed and query id; no query tunes and judges.
    """
    from rich.text import Text

    from workbench.analysis.evaluate.known_items import SEED
    from workbench.analysis.evaluate.metrics import DEPTH, description
    from workbench.analysis.evaluate.tuning import tune
    from workbench.text import visible

    directory_to_write(out)
    with progress_bar("retrieving", quiet or as_json) as told:
        tuned = tune(
            name,
            variant,
            queries,
            qrels,
            metric,
            grids=grid(grid_values or []),
            fraction=fraction,
            folds=folds,
            limit=limit,
            seed=SEED if seed is None else seed,
            progress=told,
            depth=DEPTH if depth is None else depth,
            keep_own=keep_own,
        )
    page = None
    if out is not None:
        from workbench.reporting.pages.tuning import write_tuning

        page = write_tuning(out, tuned)
    if as_json:
        print(
            json.dumps(
                {**tuned.to_dict(), "report": str(page) if page else None}, ensure_ascii=True
            )
        )
        return
    from workbench.reporting.pages.tuning import cross_validated, sentence

    console = new_console()
    verdict, figures = sentence(tuned)
    console.print(Text(verdict, style="bold"))
    console.print(Text(f"judged on {len(tuned.judge.judged.queries)}: {visible(figures)}"))
    if tuned.changed:
        before = tuned.tune.sentence(
            tuned.own_variant.name, tuned.chosen_variant.name, tuned.metric
        )
        console.print(
            Text(f"tuned on {len(tuned.tune.judged.queries)}: {visible(before)}", style="dim")
        )
    if tuned.cross_validated is not None:
        console.print(Text("\n".join(map(visible, cross_validated(tuned)))))
    console.print(
        Text(
            f"{description(tuned.metric, tuned.judge.depth)}; {tuned.tried} settings tried in {tuned.rounds} rounds; halves: {tuned.rule}",
            style="dim",
        )
    )
    for note in tuned.queries.notes:
        console.print(Text(f"note: {visible(note)}", style="yellow"))
    if tuned.changed:
        console.print(Text(f"The setting: --variant '{tuned.chosen_variant.name}'"), soft_wrap=True)
    if page:
        print(f"Report: {page}")


# ---- `workbench agreement`: two judges of the same pools, and how far they agree beyond cha ----

SHOWN = 10


def register_agreement(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("agreement")(_agreement)


def _agreement(
    first: Annotated[str, typer.Argument(help="One judge's judgements: TREC, BEIR or ranx.")],
    second: Annotated[str, typer.Argument(help="The other's.")],
    as_json: AsJson = False,
) -> None:
    """Compare two judges: Cohen's kappa over what both judged, with its interval, and where they differ most."""
    from rich.text import Text

    from workbench.analysis.evaluate.judging import agreement
    from workbench.sources.judgements import read_qrels
    from workbench.text import visible
    from workbench.types import as_plain

    found = agreement(read_qrels(first), read_qrels(second))
    if as_json:
        table: list[dict[str, Any]] = [
            {"a": a, "b": b, "pairs": n} for (a, b), n in found.table.items()
        ]
        print(
            json.dumps(
                {**{k: v for k, v in as_plain(found).items() if k != "table"}, "table": table},
                ensure_ascii=True,
            )
        )
        return
    console = new_console()
    console.print(Text(found.sentence, style="bold"))
    for d in found.disagreements[:SHOWN]:
        console.print(
            Text(
                f"  {d.a} against {d.b}: query {visible(d.query_id)}, document {visible(d.entity_id)}"
            )
        )
    if len(found.disagreements) > SHOWN:
        console.print(Text(f"  and {len(found.disagreements) - SHOWN} more: --json", style="dim"))


# ---- `workbench replay`: a log of real queries through variants, what changed on the first  ----

WORST_SHOWN = 3
GOOD, CHANGED = 0, 1


def register_replay(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("replay")(_replay)


def _replay(
    log: Annotated[
        Path, typer.Argument(help="The log: JSON lines, CSV, TSV or Parquet, `.gz` too.")
    ],
    on: Annotated[str, typer.Option("--on", metavar="NAME", help="The loaded collection.")],
    variants: Annotated[
        str,
        typer.Option(
            help="Variants with commas between; the first is what the others are compared with."
        ),
    ],
    first: Annotated[int, typer.Option(help="Rows of a page.", min=1)] = 8,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="ROLE=COLUMN",
            help="Which column is the text, time, filters or shown; repeatable.",
        ),
    ] = None,
    shown: Annotated[
        str, typer.Option(help="What the log's shown ids are: documents or points.")
    ] = "documents",
    limit: Annotated[int | None, typer.Option(help="Read so many rows.", min=1)] = None,
    most_changed: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Exit with 1 where a larger share of the queries changed, one is newly empty, or one failed.",
            min=0,
            max=1,
        ),
    ] = None,
    keep_own: KeepOwn = False,
    out: Out = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Run a log of real queries through variants and show what changed: pages, new empties, latency and bytes.

    Each query runs once, however often it was asked. Where the log says what was shown, then is compared with now.
    Each of the worst changes comes with the command that explains it.
    """
    from workbench.analysis.replay.query_log import read_log
    from workbench.analysis.replay.replay import replay
    from workbench.errors import BadParameter
    from workbench.retrieval.variant import parse_all

    roles: dict[str, str] = {}
    for pair in columns or []:
        role, mark, column = pair.partition("=")
        if not mark or not role or not column or role in roles:
            raise BadParameter(
                f"{pair!r} is not one ROLE=COLUMN", do="Write e.g. --map text=query_string"
            )
        roles[role] = column
    chosen = parse_all(variants)
    directory_to_write(out)
    read = read_log(log, roles, limit)
    with progress_bar("replaying", quiet or as_json) as told:
        replayed = replay(
            on, read, chosen, first=first, shown=shown, keep_own=keep_own, progress=told
        )
    page = None
    if out is not None:
        from workbench.reporting.pages.replay import write_replay

        page = write_replay(out, replayed)
    code = _code(replayed, most_changed)
    if as_json:
        print(
            json.dumps(
                {**replayed.to_dict(), "report": str(page) if page else None, "exit_code": code},
                ensure_ascii=True,
            )
        )
    else:
        _show(replayed)
        if page:
            print(f"Report: {page}")
    raise typer.Exit(code)


def _code(replayed: Replayed, most: float | None) -> int:
    """1 where a gate is set and a variant's pages, failures or new empties pass it."""
    if most is None:
        return GOOD
    passed = any(p.queries and (p.changed / p.queries > most or p.emptied) for p in replayed.pairs)
    return CHANGED if passed or replayed.failed else GOOD


def _show(replayed: Replayed) -> None:
    from rich.text import Text

    from workbench.reporting.pages.replay import came_and_left, sentence
    from workbench.text import counted, visible

    console = new_console()
    console.print(
        Text(
            f"{counted(replayed.log.rows, 'row')}, {counted(len(replayed.log.queries), 'distinct query', 'distinct queries')}, on {replayed.collection}",
            style="bold",
        )
    )
    for c in replayed.costs:
        if c["p50_ms"] is not None:
            spent = f"p50 {c['p50_ms']:.1f} ms, p95 {c['p95_ms']:.1f} ms, {c['calls']:.1f} calls, {c['payload_bytes'] / 1e3:,.0f} KB a search"
            console.print(
                Text(
                    f"{visible(c['variant'])}: {spent}; {counted(c['empty'], 'query', 'queries')} without results",
                    style="dim",
                )
            )
    for name, (count, why) in replayed.failed.items():
        console.print(
            Text(
                f"{visible(name)}: {counted(count, 'query', 'queries')} failed; the first: {visible(why)}",
                style="red",
            )
        )
    for pair in replayed.pairs:
        said, figures = sentence(pair, replayed.first)
        console.print(Text(visible(said), style="bold"))
        console.print(Text(f"  {visible(figures)}", style="dim"))
        for change, reasons in zip(
            replayed.changes[pair.a, pair.b][:WORST_SHOWN],
            replayed.reasons[pair.a, pair.b],
            strict=False,
        ):
            state = "newly empty" if change.emptied else came_and_left(change)
            console.print(
                Text(
                    f"  {visible(' '.join(change.query.text.split()))[:100] or '(empty)'}  [{state}]"
                )
            )
            for reason in reasons:
                title = " ".join((replayed.titles.get(reason.document) or reason.document).split())[
                    :60
                ]
                console.print(
                    Text(
                        f"      {visible(title)}, {reason.variant}: {visible(reason.told or 'not looked up')}",
                        style="dim",
                    )
                )
                if reason.command:
                    console.print(Text(f"      {visible(reason.command)}"), soft_wrap=True)
    for note in replayed.notes:
        console.print(Text(f"note: {visible(note)}", style="yellow"))
