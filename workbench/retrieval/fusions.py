"""Fusions: ranked lists to one ranking, on our side, with one stated tie rule.

A fusion is one formula: what each list adds to the score of a row, given the row's ranks and scores in the lists that
have it. The same formula is evaluated in floats for a search, in exact fractions to compare scores that nearly
touch, and over whole columns to answer what a parameter changes; so it uses arithmetic and `where` alone.

Ties: score descending (compared exactly, not as rounded floats), then best single rank ascending, then point id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, wraps
from itertools import pairwise
from math import fsum, inf, nextafter
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from workbench.errors import BadParameter
from workbench.registry import Entry, Stage, lookup, register
from workbench.types import PointId, Ranking, point_order

# ---- Fusions: ranked lists to one ranking, on our side, with one stated tie rule ----

TIE_RULE = "score descending, then best single rank ascending, then point id ascending"

RRF_K = 60
"""Cormack, Clarke and Büttcher 2009; the records use it. Qdrant's engine counts from 0, so its k = 61 is this."""

MAX_MIN_BONUS = 0.3
"""The notes search adds 0.3 of the weaker score to the stronger."""

# Two float sums of exact fractions that differ by less than this, or by this share of the larger one, may be the
# same fraction, or swapped.
_NEAR = 1e-12

Parts = dict[str, Any]
"""What each list adds to a row's score; empty for a row that the fusion does not rank."""


class Row(NamedTuple):
    """One row, or columns of rows: by list its 1-based rank and its score, in the lists that have it.

    Priors have a score and no rank. `sizes` has the number of rows of every list. Values are floats, fractions or arrays.
    """

    ranks: Mapping[str, Any]
    scores: Mapping[str, Any]
    sizes: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Fused:
    """A fused ranking with what each list added to each row; `math.fsum` of a row's parts is its score."""

    ranking: Ranking
    contributions: Mapping[PointId, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Traits:
    """What a fusion can do, as its registration says.

    `counts_every_list`: a further list takes part. `takes_priors`: its parameter `priors` names lists that count by
    their values. `additive`: a list adds its part whichever others have the row, and nothing at rank infinity with
    score 0. `monotone`: a better rank or score never lowers a row. `linear` names the parameters in which a score is
    linear; `rational` those in which it is a rational function with the poles -rank and -1. `over_best` are lists
    whose scores are divided by the list's best one. `about` explains parameters.
    """

    counts_every_list: bool = False
    takes_priors: bool = False
    additive: bool = False
    monotone: bool = False
    linear: tuple[str, ...] = ()
    rational: tuple[str, ...] = ()
    over_best: tuple[str, ...] = ()
    about: Mapping[str, str] = field(default_factory=dict)


def fusion(**traits: Any) -> Callable[[Callable[..., Parts]], Callable[..., Stage]]:
    """Register a formula `f(row, *, parameters) -> Parts` as a fusion with these Traits."""

    def wrap(formula: Callable[..., Parts]) -> Callable[..., Stage]:
        said = Traits(**traits)

        @wraps(formula)
        def fused(lists: Sequence[Ranking], **params: Any) -> Fused:
            return _fused(Formula(formula, said, formula.__name__, _checked(params)), lists)

        return register("fusion", formula=formula, traits=said)(fused)

    return wrap


def where(condition: Any, yes: Any, no: Any) -> Any:
    """`yes` where the condition is true, else `no`; for single values and arrays."""
    return (
        (yes if condition else no) if isinstance(condition, bool) else np.where(condition, yes, no)
    )


@fusion(
    counts_every_list=True,
    additive=True,
    monotone=True,
    linear=("weights",),
    rational=("k",),
    about={"k": "how fast a list's share falls with the rank in it"},
)
def rrf(row: Row, *, k: float = RRF_K, weights: tuple[tuple[str, float], ...] = ()) -> Parts:
    """Reciprocal rank fusion: score = Σ weight / (k + rank), ranks 1-based, lists not named weigh 1."""
    given = dict(weights)
    return {n: w / (k + rank) for n, rank in row.ranks.items() if (w := given.get(n, 1))}


@fusion(
    counts_every_list=True,
    takes_priors=True,
    additive=True,
    monotone=True,
    linear=("weights",),
    rational=("k",),
    about={"k": "how fast a list's share falls with the rank in it"},
)
def rrf_priors(
    row: Row,
    *,
    priors: tuple[str, ...],
    k: float = RRF_K,
    weights: tuple[tuple[str, float], ...] = (),
) -> Parts:
    """RRF, plus weight × value / (k + 1) for each list named in `priors`, whose ranks do not count.

    Values lie between 0 and 1, so a whole prior of weight 1 counts as a first rank in one list does. A row that no
    other list ranks, or only lists of weight 0, is not ranked.
    """
    given = dict(weights)
    parts = {n: w / (k + rank) for n, rank in row.ranks.items() if (w := given.get(n, 1))}
    if parts:
        for name in priors:
            if name in row.scores and (w := given.get(name, 1)):
                parts[name] = w * row.scores[name] / (k + 1)
    return parts


@fusion(
    monotone=True,
    linear=("bonus",),
    over_best=("lexical",),
    about={"bonus": "what the weaker of two scores adds"},
)
def max_min(row: Row, *, bonus: float = MAX_MIN_BONUS) -> Parts:
    """max + bonus × min of the lexical score over the best lexical score, and the raw cosine (notes search).

    Lists other than `lexical` and `semantic` take no part. Range 0 to 1 + bonus for scores of at least 0.
    """
    parts = {n: row.scores[n] for n in ("lexical", "semantic") if n in row.ranks}
    if len(parts) < 2:
        return parts
    full_text, cosine = parts["lexical"], parts["semantic"]
    weaker = full_text <= cosine
    return {
        "lexical": where(weaker, full_text * bonus, full_text),
        "semantic": where(weaker, cosine, cosine * bonus),
    }


@fusion(
    counts_every_list=True,
    monotone=True,
    rational=("k",),
    about={"k": "RRF's constant for the rest"},
)
def verbatim_first(row: Row, *, k: float = RRF_K) -> Parts:
    """Rows of the verbatim list first, outright, in its order; the rest by RRF: ADR 0172's rejected alternative.

    A row of the verbatim list gains a constant larger than any RRF sum; its part is named `verbatim`.
    """
    parts = {n: 1 / (k + rank) for n, rank in row.ranks.items() if n != "verbatim"}
    if "verbatim" in row.ranks:
        others = sum(n != "verbatim" for n in row.sizes)
        step = others / (k + 1) + 1
        parts["verbatim"] = step * (row.sizes["verbatim"] - row.ranks["verbatim"] + 1)
    return parts


def _minus_rank(row: Row, *, name: str) -> Parts:
    return {name: -row.ranks[name]} if name in row.ranks else {}


@register("fusion", formula=_minus_rank, traits=Traits())
def single(lists: Sequence[Ranking], *, name: str) -> Fused:
    """One list as it is: lexical and semantic mode, and each list judged alone."""
    ranking = next((r for r in lists if r.name == name), Ranking(name, (), ()))
    parts = {i: {name: s} for i, s in zip(ranking.ids, ranking.scores, strict=True)}
    return Fused(ranking, parts)


@dataclass(frozen=True, slots=True)
class Formula:
    """A fusion's formula with its parameters; `weights` is a mapping here."""

    function: Callable[..., Parts]
    traits: Traits
    name: str
    params: Mapping[str, Any]

    @property
    def priors(self) -> tuple[str, ...]:
        return self.params.get("priors", ())

    def parts(self, row: Row) -> Parts:
        return self.function(row, **self.params)

    def at(self, parameter: str, value: Any) -> Formula:
        """The formula with one parameter changed; `weights.NAME` is a list's weight."""
        params = dict(self.params)
        if parameter.startswith("weights."):
            params["weights"] = {**params["weights"], parameter.removeprefix("weights."): value}
        else:
            params[parameter] = value
        return Formula(self.function, self.traits, self.name, params)

    def ranks(self, row: Row) -> bool:
        """True if the fused ranking has the row."""
        return bool(self.parts(row))

    def exact(self, row: Row) -> Fraction:
        """The row's score as a fraction; 0 for a row that the fusion does not rank."""
        exactly = Formula(
            self.function, self.traits, self.name, {k: _exact(v) for k, v in self.params.items()}
        )
        found = Row(
            {n: Fraction(r) for n, r in row.ranks.items()},
            {n: Fraction(s) for n, s in row.scores.items()},
            row.sizes,
        )
        return sum(exactly.parts(found).values(), Fraction(0))


def formula_of(stage: Stage) -> Formula | None:
    """The formula of a fusion; None for a custom one that was registered without."""
    entry: Entry = lookup("fusion", stage.name)
    if "formula" not in entry.traits:
        return None
    return Formula(
        entry.traits["formula"], entry.traits["traits"], stage.name, _checked(dict(stage.params))
    )


def traits_of(stage: Stage) -> Traits:
    """What a fusion can do; nothing is known of a custom one."""
    return lookup("fusion", stage.name).traits.get("traits", Traits())


def rows_of(formula: Formula, lists: Sequence[Ranking]) -> dict[PointId, Row]:
    """Every row of the lists, in the order in which they have them."""
    names = [r.name for r in lists]
    if len(set(names)) != len(names):
        raise BadParameter(
            f"two lists have the same name: {names}", do="Give each list its own name"
        )
    sizes = {r.name: len(r.ids) for r in lists}
    out: dict[PointId, Row] = {}
    for ranking in lists:
        name, prior = ranking.name, ranking.name in formula.priors
        top = max(ranking.scores, default=0.0) if name in formula.traits.over_best else None
        for rank, (point_id, score) in enumerate(zip(ranking.ids, ranking.scores, strict=True), 1):
            row = out.get(point_id)
            if row is None:
                row = out[point_id] = Row({}, {}, sizes)
            if not prior:
                row.ranks[name] = rank
            row.scores[name] = score if top is None else share(score, top)
    return out


def share(score: float, top: float) -> float:
    """A score over a list's best one; 0 where the best is not above 0."""
    return score / top if top > 0 else 0.0


def falling_scores(stage: Stage, lists: Sequence[Ranking], fused: Ranking) -> tuple[float, ...]:
    """The scores of a fused ranking, never rising; a tie is a run of equal ones.

    A fusion reports each exact sum as a float, so two equal sums of different parts may differ in the last digit.
    Of a fusion without a formula, as of a single list, equal floats are ties.
    """
    formula = None if stage.name == "single" else formula_of(stage)
    rows = rows_of(formula, lists) if formula else {}

    def exact(point_id: PointId, score: float) -> Any:
        return formula.exact(rows[point_id]) if formula else score

    out: list[float] = []
    for place, score in enumerate(fused.scores):
        if not out or out[-1] - score > _NEAR * max(1.0, abs(out[-1])):
            out.append(score)
        elif exact(fused.ids[place - 1], fused.scores[place - 1]) == exact(fused.ids[place], score):
            out.append(out[-1])
        else:
            out.append(min(score, nextafter(out[-1], -inf)))
    return tuple(out)


def _checked(params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters with weights as a mapping. Raises BadParameter for a negative weight."""
    given = dict(params.get("weights", ()))
    if any(w < 0 for w in given.values()):
        raise BadParameter(f"a list's weight must be at least 0: {given}")
    return {**params, "weights": given} if "weights" in params else dict(params)


def _exact(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: _exact(v) for k, v in value.items()}
    return Fraction(value) if isinstance(value, Real) and not isinstance(value, bool) else value


def _fused(formula: Formula, lists: Sequence[Ranking]) -> Fused:
    """Order the rows. fsum is independent of the lists' order; sums that nearly touch are compared exactly."""
    rows = cache(lambda: rows_of(formula, lists))
    if formula.traits.additive:
        parts = _list_by_list(formula, lists)
    else:
        parts = {i: made for i, row in rows().items() if (made := formula.parts(row))}
    best: dict[PointId, int] = {}
    for ranking in lists:
        if ranking.name not in formula.priors:
            for rank, point_id in enumerate(ranking.ids, 1):
                best[point_id] = min(rank, best.get(point_id, rank))
    scores = {i: fsum(made.values()) for i, made in parts.items()}
    order = {i: (-score, best[i], point_order(i)) for i, score in scores.items()}
    ids = sorted(order, key=order.__getitem__)
    weights = formula.params.get("weights", {})
    by_rank = formula.traits.additive and not formula.priors

    def made_of(point_id: PointId) -> tuple[Any, ...]:
        """What a row's score is made of: equal for rows that must tie."""
        made = parts[point_id].items()
        if by_rank and not weights:
            return tuple(sorted(parts[point_id].values()))
        if by_rank:
            return tuple(sorted((part, weights.get(n, 1)) for n, part in made))
        row = rows()[point_id]
        return tuple(sorted((part, row.ranks.get(n, 0), row.scores[n]) for n, part in made))

    exact = cache(lambda of: formula.exact(rows()[first_of[of]]))
    first_of: dict[Any, PointId] = {}
    out: list[PointId] = []
    for run in _nearly_equal(ids, scores):
        made = {i: made_of(i) for i in run} if len(run) > 1 else {}
        # Most runs are the same ranks in exchanged lists: a true tie, which is ordered already.
        if len(set(made.values())) > 1:
            first_of |= {of: i for i, of in made.items()}
            run.sort(key=lambda i: (-exact(made[i]), best[i], point_order(i)))
        out += run
    numbers = ", ".join(f"{k}={v:g}" for k, v in formula.params.items() if isinstance(v, Real))
    name = f"{formula.name}({numbers})"
    return Fused(Ranking(name, tuple(out), tuple(scores[i] for i in out), TIE_RULE), parts)


def _list_by_list(formula: Formula, lists: Sequence[Ranking]) -> dict[PointId, dict[str, float]]:
    """The parts of every row of an additive fusion: each list's part computed for the whole list at once."""
    names = [r.name for r in lists]
    if len(set(names)) != len(names):
        raise BadParameter(
            f"two lists have the same name: {names}", do="Give each list its own name"
        )
    sizes = {r.name: len(r.ids) for r in lists}
    parts: dict[PointId, dict[str, float]] = {}
    for ranking in sorted(lists, key=lambda r: r.name in formula.priors):
        name = ranking.name
        prior = name in formula.priors
        # A prior has no rank, and is counted beside a list that adds nothing.
        ranks = (
            {"": np.full(sizes[name], np.inf)} if prior else {name: np.arange(1, sizes[name] + 1)}
        )
        added = formula.parts(Row(ranks, {name: np.asarray(ranking.scores)}, sizes)).get(name)
        if added is None:
            continue
        for point_id, part in zip(ranking.ids, added.tolist(), strict=True):
            if not prior:
                parts.setdefault(point_id, {})[name] = part
            elif point_id in parts:
                parts[point_id][name] = part
    return parts


def _nearly_equal(ids: list[PointId], scores: Mapping[PointId, float]) -> Iterator[list[PointId]]:
    """The ids cut into runs of float sums that nearly touch."""
    falling = [scores[i] for i in ids]
    start = 0
    for end, (above, below) in enumerate(pairwise(falling), 1):
        if above - below > _NEAR and above - below > _NEAR * abs(above):
            yield ids[start:end]
            start = end
    if ids:
        yield ids[start:]


# ---- One row put at another place of a ranking, for questions of the form "what if it stood ----


def moved(ranking: Ranking, point_id: PointId, rank: int) -> Ranking:
    """The ranking with the point at `rank` (1-based), the others in their order; it takes the score of the row
    that it displaces, or of the last one at the end. Where it stands already, nothing changes."""
    if ranking.ids[rank - 1 : rank] == (point_id,):
        return ranking
    pairs = [(i, s) for i, s in zip(ranking.ids, ranking.scores, strict=True) if i != point_id]
    place = min(rank - 1, len(pairs))
    score = pairs[min(place, len(pairs) - 1)][1] if pairs else 1.0
    pairs.insert(place, (point_id, score))
    return Ranking(
        ranking.name, tuple(i for i, _ in pairs), tuple(s for _, s in pairs), ranking.tie_rule
    )
