"""The pages of a replay and a tuning open without network, on a desk and on a phone."""

from __future__ import annotations

import pytest

from workbench.analysis.evaluate.tuning import tune
from workbench.analysis.replay.query_log import Log, Logged
from workbench.analysis.replay.replay import replay
from workbench.reporting.pages.replay import CASES_SHOWN, replay_page, write_replay
from workbench.reporting.pages.tuning import write_tuning
from workbench.sources.base import JudgedQuery, Qrel

PHONE = (390, 844)


@pytest.mark.browser
def test_a_replay_opens_and_its_worst_case_stands_open(tiny, tmp_path, open_page):
    shown = {"ferry harbour": ("tea", "gone"), "zzz qqq": ("tea",)}
    texts = ["ferry harbour", "green tea", "zzz qqq", "x" * 3_000]
    log = Log("log.jsonl", tuple(Logged(n, t, "2026-11-11T09:58:00Z", shown=shown.get(t)) for n, t in enumerate(texts, 1)), 4, ())
    path = write_replay(tmp_path, replay(tiny, log, ["semantic", "lexical_bm25"], first=3))
    for size in ((1280, 900), PHONE):
        opened = open_page(path, size)
        assert (opened.requests, opened.errors) == ([], []) and opened.overflow() <= 0
        assert opened.page.locator("details.case[open]").count() == 1
        assert opened.page.locator("details.case").first.locator(".command").first.is_visible()


@pytest.mark.browser
def test_a_tuning_opens(tiny, tmp_path, open_page):
    queries = [JudgedQuery(f"q{n}", text) for n, text in enumerate(["green tea", "ferry", "rule", "matrix", "coffee beans"] * 6)]
    qrels = [Qrel(q.id, d, 1) for q, d in zip(queries, ["tea", "ferry", "rule", "linear", "coffee"] * 6, strict=True)]
    tuned = tune(tiny, "two_lists", queries, qrels, "RR", grids={"k": (1, 60), "weight.lexical": (0, 1)}, resamples=99)
    for size in ((1280, 900), PHONE):
        opened = open_page(write_tuning(tmp_path, tuned), size)
        assert (opened.requests, opened.errors) == ([], []) and opened.overflow() <= 0


def test_more_changes_than_the_page_shows_are_in_the_file(tiny, tmp_path):
    log = Log("log.jsonl", tuple(Logged(n, f"ferry {n}", shown=("gone",)) for n in range(1, CASES_SHOWN + 4)), CASES_SHOWN + 3, ())
    found = replay(tiny, log, ["adr_0172"], explained=0)
    assert "3 more are in changes.jsonl" in replay_page(found)
    write_replay(tmp_path, found)
    assert len((tmp_path / "changes.jsonl").read_text().splitlines()) == CASES_SHOWN + 3
