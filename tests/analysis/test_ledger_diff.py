"""What changed between two runs is told to the single value, and no cause is named that the headers do not show."""

from dataclasses import replace

import pytest

from workbench.analysis.ledger.ledger import (
    Ledger,
    Row,
    compare,
    differing,
    leaves,
    sentence,
    shown,
)

HEADER = {
    "record": "r", "parameters": {"limit": 8}, "inputs": {"c": {"content": "aa"}}, "seeds": {"seed": 0},
    "code": {"workbench": "1" * 64, "measures": "2" * 64}, "versions": {"python": "3", "duckdb": "2.0.1"}, "machine": {"cores": 2},
}  # fmt: skip
ROW = Row("M01", "says", "count", 1, 0, {"n": 1, "ranks": [1, 2, 3], "same": {"a": 1}}, "HOLDS", "here")


def ledger(row=ROW, **header):
    return Ledger({**HEADER, **header}, (row,))


def test_only_the_values_that_changed_are_told_each_with_its_path():
    after = ledger(replace(ROW, measured={"n": 1, "ranks": [1, 5, 3], "same": {"a": 1}, "new": 4}, verdict="DIFFERS"))
    found = leaves(compare(ledger(), after))
    assert [(f.path, f.before, f.after) for f in found] == [
        ("measured.ranks.2", 2, 5), ("measured.new", None, 4), ("verdict", "HOLDS", "DIFFERS"),
    ]  # fmt: skip


def test_lists_of_another_length_are_told_whole():
    (found,) = leaves(compare(ledger(), ledger(replace(ROW, measured={**ROW.measured, "ranks": [1]}))))
    assert (found.path, found.before, found.after) == ("measured.ranks", [1, 2, 3], [1])


def test_a_cause_is_told_by_the_parts_of_it_that_differ():
    after = ledger(versions={"python": "3", "duckdb": "2.0.2", "numpy": "2"})
    parts = differing(ledger(), after, compare(ledger(), after))
    assert {c: [(p.path, p.before, p.after) for p in found] for c, found in parts.items()} == {
        "versions": [("duckdb", "2.0.1", "2.0.2"), ("numpy", None, "2")]
    }


CHANGED = replace(ROW, verdict="DIFFERS")


@pytest.mark.parametrize(
    ("row", "header", "told"),
    [
        (ROW, {}, "nothing changed"),
        (ROW, {"code": {}}, "nothing changed, though code differs"),
        (ROW, {"code": {}, "machine": {}}, "nothing changed, though code and machine differ"),
        (CHANGED, {}, "1 claim changed, and all that the two runs stood on is equal: chance did it"),
        (CHANGED, {"seeds": {}}, "1 claim changed, and of what the two runs stood on only seeds differ"),
        (CHANGED, {"machine": {}}, "1 claim changed, and of what the two runs stood on only machine differs"),
        (CHANGED, {"seeds": {}, "code": {}, "machine": {}}, "1 claim changed; seeds, code and machine differ, and any of them can have done it"),
    ],
)  # fmt: skip
def test_the_sentence_names_what_can_have_done_it_and_no_more(row, header, told):
    assert sentence(compare(ledger(), ledger(row, **header))) == told


def test_a_clock_alone_changes_nothing():
    timed = [ledger(replace(ROW, measured=m, timing=("",))) for m in (0.1, 0.2)]
    found = compare(*timed)
    assert sentence(found) == "nothing changed" and [leaf.timing for leaf in leaves(found)] == [True]


def test_a_hash_is_shown_by_its_beginning_and_nothing_as_a_word():
    assert [shown(v) for v in ("ab" * 32, None, "short", 3)] == ["abababababab", "nothing", "short", "3"]
