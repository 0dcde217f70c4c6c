"""`workbench explain`: what a person reads is what the functions say, as text and as JSON."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from workbench.cli import app
from workbench.errors import BadParameter, WorkbenchError

QUERY = "when does the ferry leave the harbour"


def run(*words: str):
    result = CliRunner().invoke(app, ["explain", *words])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_json_is_the_explanation_and_every_counterfactual(tiny):
    from workbench.analysis.explain.counterfactual import counterfactuals
    from workbench.analysis.explain.explain import explain
    from workbench.retrieval.frozen import freeze
    from workbench.retrieval.search import open_collection
    from workbench.types import Query

    told = json.loads(run(tiny, QUERY, "--target", "tea", "--first", "2", "--json").stdout)
    with open_collection(tiny) as collection:
        frozen = freeze(collection, Query(QUERY, limit=2), "adr_0172")
        result = frozen.replay("adr_0172")
        (target,) = collection.stores.catalog.entity("tea")
        direct = explain(collection, result, target)
        answers = counterfactuals(frozen, target, first=2)
    assert told["target"] == {"id": target, "entity_id": "tea", "chunk_index": 0, "title": "Tea"}
    assert (told["explanation"]["rank"], told["explanation"]["score"]) == (direct.rank, direct.score)
    assert [c["knob"] for c in told["counterfactuals"]] == [c.knob for c in answers]
    assert all("curve" not in c for c in told["counterfactuals"])


def test_text_says_where_it_stands_why_and_what_would_bring_it_in(tiny):
    said = run(tiny, QUERY, "--target", "Tea", "--first", "1").stdout
    assert "Tea" in said and "not in the first 1" in said and "What would bring it into the first 1" in said
    assert "beyond the page" in said and "No k does" in " ".join(said.split())


def test_where_no_knob_does_that_is_said_first_and_in_the_first_n_what_keeps_it_there(tiny):
    said = " ".join(run(tiny, QUERY, "--target", "ferry", "--first", "1").stdout.split())
    assert "What keeps it in the first 1" in said
    low = " ".join(run(tiny, QUERY, "--target", "tea", "--first", "1").stdout.split())
    assert "What would bring it into the first 1 No single knob" in low


def test_knobs_filters_and_modes_reach_the_search(tiny):
    told = json.loads(run(tiny, "ferry", "--target", "tea", "--set", "cap=1", "--set", "semantic_limit=1", "--json").stdout)
    assert [a["reason"] for a in told["explanation"]["absences"]] == ["holds no term", "below the semantic limit"]
    assert told["variant"] == "adr_0172 (cap=1, semantic_limit=1)" or "cap=1" in told["variant"]
    filtered = json.loads(run(tiny, "ferry", "--target", "tea", "--filter", "project=nowhere", "--json").stdout)
    assert filtered["explanation"]["absences"][0]["reason"] == "filtered out"
    single = json.loads(run(tiny, "ferry", "--target", "tea", "--mode", "semantic", "--json").stdout)
    assert {c["knob"] for c in single["counterfactuals"]} == {"semantic_limit", "floor", "distinct"}


def test_judged_queries_of_the_collection_are_asked_where_wanted(tiny):
    told = json.loads(run(tiny, QUERY, "--target", "coffee", "--first", "2", "--judged", "--json").stdout)
    helps = [c["knob"] for c in told["counterfactuals"] if c["verdict"] == "found"]
    assert {e["knob"] for e in told["judged"]} == set(helps)
    assert all(e["wins"] + e["ties"] + e["losses"] == e["n"] for e in told["judged"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--target", "no such thing"), "nothing is named"),
        (("--target", "tea", "--set", "k"), "knob=value"),
        (("--target", "tea", "--set", "k=1", "--set", "k=2"), "not one knob=value"),
        (("--target", "tea", "--set", "nope=1"), "has no knob 'nope'"),
        (("--target", "tea", "--set", "k=-1"), "k cannot be -1"),
        (("--target", "tea", "--variant", "nope"), "nope"),
    ],
)
def test_what_is_wrong_is_said(tiny, words, said):
    with pytest.raises(WorkbenchError, match=said):
        run(tiny, QUERY, *words)


def test_hostile_text_is_shown_and_never_obeyed(tiny):
    said = run(tiny, "ferry \x1b[31m\u202e<script>", "--target", "ferry").stdout
    assert "\x1b[31m" not in said and "\u202e" not in said and "\\x1b[31m" in said and "<script>" in said


def test_values_are_typed_as_they_are_written():
    from workbench.cli.explain import knob_values

    assert knob_values(["k=3", "bonus=0.5", "distinct=yes", "fusion=rrf(k=60)"]) == {
        "k": 3, "bonus": 0.5, "distinct": True, "fusion": "rrf(k=60)"}  # fmt: skip
    with pytest.raises(BadParameter):
        knob_values(["=3"])
