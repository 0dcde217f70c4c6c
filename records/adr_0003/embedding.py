"""ADR 0003's embedding tier: what is embedded, what it costs, what never waits for it, a failing model (C09 to C12)."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from statistics import median
from typing import Any

from records.adr_0003.hard_cases import long_texts, recorded_calls
from records.adr_0003.subjects import KEY, encoder, filled, on_disk
from records.subjects import size_of
from workbench.analysis.ledger.run import Run
from workbench.analysis.ledger.verdict import Measured, returns
from workbench.matching.cascade import ask
from workbench.matching.index import Fts5Index
from workbench.matching.library import ADR_0003, Library, MatchingSettings
from workbench.matching.queue import approve, candidates
from workbench.matching.request import Answer, RecordedRequest, plain
from workbench.matching.vectors import Matrix

ON = replace(ADR_0003, embeddings=True)
ENTRIES = 1000
MISSES = {"full": 60, "small": 20, "tiny": 10}
MATRIX_SIZES = (1_000, 10_000, 100_000)
FLOAT32 = 4


class Counting:
    """The model with a count and a clock, that can be made to fail or to be slow."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.key = inner, inner.key
        self.calls, self.seconds, self.error, self.delay = 0, [], None, 0.0

    def encode(self, texts: Any) -> Any:
        self.calls += len(texts)
        if self.error:
            raise self.error
        time.sleep(self.delay)
        start = time.perf_counter()
        rows = self.inner.encode(texts)
        self.seconds.append(time.perf_counter() - start)
        return rows


@returns(
    "bytes_per_dimension",
    "embedded",
    "paraphrase",
    "review",
    "serve_is_off",
    "switched_on_by_default",
    "tokens",
)
def what_is_embedded(run: Run) -> Measured:
    """C09: which text, how much of it, how it is stored, which thresholds, and that it goes to review and is not served."""
    model = encoder(run)
    long = " ".join(f"the ferry number {i} leaves the harbour at nine" for i in range(60))
    talk = plain(
        "How far is Riga from Oslo by ferry?",
        system="Be brief.",
        answer_to=[("user", "Hello"), ("assistant", "Hello!")],
    )
    with filled({"far": talk}, ON, encoder=model) as library:
        library.wait_for_vectors()
        blob = library.db.execute("SELECT vector FROM entry_vector").fetchone()[0]
        stored = library.normal.prepare(talk).last
        found = ask(
            library,
            plain(
                "By ferry, what is the distance between Riga and Oslo?",
                system="Be brief.",
                answer_to=[("user", "Hi"), ("assistant", "Hi!")],
            ),
        )
        waiting = [c.tier for c in candidates(library)]
    made = MatchingSettings()
    tokens = len(model._tokenizer.encode(model.cut(long)).ids)
    return Measured(
        {
            "embedded": stored,
            "tokens": tokens,
            "bytes_per_dimension": len(blob) / model.encode(["x"]).shape[1],
            "review": made.embedding_review,
            "serve_is_off": made.embedding_serve is None,
            "switched_on_by_default": made.embeddings,
            "paraphrase": "served"
            if found.served
            else "review"
            if "embedding" in waiting
            else "miss",
        },
        "a conversation of three turns, and a text of 600 words",
        f"The paraphrase's cosine is {found.steps[-1].score:.3f}.",
    )


@returns(
    "median_ms",
    "model_share",
    "p95_over_p50",
    "p95_over_p50_of_the_model_alone",
    "search_over_model_by_entries",
    "search_share_at_1000",
    "total_over_model_alone",
)
def cost_of_a_miss(run: Run) -> Measured:
    """C10: a miss at 1,000 entries and 128 tokens: the model's share of it, its spread, and the share of the search."""
    model = Counting(encoder(run))
    asked = _misses(run)
    with _thousand(run, model) as library:
        ask(library, asked[0])
        model.seconds.clear()
        total, alone, search = [], [], []
        for request in asked[1:]:
            start = time.perf_counter()
            ask(library, request)
            total.append(time.perf_counter() - start)
            text = library.normal.prepare(request).last
            vector, seconds = _timed(lambda text=text: model.inner.encode([text + "."])[0])
            alone.append(seconds)
            search.append(
                _timed(lambda vector=vector: library.matrix().nearest(vector, "user", 10))[1]
            )
    share = [m / t for m, t in zip(model.seconds, total, strict=True)]
    sizes = {str(n): round(_search_seconds(run, n) / median(alone), 4) for n in MATRIX_SIZES}
    return Measured(
        {
            "model_share": round(median(share), 3),
            "p95_over_p50": round(_percentile(total, 0.95) / median(total), 3),
            "p95_over_p50_of_the_model_alone": round(_percentile(alone, 0.95) / median(alone), 3),
            "total_over_model_alone": round(median(total) / median(alone), 3),
            "search_share_at_1000": round(median(search) / median(total), 5),
            "search_over_model_by_entries": sizes,
            "median_ms": {
                "miss": round(median(total) * 1e3, 1),
                "model": round(median(model.seconds) * 1e3, 1),
            },
        },
        f"{len(total)} misses at {ENTRIES:,} entries, last message of 128 tokens, this machine",
        timing=("median_ms",),
        timing_ratios=(
            "model_share",
            "p95_over_p50",
            "p95_over_p50_of_the_model_alone",
            "total_over_model_alone",
            "search_share_at_1000",
            "search_over_model_by_entries",
        ),
        note="The record's 40 ms, 35 of them the model, are of its own runner: compared as a share, 0.875, and as p95 / p50, 1.075. "
        "The search's share of the model's time grows with the entries and stands in the table",
    )


def _thousand(run: Run, model: Any) -> Library:
    library = Library(settings=ON, encoder=model, key=KEY)
    library.record_many(
        (c.request, Answer(c.instance), "", 0) for c in recorded_calls(ENTRIES - 1, seed=run.seed)
    )
    library.record(plain("Something else to have these speakers too."), Answer("x"))
    library.wait_for_vectors()
    return library


def _misses(run: Run) -> list[RecordedRequest]:
    return [plain(text) for text in long_texts(MISSES[size_of(run)] + 1, seed=run.seed)]


def _timed(call: Any) -> tuple[Any, float]:
    start = time.perf_counter()
    found = call()
    return found, time.perf_counter() - start


def _percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def _search_seconds(run: Run, entries: int, repeats: int = 41) -> float:
    import numpy as np

    rng = np.random.default_rng(run.seed)
    rows = rng.standard_normal((entries, 384), dtype=np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    matrix = Matrix(np.arange(entries), np.zeros(entries, np.int32), {"user": 0}, rows)
    return median(_timed(partial(matrix.nearest, rows[i], "user", 10))[1] for i in range(repeats))


@returns("beside_over_in_turn", "in_turn_ms", "word_search_ms")
def encoding_beside_the_word_search(run: Run) -> Measured:
    """C11: a miss with the text encoded while the words are searched, over one with the two in turn."""
    model = encoder(run)
    asked = _misses(run)
    with _thousand(run, model) as library, ThreadPoolExecutor(1) as pool:
        index, turn, beside = Fts5Index(), [], []
        for number, request in enumerate(asked):
            ready = library.normal.prepare(request)
            words, speakers, last = ready.words, ready.speakers, ready.last

            def search(words: Any = words, speakers: str = speakers) -> Any:
                return index.propose(library.db, words, speakers, 10)

            def both(last: str = last, search: Any = search) -> None:
                waiting = pool.submit(model.encode, [last])
                search()
                waiting.result()

            def one_by_one(last: str = last, search: Any = search) -> None:
                search()
                model.encode([last])

            pairs = [(one_by_one, turn), (both, beside)]
            for run_it, seconds in pairs if number % 2 else pairs[::-1]:
                seconds.append(_timed(run_it)[1])
            searched = _timed(search)[1]
    return Measured(
        {
            "beside_over_in_turn": round(median(beside) / median(turn), 3),
            "word_search_ms": round(searched * 1e3, 2),
            "in_turn_ms": round(median(turn) * 1e3, 1),
        },
        f"{len(asked)} misses each way at {ENTRIES:,} entries, this machine",
        timing=("word_search_ms", "in_turn_ms"),
        timing_ratios=("beside_over_in_turn",),
        note="All that could be hidden behind the model is the word search, a few per cent of it.",
    )


@returns(
    "failing_model",
    "failure_logged",
    "hits",
    "model_calls_on_hits",
    "same_last_message",
    "served_before_its_vector",
    "write_returned_before_its_vector",
)
def off_the_hit_path(run: Run) -> Measured:
    """C12: model calls on hits of every tier before embedding, a write before its vector, a failing model."""
    model = Counting(encoder(run))
    text = "Which ferry leaves Riga for Oslo on Monday?"
    approved = "Which ferry leaves Riga for Oslo on Tuesday?"
    hits = (text, text + " ", approved, "which ferry leaves Riga for Oslo, on Monday")
    with on_disk(ON, encoder=model) as library:
        model.delay = 0.2
        start = time.perf_counter()
        entry = library.record(plain(text), Answer("the first"))
        written = time.perf_counter() - start
        before_vector = library.db.execute("SELECT count(*) FROM entry_vector").fetchone()[0] == 0
        served_meanwhile = ask(library, plain(text)).entry_id == entry
        library.wait_for_vectors(60)
        model.delay = 0.0
        for candidate in ask(library, plain(approved)).candidates[:1]:
            approve(library, candidate)
        calls = model.calls
        tiers = [ask(library, plain(t)).tier for t in hits]
        on_hits = model.calls - calls
        library.record(plain(text, system="Be brief and name the harbour."), Answer("the second"))
        library.wait_for_vectors(60)
        near = ask(library, plain(text, system="Answer as a pirate would, in verse."))
        model.error = RuntimeError("no memory left")
        missed = ask(library, plain("Sing about the sea"))
        library.log.flush()
        logged = (
            "no memory left"
            in library.db.execute("SELECT steps FROM call_log ORDER BY id DESC LIMIT 1").fetchone()[
                0
            ]
        )
    return Measured(
        {
            "hits": tiers,
            "model_calls_on_hits": on_hits,
            "write_returned_before_its_vector": before_vector and written < 0.2,
            "served_before_its_vector": served_meanwhile,
            "same_last_message": near.steps[-1].verdict,
            "failing_model": "served" if missed.served else missed.steps[-1].verdict,
            "failure_logged": logged,
        },
        "a library in a file, with a model that counts, waits 0.2 s and then fails",
    )
