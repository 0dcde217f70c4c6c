"""The replica commands: an incident's file becomes a searchable collection, what it asks for can be read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.made_incident import incident_file
from helpers.made_sources import chunks_of, source_of
from typer.testing import CliRunner

from workbench.cli import app
from workbench.errors import WorkbenchError
from workbench.retrieval.search import open_collection
from workbench.retrieval.variant import variant
from workbench.settings import project_root
from workbench.stores.load import load
from workbench.types import Query

SMALL = project_root() / "data" / "incidents" / "adr-0172-small.toml"
runner = CliRunner()


def run(*args: str) -> str:
    found = runner.invoke(app, list(args), catch_exceptions=False)
    assert found.exit_code == 0, found.output
    return found.stdout


def test_the_records_storage_test_fails_before_and_passes_after(home: Path) -> None:
    run("replica", "build", str(SMALL), "--quiet")
    with open_collection("adr-0172-small") as collection:
        query = Query("Meeting 2026-11-11 09:58")
        assert collection.stores.catalog.n == 31 and collection.stores.points.count(["2026"], "any", {}) == 31
        read = {v: collection.search(query, variant(v, cap=8)).evidence["lexical"].ids for v in ("adr_0005", "adr_0172")}
        vector = collection.stores.embedder.embed([query.text])[0]
        assert collection.stores.catalog.true_rank(vector, 31).rank > 8
    assert read["adr_0005"] == tuple(range(1, 9))
    assert read["adr_0172"][0] == 31 and len(read["adr_0172"]) == 8


def test_building_again_changes_nothing_and_another_seed_is_another_collection(home: Path) -> None:
    first, again = (json.loads(run("replica", "build", str(SMALL), "--quiet", "--json")) for _ in range(2))
    other = json.loads(run("replica", "build", str(SMALL), "--seed", "3", "--quiet", "--json"))
    assert first["generation"] == again["generation"] and first["kind"] == "replica"
    assert other["name"] == "adr-0172-small-seed3" and other["content_hash"] != first["content_hash"]


def test_a_loaded_collection_serves_as_filler(home: Path, tmp_path: Path) -> None:
    from workbench.cli.replica import texts_of

    load(source_of(chunks_of("Green tea is steeped at eighty degrees.", "The ferry leaves at nine.")), name="own", progress=False)
    assert list(texts_of("own")()) == ["Green tea is steeped at eighty degrees.", "The ferry leaves at nine."]
    with pytest.raises(WorkbenchError, match="the filler texts have only . sentences"):
        runner.invoke(
            app, ["replica", "build", str(incident_file(tmp_path)), "--filler", "own", "--quiet"], catch_exceptions=False
        )
    with pytest.raises(WorkbenchError, match="no collection 'nowhere'"):
        texts_of("nowhere")


def test_show_prints_the_incident_and_json_gives_all_of_it(tmp_path: Path) -> None:
    shown = run("replica", "show", str(incident_file(tmp_path)))
    assert "Call 2025-04-04 08:35" in shown and "2025 150" in shown and "first by BM25: title" in shown
    plain = json.loads(run("replica", "show", str(incident_file(tmp_path)), "--json"))
    assert plain["size"] == 600 and plain["terms"]["harbour"] == 9 and plain["groups"][0]["holds"] == ["2025"]


def test_hostile_text_in_an_incident_is_shown_as_data(tmp_path: Path) -> None:
    path = incident_file(tmp_path, ("A call that was not found", "A \\u001b[31mred\\u202e [bold]call"))
    shown = run("replica", "show", str(path))
    assert "\x1b[31m" not in shown and "\u202e" not in shown and "[bold]" in shown
