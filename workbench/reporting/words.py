"""An explanation and its counterfactuals as sentences: the same words in the terminal, the page and the widget."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.analysis.explain.absences import Absence
from workbench.analysis.explain.counterfactual import Counterfactual
from workbench.analysis.explain.explain import Explanation
from workbench.reporting.html import number_text
from workbench.retrieval.variant import WEIGHT
from workbench.text import counted

_LABELS = {
    "k": "k",
    "bonus": "bonus",
    "cap": "candidate cap",
    "lexical_limit": "lexical limit",
    "semantic_limit": "semantic limit",
    "floor": "cosine floor",
    "third_list": "third list",
    "fusion": "fusion",
    "distinct": "each entity once",
    "policy": "candidate order",
    "limit": "page size",
    "offset": "offset",
}


def knob_label(name: str) -> str:
    """A knob's name as a person reads it: `weight.lexical` is "weight of the lexical list"."""
    return (
        f"weight of the {name.removeprefix(WEIGHT)} list"
        if name.startswith(WEIGHT)
        else _LABELS.get(name, name)
    )


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
    return (
        f"{where}, in the first {first}."
        if told.rank <= first
        else f"{where}, not in the first {first}."
    )


def absence_text(absence: Absence) -> str:
    """One reason, its detail, and the number that would have let the target in."""
    said = f"{absence.reason}: {absence.detail}"
    if absence.exact:
        said += " (found by one exact query)"
    if absence.needed is None or absence.reason in ("deduplicated", "no list counts"):
        return said + "."
    return f"{said}. What would let it in: {knob_label(absence.knob)} {value_text(absence.needed)}."


def reason_texts(told: Explanation) -> list[str]:
    """Why it does not stand higher, the telling reason first: of a ranked row the lists that lack it, then the page;
    of an absent one each rule and limit that removed it. Empty for a row of the page that every list holds."""
    return [
        *(f"Not in {a.where}, {absence_text(a)}" for a in told.missing),
        *map(absence_text, told.absences),
    ]


def list_text(told: Explanation) -> str:
    """The lists that hold the target, each with the rank there and what it adds."""
    if not told.ranks:
        return "No list holds it."
    parts = [
        f"{name} {rank}"
        + (f" (adds {told.contributions[name]:.6g})" if name in told.contributions else "")
        for name, rank in told.ranks.items()
    ]
    return "Its rank by list: " + ", ".join(parts) + "."


def pass_text(told: Explanation, rival: str) -> str:
    """By list the rank that would pass the row above."""
    if not told.to_pass:
        return "No row stands above it."
    ways = [
        f"rank {rank} in {name} ({'now ' + str(told.ranks[name]) if name in told.ranks else 'not in it now'})"
        for name, rank in told.to_pass.items()
        if rank is not None
    ]
    alone = [name for name, rank in told.to_pass.items() if rank is None]
    said = (
        f"To pass the row above, {rival}, it needs " + " or ".join(ways) + "."
        if ways
        else f"No rank in a single list passes the row above, {rival}."
    )
    return said + (f" No rank in {', '.join(alone)} does." if ways and alone else "")


def above_text(told: Explanation) -> str:
    """By which list the rows above gain most, counted."""
    counts: dict[str, int] = {}
    for row in told.above:
        counts[row.by] = counts.get(row.by, 0) + 1
    said = ", ".join(
        f"{n} by {name}" for name, n in sorted(counts.items(), key=lambda p: (-p[1], p[0]))
    )
    return (
        f"{counted(len(told.above), 'row stands', 'rows stand')} above it: {said}." if said else ""
    )


def heading(answers: Sequence[Counterfactual]) -> str:
    """What the answers tell, as a title."""
    return f"What {'keeps it' if _holds(answers) else 'would bring it'} in{'' if _holds(answers) else 'to'} the first {answers[0].first}"


def told_answers(answers: Sequence[Counterfactual]) -> tuple[Counterfactual, ...]:
    """The answers that say something: of a target in the first N those of knobs that can take it out."""
    if not _holds(answers):
        return tuple(answers)
    return tuple(c for c in answers if any(rank is None or rank > c.first for *_, rank in c.curve))


def bottom_line(answers: Sequence[Counterfactual]) -> str:
    """What the answers come to in one sentence where no knob does anything; "" where one does."""
    if not answers or any(c.verdict == "found" for c in answers):
        return ""
    if _holds(answers):
        return "" if told_answers(answers) else "No single knob takes it out."
    known = "is known to do" if any(c.verdict == "beyond the depth" for c in answers) else "does"
    ranked = [c for c in answers if c.best_rank is not None]
    if not ranked:
        return f"No single knob {known}, and none brings it into the ranking."
    nearest = min(ranked, key=lambda c: c.best_rank)
    if nearest.best_rank == nearest.rank_now:
        return f"No single knob {known}, and none brings it nearer than rank {nearest.best_rank}."
    return f"No single knob {known}; the nearest is {knob_label(nearest.knob)} {value_text(nearest.best)}, which brings rank {nearest.best_rank}."


def best_answer(answers: Sequence[Counterfactual]) -> str:
    """The one answer to read first: the change that moves the fewest other rows, else what all of them come to."""
    found = next((c for c in answers if c.verdict == "found"), None)
    return counterfactual_text(found) if found else bottom_line(answers)


def moved_text(c: Counterfactual) -> str:
    """How many other rows of the first page a change moves; one that leaves it moves too."""
    if c.moved == 1:
        return f"1 other row enters, leaves or moves within the first {c.first}"
    return f"{c.moved} other rows enter, leave or move within the first {c.first}"


def counterfactual_text(c: Counterfactual) -> str:
    """One knob's answer as one sentence or two."""
    label = knob_label(c.knob)
    if c.verdict == "holds already":
        keeps = f"; {_span(c, label)} keeps it there" if c.low is not None else _dropping(c)
        return f"{label} {value_text(c.now)}: it stands there already{keeps}."
    if c.verdict == "found":
        moved = moved_text(c)
        span = f" {_capital(_span(c, label))} does." if c.low is not None else ""
        return f"{label} {value_text(c.plain)} (now {value_text(c.now)}) brings rank {c.plain_rank}; {moved}.{span}"
    if c.knob == "distinct":
        return f"Showing each entity once does not. {c.proof}"
    said = f"No {label} is known to do." if c.verdict == "beyond the depth" else f"No {label} does."
    return f"{said} {c.proof}"


def _holds(answers: Sequence[Counterfactual]) -> bool:
    return bool(answers) and all(c.verdict == "holds already" for c in answers)


def _dropping(c: Counterfactual) -> str:
    """The alternatives of a choice that would take the target out of the first N."""
    out = [(choice, rank) for choice, _, rank in c.curve if rank is None or rank > c.first]
    return (
        "; with "
        + ", ".join(
            f"{value_text(v)} it is {'absent' if r is None else f'ranked {r}'}" for v, r in out
        )
        if out
        else ""
    )


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

    return [
        f"{at(m.before)} → {at(m.after)}  {titles.get(m.id, m.id)}"
        for m in c.moves
        if m.before != m.after
    ]
