"""What would have to change: the smallest change of one knob that brings a target into the first N.

Exact over frozen lists. A knob under which scores are rational functions (RRF's k, a list's weight, max_min's
bonus) is solved: every value at which a row changes places with the target is found among the doubles. A cap, a
limit or a floor is tried at every value within the depth, a choice at every alternative. What is found is run
before it is told; that no value does is told with the best rank over all values and what stands above throughout.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, Literal

from workbench.analysis.beyond_depth import Bound, bound
from workbench.analysis.knob_curves import Curve, curve_of
from workbench.analysis.list_columns import ListColumns
from workbench.analysis.rank_pieces import best, nearest_within, rank_at
from workbench.errors import WorkbenchError
from workbench.retrieval.frozen import Frozen
from workbench.retrieval.knobs import Knob, knobs, with_knobs
from workbench.retrieval.variant import Variant, variant
from workbench.text import counted
from workbench.types import Mode, PointId, Result

PAGE = 8
"""The first page of the records' searches."""

Verdict = Literal["holds already", "found", "none", "beyond the depth"]


class NotReproduced(WorkbenchError):
    """A counterfactual that its own run does not bear out: a fault of the workbench, never to be told as a finding."""


@dataclass(frozen=True, slots=True)
class Move:
    """One other row of a first page, before or after: its ranks, None where the ranking lacks it."""

    id: PointId
    before: int | None
    after: int | None


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """One knob's answer. `value` is the nearest to `now` that brings the target into the first `first`, `rank` the
    rank there; `plain` is the shortest number of the same run of values, `low` to `high`, and `plain_rank` the rank
    there. Where nothing does, `best_rank` is the best over all values, `best` a plain value that brings it, and
    `proof` says why. `moves` are the other rows that stand in the first `first` before or after, at `plain`. `curve`
    is the rank at every value.
    """

    knob: str
    about: str
    first: int
    verdict: Verdict
    now: Any
    rank_now: int | None
    value: Any = None
    rank: int | None = None
    plain: Any = None
    plain_rank: int | None = None
    low: Any = None
    high: Any = None
    best_rank: int | None = None
    best: Any = None
    proof: str = ""
    always_above: tuple[PointId, ...] = ()
    moves: tuple[Move, ...] = ()
    curve: tuple[tuple[Any, Any, int | None], ...] = field(default=(), repr=False)

    @property
    def moved(self) -> int:
        """How many other rows of the first page come, go or change places."""
        return sum(m.before != m.after for m in self.moves)

    @property
    def change(self) -> dict[str, Any]:
        """The knob and its plain value, as `with_knobs` takes it; empty where nothing is to be turned."""
        return {self.knob: self.plain} if self.verdict == "found" else {}


def counterfactuals(
    frozen: Frozen, target: PointId, spec: str | Variant | None = None, *, first: int = PAGE,
    mode: Mode = "hybrid", only: Sequence[str] | None = None,
) -> tuple[Counterfactual, ...]:  # fmt: skip
    """One answer for every knob that frozen lists answer: first those that bring the target in, the fewest other rows
    of the page moved first, then the rest by the best rank that any value brings. `spec` is the variant as its knobs
    stand now, by default the frozen one; `only` names the knobs that are asked.

    Raises BeyondFrozen where the variant itself needs more than was frozen.
    """
    chosen = frozen.variant if spec is None else variant(spec)
    now = frozen.replay(chosen, mode=mode, limit=first, offset=0)
    columns = ListColumns(frozen, chosen, mode)
    known = knobs(chosen, mode)
    asked = [k for k in known.values() if not k.again and columns.answers(k) and (only is None or k.name in only)]
    answers = [_answer(frozen, now, columns, knob, target, first) for knob in asked]
    order = {"found": 0, "holds already": 1, "beyond the depth": 2, "none": 3}

    def nearness(c: Counterfactual) -> float:
        return c.moved if c.verdict == "found" else 0 if c.verdict == "holds already" else inf if c.best_rank is None else c.best_rank

    return tuple(sorted(answers, key=lambda c: (order[c.verdict], nearness(c))))


def _answer(frozen: Frozen, now: Result, columns: ListColumns, knob: Knob, target: PointId, first: int) -> Counterfactual:
    chosen: Variant = now.evidence["variant"]
    rank_now = now.rank_of(target)
    told = {"knob": knob.name, "about": knob.about, "first": first, "now": knob.value, "rank_now": rank_now}

    def run(value: Any) -> Result:
        return frozen.replay(with_knobs(chosen, {knob.name: value}, now.query.mode), mode=now.query.mode, limit=first, offset=0)

    curve = curve_of(frozen, columns, knob, target, run)
    if rank_at(curve.pieces, curve.now) != rank_now:
        raise NotReproduced(f"the curve of {knob.name} says rank {rank_at(curve.pieces, curve.now)} where the search says {rank_now}")
    told["curve"] = curve.told
    if knob.kind == "choice":
        return _chosen(curve, run, now, target, told)
    found = nearest_within(curve.pieces, first, curve.now, curve.exact)
    top = best(curve.pieces)
    told["best_rank"] = top.rank if top else None
    if found is None:
        told["best"] = curve.plain(top, min(max(curve.now, top.first), top.last)) if top else None
        side = "semantic" if knob.name == "semantic_limit" else "lexical"
        bounds = bound(frozen, columns, side, target, first) if curve.ended else None
        verdict: Verdict = "beyond the depth" if curve.ended and bounds is None else "none"
        return Counterfactual(verdict=verdict, proof=_proof(curve, told, bounds), always_above=curve.always, **told)
    place, run_of = found
    value, low, high = curve.value(place), curve.value(run_of.first), curve.upper(run_of.last)
    if rank_now is not None and rank_now <= first:
        return Counterfactual(verdict="holds already", value=knob.value, rank=rank_now, plain=knob.value, plain_rank=rank_now,
                              low=low, high=high, **told)  # fmt: skip
    plain = curve.plain(run_of, place)
    results = {v: run(v) for v in dict.fromkeys((value, plain))}
    promised = {value: run_of.rank, plain: rank_at(curve.pieces, curve.place(plain))}
    for v, result in results.items():
        _check(knob.name, v, promised[v], result.rank_of(target))
    return Counterfactual(
        verdict="found", value=value, rank=run_of.rank, plain=plain, plain_rank=promised[plain], low=low, high=high,
        moves=moves(now, results[plain], target, first), **told,
    )  # fmt: skip


def _chosen(curve: Curve, run: Any, now: Result, target: PointId, told: Mapping[str, Any]) -> Counterfactual:
    """Of the alternatives that bring the target in, the one that moves the fewest other rows; then the first."""
    first, rank_now = told["first"], told["rank_now"]
    ranks = {choice: rank for choice, _, rank in curve.told}
    top = min((r for r in ranks.values() if r is not None), default=None)
    told = {**told, "best_rank": top}
    if rank_now is not None and rank_now <= first:
        return Counterfactual(verdict="holds already", value=told["now"], rank=rank_now, plain=told["now"], plain_rank=rank_now, **told)
    within = [(c, r) for c, r in ranks.items() if r is not None and r <= first]
    if not within:
        proof = f"Each of {len(ranks)} alternatives was run: " + ", ".join(f"{_word(c)} brings {r or 'no rank'}" for c, r in ranks.items()) + "."
        return Counterfactual(verdict="none", proof=proof, best=next((c for c, r in ranks.items() if r == top), None) if top else None, **told)
    moved = {choice: moves(now, run(choice), target, first) for choice, _ in within}
    choice, rank = min(within, key=lambda w: sum(m.before != m.after for m in moved[w[0]]))
    return Counterfactual(verdict="found", value=choice, rank=rank, plain=choice, plain_rank=rank, moves=moved[choice], **told)


def moves(before: Result, after: Result, target: PointId, first: int) -> tuple[Move, ...]:
    """The other rows of either first page, by their rank before, new ones last by their rank after."""
    ids = dict.fromkeys([*before.fused.ids[:first], *after.fused.ids[:first]])
    old, new = before.fused.ranks(), after.fused.ranks()
    return tuple(Move(i, old.get(i), new.get(i)) for i in ids if i != target)


def _check(knob: str, value: Any, promised: int | None, found: int | None) -> None:
    if promised != found:
        raise NotReproduced(f"{knob} = {value!r} was to bring rank {promised} and brings {found}")


def _word(choice: Any) -> str:
    return ("no", "yes")[choice] if isinstance(choice, bool) else str(choice)


def _proof(curve: Curve, told: Mapping[str, Any], bounds: Bound | None) -> str:
    top, first = best(curve.pieces), told["first"]
    if top is None:
        said = [f"Over {curve.domain}, no list that the fusion counts holds it."]
    else:
        said = [f"Its best rank over {curve.domain} is {top.rank}, {curve.words(top)}."]
    if len(curve.always) >= first:
        said.append(f"{counted(len(curve.always), 'row stands', 'rows stand')} above it at every value.")
    elif curve.always:
        said.append(f"{len(curve.always)} of the rows above it {'stands' if len(curve.always) == 1 else 'stand'} there at every value; with the others it "
                    f"changes places at {counted(len(curve.pieces) - 1, 'value')}, all looked at.")  # fmt: skip
    return " ".join([*said, *([curve.ended] if curve.ended else []), *([str(bounds)] if bounds else [])])
