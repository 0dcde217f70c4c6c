"""The story of ADR 0003's report: which charts and tables tell it, from what the measures kept."""

from __future__ import annotations

from typing import Any

from records.adr_0003 import charts, subjects
from workbench.analysis.ledger.run import Run
from workbench.matching.cascade import ask
from workbench.matching.library import MatchingSettings

HARD = (
    "Questions that come near a recorded one and ask for something else: the record's settings, and with two gates more. Served right: the changed "
    "question is itself recorded, and got its own answer."
)
LIKENESSES = (
    "dice_multiset is the record's Dice, over words with their repeats; dice_set counts a word once; dice_bigrams is Dice of pairs of words; "
    "containment, the share of the shorter text's words that the other holds; none: even the highest score was wrong."
)
REAL_WORDS = "Where real cassettes lie beside the repository, each file was asked of a library of the others."


def tell_findings(run: Run) -> None:
    """What a reader with one minute takes away, each sentence filled from the rows that back it."""
    if "C15" in run.data:
        found = run.row("C15").measured
        unseen = found["reversed"] + found["reordered"] + found["operator"]
        run.finding(
            f"At its own strictest threshold the record serves {unseen} turned questions wrong: {found['reversed']} reversed, "
            f"{found['reordered']} with the same words in another order, {found['operator']} with another operator. Dice sees "
            f"neither word order nor marks. With two gates that ask for both {found['right_hits_with_gates']} calls are served right, without "
            f"them {found['right_hits']}.",
            ["C03", "C15"],
        )
        run.finding(
            f"What scrubbing hides no gate can see: {found['identifier']} questions about another identifier were served by the "
            "normalised tier, which the record calls safe. A project that asks about ids drops that rule.",
            ["C15"],
        )
    if data := run.data.get("C14"):
        cuts = [
            c
            for c in data["cuts"]
            if c["likeness"] == "dice_multiset" and c["gates"] == "order and marks"
        ]
        told = "; ".join(
            f"{c['recordings']}: {c['served right']} calls from {c['clean threshold']:.3f} on, wrong at most {c['wrong at most']:.1%}"
            if c["clean threshold"] is not None
            else f"{c['recordings']}: none"
            for c in cuts
        )
        run.finding(
            f"The lowest threshold of Dice, with both gates, that served nothing wrong: {told}.",
            ["C14"],
        )
    if rows := run.data.get("C17"):
        run.finding(
            f"A reviewer lifts the hits from {rows[0]['hit rate']:.1%} to {rows[-1]['hit rate']:.1%} with "
            f"{rows[-1]['decisions']:,} decisions, {rows[-1]['approvals']:,} of them approvals.",
            ["C17"],
        )


def tell_scores(run: Run) -> None:
    """Why BM25 carries no threshold, and what one word does to Dice."""
    if rows := run.data.get("C02"):
        run.chart(
            "bm25-by-size",
            charts.score_by_size(rows),
            f"The same two prompts in growing libraries: raw BM25 grows with every entry, Dice stays {rows[0]['Dice']:.3f} (dashed).",
            "Scores",
            claims=["C02"],
        )
    if rows := run.data.get("C04"):
        run.chart(
            "one-word",
            charts.word_tolerance(rows),
            "Dice of a prompt and itself with one word added or one word changed, by its length.",
            claims=["C04"],
        )


def tell_hard_negatives(run: Run) -> None:
    """What became of the changed questions, and what the likenesses make of them."""
    if data := run.data.get("C15"):
        run.chart(
            "hard-negatives",
            charts.outcomes_by_kind(data["rows"]),
            HARD,
            "Changed questions",
            claims=["C03", "C15"],
        )
        run.table(
            "hard-examples",
            _frame(data["examples"]),
            "Some of them, with the best score that each likeness gives and the gates that they break.",
            claims=["C15"],
        )


def tell_thresholds(run: Run) -> None:
    """Both thresholds swept; which likeness with which gates serves nothing wrong, on our recordings and on real ones."""
    if not (data := run.data.get("C14")):
        return
    run.chart(
        "defaults",
        charts.outcomes_by_recordings(data["defaults"]),
        f"The record's defaults on every set of recordings. {REAL_WORDS}",
        "Is the threshold right?",
        claims=["C14"],
    )
    names = list(dict.fromkeys(r["recordings"] for r in data["serve"]))
    for name in names:
        rows = [r for r in data["serve"] if r["recordings"] == name]
        run.chart(
            f"serve-{_slug(name)}",
            charts.served_by_threshold(rows),
            f"Serve threshold over Dice, {name}: {rows[0]['calls']:,} calls. The band is the 95 % interval of what is served wrong.",
            claims=["C14"],
        )
    run.chart(
        "serve-cosine",
        charts.served_by_threshold(data["embedding"]),
        "Serve threshold over cosine, generated.",
        claims=["C14"],
    )
    most = max((charts.clean_share(r) for r in data["cuts"]), default=0)
    for name in names:
        rows = [r for r in data["cuts"] if r["recordings"] == name]
        run.chart(
            f"clean-{_slug(name)}",
            charts.clean_cuts(rows, most),
            f"How many calls could be served without a single wrong one, and from which score on: {name}, {rows[0]['calls']:,} calls that exact and normalised leave. "
            + (LIKENESSES if name == names[0] else ""),
            claims=["C14", "C15"],
        )
    run.chart(
        "review",
        charts.review_by_threshold(data["review"]),
        "Review threshold, generated: the reviewer's load, and how much of it helps.",
        claims=["C14", "C17"],
    )
    run.table(
        "elsewhere",
        _frame(data["elsewhere"]),
        "The lowest threshold of Dice that served nothing wrong in one set of recordings, tried on the others.",
        claims=["C14"],
    )
    if data["parameters"]:
        run.table(
            "parameters",
            _frame(data["parameters"]),
            "What include_params decides on real calls. The last two columns are the model's own change of mind: the same request, recorded twice.",
            claims=["C05", "C14"],
        )
    run.table(
        "tiers", _frame(data["tiers"]), "Who served, at the record's defaults.", claims=["C14"]
    )


SHOWN_CALLS = 200
"""New calls that fill the queue which the notebook shows."""


def review_queue(run: Run) -> Any:
    """The review widget over a library of the generated recordings, in memory, with what a few new calls left waiting."""
    from workbench.reporting.widgets.review import Review

    made = subjects.generated(run)
    library = subjects.filled({c.instance: c.request for c in made.recorded}, MatchingSettings())
    for call in made.asked[:SHOWN_CALLS]:
        ask(library, call.request)
    return Review(library, by="reader")


def tell_costs(run: Run) -> None:
    """What approvals buy, and what the model and the search cost."""
    if rows := run.data.get("C17"):
        run.chart(
            "approvals",
            charts.hits_by_decisions(rows),
            "Hits of calls whose right answer is recorded, as the reviewer works through the queue.",
            "What it costs",
            claims=["C17"],
        )
    row = run.row("C10") if "C10" in run.data else None
    if row is not None and row.measured:
        run.chart(
            "search",
            charts.search_by_entries(row.measured["search_over_model_by_entries"]),
            "The cosine search over the model's own time for a text of 128 tokens.",
            "What it costs",
            claims=["C10"],
        )
    if rows := run.data.get("C16"):
        run.table(
            "weight",
            _frame(rows[:12]),
            "The heaviest of the packages that embeddings need.",
            claims=["C16"],
        )


def _frame(rows: list[dict[str, Any]]) -> Any:
    import polars as pl

    return pl.DataFrame(rows, infer_schema_length=None)


def _slug(name: str) -> str:
    return name.replace(", ", "-").replace(" ", "-")
