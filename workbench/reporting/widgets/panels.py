"""What stands below the table as HTML: the explanation with its counterfactuals, the comparison, and the changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from markupsafe import Markup

from workbench.analysis.explain.counterfactual import Counterfactual
from workbench.analysis.explain.explain import Explanation
from workbench.reporting import words
from workbench.reporting.widgets import drawings as pictures
from workbench.reporting.widgets.bench import Bench, RowView, View
from workbench.reporting.widgets.drawings import curve
from workbench.reporting.widgets.live import LOOK
from workbench.reporting.widgets.markup import (
    META_CHARACTERS,
    TITLE_CHARACTERS,
    colours,
    marked,
    shown,
    snippet,
)
from workbench.reporting.widgets.session import Session
from workbench.types import Chunk, PointId

# ---- What stands below the table as HTML: the explanation with its counterfactuals, the com ----

SENTENCE, TEXT_SHOWN, MOVES_SHOWN = 2_000, 1_200, 12
_FIELDS = {"other": "beside", "first": "rows"}
"""What the form calls a field."""
_SIGNS = {"found": "does", "holds already": "stays", "none": "no", "beyond the depth": "open"}


def explanation_html(view: View, told: Explanation, chunk: Chunk, rival: str) -> Markup:
    """Why a row stands there or is absent, sentence by sentence, with its text and evidence."""
    said = [
        Markup('<p class="lead">{}</p>').format(
            words.headline(told, len(view.result.fused), view.session.first)
        )
    ]
    leading = len(told.missing) or len(told.absences)
    said += [
        Markup('<p class="{}">{}</p>').format("why" if n < leading else "muted", shown(r, SENTENCE))
        for n, r in enumerate(words.reason_texts(told))
    ]
    said.append(_p(words.list_text(told)))
    if told.rank and told.rank > 1:
        said += [
            _p(words.above_text(told)),
            _p(words.pass_text(told, " ".join(rival.split())[:TITLE_CHARACTERS])),
        ]
    held = told.evidence.terms.items() if told.evidence else ()
    terms = ", ".join(f"{t} {n}×" for t, n in held) or "no terms of the query"
    verbatim = (
        f"; the whole query stands verbatim in its {told.evidence.verbatim_in}"
        if told.evidence and told.evidence.verbatim
        else ""
    )
    said.append(_p(f"Its text holds {terms}{verbatim}."))
    text = Markup('<blockquote class="text">{}</blockquote>').format(
        marked(snippet(chunk.text, told.evidence, TEXT_SHOWN))
    )
    head = Markup('<h4>{} <span class="muted">point {}</span></h4>').format(
        shown(chunk.title or chunk.entity_id, TITLE_CHARACTERS), shown(chunk.id, 40)
    )
    return Markup('<section class="explanation">{}{}{}</section>').format(
        head, Markup("").join(said), text
    )


def counterfactuals_html(
    answers: Sequence[Counterfactual], titles: Mapping[PointId, str], *, alive: bool = False
) -> Markup:
    """What each knob would have to be, with the rank at every value; `alive` adds the buttons that turn it."""
    if not answers:
        return Markup("")
    rows = Markup("").join(_answer(c, titles, alive) for c in words.told_answers(answers))
    return Markup('<section class="answers"><h4>{}</h4>{}<table>{}</table></section>').format(
        words.heading(answers), _p(words.bottom_line(answers)), rows
    )


def comparison_html(
    view: View, titles: dict[PointId, str], target: PointId | None = None
) -> Markup:
    """The look beside another variant: how alike the rankings are, and each row's two ranks as a line."""
    found = view.comparison
    if found is None:
        return Markup(
            '<p class="muted">Choose a variant at “beside” in the form to compare with.</p>'
        )
    o = found.overlap
    differs = (
        f"the first difference is at rank {o.first_difference}"
        if o.first_difference
        else "they are the same from first to last"
    )
    said = (
        f"Now: {found.left}. Beside: {found.right}. Rank-biased overlap {o.rbo:.3f}; {differs}; the first {o.k} share {o.at_k:.0%} of their rows; "
        f"rows that only one has: {o.only_a:,} now, {o.only_b:,} beside."
    )
    return Markup("<section>{}{}</section>").format(_p(said), pictures.slope(found, titles, target))


def changes_html(view: View, titles: Mapping[PointId, str]) -> Markup:
    """What changed since the look before: what was turned, which rows of the first page came, went and moved."""
    before = view.before
    if before is None:
        return Markup(
            '<p class="muted">Nothing to compare with yet: this is the first look at this question.</p>'
        )
    turned = changed_settings(before.session, view.session)
    first, old, new = view.session.first, before.result.fused.ranks(), view.result.fused.ranks()
    ids = dict.fromkeys(
        [*before.result.fused.ids[: before.session.first], *view.result.fused.ids[:first]]
    )
    moved = [(i, old.get(i), new.get(i)) for i in ids if old.get(i) != new.get(i)]
    said = [_p("Turned: " + "; ".join(turned) + "." if turned else "Nothing was turned.")]
    if not moved:
        said.append(_p("No row of the first page moved."))
    rows = Markup("").join(
        Markup(
            '<tr><td class="number">{}</td><td>→</td><td class="number">{}</td><td>{}</td></tr>'
        ).format(_rank(a), _rank(b), shown(titles.get(i, i), TITLE_CHARACTERS))
        for i, a, b in moved
    )
    return Markup('<section>{}<table class="moves">{}</table></section>').format(
        Markup("").join(said), rows
    )


def changed_settings(before: Session, now: Session) -> list[str]:
    """What differs between two states, as words: `k 60 → 10`."""
    out = []
    for f in fields(Session):
        a, b = getattr(before, f.name), getattr(now, f.name)
        if f.name == "knobs":
            names = [n for n in dict.fromkeys([*a, *b]) if a.get(n, ...) != b.get(n, ...)]
            out += [f"{words.knob_label(n)} {_given(a, n)} → {_given(b, n)}" for n in names]
        elif a != b and f.name not in ("query", "pinned"):
            out.append(f"{_FIELDS.get(f.name, f.name)} {_plain(a)} → {_plain(b)}")
    return out


def _given(knobs: Mapping[str, Any], name: str) -> str:
    return words.value_text(knobs[name]) if name in knobs else "as it was"


def _plain(value: Any) -> str:
    return (
        ", ".join(f"{k}={v}" for k, v in value.items()) or "none"
        if isinstance(value, Mapping)
        else str(value) or "none"
    )


def _answer(c: Counterfactual, titles: Mapping[PointId, str], alive: bool) -> Markup:
    button = Markup("")
    if alive and c.verdict == "found":
        button = Markup('<button type="button" data-apply="{}">turn it</button>').format(c.knob)
    drawn = (
        curve(c.curve, _now(c), c.first, c.knob, plain=c.plain if c.verdict == "found" else None)
        if _has_curve(c)
        else Markup("")
    )
    moves = words.moves_text(c, titles) if c.verdict == "found" else []
    more = [f"and {len(moves) - MOVES_SHOWN} more"] if len(moves) > MOVES_SHOWN else []
    listed = Markup("").join(
        Markup("<li>{}</li>").format(shown(m, TITLE_CHARACTERS))
        for m in [*moves[:MOVES_SHOWN], *more]
    )
    details = (
        Markup("<details><summary>{}</summary><ul>{}</ul></details>").format(
            "The other row" if c.moved == 1 else f"The {c.moved} other rows", listed
        )
        if moves
        else Markup("")
    )
    return Markup(
        '<tr class="{}" data-knob="{}"><td class="sign">{}</td><td class="said">{}{} {}</td><td>{}</td></tr>'
    ).format(
        _SIGNS[c.verdict],
        c.knob,
        {"found": "✓", "holds already": "=", "none": "✗"}.get(c.verdict, "?"),
        Markup("<div>{}</div>").format(shown(words.counterfactual_text(c), SENTENCE)),
        details,
        button,
        drawn,
    )


def _has_curve(c: Counterfactual) -> bool:
    low = c.curve[0][0] if c.curve else None
    return (
        isinstance(low, int | float)
        and not isinstance(low, bool)
        and len({r for *_, r in c.curve}) > 1
    )


def _now(c: Counterfactual) -> Any:
    return c.now if isinstance(c.now, int | float) else None


def _rank(rank: int | None) -> str:
    return "absent" if rank is None else f"{rank:,}"


def _p(sentence: str) -> Markup:
    return Markup("<p>{}</p>").format(shown(sentence, SENTENCE)) if sentence else Markup("")


# ---- The ranked table as HTML: per-list ranks, contribution bars, evidence, and what change ----

_ROW = Markup(
    '<tr class="{css}" data-row="{key}" tabindex="0" aria-selected="{selected}">'
    '<td class="rank"><b>{rank}</b>{moved}</td><td class="doc"><div class="title">{title}</div>'
    '<div class="snippet">{snippet}</div><div class="meta">{meta} {pin}</div></td>{ranks}'
    '<td class="score"><div class="bar">{bar}</div><span>{score}</span></td></tr>'
)


def table_html(view: View, selected: str = "", *, alive: bool = False) -> Markup:
    """The first page, a line where it ends, the rows at its door, and the pinned document wherever it stands.

    `alive` adds what only a running kernel answers: the pin buttons.
    """
    colour = colours(view.lists)
    head = Markup("").join(
        Markup('<th class="list"><i style="background:{}"></i>{}</th>').format(
            colour[n], shown(n, 20)
        )
        for n in view.lists
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
    return Markup(
        '<table class="ranking"><thead><tr><th>rank</th><th>document</th>{}<th>score</th></tr></thead><tbody>{}</tbody></table>'
    ).format(head, Markup("").join(body))


def moved_html(rank: int | None, was: int | None, known: bool) -> Markup:
    """How a row moved since the look before: up, down, new, gone, or nothing."""
    if not known or rank == was:
        return Markup("")
    if was is None:
        return Markup('<span class="up">new</span>')
    if rank is None:
        return Markup('<span class="down">was {}</span>').format(was)
    sign, css = ("▲", "up") if rank < was else ("▼", "down")
    return Markup('<span class="{}" title="was {}">{}{}</span>').format(
        css, was, sign, abs(rank - was)
    )


def bar_html(contributions: Mapping[str, float], colour: Mapping[str, str], top: float) -> Markup:
    """A row's score as its lists' shares, as wide as the score is of the best."""
    out = Markup("")
    for name, part in contributions.items():
        share = 100 * part / top if top > 0 else 0.0
        if share > 0:
            out += Markup(
                '<i style="width:{:.2f}%;background:{}" title="{} adds {:.6g}"></i>'
            ).format(share, colour.get(name, "#8a93a3"), shown(name, 20), part)
    return out


def _row(
    row: RowView, view: View, colour: Mapping[str, str], top: float, selected: str, alive: bool
) -> Markup:
    is_pinned = view.pinned is not None and row.key == view.pinned.key
    css = " ".join(
        [
            "row",
            *["pinned"] * is_pinned,
            *["below"] * (row.rank is None or row.rank > view.session.first),
        ]
    )
    chunk, facets = row.chunk, row.chunk.facets
    meta = " · ".join(str(m) for m in (chunk.entity_id, facets.project, f"point {chunk.id}") if m)
    pin = Markup('<button type="button" data-pin="{}">{}</button>').format(
        "" if is_pinned else row.key, "unpin" if is_pinned else "pin"
    )
    ranks = Markup("").join(
        Markup('<td class="list" style="--c:{}">{}</td>').format(
            colour[n], row.ranks.get(n, Markup('<span class="none">–</span>'))
        )
        for n in view.lists
    )
    return _ROW.format(
        css=css,
        key=row.key,
        selected="true" if row.key == selected else "false",
        rank="–" if row.rank is None else f"{row.rank:,}",
        moved=moved_html(row.rank, row.was, view.before is not None),
        title=shown(chunk.title or chunk.entity_id, TITLE_CHARACTERS),
        snippet=marked(snippet(chunk.text, row.evidence)),
        meta=shown(meta, META_CHARACTERS * 2),
        pin=pin if alive else "",
        ranks=ranks,
        bar=bar_html(row.contributions, colour, top),
        score="" if row.score is None else f"{row.score:.5g}",
    )


def _line(text: str, width: int) -> Markup:
    return Markup('<tr class="line"><td colspan="{}">{}</td></tr>').format(width, text)


# ---- An investigation as a page shows it without a kernel: the same tables and drawings, an ----

# Where the living widget stands in the same output, its still picture is not shown twice.
_HIDDEN = ".jp-OutputArea:has(.wb-live) .jp-OutputArea-child:has(.wb-still) { display: none; }"


def still_html(
    bench: Bench,
    view: View,
    target: PointId | None = None,
    told: Explanation | None = None,
    answers: tuple[Counterfactual, ...] = (),
) -> str:
    """One block of HTML with its own style: what was asked, the table, the drawings, and the explanation of the target
    where one was chosen."""
    parts = [_asked(view), table_html(view, str(target) if target is not None else "")]
    if told is not None and target is not None:
        rival = view.result.fused.ids[told.rank - 2] if told.rank and told.rank > 1 else None
        names = bench.titles(
            [
                target,
                *([rival] if rival is not None else []),
                *(m.id for c in answers for m in c.moves),
            ]
        )
        parts += [
            explanation_html(view, told, bench.chunk(target), names.get(rival, "")),
            counterfactuals_html(answers, names),
        ]
    parts += [
        Markup("<h4>Ranks in each list</h4>"),
        pictures.fusion_ranks(view, target),
        Markup("<h4>What was read</h4>"),
        pictures.caps(view, target, told),
    ]
    if view.comparison is not None:
        names = bench.titles([r.id for r in view.comparison.rows])
        parts += [
            Markup("<h4>Beside {}</h4>").format(shown(view.comparison.right, 60)),
            comparison_html(view, names, target),
        ]
    style = Markup("<style>{}{}</style>").format(Markup(LOOK), Markup(_HIDDEN))
    return str(Markup('{}<div class="wb wb-still">{}</div>').format(style, Markup("").join(parts)))


def _asked(view: View) -> Markup:
    s = view.session
    turned = ", ".join(f"{words.knob_label(n)} {words.value_text(v)}" for n, v in s.knobs.items())
    filters = ", ".join(f"{n} = {v}" for n, v in s.filters.items())
    said = [
        f"variant {s.variant}",
        *([turned] if turned else []),
        *([filters] if filters else []),
        *([s.mode] if s.mode != "hybrid" else []),
    ]
    return Markup('<p class="lead">“{}” in {}</p><p class="status">{}</p>').format(
        shown(s.query, 200), shown(s.collection, 64), shown("; ".join(said), 400)
    )
