"""The story of ADR 0172's report: which charts and tables tell it, from what the measures kept."""

from __future__ import annotations

from typing import Any

from records.adr_0172 import incident as incident_measures
from records.adr_0172 import judged, spread
from records.subjects import incident
from workbench.analysis.run import Run
from workbench.registry import lookup
from workbench.reporting import rank_charts

SHOWN = ("adr_0005", "cap_n", "all_terms_by_id", "all_terms_commonest", "rarest_without_all_terms", "two_lists",
         "third_list_all_terms", "verbatim_outright", "adr_0172", "bm25_order", "bm25_ranking", "bm25_engine", "bm25_fields")  # fmt: skip


LENGTH = (
    "BM25 in place of the third list: the meeting's lexical rank as its chunk grows. A cross is a length at which the fused first page lacks "
    "the meeting: even where it is first in the lexical list, it stands in that list alone, and rows of both lists pass it."
)


def tell_incident(run: Run) -> None:
    """Where the meeting stands by variant, which rows stand above it and by which lists, what the cap costs."""
    import polars as pl

    at = incident(run)
    for query in (incident_measures.TITLE, incident_measures.SECOND):
        ranks = {v: at.search(query, v).rank_of(at.target) for v in SHOWN}
        text = at.queries[query].text
        run.chart(f"rank-{query}", rank_charts.rank_by_variant(ranks), f"Where the meeting stands for “{text}”, by variant.",
                  "The incident", claims=["A05", "A07", "A08"] if query == "title" else ["A09"])  # fmt: skip
    run.table("variants", pl.DataFrame([{"variant": v, "what it is": lookup("variant", v).law} for v in SHOWN]), "The variants of these charts.")
    if rows := run.data.get("A07"):
        run.chart("lists-three", rank_charts.per_list_ranks(rows), "The first 50 rows with three lists: the rank of each row in each list.", claims=["A07"])
    if rows := run.data.get("A05"):
        target = [r for r in incident_measures.per_list_ranks(at, at.search("title", "two_lists"), 50)]
        run.chart("lists-two", rank_charts.per_list_ranks(target, ("lexical", "semantic")),
                  f"The first 50 rows with two lists: {len(rows)} stand above the meeting, which is in one list only.", claims=["A05"])  # fmt: skip


def tell_spread(run: Run) -> None:
    """The ranks over seeds, and how true the composed vectors are."""
    import polars as pl

    rows, at = spread.ranks_over_seeds(run), incident(run)
    here = {(q, v): at.search(q, v).rank_of(at.target) for q in at.queries for v in dict.fromkeys(r["variant"] for r in rows)}
    size = at.collection.stores.catalog.n
    run.chart("seeds", rank_charts.ranks_over_seeds(rows, {q: t.text for q, t in at.queries.items()}, here),
              f"The meeting's rank. Ticks: {spread.SEED_SIZE:,} memories, one tick a seed; they tell how far chance moves it. Diamonds: this run's "
              f"{size:,} memories. Size shifts the rank too, so a diamond may stand beside its ticks. A row that no list holds is not drawn.",
              "How far it depends on chance", claims=["A05", "A09"])  # fmt: skip
    run.table("fidelity", pl.DataFrame(spread.composed_fidelity(run), infer_schema_length=None),
              "Filler vectors are composed from real embeddings of their parts; queries, the target and short rows are embedded whole.", claims=["A04"])  # fmt: skip


def tell_costs(run: Run) -> None:
    """Rank and payload against the cap; the chance of being read against the size; BM25 against the length."""
    at = incident(run)
    if rows := run.data.get("A12"):
        run.chart("cap", rank_charts.cap_against_payload(rows), "ADR 0005's order with larger caps: what is read, and whether the meeting is.",
                  "What it costs, and what would undo it", claims=["A12"])  # fmt: skip
    if place := run.data.get("A18"):
        run.chart("all-common", rank_charts.position_against_cap(**place, label="the meeting"), "Every term common: the points that hold all of them, in the order that the cap cuts.", claims=["A18"])
    if rows := run.data.get("A23"):
        run.chart("size", rank_charts.chance_by_size(rows, at.collection.stores.catalog.n), "Random smaller collections with the meeting in them: the chance that a cap of 256 reads it.", claims=["A23"])
    if rows := run.data.get("A20"):
        run.chart("length", rank_charts.rank_by_length(rows), LENGTH, claims=["A20"])


def tell_judged(run: Run, variants: list[str]) -> None:
    """Titles before and after, and every alternative's difference from ADR 0172 on titles and on questions."""
    titles, _ = judged.title_trials(run)
    for name, trial in titles.items():
        before, after = variants[:2]
        rows = [{"before": _rank(trial, before, q), "after": _rank(trial, after, q)} for q in trial.judged.ids]
        run.chart(f"titles-{name}", rank_charts.ranks_side_by_side(rows, before, after),
                  f"Every title as a query in {name} ({len(rows)} titles): its document's rank before and after.", "Titles and questions", claims=["A16"])  # fmt: skip
    questions, absent = judged.question_trials(run)
    for metric, trials, claims in (
        (judged.QUESTIONS_METRIC, questions, ["A13", "A14", "A16", "A22"]),
        (judged.TITLES_METRIC, titles, ["A13", "A14", "A20"]),
    ):
        rows = [_difference(trial, v, metric) for trial in trials.values() for v in trial.ran.runs if v not in ("adr_0005", "adr_0172")]
        rows = [r for r in rows if r["low"] is not None]
        if rows:
            run.chart(f"differences-{metric.split('@')[0].lower()}", rank_charts.differences(rows, metric),
                      f"Each alternative minus ADR 0172, {metric}, {'ordinary questions' if trials is questions else 'titles'}.", claims=claims)  # fmt: skip
    for trial in (*titles.values(), *questions.values()):
        run.table(f"metrics-{trial.name}", metrics_table(trial), f"{trial.name}: {len(trial.judged.ids)} queries, every variant and each list alone.")
    for reason in absent:
        run.story(f"Not measured: {reason}.")


def metrics_table(trial: Any) -> Any:
    """A row a variant: its metrics and what a search costs."""
    import polars as pl

    metrics = trial.comparison.per_variant.pivot(on="metric", index="variant", values="value")
    costs = pl.DataFrame(list(trial.ran.costs)).select("variant", "p50_ms", "p95_ms", "calls", "payload_bytes")
    costs = costs.with_columns(pl.exclude("variant", "payload_bytes").round(1), pl.col("payload_bytes").round(0).cast(pl.Int64))
    return metrics.with_columns(pl.exclude("variant").round(4)).join(costs, on="variant", maintain_order="left")


def _rank(trial: Any, variant: str, query: str) -> int | None:
    relevant = {d for d, g in trial.judged.grades[query].items() if g > 0}
    return next((r for r, d in enumerate(trial.ran.runs[variant][query], 1) if d in relevant), None)


def _difference(trial: Any, variant: str, metric: str) -> dict[str, Any]:
    row = trial.comparison.pair("adr_0172", variant, metric)
    return {"set": trial.name, "variant": variant, "difference": row["difference"], "low": row["low"], "high": row["high"],
            "sentence": trial.comparison.sentence("adr_0172", variant, metric)}  # fmt: skip


def tell_own(run: Run, queries: list[str], limit: int, variants: list[str]) -> None:
    """One's own queries over one's own collection: each variant's first page, side by side."""
    import polars as pl

    name = run.params["collection"]
    if not (name and queries):
        return
    collection = run.open(name)
    for number, text in enumerate(queries, 1):
        memo: dict[Any, Any] = {}
        pages = {v: collection.search(text, v, limit=limit, memo=memo).hits for v in variants}
        rows = [
            {"rank": place, **{v: _label(hits[place - 1]) if place <= len(hits) else "" for v, hits in pages.items()}}
            for place in range(1, limit + 1)
        ]
        run.table(f"own-{number}", pl.DataFrame(rows), f"“{text}” in {name}: the first {limit} of each variant.", "One's own queries")


def _label(hit: Any) -> str:
    return f"{hit.chunk.title or hit.chunk.entity_id} ({', '.join(f'{n} {r}' for n, r in hit.ranks.items())})"
