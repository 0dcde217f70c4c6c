"""Small drawings as SVG text: they stand in a widget and in an exported page alike, with no script and no network."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from markupsafe import Markup

from workbench.analysis.evaluate.rankings import NO_LIST, RankComparison
from workbench.analysis.explain.explain import Explanation
from workbench.reporting.theme import CATEGORIES, FAINT, LIST_COLOURS
from workbench.reporting.widgets.bench import View
from workbench.reporting.widgets.markup import shown
from workbench.reporting.words import knob_label
from workbench.types import PointId

# ---- Small drawings as SVG text: they stand in a widget and in an exported page alike, with ----

BAD = "var(--bad)"
"""The target's colour, as the page has it in light and dark."""

ABSENT = "absent"


class Line(NamedTuple):
    """One row through the columns of a drawing: its rank in each, None where it is absent; `strong` is the target."""

    label: str
    ranks: tuple[int | None, ...]
    strong: bool = False
    colour: str = ""


def svg(width: float, height: float, parts: Sequence[Markup], title: str) -> Markup:
    """One drawing, as wide as its place at the most. `title` is what a screen reader says."""
    return Markup(
        '<svg class="drawing" viewBox="0 0 {0:g} {1:g}" width="{0:g}" height="{1:g}" role="img" aria-label="{2}">{3}</svg>'
    ).format(width, height, title, Markup("").join(parts))


def text(
    x: float,
    y: float,
    words: object,
    *,
    anchor: str = "start",
    css: str = "",
    colour: str = "",
    limit: int = 44,
) -> Markup:
    style = Markup(' style="fill:{}"').format(colour) if colour else ""
    return Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}" class="{}"{}>{}</text>').format(
        x, y, anchor, css, style, shown(words, limit)
    )


def rank_lines(
    columns: Sequence[str], lines: Sequence[Line], title: str, *, note: str = ""
) -> Markup:
    """Columns of ranks, one line a row. In a column the rows stand in their order, each with its rank; what the column
    lacks stands below, as absent. A row's label stands at the last column."""
    row, top, left, gap, right = 24, 44, 70, 150, 340
    width = left + gap * (len(columns) - 1) + right
    orders = [_ordered([line.ranks[c] for line in lines]) for c in range(len(columns))]
    height = top + row * max(len(lines), 1) + (26 if note else 8)
    parts = [
        text(
            left + gap * c,
            18,
            name,
            anchor="middle",
            css="head",
            colour="" if name == "fused" else LIST_COLOURS.get(name, ""),
        )
        for c, name in enumerate(columns)
    ]
    for number, line in sorted(enumerate(lines), key=lambda p: p[1].strong):
        points = [(left + gap * c, top + row * orders[c][number]) for c in range(len(columns))]
        parts.append(_line_of(line, points, right))
    if note:
        parts.append(text(left - 56, height - 8, note, css="note", limit=120))
    return svg(width, height, parts, title)


def _line_of(line: Line, points: Sequence[tuple[float, float]], right: float) -> Markup:
    colour = BAD if line.strong else line.colour or "var(--soft)"
    parts = []
    for (x1, y1), (x2, y2), a, b in zip(
        points, points[1:], line.ranks, line.ranks[1:], strict=False
    ):
        dash = (
            ""
            if a is not None and b is not None
            else Markup(' stroke-dasharray="2 4" opacity="0.5"')
        )
        middle = (x1 + x2) / 2
        x1, x2 = (
            x1 + (8 if a is None else 0),
            x2 - (8 if b is None else 0),
        )  # the word is wider than a number
        parts.append(
            Markup('<path d="M{:.1f} {:.1f}C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}"{}/>').format(
                x1 + 15, y1, middle, y1, middle, y2, x2 - 15, y2, dash
            )
        )
    for (x, y), rank in zip(points, line.ranks, strict=True):
        parts.append(
            text(
                x,
                y + 4,
                ABSENT if rank is None else f"{rank:,}",
                anchor="middle",
                css="absent" if rank is None else "number",
            )
        )
    x, y = points[-1]
    parts.append(text(x + 24, y + 4, line.label, css="label", limit=int(right / 7.4)))
    return Markup('<g class="line{}" style="--c:{}"><title>{}</title>{}</g>').format(
        " strong" if line.strong else "", colour, shown(line.label, 120), Markup("").join(parts)
    )


def _ordered(ranks: Sequence[int | None]) -> list[int]:
    """The place of each row in a column: by rank, absent ones last in the order of the rows."""
    order = sorted(range(len(ranks)), key=lambda n: (ranks[n] is None, ranks[n] or n))
    return [order.index(n) for n in range(len(ranks))]


def curve(
    pieces: Sequence[tuple[Any, Any, int | None]],
    now: Any,
    first: int,
    knob: str,
    *,
    plain: Any = None,
) -> Markup:
    """The target's rank at every value of a knob: lower is worse, the first page is the green band, a line stands at
    the value now and another at the value that would do. `pieces` are (low, high, rank) as a counterfactual tells."""
    width, height, left, bottom, top = 250, 92, 30, 18, 6
    scale = _scale(pieces, [v for v in (now, plain) if isinstance(v, int | float)], knob)
    worst = max([first * 2, *(r for low, _, r in pieces if r and scale.shows(low))])
    deepest = math.log(worst * 1.6)

    def y(rank: int | None) -> float:
        share = 1.0 if rank is None else math.log(rank) / deepest
        return top + (height - bottom - top) * min(share, 1.0)

    def x(value: float) -> float:
        return left + (width - left - 8) * scale.share(value)

    band = Markup(
        '<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" class="band"/>'
    ).format(left, top - 4, width - left - 8, y(first) - top + 6)
    path, last = [], None
    for low, high, rank in pieces:
        a, b = max(low, scale.low), scale.high if high is None else min(high, scale.high)
        if a > b or not scale.shows(low):
            continue
        if rank is None:
            last = None
            continue
        path.append(
            f"{'M' if last is None else 'L'}{x(a):.1f} {y(rank):.1f}L{x(b):.1f} {y(rank):.1f}"
        )
        last = rank
    parts = [
        band,
        Markup('<path class="step" d="{}"/>').format("".join(path)) if path else Markup(""),
    ]
    for value, css in ((now, "now"), (plain, "then")):
        if isinstance(value, int | float) and not isinstance(value, bool):
            parts.append(
                Markup('<line x1="{0:.1f}" x2="{0:.1f}" y1="{1}" y2="{2}" class="{3}"/>').format(
                    x(value), top - 4, height - bottom, css
                )
            )
    parts += [
        text(left - 6, y(1) + 4, "1", anchor="end", css="tick"),
        text(left - 6, y(first) + 4, first, anchor="end", css="tick"),
    ]
    parts += [
        text(x(v), height - 4, _short(v), anchor=a, css="tick")
        for v, a in ((scale.low, "start"), (scale.high, "end"))
    ]
    parts += [
        text(left - 6, height - bottom, "rank", anchor="end", css="tick"),
        text((left + width) / 2, height - 4, knob_label(knob), anchor="middle", css="tick"),
    ]
    return svg(width, height, parts, f"rank by {knob}")


class _Scale(NamedTuple):
    low: float
    high: float
    logarithmic: bool

    def share(self, value: float) -> float:
        if self.logarithmic:
            low, high, value = (
                math.log(self.low),
                math.log(self.high),
                math.log(max(value, self.low)),
            )
        else:
            low, high = self.low, self.high
        return min(max((value - low) / (high - low), 0.0), 1.0) if high > low else 0.5

    def shows(self, value: float) -> bool:
        return value <= self.high


def _scale(
    pieces: Sequence[tuple[Any, Any, int | None]], marks: Sequence[float], knob: str
) -> _Scale:
    """The range that is drawn: caps and limits by powers, weights and bonuses to 4, k to 120, a floor as far as it
    changes anything; always what is marked."""
    if knob in ("cap", "lexical_limit", "semantic_limit"):
        ends = [high for _, high, _ in pieces if high is not None]
        return _Scale(
            1,
            max([2, *marks, *(ends[-1:] if pieces[-1][1] is not None else [2 * m for m in marks])]),
            True,
        )
    if knob == "floor":
        changing = [low for low, _, _ in pieces[1:]] or [0.0, 1.0]
        return _Scale(min([*changing, *marks]) - 0.02, max([*changing, *marks]) + 0.02, False)
    return _Scale(0.0, max([120.0 if knob == "k" else 4.0, *(m * 1.25 for m in marks)]), False)


def _short(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:.2f}"


class Stretch(NamedTuple):
    """Places `first` to `last` of an engine's order, and which read brought them."""

    origin: str
    first: int
    last: int


def reading_order(
    name: str,
    stretches: Sequence[Stretch],
    cap: int,
    target: int | None,
    colour: Mapping[str, str],
    *,
    cap_label: str,
    note: str = "",
) -> Markup:
    """A channel's reading as a strip on a log axis: which read brought which places, where the cap ends it, and where
    the target stands; what lies beyond the frozen depth is blank."""
    width, left, right, top, tall = 760, 12, 24, 40, 26
    end = max([cap * 2, *(s.last for s in stretches), *([target * 1.3] if target else []), 10])

    def x(place: float) -> float:
        return left + (width - left - right) * math.log(max(place, 1)) / math.log(end)

    parts = [text(left, 16, name, css="head", limit=90)]
    for number, s in enumerate(stretches):
        a, b = x(s.first), x(s.last + 1)
        parts.append(
            Markup(
                '<rect x="{:.1f}" y="{}" width="{:.1f}" height="{}" style="fill:{}" class="stretch"><title>{}</title></rect>'
            ).format(
                a,
                top,
                max(b - a, 1.0),
                tall,
                colour.get(s.origin, FAINT),
                shown(f"{s.origin}: {s.first:,} to {s.last:,}", 80),
            )
        )
        if b - a > 7.0 * min(len(s.origin), 24) + 10:
            parts.append(text(a + 6, top + 17, s.origin, css="on", limit=24))
        elif number == 0 and b - a > 30:
            parts.append(text(a + 6, top + 17, s.origin[:4] + "…", css="on"))
    parts.append(
        Markup('<line x1="{0:.1f}" x2="{0:.1f}" y1="{1}" y2="{2}" class="cap"/>').format(
            x(cap + 1), top - 8, top + tall + 8
        )
    )
    near_end = x(cap + 1) > width - 180
    parts.append(
        text(
            x(cap + 1) + (-6 if near_end else 6),
            top - 10,
            f"{cap_label} {cap:,}",
            anchor="end" if near_end else "start",
            css="note",
        )
    )
    if target:
        parts.append(
            Markup('<path d="M{0:.1f} {1}l-6 10h12z" class="target"/>').format(
                x(target), top + tall + 2
            )
        )
        at_end = x(target) > width - 200
        parts.append(
            text(
                x(target) + (-10 if at_end else 10),
                top + tall + 14,
                f"the document, number {target:,}",
                anchor="end" if at_end else "start",
                css="label",
                colour=BAD,
            )
        )
    elif note:
        parts.append(text(width - right, 16, note, anchor="end", css="label", colour=BAD, limit=70))
    place = 1
    while place <= end:
        parts.append(
            text(
                x(place),
                top + tall + 34,
                f"{place:,}",
                anchor="middle" if place > 1 else "start",
                css="tick",
            )
        )
        parts.append(
            Markup('<line x1="{0:.1f}" x2="{0:.1f}" y1="{1}" y2="{2}" class="grid"/>').format(
                x(place), top + tall, top + tall + 22
            )
        )
        place *= 10
    return svg(
        width, top + tall + 42, parts, f"{name}: {cap_label} {cap}, target {target or 'not in it'}"
    )


# ---- The drawings of a look: its lists fused, where caps and limits end what is read, and t ----

SHADES = [
    CATEGORIES[0],
    CATEGORIES[4],
    CATEGORIES[1],
    CATEGORIES[2],
    CATEGORIES[5],
    CATEGORIES[3],
    CATEGORIES[6],
]


def fusion_ranks(view: View, target: PointId | None = None) -> Markup:
    """Lists as columns, rows as lines to the fused rank: the first page, the target, and the pinned document."""
    strong = target if target is not None else view.session.pinned
    watched = (target, view.session.pinned)
    rows = {r.key: r for r in [*view.rows, *([view.pinned] if view.pinned else [])]}
    wanted = [
        r
        for r in rows.values()
        if (r.rank or r.chunk.id in watched)
        and ((r.rank or 0) <= view.session.first or r.chunk.id in watched)
    ]
    lists = [n for n in view.lists if any(n in r.ranks for r in wanted)]
    lines = [
        Line(
            r.chunk.title or r.chunk.entity_id,
            (*(r.ranks.get(n) for n in lists), r.rank),
            r.chunk.id == strong,
        )
        for r in wanted
    ]
    empty = [n for n in view.lists if n not in lists]
    note = "Each column in its own order; the number is the rank in the list."
    note += f" No row here stands in {', '.join(empty)}." if empty else ""
    return rank_lines([*lists, "fused"], lines, "ranks in each list and fused", note=note)


def caps(view: View, target: PointId | None, told: Explanation | None = None) -> Markup:
    """What the lexical channel reads in the engine's order, and the nearest rows, against the cap and the limit.

    A target beyond the frozen depth stands where the explanation's exact query found it.
    """
    chosen, out = view.session.chosen, []
    for name, title, label in (
        ("lexical", "best first", "limit"),
        ("semantic", "nearest first", "limit"),
    ):
        reading, stage = view.frozen.deep.evidence.get(name), getattr(chosen, name)
        if reading is None or stage is None or not reading.points:
            continue
        policy = stage.get("policy")
        cap = policy["cap"] if policy else stage.get("limit")
        stretches = _stretches(reading.origin)
        colour = (
            {s.origin: SHADES[n % len(SHADES)] for n, s in enumerate(stretches)}
            if name == "lexical"
            else {"nearest": LIST_COLOURS[name]}
        )
        if policy is not None:
            label = "cap"
            title = f"read by {policy.name}, in the engine's order"
        place = _place(reading, target, name, told)
        why = _why(told, name) if target is not None and place is None else ""
        out.append(
            reading_order(
                f"{name}: {title}", stretches, cap, place, colour, cap_label=label, note=why
            )
        )
    return (
        Markup("").join(out)
        if out
        else Markup('<p class="muted">Neither channel read anything.</p>')
    )


def slope(
    found: RankComparison, titles: dict[PointId, str], target: PointId | None = None
) -> Markup:
    """Two variants' ranks on one query, a line a row, coloured by the lists that hold it beside."""
    kinds = list(dict.fromkeys(_kind(r) for r in found.rows))
    colour = {k: CATEGORIES[n % len(CATEGORIES)] for n, k in enumerate(kinds)}
    lines = [
        Line(
            titles.get(r.id, str(r.id)),
            (r.left.rank, r.right.rank),
            r.id == target,
            colour[_kind(r)],
        )
        for r in found.rows
    ]
    legend = Markup("").join(
        Markup('<span class="key"><i style="background:{}"></i>{}</span>').format(colour[k], k)
        for k in kinds
    )
    return Markup('<div class="legend">{}</div>{}').format(
        legend, rank_lines(["now", "beside"], lines, "two variants side by side")
    )


def _why(told: Explanation | None, name: str) -> str:
    reasons = [
        a.reason for a in ((*told.absences, *told.missing) if told else ()) if a.where == name
    ]
    return f"the document is not in this order: {reasons[0]}" if reasons else ""


def _kind(row: Any) -> str:
    right = row.right.membership
    return right if right != NO_LIST else f"{row.left.membership} (now only)"


def _stretches(origins: tuple[str, ...]) -> list[Stretch]:
    out, place = [], 1
    for origin, group in groupby(origins):
        size = len(list(group))
        out.append(Stretch(origin, place, place + size - 1))
        place += size
    return out


def _place(reading: Any, target: PointId | None, name: str, told: Explanation | None) -> int | None:
    if target is None:
        return None
    ids = reading.ids
    if target in ids:
        return ids.index(target) + 1
    reasons = [*told.absences, *told.missing] if told is not None else []
    return next(
        (int(a.needed) for a in reasons if a.where == name and a.exact and a.knob != "floor"), None
    )
