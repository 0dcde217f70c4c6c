"""Hostile content is text in every table, drawing, sentence and snippet, and a page's size has a bound."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from helpers.made_collection import Document, made_collection

from workbench.reporting.widgets.bench import Bench
from workbench.reporting.widgets.investigation import Investigation
from workbench.reporting.widgets.markup import WIDTH, snippet
from workbench.reporting.widgets.session import Session

HOSTILE = {
    "script": "red <script>window.hacked = 1</script>",
    "image": 'red "><img src=x onerror="window.hacked = 1">',
    "ansi": "red \x1b[31mred\x1b[0m \x07",
    "bidi": "red \u202eevil\u202c \u2066x\u2069",
    "long": "red " + "x" * 1_000_000,
    "emoji": "red 👩‍👩‍👧‍👦 🏴‍☠️",
    "entity": "red &amp; &#x3c;b&#x3e;",
    "surrogate": "red \ud800 x",
    "svg": "red </title></svg><script>window.hacked = 1</script>",
}
ALLOWED = {
    "div", "p", "span", "b", "i", "mark", "table", "thead", "tbody", "tr", "th", "td", "button", "h4", "section", "blockquote",
    "details", "summary", "ul", "li", "style", "svg", "g", "path", "rect", "line", "text", "title",
}  # fmt: skip


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.handlers, self.text = set(), [], []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.handlers += [name for name, value in attrs if name.startswith("on") or "javascript:" in (value or "")]

    def handle_data(self, data):
        self.text.append(data)


def read(html):
    parser = Tags()
    parser.feed(html)
    return parser


def everything(made):
    """All HTML that an investigation shows, living and still."""
    panels = [p.html if hasattr(p, "html") else p.value for p in made._panels.values()]
    return [made._table.html, made._watch.value, made._status.value, *panels, made.still()]


@pytest.fixture(params=list(HOSTILE))
def hostile(request):
    text = HOSTILE[request.param]
    docs = [Document(1, text, text, text[:40], 0), Document(2, "red blue", "e2", "a", 30), Document(3, "blue", "e3", "a", 60)]
    made = Investigation(Bench(made_collection(docs)), Session("made", text[:400], first=1, other="adr_0005", pinned=1))
    made.explain(1)
    made.turn("k", 3)
    made.explain(3)
    return text, made


def test_no_tag_or_handler_comes_from_a_text(hostile):
    for html in everything(hostile[1]):
        found = read(html)
        assert found.tags <= ALLOWED and found.handlers == []


def test_controls_and_directions_are_shown_and_not_obeyed(hostile):
    for html in everything(hostile[1]):
        assert not set(html) & set("\x1b\x07\u202e\u202c\u2066\u2069\ud800")


def test_the_text_is_read_as_it_was_written(hostile):
    text, made = hostile
    if text == HOSTILE["script"]:
        assert "<script>window.hacked = 1</script>" in "".join(read(made._table.html).text).replace("RED ", "")


def test_a_page_of_megabytes_is_small(hostile):
    assert sum(len(html) for html in everything(hostile[1])) < 300_000


def test_a_snippet_is_a_window_of_its_text_and_marks_what_it_says():
    from workbench.analysis.explain.evidence import Evidence

    text = "a" * 500 + " ferry " + "b" * 500
    pieces = snippet(text, Evidence({"ferry": 1}, ((501, 506),), None))
    assert [p.text for p in pieces if p.mark] == ["ferry"]
    assert sum(len(p.text) for p in pieces) <= WIDTH + 4 and "".join(p.text for p in pieces).strip("… ") in text
    whole = snippet("the Big ferry", Evidence({"big": 1, "ferry": 1}, ((4, 7), (8, 13)), (4, 13), "content"))
    assert [(p.text, p.mark) for p in whole] == [("the ", ""), ("Big ferry", "verbatim")]
    assert snippet("", None) == []


@pytest.mark.parametrize("before", ["word " * 20, "so-called " * 9, "e\u0301te\u0301 " * 20, "a" * 300])
def test_a_snippet_begins_and_ends_between_words(before):
    from workbench.analysis.explain.evidence import Evidence

    text = f"{before} ferry " + "harbour " * 60
    at = text.index("ferry")
    first, *window, last = (p.text for p in snippet(text, Evidence({"ferry": 1}, ((at, at + 5),), None)))
    words = set(re.split(r"[ -]", text)) | {""}
    assert (first, last) == ("\u2026 ", " \u2026") and set(re.split(r"[ -]", "".join(window))) <= words


def test_a_snippet_of_a_script_without_blanks_is_cut_anywhere():
    from workbench.analysis.explain.evidence import Evidence

    pieces = snippet("\u4eca\u65e5" * 40 + "\u4f1a\u8b70" + "\u9332" * 300, Evidence({}, (), (80, 82), "content"))
    assert sum(len(p.text) for p in pieces) == WIDTH + 4


@pytest.mark.parametrize(
    ("text", "span", "mark"),
    [("wait, then go", (6, 9), []), ("other", (1, 4), []), ("go to the harbour", (6, 9), ["the"]), ("the", (0, 3), ["the"]), ("a(the)b", (2, 5), ["the"]), ("\u4eca\u65e5\u4f1a\u8b70\u9332", (2, 4), ["\u4f1a\u8b70"])],
)  # fmt: skip
def test_a_query_inside_a_word_is_not_marked(text, span, mark):
    from workbench.analysis.explain.evidence import Evidence

    assert [p.text for p in snippet(text, Evidence({}, (), span, "content")) if p.mark] == mark
