"""Compare variants on judged queries: metrics, paired differences, slices, queries that differ most."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from workbench.analysis.evaluate.judged import Judged, Run, RunCheck, check_run, without_own
from workbench.analysis.evaluate.metrics import (
    DEFAULT_METRICS,
    DEPTH,
    JUDGED_DEPTH,
    description,
    judged_name,
    judged_share,
    mean,
    metric_names,
    per_query,
)
from workbench.analysis.evaluate.significance import (
    CONFIDENCE,
    LEAST_QUERIES,
    RESAMPLES,
    SEED,
    SMALL_SET,
    TIE_WIDTH,
    holm,
    intervals,
    paired_rows,
)
from workbench.errors import BadParameter
from workbench.text import counted, signed

if TYPE_CHECKING:
    import polars as pl

# ---- The tables of a comparison as polars frames; each has its columns also when it has no  ----

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    Values = Mapping[str, Mapping[str, Mapping[str, float]]]
    """Variant to metric to query id to value."""

    Pairs = Sequence[tuple[str, str]]

# An attribute with more values slices into crumbs.
MOST_SLICES = 12

ABSENT = "(absent)"

_FLOATS = (
    "value",
    "value_a",
    "value_b",
    "judged",
    "difference",
    "low",
    "high",
    "p",
    "p_holm",
    "p_floor",
    "effect",
    "resolution",
)
_COUNTS = (
    "n",
    "missing",
    "empty",
    "extra",
    "skipped",
    "results",
    "wins",
    "ties",
    "losses",
    "differing",
)


def variant_table(
    runs: Mapping[str, Run], values: Values, judged: Judged, checks: Mapping[str, RunCheck]
) -> pl.DataFrame:
    """One row a variant and metric: the mean over evaluated queries, Judged@k beside it, and misfits."""
    columns = [
        "variant",
        "metric",
        "value",
        "n",
        "judged",
        "judged_name",
        "missing",
        "empty",
        "extra",
        "skipped",
    ]
    rows = []
    for variant, metrics in values.items():
        beside = {judged_name(m): m for m in metrics}
        shares = {name: judged_share(runs[variant], judged.grades, m) for name, m in beside.items()}
        check = checks[variant]
        counts = [len(c) for c in (check.missing, check.empty, check.extra, check.skipped)]
        rows += [
            (
                variant,
                metric,
                mean(found.values()),
                len(found),
                shares[judged_name(metric)],
                judged_name(metric),
                *counts,
            )
            for metric, found in metrics.items()
        ]
    return _frame(columns, rows)


def pair_table(
    values: Values,
    metrics: Sequence[str],
    pairs: Pairs,
    judged: Judged,
    *,
    seed: int,
    tie_width: float,
    resamples: int,
    confidence: float,
) -> pl.DataFrame:
    """One row a pair and metric, `difference` = b - a; Holm's family is every row of the table."""
    keys = [(a, b, m) for a, b in pairs for m in metrics]
    found = paired_rows(
        _differences(values, keys, judged.ids),
        seed=seed,
        tie_width=tie_width,
        resamples=resamples,
        confidence=confidence,
    )
    rows = [
        {
            "a": a,
            "b": b,
            "metric": m,
            "value_a": mean(values[a][m].values()),
            "value_b": mean(values[b][m].values()),
            **asdict(result),
            "p_holm": corrected,
        }
        for (a, b, m), result, corrected in zip(
            keys, found, holm([r.p for r in found]), strict=True
        )
    ]
    columns = [
        "a",
        "b",
        "metric",
        "n",
        "value_a",
        "value_b",
        "difference",
        "low",
        "high",
        "p",
        "p_holm",
        "p_floor",
        "effect",
        "wins",
        "ties",
        "losses",
        "differing",
        "resolution",
    ]
    return _frame(columns, [tuple(row[c] for c in columns) for row in rows])


def query_table(runs: Mapping[str, Run], values: Values, judged: Judged) -> pl.DataFrame:
    """One row an evaluated query, variant and metric; `results` counts the documents returned."""
    rows = [
        (
            query.id,
            query.text,
            variant,
            metric,
            found[query.id],
            len(runs[variant].get(query.id, ())),
        )
        for variant, metrics in values.items()
        for metric, found in metrics.items()
        for query in judged.queries
    ]
    return _frame(["query_id", "text", "variant", "metric", "value", "results"], rows)


def skipped_table(judged: Judged) -> pl.DataFrame:
    """One row a query that was not evaluated, and why."""
    return _frame(["query_id", "reason"], list(judged.skipped.items()))


def sliceable(judged: Judged) -> tuple[str, ...]:
    """The attributes that slice the evaluated queries into 2 to MOST_SLICES parts, in their first order."""
    names = dict.fromkeys(name for q in judged.queries for name in q.attributes if name != "self")
    return tuple(n for n in names if 2 <= len(_parts(judged, n)) <= MOST_SLICES)


def slice_table(
    values: Values,
    metrics: Sequence[str],
    pairs: Pairs,
    judged: Judged,
    attributes: Sequence[str],
    *,
    seed: int,
    resamples: int,
    confidence: float,
) -> pl.DataFrame:
    """One row an attribute's value, pair and metric: n, difference and interval; figures are left out
    (`suppressed`) where the slice has fewer than LEAST_QUERIES queries. Raises BadParameter for an attribute
    that no query has."""
    keys = [(a, b, m) for a, b in pairs for m in metrics]
    rows: list[tuple[Any, ...]] = []
    for attribute in attributes:
        if judged.queries and not any(attribute in q.attributes for q in judged.queries):
            known = ", ".join(sorted({n for q in judged.queries for n in q.attributes}))
            raise BadParameter(
                f"no query has the attribute {attribute!r}", do=f"There are: {known or 'none'}"
            )
        for label, ids in _parts(judged, attribute).items():
            few = len(ids) < LEAST_QUERIES
            differences = _differences(values, keys, ids)
            bounds = intervals(differences, seed=seed, resamples=resamples, confidence=confidence)
            rows += [
                (
                    attribute,
                    label,
                    len(ids),
                    a,
                    b,
                    m,
                    None if few else float(row.mean()),
                    low,
                    high,
                    few,
                )
                for (a, b, m), row, (low, high) in zip(keys, differences, bounds, strict=True)
            ]
    return _frame(
        ["attribute", "label", "n", "a", "b", "metric", "difference", "low", "high", "suppressed"],
        rows,
    )


def _parts(judged: Judged, attribute: str) -> dict[str, list[str]]:
    """Label to query ids, labels sorted; a query without the attribute is in the part ABSENT."""
    parts: dict[str, list[str]] = {}
    for query in judged.queries:
        parts.setdefault(_label(query.attributes.get(attribute)), []).append(query.id)
    return dict(sorted(parts.items()))


def _label(value: Any) -> str:
    if value is None:
        return ABSENT
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _differences(
    values: Values, keys: Sequence[tuple[str, str, str]], ids: Sequence[str]
) -> np.ndarray:
    """Array (keys, ids) of b - a."""
    import numpy as np

    rows = [[values[b][m][q] - values[a][m][q] for q in ids] for a, b, m in keys]
    return np.array(rows, dtype=float).reshape(len(keys), len(ids))


def _frame(columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> pl.DataFrame:
    import polars as pl

    kinds = (
        {c: pl.Float64 for c in _FLOATS}
        | {c: pl.Int64 for c in _COUNTS}
        | {"suppressed": pl.Boolean}
    )
    # Polars speaks UTF-8: a lone surrogate in an id or a query is shown by its escape.
    safe = [tuple(utf8(v) if isinstance(v, str) else v for v in row) for row in rows]
    return pl.DataFrame(safe, schema={c: kinds.get(c, pl.String) for c in columns}, orient="row")


def utf8(text: str) -> str:
    """A text that polars can hold: lone surrogates as their escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


# ---- Compare variants on judged queries: metrics, paired differences, slices, queries that  ----

DIFFER_MOST = 10

FEW_JUDGED = 0.5
"""Below this share of judged documents among the first ten, a comparison warns."""

Outcome = Literal["too few", "tied", "detected", "not after correction", "undecided", "none"]
"""What a pair's figures support. `detected`: p after Holm and the interval both exclude no difference; `not after
correction`: only the interval does; `undecided`: only p does; `none`: neither."""


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
    judged_at_10: Mapping[str, float | None]
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
        said += [f"{name}: {note}" for name, check in self.checks.items() for note in check.notes]
        return tuple(said)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What makes every figure here doubtful, one sentence each; empty for a set large and judged enough."""
        found = []
        if self.n < LEAST_QUERIES:
            found.append(
                f"Only {counted(self.n, 'query', 'queries')}: there is no interval below {LEAST_QUERIES},"
                f" and intervals are unreliable below {SMALL_SET}."
            )
        elif self.n < SMALL_SET:
            found.append(f"Only {self.n} queries: intervals are unreliable below {SMALL_SET}.")
        few = {v: s for v, s in self.judged_at_10.items() if s is not None and s < FEW_JUDGED}
        if few:
            shares = [few[v] for v in few]
            low, high = (f"{share:.0%}" for share in (min(shares), max(shares)))
            of = "every run" if len(few) == len(self.variants) > 1 else ", ".join(few)
            found.append(
                f"Judged@{JUDGED_DEPTH} is {low if low == high else f'{low} to {high}'} for {of}: most of the first"
                f" {JUDGED_DEPTH} documents were never judged and count as not relevant."
            )
        return tuple(found)

    @property
    def tests(self) -> int:
        """How many tests Holm's correction counts: the rows of the pair table that have a p."""
        return self.per_pair["p"].count()

    def outcome(self, row: Mapping[str, Any]) -> Outcome:
        """What a row of the pair table supports."""
        if row["low"] is None:
            return "too few"
        if row["wins"] == row["losses"] == 0:
            return "tied"
        significant = row["p_holm"] <= 1 - self.confidence
        if row["low"] * row["high"] > 0:
            return "detected" if significant else "not after correction"
        return "undecided" if significant else "none"

    def verdicts(self, metric: str | None = None) -> tuple[tuple[str, str], ...]:
        """(sentence, its figures) for every variant, by the metric (the first one) and the highest mean first: the
        best variant, then each other one against it, or against the one that it was compared with."""
        (metric,) = metric_names([metric or self.metrics[0]])
        means = {
            v: m
            for v, m in self.per_variant.filter(metric=metric).select("variant", "value").rows()
        }
        if not self.n:
            return (("No query could be evaluated.", ""),)
        ranked = sorted(self.variants, key=lambda v: -means[v])
        best = ranked[0]
        equal = [v for v in ranked if means[best] - means[v] <= self.tie_width]
        found = [
            (
                f"Best: {' and '.join(equal)}, {metric} {means[best]:.3f}.",
                f"The highest mean of {counted(len(ranked), 'run')} over {counted(self.n, 'query', 'queries')}.",
            )
        ]
        pairs = self.per_pair.filter(metric=metric).to_dicts()
        for other in ranked[1:]:
            mine = [r for r in pairs if other in (r["a"], r["b"])]
            row = next((r for r in mine if best in (r["a"], r["b"])), mine[0] if mine else None)
            if row is None:
                found.append(
                    (f"{other} was compared with no other: {metric} {means[other]:.3f}.", "")
                )
            else:
                found.append((self._verdict(row, other), self.sentence(row["a"], row["b"], metric)))
        return tuple(found)

    def verdict(self, a: str, b: str, metric: str) -> str:
        """What the pair's test supports about b against a, in a sentence. Raises BadParameter."""
        return self._verdict(self.pair(a, b, metric), b)

    def _verdict(self, row: Mapping[str, Any], variant: str) -> str:
        """One side of a pair against the other, in a sentence; the interval and the resolution are the pair's own."""
        turned = variant == row["a"]
        against = row["b"] if turned else row["a"]
        difference = -row["difference"] if turned else row["difference"]
        by = f"{row['metric']} {signed(difference)}"
        corrected = f"p = {row['p_holm']:.2g}" + (
            f" after correction for {self.tests} tests" if self.tests > 1 else " in 1 test"
        )
        bounds = (
            (-row["high"], -row["low"])
            if turned and row["low"] is not None
            else (row["low"], row["high"])
        )
        match self.outcome(row):
            case "too few":
                return f"{variant} and {against}: too few queries to tell ({row['n']})."
            case "tied":
                return f"{variant} and {against} are tied on every query."
            case "detected":
                return f"{variant} is {'better' if difference > 0 else 'worse'} than {against}: {by}, {corrected}."
            case "not after correction":
                return (
                    f"{variant} against {against}: {by}, not significant ({corrected}), though its interval alone,"
                    f" {signed(bounds[0])} to {signed(bounds[1])}, excludes 0."
                )
            case "undecided":
                return (
                    f"{variant} against {against}: {by}, undecided: {corrected}, but its interval,"
                    f" {signed(bounds[0])} to {signed(bounds[1])}, includes 0."
                )
            case _:
                return (
                    f"No difference detected between {variant} and {against}: {by}, {corrected};"
                    f" this set resolves ±{row['resolution']:.3f} for this pair."
                )

    def pair(self, a: str, b: str, metric: str) -> dict[str, Any]:
        """The row of the pair table for a, b and the metric, the order as compared. Raises BadParameter."""
        (metric,) = metric_names([metric])
        found = self.per_pair.filter(a=a, b=b, metric=metric).to_dicts()
        if not found:
            known = ", ".join(
                " / ".join(p)
                for p in self.per_pair.select("a", "b").unique(maintain_order=True).rows()
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
        parts = [f"{row['metric']}: {b} − {a} = {signed(row['difference'], 4)}"]
        if row["low"] is not None:
            parts.append(f"{at} interval {signed(row['low'], 4)} to {signed(row['high'], 4)}")
        parts.append(f"p = {row['p']:.4g} (Holm {row['p_holm']:.4g})")
        parts.append(
            f"{counted(row['wins'], 'win')}, {counted(row['ties'], 'tie')} within {self.tie_width:g}, {counted(row['losses'], 'loss', 'losses')}"
        )
        parts.append(
            counted(row["n"], "query", "queries")
            + (f", {self.skipped.height} skipped" if self.skipped.height else "")
        )
        if row["resolution"] is not None:
            parts.append(f"this set resolves ±{row['resolution']:.4f}")
        return "; ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the per-query values as JSON-ready data, tables as lists of rows, with the queries
        that differ most for every pair and metric. Equal inputs give equal data."""
        pairs = self.per_pair.select("a", "b", "metric").rows()
        return {
            "variants": list(self.variants),
            "metrics": list(self.metrics),
            "evaluated": self.n,
            "depth": self.depth,
            "descriptions": self.descriptions,
            "skipped": self.judged.reasons,
            "notes": list(self.notes),
            "seed": self.seed,
            "warnings": list(self.warnings),
            "judged_at_10": dict(self.judged_at_10),
            "tests": self.tests,
            "verdicts": [said for said, _ in self.verdicts()],
            "tie_width": self.tie_width,
            "resamples": self.resamples,
            "confidence": self.confidence,
            "per_variant": self.per_variant.to_dicts(),
            "per_pair": self.per_pair.to_dicts(),
            "per_slice": self.per_slice.to_dicts(),
            "most_different": [
                {"a": a, "b": b, "metric": m, **row}
                for a, b, m in pairs
                for row in self.most_different(a, b, m).to_dicts()
            ],
        }


def compare(
    runs: Mapping[str, Run],
    judged: Judged,
    metrics: Sequence[str] = DEFAULT_METRICS,
    *,
    seed: int = SEED,
    tie_width: float = TIE_WIDTH,
    pairs: Sequence[tuple[str, str]] | None = None,
    slices: Sequence[str] | None = None,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
    depth: int = DEPTH,
) -> Comparison:
    """Evaluate runs (variant to query id to document ids, best first) and compare them pair by pair.

    A metric without a cutoff reads the first `depth` documents. A query's own document is left out of a ranking.
    Missing queries and queries without results count as 0 and are counted. `pairs` (a, b) defaults to every
    two variants in their order. `slices` names query attributes; by default each that has 2 to 12 values.
    Raises BadParameter for an unknown metric, variant or attribute, and for no run at all.
    """
    if not runs:
        raise BadParameter("there is no run to compare")
    runs = {utf8(name): run for name, run in runs.items()}
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
        judged_at_10={
            v: judged_share(run, judged.grades, f"P@{JUDGED_DEPTH}") for v, run in runs.items()
        },
        seed=seed,
        tie_width=tie_width,
        resamples=resamples,
        confidence=confidence,
        depth=depth,
    )


def _pairs(
    variants: Sequence[str], pairs: Sequence[tuple[str, str]] | None
) -> list[tuple[str, str]]:
    if pairs is None:
        return [(a, b) for i, a in enumerate(variants) for b in variants[i + 1 :]]
    for name in (n for pair in pairs for n in pair):
        if name not in variants:
            raise BadParameter(
                f"unknown variant {name!r} in a pair", do=f"There are: {', '.join(variants)}"
            )
    return list(dict.fromkeys(pairs))
