"""Tune a fusion's parameters on one half of a judged set and judge them on the other, so that no query does both.

The law: the halves are parted by `known_items.split`; the lists are retrieved once; knob by knob, in the order of
the fusion, the value with the best mean on the tuning half is taken, the others held, until a round changes nothing.
Of equally good values the one nearest to the variant's own wins, then the smaller. Both halves are reported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from workbench.analysis.canonical import plain
from workbench.analysis.comparison import Comparison, compare
from workbench.analysis.judged import Judged, Run
from workbench.analysis.known_items import SEED, split
from workbench.analysis.metrics import (
    DEFAULT_METRICS,
    DEPTH,
    deepest,
    description,
    documents,
    mean,
    metric_names,
    per_query,
)
from workbench.analysis.query_sets import NothingToEvaluate, QuerySet, query_set
from workbench.analysis.significance import LEAST_QUERIES, RESAMPLES
from workbench.errors import BadParameter
from workbench.retrieval.knobs import WEIGHT, Knob, knobs, with_knobs
from workbench.retrieval.search import Collection, open_collection
from workbench.retrieval.spec import turned
from workbench.retrieval.variant import Variant, variant
from workbench.sources.source import JudgedQuery, Qrel
from workbench.types import Ranking

K_VALUES = (0, 1, 2, 5, 10, 20, 40, 60, 80, 120, 200)
WEIGHT_VALUES = (0, 0.125, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4)
BONUS_VALUES = (0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.75, 1)
"""What is tried of each knob where no grid is given: a choice of ours, each of the records' own values among it."""

MOST_ROUNDS = 5
"""Rounds over all knobs at most; a second one is seldom needed."""


class TooFewToTune(NothingToEvaluate):
    """A half has so few queries that no interval can be given."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One setting and its mean of the metric on each half; `judge` is None where it was not looked at."""

    knobs: Mapping[str, float]
    tune: float
    judge: float | None = None


@dataclass(frozen=True)
class Tuned:
    """What tuning found. `own` and `chosen` are the variant's own setting and the best on the tuning half; `tune` and
    `judge` compare the two variants on each half; `curves` are one knob's values each, the others at the chosen ones, on
    both halves; `tried` counts settings, `rounds` rounds until nothing changed."""

    collection: str
    inputs: Mapping[str, str]
    queries: QuerySet
    rule: str
    metric: str
    own_variant: Variant
    chosen_variant: Variant
    own: Trial
    chosen: Trial
    tune: Comparison
    judge: Comparison
    curves: Mapping[str, tuple[Trial, ...]] = field(repr=False)
    tried: int
    rounds: int
    seed: int

    @property
    def changed(self) -> dict[str, tuple[float, float]]:
        """Each knob that was turned: from its own value to the chosen one."""
        return {k: (self.own.knobs[k], v) for k, v in self.chosen.knobs.items() if v != self.own.knobs[k]}

    @property
    def optimism(self) -> float:
        """By how much the gain on the tuning half exceeds the gain on the judging half."""
        return (self.chosen.tune - self.own.tune) - ((self.chosen.judge or 0.0) - (self.own.judge or 0.0))

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON-ready data; equal inputs give equal data."""
        return plain({
            "collection": self.collection, "inputs": dict(self.inputs), "origin": self.queries.origin,
            "queries_hash": self.queries.hash, "rule": self.rule, "metric": self.metric, "depth": self.judge.depth,
            "description": description(self.metric, self.judge.depth), "own_documents": self.queries.own, "seed": self.seed,
            "variant": self.own_variant.name, "chosen_variant": self.chosen_variant.name,
            "plan": self.chosen_variant.plan(), "own": self.own, "chosen": self.chosen, "optimism": self.optimism,
            "tried": self.tried, "rounds": self.rounds, "tune": self.tune.to_dict(), "judge": self.judge.to_dict(),
            "curves": {k: list(v) for k, v in self.curves.items()}, "notes": list(self.queries.notes),
        })  # fmt: skip


def tune(
    collection: str | Collection, spec: str | Variant, queries: str | Sequence[JudgedQuery] = "",
    qrels: str | Sequence[Qrel] = "", metric: str = DEFAULT_METRICS[0], *,
    grids: Mapping[str, Sequence[float]] | None = None, fraction: float = 0.5, limit: int | None = None,
    seed: int = SEED, resamples: int = RESAMPLES, depth: int = DEPTH, keep_own: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Tuned:  # fmt: skip
    """Tune the variant's fusion by a metric. `grids` names knobs (k, bonus, weight.LIST) and their values; by default
    all that the fusion has, over the values above. `fraction` of the queries tune. `depth` and `keep_own` as in
    `compare_variants`: the metric's values are those that it gives.

    Raises BadParameter for a fusion without such a knob, TooFewToTune for a half of fewer than LEAST_QUERIES.
    """
    (name,) = metric_names([metric])
    base = variant(spec)
    tried = _grids(base, grids)
    with nullcontext(collection) if isinstance(collection, Collection) else open_collection(collection) as opened:
        found = query_set(opened, queries, qrels, limit=limit, seed=seed, keep_own=keep_own)
        halves = split(found.queries, fraction, seed)
        sides = [found.judged.only(q.id for q in half) for half in (halves.tune, halves.judge)]
        for what, side in zip(("tune", "judge"), sides, strict=True):
            if len(side.queries) < LEAST_QUERIES:
                raise TooFewToTune(f"only {len(side.queries)} queries to {what} on, {LEAST_QUERIES} are needed", where=found.origin)
        of = len(found.queries)
        lists = _Lists(opened, base, found.queries, progress and (lambda done: progress(done, of)))
        inputs, called = opened.inputs, opened.name
    search = _Search(lists, base, name, sides[0], depth)
    own = {k: known.value for k, known in knobs(base).items() if k in tried}
    chosen, rounds = search.climb(own, tried)
    judged = _Search(lists, base, name, sides[1], depth)

    def trial(setting: Mapping[str, float]) -> Trial:
        return Trial(dict(setting), search.value(setting), judged.value(setting))

    best = turned(base, {k: v for k, v in chosen.items() if v != own[k]}) if chosen != own else base
    pair = {base.name: own} if best is base else {base.name: own, best.name: chosen}
    metrics = tuple(dict.fromkeys([name, *DEFAULT_METRICS]))
    compared = [
        compare({v: s.run(setting) for v, setting in pair.items()}, side, metrics, seed=seed, resamples=resamples, depth=depth)
        for s, side in zip((search, judged), sides, strict=True)
    ]
    return Tuned(
        called, inputs, found, halves.rule, name, base, best, trial(own), trial(chosen), *compared,
        {k: tuple(trial({**chosen, k: v}) for v in values) for k, values in tried.items()}, search.tried, rounds, seed,
    )  # fmt: skip


class _Lists:
    """Every query's lists under the base variant, retrieved once, and the documents of their rows."""

    def __init__(
        self, collection: Collection, base: Variant, queries: Sequence[JudgedQuery], told: Callable[[int], None] | None
    ) -> None:
        self.of: dict[str, tuple[Ranking, ...]] = {}
        self.own = {q.id: q.own_document for q in queries}
        self.entity: dict[Any, str] = {}
        for done, query in enumerate(queries, 1):
            result = collection.search(query.search, base, with_chunks=False)
            self.of[query.id] = result.lists
            ids = list(dict.fromkeys(i for r in result.lists for i in r.ids if i not in self.entity))
            if ids:
                self.entity.update(zip(ids, collection.stores.catalog.entities(ids), strict=True))
            if told:
                told(done)


class _Search:
    """The metric's mean at a setting on one half, each setting computed once."""

    def __init__(self, lists: _Lists, base: Variant, metric: str, side: Judged, depth: int) -> None:
        self.lists, self.base, self.metric, self.side = lists, base, metric, side
        self.depth, self.kept = depth, deepest([metric, *DEFAULT_METRICS], depth)
        self.known: dict[tuple[tuple[str, float], ...], float] = {}

    @property
    def tried(self) -> int:
        return len(self.known)

    def run(self, setting: Mapping[str, float]) -> Run:
        """The document rankings of this half at a setting."""
        fusion = with_knobs(self.base, setting).fusion
        lists = self.lists
        return {
            q: documents(fusion(lists.of[q]).ranking.ids, lists.entity, own=lists.own[q], depth=self.kept)
            for q in self.side.ids
        }

    def value(self, setting: Mapping[str, float]) -> float:
        key = tuple(sorted(setting.items()))
        if key not in self.known:
            found = mean(per_query(self.run(setting), self.side.grades, [self.metric], self.depth)[self.metric].values())
            assert found is not None  # a half has LEAST_QUERIES queries
            self.known[key] = found
        return self.known[key]

    def climb(self, own: Mapping[str, float], grids: Mapping[str, Sequence[float]]) -> tuple[dict[str, float], int]:
        """The best setting, knob by knob, and how many rounds it took."""
        best, rounds, before = dict(own), 0, None
        while best != before and rounds < MOST_ROUNDS:
            before, rounds = dict(best), rounds + 1
            for knob, values in grids.items():
                best[knob] = self.best_value(best, knob, values, own[knob])
        return best, rounds

    def best_value(self, at: Mapping[str, float], knob: str, values: Sequence[float], own: float) -> float:
        """The best value of one knob with the others as they are."""
        return min(values, key=lambda v: (-self.value({**at, knob: v}), abs(v - own), v))


def _grids(base: Variant, grids: Mapping[str, Sequence[float]] | None) -> dict[str, tuple[float, ...]]:
    """The values to try of each knob, in the order of the fusion's knobs. Raises BadParameter."""
    known = {n: k for n, k in knobs(base).items() if n in ("k", "bonus") or n.startswith(WEIGHT)}
    if not known:
        raise BadParameter(f"{base.fusion} has no parameter to tune", where=base.name, do="Take a variant that fuses by rrf or max_min")
    for name in grids or {}:
        if name not in known:
            raise BadParameter(f"{base.name} has no knob {name!r} of its fusion", do=f"It has: {', '.join(known)}")
    return {n: _values(k, (grids or {}).get(n)) for n, k in known.items() if grids is None or n in grids}


def _values(knob: Knob, given: Sequence[float] | None) -> tuple[float, ...]:
    if given is None:
        given = K_VALUES if knob.name == "k" else BONUS_VALUES if knob.name == "bonus" else WEIGHT_VALUES
    values = tuple(sorted({*given, knob.value}))
    if bad := [v for v in values if not knob.low <= v < float("inf")]:
        raise BadParameter(f"{knob.name} cannot be {bad[0]}", do=f"Use numbers of at least {knob.low:g}")
    return values
