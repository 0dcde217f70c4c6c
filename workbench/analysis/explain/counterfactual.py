"""What would have to change: the smallest change of one knob that brings a target into the first N.

Exact over frozen lists. A knob under which scores are rational functions (RRF's k, a list's weight, max_min's
bonus) is solved: every value at which a row changes places with the target is found among the floats. A cap, a limit,
a floor and a fusion's whole numbers are tried at every value within the depth, a choice at every alternative. What is
found is run before it is reported; that no value helps is reported with the best rank over all values and the rows
that are above throughout.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import inf
from typing import Any, Literal, NamedTuple

from workbench.analysis.explain.knob_ranks import (
    LARGEST,
    NEVER,
    ListColumns,
    Piece,
    Rival,
    RowsOf,
    best,
    differences,
    double,
    merged,
    nearest_within,
    ordinal,
    plainest,
    rank_at,
    sign_runs,
    swept,
)
from workbench.bm25 import K1, B
from workbench.errors import WorkbenchError
from workbench.registry import Stage
from workbench.retrieval.context import Candidates, Context
from workbench.retrieval.frozen import Frozen
from workbench.retrieval.fusions import Row, formula_of
from workbench.retrieval.search import scope
from workbench.retrieval.variant import PRIOR, WEIGHT, Knob, Variant, knobs, variant, with_knobs
from workbench.text import counted
from workbench.types import Mode, PointId, Query, Ranking, Result

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
    frozen: Frozen,
    target: PointId,
    spec: str | Variant | None = None,
    *,
    first: int = PAGE,
    mode: Mode = "hybrid",
    only: Sequence[str] | None = None,
) -> tuple[Counterfactual, ...]:
    """One answer for every knob that frozen lists answer: first those that bring the target in, the fewest other rows
    of the page moved first, then the rest by the best rank that any value brings. `spec` is the variant as its knobs
    stand now, by default the frozen one; `only` names the knobs that are asked.

    Raises BeyondFrozen where the variant itself needs more than was frozen.
    """
    chosen = frozen.variant if spec is None else variant(spec)
    now = frozen.replay(chosen, mode=mode, limit=first, offset=0)
    columns = ListColumns(frozen, chosen, mode)
    known = knobs(chosen, mode)
    asked = [k for k in known.values() if not k.again and (only is None or k.name in only)]
    answers = [
        _answer(frozen, now, columns, knob, target, first)
        for knob in asked
        if _answers(columns, knob)
    ]
    order = {"found": 0, "holds already": 1, "beyond the depth": 2, "none": 3}

    def nearness(c: Counterfactual) -> float:
        return (
            c.moved
            if c.verdict == "found"
            else 0
            if c.verdict == "holds already"
            else inf
            if c.best_rank is None
            else c.best_rank
        )

    return tuple(sorted(answers, key=lambda c: (order[c.verdict], nearness(c))))


def _answer(
    frozen: Frozen, now: Result, columns: ListColumns, knob: Knob, target: PointId, first: int
) -> Counterfactual:
    chosen: Variant = now.evidence["variant"]
    rank_now = now.rank_of(target)
    told = {
        "knob": knob.name,
        "about": knob.about,
        "first": first,
        "now": knob.value,
        "rank_now": rank_now,
    }

    def run(value: Any) -> Result:
        return frozen.replay(
            with_knobs(chosen, {knob.name: value}, now.query.mode),
            mode=now.query.mode,
            limit=first,
            offset=0,
        )

    curve = _curve(frozen, columns, knob, target, run)
    if rank_at(curve.pieces, curve.now) != rank_now:
        raise NotReproduced(
            f"the curve of {knob.name} says rank {rank_at(curve.pieces, curve.now)} where the search says {rank_now}"
        )
    told["curve"] = curve.told
    if knob.kind == "choice":
        return _chosen(curve, run, now, target, told)
    found = nearest_within(curve.pieces, first, curve.now, curve.exact)
    top = best(curve.pieces)
    told["best_rank"] = top.rank if top else None
    if found is None:
        told["best"] = curve.plain(top, min(max(curve.now, top.first), top.last)) if top else None
        side = "semantic" if knob.name == "semantic_limit" else "lexical"
        bounds = _bound(frozen, columns, side, target, first) if curve.ended else None
        verdict: Verdict = "beyond the depth" if curve.ended and bounds is None else "none"
        return Counterfactual(
            verdict=verdict, proof=_proof(curve, told, bounds), always_above=curve.always, **told
        )
    place, run_of = found
    value, low, high = curve.value(place), curve.value(run_of.first), curve.upper(run_of.last)
    if rank_now is not None and rank_now <= first:
        return Counterfactual(
            verdict="holds already",
            value=knob.value,
            rank=rank_now,
            plain=knob.value,
            plain_rank=rank_now,
            low=low,
            high=high,
            **told,
        )
    plain = curve.plain(run_of, place)
    results = {v: run(v) for v in dict.fromkeys((value, plain))}
    promised = {value: run_of.rank, plain: rank_at(curve.pieces, curve.place(plain))}
    for v, result in results.items():
        _check(knob.name, v, promised[v], result.rank_of(target))
    return Counterfactual(
        verdict="found",
        value=value,
        rank=run_of.rank,
        plain=plain,
        plain_rank=promised[plain],
        low=low,
        high=high,
        moves=moves(now, results[plain], target, first),
        **told,
    )


def _chosen(
    curve: Curve, run: Any, now: Result, target: PointId, told: Mapping[str, Any]
) -> Counterfactual:
    """Of the alternatives that bring the target in, the one that moves the fewest other rows; then the first."""
    first, rank_now = told["first"], told["rank_now"]
    ranks = {choice: rank for choice, _, rank in curve.told}
    top = min((r for r in ranks.values() if r is not None), default=None)
    told = {**told, "best_rank": top}
    if rank_now is not None and rank_now <= first:
        return Counterfactual(
            verdict="holds already",
            value=told["now"],
            rank=rank_now,
            plain=told["now"],
            plain_rank=rank_now,
            **told,
        )
    within = [(c, r) for c, r in ranks.items() if r is not None and r <= first]
    if not within:
        proof = (
            f"Each of {len(ranks)} alternatives was run: "
            + ", ".join(f"{_word(c)} brings {r or 'no rank'}" for c, r in ranks.items())
            + "."
        )
        return Counterfactual(
            verdict="none",
            proof=proof,
            best=next((c for c, r in ranks.items() if r == top), None) if top else None,
            **told,
        )
    moved = {choice: moves(now, run(choice), target, first) for choice, _ in within}
    choice, rank = min(within, key=lambda w: sum(m.before != m.after for m in moved[w[0]]))
    return Counterfactual(
        verdict="found",
        value=choice,
        rank=rank,
        plain=choice,
        plain_rank=rank,
        moves=moved[choice],
        **told,
    )


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
        said.append(
            f"{counted(len(curve.always), 'row stands', 'rows stand')} above it at every value."
        )
    elif curve.always:
        said.append(
            f"{len(curve.always)} of the rows above it {'stands' if len(curve.always) == 1 else 'stand'} there at every value; with the others it "
            f"changes places at {counted(len(curve.pieces) - 1, 'value')}, all looked at."
        )
    return " ".join(
        [*said, *([curve.ended] if curve.ended else []), *([str(bounds)] if bounds else [])]
    )


# Beyond this no root of any pair of rows lies, and scores are still far from the smallest float.
_MOST = 2.0**500

# The least cosine that a floor can name: every row is above it.
_LEAST_COSINE = -1.0


@dataclass(frozen=True)
class Curve:
    """The target's rank at every value of one knob: `pieces` over the whole domain, `now` the knob's current place.

    `always` are rows above the target at every value, one of an entity if each counts once. `ended` says why the
    domain ends before the knob's own range does, "" if it does not. `kind` says what a place is: a whole number, the
    ordinal of a float, or the number of a choice."""

    kind: str
    pieces: tuple[Piece, ...]
    now: int
    domain: str
    always: tuple[PointId, ...] = ()
    ended: str = ""
    choices: tuple[Any, ...] = ()

    def value(self, place: int) -> Any:
        if self.kind == "choice":
            return self.choices[place]
        return place if self.kind == "whole" else double(place)

    def exact(self, place: int) -> Fraction:
        return Fraction(self.value(place)) if self.kind == "real" else Fraction(place)

    def place(self, value: Any) -> int:
        return ordinal(value) if self.kind == "real" else int(value)

    def upper(self, place: int) -> Any:
        """The value at the upper end of a run; None if it has none."""
        open_end = place == self.pieces[-1].last and not self.ended and self.kind != "choice"
        return None if open_end else self.value(place)

    def plain(self, run: Piece, place: int) -> Any:
        """The shortest number of a run that is entered at a place, not far beyond it: by half of the change or a
        twentieth of the value, whichever is more."""
        near, now = self.value(place), self.value(self.now)
        if self.kind != "real" or place == self.now:
            return near
        further = max(abs(near - now) / 2, max(abs(near), abs(now)) / 20)
        low, high = sorted((near, near + further if near > now else near - further))
        if low <= 0 < near:
            low = double(1)  # nothing at all is another thing than a little
        return plainest(max(low, self.value(run.first)), min(high, self.value(run.last)), near)

    @property
    def told(self) -> tuple[tuple[Any, Any, int | None], ...]:
        """(low, high, rank) in the knob's values; high is None at an open end."""
        return tuple((self.value(p.first), self.upper(p.last), p.rank) for p in self.pieces)

    def words(self, piece: Piece) -> str:
        """The range of a piece, in words."""
        low, high = self.value(piece.first), self.value(piece.last)
        if self.kind == "real" and piece.first == 1:
            return "above 0" if piece.last == self.pieces[-1].last else f"above 0, to {high:g}"
        if piece.last == self.pieces[-1].last and not self.ended:
            return f"from {low:g} up" if piece.first != self.pieces[0].first else "everywhere"
        return f"at {low:g}" if low == high else f"from {low:g} to {high:g}"


def _answers(columns: ListColumns, knob: Knob) -> bool:
    """True if the rank under a knob is known: a fusion says how scores depend on its real numbers."""
    if knob.kind != "real" or knob.name == "floor":
        return True
    formula = formula_of(columns.fusion)
    solved = (*formula.traits.linear, *formula.traits.rational) if formula else ()
    return _parameter(knob).partition(".")[0] in solved


def _parameter(knob: Knob) -> str:
    """The name of a knob as its fusion's formula has it."""
    return knob.name.replace(WEIGHT, "weights.", 1) if knob.name.startswith(WEIGHT) else knob.name


def _curve(
    frozen: Frozen, columns: ListColumns, knob: Knob, target: PointId, run: Callable[[Any], Result]
) -> Curve:
    """The curve of one knob for one target. `run` runs the search with the knob at a value."""
    if knob.kind == "choice":
        pieces = [Piece(n, n, run(choice).rank_of(target)) for n, choice in enumerate(knob.choices)]
        now = knob.choices.index(knob.value)
        return Curve("choice", tuple(pieces), now, "all alternatives", choices=knob.choices)
    if knob.name in ("cap", "lexical_limit", "semantic_limit"):
        return _cut(frozen, columns, knob, target)
    if knob.name == "floor":
        return _floor(columns, knob, target)
    return (
        _tried(frozen, columns, knob, target)
        if knob.kind == "whole"
        else _solved(columns, knob, target)
    )


def _cut(frozen: Frozen, columns: ListColumns, knob: Knob, target: PointId) -> Curve:
    """A cap or limit: every whole number up to the depth, or to the end of what there is."""
    at, side = columns.setting(), "semantic" if knob.name == "semantic_limit" else "lexical"
    reading = frozen.deep.evidence[side]
    read = len(reading.points)
    pieces, last, held = [], max(read, 1), None
    for value in range(1, last + 1):
        held = columns.rank(columns.at(replace(at, **{side: value})), target)
        pieces.append(Piece(value, value, held))
    ended, name = "", knob.name.replace("_", " ")
    if reading.full:
        ended = (
            f"The lists are frozen to a depth of {reading.cap:,}: a larger {name} retrieves again."
        )
    else:
        # All there is was read, so every larger number reads the same.
        pieces.append(Piece(last + 1, max(NEVER, last + 1), held))
    known = f"{name} 1 to {last:,}" if ended else f"every {name}"
    return Curve("whole", tuple(merged(pieces)), knob.value, known, ended=ended)


def _tried(frozen: Frozen, columns: ListColumns, knob: Knob, target: PointId) -> Curve:
    """A whole number of a fusion: every value from 1 to the depth of the lists, and the current one."""
    held, last = columns.at(columns.setting()), max(frozen.depth, knob.value)
    pieces = [
        Piece(v, v, columns.rank(held, target, columns.fusion.replace(**{knob.name: v})))
        for v in range(1, last + 1)
    ]
    ended = f"Values of {knob.name} above {last:,} were not tried."
    return Curve(
        "whole", tuple(merged(pieces)), knob.value, f"{knob.name} 1 to {last:,}", ended=ended
    )


def _floor(columns: ListColumns, knob: Knob, target: PointId) -> Curve:
    """A floor: between two cosines that follow each other it admits the same rows."""
    at = columns.setting()
    steps = sorted({float(c) for c in columns.cosines[: min(at.semantic, len(columns.cosines))]})
    least = min([_LEAST_COSINE, *steps[:1]])  # a sum of floats can be a little less
    low = ordinal(least)
    pieces: list[Piece] = []
    for cosine in steps:
        rank = columns.rank(columns.at(replace(at, floor=cosine)), target)
        pieces.append(Piece(low, ordinal(cosine), rank))
        low = ordinal(cosine) + 1
    beyond = columns.rank(columns.at(replace(at, floor=double(low))), target)
    pieces.append(Piece(low, ordinal(LARGEST), beyond))
    # No floor is as good as the lowest cosine there is: from there on a floor refuses rows.
    own = knob.value if knob.value is not None else steps[0] if steps else least
    return Curve("real", tuple(merged(pieces)), ordinal(own), "every floor")


def _solved(columns: ListColumns, knob: Knob, target: PointId) -> Curve:
    """A rational knob: where the difference of every row to the target changes its sign."""
    parameter = _parameter(knob)
    rows = RowsOf(columns, columns.at(columns.setting()), formula_of(columns.fusion))
    low, high, now = 0, ordinal(_MOST), ordinal(float(knob.value))
    is_weight = knob.name.startswith(WEIGHT)
    domain = f"every {knob.name.replace('.', ' of the ')}" + (" list" if is_weight else "")
    within, without = (rows.formula.at(parameter, x) if is_weight else rows.formula for x in (1, 0))
    held = {int(n): rows.row(int(n)) for n in rows.held()}
    place = columns.index.get(target)
    mine = held.get(place)
    if mine is None or not within.ranks(mine):
        return Curve("real", (Piece(low, high, None),), now, domain)
    head: list[Piece] = []
    if not without.ranks(mine):
        head, low = [Piece(0, 0, None)], 1  # at weight 0 no list counts that has it
    others = [n for n, row in held.items() if n != place and within.ranks(row)]
    signs = differences(rows, parameter, place, others)
    rivals = {}
    for other in others:
        wins = rows.tie(other) < rows.tie(place)
        above = _joined(
            [
                (a, b)
                for a, b, sign in sign_runs(signs[other], low, high)
                if sign < 0 or (sign == 0 and wins)
            ]
        )
        if not without.ranks(held[other]):
            above = tuple((max(a, 1), b) for a, b in above if b)
        entity = columns.labels and columns.labels[other]
        if above:
            own = bool(entity) and entity == columns.labels[place]
            rivals[columns.ids[other]] = Rival(entity or columns.ids[other], above, own)
    always: dict[Hashable, PointId] = {}
    for point_id, rival in rivals.items():
        if rival.above == ((low, high),) and not rival.own:
            always.setdefault(rival.label, point_id)
    pieces = merged([*head, *swept(rivals.values(), low, high)])
    return Curve("real", tuple(pieces), now, domain, always=tuple(always.values()))


def _joined(runs: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Runs that touch as one."""
    out: list[tuple[int, int]] = []
    for first, last in runs:
        if out and out[-1][1] + 1 == first:
            first = out.pop()[0]
        out.append((first, last))
    return tuple(out)


class Bound(NamedTuple):
    """The target's score is at most `supremum`; `above` rows have at least `infimum` each, whatever is read."""

    supremum: float
    infimum: float
    above: int

    def __str__(self) -> str:
        return (
            f"Beyond it the target's score is at most {self.supremum:.6f}, and {self.above} other rows have at least "
            f"{self.infimum:.6f} whatever is read."
        )


def _bound(
    frozen: Frozen, columns: ListColumns, side: str, target: PointId, first: int
) -> Bound | None:
    """The proof that no reading of the `side` list ("lexical" or "semantic") beyond the depth brings the target into
    the first `first`; None if these bounds leave it open.

    A larger reading leaves every row of the frozen lists in them. In the list that grows by rank (nearest rows) the
    ranks stay; in a list that is ordered anew (candidates by BM25, a derived list) a row only falls. So the target's
    score has a supremum and every other row's an infimum; if enough infima are above it, no reading helps. Asks the
    catalog for the target's own BM25 score, and the engine for its payload, if the frozen lists lack them.
    """
    held, formula = columns.at(columns.deepest(side)), formula_of(columns.fusion)
    if formula is None or not formula.traits.monotone:
        return None
    rows = RowsOf(columns, held, formula)
    highest = _at_best(frozen, rows, side, target)
    supremum = formula.exact(highest) if formula.ranks(highest) else Fraction(-1)
    most = frozen.collection.stores.catalog.n
    anew = {*columns.derived.values(), *(["lexical"] if side == "lexical" else [])}
    infima: dict[object, Fraction] = {}
    own = columns.labels and frozen.entities.get(target)
    for place in map(int, rows.held()):
        row = rows.row(place)
        label = columns.labels[place] if columns.labels else columns.ids[place]
        if columns.ids[place] == target or (own and label == own) or not formula.ranks(row):
            continue
        ranks = {n: most if n in anew else r for n, r in row.ranks.items()}
        lost = anew & set(formula.traits.over_best)
        scores = {n: 0.0 if n in lost else s for n, s in row.scores.items()}
        least = formula.exact(Row(ranks, scores, dict.fromkeys(rows.sizes, most)))
        infima[label] = max(infima.get(label, least), least)
    above = sorted((s for s in infima.values() if s > supremum), reverse=True)
    return (
        Bound(float(supremum), float(above[first - 1]), len(above)) if len(above) >= first else None
    )


def _at_best(frozen: Frozen, rows: RowsOf, side: str, target: PointId) -> Row:
    """The target's row with the best ranks that a deeper reading could give it."""
    columns, held = rows.lists, rows.columns
    place = columns.index.get(target)
    ranks = (
        {n: int(r[place]) for n, (r, _) in held.items() if r[place]} if place is not None else {}
    )
    scores = {n: float(held[n][1][place]) for n in ranks}

    def join(name: str, score: float | None) -> None:
        """Give the target the rank that its score has in a list; None is a target that never comes into it."""
        if score is not None:
            column, known = held[name]
            ranks[name], scores[name] = int((known[column > 0] > score).sum()) + 1, score

    def bm25(stage: Stage) -> float | None:
        """The target's BM25 score as a stage counts it."""
        stores = frozen.collection.stores
        repeats = stage.get("repeats", stage.kind == "channel")
        terms = Context(stores).terms(frozen.query, repeats=repeats)
        k1, b = stage.get("k1", K1), stage.get("b", B)
        return stores.catalog.bm25_of([target], terms, k1, b).get(target) if terms else None

    if side == "semantic" and side not in ranks:
        cosines = held["semantic"][1][held["semantic"][0] > 0]
        ranks[side], scores[side] = len(cosines) + 1, float(cosines.min(initial=1.0))
    elif side not in ranks:
        channel = columns.variant.lexical
        # A list that scores in a way of its own: the best score there is.
        known = channel.name in ("lexical", "lexical_bm25")
        join(
            side,
            bm25(channel) if known else float(held["lexical"][1].max(initial=0.0)),
        )
    for stage, name in columns.derived.items():
        alone = _of_target(frozen, stage, target) if name not in ranks else Ranking(name, (), ())
        if alone.ids and stage.kind == PRIOR:
            ranks[name], scores[name] = 1, alone.scores[0]
        elif alone.ids:
            join(name, bm25(stage) or 0.0)
    return rows.made(ranks, scores)


def _of_target(frozen: Frozen, stage: Stage, target: PointId) -> Ranking:
    """The derived list of a reading that has the target alone: empty if the target never comes into it."""
    stores, q = frozen.collection.stores, frozen.query
    query = Query(q.text, dict(q.filters))
    points = tuple(stores.points.retrieve([target]))
    ctx = Context(stores, scope(query))
    ctx.evidence["lexical"] = Candidates(points, ("by id",) * len(points), 1)
    ctx.lists = (Ranking("lexical", (target,), (1.0,)),)
    return stage(query, ctx)
