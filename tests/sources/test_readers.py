"""One door: what is there tells its kind, and what cannot be read says what can."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from workbench.errors import BadParameter
from workbench.registry import entries, put
from workbench.sources.base import Source, SourceError
from workbench.sources.readers import detect, open_source

KINDS = ("beir", "gitbugs", "markdown", "pydoc", "qdrant", "qmsum", "squad", "table")


def fill(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


SQUAD = json.dumps({"data": [{"title": "T", "paragraphs": [{"context": "c", "qas": []}]}]})
MEETING = json.dumps({"meeting_transcripts": [{"speaker": "A", "content": "b"}]})


@pytest.mark.parametrize(
    ("files", "name", "kind"),
    [({"corpus.jsonl": '{"_id": "1", "text": "x"}', "README.md": "r"}, "", "beir"), ({"a/n.md": "n"}, "", "markdown"),
     ({"n.markdown": "n"}, "n.markdown", "markdown"), ({"t.csv": "id,text\n1,x\n"}, "t.csv", "table"),
     ({"t.JSONL": '{"id": 1, "text": "x"}'}, "t.JSONL", "table"), ({"s.json": SQUAD}, "s.json", "squad"),
     ({"README.md": "r", "test/M.json": MEETING}, "", "qmsum"),
     ({"x_bugs.csv": "Issue id,Summary,Description,Status,Resolution\n1,s,d,o,f\n", "README.md": "r",
       "x_bugs-combined.csv": "Issue id,Duplicate id\n"}, "", "gitbugs")],
)  # fmt: skip
def test_what_is_there_tells_its_kind(tmp_path: Path, files: dict[str, str], name: str, kind: str) -> None:
    path = fill(tmp_path, files) / name
    assert detect(path) == kind
    source = open_source(path)
    assert (source.kind, source.location) == (kind, str(path))
    assert len(list(source.chunks())) == 1


def test_names_and_addresses_tell_their_kind() -> None:
    assert detect("pydoc") == "pydoc"
    assert detect("http://localhost:6333/collections/x") == detect("https://h/collections/x") == "qdrant"
    assert set(KINDS) <= set(entries("reader"))


@pytest.mark.parametrize(
    ("files", "said"),
    [({}, "the folder is empty"), ({"a.bin": "x"}, "no known kind"), ({"a.json": "{}"}, "no known kind"),
     ({"README.md": "r", "a.csv": "x", "b.tsv": "y"}, "1 notes and 2 tables")],
)  # fmt: skip
def test_a_folder_that_does_not_tell_says_why(tmp_path: Path, files: dict[str, str], said: str) -> None:
    with pytest.raises(SourceError, match=said):
        open_source(fill(tmp_path, files))


@pytest.mark.parametrize("name", ["nothing", "empty.md", "a.bin", "bad.json"])
def test_what_cannot_be_read_lists_every_kind(tmp_path: Path, name: str) -> None:
    fill(tmp_path, {"empty.md": "", "a.bin": "x", "bad.json": "[1"})
    with pytest.raises(SourceError) as caught:
        open_source(tmp_path / name)
    assert all(f"{kind} (" in str(caught.value) for kind in KINDS)
    assert "\n" not in str(caught.value)


def test_kind_names_a_reader_where_what_is_there_does_not_tell(tmp_path: Path) -> None:
    path = fill(tmp_path, {"t.txt": "id,text\n1,x\n"}) / "t.txt"
    assert len(list(open_source(path, kind="table", table_format="csv").chunks())) == 1
    with pytest.raises(BadParameter, match="unknown reader 'tabel'. Known: beir"):
        open_source(path, kind="tabel")


def test_an_unknown_option_is_refused_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(BadParameter, match="no parameter 'strikt'. It has: chunk_size"):
        open_source(fill(tmp_path, {"n.md": "n"}), strikt=True)


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [("chunk_size", "many", "chunk_size is 'many', not int"), ("chunk_size", True, "not int"), ("chunk_size", 9.5, "not int"),
     ("strict", "perhaps", "strict is 'perhaps', not bool"), ("strict", 1, "not bool"), ("overlap", None, "not int")],
)  # fmt: skip
def test_a_value_of_the_wrong_type_is_refused(tmp_path: Path, option: str, value: object, said: str) -> None:
    with pytest.raises(BadParameter, match=said):
        open_source(fill(tmp_path, {"n.md": "n"}), **{option: value})


def test_text_from_a_command_line_is_read_by_the_declared_type(tmp_path: Path) -> None:
    notes = open_source(fill(tmp_path, {"n.md": "n"}), chunk_size="500", overlap="0", strict="true", hidden="no")
    assert {k: notes.settings[k] for k in ("chunk_size", "overlap", "strict", "hidden")} == {
        "chunk_size": 500, "overlap": 0, "strict": True, "hidden": False,
    }  # fmt: skip
    assert open_source("pydoc", packages="ir_measures, bm25s").settings["packages"].keys() == {"ir_measures", "bm25s"}
    with pytest.raises(BadParameter, match="not 'core' or 'all'"):
        open_source("pydoc", scope="most")
    table = fill(tmp_path, {"t.csv": "a,b\n1,x\n"}) / "t.csv"
    assert open_source(table, columns="id=a,text=b", chunk_size="50", overlap="5").settings["chunk_size"] == 50
    assert open_source(table, columns="id=a,text=b", chunk_size=None).settings["chunk_size"] is None


def test_a_reader_of_ones_own_opens_by_its_name() -> None:
    def mine(location: str, *, size: int = 1) -> Source:
        """Mine."""
        return Source("mine", location, {"size": size}, lambda: iter(()))

    put("reader", "mine", mine)
    try:
        assert open_source("anything", kind="mine", size="3").settings == {"size": 3}
    finally:
        from workbench import registry

        del registry._REGISTRY["reader"]["mine"]


def test_listing_the_readers_imports_nothing_heavy() -> None:
    code = (
        "import sys, workbench.sources.readers as r; r.kinds();"
        "print([m for m in ('pyarrow', 'qdrant_client', 'numpy', 'markdown_it', 'polars') if m in sys.modules])"
    )
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert made.stdout.strip() == "[]"
