"""The widening loop: rounds, windows, ways out, and what the default filter costs (B03, B04, B05, B07, B22)."""

from __future__ import annotations

import time
from collections import Counter
from statistics import median
from typing import Any

from records.notes_search.arithmetic import ROUNDS_SECONDS
from records.notes_search.subjects import (
    LARGE,
    SECOND,
    Project,
    asked,
    megabytes,
    old_searches,
    project,
    some,
)
from workbench.analysis.ledger.run import Run
from workbench.analysis.ledger.verdict import Measured, returns
from workbench.retrieval.notes.legacy import (
    CANDIDATE_LIMIT,
    OLD,
    OUTSIDE,
    PAGE_ROWS,
    Exit,
    OldResult,
    OldSettings,
    Reading,
    candidate_window,
)
from workbench.types import Query

CHUNKS_A_NOTE = 52
SIX = 6
"""Rounds of the document's slowest search."""
FILTER_QUERIES = 9


@returns(
    "by_project",
    "four_or_more",
    "more_on_the_larger_project",
    "most",
    "searches",
    "two_or_more",
)
def round_distribution(run: Run) -> Measured:
    """B03: how many searches take how many rounds, on both projects together and on each."""
    counts = {
        name: Counter(len(r.rounds) for r in old_searches(run, project(run, name)))
        for name in (LARGE, SECOND)
    }
    shares = {name: _shares(found) for name, found in counts.items()}
    rows = [
        {"project": name, "rounds": k, "searches": n}
        for name, found in counts.items()
        for k, n in sorted(found.items())
    ]
    return Measured(
        {
            **_shares(counts[LARGE] + counts[SECOND]),
            "more_on_the_larger_project": shares[LARGE]["four_or_more"]
            > shares[SECOND]["four_or_more"],
            "by_project": shares,
        },
        _where(run),
        "The document's searches go over all projects and queries of a service; these go over two heavy projects, "
        "taken together, and a chosen mix of queries.",
        data=rows,
    )


def _shares(found: Counter[int]) -> dict[str, Any]:
    total = found.total()
    return {
        "two_or_more": round(sum(n for k, n in found.items() if k >= 2) / total, 3),
        "four_or_more": round(sum(n for k, n in found.items() if k >= 4) / total, 3),
        "searches": total,
        "most": max(found),
    }


@returns(
    "document_relative_seconds",
    "megabytes",
    "outside_of_them",
    "relative_bytes",
    "relative_seconds",
    "rounds_here",
    "seconds",
    "seconds_of_the_six_rounds",
    "share_outside_of_rounds",
)
def six_rounds(run: Run) -> Measured:
    """B04: the document's six rounds on paper, and a search of six rounds here, round by round."""
    at = project(run, LARGE)
    chosen = _longest(old_searches(run, at))
    start = time.perf_counter()
    result = at.old.search(Query(chosen.query.text, limit=PAGE_ROWS))
    wall = time.perf_counter() - start
    rows = waterfall(result)
    inside = [r for r in rows if r["round"]]
    first = inside[0]
    total = round(sum(ROUNDS_SECONDS), 1)
    return Measured(
        {
            "seconds_of_the_six_rounds": total,
            "outside_of_them": round(101.0 - total, 1),
            "rounds_here": len(inside),
            "relative_seconds": [round(r["seconds"] / first["seconds"], 1) for r in inside],
            "relative_bytes": [round(r["bytes"] / first["bytes"], 1) for r in inside],
            "document_relative_seconds": [round(s / ROUNDS_SECONDS[0], 1) for s in ROUNDS_SECONDS],
            "share_outside_of_rounds": round(1 - sum(r["seconds"] for r in inside) / wall, 3),
            "seconds": round(wall, 3),
            "megabytes": megabytes(result.bytes),
        },
        at.where,
        f"“{chosen.query.text}”, text crossing. The six rounds of the document sum to {total} s and not to 101: "
        "39.5 s lie outside of them and are not explained. Here what is outside is the full-text leg and Python.",
        data=rows,
        timing=("seconds",),
        timing_ratios=("relative_seconds", "share_outside_of_rounds"),
    )


def _longest(results: list[OldResult]) -> OldResult:
    """The search with as many rounds as the document's, else with the most; the first of those in the asked order."""
    return min(results, key=lambda r: (abs(len(r.rounds) - SIX), -len(r.rounds)))


def waterfall(result: OldResult) -> list[dict[str, Any]]:
    """Seconds, rows, bytes, window and admitted rows by round; round 0 is what runs once a search."""
    rounds = {r.number: r for r in result.rounds}
    rows = []
    for number in (OUTSIDE, *rounds):
        own = [c for c in result.crossings if c.round == number]
        made = rounds.get(number)
        rows.append(
            {
                "round": number,
                "seconds": sum(c.seconds for c in own),
                "rows": sum(c.rows for c in own),
                "bytes": sum(c.bytes for c in own),
                "window": made.window if made else 0,
                "admitted": made.admitted if made else 0,
                **{
                    c: sum(x.bytes for x in own if x.stage == c)
                    for c in ("full text", "vector", "chunk text", "hydrate", "filter pass")
                },
            }
        )
    return rows


@returns(
    "even_notes_met_in_round",
    "even_window",
    "rounds_where_the_budget_was_met",
    "rows_admitted_by_window",
    "ways_out",
    "windows",
)
def windows(run: Run) -> Measured:
    """B05: the windows, the rows that they admit, and the ways out; even notes on paper, uneven ones as they are."""
    at = project(run, LARGE)
    results = old_searches(run, at)
    even = candidate_window(_even, OldSettings(), OLD, filtered=True)
    endless = candidate_window(
        lambda number, window: Reading(window, 1.0, 0, {}), OldSettings(), OLD, filtered=True
    )
    by_window: dict[int, list[int]] = {}
    for result in results:
        for r in result.rounds:
            by_window.setdefault(r.window, []).append(r.admitted)
    return Measured(
        {
            "windows": [r.window for r in endless.rounds],
            "even_notes_met_in_round": len(even.rounds),
            "even_window": even.rounds[-1].window,
            "ways_out": {e.value: sum(r.exit == e for r in results) for e in Exit},
            "rows_admitted_by_window": {w: round(median(a)) for w, a in sorted(by_window.items())},
            "rounds_where_the_budget_was_met": dict(
                sorted(Counter(len(r.rounds) for r in results if r.exit == Exit.BUDGET).items())
            ),
        },
        at.where,
        f"The budget is {CANDIDATE_LIMIT} and is compared with rows. With an even {CHUNKS_A_NOTE} chunks a note it is met in "
        "round 7; uneven notes meet it where many notes share what is asked for.",
    )


def _even(number: int, window: int) -> Reading:
    rows = window // CHUNKS_A_NOTE
    return Reading(window, 1.0, rows, dict.fromkeys(range(rows), 1.0))


@returns(
    "new",
    "old",
    "rounds_added_in_the_new_path",
    "rounds_added_in_the_old_path",
    "time_in_the_new_path",
)
def default_filter(run: Run) -> Measured:
    """B07: the filter that every default search gets, in both paths: rounds, bytes and time with and without it."""
    at = project(run, LARGE)
    value: dict[str, Any] = {"old": {}, "new": {}}
    every = {"source_type": ["entity", "observation", "relation"]}
    for label, default in (("default", True), ("none", False)):
        old = [
            at.old.search(Query(q.text, limit=PAGE_ROWS), weigh=True, default_type=default)
            for q in asked(at, some(run, FILTER_QUERIES))
        ]
        value["old"][label] = {
            "rounds": median(len(r.rounds) for r in old),
            "megabytes": megabytes(median(r.bytes for r in old)),
            "ms": round(median(r.seconds for r in old) * 1e3, 1),
        }
        new = [
            at.new.search(Query(q.text, {} if default else every))
            for q in asked(at, some(run, FILTER_QUERIES))
        ]
        value["new"][label] = {
            "rounds": median(r.span.rounds for r in new),
            "bytes": median(r.span.bytes for r in new),
            "ms": round(median(r.span.seconds for r in new) * 1e3, 1),
        }
    return Measured(
        {
            "rounds_added_in_the_old_path": value["old"]["default"]["rounds"]
            - value["old"]["none"]["rounds"],
            "rounds_added_in_the_new_path": value["new"]["default"]["rounds"]
            - value["new"]["none"]["rounds"],
            "time_in_the_new_path": round(
                value["new"]["default"]["ms"] / value["new"]["none"]["ms"], 2
            ),
            **value,
        },
        at.where,
        "The filter asks for notes; without it the old loop is not entered. Bytes of the old path are weighed.",
        timing=("*.*.ms",),
        timing_ratios=("time_in_the_new_path",),
    )


@returns(
    "budget_is_never_met",
    "first_round_share_by_similarity_floor",
    "large",
    "second",
    "some_searches_widen",
    "stopped_in_the_first_round",
)
def first_round(run: Run) -> Measured:
    """B22: which way out the searches took that stopped in the first round, and whether the budget is ever met."""
    value: dict[str, Any] = {}
    every: list[OldResult] = []
    for name in (LARGE, SECOND):
        results = old_searches(run, project(run, name))
        every += results
        first = [r for r in results if len(r.rounds) == 1]
        value[name] = {
            "stopped_in_the_first_round": round(len(first) / len(results), 3),
            "by_way_out": dict(Counter(r.exit.value for r in first)),
            "budget_met_at_last": round(
                sum(r.exit == Exit.BUDGET for r in results) / len(results), 3
            ),
        }
    low = {f"{floor:.2f}": _floor_share(run, floor) for floor in FLOORS}
    met = any(v["budget_met_at_last"] for v in value.values())
    return Measured(
        {
            "budget_is_never_met": not met,
            "some_searches_widen": any(len(r.rounds) > 1 for r in every),
            "stopped_in_the_first_round": round(
                sum(len(r.rounds) == 1 for r in every) / len(every), 3
            ),
            **value,
            "first_round_share_by_similarity_floor": low,
        },
        _where(run),
        "In a project of long notes the first window cannot meet the budget: the way out is the similarity floor, and how many "
        "take it hangs on the floor and on the queries. Small projects, which end by exhaustion, are not in the replica.",
    )


FLOORS = (0.55, 0.6, 0.65, 0.7, 0.75)


def _floor_share(run: Run, floor: float) -> float:
    """The share of searches whose first window ends below this floor."""
    at = project(run, LARGE)
    below = [_tail(at, q.text) < floor for q in asked(at)]
    return round(sum(below) / len(below), 3)


def _tail(at: Project, text: str) -> float:
    """The similarity of the last of the nearest 260 chunks."""
    found = at.collection.stores.catalog.nearest(
        at.new.embedder.embed_query(Query(text).normalised), {}, CANDIDATE_LIMIT
    )
    return found[-1][1] if found else -1.0


def _where(run: Run) -> str:
    return "; ".join(project(run, name).where for name in (LARGE, SECOND))
