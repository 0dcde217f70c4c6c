"""Marks: what stands in a text as a figure of a claim is found, what only talks about marks is not."""

from decimal import Decimal

import pytest

from workbench.analysis.ledger.verify import VERDICT, BadMark, Mark, marks


def found(text):
    return [(m.claim, m.path, m.after) for m in marks(text)]


@pytest.mark.parametrize(
    ("text", "claim", "path", "after"),
    [
        ("scores <!-- claim:A07.score -->0.0328.", "A07", "score", "0.0328."),
        ("<!--claim:A07-->7 calls", "A07", "", "7 calls"),
        ("| <!-- claim:A07.a.b --> **12 %** |", "A07", "a.b", "12 %"),
        ("<!-- claim:A10.1 term.scrolls.1 -->1", "A10", "1 term.scrolls.1", "1"),
        ("<!-- claim:A07@verdict -->HOLDS here", "A07", VERDICT, "HOLDS here"),
        ("in <!-- claim:A07.n -->\n  34,860 rows", "A07", "n", "34,860 rows"),
        ("<b><!-- claim:A07.n --><i>4</i></b>", "A07", "n", "4</i></b>"),
        ("<!-- claim:A07.n -->4<!-- a comment -->5", "A07", "n", "4"),
        ("<!-- claim:A07.n -->4\n\nanother paragraph", "A07", "n", "4"),
        ("<!-- claim:A07.n -->4\r\n\r\nanother paragraph", "A07", "n", "4"),
        ("<!-- claim:a-1_b.ș.„x” -->4", "a-1_b", "ș.„x”", "4"),
    ],
)
def test_a_mark_takes_what_follows_it_in_its_paragraph(text, claim, path, after):
    assert found(text) == [(claim, path, after)]


def test_a_closing_mark_ends_the_figure():
    (mark,) = marks("of <!-- claim:A01.terms -->1,180\n\nand 34,395<!-- /claim --> rows")
    assert mark.closed and mark.after == "1,180\n\nand 34,395"


def test_marks_have_their_line_and_their_order():
    text = "one\n\n<!-- claim:A01 -->1 <!-- claim:A02 -->2\nthree\n<!-- claim:A03 -->3<!-- /claim -->"
    assert [(m.line, m.claim, m.closed) for m in marks(text)] == [(3, "A01", False), (3, "A02", False), (5, "A03", True)]


@pytest.mark.parametrize(
    ("said", "within", "relative"),
    [("within 5", "5", False), ("within 0.5", "0.5", False), ("within 20 %", "20", True), ("within 20%", "20", True)],
)
def test_a_mark_may_have_a_tolerance_of_its_own(said, within, relative):
    (mark,) = marks(f"<!-- claim:A11.ratio {said} -->1.4")
    assert (mark.path, mark.within, mark.relative) == ("ratio", Decimal(within), relative)
    (mark,) = marks(f"<!-- claim:A11 {said} -->1.4")
    assert (mark.path, mark.within) == ("", Decimal(within))


@pytest.mark.parametrize(
    "text",
    [
        "Write `<!-- claim:A07.score -->0.03` before it.",
        "``a ` <!-- claim:A07 -->1 ``",
        "```markdown\n<!-- claim:A07 -->1\n```",
        "- item\n\n  ~~~\n  <!-- claim:A07 -->1\n  ~~~",
        "text\n\n    <!-- claim:A07 -->1\n",
        "<!-- a comment on claims -->1", "<!-- claims:A07 -->1", "<!--- --->", "claim:A07 1", "",
    ],
)  # fmt: skip
def test_code_and_other_comments_hold_no_mark(text):
    assert marks(text) == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("\n<!-- claim A07 -->1", "line 2"), ("<!-- claim: A07 -->1", "is no mark"), ("<!-- claim:07 -->1", "is no mark"),
        ("<!-- claim:A07. -->1", "is no mark"), ("<!-- Claim:A07 -->1", "is no mark"),
        ("<!-- /claim -->", "closes nothing"), ("<!-- claim:A07 -->1<!-- /claim --><!-- /claim -->", "closes nothing"),
        ("<!-- claim:A07@verdicts -->1", "is no mark"),
    ],
)  # fmt: skip
def test_a_comment_that_means_to_be_a_mark_and_is_none_is_refused_with_its_line(text, fault):
    with pytest.raises(BadMark, match=fault):
        marks(text)


def test_a_mark_prints_as_it_is_written():
    printed = [str(Mark(1, "A07", path, "")) for path in ("", "score", VERDICT)]
    assert printed == ["A07", "A07.score", "A07@verdict"]


def test_a_megabyte_without_a_blank_is_read_in_a_moment():
    assert len(marks("x" + "`" * 200_000 + "x" * 1_000_000 + "<!-- claim:A07 -->1")) == 1
    assert len(marks("`a\n\n" * 50_000 + "<!-- claim:A07 -->1")) == 1
