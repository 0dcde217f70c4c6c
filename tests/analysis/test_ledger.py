"""Ledgers: equal runs give equal bytes, and ledgers of different inputs are never compared in silence."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.analysis.canonical import NotJson, canonical
from workbench.analysis.ledger.ledger import (
    BadLedger,
    DifferentInputs,
    DifferentRecords,
    Ledger,
    Row,
    compare,
)

TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
HEADER = {
    "record": "r", "title": "t", "parameters": {}, "inputs": {"c": {"content": "aa"}}, "seeds": {"seed": 0},
    "code": {"workbench": "1"}, "versions": {"python": "3"}, "machine": {"cores": 2}, "when": {"seconds": 1.5},
}  # fmt: skip


def row(claim_id="M01", measured=1, verdict="HOLDS", **more):
    return Row(claim_id, "says", "count", 1, 0, measured, verdict, "here", **more)


def ledger(*rows, **header):
    return Ledger({**HEADER, **header}, rows or (row(),))


@settings(max_examples=60, deadline=None)
@given(JSON, JSON)
def test_a_ledger_comes_back_from_its_file_as_it_was(tmp_path_factory, measured, expected):
    directory = tmp_path_factory.mktemp("ledger")
    before = Ledger(HEADER, (replace(row(measured=measured), expected=expected),))
    before.write(directory)
    assert Ledger.read(directory) == before


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(TEXT, JSON, max_size=5))
def test_the_order_of_keys_changes_no_byte(table):
    assert canonical(table) == canonical(dict(reversed(table.items())))
    assert json.loads(canonical(table).encode("utf-8")) == table


def test_a_header_value_that_json_cannot_hold_leaves_the_earlier_file(tmp_path):
    ledger().write(tmp_path)
    before = (tmp_path / "ledger.json").read_bytes()
    with pytest.raises(NotJson, match=r"value.header.seeds.seed is nan"):
        ledger(seeds={"seed": float("nan")}).write(tmp_path)
    assert (tmp_path / "ledger.json").read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["ledger.json"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [("", "cannot be read"), ("[]", "another shape"), ('{"header": {}}', "another shape"),
     ('{"header": {}, "rows": [{"id": 1}]}', "another shape"), ("\x00", "cannot be read")],
)  # fmt: skip
def test_a_damaged_ledger_is_refused_by_name(tmp_path, text, fault):
    (tmp_path / "ledger.json").write_text(text)
    with pytest.raises(BadLedger, match=f"{fault}.*ledger.json"):
        Ledger.read(tmp_path)


def test_a_ledger_with_a_verdict_of_another_list_is_refused(tmp_path):
    text = ledger().json().replace('"HOLDS"', '"TRUE"')
    (tmp_path / "ledger.json").write_text(text)
    with pytest.raises(BadLedger, match="unknown verdicts in rows M01"):
        Ledger.read(tmp_path)


def test_a_missing_ledger_says_what_to_run(tmp_path):
    with pytest.raises(BadLedger, match="workbench reproduce"):
        Ledger.read(tmp_path / "ledger.json")


def test_a_ledger_is_whole_only_when_every_row_has_a_verdict():
    assert ledger(row(), row("M02", verdict="DIFFERS")).whole
    assert not ledger(row(), row("M02", verdict=None)).whole
    assert not Ledger(HEADER, ()).whole
    assert [r.id for r in ledger(row(), row("M02", verdict=None)).failed] == ["M02"]


def test_the_tally_names_only_verdicts_that_stand_in_the_ledger():
    both = ledger(row(verdict="DIFFERS"), row("M02"), row("M03"), row("M04", verdict=None))
    assert list(both.tally().items()) == [("HOLDS", 2), ("DIFFERS", 1), ("NO VERDICT", 1)]
    assert str(both) == "2 HOLDS · 1 DIFFERS · 1 NO VERDICT"


def test_two_runs_that_only_clocks_tell_apart_are_equal_without_timings():
    first = ledger(row(), row("M02", 0.5, timing=("",)), when={"seconds": 1})
    second = ledger(row(), row("M02", 0.7, "DIFFERS", timing=("",), note="slow"), when={"seconds": 2})
    assert first.json() != second.json()
    assert first.without_timings().json() == second.without_timings().json()


def test_without_timings_keeps_every_other_difference():
    assert ledger(row(measured=1)).without_timings() != ledger(row(measured=2)).without_timings()


def test_ledgers_of_different_inputs_are_refused_by_the_input_that_differs():
    with pytest.raises(DifferentInputs, match="the inputs differ: c, d"):
        compare(ledger(), ledger(inputs={"c": {"content": "bb"}, "d": {}}))


def test_ledgers_of_different_inputs_are_compared_when_it_is_meant():
    found = compare(ledger(), ledger(row(measured=2), inputs={"c": {"content": "bb"}}), across_inputs=True)
    assert found.causes == ("inputs",)
    assert [(c.id, c.field, c.before, c.after) for c in found.changes] == [("M01", "measured", 1, 2)]


def test_ledgers_of_different_records_are_never_compared():
    with pytest.raises(DifferentRecords):
        compare(ledger(), ledger(record="other"), across_inputs=True)


def test_a_change_without_a_cause_is_chance():
    assert compare(ledger(), ledger(row(measured=2))).causes == ("chance",)
    assert compare(ledger(), ledger()).causes == ()
    clock = row(measured=0.1, timing=("",)), row(measured=0.2, timing=("",))
    assert compare(ledger(clock[0]), ledger(clock[1])).causes == ()


def test_every_header_field_that_differs_is_named_as_a_cause():
    found = compare(ledger(), ledger(row(measured=2), code={"workbench": "2"}, versions={"python": "4"}))
    assert found.causes == ("code", "versions")


def test_rows_that_came_or_went_are_changes():
    found = compare(ledger(row(), row("M02")), ledger(row("M03"), row()))
    assert [(c.id, c.before, c.after) for c in found.changes] == [
        ("M03", "absent", "present"), ("M02", "present", "absent")
    ]  # fmt: skip


TIMED = {"ms": {"a": 1.5, "b": 2.5}, "ratio": 1.7, "calls": 7}


def timed(**more):
    clocks = {"timing": ("ms",), "timing_ratios": ("ratio",)}
    return replace(row(measured=TIMED, **clocks, **more), expected={"calls": 7, "ratio": {"at_most": 2}})


@pytest.mark.parametrize(
    ("changed", "drift"),
    [({"ms": {"a": 9.0, "b": 2.5}}, False), ({"ratio": 1.9}, False), ({"calls": 8}, True), ({"new": 1}, True)],
)
def test_in_a_timed_row_only_durations_are_no_drift(changed, drift):
    later = replace(timed(), measured=TIMED | changed, note="another note")
    found = compare(ledger(timed()), ledger(later))
    assert {c.field for c in found.changes} == {"measured", "note"}
    assert any(c.drift for c in found.changes) == drift


def test_a_verdict_on_a_duration_may_change_and_one_on_a_count_not():
    slow = timed(verdict="DIFFERS", cause="duration")
    assert not any(c.drift for c in compare(ledger(timed()), ledger(slow)).changes)
    counted = [replace(r, expected={"calls": 7}) for r in (timed(), slow)]
    assert any(c.drift for c in compare(*map(ledger, counted)).changes)


def test_a_superseded_row_is_shown_as_such_and_no_drift():
    old = row(superseded="adr-0200")
    found = compare(ledger(old), ledger(replace(old, measured=2, verdict=None)))
    assert found.changes and not any(c.drift for c in found.changes)
    both = ledger(row(), replace(old, verdict=None))
    assert both.whole and both.tally() == {"HOLDS": 1, "SUPERSEDED": 1}


def test_differences_of_durations_and_installs_are_counted_apart():
    causes = ledger(*(row(f"M{n}", verdict="DIFFERS", cause=c) for n, c in enumerate(["", "duration", "install"])))
    assert causes.tally() == {"DIFFERS": 1, "DIFFERS BY A DURATION": 1, "DIFFERS BY THIS INSTALL": 1}


def test_evidence_is_counted_in_a_stated_order():
    assert ledger(row(evidence="on paper"), row(), row()).evidence() == {"measured": 2, "on paper": 1}


@pytest.mark.parametrize(("parameters", "size"), [({}, ""), ({"size": "full"}, ""), ({"size": "small"}, "small")])
def test_a_reduced_run_is_known_by_its_size(parameters, size):
    assert ledger(parameters=parameters).reduced == size
