"""The tables of a comparison as polars frames; each has its columns also when it has no row."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from workbench.analysis.judged import Judged, Run, RunCheck
from workbench.analysis.metrics import judged_name, judged_share, mean
from workbench.analysis.significance import LEAST_QUERIES, holm, intervals, paired_rows
from workbench.errors import BadParameter

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    Values = Mapping[str, Mapping[str, Mapping[str, float]]]
    """Variant to metric to query id to value."""

    Pairs = Sequence[tuple[str, str]]

# An attribute with more values slices into crumbs.
MOST_SLICES = 12

ABSENT = "(absent)"

_FLOATS = ("value", "value_a", "value_b", "judged", "difference", "low", "high", "p", "p_holm", "p_floor",
"effect",
           "resolution")  # fmt: skip
_COUNTS = ("n", "missing", "empty", "extra", "skipped", "results", "wins", "ties", "losses", "differing")


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
    values: Values, metrics: Sequence[str], pairs: Pairs, judged: Judged, *, seed: int, tie_width: float,
    resamples: int, confidence: float,
) -> pl.DataFrame:  # fmt: skip
    """One row a pair and metric, `difference` = b - a; Holm's family is every row of the table."""
    keys = [(a, b, m) for a, b in pairs for m in metrics]
    found = paired_rows(
        _differences(values, keys, judged.ids), seed=seed, tie_width=tie_width, resamples=resamples,
        confidence=confidence,
    )  # fmt: skip
    rows = [
        {"a": a, "b": b, "metric": m, "value_a": mean(values[a][m].values()),
         "value_b": mean(values[b][m].values()), **asdict(result), "p_holm": corrected}
        for (a, b, m), result, corrected in zip(keys, found, holm([r.p for r in found]), strict=True)
    ]  # fmt: skip
    columns = [
        "a", "b", "metric", "n", "value_a", "value_b", "difference", "low", "high", "p", "p_holm", "p_floor",
        "effect", "wins", "ties", "losses", "differing", "resolution",
    ]  # fmt: skip
    return _frame(columns, [tuple(row[c] for c in columns) for row in rows])


def query_table(runs: Mapping[str, Run], values: Values, judged: Judged) -> pl.DataFrame:
    """One row an evaluated query, variant and metric; `results` counts the documents returned."""
    rows = [
        (query.id, query.text, variant, metric, found[query.id], len(runs[variant].get(query.id, ())))
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
    values: Values, metrics: Sequence[str], pairs: Pairs, judged: Judged, attributes: Sequence[str], *, seed:
    int, resamples: int, confidence: float,
) -> pl.DataFrame:  # fmt: skip
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
                (attribute, label, len(ids), a, b, m, None if few else float(row.mean()), low, high, few)
                for (a, b, m), row, (low, high) in zip(keys, differences, bounds, strict=True)
            ]
    return _frame(
        ["attribute", "label", "n", "a", "b", "metric", "difference", "low", "high", "suppressed"], rows
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


def _differences(values: Values, keys: Sequence[tuple[str, str, str]], ids: Sequence[str]) -> np.ndarray:
    """Array (keys, ids) of b - a."""
    import numpy as np

    rows = [[values[b][m][q] - values[a][m][q] for q in ids] for a, b, m in keys]
    return np.array(rows, dtype=float).reshape(len(keys), len(ids))


def _frame(columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> pl.DataFrame:
    import polars as pl

    kinds = {c: pl.Float64 for c in _FLOATS} | {c: pl.Int64 for c in _COUNTS} | {"suppressed": pl.Boolean}
    # Polars speaks UTF-8: a lone surrogate in an id or a query is shown by its escape.
    safe = [tuple(utf8(v) if isinstance(v, str) else v for v in row) for row in rows]
    return pl.DataFrame(safe, schema={c: kinds.get(c, pl.String) for c in columns}, orient="row")


def utf8(text: str) -> str:
    """A text that polars can hold: lone surrogates as their escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
