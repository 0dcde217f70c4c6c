"""Are ADR 0003's thresholds right: raw BM25, hard negatives, and the sweep over recorded calls (C02, C14, C15)."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import Any

from records.adr_0003.hard_cases import HARD, recorded_calls
from records.adr_0003.held_out import Replay
from records.adr_0003.probe import LIKENESS_NAMES
from records.adr_0003.subjects import (
    by_parameters,
    generated_replay,
    real_replays,
    where_generated,
)
from records.adr_0003.sweep import (
    ADR_0003_RULES,
    ADR_0003_WITH_EMBEDDINGS,
    GATE_SETS,
    OUTCOMES,
    Cut,
    Rule,
    upper_bound,
)
from records.subjects import full_size
from workbench.analysis.ledger.run import Run
from workbench.analysis.ledger.verdict import Measured, returns
from workbench.matching.index import Fts5Index
from workbench.matching.library import ADR_0003, Library, MatchingSettings
from workbench.matching.request import Message, Part
from workbench.matching.similarity import dice_multiset

SIZES = (2, 10, 100, 1000, 10_000)
SERVE_STEPS = tuple(round(0.6 + i / 50, 2) for i in range(21))
REVIEW_STEPS = tuple(round(0.3 + i / 20, 2) for i in range(15))
GATED = (Rule(gates=MatchingSettings().gates),)
NEAR_ZERO = 0.01


@returns("bm25_at_2", "bm25_at_largest", "dice_changes", "grows_with_every_size")
def bm25_by_size(run: Run) -> Measured:
    """C02: one pair's raw BM25 (the index's own score) and its Dice, in libraries of 2 to 10,000 entries."""
    sizes = SIZES if full_size(run) else SIZES[:-1]
    calls = recorded_calls(max(sizes), seed=run.seed)
    target = calls[1]
    asked = replace(
        target.request,
        messages=(Message("user", (Part("text", target.request.last_text() + " Thank you"),)),),
    )
    rows = []
    with Library(settings=ADR_0003) as library:
        made = 0
        for entries in sizes:
            library.record_many((c.request, c.answer, "", 0) for c in calls[made:entries])
            made = entries
            ask = library.normal.prepare(asked)
            scores = dict(
                Fts5Index(common_share=1.0).ranked(library.db, ask.words, ask.speakers, 10)
            )
            rows.append(
                {
                    "entries": entries,
                    "BM25": scores[2],
                    "Dice": dice_multiset(ask.words, library.compared([2])[2][0].words),
                }
            )
    return Measured(
        {
            "bm25_at_2": round(rows[0]["BM25"], 6),
            "bm25_at_largest": round(rows[-1]["BM25"], 3),
            "grows_with_every_size": all(
                a["BM25"] < b["BM25"] for a, b in zip(rows, rows[1:], strict=False)
            ),
            "dice_changes": len({r["Dice"] for r in rows}) > 1,
        },
        f"one pair of prompts in libraries of {', '.join(f'{s:,}' for s in sizes)} entries",
        f"Near zero is read as under {NEAR_ZERO}: FTS5 gives a word that stands in half of the entries or more no weight.",
        data=rows,
    )


@returns(
    "identifier",
    "name",
    "negated",
    "number",
    "operator",
    "params",
    "reordered",
    "reversed",
    "right_hits",
    "right_hits_with_gates",
    "system",
    "tools",
    "with_gates_served_wrong",
)
def hard_negatives(run: Run) -> Measured:
    """C15: how many of each kind of changed question the record's settings serve wrong, and this workbench's default."""
    at = generated_replay(run)
    found, gated, shares = {}, {}, []
    for kind in HARD:
        told, guarded = at.tally(ADR_0003_RULES, kind), at.tally(GATED, kind)
        found[kind], gated[kind] = told.counts["served wrong"], guarded.counts["served wrong"]
        shares += [_row(kind, "as recorded", told), _row(kind, "with gates", guarded)]
    before, after = at.tally(ADR_0003_RULES), at.tally(GATED)
    return Measured(
        {
            **found,
            "with_gates_served_wrong": {k: n for k, n in gated.items() if n},
            "right_hits": before.counts["served right"],
            "right_hits_with_gates": after.counts["served right"],
        },
        where_generated(run),
        "At serve 1 the record's settings serve what differs in word order or marks alone; the gates same_order and same_marks "
        "stop that. An identifier that the question is about is scrubbed like a minted one: normalised serves it, no gate "
        "sees it, and only the project can say so (its rules can be dropped). Calls by kind: "
        + ", ".join(f"{kind} {at.tally(ADR_0003_RULES, kind).n}" for kind in HARD),
        data={"rows": shares, "examples": _examples(at)},
    )


def _row(kind: str, how: str, told: Any) -> dict[str, Any]:
    return {"kind": kind, "settings": how, "calls": told.n, **{o: told.counts[o] for o in OUTCOMES}}


EXAMPLE = 120
"""Characters of an example that the report shows."""


def cut_at_a_word(text: str) -> str:
    """The text's first words as they fit into EXAMPLE characters, and a mark where something is left out."""
    if len(text) <= EXAMPLE:
        return text
    kept = text[: EXAMPLE - 2]
    whole = kept if text[EXAMPLE - 2].isspace() else kept.rpartition(" ")[0] or kept
    return f"{whole.rstrip()} …"


def _examples(at: Replay, each: int = 2) -> list[dict[str, Any]]:
    """Changed questions with the score of the entry that they are near, by each likeness."""
    shown = []
    for kind in HARD:
        new = (
            i
            for i, k in enumerate(at.kinds)
            if k == kind and not at.answerable(i) and at.probes[i].lexical
        )
        for call in islice(new, each):
            best = Rule().near(at.probes[call])[0]
            cosine = {n.entry: n.scores["cosine"] for n in at.probes[call].semantic}.get(best.entry)
            shown.append(
                {
                    "kind": kind,
                    "asked": cut_at_a_word(at.texts[call]),
                    "recorded": cut_at_a_word(at.entry_texts[best.entry]),
                    "Dice": round(best.scores["dice_multiset"], 3),
                    "Dice of pairs": round(best.scores["dice_bigrams"], 3),
                    "cosine": None if cosine is None else round(cosine, 3),
                    "broken": ", ".join(sorted(best.broken)),
                }
            )
    return shown


@returns(
    "at_the_defaults",
    "clean_threshold",
    "clean_threshold_with_gates",
    "served_wrong_at_the_defaults",
)
def tuning(run: Run) -> Measured:
    """C14: both thresholds, the tiers, the likenesses and the gates swept over generated and real recorded calls."""
    real, absent = real_replays(run)
    replays = {
        "generated": generated_replay(run),
        "generated, another seed": generated_replay(run, 1),
        **real,
    }
    defaults = {name: _defaults(at) for name, at in replays.items()}
    drawn = {n: a for n, a in replays.items() if "by time" not in n and "another" not in n}
    cuts = [
        _cut_row(name, at.cut(likeness, gates), label)
        for name, at in drawn.items()
        for likeness in LIKENESS_NAMES
        for label, gates in GATE_SETS.items()
    ]
    own = generated_replay(run)
    return Measured(
        {
            "served_wrong_at_the_defaults": sum(
                calls
                for (tier, outcome), calls in defaults["generated"]["by_tier"].items()
                if outcome == "served wrong" and tier in LIKENESS_NAMES
            ),
            "at_the_defaults": {name: _told(d) for name, d in defaults.items()},
            "clean_threshold": {
                name: _clean(at.cut("dice_multiset")) for name, at in replays.items()
            },
            "clean_threshold_with_gates": {
                name: _clean(at.cut("dice_multiset", GATED[0].gates))
                for name, at in replays.items()
            },
        },
        f"{where_generated(run)}; "
        + (
            "; ".join(f"{n}: {a.entries} entries, {a.calls:,} calls" for n, a in real.items())
            or "no real recordings"
        ),
        "Right: the same template instance, or the same recorded answer after scrubbing; a model's other answer to the same "
        "request is counted apart. A clean threshold of Dice served nothing wrong; its bound is one-sided, 95 %, exact; the "
        "gates are order and marks; what the thresholds serve wrong is counted without the tiers before them"
        + "".join(f"; {reason}" for reason in absent),
        data={
            "cuts": cuts,
            "parameters": by_parameters(run),
            "elsewhere": _judged_elsewhere(replays),
            "serve": [
                _swept(n, a, Rule(serve=t, gates=g), t, name)
                for n, a in drawn.items()
                for name, g in _LINES
                for t in SERVE_STEPS
            ],
            "review": [
                _swept("generated", own, Rule(review=t), t, "no gate") for t in REVIEW_STEPS
            ],
            "embedding": [
                _swept("generated", own, Rule("cosine", t, 0.75, g), t, f"cosine, {name}")
                for name, g in _LINES
                for t in SERVE_STEPS
            ],
            "defaults": [
                {"recordings": n, **{k: v for k, v in d.items() if not isinstance(v, list | dict)}}
                for n, d in defaults.items()
            ],
            "tiers": [
                {"recordings": n, "tier": tier, "outcome": outcome, "calls": k}
                for n, d in defaults.items()
                for (tier, outcome), k in d["by_tier"].items()
            ],
        },
    )


_LINES = (
    ("no gate", ()),
    ("order and marks", GATE_SETS["order and marks"]),
    ("all gates", GATE_SETS["all gates"]),
)


def _defaults(at: Replay) -> dict[str, Any]:
    """Outcomes at the record's defaults, with and without its embedding tier in review."""
    told, embedded = at.tally(ADR_0003_RULES), at.tally(ADR_0003_WITH_EMBEDDINGS)
    wrong = told.of("served wrong")
    return {
        "calls": told.n,
        **told.counts,
        "wrong_interval": [round(wrong.low, 5), round(wrong.high, 5)],
        "candidates": told.load,
        "useful reviews": told.useful,
        "misses that had a right entry": told.lost,
        "reviews with embeddings": embedded.counts["review"],
        "useful with embeddings": embedded.useful,
        "by_tier": dict(sorted(told.tiers.items())),
    }


def _told(found: dict[str, Any]) -> str:
    low, high = found["wrong_interval"]
    return (
        f"of {found['calls']:,}: {found['served right']} right, {found['served wrong']} wrong ({low:.1%} to {high:.1%}), "
        f"{found['same request, other answer']} the same request with another answer, {found['review']} to review, {found['missed']} missed"
    )


def _clean(found: Cut) -> str:
    if found.clean is None:
        return f"none of {found.calls:,} calls that reach it"
    return f"{found.clean:.3f}: {found.clean_served} of {found.calls:,} calls that reach it, wrong at most {found.clean_bound:.1%}"


def _judged_elsewhere(replays: dict[str, Replay]) -> list[dict[str, Any]]:
    """The clean threshold of one set of recordings, tried on the others: served right and wrong there."""
    found = []
    for name, at in replays.items():
        for label, gates in (("no gate", ()), ("order and marks", GATED[0].gates)):
            chosen = at.cut("dice_multiset", gates).clean
            if chosen is None:
                continue
            for other, there in replays.items():
                if other != name:
                    right, wrong = there.cut("dice_multiset", gates).at(chosen)
                    found.append(
                        {
                            "chosen on": name,
                            "gates": label,
                            "threshold": round(chosen, 4),
                            "tried on": other,
                            "served right": right,
                            "served wrong": wrong,
                        }
                    )
    return found


def _cut_row(name: str, found: Cut, gates: str) -> dict[str, Any]:
    wrong_at_1 = found.at(1.0) if found.likeness != "bm25" else (0, 0)
    return {
        "recordings": name,
        "likeness": found.likeness,
        "gates": gates,
        "clean threshold": found.clean,
        "served right": found.clean_served,
        "wrong at most": found.clean_bound,
        "calls": found.calls,
        "right at 1": wrong_at_1[0],
        "wrong at 1": wrong_at_1[1],
    }


def _swept(name: str, at: Replay, rule: Rule, threshold: float, label: str) -> dict[str, Any]:
    told = at.tally((rule,))
    wrong = told.of("served wrong")
    served = told.counts["served right"] + told.counts["served wrong"]
    return {
        "recordings": name,
        "threshold": threshold,
        "gates": label,
        "calls": told.n,
        **told.counts,
        "wrong share": wrong.share,
        "wrong low": wrong.low,
        "wrong high": wrong.high,
        "served": served,
        "wrong of served at most": upper_bound(told.counts["served wrong"], served),
        "candidates": told.load,
        "useful reviews": told.useful,
        "lost": told.lost,
    }
