"""The ranked table as HTML: per-list ranks, contribution bars, evidence, and what changed since the last look."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

from workbench.reporting.widgets.bench import RowView, View
from workbench.reporting.widgets.markup import META_CHARACTERS, TITLE_CHARACTERS, colours, marked, shown
from workbench.reporting.widgets.snippets import snippet

_ROW = Markup(
    '<tr class="{css}" data-row="{key}" tabindex="0" aria-selected="{selected}">'
    '<td class="rank"><b>{rank}</b>{moved}</td><td class="doc"><div class="title">{title}</div>'
    '<div class="snippet">{snippet}</div><div class="meta">{meta} {pin}</div></td>{ranks}'
    '<td class="score"><div class="bar">{bar}</div><span>{score}</span></td></tr>'
)  # fmt: skip


def table_html(view: View, selected: str = "", *, alive: bool = False) -> Markup:
    """The first page, a line where it ends, the rows at its door, and the pinned document wherever it stands.

    `alive` adds what only a running kernel answers: the pin buttons.
    """
    colour = colours(view.lists)
    head = Markup("").join(
        Markup('<th class="list"><i style="background:{}"></i>{}</th>').format(colour[n], shown(n, 20)) for n in view.lists
    )
    top = max((r.score or 0.0 for r in view.rows), default=0.0)
    width = len(view.lists) + 3
    body: list[Markup] = []
    for row in view.rows:
        if row.rank == view.session.first + 1:
            body.append(_line(f"The first {view.session.first} end here", width))
        body.append(_row(row, view, colour, top, selected, alive))
    if view.pinned and view.pinned.key not in {r.key for r in view.rows}:
        body.append(_line("The pinned document", width))
        body.append(_row(view.pinned, view, colour, top, selected, alive))
    if not view.rows:
        body.append(_line("Nothing was found", width))
    return Markup('<table class="ranking"><thead><tr><th>rank</th><th>document</th>{}<th>score</th></tr></thead><tbody>{}</tbody></table>').format(
        head, Markup("").join(body)
    )  # fmt: skip


def moved_html(rank: int | None, was: int | None, known: bool) -> Markup:
    """How a row moved since the look before: up, down, new, gone, or nothing."""
    if not known or rank == was:
        return Markup("")
    if was is None:
        return Markup('<span class="up">new</span>')
    if rank is None:
        return Markup('<span class="down">was {}</span>').format(was)
    sign, css = ("▲", "up") if rank < was else ("▼", "down")
    return Markup('<span class="{}" title="was {}">{}{}</span>').format(css, was, sign, abs(rank - was))


def bar_html(contributions: Mapping[str, float], colour: Mapping[str, str], top: float) -> Markup:
    """A row's score as its lists' shares, as wide as the score is of the best."""
    out = Markup("")
    for name, part in contributions.items():
        share = 100 * part / top if top > 0 else 0.0
        if share > 0:
            out += Markup('<i style="width:{:.2f}%;background:{}" title="{} adds {:.6g}"></i>').format(
                share, colour.get(name, "#8a93a3"), shown(name, 20), part
            )
    return out


def _row(row: RowView, view: View, colour: Mapping[str, str], top: float, selected: str, alive: bool) -> Markup:
    is_pinned = view.pinned is not None and row.key == view.pinned.key
    css = " ".join(["row", *["pinned"] * is_pinned, *["below"] * (row.rank is None or row.rank > view.session.first)])
    chunk, facets = row.chunk, row.chunk.facets
    meta = " · ".join(str(m) for m in (chunk.entity_id, facets.project, f"point {chunk.id}") if m)
    pin = Markup('<button type="button" data-pin="{}">{}</button>').format("" if is_pinned else row.key, "unpin" if is_pinned else "pin")
    ranks = Markup("").join(
        Markup('<td class="list" style="--c:{}">{}</td>').format(colour[n], row.ranks.get(n, Markup('<span class="none">–</span>')))
        for n in view.lists
    )
    return _ROW.format(
        css=css, key=row.key, selected="true" if row.key == selected else "false", rank="–" if row.rank is None else f"{row.rank:,}",
        moved=moved_html(row.rank, row.was, view.before is not None), title=shown(chunk.title or chunk.entity_id, TITLE_CHARACTERS),
        snippet=marked(snippet(chunk.text, row.evidence)), meta=shown(meta, META_CHARACTERS * 2), pin=pin if alive else "",
        ranks=ranks, bar=bar_html(row.contributions, colour, top), score="" if row.score is None else f"{row.score:.5g}",
    )  # fmt: skip


def _line(text: str, width: int) -> Markup:
    return Markup('<tr class="line"><td colspan="{}">{}</td></tr>').format(width, text)
