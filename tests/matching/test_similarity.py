"""Likenesses and gates: their arithmetic in exact fractions, and what each of them does not see."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest
from helpers.matching import WORDS
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.matching.fingerprint import compared
from workbench.matching.similarity import (
    GATES,
    LIKENESSES,
    containment,
    dice_bigrams,
    dice_multiset,
    dice_set,
)

lists = st.lists(st.sampled_from(WORDS[:8]), max_size=10)
few = settings(max_examples=150, deadline=None)


def _words(text: str) -> list[str]:
    return text.split()


def oracle(a: list[str], b: list[str]) -> Fraction:
    shared = sum(min(a.count(w), b.count(w)) for w in set(a))
    return Fraction(2 * shared, len(a) + len(b)) if a or b else Fraction(0)


@few
@given(lists, lists)
def test_dice_agrees_with_exact_fractions(a, b):
    assert dice_multiset(a, b) == pytest.approx(float(oracle(a, b)), abs=1e-15)
    assert dice_set(a, b) == pytest.approx(float(oracle(sorted(set(a)), sorted(set(b)))), abs=1e-15)


@few
@given(lists, lists)
def test_every_likeness_is_symmetric_from_0_to_1_and_1_for_the_same(a, b):
    for name, measure in LIKENESSES.items():
        assert measure(a, b) == measure(b, a), name
        assert 0 <= measure(a, b) <= 1, name
        assert measure(a, a) == (1 if a else 0), name


@few
@given(lists, lists)
def test_dice_over_repeats_is_1_only_for_the_same_words(a, b):
    assert (dice_multiset(a, b) == 1) == (bool(a) and Counter(a) == Counter(b))


@pytest.mark.parametrize("n", [1, 16, 17, 34, 35])
def test_one_word_added_or_changed(n):
    words = [f"w{i}" for i in range(n)]
    assert dice_multiset(words, [*words, "more"]) == pytest.approx(2 * n / (2 * n + 1))
    assert dice_multiset(words, [*words[:-1], "other"]) == pytest.approx(1 - 1 / n)


def test_what_the_likenesses_do_not_see():
    dog, man = _words("dog bites man"), _words("man bites dog")
    assert dice_multiset(dog, man) == dice_set(dog, man) == containment(dog, man) == 1
    assert dice_bigrams(dog, man) < 0.6
    assert dice_set(_words("very very good"), _words("very good")) == 1
    assert dice_multiset(_words("very very good"), _words("very good")) == 0.8
    assert containment(_words("a b"), _words("a b c d")) == 1


PAIRS = {
    "same_order": ("Is A taller than B?", "Is B taller than A?"),
    "same_marks": ("What is 10 + 10?", "What is 10 - 10?"),
    "same_places": (["tea today", "coffee"], ["tea", "today coffee"]),
    "same_numbers": ("Give me 3 names", "Give me 4 names"),
    "same_negation": ("Do use tabs", "Do not use tabs"),
    "same_content_words": ("Where is the Louvre", "Where is the Prado"),
}


@pytest.mark.parametrize("gate", GATES)
def test_each_gate_sees_what_it_is_for(gate):
    one, other = (compared([t] if isinstance(t, str) else t) for t in PAIRS[gate])
    assert not GATES[gate](one, other)
    assert not GATES[gate](other, one)
    assert GATES[gate](one, one)


@pytest.mark.parametrize(
    ("a", "b"), [("3.5 kg", "3,5 kg"), ("a != b", "a == b"), ("$5", "€5"), ("x*y", "x/y"), ("-4", "4")]
)
def test_marks_that_change_what_is_asked_are_seen(a, b):
    assert not GATES["same_marks"](compared([a]), compared([b]))


@pytest.mark.parametrize(
    ("a", "b"), [("Hello, Ann!", "hello Ann"), ("It's “so”", 'It’s "so"'), ("Really?", "Really")]
)
def test_marks_of_a_sentence_are_not(a, b):
    assert GATES["same_marks"](compared([a]), compared([b]))
