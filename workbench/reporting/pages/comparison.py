"""The report of a comparison: what the figures support, the tables and intervals behind it, and why queries differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from workbench.analysis.canonical import canonical, write_text
from workbench.analysis.evaluate.compare import Compared, Difference, Side
from workbench.analysis.evaluate.formats import write_qrels, write_run
from workbench.analysis.evaluate.judged import without_own
from workbench.analysis.evaluate.metrics import deepest
from workbench.analysis.ledger.blocks import TABLE_ROWS, chart_block, table_block
from workbench.analysis.ledger.run import code_hash, versions
from workbench.errors import BadParameter
from workbench.reporting.charts.comparison import intervals, outcomes, slice_intervals
from workbench.reporting.html import safe
from workbench.reporting.pages.brief import (
    Case,
    Column,
    Line,
    Section,
    brief_page,
    cases_html,
    notes,
    plans,
)
from workbench.sources.base import Qrel

if TYPE_CHECKING:
    import polars as pl

PAGE_NAME, DATA_NAME = "index.html", "comparison.json"
PAIR_HEADERS = {
    "b": "variant",
    "a": "against",
    "metric": "metric",
    "value_b": "mean",
    "value_a": "mean against",
    "difference": "difference",
    "low": "from",
    "high": "to",
    "p": "p",
    "p_holm": "p (Holm)",
    "wins": "wins",
    "ties": "ties",
    "losses": "losses",
    "n": "queries",
    "resolution": "resolution",
}
SLICE_HEADERS = {
    "attribute": "attribute",
    "label": "value",
    "n": "queries",
    "b": "variant",
    "a": "against",
    "difference": "difference",
    "low": "from",
    "high": "to",
}
"""What the tables call the columns of the comparison's."""

SLICES_SHOWN = 60
"""Rows of the slice chart and table; a comparison of many pairs has hundreds."""


def write_comparison(directory: Path, compared: Compared) -> Path:
    """Write the page, its data as JSON, and every run and the judgements (see `write_runs`); returns the page."""
    write_runs(directory / "runs", compared)
    write_text(directory / DATA_NAME, canonical(compared.to_dict()))
    write_text(directory / PAGE_NAME, comparison_page(compared))
    return directory / PAGE_NAME


def write_runs(folder: Path, compared: Compared) -> None:
    """Write every run and the judgements as TREC files: `NAME.run` and `qrels.txt`.

    The judgements are as evaluated, a negative grade as 0. Where an id holds white space, which TREC cannot, all of
    them are ranx's JSON.
    """
    try:
        _write_runs(folder, compared, ".run", "qrels.txt")
    except BadParameter:
        _write_runs(folder, compared, ".json", "qrels.json")


def _write_runs(folder: Path, compared: Compared, suffix: str, qrels: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    judged = compared.comparison.judged
    grades = [Qrel(q, d, max(0, g)) for q, of in judged.grades.items() for d, g in of.items()]
    write_qrels(folder / qrels, grades)
    depth = deepest(compared.comparison.metrics, compared.comparison.depth)
    taken: set[str] = {qrels}
    for name, run in compared.runs.runs.items():
        called = f"{file_name(name)}{suffix}"
        while called in taken:
            called = f"{called.removesuffix(suffix)}_{suffix}"
        taken.add(called)
        run = without_own(run, judged)
        evaluated = {q: run[q][:depth] for q in judged.ids if q in run}
        write_run(folder / called, evaluated, tag=file_name(name))


def comparison_page(compared: Compared) -> str:
    """The page as text."""
    c = compared.comparison
    sections = [
        Section(
            "Runs", (Markup(compared.table.to_html(warnings=False)), *_ties(compared)), wide=True
        ),
        Section("Differences", _differences(compared) if c.tests else (), wide=True),
        Section("Slices", _slices(compared)),
        Section("Queries that differ most", _cases(compared), wide=True),
        Section(
            "What was run",
            (plans(compared.plans), notes([*compared.notes, *_facts_of_run(compared)])),
        ),
    ]
    findings = [
        Markup("{}<small>{}</small>").format(safe(said), safe(figures))
        for said, figures in c.verdicts()
    ]
    return brief_page(
        eyebrow=f"Comparison on {compared.collection}"
        if compared.collection
        else "Evaluation of runs",
        title=_title(c.variants),
        warnings=c.warnings,
        findings=findings,
        facts={
            "Queries": f"{c.n} evaluated, {c.skipped.height} skipped",
            "From": compared.queries.origin,
            "Metrics": ", ".join(c.descriptions.values()),
            "Tests": f"{c.tests}, corrected by Holm" if c.tests > 1 else str(c.tests),
            "Tie width": f"{c.tie_width:g}",
        },
        sections=sections,
        footer="Evaluated in the order shown: score = n − rank. A difference is the variant named first less the other, query by query.",
    )


def _ties(compared: Compared) -> tuple[Any, ...]:
    """The table of what ties leave open, where a run from a file has any."""
    import polars as pl

    rows = [
        {
            "run": name,
            "metric": m,
            "in the order of the file": r.value,
            "least": r.low,
            "most": r.high,
            "queries that move": len(r.moved),
            "range": "exact" if r.exact else "at least",
        }
        for name, of in compared.ranges.items()
        for m, r in of.items()
    ]
    if not rows:
        return ()
    caption = "Documents with equal scores in a run from a file: each metric over all orders of such ties."
    frame = _short_floats(pl.DataFrame(rows, infer_schema_length=None)).head(TABLE_ROWS)
    return (table_block("ties", frame, caption, "", ()),)


def _title(variants: Sequence[str]) -> str:
    """The variants' names, the first three of many."""
    shown, more = list(variants[:3]), len(variants) - 3
    if more > 0:
        shown.append(f"{more} more")
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def _differences(compared: Compared) -> tuple[Any, ...]:
    rows = compared.comparison.per_pair.to_dicts()
    drawn = [r for r in rows if r["low"] is not None]
    level = f"{compared.comparison.confidence:.0%}"
    out: list[Any] = []
    if drawn:
        out.append(
            chart_block(
                "intervals",
                intervals(drawn, level),
                f"Difference by metric: {_minus(compared)}, with its {level} bootstrap interval.",
                "",
                (),
            )
        )
    out.append(
        chart_block(
            "outcomes",
            outcomes(rows),
            "Queries on which either variant is better, and on which they are tied.",
            "",
            (),
        )
    )
    table = _named(compared, compared.comparison.per_pair, PAIR_HEADERS)
    caption = (
        f"Paired randomisation test and bootstrap, seed {compared.comparison.seed}, {compared.comparison.resamples:,} resamples. "
        f"A difference is {_minus(compared)}; p (Holm) is corrected over all rows; "
        "the resolution is half the interval: a smaller difference this set cannot tell from none."
    )
    out.append(table_block("pairs", _short_floats(table).head(200), caption, "", ()))
    return tuple(out)


def _slices(compared: Compared) -> tuple[Any, ...]:
    main = compared.comparison.metrics[0]
    frame = compared.comparison.per_slice.filter(metric=main, suppressed=False).head(SLICES_SHOWN)
    if frame.is_empty():
        return ()
    level = f"{compared.comparison.confidence:.0%}"
    few = compared.comparison.per_slice.filter(metric=main, suppressed=True).height
    caption = (
        f"{main} within each slice of the queries: {_minus(compared)}, with its {level} interval; not corrected for their number."
        + (f" {few} slices with too few queries are left out." if few else "")
    )
    return (
        chart_block("slices", slice_intervals(frame.to_dicts(), level), caption, "", ()),
        table_block(
            "slice-table",
            _short_floats(_named(compared, frame, SLICE_HEADERS)),
            f"{main} by slice.",
            "",
            (),
        ),
    )


def _cases(compared: Compared) -> tuple[Markup, ...]:
    groups: dict[tuple[str, str], list[Difference]] = {}
    for d in compared.differences:
        groups.setdefault((d.a.variant, d.b.variant), []).append(d)
    pieces: list[Markup] = []
    for number, ((a, b), found) in enumerate(groups.items(), 1):
        pieces.append(Markup("<h3>{} against {}</h3>").format(safe(b), safe(a)))
        cases = [_case(d, f"case-{number}-{n}") for n, d in enumerate(found, 1)]
        pieces.append(cases_html(cases, opened=1 if number == 1 else 0))
    return tuple(pieces)


def _case(d: Difference, anchor: str) -> Case:
    tone = "good" if d.difference > 0 else "bad"
    return Case(
        anchor,
        d.text or f"query {d.query_id}",
        f"{d.metric} {d.a.value:.3f} → {d.b.value:.3f}",
        tone,
        (_column(d, d.a), _column(d, d.b)),
    )


def _column(d: Difference, side: Side) -> Column:
    rank = "beyond the depth" if side.rank is None else f"document {side.rank}"
    sentence = f"“{d.target_title or d.target}” (grade {d.target_grade}): {rank}; {side.told}."
    lines = tuple(
        Line(
            s.rank,
            s.title or s.entity_id,
            "relevant" if (s.grade or 0) > 0 else "",
            "" if s.grade is None else f"grade {s.grade}",
        )
        for s in side.page
    )
    return Column(side.variant, lines, (sentence,), (side.command,) if side.command else ())


def _minus(compared: Compared) -> str:
    """What a difference is, by name where there is one pair."""
    pair = _only_pair(compared)
    return f"{pair[1]} minus {pair[0]}" if pair else "the variant named first minus the second"


def _only_pair(compared: Compared) -> tuple[str, str] | None:
    """(a, b) where no other two were compared."""
    pairs = compared.comparison.per_pair.select("a", "b").unique().rows()
    return pairs[0] if len(pairs) == 1 else None


def _named(compared: Compared, frame: pl.DataFrame, headers: Mapping[str, str]) -> pl.DataFrame:
    """These columns, in this order, under these headers; where there is one pair, its names head the means and stand in
    no row."""
    pair = _only_pair(compared)
    if pair:
        means = {"value_a": f"mean of {pair[0]}", "value_b": f"mean of {pair[1]}"}
        headers = {c: means.get(c, h) for c, h in headers.items() if c not in ("a", "b")}
    else:
        headers = {c: h for c, h in headers.items() if c not in ("value_a", "value_b")}
    return frame.select(list(headers)).rename(headers)


def _facts_of_run(compared: Compared) -> list[str]:
    told = [f"{name}: {value}" for name, value in compared.inputs.items()]
    packages = ", ".join(f"{n} {v}" for n, v in versions().items())
    return [
        *told,
        f"queries: {compared.queries.hash}",
        f"seed: {compared.comparison.seed}",
        f"code: {code_hash()}",
        packages,
    ]


def file_name(variant: str) -> str:
    """A variant's name as a file's: letters, digits, marks that every file system takes."""
    return (
        "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_" for c in variant).strip(
            "."
        )
        or "variant"
    )


def _short_floats(frame: pl.DataFrame, digits: int = 4) -> pl.DataFrame:
    import polars as pl

    return frame.with_columns(pl.col(pl.Float64).round(digits))
