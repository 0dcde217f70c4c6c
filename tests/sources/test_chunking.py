"""Chunking keeps its laws: sizes, order, overlap, headings, fences."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.errors import BadParameter
from workbench.sources.chunking import (
    CHUNK_SIZE,
    OVERLAP,
    below_heading,
    markdown_units,
    pack,
    split_plain,
)

WORDS = st.text("abcdé.! \t", min_size=1, max_size=60)
LINES = st.one_of(
    WORDS,
    WORDS.map(lambda w: f"# {w}"),
    WORDS.map(lambda w: f"### {w}"),
    WORDS.map(lambda w: f"- {w}"),
    WORDS.map(lambda w: f"  - {w}"),
    st.sampled_from(["", "", "```", "---", "| a | b |", "> quoted", "    code", "[ref]: ./x.md"]),
)
NOTES = st.lists(LINES, max_size=40).map("\n".join)
SIZES = st.integers(1, 120).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size // 2)))


def dense(text: str) -> str:
    return "".join(text.split())


@settings(max_examples=150, deadline=None)
@given(NOTES, SIZES)
def test_no_chunk_is_longer_than_the_size_and_none_is_blank(note: str, sizes: tuple[int, int]) -> None:
    for piece in pack(note, markdown_units(note), *sizes):
        assert 0 < len(piece.text) <= sizes[0]
        assert piece.text == piece.text.strip()


@settings(max_examples=150, deadline=None)
@given(NOTES, SIZES)
def test_every_visible_character_is_first_held_by_one_chunk_in_order(note: str, sizes: tuple[int, int]) -> None:
    pieces = pack(note, markdown_units(note), *sizes)
    assert "".join(dense(note[p.start : p.end]) for p in pieces) == dense(note)
    assert all(a.end <= b.start for a, b in zip(pieces, pieces[1:], strict=False))


@settings(max_examples=150, deadline=None)
@given(NOTES, SIZES)
def test_a_chunk_repeats_at_most_the_overlap_of_the_one_before(note: str, sizes: tuple[int, int]) -> None:
    pieces = pack(note, markdown_units(note), *sizes)
    for before, piece in zip(pieces, pieces[1:], strict=False):
        own = note[piece.start : piece.end].strip()
        assert piece.text.endswith(own)
        repeated = piece.text[: len(piece.text) - len(own)].rstrip()
        assert len(repeated) <= sizes[1]
        assert dense(before.text).endswith(dense(repeated))


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=300), SIZES)
def test_plain_text_is_split_whole_whatever_it_holds(text: str, sizes: tuple[int, int]) -> None:
    parts = split_plain(text, sizes[0], 0)
    assert "".join(map(dense, parts)) == dense(text)
    assert all(len(part) <= sizes[0] for part in parts)


def test_text_of_white_space_is_one_empty_chunk() -> None:
    assert split_plain(" \n\n ") == [""]


def test_overlap_begins_at_a_word() -> None:
    text = " ".join(f"word{n}" for n in range(400))
    parts = split_plain(text, 200, 40)
    assert len(parts) > 5
    for before, part in zip(parts, parts[1:], strict=False):
        head = part.split()[:2]
        assert " ".join(head) in before[-45:]


def test_a_fence_that_fits_is_never_cut() -> None:
    fence = "```python\n" + "\n\n".join(f"line_{n} = {n}" for n in range(20)) + "\n```"
    note = "# Title\n\n" + "Some words before it. " * 20 + "\n\n" + fence + "\n\nafter"
    pieces = pack(note, markdown_units(note), 450, 60)
    assert any(fence in piece.text for piece in pieces)


def test_a_fence_that_does_not_fit_is_cut_at_lines() -> None:
    lines = [f"line_{n:03} = {n}" for n in range(100)]
    note = "```\n" + "\n".join(lines) + "\n```"
    pieces = pack(note, markdown_units(note), 200, 0)
    assert len(pieces) > 5
    assert all(line in {"```", *lines} for piece in pieces for line in piece.text.split("\n"))


def test_a_heading_opens_a_chunk_unless_its_section_still_fits() -> None:
    small = "# A\n\nshort\n\n# B\n\nshort too"
    assert [p.text for p in pack(small, markdown_units(small), 100, 0)] == [small]
    large = "# A\n\n" + "x " * 40 + "\n\n# B\n\n" + "y " * 40
    pieces = pack(large, markdown_units(large), 100, 20)
    assert [p.text[:3] for p in pieces] == ["# A", "# B"]
    assert [p.trail for p in pieces] == [("A",), ("B",)]


def test_a_heading_stays_with_the_text_below_it() -> None:
    note = "# A\n\n" + "One two three. " * 7 + "\n\n## Empty above\n\n### Deep\n\n" + "Four five six. " * 7
    pieces = pack(note, markdown_units(note), 120, 0)
    assert not any(piece.text.endswith(("above", "Deep")) for piece in pieces)


def test_the_trail_is_what_all_of_a_chunk_stands_under() -> None:
    note = "# A\n\n## B\n\nb\n\n## C\n\nc\n\n# D\n\nd"
    assert [p.trail for p in pack(note, markdown_units(note), 900, 0)] == [()]
    first, second = pack(note, markdown_units(note), 20, 0)
    assert (first.trail, second.trail) == (("A",), ())
    assert [p.trail for p in pack(note, markdown_units(note), 10, 0)][-1] == ("D",)


def test_a_mark_within_a_fence_is_no_heading() -> None:
    note = "```\n# not a heading\n```\n\nText\n====\n\nbelow"
    assert [u.trail for u in markdown_units(note) if u.kind == "heading"] == [("Text",)]


@pytest.mark.parametrize("heading", ["# A title #\n", "A title\n=====\n", "  ## A title\n"])
def test_what_stands_below_a_heading_is_kept(heading: str) -> None:
    note = heading + "[ref]: ./kept.md\n\nbody"
    assert below_heading(note, markdown_units(note)[0]).strip() == "[ref]: ./kept.md\n\nbody"


@pytest.mark.parametrize("sizes", [(0, 0), (10, 6), (10, -1)])
def test_sizes_that_cannot_be_are_refused(sizes: tuple[int, int]) -> None:
    with pytest.raises(BadParameter, match="chunk_size"):
        split_plain("text", *sizes)


@pytest.mark.parametrize("text", ["w" * 1_000_000, "word " * 200_000, " " * 1_000_000 + "x", "a. " * 300_000])
def test_a_megabyte_without_structure_takes_seconds(text: str) -> None:
    start = time.process_time()
    parts = split_plain(text, CHUNK_SIZE, OVERLAP)
    assert time.process_time() - start < 10
    assert max(map(len, parts)) <= CHUNK_SIZE
