"""Compare variants on judged queries: metrics, paired differences, slices, queries that differ most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.analysis.comparison_tables import (
    pair_table,
    query_table,
    skipped_table,
    slice_table,
    sliceable,
    variant_table,
)
from workbench.analysis.judged import Judged, Run, RunCheck, check_run, without_own
from workbench.analysis.metrics import DEFAULT_METRICS, DEPTH, description, metric_names, per_query
from workbench.analysis.significance import CONFIDENCE, LEAST_QUERIES, RESAMPLES, SEED, SMALL_SET, TIE_WIDTH
from workbench.errors import BadParameter
from workbench.text import counted

if TYPE_CHECKING:
    import polars as pl

DIFFER_MOST = 10


@dataclass(frozen=True, eq=False)
class Comparison:
    """What a comparison found; tables are polars frames, `difference` is always b - a, Holm's family is the
    whole pair table. Two comparisons are told apart by their `to_dict()`.

    - `per_variant`: variant, metric, value (the mean), n, judged (mean Judged@k over answered queries),
      judged_name, missing, empty, extra, skipped
    - `per_pair`: a, b, metric, value_a, value_b and the fields of `Paired`, p_holm
    - `per_query`: query_id, text, variant, metric, value, results
    - `per_slice`: attribute, label, n, a, b, metric, difference, low, high, suppressed (n <
      LEAST_QUERIES: no figures)
    - `skipped`: query_id, reason
    """

    variants: tuple[str, ...]
    metrics: tuple[str, ...]
    per_variant: pl.DataFrame
    per_pair: pl.DataFrame
    per_query: pl.DataFrame
    per_slice: pl.DataFrame
    skipped: pl.DataFrame
    judged: Judged
    checks: Mapping[str, RunCheck]
    seed: int
    tie_width: float
    resamples: int
    confidence: float
    depth: int = DEPTH

    @property
    def descriptions(self) -> dict[str, str]:
        """Each metric with what it reads of a ranking: `R@100`, `AP (first 1,000 documents)`."""
        return {m: description(m, self.depth) for m in self.metrics}

    @property
    def n(self) -> int:
        """How many queries were evaluated."""
        return len(self.judged.queries)

    @property
    def notes(self) -> tuple[str, ...]:
        """Everything that did not fit, one sentence each; the runs' sentences begin with the variant."""
        said = list(self.judged.notes)
        if self.n < LEAST_QUERIES:
            said.append(f"too few queries for an interval, {LEAST_QUERIES} are needed: {self.n}")
        elif self.n < SMALL_SET:
            said.append(f"so few queries that an interval is too narrow, {SMALL_SET} are enough: {self.n}")
        said += [f"{name}: {note}" for name, check in self.checks.items() for note in check.notes]
        return tuple(said)

    def pair(self, a: str, b: str, metric: str) -> dict[str, Any]:
        """The row of the pair table for a, b and the metric, the order as compared. Raises BadParameter."""
        (metric,) = metric_names([metric])
        found = self.per_pair.filter(a=a, b=b, metric=metric).to_dicts()
        if not found:
            known = ", ".join(
                " / ".join(p) for p in self.per_pair.select("a", "b").unique(maintain_order=True).rows()
            )
            raise BadParameter(
                f"{a} / {b} on {metric} was not compared", do=f"Compared: {known or 'nothing'}"
            )
        return found[0]

    def most_different(self, a: str, b: str, metric: str, limit: int = DIFFER_MOST) -> pl.DataFrame:
        """The queries on which a and b differ, the largest difference first, then by query id: query_id,
        text, value_a, value_b, difference."""
        import polars as pl

        (metric,) = metric_names([metric])
        sides = [
            self.per_query.filter(variant=name, metric=metric).select(
                "query_id", "text", pl.col("value").alias(alias)
            )
            for name, alias in ((a, "value_a"), (b, "value_b"))
        ]
        return (
            sides[0]
            .join(sides[1].drop("text"), on="query_id")
            .with_columns(difference=pl.col("value_b") - pl.col("value_a"))
            .filter(pl.col("difference").abs() > self.tie_width)
            .sort(pl.col("difference").abs(), pl.col("query_id"), descending=[True, False])
            .head(limit)
        )

    def sentence(self, a: str, b: str, metric: str) -> str:
        """What a pair's figures support, in one line that names everything a reader has to know."""
        row = self.pair(a, b, metric)
        if not row["n"]:
            return f"{row['metric']}: no query could be evaluated"
        at = f"{self.confidence:.0%}"
        parts = [f"{row['metric']}: {b} - {a} = {row['difference']:+.4f}"]
        if row["low"] is not None:
            parts.append(f"{at} interval {row['low']:+.4f} to {row['high']:+.4f}")
        parts.append(f"p = {row['p']:.4g} (Holm {row['p_holm']:.4g})")
        parts.append(
            f"{counted(row['wins'], 'win')}, {counted(row['ties'], 'tie')} within {self.tie_width:g}, {counted(row['losses'], 'loss', 'losses')}"
        )
        parts.append(
            counted(row["n"], "query", "queries") + (f", {self.skipped.height} skipped" if self.skipped.height else "")
        )
        if row["resolution"] is not None:
            parts.append(f"this set resolves {row['resolution']:.4f}")
        return "; ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the per-query values as JSON-ready data, tables as lists of rows, with the queries
        that differ most for every pair and metric. Equal inputs give equal data."""
        pairs = self.per_pair.select("a", "b", "metric").rows()
        return {
            "variants": list(self.variants), "metrics": list(self.metrics), "evaluated": self.n,
            "depth": self.depth, "descriptions": self.descriptions,
            "skipped": self.judged.reasons, "notes": list(self.notes), "seed": self.seed,
            "tie_width": self.tie_width, "resamples": self.resamples, "confidence": self.confidence,
            "per_variant": self.per_variant.to_dicts(), "per_pair": self.per_pair.to_dicts(),
            "per_slice": self.per_slice.to_dicts(),
            "most_different": [
                {"a": a, "b": b, "metric": m, **row}
                for a, b, m in pairs for row in self.most_different(a, b, m).to_dicts()
            ],
        }  # fmt: skip


def compare(
    runs: Mapping[str, Run], judged: Judged, metrics: Sequence[str] = DEFAULT_METRICS, *, seed: int = SEED,
    tie_width: float = TIE_WIDTH, pairs: Sequence[tuple[str, str]] | None = None,
    slices: Sequence[str] | None = None, resamples: int = RESAMPLES, confidence: float = CONFIDENCE,
    depth: int = DEPTH,
) -> Comparison:  # fmt: skip
    """Evaluate runs (variant to query id to document ids, best first) and compare them pair by pair.

    A metric without a cutoff reads the first `depth` documents. A query's own document is left out of a ranking.
    Missing queries and queries without results count as 0 and are counted. `pairs` (a, b) defaults to every
    two variants in their order. `slices` names query attributes; by default each that has 2 to 12 values.
    Raises BadParameter for an unknown metric, variant or attribute, and for no run at all.
    """
    if not runs:
        raise BadParameter("there is no run to compare")
    names, variants = metric_names(metrics), tuple(runs)
    if not names:
        raise BadParameter(
            "there is no metric to compare by", do=f"Use for example {', '.join(DEFAULT_METRICS)}"
        )
    compared = _pairs(variants, pairs)
    attributes = sliceable(judged) if slices is None else tuple(slices)
    runs = {name: without_own(run, judged) for name, run in runs.items()}
    values = {name: per_query(run, judged.grades, names, depth) for name, run in runs.items()}
    checks = {name: check_run(run, judged) for name, run in runs.items()}
    settings = {"seed": seed, "resamples": resamples, "confidence": confidence}
    return Comparison(
        variants=variants,
        metrics=names,
        per_variant=variant_table(runs, values, judged, checks),
        per_pair=pair_table(values, names, compared, judged, tie_width=tie_width, **settings),
        per_query=query_table(runs, values, judged),
        per_slice=slice_table(values, names, compared, judged, attributes, **settings),
        skipped=skipped_table(judged),
        judged=judged,
        checks=checks,
        seed=seed,
        tie_width=tie_width,
        resamples=resamples,
        confidence=confidence,
        depth=depth,
    )


def _pairs(variants: Sequence[str], pairs: Sequence[tuple[str, str]] | None) -> list[tuple[str, str]]:
    if pairs is None:
        return [(a, b) for i, a in enumerate(variants) for b in variants[i + 1 :]]
    for name in (n for pair in pairs for n in pair):
        if name not in variants:
            raise BadParameter(f"unknown variant {name!r} in a pair", do=f"There are: {', '.join(variants)}")
    return list(dict.fromkeys(pairs))
