"""The review widget: what it shows, what its buttons do, and that hostile text is text."""

from __future__ import annotations

import re
from html import unescape

import pytest
from helpers.matching import said
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.matching.cascade import ask
from workbench.matching.library import Library, MatchingSettings
from workbench.matching.queue import candidate, candidates, conditions
from workbench.matching.request import Message, Part, RecordedRequest, plain
from workbench.reporting.html import pieces, word_differences
from workbench.reporting.widgets.review import Review, card, conversation
from workbench.text import visible


@pytest.fixture
def library():
    with Library(settings=MatchingSettings()) as made:
        for place in ("Rome", "Oslo", "Lima"):
            made.record(plain(f"what is the weather in {place} today", model="m"), said(f"sunny in {place}"))
        assert len(ask(made, plain("what is the weather in Bonn today", model="m")).candidates) == 3
        yield made


def test_both_sides_stand_there_with_their_differences_score_tier_and_answer(library):
    shown = card(library, candidate(library, 1))
    assert "<del>Bonn</del>" in shown and "<ins>Rome</ins>" in shown
    assert "lexical" in shown and "0.857" in shown and "sunny in Rome" in shown
    assert 'class="met">✓ speakers' in shown and "broken" not in re.sub(
        "<style>.*?</style>", "", shown, flags=re.S
    )


def test_broken_conditions_are_named_with_what_differs(library):
    ask(library, plain("today is what, the weather in Rome", model="other"))
    found = candidates(library)[-1]
    told = {c.name: c for c in conditions(library, found)}
    assert not told["params"].met and told["params"].detail == 'model: "other" / "m"'
    assert not told["same_order"].met and told["tools"].met and told["speakers"].met
    assert "✗ params" in card(library, found)


def test_approve_writes_the_alias_and_shows_the_next_request(library):
    ask(library, plain("what is the weather in Kiel today", model="m"))
    widget = Review(library, by="Ada")
    assert (widget.current, widget.left) == (1, 6)
    widget.approve_button.click()
    assert candidate(library, 1).decided_by == "Ada"
    assert (widget.left, widget.said) == (3, "1 is approved")
    assert candidate(library, widget.current).state == "open"
    assert ask(library, plain("what is the weather in Bonn today", model="m")).tier == "alias"


def test_reject_and_later_walk_the_queue_until_nothing_is_open(library):
    widget = Review(library)
    widget.skip_button.click()
    assert (widget.current, widget.left) == (2, 3)
    for left in (2, 1, 0):
        widget.reject_button.click()
        assert widget.left == left
    assert widget.current == 0 and widget.approve_button.disabled
    assert "No candidate is open" in widget._card.value
    widget.approve()


def test_another_reviewer_who_was_first_is_said_and_the_next_is_shown(library):
    from workbench.matching.queue import reject

    widget = Review(library)
    reject(library, widget.current, "Bob")
    widget.approve_button.click()
    assert "rejected already by Bob" in widget.said and widget.current == 2
    assert candidate(library, 1).state == "rejected"


def test_a_page_without_a_widget_shows_the_card(library):
    widget = Review(library)
    data = widget._repr_mimebundle_()
    data = data[0] if isinstance(data, tuple) else data
    assert data["text/html"] == widget._card.value and "<del>Bonn</del>" in data["text/html"]


HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "\x1b[31mred",
    "a\u202eb",
    "x" * 100_000,
    "🦊 日本",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_shown_as_text(text):
    with Library() as library:
        library.record(plain(f"say {text} and be glad about the weather", model="m"), said(text))
        library.record(RecordedRequest((Message("user", (Part("media", text, text),)),)), said(text))
        ask(library, plain(f"say {text} and be sad about the weather", model="m"))
        shown = card(library, candidates(library)[0])
    assert "<script" not in shown and "<img" not in shown and "\x1b" not in shown and "\u202e" not in shown


@settings(max_examples=80, deadline=None)
@given(st.text(max_size=60), st.text(max_size=60))
def test_differences_keep_every_character_of_both_sides(one, other):
    assert "".join(pieces(one)) == one
    left, right = word_differences(one, other)
    strip = lambda shown: unescape(re.sub("</?(?:del|ins)>", "", shown))  # noqa: E731
    assert (strip(left), strip(right)) == (visible(one), visible(other))
    if one == other:
        assert "<del>" not in left and "<ins>" not in right


def test_a_long_shared_text_is_folded_and_a_very_long_one_is_cut_and_said():
    same = " ".join(f"word{i}" for i in range(500))
    left, right = word_differences(f"{same} Rome", f"{same} Oslo")
    assert "the same" in left and len(left) < 500 and "<ins>Oslo</ins>" in right
    left, _ = word_differences("a " * 10_000, "b " * 10_000)
    assert "more not compared" in left


def test_a_conversation_reads_by_speaker_with_its_attachments():
    turns = (Message("user", (Part("text", "look"), Part("media", "sha256:1", "image/png"))),)
    assert (
        conversation(RecordedRequest(turns, "Be brief."))
        == "system: Be brief.\n\nuser: look\n[media image/png]"
    )
