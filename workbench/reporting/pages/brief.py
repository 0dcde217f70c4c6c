"""A report page without a ledger: findings on top, then sections of texts, tables, charts and cases, in one file.

Opens without network, as a record's page does, with the same look, charts and tables. Equal inputs, equal page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from workbench.analysis.ledger.blocks import Block
from workbench.reporting.html import markdown_html, safe
from workbench.reporting.pages.figures import chart_bundle, figure, script_json
from workbench.reporting.theme import THEME

# ---- A report page without a ledger: findings on top, then sections of texts, tables, chart ----

_TEMPLATE = Path(__file__).parents[1] / "template"
_WORDS = {"chart": "Figure", "table": "Table"}


@dataclass(frozen=True, slots=True)
class Section:
    """One section: its blocks (texts, charts, tables) and pieces of HTML in their order. `wide` uses the whole page."""

    title: str
    pieces: tuple[Block | Markup, ...]
    wide: bool = False


def brief_page(
    *,
    eyebrow: str,
    title: str,
    findings: Sequence[str | Markup],
    facts: Mapping[str, str],
    sections: Sequence[Section],
    footer: str,
    warnings: Sequence[str] = (),
) -> str:
    """The page as text; `warnings` stand above all findings. Texts are data: escaped, control and direction marks made visible."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATE),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    blocks = [p for s in sections for p in s.pieces if isinstance(p, Block)]
    numbers = _numbers(blocks)
    return environment.get_template("brief.html").render(
        eyebrow=safe(eyebrow),
        title=safe(title),
        warnings=[safe(w) for w in warnings],
        findings=[_html(f) for f in findings],
        facts=[(safe(n), safe(v)) for n, v in facts.items()],
        sections=[
            {
                "id": f"section-{n}",
                "title": safe(s.title),
                "css": "wide" if s.wide else "story",
                "pieces": [_piece(p, numbers) for p in s.pieces],
            }
            for n, s in enumerate(sections, 1)
            if s.pieces
        ],
        footer=safe(footer),
        theme=script_json(THEME),
        css=_template("page.css"),
        brief_css=_template("brief.css"),
        js=_template("page.js"),
        bundle=Markup(chart_bundle()) if any(b.kind == "chart" for b in blocks) else "",
    )


def _template(name: str) -> Markup:
    return Markup((_TEMPLATE / name).read_text(encoding="utf-8"))


def paragraph(text: str) -> Markup:
    """A text as one paragraph, its marks as data."""
    return Markup("<p>{}</p>").format(safe(text))


def notes(lines: Sequence[str]) -> Markup:
    """Sentences as a list."""
    items = Markup("").join(Markup("<li>{}</li>").format(safe(line)) for line in lines)
    return Markup('<ul class="notes">{}</ul>').format(items)


def command(text: str) -> Markup:
    """A command that a click marks whole."""
    return Markup('<code class="command">{}</code>').format(_uncut(text))


def plans(of: Mapping[str, str]) -> Markup:
    """The plans of variants, as they run."""
    return Markup("").join(
        Markup('<pre class="plan">{}</pre>').format(_uncut(plan)) for plan in of.values()
    )


def _uncut(text: str) -> Markup:
    """A text that is copied whole: escaped and made visible, never cut short."""
    import html

    from workbench.text import visible

    return Markup(html.escape(visible(text)))


def _html(finding: str | Markup) -> Markup:
    return finding if isinstance(finding, Markup) else safe(finding)


def _numbers(blocks: Sequence[Block]) -> dict[int, str]:
    """Block identity to "Figure 2" or "Table 1", each kind numbered apart in the order of the page."""
    counts: dict[str, int] = {}
    found = {}
    for block in blocks:
        if block.kind in _WORDS:
            counts[block.kind] = counts.get(block.kind, 0) + 1
            found[id(block)] = f"{_WORDS[block.kind]} {counts[block.kind]}"
    return found


def _piece(piece: Block | Markup, numbers: Mapping[int, str]) -> Markup:
    if isinstance(piece, Markup):
        return piece
    if piece.kind == "text":
        return Markup('<div class="prose">{}</div>').format(markdown_html(piece.content))
    label = numbers[id(piece)]
    data: dict[str, Any] = {
        "kind": piece.kind,
        "name": piece.name,
        "caption": piece.caption,
        "content": piece.content,
        "claims": (),
    }
    return figure(f"{label.split()[0].lower()}-{piece.name}", label, data)


# ---- Cases of a report: one query each, folded until it is clicked, with the pages of two o ----


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
    summary = Markup(
        '<summary><span class="query">{}</span> <span class="change {}">{}</span></summary>'
    ).format(safe(case.query or "(an empty query)"), case.tone or "quiet", safe(case.change))
    columns = Markup("").join(_column(c) for c in case.columns)
    return Markup('<details class="case" id="{}"{}>{}<div class="sides">{}</div></details>').format(
        case.anchor, Markup(" open") if opened else "", summary, columns
    )


def _column(column: Column) -> Markup:
    rows = Markup("").join(
        Markup('<li class="{}"><i>{}</i><span>{}{}</span></li>').format(
            line.mark,
            line.rank,
            safe(line.title),
            Markup(" <small>{}</small>").format(safe(line.note)) if line.note else "",
        )
        for line in column.lines
    )
    page = (
        Markup("<ol>{}</ol>").format(rows)
        if column.lines
        else Markup('<p class="quiet">No results.</p>')
    )
    said = Markup("").join(Markup("<p>{}</p>").format(safe(s)) for s in column.sentences)
    return Markup('<div class="side"><h4>{}</h4>{}{}{}</div>').format(
        safe(column.heading), page, said, Markup("").join(map(command, column.commands))
    )
