"""Matching: an exact hit against a bare look-up, a miss without and with embeddings, and the share of the cosine search.

Vectors and prompts are made from seeds; the model is the packaged one. What is compared runs in turn.
"""

from __future__ import annotations

import random
import sqlite3
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.harness import Row, at_most, benchmark
from records.adr_0003.hard_cases import long_texts, recorded_calls
from workbench.matching.cascade import ask
from workbench.matching.library import ADR_0003, Library
from workbench.matching.request import Answer, RecordedRequest, plain

SEED = 20261020
ENTRIES = 100_000
HITS, MISSES = 3000, 200
MODEL_ENTRIES, MODEL_MISSES = 1000, 61
MATRIX_SIZES = (1_000, 10_000, 100_000)
WORDS = 20_000
"""Distinct words of the made prompts: with 30 words a prompt, each stands in 150 of 100,000, as rare words do."""


@benchmark("matching")
def matching() -> Iterator[Row]:
    """Hits and misses at 100,000 entries in a file, embeddings off; then embeddings on at 1,000."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "l.sqlite"
        requests = _prompts(ENTRIES, random.Random(SEED))
        start = time.perf_counter()
        with Library(path, settings=ADR_0003) as library:
            library.record_many(
                (r, Answer(f"answer {i}", body='{"text":"an answer"}'), "", i) for i, r in enumerate(requests)
            )
            yield Row(
                "matching/record a call", (time.perf_counter() - start) / ENTRIES * 1e3, "ms", n=ENTRIES
            )
            yield from _hit(library, path, requests)
            yield from _miss(library)
    yield from _with_model()


def _prompts(count: int, rng: random.Random) -> list[RecordedRequest]:
    words = [f"word{i}" for i in range(WORDS)]
    params = {"api": "openai-chat", "model": "m", "temperature": 0}
    return [
        plain(" ".join(rng.choices(words, k=30)), system="You are a helpful assistant.", **params)
        for _ in range(count)
    ]


def _hit(library: Library, path: Path, requests: Sequence[RecordedRequest]) -> Iterator[Row]:
    """An exact hit: from a request to its answer, logged; against one row read by its primary key."""
    rng = random.Random(SEED)
    chosen = [rng.randrange(len(requests)) for _ in range(HITS)]
    bare = sqlite3.connect(path, isolation_level=None)
    look_ups, hits = [], []
    for number, at in enumerate(chosen):
        pair = [
            (
                look_ups,
                lambda at=at: bare.execute("SELECT * FROM answers WHERE id = ?", (at + 1,)).fetchone(),
            ),
            (hits, lambda at=at: ask(library, requests[at])),
        ]
        for seconds, call in pair if number % 2 else pair[::-1]:
            seconds.append(_timed(call))
    bare.close()
    ratio = statistics.median(hits) / statistics.median(look_ups)
    yield Row("matching/exact hit", ratio, "×", at_most(3), "a bare SQLite primary-key look-up, p50", HITS)
    yield Row("matching/exact hit p50", statistics.median(hits) * 1e6, "µs", n=HITS)


def _miss(library: Library) -> Iterator[Row]:
    """A miss with embeddings off, at 100,000 entries: all four tiers, and the log."""
    asked = _prompts(MISSES, random.Random(SEED + 1))
    seconds = [_timed(partial(ask, library, request)) for request in asked]
    yield Row(
        "matching/miss at 100,000, embeddings off, p50", statistics.median(seconds) * 1e3, "ms", n=MISSES
    )
    yield Row("matching/miss at 100,000, embeddings off, p95", _percentile(seconds) * 1e3, "ms", n=MISSES)


def _with_model() -> Iterator[Row]:
    """A miss with embeddings on at 1,000 entries and 128 tokens, against the model's call alone on such a text."""
    from workbench.matching.vectors import open_encoder

    model = open_encoder(ADR_0003.embedding_tokens)
    texts = iter(long_texts(2 * MODEL_MISSES, seed=SEED))
    with Library(settings=replace(ADR_0003, embeddings=True), encoder=model) as library:
        calls = recorded_calls(MODEL_ENTRIES - 1, seed=SEED)
        library.record_many((c.request, c.answer, "", 0) for c in calls)
        library.record(plain("These speakers too."), Answer("x"))
        library.wait_for_vectors()
        misses, alone = [], []
        for number in range(MODEL_MISSES):
            one, other = next(texts), next(texts)
            pair = [(misses, partial(ask, library, plain(one))), (alone, partial(model.encode, [other]))]
            for seconds, call in pair if number % 2 else pair[::-1]:
                seconds.append(_timed(call))
    misses, alone = misses[1:], alone[1:]
    typical = statistics.median(alone)
    yield Row(
        "matching/miss with embeddings",
        statistics.median(misses) / typical,
        "×",
        at_most(1.15),
        "the model call alone, p50",
        len(misses),
    )
    yield Row(
        "matching/miss with embeddings, p95 over p50",
        _percentile(misses) / statistics.median(misses),
        "×",
        at_most(1.25),
        n=len(misses),
    )
    yield Row("matching/model call alone, p95 over p50", _percentile(alone) / typical, "×", n=len(alone))
    yield Row("matching/miss with embeddings p50", statistics.median(misses) * 1e3, "ms", n=len(misses))
    for entries in MATRIX_SIZES:
        share = _search(entries) / typical
        yield Row(
            f"matching/cosine search at {entries:,} entries", share, "×", against="the model call alone", n=41
        )


def _search(entries: int, repeats: int = 41) -> float:
    import numpy as np

    from workbench.matching.vectors import Matrix

    rng = np.random.default_rng(SEED)
    rows = rng.standard_normal((entries, 384), dtype=np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    matrix = Matrix(np.arange(entries), np.zeros(entries, np.int32), {"user": 0}, rows)
    return statistics.median(_timed(partial(matrix.nearest, rows[i], "user", 10)) for i in range(repeats))


def _timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _percentile(seconds: Sequence[float], share: float = 0.95) -> float:
    return sorted(seconds)[int(len(seconds) * share)]
