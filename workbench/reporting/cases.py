"""Cases of a report: one query each, folded until it is clicked, with the pages of two or more sides beside each other,
what explains them, and the command that tells the whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from workbench.reporting.brief import command
from workbench.reporting.values import safe


@dataclass(frozen=True, slots=True)
class Line:
    """One row of a page. `mark` is "relevant", "came", "left" or "", `note` stands small behind the title."""

    rank: int
    title: str
    mark: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """One side of a case: its heading, its page, sentences about it, and commands."""

    heading: str
    lines: tuple[Line, ...]
    sentences: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """One query: what changed in a few words, good or bad or neither, and its sides."""

    anchor: str
    query: str
    change: str
    tone: str
    columns: tuple[Column, ...]


def cases_html(cases: Sequence[Case], opened: int = 1) -> Markup:
    """The cases in their order, the first `opened` unfolded."""
    return Markup("").join(_case(case, place < opened) for place, case in enumerate(cases))


def _case(case: Case, opened: bool) -> Markup:
    summary = Markup('<summary><span class="query">{}</span> <span class="change {}">{}</span></summary>').format(
        safe(case.query or "(an empty query)"), case.tone or "quiet", safe(case.change)
    )
    columns = Markup("").join(_column(c) for c in case.columns)
    return Markup('<details class="case" id="{}"{}>{}<div class="sides">{}</div></details>').format(
        case.anchor, Markup(" open") if opened else "", summary, columns
    )


def _column(column: Column) -> Markup:
    rows = Markup("").join(
        Markup('<li class="{}"><i>{}</i><span>{}{}</span></li>').format(
            line.mark, line.rank, safe(line.title), Markup(" <small>{}</small>").format(safe(line.note)) if line.note else ""
        )
        for line in column.lines
    )
    page = Markup("<ol>{}</ol>").format(rows) if column.lines else Markup('<p class="quiet">No results.</p>')
    said = Markup("").join(Markup("<p>{}</p>").format(safe(s)) for s in column.sentences)
    return Markup('<div class="side"><h4>{}</h4>{}{}{}</div>').format(
        safe(column.heading), page, said, Markup("").join(map(command, column.commands))
    )
