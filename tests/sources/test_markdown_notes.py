"""A folder of notes: titles, facets, chunks, and every note that once broke a reader (CASES row 29, issue 4)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from workbench.sources.base import Source, SourceError
from workbench.sources.markdown import TITLE_CHARS, markdown
from workbench.types import Chunk

Notes = Callable[..., Path]


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    """`notes({"a.md": text or bytes})`: a folder that holds them."""

    def folder(found: dict[str, str | bytes]) -> Path:
        root = tmp_path / "notes"
        for name, content in found.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        return root

    return folder


def read(root: Path, **options: object) -> tuple[list[Chunk], Source]:
    source = markdown(**options)(root)
    return list(source.chunks()), source


def test_notes_come_by_path_and_ids_count_from_one(notes: Notes) -> None:
    chunks, source = read(notes({"b.md": "b", "a/z.md": "z", "a.md": "a", "A.MARKDOWN": "A", "skip.txt": "no"}))
    assert [c.entity_id for c in chunks] == ["A.MARKDOWN", "a.md", "a/z.md", "b.md"]
    assert [c.id for c in chunks] == [1, 2, 3, 4]
    assert list(source.chunks()) == chunks
    assert [c.facets.project for c in chunks] == [None, None, "a", None]


@pytest.mark.parametrize(
    ("text", "title", "first"),
    [("---\ntitle: Named\n---\n# Heading\n\nbody", "Named", "Named\n\n# Heading\n\nbody"),
     ("# Heading\n\nbody", "Heading", "Heading\n\nbody"),
     ("intro\n\n## Later [link](x.md)\n\nbody", "Later link", "Later link\n\nintro\n\n## Later [link](x.md)\n\nbody"),
     ("just words", "my note", "my note\n\njust words"), ("", "my note", "my note"), ("word", "my note", "my note\n\nword"),
     ("# Only a heading", "Only a heading", "Only a heading"), ("---\ntitle: ''\n---\n", "my note", "my note")],
)  # fmt: skip
def test_the_first_chunk_starts_with_the_title(notes: Notes, text: str, title: str, first: str) -> None:
    chunks, _ = read(notes({"my note.md": text}))
    assert [(c.title, c.text) for c in chunks] == [(title, first)]


def test_the_source_is_the_path_and_the_headings(notes: Notes) -> None:
    chunks, _ = read(notes({"a/n.md": "# T\n\n" + "x " * 60 + "\n\n## S\n\n" + "y " * 60}), chunk_size=150, overlap=0)
    assert [c.source for c in chunks] == ["a/n.md", "a/n.md > S"]
    assert [c.chunk_index for c in chunks] == [0, 1]


def test_links_belong_to_the_one_chunk_that_first_holds_them(notes: Notes) -> None:
    text = "\n\n".join(f"Paragraph {n} names [[other]] and [more](deep/third.md)." for n in range(30))
    chunks, _ = read(notes({"n.md": text, "other.md": "o", "deep/third.md": "t"}), chunk_size=200, overlap=60)
    own = [c for c in chunks if c.entity_id == "n.md"]
    assert len(own) > 5
    assert {link for c in own for link in c.links} == {("wikilink", "other.md"), ("link", "deep/third.md")}
    single, _ = read(notes({"n.md": "See [[other]].\n\n" + "z " * 500}), chunk_size=200, overlap=60)
    assert [c.links for c in single if c.entity_id == "n.md"].count((("wikilink", "other.md"),)) == 1


def test_a_cycle_of_links_ends(notes: Notes) -> None:
    chunks, _ = read(notes({"a.md": "[[b]] [[a]]", "b.md": "[[a]]"}))
    assert [c.links for c in chunks] == [(("wikilink", "b.md"), ("wikilink", "a.md")), (("wikilink", "a.md"),)]


def test_statements_are_chunks_only_when_asked_for(notes: Notes) -> None:
    root = notes({"p/n.md": "---\ntags: [t]\n---\n# N\n\n- [fact] Tea is hot #tea\n- part of [[m]]", "p/m.md": "m"})
    plain, _ = read(root)
    assert {c.source_type for c in plain} == {"entity"}
    chunks, _ = read(root, observations=True, relations=True)
    entity, observation, relation = (c for c in chunks if c.facets.path == "p/n.md")
    assert "Tea is hot" in entity.text
    assert (observation.text, observation.source_type) == ("[fact] Tea is hot #tea", "observation")
    assert observation.facets.tags == ("t", "tea") and observation.facets.metadata["category"] == "fact"
    assert (relation.text, relation.links) == ("N part of m", (("part of", "p/m.md"),))
    assert relation.facets.metadata["note"] == "p/n.md" and relation.facets.project == "p"
    assert len({c.key for c in chunks}) == len(chunks)
    assert {c.source_type for c in read(root, relations=True)[0]} == {"entity", "relation"}


@pytest.mark.parametrize(
    ("text", "named"),
    [("---\ntitle: [open\nstatus: done\n---\nbody", "line 2"), ("---\nstatus: done\nl:\n\t- a\n---\nbody", "line 4"),
     ("---\nstatus: done\ncreated: 2026-01-01 10:00\n---\nbody", "no time zone"),
     ("---\nstatus: done\ntags: a, b\n---\nbody", "tags are a text")],
)  # fmt: skip
def test_an_odd_note_is_read_and_named_or_refused_by_a_switch(notes: Notes, text: str, named: str) -> None:
    root = notes({"deep/odd.md": text, "fine.md": "fine"})
    chunks, source = read(root)
    assert [c.entity_id for c in chunks] == ["deep/odd.md", "fine.md"]
    assert chunks[0].facets.status == "done"
    (warning,) = source.warnings
    assert "deep/odd.md" in warning and named in warning
    list(source.chunks())
    assert len(source.warnings) == 1
    with pytest.raises(SourceError, match=r"deep.odd\.md"):
        read(root, strict=True)


def test_bytes_that_are_not_utf8_are_replaced_and_named_or_refused(notes: Notes) -> None:
    root = notes({"latin.md": "one\ncafé".encode("latin-1")})
    chunks, source = read(root)
    assert chunks[0].text == "latin\n\none\ncaf\ufffd"
    assert "latin.md (line 2: not UTF-8 (byte 0xe9))" in source.warnings[0]
    with pytest.raises(SourceError, match="line 2"):
        read(root, strict=True)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_names_the_encoding(notes: Notes, encoding: str) -> None:
    chunks, source = read(notes({"n.md": "---\r\ntitle: Ședință\r\n---\r\nbody".encode(encoding)}))
    assert (chunks[0].text, source.warnings) == ("Ședință\n\nbody", [])


def test_a_note_of_five_megabytes_is_read_in_seconds(notes: Notes) -> None:
    paragraph = "The ferry leaves the harbour at nine and returns at noon, weather allowing. " * 8
    body = "\n\n".join(f"## Part {n}\n\n{paragraph}\n\n- [fact] Item {n}\n- see [[big]]" for n in range(8_000))
    root = notes({"big.md": "# Big\n\n" + body})
    start = time.process_time()
    chunks, _ = read(root, observations=True)
    assert time.process_time() - start < 30
    assert (root / "big.md").stat().st_size > 5_000_000
    assert sum(c.source_type == "observation" for c in chunks) == 8_000
    assert max(len(c.text) for c in chunks) <= 900


def test_ten_thousand_tags_load(notes: Notes) -> None:
    chunks, _ = read(notes({"n.md": "---\ntags: [" + ", ".join(f"t{n}" for n in range(10_000)) + "]\n---\nbody"}))
    assert len(chunks[0].facets.tags) == 10_000


def test_a_title_of_a_megabyte_stands_whole_in_the_text_and_cut_elsewhere(notes: Notes) -> None:
    chunks, _ = read(notes({"n.md": "# " + "w" * 1_000_000 + "\n\nend"}))
    assert all(len(c.title) == TITLE_CHARS and len(c.source) < 500 for c in chunks)
    assert sum(c.text.count("w") for c in chunks) == 1_000_000 and chunks[-1].text.endswith("end")


def test_hostile_text_is_data(notes: Notes) -> None:
    hostile = "# <script>alert(1)</script> \x1b[31m \u202etxt\n\n\x00 emoji 🫖 " + "e\u0301" * 50
    chunks, _ = read(notes({"<b>.md": hostile}))
    assert "<script>" in chunks[0].title and "🫖" in chunks[0].text


def test_loops_of_links_end_and_linked_folders_are_said(notes: Notes) -> None:
    root = notes({"a/n.md": "n"})
    os.symlink(root, root / "a" / "loop")
    os.symlink(root / "self.md", root / "self.md")
    os.symlink(root / "gone.md", root / "dangling.md")
    os.symlink(root / "a" / "n.md", root / "same.md")
    chunks, source = read(root)
    assert [c.entity_id for c in chunks] == ["a/n.md"]
    assert any("follow_links" in w and "a/loop" in w for w in source.warnings)
    assert any("cannot be read" in w and "dangling.md" in w and "self.md" in w for w in source.warnings)
    followed, _ = read(root, follow_links=True)
    assert [c.entity_id for c in followed] == ["a/n.md"]


def test_hidden_names_are_left_out_and_said_unless_asked_for(notes: Notes) -> None:
    root = notes({".trash/old.md": "old", ".hidden.md": "hidden", "n.md": "n"})
    chunks, source = read(root)
    assert [c.entity_id for c in chunks] == ["n.md"]
    assert any(".trash" in w and ".hidden.md" in w for w in source.warnings)
    assert [c.entity_id for c in read(root, hidden=True)[0]] == [".hidden.md", ".trash/old.md", "n.md"]


def test_a_file_name_that_is_not_utf8_is_shown_and_read(notes: Notes) -> None:
    root = notes({"n.md": "n"})
    with open(os.fsencode(root) + b"/caf\xe9.md", "w") as file:
        file.write("c")
    assert [c.entity_id for c in read(root)[0]] == ["caf\\xe9.md", "n.md"]


def test_one_note_is_a_source_too(notes: Notes) -> None:
    root = notes({"n.md": "# N\n\nbody", "other.md": "x"})
    assert [c.text for c in read(root / "n.md")[0]] == ["N\n\nbody"]


def test_a_folder_without_notes_is_refused(notes: Notes) -> None:
    with pytest.raises(SourceError, match="no notes"):
        read(notes({"a.txt": "x"}))
    with pytest.raises(SourceError, match="not there"):
        read(Path("/nowhere/at/all"))


def test_a_note_that_vanishes_is_named_and_the_rest_is_read(notes: Notes) -> None:
    root = notes({"a.md": "a", "b.md": "b"})
    source = markdown()(root)
    (root / "a.md").unlink()
    assert [c.entity_id for c in source.chunks()] == ["b.md"]
    assert "a.md" in source.warnings[0]


def test_a_note_without_text_is_found_by_its_title_and_named_in_a_warning(notes: Notes) -> None:
    found = {"bare.md": "", "heading.md": "# A heading\n", "front.md": "---\ntitle: Named\n---\n\n", "full.md": "# A\n\nword"}
    chunks, source = read(notes(found))
    assert [c.text for c in chunks] == ["bare", "Named", "A\n\nword", "A heading"]
    assert source.warnings == ["notes have no text but their title: 3 (bare.md, front.md, heading.md)"]
