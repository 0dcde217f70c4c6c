"""What the change that helps one query does to all the others: a counterfactual on a judged query set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from workbench.analysis.evaluate.comparison import Comparison, compare
from workbench.analysis.evaluate.judged import Judged
from workbench.analysis.explain.counterfactual import Counterfactual
from workbench.analysis.runs import run_variants
from workbench.retrieval.search import Collection
from workbench.retrieval.variant import Variant, variant, with_knobs

METRICS = ("nDCG@10", "Success@8")


@dataclass(frozen=True, slots=True)
class Effect:
    """One change over the judged queries: on `wins` the metric rises, on `losses` it falls, within `ties` it stays.
    `sentence` has the interval, the test and what the set can resolve."""

    knob: str
    value: object
    metric: str
    n: int
    wins: int
    ties: int
    losses: int
    difference: float | None
    sentence: str


def judged_effects(
    collection: Collection,
    judged: Judged,
    spec: str | Variant,
    answers: Sequence[Counterfactual],
    *,
    metrics: Sequence[str] = METRICS,
    progress: Callable[[int], None] | None = None,
) -> tuple[Effect, ...]:
    """The effect of every answer that turns a knob, in their order, one a metric; () where none does or nothing is
    judged. All changes share what they read, so one more costs almost nothing."""
    base = variant(spec)
    changed = {c.knob: (c, with_knobs(base, c.change)) for c in answers if c.change}
    if not changed or not judged.queries:
        return ()
    ran = run_variants(
        collection, judged.queries, [base, *(v for _, v in changed.values())], progress=progress
    )
    pairs = [(base.name, v.name) for _, v in changed.values()]
    found: Comparison = compare(ran.runs, judged, metrics, pairs=pairs, slices=())
    return tuple(
        _effect(found, base, v, c, metric) for c, v in changed.values() for metric in found.metrics
    )


def _effect(
    found: Comparison, base: Variant, changed: Variant, answer: Counterfactual, metric: str
) -> Effect:
    row = found.pair(base.name, changed.name, metric)
    return Effect(
        answer.knob,
        answer.plain,
        metric,
        row["n"],
        row["wins"],
        row["ties"],
        row["losses"],
        row["difference"],
        found.sentence(base.name, changed.name, metric),
    )
