"""A target's rank at every value of one knob: solved for rational knobs, tried value by value for the others."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from workbench.analysis.doubles import LARGEST, double, ordinal, plainest
from workbench.analysis.fusion_laws import Law, Row
from workbench.analysis.list_columns import NEVER, ListColumns
from workbench.analysis.rank_pieces import Piece, Rival, merged, swept
from workbench.analysis.sign_changes import constant_runs
from workbench.retrieval.frozen import Frozen
from workbench.retrieval.knobs import WEIGHT, Knob
from workbench.types import PointId, Result

# Beyond this no root of any pair of rows lies, and scores are still far from the smallest double.
_MOST = 2.0**500

# The least cosine that a floor can name: every row is above it.
_LEAST_COSINE = -1.0


@dataclass(frozen=True)
class Curve:
    """`pieces` over the whole domain, `now` the knob's own place; `always` are rows above the target at every value,
    one of an entity where each stands once.
    `ended` says why the domain ends before the knob's own range does, "" where it does not. `kind` tells what a
    place is: a whole number, the place of a double, or the number of a choice."""

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
        """The value at the upper end of a run; None where it has none."""
        return None if place == self.pieces[-1].last and not self.ended and self.kind != "choice" else self.value(place)

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
        """(low, high, rank) in the knob's values; high is None where there is no end."""
        return tuple((self.value(p.first), self.upper(p.last), p.rank) for p in self.pieces)

    def words(self, piece: Piece) -> str:
        """Where a piece lies, in words."""
        low, high = self.value(piece.first), self.value(piece.last)
        if self.kind == "real" and piece.first == 1:
            return "above 0" if piece.last == self.pieces[-1].last else f"above 0, to {high:g}"
        if piece.last == self.pieces[-1].last and not self.ended:
            return f"from {low:g} up" if piece.first != self.pieces[0].first else "everywhere"
        return f"at {low:g}" if low == high else f"from {low:g} to {high:g}"


def curve_of(
    frozen: Frozen, columns: ListColumns, knob: Knob, target: PointId, run: Callable[[Any], Result]
) -> Curve:
    """The curve of one knob for one target. `run` runs the search with the knob at a value."""
    if knob.kind == "choice":
        pieces = [Piece(n, n, run(choice).rank_of(target)) for n, choice in enumerate(knob.choices)]
        return Curve("choice", tuple(pieces), knob.choices.index(knob.value), "all alternatives", choices=knob.choices)
    if knob.name in ("cap", "lexical_limit", "semantic_limit"):
        return _cut(frozen, columns, knob, target)
    if knob.name == "floor":
        return _floor(columns, knob, target)
    return _solved(columns, knob, target)


def _cut(frozen: Frozen, columns: ListColumns, knob: Knob, target: PointId) -> Curve:
    """A cap or limit: every whole number up to the depth, or to the end of what there is."""
    at, side = columns.setting(), "semantic" if knob.name == "semantic_limit" else "lexical"
    reading = frozen.deep.evidence[side]
    read = len(reading.points)
    pieces, last, held = [], max(read, 1), None
    for value in range(1, last + 1):
        held = columns.rank(columns.at(replace(at, **{side: value})), target)
        pieces.append(Piece(value, value, held))
    ended = ""
    if reading.full:
        ended = f"The lists are frozen to a depth of {reading.cap:,}: a larger {knob.name.replace('_', ' ')} retrieves again."
    else:
        # All there is was read, so every larger number reads the same.
        pieces.append(Piece(last + 1, max(NEVER, last + 1), held))
    known = f"{knob.name.replace('_', ' ')} 1 to {last:,}" if ended else f"every {knob.name.replace('_', ' ')}"
    return Curve("whole", tuple(merged(pieces)), knob.value, known, ended=ended)


def _floor(columns: ListColumns, knob: Knob, target: PointId) -> Curve:
    """A floor: between two cosines that follow each other it admits the same rows."""
    at = columns.setting()
    steps = sorted({float(c) for c in columns.cosines[: min(at.semantic, len(columns.cosines))]})
    least = min([_LEAST_COSINE, *steps[:1]])  # a sum of doubles can be a little less
    low = ordinal(least)
    pieces: list[Piece] = []
    for cosine in steps:
        pieces.append(Piece(low, ordinal(cosine), columns.rank(columns.at(replace(at, floor=cosine)), target)))
        low = ordinal(cosine) + 1
    pieces.append(Piece(low, ordinal(LARGEST), columns.rank(columns.at(replace(at, floor=double(low))), target)))
    # No floor is as good as the lowest cosine held: from there on a floor refuses rows.
    own = knob.value if knob.value is not None else steps[0] if steps else least
    return Curve("real", tuple(merged(pieces)), ordinal(own), "every floor")


def _solved(columns: ListColumns, knob: Knob, target: PointId) -> Curve:
    """A rational knob: where the difference of every row to the target changes its sign."""
    held = columns.at(columns.setting())
    law, place = columns.law(held), columns.index.get(target)
    rows = columns.rows(held)
    mine = next((r for r in rows if r.id == target), None)
    low, high, now = 0, ordinal(_MOST), ordinal(float(knob.value))
    domain = f"every {knob.name.replace('.', ' of the ')}" + (" list" if knob.name.startswith(WEIGHT) else "")
    within, without = _weighing(law, knob, 1), _weighing(law, knob, 0)
    if mine is None or place is None or not within.counts(mine):
        return Curve("real", (Piece(low, high, None),), now, domain)
    head: list[Piece] = []
    if not without.counts(mine):
        head, low = [Piece(0, 0, None)], 1  # at weight 0 no list counts that holds it
    rivals = {}
    for row in rows:
        if row.id == target or not within.counts(row):
            continue
        above = _above(law, knob.name, mine, row, low, high)
        if not without.counts(row):
            above = tuple((max(first, 1), last) for first, last in above if last)
        entity = columns.labels and columns.labels[columns.index[row.id]]
        if above:
            rivals[row.id] = Rival(entity or row.id, above, bool(entity) and entity == columns.labels[place])
    always: dict[Hashable, PointId] = {}
    for point_id, rival in rivals.items():
        if rival.above == ((low, high),) and not rival.own:
            always.setdefault(rival.label, point_id)
    pieces = merged([*head, *swept(rivals.values(), low, high)])
    return Curve("real", tuple(pieces), now, domain, always=tuple(always.values()))


def _above(law: Law, knob: str, target: Row, rival: Row, low: int, high: int) -> tuple[tuple[int, int], ...]:
    """The runs of places at which a rival stands above the target."""
    wins = law.tie(rival) < law.tie(target)
    out: list[tuple[int, int]] = []
    for first, last, sign in constant_runs(law.difference(knob, target, rival), low, high):
        if sign < 0 or (sign == 0 and wins):
            if out and out[-1][1] + 1 == first:
                out[-1] = (out[-1][0], last)
            else:
                out.append((first, last))
    return tuple(out)


def _weighing(law: Law, knob: Knob, weight: float) -> Law:
    """The law with the knob's list at another weight; the same where the knob is no weight."""
    if not knob.name.startswith(WEIGHT):
        return law
    weights = {**dict(law.fusion["weights"]), knob.name.removeprefix(WEIGHT): weight}
    return replace(law, fusion=law.fusion.replace(weights=weights))
