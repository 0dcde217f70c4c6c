"""The lexical index: what it proposes, in which order, and that its words are the one tokenizer's words."""

from __future__ import annotations

import random

import pytest
from helpers.matching import WORDS, said
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.matching import index as lexical
from workbench.matching.index import Fts5Index, ScanIndex
from workbench.matching.library import Library
from workbench.matching.request import plain
from workbench.matching.similarity import dice_multiset


def filled(*texts: str) -> Library:
    library = Library()
    library.record_many((plain(t), said(f"answer {i}"), "", i) for i, t in enumerate(texts))
    return library


def proposed(library: Library, index, text: str, limit: int = 10) -> list[int]:
    ask = library.normal.prepare(plain(text))
    return index.propose(library.db, ask.words, ask.speakers, limit)


# Rows 10 to 15 of the cases on which public systems have failed: any string is a valid query.
CASES = [
    "THE", "the", "to be or not to be", "DO NOT USE FIND /", "NEAR(a b)", 'say "no"', "a AND b OR NOT c", "words:x",
    "2026-11-11 09:58", "0b85ed4a-1c2d-4e5f-8a9b-0c1d2e3f4a5b", "CVE-2024-1234", "covid-19", "órgãos", "what?", "a/b",
    "it's", "日本語", "हिन्दी", "Ședință", "łaska đ ø ß æ", "0", "x" * 5000, "½ ﬁ", "a\u0000b", "\ud800", "<script>", "*", "^x",
]  # fmt: skip


@pytest.mark.parametrize("text", CASES)
@pytest.mark.parametrize("index", [Fts5Index(), ScanIndex()], ids=["fts5", "scan"])
def test_any_text_finds_itself_or_has_no_words(index, text):
    with filled("something else", text, "bar's foo") as library:
        ask = library.normal.prepare(plain(text))
        found = proposed(library, index, text)
        assert (found[:1] == [2]) == bool(ask.words)


@pytest.mark.parametrize("index", [Fts5Index(), ScanIndex()], ids=["fts5", "scan"])
def test_case_a_question_mark_and_a_digit_that_is_no_word_change_nothing(index):
    with filled("bar's", "foo", "When did Melanie paint a sunrise?") as library:
        assert proposed(library, index, "0") == []
        assert proposed(library, index, "FOO") == proposed(library, index, "foo") == [2]
        asked = "When did Melanie paint a sunrise"
        assert proposed(library, index, asked) == proposed(library, index, asked + "?") == [3]
        assert proposed(library, index, "nothing known here") == []


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=20), min_size=1, max_size=4))
def test_a_word_of_the_tokenizer_is_a_word_of_the_index(texts):
    with filled(*texts) as library:
        for text in texts:
            for word in library.normal.prepare(plain(text)).words:
                holders = {
                    i
                    for i, t in enumerate(dict.fromkeys(texts), 1)
                    if word in library.normal.prepare(plain(t)).words
                }
                rows = library.db.execute(
                    "SELECT rowid FROM entry_words WHERE entry_words MATCH ?", (f'words : "{word}"',)
                )
                assert {row[0] for row in rows} == holders


def test_bm25_ranks_and_ties_are_by_entry():
    with filled("red dog", "red dog here", "blue dog", "red dog", "green") as library:
        ask = library.normal.prepare(plain("red dog"))
        ranked = Fts5Index().ranked(library.db, ask.words, ask.speakers, 10)
        assert [e for e, _ in ranked] == [1, 2, 3]
        assert [s for _, s in ranked] == sorted((s for _, s in ranked), reverse=True)
    with filled("red one", "red two", "red six") as library:
        assert proposed(library, Fts5Index(), "red", 2) == [1, 2]
        assert proposed(library, ScanIndex(), "red", 2) == [1, 2]


@pytest.mark.parametrize("index", [Fts5Index(), ScanIndex()], ids=["fts5", "scan"])
def test_only_the_same_speakers_are_proposed_however_many_others_come_first(index):
    with Library() as library:
        for i in range(30):
            library.record(plain(f"dog bites man {i}", answer_to=[("assistant", "go on")]), said("no"))
        wanted = library.record(plain("dog bites man and more words behind it"), said("yes"))
        assert proposed(library, index, "dog bites man") == [wanted]


def test_the_scan_sees_the_first_entries_only_and_agrees_with_the_index_on_them():
    rng = random.Random(7)
    texts = [" ".join(rng.choices(WORDS, k=9)) + f" n{i}" for i in range(80)]
    with filled(*texts) as library:
        for asked in (" ".join(rng.choices(WORDS, k=9)) for _ in range(20)):
            ask = library.normal.prepare(plain(asked))
            held = library.compared(range(1, 81))
            scored = sorted(((dice_multiset(ask.words, held[e][0].words), -e) for e in held), reverse=True)
            best = [-e for s, e in scored if s > 0][:10]
            assert proposed(library, ScanIndex(), asked) == best
        last = texts[-1]
        assert proposed(library, Fts5Index(), last)[0] == 80 == proposed(library, ScanIndex(80), last)[0]
        assert 80 not in proposed(library, ScanIndex(79), last)


def test_a_long_request_looks_up_its_rarest_words_and_finds_the_same_first():
    rng = random.Random(3)
    texts = [" ".join(rng.choices(WORDS, k=12)) + f" only{i}" for i in range(50)]
    with filled(*texts) as library:
        ask = library.normal.prepare(plain(texts[20] + " " + " ".join(WORDS)))
        short = Fts5Index(query_words=3).asked(library.db, ask.words)
        assert len(short) == 3 and "only20" in short
        assert proposed(library, Fts5Index(query_words=3), texts[20])[0] == 21
        assert (
            proposed(library, Fts5Index(), " ".join(f"unknown{i}" for i in range(100_000)) + " only20")[0]
            == 21
        )


def test_words_in_most_entries_are_left_out_of_a_large_collection_while_a_rarer_one_is_known(monkeypatch):
    monkeypatch.setattr(lexical, "ALL_WORDS_UP_TO", 3)
    with filled("the red dog", "the blue dog", "the green dog", "the green man") as library:
        index = Fts5Index()
        asked = library.normal.prepare(plain("the green dog")).words
        assert index.asked(library.db, asked) == ["green"]
        assert Fts5Index(common_share=1.0).asked(library.db, asked) == ["green", "dog", "the"]
        only_common = library.normal.prepare(plain("the dog")).words
        assert index.asked(library.db, only_common) == ["dog", "the"]


def test_counts_of_words_follow_the_entries_and_survive_new_rules():
    with filled("red dog", "red red man") as library:

        def counts():
            return lexical.entry_counts(library.db, ["red", "dog", "man", "cat", ""])

        assert counts() == {"red": 2, "dog": 1, "man": 1, "": 2}
        library.record(plain("red dog"), said("again"))
        library.change(tail_n=1)
        assert counts() == {"red": 2, "dog": 1, "man": 1, "": 2}
