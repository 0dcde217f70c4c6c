"""An explanation and its counterfactuals as sentences: the same words in the terminal, the page and the widget."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from workbench.analysis.absences import Absence
from workbench.analysis.counterfactual import Counterfactual
from workbench.analysis.explain import Explanation
from workbench.reporting.values import number_text
from workbench.retrieval.knobs import WEIGHT

_LABELS = {
    "k": "k", "bonus": "bonus", "cap": "candidate cap", "lexical_limit": "lexical limit", "semantic_limit": "semantic limit",
    "floor": "cosine floor", "third_list": "third list", "fusion": "fusion", "distinct": "each entity once",
    "policy": "candidate order", "limit": "page size", "offset": "offset",
}  # fmt: skip


def knob_label(name: str) -> str:
    """A knob's name as a person reads it: `weight.lexical` is "weight of the lexical list"."""
    return f"weight of the {name.removeprefix(WEIGHT)} list" if name.startswith(WEIGHT) else _LABELS.get(name, name)


def value_text(value: Any) -> str:
    """A knob's value as a person reads it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and 0 < value < sys.float_info.min:
        return "just above 0"  # the smallest double is no number that a person reads
    return number_text(value) if isinstance(value, int | float) else str(value)


def headline(told: Explanation, ranked: int, first: int) -> str:
    """Where the target stands, in one sentence."""
    if told.rank is None:
        return "It is not in the ranking."
    where = f"It is ranked {told.rank:,} of {ranked:,} with score {told.score:.6g}"
    return f"{where}, in the first {first}." if told.rank <= first else f"{where}, not in the first {first}."


def absence_text(absence: Absence) -> str:
    """One reason, its detail, and the number that would have let the target in."""
    said = f"{absence.reason}: {absence.detail}"
    if absence.exact:
        said += " (found by one exact query)"
    if absence.needed is None or absence.reason in ("deduplicated", "no list counts"):
        return said + "."
    return f"{said}. What would let it in: {knob_label(absence.knob)} {value_text(absence.needed)}."


def list_text(told: Explanation) -> str:
    """The lists that hold the target, each with the rank there and what it adds."""
    if not told.ranks:
        return "No list holds it."
    parts = [
        f"{name} {rank}" + (f" (adds {told.contributions[name]:.6g})" if name in told.contributions else "")
        for name, rank in told.ranks.items()
    ]
    return "Its rank by list: " + ", ".join(parts) + "."


def pass_text(told: Explanation, rival: str) -> str:
    """By list the rank that would pass the row above."""
    if not told.to_pass:
        return "No row stands above it."
    ways = [
        f"rank {rank} in {name} ({'now ' + str(told.ranks[name]) if name in told.ranks else 'not in it now'})"
        for name, rank in told.to_pass.items() if rank is not None
    ]  # fmt: skip
    alone = [name for name, rank in told.to_pass.items() if rank is None]
    said = f"To pass the row above, {rival}, it needs " + " or ".join(ways) + "." if ways else f"No rank in a single list passes the row above, {rival}."
    return said + (f" No rank in {', '.join(alone)} does." if ways and alone else "")


def above_text(told: Explanation) -> str:
    """By which list the rows above gain most, counted."""
    counts: dict[str, int] = {}
    for row in told.above:
        counts[row.by] = counts.get(row.by, 0) + 1
    said = ", ".join(f"{n} by {name}" for name, n in sorted(counts.items(), key=lambda p: (-p[1], p[0])))
    return f"{len(told.above)} rows stand above it: {said}." if said else ""


def counterfactual_text(c: Counterfactual) -> str:
    """One knob's answer as one sentence or two."""
    label = knob_label(c.knob)
    if c.verdict == "holds already":
        keeps = f"; {_span(c, label)} keeps it there" if c.low is not None else ""
        return f"{label} {value_text(c.now)}: it stands there already{keeps}."
    if c.verdict == "found":
        moved = f"{c.moved} other {'row' if c.moved == 1 else 'rows'} of the first {c.first} {'moves' if c.moved == 1 else 'move'}"
        span = f" {_capital(_span(c, label))} does." if c.low is not None else ""
        return f"{label} {value_text(c.plain)} (now {value_text(c.now)}) brings rank {c.plain_rank}; {moved}.{span}"
    if c.knob == "distinct":
        return f"Showing each entity once does not. {c.proof}"
    said = f"No {label} is known to do." if c.verdict == "beyond the depth" else f"No {label} does."
    return f"{said} {c.proof}"


def _span(c: Counterfactual, label: str) -> str:
    low, high = value_text(c.low), value_text(c.high)
    if c.high is None:
        return f"every {label} from {low} up"
    return f"{label} {low}" if c.low == c.high else f"every {label} from {low} to {high}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def moves_text(c: Counterfactual, titles: Mapping[Any, str]) -> list[str]:
    """The other rows of the page that a change moves, one line each."""

    def at(rank: int | None) -> str:
        return str(rank) if rank else "absent"

    return [f"{at(m.before)} → {at(m.after)}  {titles.get(m.id, m.id)}" for m in c.moves if m.before != m.after]
