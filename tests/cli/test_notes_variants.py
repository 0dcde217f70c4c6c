"""The notes paths by the commands that every variant has: listed, searched, explained, compared, refused by name."""

from __future__ import annotations

import json

import pytest

QUERY = "when does the ferry leave the harbour"
PATHS = ("notes_old", "notes_stopgap", "notes_max_min", "notes_rrf", "notes_rrf(engine=sqlite)")


@pytest.mark.parametrize("path", PATHS)
def test_search_shows_both_legs_ranks_and_what_moved(tiny, run, path):
    code, said, err = run("search", tiny, QUERY, "--variant", path, "--limit", "2")
    assert (code, err) == (0, "") and "lex:1 sem:1" in said and "The ferry" in said and "bytes: " in said
    assert ("rounds: 1, ended by: ranking exhausted" in said) is path.startswith(("notes_old", "notes_stopgap"))


def test_filters_pages_and_json_are_those_of_every_variant(tiny, run):
    plain, second, filtered = (
        json.loads(run("search", tiny, QUERY, "--variant", "notes_rrf", "--limit", "1", *more, "--json")[1])
        for more in ((), ("--offset", "1"), ("--filter", "project=nowhere"))
    )
    assert [h["rank"] for h in plain["hits"] + second["hits"]] == [1, 2] and filtered["hits"] == []
    assert plain["plan"].startswith("notes_rrf  [") and plain["hits"][0]["chunk"]["entity_id"] == "ferry"
    assert {s["stage"] for s in plain["trace"]} == {"search", "embed", "rank", "page", "lists", "bytes"}


def test_explain_tells_legs_absences_and_no_knobs_of_stages(tiny, run):
    code, said, err = run("explain", tiny, QUERY, "--target", "Tea", "--variant", "notes_rrf(k_vec=1)")
    said = " ".join(said.split())
    assert (code, err) == (0, "") and "holds no term" in said and "would let it in: k_vec " in said and "found by one exact query" in said
    assert "What would bring it into" not in said
    told = json.loads(run("explain", tiny, QUERY, "--target", "meeting", "--variant", "notes_max_min", "--json")[1])
    parts = told["explanation"]["contributions"]
    assert set(parts) == {"lexical", "semantic"} and sum(parts.values()) == told["explanation"]["score"]
    assert told["target"]["entity_id"] == "meeting" and told["counterfactuals"] == []


def test_compare_takes_notes_paths_beside_composed_variants(tiny, run):
    code, out, _ = run("compare", tiny, "--variants", "adr_0172,notes_rrf,notes_old", "--json")
    found = json.loads(out)
    assert code == 0 and found["evaluated"] == 3 and found["listed"]["notes_rrf"] == {"lexical": 3, "semantic": 3}
    moved = {c["variant"]: c["payload_bytes"] for c in found["costs"]}
    assert 0 < moved["notes_rrf"] < moved["notes_old"]


def test_every_path_is_listed_with_law_and_plan(run):
    known = {v["name"]: v for v in json.loads(run("variants", "--json")[1])}
    assert {p for p in PATHS if "(" not in p} <= set(known)
    assert all(known[p]["law"].endswith(".") and "fusion" in known[p]["plan"] for p in PATHS if p in known)


@pytest.mark.parametrize(
    "words",
    [
        ("explain", QUERY, "--target", "tea", "--set", "k=1"), ("explain", QUERY, "--target", "tea", "--judged"),
        ("tune", "--quiet"),
    ],
)  # fmt: skip
def test_what_only_stages_have_is_refused_in_one_line(tiny, run, words):
    command, *rest = words
    code, out, err = run(command, tiny, *rest, "--variant", "notes_rrf")
    assert code == 2 and out == "" and err.startswith("workbench: notes_rrf is searched as a whole") and err.count("\n") == 1
