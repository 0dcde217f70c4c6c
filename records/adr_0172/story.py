"""The report of ADR 0172: its findings in sentences, and the charts and tables that show what the measures kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from records.adr_0172 import incident as measures
from records.adr_0172.costs import LENGTHS
from records.adr_0172.judged import (
    QUESTIONS_METRIC,
    TITLES_METRIC,
    Trial,
    question_trials,
    title_trials,
)
from records.subjects import incident
from workbench.analysis.ledger.run import Run
from workbench.registry import lookup
from workbench.reporting.charts import ranks as rank_charts

NAMED = {
    "two_lists": "no third list",
    "third_list_all_terms": "a third list of all terms",
    "verbatim_outright": "verbatim first outright",
    "verbatim_weighted": "the verbatim list at half weight",
    "verbatim_titles": "the verbatim list for title-shaped queries only",
    "bm25_order": "BM25 as candidate order",
    "bm25_ranking": "BM25 in place of both",
    "bm25_engine": "Qdrant's BM25 in place of both",
    "bm25_fields": "BM25 over title and content",
}
PARTIAL = ("cap_n", "all_terms_by_id", "all_terms_commonest", "rarest_without_all_terms")
COSTS, INCIDENT, CHANCE = (
    "What it costs, and what would undo it",
    "The incident",
    "Chance, and what was fitted",
)

# ---- In a minute ----


def find(run: Run) -> None:
    """Say what the figures support: the incident, the alternatives, the three conditions."""
    two, three, second = (run.row(c).measured for c in ("A05", "A07", "A09"))
    before, on = run.row("A08").measured["rank"], run.row("A08").where
    run.finding(
        f"**The incident** ({on}). Searched by its exact title, the meeting ranks {place(before)} "
        "before the change, "
        f"{place(two['rank_here'])} with the candidates fixed and two lists, and "
        f"{place(three['rank'])} with the third "
        f"list (score {three['score']:.4f}). By terms without the phrase it ranks "
        f"{place(second['rank'])}. The replica "
        "was fitted to these ranks; its score 2/61 and the empty third list of the second query "
        "were not.",
        ["A05", "A07", "A08", "A09"],
    )
    titles, questions = title_trials(run)[0], question_trials(run)[0]
    for kind, trials, metric in (
        ("Titles", titles, TITLES_METRIC),
        ("Ordinary questions", questions, QUESTIONS_METRIC),
    ):
        if trials:
            changed = "; ".join(change(t, "adr_0005", "adr_0172", metric) for t in trials.values())
            text = compared_text(against(trials, metric, 1), against(trials, metric, -1))
            run.finding(
                f"**{kind}.** From ADR 0005 to ADR 0172 {metric} goes {changed}. {text}",
                ["A13", "A14", "A16"],
            )
    bm25, share, pushed = (run.row(c).measured for c in ("A20", "A21", "A22"))
    lost, ranks = bm25["title_lost_from_length"]["plain"], bm25["rank"]
    run.finding(
        "**The three conditions.** *1, ranked full text:* the engine here ranks by BM25. In place "
        "of both it ranks the "
        f"title {place(ranks['bm25_engine'])}{lost_text(lost)}; as candidate order with the "
        "verbatim list kept, "
        f"{place(ranks['bm25_order'])}. *2, counts above a tenth:* not by the record's figures "
        "(at most "
        f"{share['record_share']:.1%}). *3, verbatim pushes better answers out:* "
        f"{pushed_text(pushed)}",
        ["A20", "A21", "A22"],
    )


def compared_text(better: str, worse: str) -> str:
    """What the alternatives do, as `against` lists them, in whole sentences."""
    if not (better or worse):
        return "No alternative differs from ADR 0172: every 95 % interval includes 0."
    said = [
        f"{word} than ADR 0172 is {found}"
        for word, found in (("Better", better), ("Worse", worse))
        if found
    ]
    none = "" if better else "No alternative is better than ADR 0172. "
    return f"{none}{'. '.join(said)}. The 95 % interval of every other alternative includes 0."


def pushed_text(pushed: Mapping[str, Any]) -> str:
    """The third condition: on a common phrase, on questions planted to be its worst case, on real questions."""
    names = {
        "common_phrase": "a common phrase",
        "planted_questions": "planted questions",
        "real_questions": "real questions",
    }
    said: dict[bool, list[str]] = {True: [], False: []}
    for key, name in names.items():
        found = pushed.get(f"{key}_pushes_out", pushed.get(f"{key}_push_out"))
        if found is not None:
            said[found].append(name)
    parts = [f"{'yes' if found else 'no'} for {' and '.join(n)}" for found, n in said.items() if n]
    return f"{', '.join(parts)}."


def lost_text(length: float | None) -> str:
    if length is None:
        return ", and keeps it at every length swept"
    every = ", outside the first eight at every length swept"
    return every if length == LENGTHS[0] else f", and loses it from {length:g} average lengths on"


def place(rank: int | None) -> str:
    if rank is None:
        return "nowhere in the list"
    ending = "th" if 10 <= rank % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")
    return f"{rank}{ending}"


def change(trial: Trial, a: str, b: str, metric: str) -> str:
    row = trial.comparison.pair(a, b, metric)
    return f"from {row['value_a']:.3f} to {row['value_b']:.3f} on {trial.name} ({row['n']} queries)"


def against(trials: Mapping[str, Trial], metric: str, sign: int) -> str:
    """The alternatives whose interval lies on one side of 0 in any set, with the sets."""
    found: dict[str, list[str]] = {}
    for trial in trials.values():
        for name in NAMED:
            row: Mapping[str, Any] = trial.comparison.pair("adr_0172", name, metric)
            edge = row["low"] if sign > 0 else row["high"]
            if edge is not None and edge * sign > 0:
                found.setdefault(name, []).append(f"{row['difference']:+.3f} on {trial.name}")
    return "; ".join(f"{NAMED[n]} ({', '.join(sets)})" for n, sets in found.items())


# ---- Charts and tables ----


def tell_incident(run: Run) -> None:
    """Where the meeting ranks by variant, which rows rank above it and by which lists."""
    import polars as pl

    at, shown = (
        incident(run),
        ("adr_0005", *PARTIAL, "adr_0172", *(v for v in NAMED if "weighted" not in v)),
    )
    for query, claims in ((measures.TITLE, ["A05", "A07", "A08"]), (measures.SECOND, ["A09"])):
        ranks = {v: at.search(query, v).rank_of(at.target) for v in shown}
        caption = f"The meeting's rank for “{at.queries[query].text}”, by variant."
        run.chart(f"rank-{query}", rank_charts.rank_by_variant(ranks), caption, INCIDENT, claims)
    rows = [{"variant": v, "what it is": lookup("variant", v).law} for v in shown]
    run.table("variants", pl.DataFrame(rows), "The variants of these charts.")
    if rows := run.data.get("A07"):
        caption = "The first 50 rows with three lists: the rank of each row in each list."
        run.chart("lists-three", rank_charts.per_list_ranks(rows), caption, claims=["A07"])
    if rows := run.data.get("A05"):
        first = measures.per_list_ranks(at, at.search("title", "two_lists"), 50)
        caption = f"The first 50 rows with two lists: {len(rows)} rank above the meeting, which is in one list only."
        run.chart(
            "lists-two",
            rank_charts.per_list_ranks(first, ("lexical", "semantic")),
            caption,
            claims=["A05"],
        )


def tell_spread(run: Run) -> None:
    """The ranks over seeds and over fitted parameters, and how true the composed vectors are."""
    import polars as pl

    rows, at = measures.ranks_over_seeds(run), incident(run)
    used = dict.fromkeys(r["variant"] for r in rows)
    here = {(q, v): at.search(q, v).rank_of(at.target) for q in at.queries for v in used}
    run.chart(
        "seeds",
        rank_charts.ranks_over_seeds(rows, {q: t.text for q, t in at.queries.items()}, here),
        f"The meeting's rank. Ticks: {measures.SMALL:,} memories, one for each other seed; they "
        "show how far chance "
        f"moves it. Diamonds: this run's {measures.len_of(at):,} memories. A row that no list "
        "holds is not drawn.",
        CHANCE,
        ["A05", "A09"],
    )
    run.story(
        "The replica's values for the parameters below were chosen until the record's pattern "
        "appeared. The ranks of "
        "A02, A04, A05, A07, A08, A09, A12, A20 and A23 are therefore no independent evidence of "
        "the record. "
        "Independent of the fit are the score 2/61 of two first places, the score 1/61 of one, "
        "the empty third list "
        "of a query without the phrase, the agreement of both stores, and all rules shown by cases."
    )
    fitted = measures.over_fitted(run)
    run.chart(
        "fitted",
        rank_charts.rank_by_parameter(fitted, measures.FIGURES),
        f"The fitted figures over each fitted parameter, at {measures.SMALL:,} memories; the "
        "file's own value is "
        "marked by a diamond. An absent figure is drawn at the end.",
        claims=["A02", "A04", "A05", "A08", "A09"],
    )
    run.table(
        "fitted-ranks",
        pl.DataFrame(fitted, infer_schema_length=None),
        "The same figures as a table.",
    )
    caption = "Filler vectors are composed from real embeddings of their parts; all others are embedded whole."
    run.table(
        "fidelity",
        pl.DataFrame(measures.composed_fidelity(run), infer_schema_length=None),
        caption,
        claims=["A04"],
    )


def tell_costs(run: Run) -> None:
    """Rank and payload against the cap; the chance of being read against the size; BM25 against the length."""
    at, charts = incident(run), rank_charts
    if rows := run.data.get("A12"):
        caption = "ADR 0005's order with larger caps: what is read, and whether the meeting is."
        run.chart("cap", charts.cap_against_payload(rows), caption, COSTS, ["A12"])
    if position := run.data.get("A18"):
        caption = (
            "Every term common: the points that hold all of them, in the order that the cap cuts."
        )
        run.chart(
            "all-common",
            charts.position_against_cap(**position, label="the meeting"),
            caption,
            claims=["A18"],
        )
    if rows := run.data.get("A23"):
        caption = "Random smaller collections with the meeting in them: the chance that a cap of 256 reads it."
        run.chart("size", charts.chance_by_size(rows, measures.len_of(at)), caption, claims=["A23"])
    if rows := run.data.get("A20"):
        caption = (
            "BM25 in place of the third list: the meeting's lexical rank as its chunk grows. A "
            "cross is a length at "
            "which the fused first page lacks it: a row of one list only is passed by rows of "
            "both lists."
        )
        run.chart("length", charts.rank_by_length(rows), caption, claims=["A20"])


def tell_judged(run: Run, variants: list[str]) -> None:
    """Titles before and after, and every alternative's difference from ADR 0172 on titles and on questions."""
    titles, section = title_trials(run)[0], "Titles and questions"
    before, after = variants[:2]
    for name, trial in titles.items():
        rows = [
            {"before": rank(trial, before, q), "after": rank(trial, after, q)}
            for q in trial.judged.ids
        ]
        caption = f"Every title as a query in {name} ({len(rows)} titles): its document's rank before and after."
        run.chart(
            f"titles-{name}",
            rank_charts.ranks_side_by_side(rows, before, after),
            caption,
            section,
            ["A16"],
        )
    questions, absent = question_trials(run)
    for metric, trials, claims in (
        (QUESTIONS_METRIC, questions, ["A13", "A14", "A16", "A22"]),
        (TITLES_METRIC, titles, ["A13", "A14", "A20"]),
    ):
        others = [
            (t, v) for t in trials.values() for v in t.ran.runs if v not in ("adr_0005", "adr_0172")
        ]
        if rows := [r for t, v in others if (r := difference(t, v, metric))["low"] is not None]:
            kind = "ordinary questions" if trials is questions else "titles"
            caption = f"Each alternative minus ADR 0172, {metric}, {kind}."
            run.chart(
                f"differences-{metric.split('@')[0].lower()}",
                rank_charts.differences(rows, metric),
                caption,
                claims=claims,
            )
    for trial in (*titles.values(), *questions.values()):
        caption = (
            f"{trial.name}: {len(trial.judged.ids)} queries, every variant and each list alone."
        )
        run.table(f"metrics-{trial.name}", metrics_table(trial), caption)
    for reason in absent:
        run.story(f"Not measured: {reason}.")


def metrics_table(trial: Trial) -> Any:
    """A row for each variant: its metrics and what a search costs."""
    import polars as pl

    metrics = trial.comparison.per_variant.pivot(on="metric", index="variant", values="value")
    costs = pl.DataFrame(list(trial.ran.costs)).select(
        "variant", "p50_ms", "p95_ms", "calls", "payload_bytes"
    )
    whole = pl.col("payload_bytes").round(0).cast(pl.Int64)
    costs = costs.with_columns(pl.exclude("variant", "payload_bytes").round(1), whole)
    return metrics.with_columns(pl.exclude("variant").round(4)).join(
        costs, on="variant", maintain_order="left"
    )


def rank(trial: Trial, variant: str, query: str) -> int | None:
    relevant = {d for d, g in trial.judged.grades[query].items() if g > 0}
    return next((r for r, d in enumerate(trial.ran.runs[variant][query], 1) if d in relevant), None)


def difference(trial: Trial, variant: str, metric: str) -> dict[str, Any]:
    row = trial.comparison.pair("adr_0172", variant, metric)
    said = trial.comparison.sentence("adr_0172", variant, metric)
    return {"set": trial.name, "variant": variant, "sentence": said} | {
        k: row[k] for k in ("difference", "low", "high")
    }


def tell_own(run: Run, queries: list[str], limit: int, variants: list[str]) -> None:
    """Your queries over your collection: each variant's first page, side by side."""
    import polars as pl

    name = run.params["collection"]
    if not (name and queries):
        return
    collection = run.open(name)
    for number, text in enumerate(queries, 1):
        memo: dict[Any, Any] = {}
        pages = {v: collection.search(text, v, limit=limit, memo=memo).hits for v in variants}
        rows = [
            {
                "rank": n,
                **{v: label(hits[n - 1]) if n <= len(hits) else "" for v, hits in pages.items()},
            }
            for n in range(1, limit + 1)
        ]
        caption = f"“{text}” in {name}: the first {limit} of each variant."
        run.table(f"own-{number}", pl.DataFrame(rows), caption, "Your own queries")


def label(hit: Any) -> str:
    ranks = ", ".join(f"{n} {r}" for n, r in hit.ranks.items())
    return f"{hit.chunk.title or hit.chunk.entity_id} ({ranks})"
