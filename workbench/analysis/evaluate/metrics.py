"""Metrics of our own order, by ir-measures.

Evaluators sort a run by score and break ties by document id, so they get `score = n - rank` and no ties. They
also read ids as C strings (a lone surrogate ends the process) and end it at a cutoff of 0: so ids are
numbered here, and names are checked, before anything is handed over."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, permutations, product
from math import factorial, fsum, prod
from random import Random
from typing import TYPE_CHECKING

from workbench.analysis.evaluate.judged import MAX_GRADE, Run
from workbench.errors import BadParameter
from workbench.types import PointId

if TYPE_CHECKING:
    from ir_measures import Measure

# ---- Metrics of our own order, by ir-measures ----

DEFAULT_METRICS = ("nDCG@10", "R@100", "RR", "Success@8")

DEPTH = 1_000
"""Documents of a ranking that a metric without a cutoff reads: trec_eval's usual depth."""

# Judged@k stands beside every metric: its own cutoff, or this one for a metric that has none.
JUDGED_DEPTH = 10

# Deeper than any list here; the evaluator overflows silently somewhere beyond.
MAX_CUTOFF = 1_000_000

# The providers of ir-measures that run in this process, need nothing else installed, and know our order.
_PROVIDERS = ("pytrec_eval", "judged", "msmarco", "compat")


def documents(
    chunk_ids: Iterable[PointId],
    entity_of: Mapping[PointId, str] | Callable[[PointId], str],
    *,
    own: str = "",
    depth: int | None = None,
) -> tuple[str, ...]:
    """The document ranking that is evaluated, from a chunk ranking.

    Each document has the place of its best (first) chunk. The query's own document, `own`, is left
    out, and the first `depth` of the others are kept (all where None)."""
    of = entity_of if callable(entity_of) else entity_of.__getitem__
    found = dict.fromkeys(of(chunk_id) for chunk_id in chunk_ids)
    if own:
        found.pop(own, None)
    return tuple(found)[:depth]


def cutoff(name: str) -> int | None:
    """A metric's own cutoff: 100 of `R@100`, None of `AP`."""
    found = measure(name).params.get("cutoff")
    return found if isinstance(found, int) else None


def reach(name: str, depth: int = DEPTH) -> int:
    """How many documents of a ranking a metric reads: its own cutoff, or `depth` where it has none."""
    return cutoff(name) or depth


def deepest(names: Iterable[str], depth: int = DEPTH) -> int:
    """How many documents a run keeps so that each of these metrics reads all that it should."""
    if depth < 1:
        raise BadParameter(f"a depth of {depth} reads nothing", do="Use at least 1")
    return max([depth, *(reach(name, depth) for name in names)])


def description(name: str, depth: int = DEPTH) -> str:
    """A metric with what it reads: `R@100`, but `AP (first 1,000 documents)`."""
    return name if cutoff(name) else f"{name} (first {depth:,} documents)"


@lru_cache(maxsize=256)
def measure(name: str) -> Measure:
    """The measure of a name such as `nDCG@10`, `R@100`, `RR`, `Success@8`, `P(rel=2)@5`.

    Raises BadParameter for a name that ir-measures does not know, a cutoff or `rel` below 1, and a measure
    that is not a mean over queries or needs software beyond this process."""
    import ir_measures

    try:
        found = ir_measures.parse_measure(name)
        for key, value in found.params.items():
            _in_range(key, value)
        needed = [key for key, info in found.SUPPORTED_PARAMS.items() if info.required]
        if missed := [key for key in needed if key not in found.params]:
            raise ValueError(f"it needs {', '.join(missed)}")
        if not any(ir_measures.providers.registry[p].supports(found) for p in _PROVIDERS):
            raise ValueError("it cannot be computed here")
        if type(found.aggregator()).__name__ != "MeanAgg":
            raise ValueError("it is not a mean over queries")
    except (
        ValueError,
        NameError,
        AssertionError,
        TypeError,
        KeyError,
        RecursionError,
        MemoryError,
    ) as error:
        raise BadParameter(
            f"unknown metric {name!r}: {error}",
            do="Name one such as nDCG@10, R@100, RR, Success@8, AP, P@5",
        ) from error
    return found


def metric_names(names: Sequence[str]) -> tuple[str, ...]:
    """The canonical names (`NDCG@10` is `nDCG@10`), each once, in the order given. Raises BadParameter."""
    if isinstance(names, str):
        raise BadParameter(
            f"metrics are a list of names, not the text {names!r}", do=f"Write [{names!r}]"
        )
    return tuple(dict.fromkeys(str(measure(name)) for name in names))


def judged_name(name: str) -> str:
    """The Judged@k that stands beside a metric: `Judged@8` beside `Success@8`, `Judged@10` beside `RR`."""
    return f"Judged@{reach(name, JUDGED_DEPTH)}"


def per_query(
    run: Run,
    grades: Mapping[str, Mapping[str, int]],
    names: Sequence[str],
    depth: int = DEPTH,
) -> dict[str, dict[str, float]]:
    """The value of every metric for every judged query: {canonical name: {query id: value}}.

    A metric with a cutoff reads so many documents, one without reads the first `depth`: no value
    depends on the other metrics named.
    Order is the run's own. A judged query that the run lacks, or for which it found nothing, has 0; queries
    of the run without judgements are left out. A negative grade is 0: judged and not relevant. nDCG's gain is
    the grade, its ideal list all that is judged. Raises BadParameter for a document that stands twice in a
    ranking."""
    wanted = metric_names(names)
    values = {name: dict.fromkeys(grades, 0.0) for name in wanted}
    for query in grades:
        _check(query, run.get(query, ()))
    open_ended = [name for name in wanted if not cutoff(name)]
    cut = [name for name in wanted if name not in open_ended]
    if any(len(run.get(query, ())) > depth for query in grades):
        _evaluate({q: run.get(q, ())[:depth] for q in grades}, grades, open_ended, values)
        _evaluate(run, grades, cut, values)
    else:
        _evaluate(run, grades, wanted, values)
    return values


def _evaluate(
    run: Run,
    grades: Mapping[str, Mapping[str, int]],
    names: Sequence[str],
    values: dict[str, dict[str, float]],
) -> None:
    """Put the values of these metrics into `values`; a query without results keeps its 0."""
    import ir_measures

    numbers = {query: str(n) for n, query in enumerate(grades)}
    scored: dict[str, dict[str, float]] = {}
    relevance: dict[str, dict[str, int]] = {}
    for query, number in numbers.items():
        ranking = run.get(query, ())
        keys = {d: str(n) for n, d in enumerate(dict.fromkeys([*ranking, *grades[query]]))}
        relevance[number] = {keys[d]: max(0, grade) for d, grade in grades[query].items()}
        if ranking:
            scored[number] = {
                keys[d]: float(len(ranking) - rank) for rank, d in enumerate(ranking, 1)
            }
    if scored and names:
        back = {number: query for query, number in numbers.items()}
        pipeline = ir_measures.providers.FallbackProvider(
            [ir_measures.providers.registry[p] for p in _PROVIDERS]
        )
        for found in pipeline.iter_calc([measure(n) for n in names], relevance, scored):
            values[str(found.measure)][back[found.query_id]] = float(found.value)


def mean(values: Iterable[float]) -> float | None:
    """The mean with exact summation, so that the order of queries cannot matter; None of nothing."""
    found = list(values)
    return fsum(found) / len(found) if found else None


def judged_share(run: Run, grades: Mapping[str, Mapping[str, int]], name: str) -> float | None:
    """The mean Judged@k beside a metric, over the judged queries with results; None where there are none."""
    answered = {query: docs for query, docs in grades.items() if run.get(query)}
    beside = judged_name(name)
    return mean(per_query(run, answered, [beside])[beside].values())


def _in_range(key: str, value: object) -> None:
    """Raises ValueError for a parameter that makes the evaluators compute nonsense or end the process."""
    limits = {
        "cutoff": (1, MAX_CUTOFF),
        "rel": (1, MAX_GRADE),
        "recall": (0, 1),
        "p": (0.01, 0.9999),
    }
    if key == "gains" and isinstance(value, dict):
        for part in (*value.keys(), *value.values()):
            if not isinstance(part, int) or not 0 <= part <= MAX_GRADE:
                raise ValueError(f"gains are whole numbers up to {MAX_GRADE}")
    elif key in limits and isinstance(value, int | float):
        low, high = limits[key]
        if isinstance(value, bool) or not low <= value <= high:
            raise ValueError(f"{key} must be between {low} and {high}")


def _check(query: str, ranking: Sequence[str]) -> None:
    if isinstance(ranking, str):
        raise BadParameter(
            f"a ranking is a list of document ids, not the text {ranking!r}",
            where=f"query {query!r}",
        )
    seen: set[str] = set()
    for document in ranking:
        if not isinstance(document, str):
            raise BadParameter(f"a document id is text, not {document!r}", where=f"query {query!r}")
        if document in seen:
            raise BadParameter(
                f"document {document!r} stands twice in a ranking",
                where=f"query {query!r}",
                do="Turn a chunk ranking into a document ranking with documents()",
            )
        seen.add(document)


# ---- Ties: which of them a cut splits, and how far a metric could move if they had fallen o ----

# Measures that only rise when a document of higher grade moves up past one of lower grade: for these the two
# extremes are the two sorted orders of each tie, so the range is exact.
MONOTONE = ("nDCG", "RR", "R", "AP", "P", "Success", "Rprec", "Bpref", "IPrec")

# Of any other metric every order is tried up to so many a query, beyond that as many drawn ones.
MOST_ORDERS = 120

Scored = Sequence[tuple[str, float]]
"""(document id, score), best first: scores never rise."""


@dataclass(frozen=True, slots=True)
class Tie:
    """Documents of equal score at the 1-based ranks `first` to `last`."""

    first: int
    last: int
    score: float

    @property
    def size(self) -> int:
        return self.last - self.first + 1


@dataclass(frozen=True, slots=True)
class Range:
    """What a metric is in our order, and the least and the most that it could be over all orders of the ties.

    `value`, `low` and `high` are means over `queries`, None without any; `split` are the queries whose
    ranking has a tie that the metric's cutoff splits; `moved` those with low < high. Where `exact` is False
    some queries have too many orders to try: the range is at least as wide.
    """

    metric: str
    value: float | None
    low: float | None
    high: float | None
    queries: tuple[str, ...]
    split: tuple[str, ...]
    moved: tuple[str, ...]
    exact: bool = True


def ties(scores: Sequence[float]) -> list[Tie]:
    """The groups of two or more equal scores, best first; equal means equal floats, no width."""
    _falling(scores)
    found, rank = [], 1
    for score, group in groupby(scores):
        size = len(list(group))
        if size > 1:
            found.append(Tie(rank, rank + size - 1, score))
        rank += size
    return found


def split_by(scores: Sequence[float], k: int) -> Tie | None:
    """The tie that a cut after rank k splits: by the tie rule alone some of its documents stay, others fall.

    A tie that the retrieved list itself was cut in is seen only as far as the list goes.
    """
    return next((t for t in ties(scores) if t.first <= k < t.last), None)


def metric_range(
    run: Mapping[str, Scored],
    grades: Mapping[str, Mapping[str, int]],
    metric: str,
    depth: int = DEPTH,
    seed: int = 0,
) -> Range:
    """The least and most of a metric over all orders of tied documents, for every judged query.

    Exact for Judged and the MONOTONE metrics, and for any other where a query's ties have at most MOST_ORDERS orders; `seed`
    draws the orders beyond. A metric without a cutoff reads `depth` documents. A query that the run lacks is 0 in all of them. Raises
    BadParameter for scores that rise down a ranking.
    """
    found = measure(metric)
    name, cutoff = str(found), found.params.get("cutoff")
    judged = found.NAME == "Judged"
    monotone = judged or found.NAME in MONOTONE and not {"gains", "judged_only"} & set(found.params)
    scores = {q: [score for _, score in run.get(q, ())] for q in grades}
    ours = {q: [document for document, _ in run.get(q, ())] for q in grades}
    groups = {q: ties(scores[q]) for q in grades}
    exact = monotone or all(_orders(groups[q]) <= MOST_ORDERS for q in grades)
    tried: dict[str, list[Sequence[str]]] = {}
    for q in grades:
        if not groups[q]:
            tried[q] = [ours[q]]
        elif monotone or _orders(groups[q]) > MOST_ORDERS:
            worth = dict.fromkeys(grades[q], 1) if judged else grades[q]
            sorted_orders = [_reordered(ours[q], groups[q], worth, sign) for sign in (1, -1)]
            drawn = [] if monotone else list(_drawn(ours[q], groups[q], Random(f"{seed} {q}")))
            tried[q] = [ours[q], *sorted_orders, *drawn]
        else:
            tried[q] = [ours[q], *_every(ours[q], groups[q])]
    keys = [(q, n) for q, orders in tried.items() for n in range(len(orders))]
    names = {key: str(place) for place, key in enumerate(keys)}
    values = per_query(
        {names[q, n]: tried[q][n] for q, n in keys},
        {names[q, n]: grades[q] for q, n in keys},
        [metric],
        depth,
    )[name]
    of = {q: [values[names[q, n]] for n in range(len(orders))] for q, orders in tried.items()}
    return Range(
        metric=name,
        value=mean(v[0] for v in of.values()),
        low=mean(min(v) for v in of.values()),
        high=mean(max(v) for v in of.values()),
        queries=tuple(grades),
        split=tuple(q for q in grades if isinstance(cutoff, int) and split_by(scores[q], cutoff)),
        moved=tuple(q for q in grades if min(of[q]) < max(of[q])),
        exact=exact,
    )


def _orders(groups: Sequence[Tie]) -> int:
    return prod(factorial(tie.size) for tie in groups)


def _every(ids: Sequence[str], groups: Sequence[Tie]) -> Iterator[list[str]]:
    """All orders of the ties, the ranking's own first."""
    for parts in product(*(permutations(ids[t.first - 1 : t.last]) for t in groups)):
        out = list(ids)
        for tie, part in zip(groups, parts, strict=True):
            out[tie.first - 1 : tie.last] = part
        yield out


def _drawn(ids: Sequence[str], groups: Sequence[Tie], random: Random) -> Iterator[list[str]]:
    """MOST_ORDERS random orders of the ties."""
    for _ in range(MOST_ORDERS):
        out = list(ids)
        for tie in groups:
            out[tie.first - 1 : tie.last] = random.sample(out[tie.first - 1 : tie.last], tie.size)
        yield out


def _reordered(
    ids: Sequence[str], groups: Sequence[Tie], grades: Mapping[str, int], sign: int
) -> list[str]:
    """The ranking with each tie sorted by grade, ascending for sign 1 and descending for -1."""
    out = list(ids)
    for tie in groups:
        here = slice(tie.first - 1, tie.last)
        out[here] = sorted(out[here], key=lambda d: sign * max(0, grades.get(d, 0)))
    return out


def _falling(scores: Sequence[float]) -> None:
    for rank, (above, below) in enumerate(zip(scores, scores[1:], strict=False), 1):
        if not above >= below:
            raise BadParameter(
                f"the score of rank {rank} ({above}) is below the next one ({below})"
            )
