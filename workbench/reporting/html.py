"""Values and texts as HTML: hostile text is data, numbers are readable, and nothing is too long."""

from __future__ import annotations

import difflib
import html
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import cache
from typing import Any

from markupsafe import Markup

from workbench.analysis.ledger.verdict import NoVerdict, bound_of, differences, tolerance_of
from workbench.text import visible

# ---- Values and texts as HTML: hostile text is data, numbers are readable, and nothing is t ----

# A cell shows this much of a value; ledger.json has it whole.
SHOWN_CHARACTERS = 600
SHOWN_ENTRIES = 12
# From here on digits are grouped by threes: years and ranks stay as they are written. Beside a number that is
# grouped its neighbours are grouped too.
GROUPED_FROM, GROUPED_BESIDE = 10_000, 1_000
SIGNIFICANT = 6
# Outside of these a number that is not whole is written with an exponent.
SMALLEST_PLAIN, LARGEST_PLAIN = 1e-7, 1e15

_BOUND_SIGNS = {"at_most": "≤", "at_least": "≥"}


def safe(text: str) -> Markup:
    """Text as HTML text: marks escaped, control and direction marks and lone surrogates made visible."""
    cut = text[:SHOWN_CHARACTERS]
    rest = f"… ({len(text):,} characters)" if len(text) > SHOWN_CHARACTERS else ""
    return Markup(html.escape(visible(cut.replace("\r\n", "\n"))) + rest)


def label(key: str) -> Markup:
    """A key as words: `last_rank` is read as "last rank"."""
    return safe(key.replace("_", " "))


def number_text(value: int | float, grouped_from: int = GROUPED_FROM) -> str:
    """A number as a reader takes it in: whole ones whole, others to six significant digits, a true minus
    sign; ledger.json has all digits."""
    return _digits(value, grouped_from).replace("-", "−")


def _digits(value: int | float, grouped_from: int) -> str:
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= grouped_from else str(value)
    if abs(value) >= LARGEST_PLAIN:
        return f"{value:.{SIGNIFICANT}g}"
    if value.is_integer():
        return _digits(int(value), grouped_from)
    if abs(value) >= grouped_from:
        return f"{value:,.1f}"
    text = f"{value:.{SIGNIFICANT}g}"
    return f"{Decimal(text):f}" if "e-" in text and abs(value) >= SMALLEST_PLAIN else text


def value_html(value: Any) -> Markup:
    """A measured value: a table as its keys and values, a list in one line, nothing as a dash."""
    if isinstance(value, Mapping):
        return _entries((label(k), value_html(v)) for k, v in value.items())
    if isinstance(value, list):
        shown = _listed(value[:SHOWN_ENTRIES])
        more = len(value) - SHOWN_ENTRIES
        return shown + (
            Markup(' <span class="more">+ {:,} more</span>').format(more) if more > 0 else ""
        )
    return _inline(value)


def measured_html(expected: Any, measured: Any, tolerance: Any) -> Markup:
    """A measured value beside what was expected: the keys that were expected first and in the same order,
    what does not agree marked, what else was measured after them."""
    if (
        not isinstance(measured, Mapping)
        or not isinstance(expected, Mapping)
        or bound_of(expected) is not None
    ):
        return value_html(measured)
    named = {k: measured[k] for k in expected if k in measured}
    pairs = []
    for key, value in named.items():
        mark = "off" if _differs(expected[key], value, tolerance_of(tolerance, key)) else ""
        pairs.append(
            (label(key), Markup('<span class="{}">{}</span>').format(mark, value_html(value)))
        )
    rest = [(label(k), value_html(v)) for k, v in measured.items() if k not in named]
    return _entries([*pairs, *rest])


def expected_html(expected: Any, tolerance: Any) -> Markup:
    """What a claim expects, with its tolerance and bounds as signs."""
    if (bound := bound_of(expected)) is not None:
        return Markup("{} {}").format(_bound(bound, expected[bound]), _tolerance(tolerance)).strip()
    if isinstance(expected, Mapping):
        return _entries(
            (label(k), expected_html(v, tolerance_of(tolerance, k))) for k, v in expected.items()
        )
    return Markup("{} {}").format(value_html(expected), _tolerance(tolerance)).strip()


def _bound(bound: str, limit: Any) -> str:
    if bound == "absent":
        return "absent" if limit else "present"
    if bound == "between":
        return f"{number_text(limit[0])} – {number_text(limit[1])}"
    return f"{_BOUND_SIGNS[bound]} {number_text(limit)}"


def _tolerance(tolerance: Any) -> Markup:
    if isinstance(tolerance, Mapping):
        told = [number_text(tolerance["abs"])] if tolerance.get("abs") else []
        told += [f"{number_text(tolerance['rel'] * 100)} %"] if tolerance.get("rel") else []
        text = " or ± ".join(told)
    else:
        text = number_text(tolerance) if tolerance else ""
    return Markup('<span class="tolerance">± {}</span>').format(text) if text else Markup("")


def _differs(expected: Any, measured: Any, tolerance: Any) -> bool:
    try:
        return bool(differences(expected, measured, tolerance))
    except NoVerdict:
        return False


def _entries(pairs: Iterable[tuple[Markup, Markup]]) -> Markup:
    rows = [Markup("<div><dt>{}</dt><dd>{}</dd></div>").format(k, v) for k, v in pairs]
    if len(rows) > SHOWN_ENTRIES:
        more = Markup('<div class="more">+ {} more</div>').format(len(rows) - SHOWN_ENTRIES)
        rows = [*rows[:SHOWN_ENTRIES], more]
    return Markup('<dl class="kv">{}</dl>').format(Markup("").join(rows))


def _listed(values: list[Any]) -> Markup:
    numbers = [v for v in values if isinstance(v, int | float)]
    beside = GROUPED_BESIDE if any(abs(n) >= GROUPED_FROM for n in numbers) else GROUPED_FROM
    return Markup(" · ").join(_inline(v, beside) for v in values)


def _inline(value: Any, grouped_from: int = GROUPED_FROM) -> Markup:
    if value is None:
        return Markup('<span class="none">–</span>')
    if isinstance(value, bool):
        return Markup("yes" if value else "no")
    if isinstance(value, int | float):
        return Markup('<span class="number">{}</span>').format(number_text(value, grouped_from))
    if isinstance(value, str):
        return safe(value)
    if isinstance(value, Mapping):
        return Markup(", ").join(
            Markup("{} {}").format(label(k), _inline(v)) for k, v in value.items()
        )
    return Markup("[{}]").format(Markup(", ").join(_inline(v) for v in value))


# ---- Markdown to HTML that asks for nothing: no raw HTML, no images, headings below the pag ----

# The page has h1 for its title and h2 for its sections, so a story's first heading is an h3.
_HEADING_SHIFT = 2
_LAST_HEADING = 6
# No word of a text is that long: it is data, and is cut as data in a cell is.
_LONG_RUN = re.compile(r"\S{2000,}")


def markdown_html(text: str) -> Markup:
    """A story's text as HTML; what is not Markdown is shown as it stands."""
    parser = _parser()
    text = _LONG_RUN.sub(lambda m: f"{m[0][:SHOWN_CHARACTERS]}… ({len(m[0]):,} characters)", text)
    tokens = parser.parse(visible(text.replace("\r\n", "\n").replace("\r", "\n")))
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + _HEADING_SHIFT, _LAST_HEADING)}"
        for child in token.children or ():
            if child.type == "link_open":
                child.attrSet("rel", "noreferrer noopener")
    return Markup(parser.renderer.render(tokens, parser.options, {}))


@cache
def _parser() -> Any:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")


# ---- Two texts side by side, the words that differ marked: HTML that shows any text as text ----

_PIECE = re.compile(r"\s+|\w+|[^\w\s]")
SHOWN_AROUND = 12
"""Pieces of an equal stretch that stay at each of its ends."""
FOLDED_FROM = 80
"""Equal stretches of more pieces than this are folded in the middle: a shared system text says nothing here."""
COMPARED = 4000
"""Pieces of each text that are compared; a difference of longer ones would take minutes."""


def pieces(text: str) -> list[str]:
    """Words, marks and runs of white space, in order: joined they are the text."""
    return _PIECE.findall(text)


def word_differences(one: str, other: str) -> tuple[str, str]:
    """(HTML of one, HTML of other): `<del>` marks what only the first has, `<ins>` what only the second has."""
    a, b = pieces(one), pieces(other)
    left, right = [], []
    for kind, i, j, k, m in _opcodes(a[:COMPARED], b[:COMPARED]):
        if kind == "equal":
            shown = _folded(a[i:j])
            left.append(shown)
            right.append(shown)
        else:
            left.append(_marked("del", a[i:j]))
            right.append(_marked("ins", b[k:m]))
    return "".join(left) + _rest(a), "".join(right) + _rest(b)


def _opcodes(a: list[str], b: list[str]) -> list[tuple[str, int, int, int, int]]:
    """difflib's opcodes. Equal ends are cut off first; pieces that recur all over, as blanks do, start no match in
    what is left, since comparing every one with every other takes minutes."""
    least = min(len(a), len(b))
    head = next((n for n in range(least) if a[n] != b[n]), least)
    tail = next((n for n in range(least - head) if a[-1 - n] != b[-1 - n]), least - head)
    middle = difflib.SequenceMatcher(None, a[head : len(a) - tail], b[head : len(b) - tail])
    found = [(kind, *(n + head for n in places)) for kind, *places in middle.get_opcodes()]
    ends = ("equal", 0, head, 0, head), ("equal", len(a) - tail, len(a), len(b) - tail, len(b))
    return [o for o in (ends[0], *found, ends[1]) if o[2] > o[1] or o[4] > o[3]]


def _folded(same: list[str]) -> str:
    if len(same) <= FOLDED_FROM:
        return _text(same)
    middle = len(same[SHOWN_AROUND:-SHOWN_AROUND])
    return f"{_text(same[:SHOWN_AROUND])}<small> … {middle:,} the same … </small>{_text(same[-SHOWN_AROUND:])}"


def _rest(all_of_it: list[str]) -> str:
    left = len(all_of_it) - COMPARED
    return f"<small> … {left:,} more not compared</small>" if left > 0 else ""


def _marked(tag: str, some: list[str]) -> str:
    return f"<{tag}>{_text(some)}</{tag}>" if some else ""


def _text(some: list[str]) -> str:
    return html.escape(visible("".join(some)))
