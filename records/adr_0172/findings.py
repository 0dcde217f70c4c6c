"""ADR 0172 in a minute: sentences made of the run's own figures, for who has read only the record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from records.adr_0172.bm25 import LENGTHS
from records.adr_0172.judged import (
    QUESTIONS_METRIC,
    TITLES_METRIC,
    Trial,
    question_trials,
    title_trials,
)
from workbench.analysis.run import Run

NAMED = {
    "two_lists": "no third list", "third_list_all_terms": "a third list of all terms", "verbatim_outright": "verbatim first outright",
    "verbatim_weighted": "the verbatim list at half weight", "verbatim_titles": "the verbatim list for title-shaped queries only",
    "bm25_order": "BM25 as candidate order", "bm25_ranking": "BM25 in place of both", "bm25_engine": "Qdrant's BM25 in place of both",
    "bm25_fields": "BM25 over title and content",
}  # fmt: skip


def find(run: Run) -> None:
    """Say what the figures support: the incident, the alternatives, the three conditions."""
    incident(run)
    alternatives(run)
    conditions(run)


def incident(run: Run) -> None:
    two, three, second = (run.row(c).measured for c in ("A05", "A07", "A09"))
    before = run.row("A08").measured["rank"]
    run.finding(
        f"**The incident.** Searched by its exact title, the meeting stands {_place(before)} before the change, {_place(two['rank'])} "
        f"with the candidates fixed and two lists, and {_place(three['rank'])} with the third list (score {three['score']:.4f}). By "
        f"terms without the phrase it stands {_place(second['rank'])}.",
        ["A05", "A07", "A08", "A09"],
    )  # fmt: skip


def alternatives(run: Run) -> None:
    titles, questions = title_trials(run)[0], question_trials(run)[0]
    for kind, trials, metric in (("Titles", titles, TITLES_METRIC), ("Ordinary questions", questions, QUESTIONS_METRIC)):
        if not trials:
            continue
        before = "; ".join(_moved(t, "adr_0005", "adr_0172", metric) for t in trials.values())
        better, worse = _against(trials, metric, 1), _against(trials, metric, -1)
        run.finding(
            f"**{kind}.** From ADR 0005 to ADR 0172 {metric} goes {before}. {compared_text(better, worse)}",
            ["A13", "A14", "A16"],
        )


def conditions(run: Run) -> None:
    bm25, share, pushed = (run.row(c).measured for c in ("A20", "A21", "A22"))
    lost = bm25["title_lost_from_length"]["plain"]
    run.finding(
        "**The three conditions.** *1, ranked full text:* it has come, the engine here ranks by BM25. Followed as worded it puts the "
        f"title {_place(bm25['rank']['bm25_engine'])}"
        + (_lost(lost) if lost else ", and keeps it at every length swept")
        + f"; as candidate order with the verbatim list kept, {_place(bm25['rank']['bm25_order'])}. "
        f"*2, counts above a tenth:* not on the record's figures (at most {share['record_share_high']:.1%}). "
        f"*3, verbatim pushes better answers out:* {pushed_text(pushed)}"
        if isinstance(pushed, Mapping)
        else "**The three conditions.** The third needs judged questions, which are not there.",
        ["A20", "A21", "A22"],
    )


def compared_text(better: str, worse: str) -> str:
    """What the alternatives do, as _against tells them, in whole sentences."""
    if not (better or worse):
        return "No alternative differs from ADR 0172: every 95 % interval includes 0."
    told = [f"{word} than ADR 0172 is {found}" for word, found in (("Better", better), ("Worse", worse)) if found]
    none = "" if better else "No alternative is better than ADR 0172. "
    return f"{none}{'. '.join(told)}. The 95 % interval of every other alternative includes 0."


def pushed_text(pushed: Mapping[str, Any]) -> str:
    """The third condition: on real questions, and on those planted to be its worst case."""
    real = "it does so on real questions" if pushed["pushes_answers_out_of_real_questions"] else "not on real questions"
    planted = pushed["planted"]
    if not isinstance(planted, Mapping):
        return f"{real}."
    without, with_list = (planted[f"weight {w}"]["Success@1"] for w in (0, 1))
    does = "it does" if with_list < without else "neither"
    return f"{real}; on planted ones, the worst case, {does} (Success@1 from {without:.3f} without the list to {with_list:.3f} with it)."


def _lost(length: float) -> str:
    return ", outside the first eight at every length swept" if length == LENGTHS[0] else f", and loses it from {length:g} average lengths on"


def _place(rank: int | None) -> str:
    if rank is None:
        return "nowhere in the list"
    ending = "th" if 10 <= rank % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")
    return f"{rank}{ending}"


def _moved(trial: Trial, a: str, b: str, metric: str) -> str:
    row = trial.comparison.pair(a, b, metric)
    return f"from {row['value_a']:.3f} to {row['value_b']:.3f} on {trial.name} ({row['n']} queries)"


def _against(trials: Mapping[str, Trial], metric: str, sign: int) -> str:
    """The alternatives whose interval lies on one side of 0 in any set, with the sets."""
    found: dict[str, list[str]] = {}
    for trial in trials.values():
        for name in NAMED:
            row: Mapping[str, Any] = trial.comparison.pair("adr_0172", name, metric)
            edge = row["low"] if sign > 0 else row["high"]
            if edge is not None and edge * sign > 0:
                found.setdefault(name, []).append(f"{row['difference']:+.3f} on {trial.name}")
    return "; ".join(f"{NAMED[n]} ({', '.join(sets)})" for n, sets in found.items())
