"""The report of a comparison: what the figures support, the tables and intervals behind it, and why queries differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from workbench.analysis.blocks import chart_block, table_block
from workbench.analysis.canonical import canonical, write_text
from workbench.analysis.compared import Compared, Difference, Side
from workbench.analysis.formats import write_qrels, write_run
from workbench.analysis.provenance import code_hash, versions
from workbench.reporting.brief import Section, brief_page, notes, plans
from workbench.reporting.cases import Case, Column, Line, cases_html
from workbench.reporting.difference_charts import intervals, outcomes, slice_intervals
from workbench.reporting.values import safe
from workbench.sources.source import Qrel

if TYPE_CHECKING:
    import polars as pl

PAGE_NAME, DATA_NAME = "index.html", "comparison.json"
PAIR_HEADERS = {
    "b": "variant", "a": "against", "metric": "metric", "value_b": "mean", "value_a": "mean against", "difference": "difference",
    "low": "from", "high": "to", "p": "p", "p_holm": "p (Holm)", "wins": "wins", "ties": "ties", "losses": "losses", "n": "queries",
    "resolution": "resolution",
}  # fmt: skip
SLICE_HEADERS = {
    "attribute": "attribute", "label": "value", "n": "queries", "b": "variant", "a": "against", "difference": "difference",
    "low": "from", "high": "to",
}  # fmt: skip
"""What the tables call the columns of the comparison's."""

SLICES_SHOWN = 60
"""Rows of the slice chart and table; a comparison of many pairs has hundreds."""


def write_comparison(directory: Path, compared: Compared) -> Path:
    """Write the page, its data as JSON, and every run and the judgements as ranx-compatible JSON; returns the page."""
    runs = directory / "runs"
    runs.mkdir(parents=True, exist_ok=True)
    for name, run in compared.runs.runs.items():
        write_run(runs / f"{file_name(name)}.json", run, tag=name)
    judged = compared.comparison.judged
    write_qrels(runs / "qrels.json", [Qrel(q, d, g) for q, of in judged.grades.items() for d, g in of.items()])
    write_text(directory / DATA_NAME, canonical(compared.to_dict()))
    write_text(directory / PAGE_NAME, comparison_page(compared))
    return directory / PAGE_NAME


def comparison_page(compared: Compared) -> str:
    """The page as text."""
    c = compared.comparison
    main = c.metrics[0]
    pairs = c.per_pair.select("a", "b").unique(maintain_order=True).rows()
    findings: list[str | Markup] = [verdict(compared, a, b, main) for a, b in pairs[:3]]
    sections = [
        Section("Variants", (table_block("variants", variant_rows(compared), _variants_caption(compared), "", ()),), wide=True),
        Section("Differences", _differences(compared)) if pairs else Section("Differences", ()),
        Section("Slices", _slices(compared)),
        Section("Queries that differ most", _cases(compared), wide=True),
        Section("What was run", (plans(compared.plans), notes([*compared.notes, *_facts_of_run(compared)]))),
    ]
    return brief_page(
        eyebrow=f"Comparison on {compared.collection}", title=_title(c.variants),
        findings=findings or ["One variant alone: there is no pair to compare."],
        facts={
            "Queries": f"{c.n} evaluated, {c.skipped.height} skipped", "From": compared.queries.origin,
            "Metrics": ", ".join(c.descriptions.values()), "Resolves": _resolution(compared), "Tie width": f"{c.tie_width:g}",
        },
        sections=sections, footer="Evaluated in the order shown: score = n − rank. A difference is the variant named first less the other, query by query.",
    )  # fmt: skip


def _title(variants: Sequence[str]) -> str:
    """The variants' names, the first three of many."""
    shown, more = list(variants[:3]), len(variants) - 3
    if more > 0:
        shown.append(f"{more} more")
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def verdict(compared: Compared, a: str, b: str, metric: str) -> Markup:
    """What one pair's figures support, in a sentence, and the figures below it."""
    row = compared.comparison.pair(a, b, metric)
    if row["low"] is None:
        said = f"{b} against {a}: too few queries to tell ({row['n']})."
    elif row["wins"] == row["losses"] == 0:
        said = f"{b} and {a} are tied on every query."
    elif row["p_holm"] <= 1 - compared.comparison.confidence and row["low"] * row["high"] > 0:
        said = f"{b} is {'better' if row['difference'] > 0 else 'worse'} than {a}: {metric} {row['difference']:+.3f}."
    else:
        said = f"No difference between {b} and {a} is shown: {metric} {row['difference']:+.3f} may be chance."
    return Markup("{}<small>{}</small>").format(safe(said), safe(compared.comparison.sentence(a, b, metric)))


def variant_rows(compared: Compared) -> pl.DataFrame:
    """One row a variant: each metric's mean, Judged@k of the first, queries without results, and what a search costs."""
    import polars as pl

    values: dict[str, dict[str, Any]] = {}
    for row in compared.comparison.per_variant.to_dicts():
        of = values.setdefault(row["variant"], {"variant": row["variant"]})
        of[row["metric"]] = _rounded(row["value"])
        of.setdefault(row["judged_name"], _rounded(row["judged"]))
        of["without results"] = row["empty"] + row["missing"]
    for cost in compared.runs.costs:
        values[cost["variant"]] |= {
            "p50 ms": _rounded(cost["p50_ms"], 1), "p95 ms": _rounded(cost["p95_ms"], 1), "calls": _rounded(cost["calls"], 1),
            "payload bytes": cost["payload_bytes"] and round(cost["payload_bytes"]),
        }  # fmt: skip
    return pl.DataFrame(list(values.values()), infer_schema_length=None)


def _variants_caption(compared: Compared) -> str:
    shared = "" if len(compared.plans) == 1 else " Stages that variants share ran once; each variant's time counts them in full."
    return f"Means over {compared.comparison.n} queries. Engine calls and payload bytes are those of one search.{shared}"


def _differences(compared: Compared) -> tuple[Any, ...]:
    rows = compared.comparison.per_pair.to_dicts()
    drawn = [r for r in rows if r["low"] is not None]
    level = f"{compared.comparison.confidence:.0%}"
    out: list[Any] = []
    if drawn:
        out.append(chart_block("intervals", intervals(drawn, level), f"Difference by metric: {_minus(compared)}, with its {level} bootstrap interval.", "", ()))
    out.append(chart_block("outcomes", outcomes(rows), "Queries on which either variant is better, and on which they are tied.", "", ()))
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
    caption = f"{main} within each slice of the queries: {_minus(compared)}, with its {level} interval; not corrected for their number." + (
        f" {few} slices with too few queries are left out." if few else ""
    )
    return (
        chart_block("slices", slice_intervals(frame.to_dicts(), level), caption, "", ()),
        table_block("slice-table", _short_floats(_named(compared, frame, SLICE_HEADERS)), f"{main} by slice.", "", ()),
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
    return Case(anchor, d.text, f"{d.metric} {d.a.value:.3f} → {d.b.value:.3f}", tone, (_column(d, d.a), _column(d, d.b)))


def _column(d: Difference, side: Side) -> Column:
    rank = "beyond the depth" if side.rank is None else f"document {side.rank}"
    sentence = f"“{d.target_title or d.target}” (grade {d.target_grade}): {rank}; {side.told}."
    lines = tuple(
        Line(s.rank, s.title or s.entity_id, "relevant" if (s.grade or 0) > 0 else "", "" if s.grade is None else f"grade {s.grade}")
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
    return frame.select(list(headers)).rename(headers)


def _resolution(compared: Compared) -> str:
    found = [r for r in compared.comparison.per_pair.filter(metric=compared.comparison.metrics[0])["resolution"].to_list() if r]
    return f"{compared.comparison.metrics[0]} ±{max(found):.3f}" if found else "no difference"


def _facts_of_run(compared: Compared) -> list[str]:
    told = [f"{name}: {value}" for name, value in compared.inputs.items()]
    packages = ", ".join(f"{n} {v}" for n, v in versions().items())
    return [*told, f"queries: {compared.queries.hash}", f"seed: {compared.comparison.seed}", f"code: {code_hash()}", packages]


def file_name(variant: str) -> str:
    """A variant's name as a file's: letters, digits, marks that every file system takes."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_" for c in variant).strip(".") or "variant"


def _rounded(value: float | None, digits: int = 4) -> float | None:
    return None if value is None else round(value, digits)


def _short_floats(frame: pl.DataFrame, digits: int = 4) -> pl.DataFrame:
    import polars as pl

    return frame.with_columns(pl.col(pl.Float64).round(digits))


