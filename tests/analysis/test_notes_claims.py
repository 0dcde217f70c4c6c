"""The notes search's measures where they compute by themselves: floors against the fusion, slopes, the record's format."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from records.notes_search import floors, growth, observations, rounds
from records.notes_search.arithmetic import ROUNDS_SECONDS, note_reads
from records.notes_search.judged import Legs
from workbench.analysis.ledger.record import load_record
from workbench.analysis.ledger.verdict import judge
from workbench.retrieval.fusions import max_min
from workbench.retrieval.notes.duckdb import fuse

share = st.one_of(st.none(), st.integers(0, 20).map(lambda n: n / 20))
shares = st.dictionaries(st.integers(0, 30).map(lambda n: ("entity", f"{n:02d}")), st.tuples(share, share).filter(any), min_size=1)


@settings(max_examples=100, deadline=None)
@given(shares, st.sampled_from(floors.RULES), st.integers(0, 20).map(lambda n: n / 20))
def test_a_floor_in_arrays_is_the_floor_on_rows_and_the_fusion_behind_it(held, rule, floor):
    rows = floors._Rows.of(Legs(held), ())
    found = [sorted(held)[n] for n in rows.first(*rows.floored(rule, floor))]
    near = {k: (f, v if v is not None and v >= floor else None) for k, (f, v) in held.items()}
    kept = {
        "every": {k: s for k, s in near.items() if s != (None, None)},
        "whole search": held if any(v is not None and v >= floor for _, v in held.values()) else {},
        "unsupported": {k: held[k] for k, s in near.items() if s != (None, None)},
    }
    kept["alone"] = held if any(f is not None for f, _ in held.values()) else kept["unsupported"]
    assert found == [key for key, _ in fuse(kept[rule], max_min())[: floors.PAGE]]


def test_a_slope_of_one_is_in_proportion_and_of_zero_no_growth():
    rows = [{"share": 1 / s, "a": 7.0 / s, "b": 3.0} for s in growth.STEPS]
    assert (growth._slope(rows, "a"), growth._slope(rows, "b")) == (1.0, 0.0)


def test_the_rounds_of_both_projects_are_counted_together(monkeypatch):
    found = {"large": [4] * 20 + [3] * 20, "second": [1] * 40}
    monkeypatch.setattr(rounds, "project", lambda run, name: SimpleNamespace(name=name, where=name))
    monkeypatch.setattr(rounds, "old_searches", lambda run, at: [SimpleNamespace(rounds=range(n)) for n in found[at.name]])
    value = rounds.round_distribution(None).value
    assert (value["searches"], value["two_or_more"], value["four_or_more"]) == (80, 0.5, 0.25)
    assert {name: by["two_or_more"] for name, by in value["by_project"].items()} == {"large": 1.0, "second": 0.0}


def test_a_query_is_every_second_word_of_its_observation():
    assert observations.every_second_word("the ferry leaves at nine from pier two") == "the leaves nine pier"


def test_list_items_of_a_sentence_are_taken_and_labels_are_not():
    text = "# Minutes\n- Agenda\n* the ferry leaves at nine from pier two\n- one two three four five six\nno item of any kind at all here"
    assert list(observations._items(text)) == ["the ferry leaves at nine from pier two", "one two three four five six"]


def test_the_documents_six_rounds_do_not_sum_to_its_total():
    assert sum(ROUNDS_SECONDS) == pytest.approx(61.5)


def test_an_hour_of_reads_is_judged_on_paper():
    claim = load_record("notes-search").claim("B23")
    assert judge(claim.kind, claim.expected, claim.tolerance, note_reads(None))[0] == "HOLDS"


def test_every_claim_of_the_document_has_a_measure():
    record = load_record("notes-search")
    assert [c.id for c in record.claims] == [f"B{n:02d}" for n in range(1, 24)]
    assert all(callable(c.function(record.root)) for c in record.claims)
