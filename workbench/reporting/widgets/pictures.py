"""The drawings of a look: its lists fused, where caps and limits end what is read, and two variants side by side."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from markupsafe import Markup

from workbench.analysis.explain import Explanation
from workbench.analysis.rank_compare import NO_LIST, RankComparison
from workbench.reporting.theme import CATEGORIES, LIST_COLOURS
from workbench.reporting.widgets.bench import View
from workbench.reporting.widgets.drawings import Line, Stretch, rank_lines, reading_order
from workbench.types import PointId

SHADES = [CATEGORIES[0], CATEGORIES[4], CATEGORIES[1], CATEGORIES[2], CATEGORIES[5], CATEGORIES[3], CATEGORIES[6]]


def fusion_ranks(view: View, target: PointId | None = None) -> Markup:
    """Lists as columns, rows as lines to the fused rank: the first page, the target, and the pinned document."""
    strong = target if target is not None else view.session.pinned
    watched = (target, view.session.pinned)
    rows = {r.key: r for r in [*view.rows, *([view.pinned] if view.pinned else [])]}
    wanted = [r for r in rows.values() if (r.rank or r.chunk.id in watched) and ((r.rank or 0) <= view.session.first or r.chunk.id in watched)]
    lists = [n for n in view.lists if any(n in r.ranks for r in wanted)]
    lines = [
        Line(r.chunk.title or r.chunk.entity_id, (*(r.ranks.get(n) for n in lists), r.rank), r.chunk.id == strong) for r in wanted
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
    for name, title, label in (("lexical", "best first", "limit"), ("semantic", "nearest first", "limit")):
        reading, stage = view.frozen.deep.evidence.get(name), getattr(chosen, name)
        if reading is None or stage is None or not reading.points:
            continue
        policy = stage.get("policy")
        cap = policy["cap"] if policy else stage.get("limit")
        stretches = _stretches(reading.origin)
        colour = {s.origin: SHADES[n % len(SHADES)] for n, s in enumerate(stretches)} if name == "lexical" else {"nearest": LIST_COLOURS[name]}
        if policy is not None:
            label = "cap"
            title = f"read by {policy.name}, in the engine's order"
        place = _place(reading, target, name, told)
        why = _why(told, name) if target is not None and place is None else ""
        out.append(reading_order(f"{name}: {title}", stretches, cap, place, colour, cap_label=label, note=why))
    return Markup("").join(out) if out else Markup('<p class="muted">Neither channel read anything.</p>')


def slope(found: RankComparison, titles: dict[PointId, str], target: PointId | None = None) -> Markup:
    """Two variants' ranks on one query, a line a row, coloured by the lists that hold it beside."""
    kinds = list(dict.fromkeys(_kind(r) for r in found.rows))
    colour = {k: CATEGORIES[n % len(CATEGORIES)] for n, k in enumerate(kinds)}
    lines = [Line(titles.get(r.id, str(r.id)), (r.left.rank, r.right.rank), r.id == target, colour[_kind(r)]) for r in found.rows]
    legend = Markup("").join(Markup('<span class="key"><i style="background:{}"></i>{}</span>').format(colour[k], k) for k in kinds)
    return Markup('<div class="legend">{}</div>{}').format(legend, rank_lines(["now", "beside"], lines, "two variants side by side"))


def _why(told: Explanation | None, name: str) -> str:
    reasons = [a.reason for a in ((*told.absences, *told.missing) if told else ()) if a.where == name]
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
    return next((int(a.needed) for a in reasons if a.where == name and a.exact and a.knob != "floor"), None)
