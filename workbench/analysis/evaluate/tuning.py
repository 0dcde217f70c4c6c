"""Tune a variant's parameters on one half of a judged set and judge them on the other, so that no query does both.

The halves are parted by `known_items.split`. Parameter by parameter, in the variant's order, the value with the best
mean on the tuning half is taken, the others held, until a round changes nothing. Of equally good values the one nearest
to the variant's own wins, then the smaller. Both halves are reported. With folds, the same is done once for each fold,
tuned on all others. Lists are retrieved again only for a parameter of a channel or prior; caps, limits and the floor cut
one deep reading.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from workbench.analysis.canonical import plain
from workbench.analysis.evaluate.comparison import Comparison, compare
from workbench.analysis.evaluate.judged import Judged, Run
from workbench.analysis.evaluate.known_items import SEED, folds_of, split
from workbench.analysis.evaluate.metrics import (
    DEFAULT_METRICS,
    DEPTH,
    deepest,
    description,
    documents,
    mean,
    metric_names,
    per_query,
)
from workbench.analysis.evaluate.query_sets import NothingToEvaluate, QuerySet, query_set
from workbench.analysis.evaluate.significance import LEAST_QUERIES, RESAMPLES, intervals
from workbench.errors import BadParameter
from workbench.registry import INFINITE
from workbench.retrieval.frozen import BeyondFrozen, Frozen, freeze
from workbench.retrieval.search import Collection, open_collection
from workbench.retrieval.variant import (
    FROM_FUSION,
    WEIGHT,
    Knob,
    Variant,
    parameters,
    turned,
    variant,
    with_knobs,
)
from workbench.sources.base import JudgedQuery, Qrel
from workbench.types import Ranking

VALUES = {
    "k": (0, 1, 2, 5, 10, 20, 40, 60, 80, 120, 200),
    "bonus": (0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.75, 1),
    "k1": (0.4, 0.6, 0.9, 1.2, 1.5, 2, 3),
    "b": (0, 0.2, 0.4, 0.6, 0.75, 0.9, 1),
    "title_weight": (0.5, 1, 2, 3, 5, 8),
    "half_life": (1, 7, 30, 90, 365),
    "floor": (-1, 0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8),
}
COUNT_VALUES = (16, 32, 64, 128, 256, 512, 1024)
WEIGHT_VALUES = (0, 0.125, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4)
"""What is tried of a parameter where no values are given: a choice of ours, each of the records' own values among it."""

CUTS = ("cap", "lexical_limit", "semantic_limit", "floor")
"""Parameters that only cut a deep reading; of what is neither these nor a fusion's, each value is retrieved."""

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


TUNED = "tuned without the query"
"""The name of the cross-validated run."""


@dataclass(frozen=True, slots=True)
class Fold:
    """One fold: how many queries were held out, the setting chosen on all others, and the metric's mean there and here.
    `base` is the untuned variant's on the held-out queries."""

    queries: int
    chosen: Mapping[str, float]
    train: float
    held_out: float
    base: float


@dataclass(frozen=True)
class CrossValidated:
    """Every query judged by the setting that was chosen without it. `held_out` compares the untuned variant with that, under
    the name TUNED; `lost` is what the held-out values are below the same queries' values in training, `low` and `high` its
    95% interval, None for too few queries."""

    folds: tuple[Fold, ...]
    held_out: Comparison
    lost: float
    low: float | None
    high: float | None
    rule: str

    def to_dict(self) -> dict[str, Any]:
        return {
            "folds": list(self.folds),
            "held_out": self.held_out.to_dict(),
            "lost": self.lost,
            "low": self.low,
            "high": self.high,
            "rule": self.rule,
        }


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
    cross_validated: CrossValidated | None = None

    @property
    def changed(self) -> dict[str, tuple[float, float]]:
        """Each knob that was turned: from its own value to the chosen one."""
        return {
            k: (self.own.knobs[k], v)
            for k, v in self.chosen.knobs.items()
            if v != self.own.knobs[k]
        }

    @property
    def optimism(self) -> float:
        """By how much the gain on the tuning half exceeds the gain on the judging half."""
        return (self.chosen.tune - self.own.tune) - (
            (self.chosen.judge or 0.0) - (self.own.judge or 0.0)
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON-ready data; equal inputs give equal data."""
        return plain(
            {
                "collection": self.collection,
                "inputs": dict(self.inputs),
                "origin": self.queries.origin,
                "queries_hash": self.queries.hash,
                "rule": self.rule,
                "metric": self.metric,
                "depth": self.judge.depth,
                "description": description(self.metric, self.judge.depth),
                "own_documents": self.queries.own,
                "seed": self.seed,
                "variant": self.own_variant.name,
                "chosen_variant": self.chosen_variant.name,
                "plan": self.chosen_variant.plan(),
                "own": self.own,
                "chosen": self.chosen,
                "optimism": self.optimism,
                "tried": self.tried,
                "rounds": self.rounds,
                "tune": self.tune.to_dict(),
                "judge": self.judge.to_dict(),
                "cross_validated": self.cross_validated and self.cross_validated.to_dict(),
                "curves": {k: list(v) for k, v in self.curves.items()},
                "notes": list(self.queries.notes),
            }
        )


def tune(
    collection: str | Collection,
    spec: str | Variant,
    queries: str | Sequence[JudgedQuery] = "",
    qrels: str | Sequence[Qrel] = "",
    metric: str = DEFAULT_METRICS[0],
    *,
    grids: Mapping[str, Sequence[float]] | None = None,
    fraction: float = 0.5,
    folds: int = 0,
    limit: int | None = None,
    seed: int = SEED,
    resamples: int = RESAMPLES,
    depth: int = DEPTH,
    keep_own: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Tuned:
    """Tune the variant by a metric. `grids` names parameters and their values, () for the default ones; by default all
    that the fusion has, or where it has none, all that the variant has. `fraction` of the queries tune. With `folds`
    (from 2) the whole set is cross-validated, too. `depth` and `keep_own` as in
    `compare_variants`: the metric's values are those that it gives.

    Raises BadParameter for a parameter that the variant lacks, TooFewToTune for a half of fewer than LEAST_QUERIES.
    """
    (name,) = metric_names([metric])
    base = variant(spec)
    tried = _grids(base, grids)
    with (
        nullcontext(collection)
        if isinstance(collection, Collection)
        else open_collection(collection) as opened
    ):
        found = query_set(opened, queries, qrels, limit=limit, seed=seed, keep_own=keep_own)
        halves = split(found.queries, fraction, seed)
        sides = [found.judged.only(q.id for q in half) for half in (halves.tune, halves.judge)]
        for what, side in zip(("tune", "judge"), sides, strict=True):
            if len(side.queries) < LEAST_QUERIES:
                raise TooFewToTune(
                    f"only {len(side.queries)} queries to {what} on, {LEAST_QUERIES} are needed",
                    where=found.origin,
                )
        parted = folds_of(found.queries, folds, seed) if folds > 1 else ()
        if folds and not (parted and all(parted)):
            raise BadParameter(
                f"{folds} folds of {len(found.queries)} queries cannot be made",
                do="Use 5, or as many as leave no fold empty",
            )
        lists = _Lists(opened, base, found.queries, tried, progress)
        return _tuned(lists, found, name, halves.rule, sides, parted, depth, seed, resamples)


def _tuned(
    lists: _Lists,
    found: QuerySet,
    name: str,
    rule: str,
    sides: Sequence[Judged],
    parted: Sequence[Sequence[JudgedQuery]],
    depth: int,
    seed: int,
    resamples: int,
) -> Tuned:
    base, tried = lists.base, lists.tried
    own = {k: _own(known) for k, known in parameters(base).items() if k in tried}
    search, judged = (_Search(lists, name, side, depth) for side in sides)
    chosen, rounds = search.climb(own, tried)

    def trial(setting: Mapping[str, float]) -> Trial:
        return Trial(dict(setting), search.value(setting), judged.value(setting))

    best = turned(base, {k: v for k, v in chosen.items() if v != own[k]}) if chosen != own else base
    pair = {base.name: own} if best is base else {base.name: own, best.name: chosen}
    metrics = tuple(dict.fromkeys([name, *DEFAULT_METRICS]))
    compared = [
        compare(
            {v: s.run(setting) for v, setting in pair.items()},
            side,
            metrics,
            seed=seed,
            resamples=resamples,
            depth=depth,
        )
        for s, side in zip((search, judged), sides, strict=True)
    ]
    crossed = (
        _cross_validated(lists, found, name, own, parted, depth, seed, resamples)
        if parted
        else None
    )
    return Tuned(
        lists.collection.name,
        lists.collection.inputs,
        found,
        rule,
        name,
        base,
        best,
        trial(own),
        trial(chosen),
        *compared,
        {k: tuple(trial({**chosen, k: v}) for v in values) for k, values in tried.items()},
        search.tried,
        rounds,
        seed,
        crossed,
    )


def _cross_validated(
    lists: _Lists,
    found: QuerySet,
    metric: str,
    own: Mapping[str, float],
    parted: Sequence[Sequence[JudgedQuery]],
    depth: int,
    seed: int,
    resamples: int,
) -> CrossValidated:
    """Tune on all folds but one, judge on that one, for each."""
    import numpy as np

    everyone = _Search(lists, metric, found.judged, depth)
    untuned, ids = everyone.values(own), found.judged.ids
    held, trained, run, out = {}, {q: [] for q in ids}, {}, []
    for part in parted:
        here = {q.id for q in part}
        chosen, _ = _Search(
            lists, metric, found.judged.only(q for q in ids if q not in here), depth
        ).climb(own, lists.tried)
        values, ranked = everyone.values(chosen), everyone.run(chosen)
        held |= {q: values[q] for q in here}
        run |= {q: ranked[q] for q in here}
        for q in ids:
            if q not in here:
                trained[q].append(values[q])
        out.append(
            Fold(
                len(here),
                chosen,
                *(
                    float(np.mean([of[q] for q in on]))
                    for of, on in (
                        (values, [q for q in ids if q not in here]),
                        (values, sorted(here)),
                        (untuned, sorted(here)),
                    )
                ),
            )
        )
    lost = np.array([[np.mean(trained[q]) - held[q] for q in ids]])
    ((low, high),) = intervals(lost, seed=seed, resamples=resamples)
    metrics = tuple(dict.fromkeys([metric, *DEFAULT_METRICS]))
    compared = compare(
        {lists.base.name: everyone.run(own), TUNED: {q: run[q] for q in ids}},
        found.judged,
        metrics,
        seed=seed,
        resamples=resamples,
        depth=depth,
    )
    rule = f"sha256 of (seed {seed}, query id, fold) parts the queries into {len(parted)} folds"
    return CrossValidated(tuple(out), compared, float(lost.mean()), low, high, rule)


class _Lists:
    """Every query's lists under the base variant with other parameters, each retrieved or cut once, and the documents of
    their rows."""

    def __init__(
        self,
        collection: Collection,
        base: Variant,
        queries: Sequence[JudgedQuery],
        tried: Mapping[str, Sequence[float]],
        progress: Callable[[int, int], None] | None,
    ) -> None:
        self.collection, self.base, self.queries, self.tried, self.progress = (
            collection,
            base,
            queries,
            tried,
            progress,
        )
        self.own = {q.id: q.own_document for q in queries}
        self.entity: dict[Any, str] = {}
        self.found: dict[tuple[tuple[str, float], ...], dict[str, tuple[Ranking, ...]]] = {}
        self.frozen: dict[str, Frozen] = {}
        self.retrieved = 0

    def of(self, setting: Mapping[str, float]) -> dict[str, tuple[Ranking, ...]]:
        """Query id to its lists. Settings that differ only in the fusion share them."""
        base = parameters(self.base)
        changed = {
            n: v
            for n, v in setting.items()
            if not n.startswith(WEIGHT) and n not in FROM_FUSION and v != _own(base[n])
        }
        key = tuple(sorted(changed.items()))
        if key not in self.found:
            cuts = all(n in CUTS for n in changed) and any(n in CUTS for n in self.tried)
            chosen = with_knobs(self.base, changed)
            made = {}
            for done, query in enumerate(self.queries, 1):
                made[query.id] = self._cut(query, chosen) if cuts else self._search(query, chosen)
                if self.progress and not self.found:
                    self.progress(done, len(self.queries))
            ids = list(
                dict.fromkeys(
                    i
                    for lists in made.values()
                    for r in lists
                    for i in r.ids
                    if i not in self.entity
                )
            )
            if ids:
                self.entity.update(
                    zip(ids, self.collection.stores.catalog.entities(ids), strict=True)
                )
            self.found[key] = made
        return self.found[key]

    def _search(self, query: JudgedQuery, chosen: Variant) -> tuple[Ranking, ...]:
        self.retrieved += 1
        return self.collection.search(query.search, chosen, with_chunks=False).lists

    def _cut(self, query: JudgedQuery, chosen: Variant) -> tuple[Ranking, ...]:
        """The lists from one deep reading of the query, which the largest cap and limit that are tried fit into."""
        if query.id not in self.frozen:
            self.retrieved += 1
            depth = max((int(v) for n in CUTS[:3] for v in self.tried.get(n, ())), default=1)
            self.frozen[query.id] = freeze(self.collection, query.search, self.base, depth)
        try:
            return self.frozen[query.id].replay(chosen).lists
        except BeyondFrozen:
            return self._search(query, chosen)


class _Search:
    """The metric's mean at a setting on one half, each setting computed once."""

    def __init__(self, lists: _Lists, metric: str, side: Judged, depth: int) -> None:
        self.lists, self.metric, self.side = lists, metric, side
        self.depth, self.kept = depth, deepest([metric, *DEFAULT_METRICS], depth)
        self.known: dict[tuple[tuple[str, float], ...], float] = {}

    @property
    def tried(self) -> int:
        return len(self.known)

    def run(self, setting: Mapping[str, float]) -> Run:
        """The document rankings of this half at a setting."""
        lists, of = self.lists, self.lists.of(setting)
        fusion = with_knobs(lists.base, setting).fusion
        return {
            q: documents(fusion(of[q]).ranking.ids, lists.entity, own=lists.own[q], depth=self.kept)
            for q in self.side.ids
        }

    def values(self, setting: Mapping[str, float]) -> Mapping[str, float]:
        """The metric by query."""
        return per_query(self.run(setting), self.side.grades, [self.metric], self.depth)[
            self.metric
        ]

    def value(self, setting: Mapping[str, float]) -> float:
        key = tuple(sorted(setting.items()))
        if key not in self.known:
            found = mean(self.values(setting).values())
            assert found is not None  # a half has LEAST_QUERIES queries
            self.known[key] = found
        return self.known[key]

    def climb(
        self, own: Mapping[str, float], grids: Mapping[str, Sequence[float]]
    ) -> tuple[dict[str, float], int]:
        """The best setting, knob by knob, and how many rounds it took."""
        best, rounds, before = dict(own), 0, None
        while best != before and rounds < MOST_ROUNDS:
            before, rounds = dict(best), rounds + 1
            for knob, values in grids.items():
                best[knob] = self.best_value(best, knob, values, own[knob])
        return best, rounds

    def best_value(
        self, at: Mapping[str, float], knob: str, values: Sequence[float], own: float
    ) -> float:
        """The best value of one knob with the others as they are."""
        return min(values, key=lambda v: (-self.value({**at, knob: v}), abs(v - own), v))


def _own(known: Knob) -> float:
    """A parameter's own value as a number: no floor is the lowest one."""
    return known.low if known.value is None else known.value


def _grids(
    base: Variant, grids: Mapping[str, Sequence[float]] | None
) -> dict[str, tuple[float, ...]]:
    """The values to try of each parameter, in the variant's order. Raises BadParameter."""
    known = parameters(base)
    if not known:
        raise BadParameter("the variant has no parameter to tune", where=base.name)
    for name in grids or {}:
        if name not in known:
            raise BadParameter(
                f"{base.name} has no parameter {name!r}", do=f"It has: {', '.join(known)}"
            )
    if grids is None:
        fusion = [n for n in known if n in FROM_FUSION or n.startswith(WEIGHT)]
        grids = dict.fromkeys(fusion or known, ())
    return {n: _values(k, grids[n]) for n, k in known.items() if n in grids}


def _values(knob: Knob, given: Sequence[float]) -> tuple[float, ...]:
    if not given:
        usual = COUNT_VALUES if knob.kind == "whole" else WEIGHT_VALUES
        given = VALUES.get(knob.name, usual)
    values = tuple(sorted({*given, _own(knob)}))
    for value in values:
        if (
            not knob.low <= value <= knob.high
            or value == INFINITE
            or (knob.kind == "whole" and value != int(value))
        ):
            whole = "whole numbers" if knob.kind == "whole" else "numbers"
            most = "" if knob.high == INFINITE else f" and at most {knob.high:g}"
            raise BadParameter(
                f"{knob.name} cannot be {value}", do=f"Use {whole} of at least {knob.low:g}{most}"
            )
    return values
