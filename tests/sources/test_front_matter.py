"""Front matter: what parses is kept, what does not is named with its line (CASES row 29)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.sources.base import SourceError
from workbench.sources.facets import (
    MAX_DEPTH,
    FrontMatter,
    facets_of,
    read_front_matter,
    split_front_matter,
    tags_of,
    time_of,
)


def read(*lines: str, body: str = "body") -> FrontMatter:
    return read_front_matter("\n".join(["---", *lines, "---", body]), project="folder", path="folder/note.md")


def test_facets_come_from_the_keys_that_note_tools_write() -> None:
    front = read("Title: A note", "type: guide", "tags: [a, '#b', a]", "status: open", "created: 2026-01-02",
                 "modified: 2026-01-03T10:00:00+02:00", "project: other", "eip: 7")  # fmt: skip
    facets = front.facets
    assert (front.title, front.body, front.problems) == ("A note", "body", ())
    assert (facets.project, facets.note_type, facets.tags, facets.status) == ("other", "guide", ("a", "b"), "open")
    assert (facets.created, facets.updated) == ("2026-01-02", "2026-01-03T08:00:00Z")
    assert (facets.path, dict(facets.metadata)) == ("folder/note.md", {"eip": 7})


def test_without_front_matter_the_folder_is_the_project() -> None:
    front = read_front_matter("just text\n---\nmore", project="folder", path="folder/note.md")
    assert (front.facets.project, front.body, front.problems) == ("folder", "just text\n---\nmore", ())


def test_one_bad_entry_does_not_cost_the_others() -> None:
    front = read("title: Decision: keep it", "status: [open", "tags: [a, b]")
    assert front.title == "Decision: keep it"
    assert front.facets.tags == ("a", "b")
    assert front.facets.status is None
    assert [line for line, _ in front.problems] == [2, 3]
    assert "kept as text" in front.problems[0][1] and "left out" in front.problems[1][1]


def test_tabs_are_read_as_blanks_and_said() -> None:
    front = read("title: T", "people:", "\t- Ana", "\t- Ion")
    assert dict(front.facets.metadata) == {"people": ["Ana", "Ion"]}
    assert front.problems == ((4, "a tab where YAML wants blanks"),)


def test_a_time_without_a_zone_stays_without_one_and_is_said() -> None:
    front = read("title: T", "created: 2026-11-11 09:58")
    assert front.facets.created == "2026-11-11T09:58:00"
    assert front.problems == ((3, "created 2026-11-11T09:58:00 has no time zone"),)


def test_tags_in_one_text_are_split_and_said() -> None:
    front = read("tags: alpha, beta gamma")
    assert front.facets.tags == ("alpha", "beta gamma")
    assert front.problems == ((2, "tags are a text, not a list"),)


@pytest.mark.parametrize("block", ["- a\n- b", "just words", "[1, 2]"])
def test_what_is_no_mapping_is_text(block: str) -> None:
    front = read(block)
    assert front.body == f"---\n{block}\n---\nbody"
    assert front.problems[0][1] == "front matter is not a mapping"


def test_an_unclosed_block_is_text_and_a_rule_is_no_block() -> None:
    unclosed = read_front_matter("---\ntitle: x\nno end", project=None, path="a.md")
    assert unclosed.body.startswith("---") and unclosed.problems[0][0] == 1
    assert read_front_matter("---\n\nA rule above.", project=None, path="a.md").problems == ()


def test_a_value_of_the_wrong_kind_moves_to_the_metadata() -> None:
    front = read("status: [a, b]", "updated: 12 May", "title: {x: 1}")
    assert (front.facets.status, front.facets.updated, front.title) == (None, None, None)
    assert dict(front.facets.metadata) == {"status": ["a", "b"], "updated": "12 May", "title.x": 1}
    assert {line for line, _ in front.problems} == {2, 3, 4}


def test_text_stays_as_it_was_written() -> None:
    front = read("title: 1.10", "status: no", "at: 09:58", "octal: 0123", "yes: on", "n: 7", "b: true", "none: ~")
    assert (front.title, front.facets.status) == ("1.10", "no")
    assert dict(front.facets.metadata) == {"at": "09:58", "octal": "0123", "yes": "on", "n": 7, "b": True}


def test_nested_values_become_flat_keys() -> None:
    front = read("a:", "  b: {c: 1}", "  d: [{e: 2}, f]", "list: [x, y]")
    assert dict(front.facets.metadata) == {"a.b.c": 1, "a.d.0.e": 2, "a.d.1": "f", "list": ["x", "y"]}


def test_ten_thousand_tags_are_ten_thousand_tags() -> None:
    front = read("tags:", *(f"  - t{n}" for n in range(10_000)))
    assert len(front.facets.tags) == 10_000 and front.problems == ()


@pytest.mark.parametrize("entry", ["bomb: " + "[" * 5_000, "deep: " + "[" * 200 + "]" * 200, "alias: [*nothing]"])
def test_hostile_yaml_costs_its_own_entry_only(entry: str) -> None:
    front = read("title: kept", entry)
    assert front.title == "kept" and len(front.problems) == 1
    assert "left out" in front.problems[0][1]


def test_an_alias_never_multiplies_values() -> None:
    lines = ["a: &a [x, x]", *(f"{b}: &{b} [*{a}, *{a}]" for a, b in zip("abcdefg", "bcdefgh", strict=True))]
    assert len(str(read(*lines).facets.metadata)) < 1_000


def test_a_key_that_stands_twice_is_said() -> None:
    front = read("title: one", "title: two")
    assert front.title == "two" and "stands twice" in front.problems[0][1]


@settings(max_examples=200, deadline=None)
@given(st.text("ab:- \t\n[]{}'\"#&*!|>%@~0", max_size=80))
def test_any_block_is_read_without_an_exception(block: str) -> None:
    front = read(*block.split("\n"))
    assert front.body.endswith("body")
    assert all(line >= 1 and what for line, what in front.problems)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60))
def test_text_that_does_not_open_with_the_mark_has_no_block(text: str) -> None:
    assert split_front_matter("x" + text) == (None, "x" + text)


@pytest.mark.parametrize(
    ("value", "iso"),
    [("2026-01-02", "2026-01-02"), ("20260102", "2026-01-02"), (1646152951747, "2022-03-01T16:42:31.747000Z"),
     ("1646152951", "2022-03-01T16:42:31Z"), ("2026-01-02 10:00:00 +0200", "2026-01-02T08:00:00Z"),
     ("2026-01-02T10:00:00Z", "2026-01-02T10:00:00Z"), ("30/Sep/21 17:20", None), ("2026", None), (True, None),
     ("9999-12-31T23:59:59-05:00", None), ("", None)],
)  # fmt: skip
def test_times_are_iso_or_refused_never_guessed(value: object, iso: str | None) -> None:
    assert time_of(value)[0] == iso


def test_tags_that_are_no_list_are_refused() -> None:
    assert tags_of({"a": 1}) == ((), "tags are a dict, not a list")
    assert tags_of(["a", ["b"]]) == (("a",), "tags hold nested values, left out")
    assert tags_of("alone") == (("alone",), "")


def test_values_that_no_store_holds_become_text() -> None:
    metadata = facets_of({}, {"big": 2**70, "inf": float("inf"), "bytes": b"x\xff", "empty": "", "none": None}).facets
    assert dict(metadata.metadata) == {"big": str(2**70), "inf": "inf", "bytes": "x\ufffd"}


def test_nesting_too_deep_to_filter_by_is_refused() -> None:
    value: object = 1
    for _ in range(MAX_DEPTH):
        value = [value]
    assert facets_of({}, {"a": value})
    with pytest.raises(SourceError, match="nested deeper"):
        facets_of({}, {"a": [value]})
