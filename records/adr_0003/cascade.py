"""ADR 0003's cascade by cases: its order, its arithmetic, its conditions, its two indexes (C01, C03 to C06, C08)."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from records.adr_0003.hard_cases import generate, recorded_calls
from records.adr_0003.install import fresh_process
from records.adr_0003.subjects import encoder, filled, generated, where_generated
from workbench.analysis.ledger.run import Run
from workbench.analysis.ledger.verdict import Measured, returns
from workbench.matching.call_log import read_log
from workbench.matching.cascade import ask, cascade_of, replay
from workbench.matching.library import ADR_0003, Library, MatchingSettings
from workbench.matching.queue import approve, candidates
from workbench.matching.request import Answer, Message, Part, RecordedRequest, Tool, plain
from workbench.matching.similarity import dice_multiset

CASES = "cases of this record, in a library of its own"
SERVE_FOR_A_DAY = 0.97
"""The serve threshold before it was raised to 1 (SEM-E6)."""
SCAN_LIMIT = ADR_0003.scan_limit


@returns(
    "answered_by",
    "every_tier_before_was_asked_and_says_why",
    "miss_logged",
    "order",
    "tier_and_score_logged",
)
def order_and_log(run: Run) -> Measured:
    """C01: one call that each tier is the first to answer, in the record's order; tier and score of each in the log."""
    recorded = plain("Tell Ada at 2026-11-11T09:58:01Z that the ferry to Oslo is late")
    asked = {
        "exact": recorded,
        "normalised": plain("Tell Ada at 2027-01-01T00:00:00Z that  the ferry to Oslo is late"),
        "alias": plain("Tell Ada that the ferry to Oslo will be late"),
        "lexical": plain("Tell Ada at 2027-01-01T00:00:00Z, that the ferry to Oslo is late!"),
        "embedding": plain("Let Ada know the Oslo ferry is delayed"),
    }
    settings = replace(ADR_0003, embeddings=True, embedding_serve=0.5)
    with filled({"late": recorded}, settings, encoder=encoder(run)) as library:
        approve(library, _queued(library, asked["alias"]))
        library.change(embedding_serve=0.5)
        library.wait_for_vectors()
        outcomes = {name: ask(library, request) for name, request in asked.items()}
        order = [str(stage).partition("(")[0] for stage in cascade_of(settings)]
        ask(library, plain("Sing about the sea", answer_to=[("user", "Hello")]))
        library.log.flush()
        missed = [row for row in read_log(library.db) if row.outcome == "miss"]
        logged = {(row.tier, row.score) for row in read_log(library.db) if row.outcome == "served"}
    told = all((o.tier, o.score) in logged for o in outcomes.values())
    before = all(
        [s.tier for s in o.steps] == order[: order.index(o.tier) + 1] for o in outcomes.values()
    )
    return Measured(
        {
            "order": order,
            "answered_by": [o.tier for o in outcomes.values()],
            "tier_and_score_logged": told,
            "miss_logged": bool(missed),
            "every_tier_before_was_asked_and_says_why": before
            and all(s.why for o in outcomes.values() for s in o.steps),
        },
        CASES,
        "Embedding was let serve at 0.5 here, so that it too answers a call; its default is off.",
        data=[
            {"asked": r.last_text(), "tier": o.tier, "score": o.score}
            for r, o in zip(asked.values(), outcomes.values(), strict=True)
        ],
    )


def _queued(library: Library, request: RecordedRequest) -> int:
    """The candidate that a missed request leaves; embedding doesn't serve meanwhile."""
    library.change(embedding_serve=None)
    return ask(library, request).candidates[0]


TURNED = (
    ("dog bites man", "man bites dog"),
    ("Is A taller than B?", "Is B taller than A?"),
    ("What is 10 + 10?", "What is 10 - 10?"),
)


@returns(
    "counts_repeats",
    "highest",
    "lowest",
    "of_two_empty_lists",
    "review",
    "serve",
    "symmetric",
    "turned",
)
def dice_and_thresholds(run: Run) -> Measured:
    """C03: the range of the score and the thresholds; and what it cannot see: the order of words, and marks."""
    rng = random.Random(run.seed)
    words = [f"w{i}" for i in range(12)]
    pairs = [
        (rng.choices(words, k=rng.randint(1, 9)), rng.choices(words, k=rng.randint(1, 9)))
        for _ in range(5000)
    ]
    scores = [dice_multiset(a, b) for a, b in pairs]
    symmetric = scores == [dice_multiset(b, a) for a, b in pairs]
    found = {}
    for one, other in TURNED:
        with (
            filled({"first": plain(one)}) as library,
            filled({"first": plain(one)}, MatchingSettings()) as gated,
        ):
            outcome = ask(library, plain(other))
            fates = [
                "served" if found.served else "to review"
                for found in (outcome, ask(gated, plain(other)))
            ]
            found[other] = f"{outcome.score}: {fates[0]}; with gates {fates[1]}"
    made = MatchingSettings()
    return Measured(
        {
            "lowest": min(scores),
            "highest": max(scores),
            "serve": made.serve,
            "review": made.review,
            "symmetric": symmetric,
            "of_two_empty_lists": dice_multiset([], []),
            "counts_repeats": dice_multiset(["very", "very", "good"], ["very", "good"]) < 1,
            "turned": found,
        },
        f"{len(scores):,} random pairs of word lists, and {len(TURNED)} turned questions",
        "A finding: word order and marks are not seen. “man bites dog” scores 1.0 against “dog bites man” and is served at "
        "the strictest threshold there is; so are a turned comparison and another operator. With the gates same_order and "
        "same_marks, this workbench's default, all three go to review. Read as a multiset: repeats count",
    )


@returns(
    "added_from",
    "changed_from",
    "one_word_added_to_35",
    "tolerated_at_0.97",
    "tolerated_at_1",
)
def one_word_of_35(run: Run) -> Measured:
    """C04: Dice of a prompt and itself with one word more, or one word changed; from which length on 0.97 lets it pass."""

    def added(n: int) -> float:
        return dice_multiset([str(i) for i in range(n)], [str(i) for i in range(n + 1)])

    def changed(n: int) -> float:
        return dice_multiset([str(i) for i in range(n)], [str(i) for i in range(1, n + 1)])

    lengths = range(1, 101)
    return Measured(
        {
            "one_word_added_to_35": round(added(35), 4),
            "tolerated_at_0.97": added(35) >= SERVE_FOR_A_DAY,
            "added_from": next(n for n in lengths if added(n) >= SERVE_FOR_A_DAY),
            "changed_from": next(n for n in lengths if changed(n) >= SERVE_FOR_A_DAY),
            "tolerated_at_1": any(added(n) >= 1 or changed(n) >= 1 for n in lengths),
        },
        "arithmetic: 2n/(2n+1) and 1 - 1/n, by the matcher's own function",
        "True and not tight: one word more is tolerated from 17 words on. 35 words is where one changed word is (from 34 on).",
        data=[
            {"words": n, "one word": kind, "Dice": f(n)}
            for kind, f in (("added", added), ("changed", changed))
            for n in lengths
        ],
    )


RECORDED = "What is the weather in Oslo today"
ASKED = "what is the weather in Oslo, today"
TOOL = Tool("weather", "Look at the sky.", "{}")


@returns(
    "a parameter that is not included",
    "another earlier turn, tail_n = 1",
    "attachments",
    "none",
    "params",
    "roles",
    "tools",
)
def same_shape(run: Run) -> Measured:
    """C05: the same words with one condition of shape broken at a time: served, sent to review, or no candidate."""
    base = replace(plain(RECORDED, system="Be brief.", model="m"), tools=(TOOL,))
    near = replace(base, messages=plain(ASKED).messages)
    turn = near.messages[0]
    broken = {
        "none": near,
        "tools": replace(near, tools=()),
        "params": replace(near, params={"model": "other"}),
        "roles": replace(near, messages=(Message("assistant", turn.parts),)),
        "attachments": replace(
            near, messages=(Message("user", (*turn.parts, Part("media", "sha256:a", "image/png"))),)
        ),
        "a parameter that is not included": replace(near, params={"model": "m", "temperature": 1}),
    }
    found = {}
    for name, request in broken.items():
        with filled({"recorded": base}) as library:
            outcome = ask(library, request)
            waiting = candidates(library)
            found[name] = (
                "served"
                if outcome.served
                else f"review: {', '.join(waiting[0].broken)}"
                if waiting
                else "miss"
            )
    with filled(
        {"recorded": plain("And in Oslo?", answer_to=[("user", "Weather in Riga?")])},
        replace(ADR_0003, tail_n=1),
    ) as library:
        found["another earlier turn, tail_n = 1"] = (
            "served" if ask(library, plain("and in Oslo")).served else "miss"
        )
    return Measured(
        found,
        CASES,
        "tail_n is how many last messages are compared, all by default; the system text always is. Two conditions more than "
        "the record has, since no word shows them: attachments (pictures, files, what the provider keeps), and structure.",
    )


@returns(
    "candidates_with_the_rule",
    "of_pairs",
    "pairs_over_the_review_floor_without",
    "share_without",
)
def same_speakers(run: Run) -> Measured:
    """C06: short prompts beside longer conversations that contain them, under one system text: with and without the rule."""
    made = [c for c in generated(run).recorded if len(c.request.system) > 500]
    longer = {c.instance: _continued(c.request) for c in made}
    asked = {
        c.instance: c
        for c in generate(seed=run.seed + 1, instances=1).asked
        if len(c.request.system) > 500
    }
    with_rule = without = pairs = 0
    with filled(longer) as library:
        held = [text.words for text, _ in library.compared(range(1, len(longer) + 1)).values()]
        for call in asked.values():
            words = library.normal.prepare(call.request).words
            near = sum(dice_multiset(words, other) >= ADR_0003.review for other in held)
            pairs += len(held)
            without += near
            with_rule += len(ask(library, call.request).candidates)
    return Measured(
        {
            "candidates_with_the_rule": with_rule,
            "pairs_over_the_review_floor_without": without,
            "of_pairs": pairs,
            "share_without": round(without / pairs, 3),
        },
        f"{len(asked)} short prompts against {len(longer)} longer conversations under the same system text of 300 words",
        "Without the rule nearly every conversation of the project would be proposed for every short prompt.",
    )


def _continued(request: RecordedRequest) -> RecordedRequest:
    more = (
        Message("assistant", (Part("text", "It is done."),)),
        Message("user", (Part("text", "Thank you."),)),
    )
    return replace(request, messages=(*request.messages, *more))


_WITHOUT_FTS5 = """
import sqlite3
class NoFts5(sqlite3.Connection):
    def execute(self, sql, *given):
        if "fts5" in sql.lower() or "entry_words" in sql:
            raise sqlite3.OperationalError("no such module: fts5")
        return super().execute(sql, *given)
connect = sqlite3.connect
sqlite3.connect = lambda *a, **k: connect(*a, **{**k, "factory": NoFts5})
from workbench.matching.cascade import ask
from workbench.matching.library import open_library
from workbench.matching.request import Answer, plain
with open_library("demo", create=True) as library:
    library.record(plain("How far is Riga from Oslo by ferry?"), Answer("far"))
    found = ask(library, plain("HOW FAR IS RIGA FROM OSLO BY FERRY?"))
    print(found.served, found.tier)
"""


@returns(
    "best_score_alike",
    "fts5_finds_entry_5000",
    "fts5_finds_entry_5001",
    "scan_finds_entry_5000",
    "scan_finds_entry_5001",
    "serves_without_fts5",
    "served_alike",
)
def scan_and_fts5(run: Run) -> Measured:
    """C08: the two indexes on the same calls; and what entry 5,001 loses."""
    made = generated(run)
    outcomes = {}
    for index in ("fts5", "scan"):
        with Library(settings=replace(ADR_0003, index=index, common_share=1.0)) as library:
            library.record_many((c.request, c.answer, "", 0) for c in made.recorded)
            outcomes[index] = [
                (o.served, o.entry_id, o.tier, o.score)
                for o in replay(library, [c.request for c in made.asked])
            ]
    both = list(zip(*outcomes.values(), strict=True))
    best = sum(a[3] == b[3] for a, b in both) / len(both)
    found = _around_the_limit(run)
    return Measured(
        {
            **found,
            "served_alike": round(sum(a[:2] == b[:2] for a, b in both) / len(both), 4),
            "best_score_alike": round(best, 4),
            "serves_without_fts5": fresh_process(_WITHOUT_FTS5).strip() == "True lexical",
        },
        f"{where_generated(run)}; and {SCAN_LIMIT + 1:,} entries",
        "The scan ranks by the deciding overlap itself, so its best is the best there is; FTS5's ten by BM25 can miss it.",
    )


LAST_TWO = (
    "Paint a zeppelin over the harbour at dawn",
    "Compose a lullaby for an old lighthouse keeper",
)


def _around_the_limit(run: Run) -> dict[str, Any]:
    """Whether entries 5,000 and 5,001, unlike all others, are found by a question that is near them."""
    filler = recorded_calls(SCAN_LIMIT - 1, seed=run.seed)
    with Library(settings=replace(ADR_0003, index="scan")) as library:
        library.record_many((c.request, Answer(c.instance), "", 0) for c in filler)
        at = {library.record(plain(text), Answer(text)): text for text in LAST_TWO}
        found = {}
        for index in ("scan", "fts5"):
            library.change(index=index)
            for entry, text in at.items():
                asked = plain(text + ", please")
                (outcome,) = replay(library, [asked])
                own = dice_multiset(
                    library.normal.prepare(asked).words, library.compared([entry])[entry][0].words
                )
                found[f"{index}_finds_entry_{entry}"] = outcome.score == own
    return found
