"""The time that a query names: one interval or none, measured on the public set of dated queries."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.retrieval.dates import recognise

NOW = datetime(2026, 8, 12, 14, 30)  # a Wednesday

# Where the public set and the law differ on purpose, and why the law is kept.
OTHERWISE = {
    "an hour without a day is no day": {"at 3pm", "midnight", "noon", "so what do we do now"},
    "a verb or a name, not a month": {"may", "may I ask a question", "she may have been right", "the may report"},
    "two times, or one that is negated": {"last week or last month", "yesterday and today and tomorrow", "not yesterday"},
    "no such day, or counted from an unknown one": {"31 february 2020", "two days later"},
    "a whole date, of which the set takes a part or nothing": {
        "Besprechung am 3. März 2025", "between 2020-01-01 and 2020-12-31", "year 9999", "15.01.2024", "2024年",
        "2025年3月3日の会議", "next week",
    },
}  # fmt: skip


def days(text: str, now: datetime = NOW) -> tuple[str, str] | None:
    found = recognise(text, now)
    return found and (found.start.date().isoformat(), found.end.date().isoformat())


@pytest.mark.shared
def test_on_the_public_set_precision_is_97_and_recall_94_percent_and_every_difference_is_meant(shared_data):
    golden = json.loads((shared_data("date-queries") / "query_analyzer_golden.json").read_text(encoding="utf-8"))
    right = found = wanted = 0
    otherwise = set()
    for key, expected in golden.items():
        now, text = key.split("\x1f", 1)
        got = recognise(text, datetime.fromisoformat(now))
        answer = got and [got.start.isoformat(), got.end.isoformat()]
        found, wanted, right = found + bool(answer), wanted + bool(expected), right + bool(answer and answer == expected)
        if (answer or None) != (expected or None):
            otherwise.add(text)
    assert right / found > 0.97 and right / wanted > 0.94
    assert otherwise == set().union(*OTHERWISE.values())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Meeting 2026-11-11 09:58", ("2026-11-11", "2026-11-11")),
        ("ședința de săptămâna trecută", ("2026-08-03", "2026-08-09")),
        ("ce am hotărât acum 3 zile", ("2026-08-09", "2026-08-09")),
        ("notes from 3 to 5 March", ("2026-03-03", "2026-03-05")),
        ("7-8 iunie", ("2026-06-07", "2026-06-08")),
        ("from 3 March 2025 to 5 March 2025", ("2025-03-03", "2025-03-05")),
        ("1 May 2026 - 3 May 2026", ("2026-05-01", "2026-05-03")),
        ("what we said on Monday", ("2026-08-10", "2026-08-10")),
        ("last wednesday", ("2026-08-05", "2026-08-05")),
        ("the past 2 weeks", ("2026-07-29", "2026-08-12")),
        ("29 February", ("2024-02-29", "2024-02-29")),
        ("Q2 2026 results", ("2026-04-01", "2026-06-30")),
        ("13/04/2026", ("2026-04-13", "2026-04-13")),
        ("03/04/2026", None),
        ("3.4.2026", ("2026-04-03", "2026-04-03")),
        ("participating in six months of exercise", None),
        ("in 6 months", ("2027-02-12", "2027-02-12")),
        ("effects in 2000 patients", None),
        ("revenue in 2019?", ("2019-01-01", "2019-12-31")),
        ("the season of 2001-02", None),
        ("was ist hier passiert", None),
        ("qu'ai-je fait hier", ("2026-08-11", "2026-08-11")),
        ("este în mai multe state", None),
        ("CVE-2024-1234", None),
        ("0b85ed4a-2026-11", None),
        ("", None),
    ],
)
def test_a_query_names_one_time_or_none(text, expected):
    assert days(text) == expected


def test_an_interval_is_whole_days_in_the_zone_of_now():
    found = recognise("yesterday", NOW.replace(tzinfo=UTC))
    assert found.start == datetime(2026, 8, 11, tzinfo=UTC)
    assert found.end == datetime(2026, 8, 11, 23, 59, 59, 999999, tzinfo=UTC) and found.phrase == "yesterday"


@settings(max_examples=60, deadline=None)
@given(st.dates(min_value=datetime(1, 1, 2).date(), max_value=datetime(9999, 12, 30).date()), st.text(max_size=12))
def test_an_iso_date_is_found_in_any_text_that_names_no_other(day, around):
    text = f"{day.isoformat()} {around if recognise(around, NOW) is None and not any(c.isdigit() for c in around) else ''}"
    found = days(text)
    # A mark of negation or of a second date's end may stand in any text; then there is none.
    assert found in ((day.isoformat(), day.isoformat()), None)
    assert days(day.isoformat()) == (day.isoformat(), day.isoformat())


@pytest.mark.parametrize("text", ["1 " * 50_000, "week" + " " * 100_000, "3 march " * 5_000, "十" * 50_000, "\ud800\u202e2026" * 999])
def test_hostile_text_is_read_in_a_moment(text):
    start = time.process_time()
    recognise(text, NOW)
    assert time.process_time() - start < 2
