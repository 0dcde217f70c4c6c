"""The laws of `workbench update`: what changed is counted, what waits is said wherever it matters, a fault is one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from workbench.stores.collections import open_stores, place


@pytest.fixture
def notes(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run) -> Path:
    """Two notes, loaded as `notes`; the working directory is above them."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / "ferry.md").write_text("# The ferry\n\nIt leaves at nine.\n")
    (folder / "crane.md").write_text("# Crane\n\nIt stands still.\n")
    assert run("load", "vault", "--as", "notes", "--quiet")[0] == 0
    return folder


def titles() -> list[str]:
    with open_stores("notes") as stores:
        return [c.title for c in stores.catalog.chunks(stores.catalog.ids_where())]


def test_a_folder_is_read_again_and_what_differs_is_counted(notes: Path, run) -> None:
    (notes / "crane.md").write_text("# Crane\n\nIt works again.\n")
    (notes / "tea.md").write_text("# Tea\n\nIt is green.\n")
    (notes / "ferry.md").unlink()
    code, out, err = run("update", "notes", "--from", "vault")
    said = " ".join(out.split())
    assert code == 0 and "notes is updated: 2 chunks of 2 documents" in said and "embedding" in err
    assert "documents: 1 added, 1 changed, 1 deleted" in said and titles() == ["Crane", "Tea"]
    code, out, _ = run("update", "notes", "--from", "vault", "--quiet")
    assert code == 0 and "notes is unchanged" in out and "2 unchanged" in out


def test_a_table_and_ids_change_documents_and_json_says_it_all(notes: Path, tmp_path: Path, run) -> None:
    (tmp_path / "c.csv").write_text("key,title,text\ntea,Tea,It is green.\n")
    before = json.loads(run("collections", "--json")[1])[0]["manifest"]
    code, out, err = run("update", "notes", "c.csv", "--map", "id=key", "--delete", "ferry.md", "--json", "--quiet")
    done = json.loads(out)
    assert code == 0 and err == "" and titles() == ["Crane", "Tea"]
    assert (done["added"], done["changed"], done["deleted"], done["unchanged"], done["not_found"]) == (1, 0, 1, 0, [])
    assert done["manifest"]["content_hash"] != before["content_hash"] == done["manifest"]["updates"]["loaded"]
    assert done["waiting"] == {"added": 0, "changed": 0, "deleted": 0}


def test_what_waits_is_said_by_update_collections_search_and_explain(notes: Path, tmp_path: Path, run) -> None:
    (tmp_path / "c.jsonl").write_text(json.dumps({"id": "tea", "title": "Tea", "text": "It is \x1b[31mgreen."}) + "\n")
    generation = place("notes").current()
    code, out, _ = run("update", "notes", "c.jsonl", "--delete", "crane.md", "--defer", "--quiet")
    waits = "2 documents wait to be indexed: workbench update notes"
    assert code == 0 and "notes is to be changed" in out and waits in out and place("notes").current() == generation
    assert waits in run("collections")[1] and json.loads(run("collections", "--json")[1])[0]["waiting"]["added"] == 1
    assert waits in run("search", "notes", "green")[1]
    assert json.loads(run("search", "notes", "green", "--json")[1])["waiting"]["deleted"] == 1
    for target in ("tea", "Tea", "entity:tea"):
        code, out, _ = run("explain", "notes", "green", "--target", target)
        assert code == 0 and "not yet indexed: it waits to be added; what would let it in: workbench update notes." in " ".join(out.split())
    told = json.loads(run("explain", "notes", "green", "--target", "tea", "--json")[1])
    assert told["target"]["id"] is None and [a["reason"] for a in told["explanation"]["absences"]] == ["not yet indexed"]
    assert "it waits to be deleted: workbench update notes" in run("explain", "notes", "crane", "--target", "crane.md")[1]
    assert json.loads(run("explain", "notes", "crane", "--target", "crane.md", "--json")[1])["waiting"] == "deleted"
    code, out, _ = run("update", "notes", "--quiet")
    assert code == 0 and "1 added, 1 deleted" in out and "wait" not in out
    code, out, _ = run("explain", "notes", "green", "--target", "tea")
    assert "It is ranked 1" in out and "wait" not in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nobody"], "no collection 'nobody' is loaded"),
        (["notes", "--delete", "nope"], "no such document: nope (notes)"),
        (["notes", "--defer"], "nothing to defer"),
        (["notes", "--from", "vault", "--delete", "ferry.md"], "give it alone"),
        (["notes", "/nowhere.jsonl"], "not there"),
        (["notes", "vault"], "is a folder"),
        (["notes", "--from", "/nowhere"], "nothing to read"),
        (["notes", "--delete", "ferry.md", "--delete", "crane.md"], "nothing would be left"),
        (["notes", "--from", "vault", "-p", "colour=1"], "has no parameter 'colour'"),
    ],
)
def test_what_the_user_can_mend_is_one_line_and_exit_code_2(notes: Path, run, arguments: list[str], said: str) -> None:
    before = place("notes").current()
    code, out, err = run("update", *arguments, "--quiet")
    assert code == 2 and out == "" and err.startswith("workbench: ") and said in err and "Traceback" not in err
    assert place("notes").current() == before and titles() == ["Crane", "The ferry"]


def test_an_id_that_is_not_there_is_passed_over_where_asked(notes: Path, run) -> None:
    code, out, _ = run("update", "notes", "--delete", "nope", "--delete", "ferry.md", "--missing-ok", "--quiet")
    assert code == 0 and "1 deleted, 1 not found" in out
    assert "none given, none waited" in run("update", "notes", "--quiet")[1]


def test_a_warning_is_said_by_the_update_that_read_what_it_is_of_and_by_no_later_one(notes: Path, tmp_path: Path, run) -> None:
    (notes / "odd.md").write_text("---\ntags: [a\n---\n# Odd\n\nIts front matter is not closed.\n")
    said = run("update", "notes", "--from", "vault", "--quiet")[1]
    assert "warning: notes were read with something odd: 1 (odd.md" in " ".join(said.split())
    assert "warning" not in run("update", "notes", "--quiet")[1]
    (tmp_path / "c.jsonl").write_text(json.dumps({"id": "tea", "title": "Tea", "text": "It is green."}) + "\n")
    assert "warning" not in run("update", "notes", "c.jsonl", "--quiet")[1]
    assert "odd.md" in json.loads(run("collections", "--json")[1])[0]["manifest"]["warnings"][0]
