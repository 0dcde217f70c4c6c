"""The charts and sentences of ADR 0172 and ADR 0003: each says what the measures kept, and no more."""

from __future__ import annotations

import pytest

from records.adr_0003 import charts as matching_charts
from records.adr_0003.thresholds import EXAMPLE, cut_at_a_word
from records.adr_0172 import incident, story
from records.adr_0172.judged import pages_text
from records.notes_search.charts import bytes_by_path
from workbench.analysis.ledger.blocks import chart_block
from workbench.reporting.charts import ranks as rank_charts

CUTS = [
    {"likeness": "dice", "gates": "no gate", "served right": served, "calls": 100, "wrong at most": 0.1, "clean threshold": 1.0}
    for served in (10, 40)
]  # fmt: skip


def text_of(chart) -> str:
    return str(chart_block("chart", chart, "caption", "section", ()).content)


def rows_of(chart, key: str) -> list[dict]:
    return [r for rows in chart.to_dict()["datasets"].values() for r in rows if key in r]


def test_the_third_condition_names_each_kind_of_query():
    pushed = {"common_phrase_pushes_out": True, "planted_questions_push_out": False, "real_questions_push_out": False}
    assert story.pushed_text(pushed) == "yes for a common phrase, no for planted questions and real questions."
    assert story.pushed_text({"common_phrase_pushes_out": False}) == "no for a common phrase."


def test_a_fitted_figure_is_drawn_over_each_parameter():
    rows = [
        {"parameter": p, "value": v, "of the file": v == 1, **dict.fromkeys(incident.FIGURES, 9), "before": None}
        for p in ("rows", "length")
        for v in (1, 2)
    ]
    chart = rank_charts.rank_by_parameter(rows, incident.FIGURES)
    drawn = rows_of(chart, "figure")
    assert {r["parameter"] for r in drawn} == {"rows", "length"} and {r["figure"] for r in drawn} == set(incident.FIGURES)
    assert all(r["rank"] > 64 for r in drawn if r["shown"] == "absent") and "figure" in text_of(chart)


@pytest.mark.parametrize(
    ("better", "worse", "told"),
    [
        ("", "", "No alternative differs from ADR 0172: every 95 % interval includes 0."),
        ("", "x (-0.1 on a)", "No alternative is better than ADR 0172. Worse than ADR 0172 is x (-0.1 on a). The 95 % interval of every other alternative includes 0."),
        ("y", "x", "Better than ADR 0172 is y. Worse than ADR 0172 is x. The 95 % interval of every other alternative includes 0."),
    ],
)  # fmt: skip
def test_the_alternatives_are_told_in_whole_sentences(better, worse, told):
    assert story.compared_text(better, worse) == told


def test_how_many_first_pages_differ_is_told_in_all_and_by_set():
    told = pages_text({"a": (2, 300), "b": (0, 400)})
    assert told == "The first page differs from two lists on 2 of 700 ordinary questions (2 of 300 in a, 0 of 400 in b)."


def test_an_absent_target_stands_behind_the_end_of_the_axis():
    chart = rank_charts.rank_by_variant({"a": 1, "b": 28, "c": None})
    deepest = max(r["rank"] for r in rows_of(chart, "shown") if r["shown"] != "absent")
    axis = chart.to_dict()["layer"][2]["encoding"]["x"]["axis"]["values"]
    (end,) = rows_of(chart, "end")
    (absent,) = [r for r in rows_of(chart, "shown") if r["shown"] == "absent"]
    assert deepest < end["end"] < absent["rank"] and max(axis) < end["end"]
    assert {r["where"] for r in rows_of(chart, "where")} == {"first 8", "beyond the first 8", "absent"}


def test_the_runs_own_rank_is_marked_beside_those_of_the_seeds():
    rows = [{"seed": s, "query": "title", "variant": v, "rank": r} for s in (1, 2) for v, r in (("two_lists", 30 + s), ("adr_0005", None))]
    chart = rank_charts.ranks_over_seeds(rows, {"title": "Meeting"}, {("title", "two_lists"): 21, ("title", "adr_0005"): None})
    assert [(r["variant"], r["rank"]) for r in rows_of(chart, "label")] == [("two_lists", 21)]
    assert "undefined" not in text_of(chart)


def test_cells_of_all_recordings_have_one_scale():
    scales = [matching_charts.clean_cuts([r], 0.4).to_dict()["layer"][0]["encoding"]["color"]["scale"] for r in CUTS]
    assert scales[0] == scales[1] and scales[0]["domain"] == [0, 0.4]


def test_dice_is_drawn_and_both_thresholds_are_named():
    sizes = matching_charts.score_by_size([{"entries": n, "BM25": 0.1 * n, "Dice": 0.909} for n in (2, 10)])
    assert "Dice 0.909" in text_of(sizes) and sum(layer["encoding"]["y"]["field"] == "Dice" for layer in sizes.to_dict()["layer"]) == 2
    words = matching_charts.word_tolerance([{"words": n, "one word": "added", "Dice": 0.9} for n in (4, 5)])
    assert "serve at 0.97" in text_of(words) and "serve at 1, as recorded" in text_of(words)


def test_sizes_of_a_search_have_their_unit_on_the_axis():
    assert "' MB'" in text_of(bytes_by_path([{"path": "old", "project": "large", "bytes": 90_000_000}], 100_000))


@pytest.mark.parametrize("text", ["short", "word " * 40, "x" * 300, "a" * 119 + " b c", "a" * 118 + " b c"])
def test_an_example_is_cut_at_a_word_and_says_so(text):
    told = cut_at_a_word(text)
    assert len(told) <= EXAMPLE and (told == text) == (len(text) <= EXAMPLE) and (told == text or told.endswith(" …"))
    words = told.removesuffix(" …").split()
    assert words == text.split()[: len(words)] or " " not in text[: EXAMPLE - 1]
