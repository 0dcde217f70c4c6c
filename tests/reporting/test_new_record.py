"""A new record works before a word of it is changed, and making it overwrites nothing."""

import json
import os
import runpy
import tomllib

import pytest
from helpers.small_pydoc import small_pydoc_home
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.analysis.ledger.record import load_record
from workbench.errors import BadParameter
from workbench.reporting.launcher import declared
from workbench.reporting.new_record import AlreadyThere, id_of, new_record

FILES = [
    "notebooks/adr_0173_fresh_notes_first.ipynb",
    "records/adr_0173_fresh_notes_first/measures.py",
    "records/adr_0173_fresh_notes_first/record.toml",
    "records/adr_0173_fresh_notes_first/story.py",
    "tests/test_adr_0173_fresh_notes_first.py",
]
TITLE = "ADR 0173: fresh notes first"


def all_files(root):
    return sorted(p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file())


def test_it_makes_claims_measures_notebook_and_test_and_says_which(tmp_path):
    made = new_record(TITLE, tmp_path)
    assert all_files(tmp_path) == FILES == sorted(f.as_posix() for f in made.files)
    assert made.id == "adr-0173-fresh-notes-first" and made.files[0].suffix == ".toml"


def test_it_is_a_record_whose_measures_can_be_called_and_whose_parameters_are_explained(tmp_path):
    record = load_record(new_record(TITLE, tmp_path).id, tmp_path)
    assert record.title == TITLE and [c.id for c in record.claims] == ["C01", "C02"]
    assert all(callable(claim.function(tmp_path)) for claim in record.claims)
    assert set(declared(tmp_path / record.notebook)) == set(record.parameters)


def test_its_own_test_passes_on_a_collection_that_is_there(tmp_path, tmp_path_factory, monkeypatch):
    monkeypatch.setenv("WORKBENCH_HOME", str(small_pydoc_home(tmp_path_factory.getbasetemp() / "small-pydoc")))
    made = new_record(TITLE, tmp_path / "project")
    monkeypatch.chdir(made.root)
    test = runpy.run_path(str(made.root / made.files[2]))["test_every_claim_has_a_verdict_and_those_that_must_hold_do"]
    test(tmp_path / "reports")
    ledger = json.loads((tmp_path / "reports" / made.id / "ledger.json").read_text())
    assert set(ledger["header"]["code"]) == {"workbench", "record", "notebook", "measures"}
    assert ledger["rows"][0]["measured"]["asked"] > 10 and ledger["rows"][0]["where"].startswith("pydoc, ")


@pytest.mark.parametrize("there", FILES)
@pytest.mark.parametrize("what", ["file", "directory", "link"])
def test_it_overwrites_nothing_and_then_writes_nothing(tmp_path, there, what):
    path = tmp_path / there
    path.parent.mkdir(parents=True)
    if what == "directory":
        path.mkdir()
    elif what == "link":
        path.symlink_to(tmp_path / "nowhere")
    else:
        path.write_text("mine")
    before = all_files(tmp_path)
    with pytest.raises(AlreadyThere, match=there.rpartition("/")[2]):
        new_record(TITLE, tmp_path)
    assert all_files(tmp_path) == before and os.path.lexists(path)


def test_a_directory_that_cannot_be_written_leaves_nothing_behind(tmp_path):
    (tmp_path / "notebooks").write_text("a file where a directory must be")
    with pytest.raises(BadParameter, match="cannot be written"):
        new_record(TITLE, tmp_path)
    assert all_files(tmp_path) == ["notebooks"]


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(codec=None, exclude_categories=()), min_size=1, max_size=40))
def test_any_title_is_data(tmp_path_factory, title):
    root = tmp_path_factory.mktemp("titled")
    if not title.split():
        with pytest.raises(BadParameter):
            new_record(title, root, "an-id")
        return
    made = new_record(title, root, "an-id")
    record = load_record("an-id", root)
    assert "\n" not in record.title and record.claims[1].args == {"word": "sort"}
    assert list(declared(root / record.notebook)) == ["collection", "before", "after", "titles", "seed"]
    for file in made.files:
        (root / file).read_text(encoding="utf-8")


HOSTILE = ['"""\\', "@ID@ @MODULE@", "</script><script>", "{{ 7 * 7 }}", "\x1b[31m", "a\u202eb", "'); import os #", "\ud800"]


@pytest.mark.parametrize("title", HOSTILE)
def test_a_hostile_title_stays_a_title(tmp_path, title):
    made = new_record(f"x {title}", tmp_path, "an-id")
    claims, notebook, *python = (tmp_path / f for f in made.files)
    shown = tomllib.loads(claims.read_text(encoding="utf-8"))["title"]
    assert shown.startswith("x ") and shown.isprintable()
    heading = json.loads(notebook.read_text(encoding="utf-8"))["cells"][0]["source"]
    assert "<script>" not in "".join(heading)
    for file in python:
        compile(file.read_text(encoding="utf-8"), str(file), "exec")


@pytest.mark.parametrize(
    ("title", "record_id"),
    [
        ("ADR 0173: Fresh Notes", "adr-0173-fresh-notes"), ("Ședința de luni", "sedinta-de-luni"), ("  a  ", "a"), ("2026 notes", "record-2026-notes"), ("日本", ""),
        ("?", ""), ("word " * 40, "-".join(["word"] * 12)), ("x" * 100, ""),
    ],
)  # fmt: skip
def test_the_id_is_the_titles_words(title, record_id):
    assert id_of(title) == record_id


@pytest.mark.parametrize(
    ("title", "record_id"),
    [("", ""), (" \n", ""), ("日本", ""), ("x" * 201, "x"), ("a", "Upper"), ("a", "../a"), ("a", "a/b"), ("a", "-a"), ("a", "a_b"), ("a", "0172"), ("a", "a" * 61)],
)
def test_what_cannot_name_a_record_is_refused(tmp_path, title, record_id):
    with pytest.raises(BadParameter):
        new_record(title, tmp_path, record_id)
    assert all_files(tmp_path) == []
