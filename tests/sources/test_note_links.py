"""Links, observations and relations are found outside of code and resolved by stated rules."""

from __future__ import annotations

import time

import pytest

from workbench.sources.chunking import markdown_units
from workbench.sources.markdown import NoteNames, find_links, find_statements, without_code

NAMES = NoteNames(["a.md", "deep/b.md", "deep/er/b.md", "deep/Big Note.md", "notes/c.d.md"])


def links(text: str, folder: str = "") -> list[tuple[str, str]]:
    plain = without_code(text, markdown_units(text))
    return [(link.kind, link.target) for link in find_links(plain, NAMES, folder)]


def statements(text: str) -> list:
    return list(find_statements(without_code(text, markdown_units(text)), markdown_units(text), "n.md", "Note"))


@pytest.mark.parametrize(
    ("text", "target"),
    [("[[a]]", "a.md"), ("[[A]]", "a.md"), ("[[big note|shown]]", "deep/Big Note.md"), ("[[a#part]]", "a.md"),
     ("![[a]]", "a.md"), ("[[shown|dendron://some.vault/c.d#x]]", "notes/c.d.md"), ("[[deep/er/b]]", "deep/er/b.md"),
     ("[[b]]", "deep/b.md"), ("[[nowhere|shown]]", "nowhere")],
)  # fmt: skip
def test_wikilinks_name_notes_by_path_or_file_name(text: str, target: str) -> None:
    assert links(text) == [("wikilink", target)]


@pytest.mark.parametrize(
    ("text", "target"),
    [("[x](b.md)", "deep/b.md"), ("[x](../a.md#part)", "a.md"), ("[x](er/b)", "deep/er/b.md"),
     ("[x](<Big%20Note.md>)", "deep/Big Note.md"), ("[x](missing.md 'title')", "deep/missing.md"),
     ("[x](a_(b).txt)", "deep/a_(b).txt"), ("[ref]: ../a.md", "a.md")],
)  # fmt: skip
def test_relative_links_are_resolved_from_their_note(text: str, target: str) -> None:
    assert links(text, "deep") == [("link", target)]


@pytest.mark.parametrize(
    "text",
    ["[x](https://a.md)", "![x](a.md)", "[x](#part)", "[x](mailto:a@b)", "[x]()", "`[[a]]`", "```\n[[a]]\n```",
     "    [[a]]", "[[]]", "[x](//host/a.md)", "- item\n  ```\n  [x](a.md)\n  ```"],
)  # fmt: skip
def test_what_leads_out_of_the_folder_or_stands_in_code_is_no_link(text: str) -> None:
    assert links(text) == []


def test_blanking_code_moves_nothing() -> None:
    text = "before `[[a]]`\n\n```\n[[a]]\n```\n\nafter [[a]]"
    plain = without_code(text, markdown_units(text))
    assert len(plain) == len(text)
    assert [link.at for link in find_links(plain, NAMES, "")] == [text.rindex("[[a]]")]


@pytest.mark.parametrize("text", ["[" * 200_000, "[a](" * 50_000, "[[" * 100_000, "`" * 200_000, "[ [x] " * 40_000])
def test_hostile_brackets_stay_linear(text: str) -> None:
    start = time.process_time()
    list(find_links(without_code(text, []), NAMES, ""))
    assert time.process_time() - start < 5


def test_an_observation_is_a_category_a_text_and_tags() -> None:
    (found,) = statements("- [decision] Keep the index #search #a/b (see #1 and c#)")
    assert (found.kind, found.label, found.tags) == ("observation", "decision", ("search", "a/b"))
    assert found.text == "[decision] Keep the index #search #a/b (see #1 and c#)"


def test_a_relation_is_a_type_and_a_target() -> None:
    (found,) = statements("* depends on [[Big Note|shown]] (since May)")
    assert (found.kind, found.label, found.target) == ("relation", "depends on", "Big Note|shown")
    assert found.text == "Note depends on Big Note (since May)"


@pytest.mark.parametrize(
    "item",
    ["- [ ] task", "- [x] done", "- [-] dropped", "- [text](a.md) more", "- [[a]]", "- [^1] note", "- [ref]: a.md",
     "- see the note [[a]] for more", "- see [[a]] and [[b]]", "[decision] no item", "- one two three four five six [[a]]",
     "```\n- [decision] code\n```", "- `[decision] code`"],
)  # fmt: skip
def test_tasks_links_and_sentences_are_no_statements(item: str) -> None:
    assert statements(item) == []


def test_a_statement_keeps_its_id_when_others_move() -> None:
    before = statements("- [a] one\n- [b] two\n- [a] one")
    after = statements("- [c] new\n- [b] two\n- [a] one")
    assert before[1].id == after[1].id and before[0].id == after[2].id
    assert before[2].id == before[0].id + "~2"
    assert len({s.id for s in before}) == 3


def test_a_statement_knows_the_headings_above_it() -> None:
    (found,) = statements("# A\n\n## B\n\n- text\n  - [fact] nested item")
    assert found.trail == ("A", "B")
