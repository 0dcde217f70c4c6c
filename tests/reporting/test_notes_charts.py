"""The notes search's charts: every one becomes a spec that a report can hold, from rows as the measures keep them."""

from __future__ import annotations

import pytest

from records.notes_search import charts as notes_charts
from workbench.analysis.ledger.blocks import chart_block

ROUNDS = [
    {"round": n, "window": 130 * 2**n if n else 0, "seconds": 0.1 * (n + 1), "rows": 10 * n, "bytes": 1000 * (n + 1), "admitted": n,
     "full text": 0 if n else 1000, "vector": n, "chunk text": n, "hydrate": 500 * n, "filter pass": 400 * n}
    for n in range(4)
]  # fmt: skip
GROWTH = [
    {"over": over, "share": 1 / s, "old_seconds": 1 / s, "new_seconds": 0.1, "old_bytes": 1e6 / s, "new_bytes": 1e4}
    for over in ("chunks", "note size") for s in (16, 4, 1)
]  # fmt: skip
SLOPES = {over: {path: {"seconds": 1.0, "bytes": 0.0} for path in ("old", "new")} for over in ("chunks", "note size")}
CHARTS = {
    "bytes": lambda: notes_charts.bytes_by_path(
        [{"path": p, "project": j, "bytes": b} for p, b in (("old", 9e7), ("stopgap", 1e7), ("new", 9e3)) for j in ("large", "second")], 100_000
    ),
    "rounds": lambda: notes_charts.rounds([{"project": "large", "rounds": n, "searches": 3} for n in (1, 5)]),
    "waterfall": lambda: notes_charts.waterfall(ROUNDS),
    "growth-seconds": lambda: notes_charts.growth(GROWTH, "seconds", SLOPES),
    "growth-bytes": lambda: notes_charts.growth(GROWTH, "bytes", SLOPES),
    "floors": lambda: notes_charts.floor_sweep(
        [{"set": "s", "rule": r, "floor": f / 10, "right_lost": 0.1, "wrong_refused": 0.2} for r in ("every", "alone") for f in range(4, 9)]
    ),
    "cosines": lambda: notes_charts.cosine_overlap([{"set": "s", "kind": k, "cosine": 0.5, "queries": 3} for k in ("relevant", "irrelevant")]),
    "parts": lambda: notes_charts.parts([{"parts": p, "megabytes": m, "rounds": 1} for p, m in (("old", 90.0), ("stopgap", 12.0))]),
    "layouts": lambda: notes_charts.layouts([{"layout": n, "selectivity": s, "ms": 3.0} for n in ("one table", "two tables") for s in ("all", "a tenth")]),
}  # fmt: skip


@pytest.mark.parametrize("name", CHARTS)
def test_every_chart_becomes_a_spec_with_its_data_in_it(name):
    block = chart_block(name, CHARTS[name](), "caption", "section", ())
    text = str(block.content)
    assert "undefined" not in text and "url" not in text and "datasets" in text


def test_the_stated_limit_stands_on_the_axis_even_where_all_is_below_it():
    spec = notes_charts.bytes_by_path([{"path": "new", "project": "large", "bytes": 5_000}], 100_000).to_dict()
    assert "100 KB" in str(spec) and "[1, 150.0]" in str(spec)


def test_rounds_of_a_waterfall_follow_each_other_without_a_gap():
    spec = notes_charts.waterfall(ROUNDS).to_dict()
    bars = [r for rows in spec["datasets"].values() for r in rows if "from" in r]
    assert [b["to"] for b in bars[:-1]] == [b["from"] for b in bars[1:]] and bars[0]["step"] == "outside"


def test_the_time_of_a_round_has_the_colour_of_no_stage():
    time, moved = notes_charts.waterfall(ROUNDS).to_dict()["hconcat"]
    assert time["mark"]["color"] not in moved["encoding"]["color"]["scale"]["range"]


@pytest.mark.parametrize(("slope", "told"), [(-0.0, "0"), (-0.004, "0"), (-0.11, "−0.11"), (0.706, "+0.71")])
def test_a_slope_of_nothing_has_no_sign(slope, told):
    assert notes_charts.slope_text(slope) == told
