"""The laws of vectors: one text has one vector, what was cut is said, the cache changes nothing."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from workbench.stores.vectors.embedder import CacheError, Embedder
from workbench.stores.vectors.models import find_model

TEXTS = [
    "The ferry leaves the harbour at nine.",
    "covid-19",
    "Ședința de luni a fost mutată.",
    "日本語の文章",
    "singular vectors of a matrix " * 40,
    "?",
    "the ferry returns at noon",
]


def test_a_text_has_bitwise_the_same_vector_alone_and_among_others(embedder: Embedder) -> None:
    together = Embedder(embedder.model).embed(TEXTS)
    alone = np.vstack([Embedder(embedder.model, workers=1).embed([t]) for t in TEXTS])
    reversed_ = Embedder(embedder.model, workers=3).embed(TEXTS[::-1])[::-1]
    assert together.dtype == np.float32 and together.shape == (len(TEXTS), 384)
    assert together.tobytes() == alone.tobytes() == np.ascontiguousarray(reversed_).tobytes()


def test_a_vector_from_the_cache_is_the_vector_that_was_made(embedder: Embedder, tmp_path: Path) -> None:
    fresh = Embedder(embedder.model).embed(TEXTS)
    cached = Embedder(embedder.model, tmp_path / "e.sqlite")
    first = cached.embed(TEXTS)
    again = Embedder(embedder.model, tmp_path / "e.sqlite").embed(TEXTS)
    assert fresh.tobytes() == first.tobytes() == again.tobytes()


def test_what_the_cache_knows_is_not_made_again(
    embedder: Embedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Embedder(embedder.model, tmp_path / "e.sqlite").embed(TEXTS)
    monkeypatch.setattr("workbench.stores.vectors.embedder.open_model", _refuse)
    Embedder(embedder.model, tmp_path / "e.sqlite").embed(TEXTS[::-1] + TEXTS)
    with pytest.raises(AssertionError):
        Embedder(embedder.model, tmp_path / "e.sqlite").embed(["a text that is new"])


def _refuse(model: object) -> None:
    raise AssertionError("the model was opened")


def test_the_same_text_twice_in_one_call_is_made_once(embedder: Embedder, tmp_path: Path) -> None:
    found = Embedder(embedder.model, tmp_path / "e.sqlite").embed(["tea", "coffee", "tea"])
    with sqlite3.connect(tmp_path / "e.sqlite") as db:
        assert db.execute("SELECT count(*) FROM embedding").fetchone() == (2,)
    assert found[0].tobytes() == found[2].tobytes() != found[1].tobytes()


def test_vectors_are_finite_and_of_unit_length_for_any_text(embedder: Embedder) -> None:
    hostile = ["", " ", "\x00", "a" * 1_000_000, "<script>", "\u202e\x1b[31m", "😀" * 50, "\ud800 half", "\ufffd half"]
    found = embedder.embed(hostile)
    assert np.isfinite(found).all()
    assert np.allclose(np.linalg.norm(found.astype(np.float64), axis=1), 1, atol=1e-6)
    assert found[-1].tobytes() == found[-2].tobytes(), "half a surrogate pair is read as U+FFFD"


def test_no_text_gives_no_row(embedder: Embedder) -> None:
    assert embedder.embed([]).shape == (0, 384)


def test_a_text_beyond_512_tokens_is_counted_as_cut_and_only_its_beginning_counts(embedder: Embedder) -> None:
    fits, cut = "tea " * 510, "tea " * 511
    assert embedder.truncated([fits]) == 0
    assert embedder.truncated([cut, fits, "short"]) == 1
    begin = "harbour " * 510
    vectors, marks = embedder.embed_marked([begin + "ferry", begin + "coffee", begin])
    assert marks.tolist() == [True, True, False]
    assert vectors[0].tobytes() == vectors[1].tobytes()


def test_a_cut_is_remembered_by_the_cache(embedder: Embedder, tmp_path: Path) -> None:
    text = "harbour " * 600
    for _ in range(2):
        assert Embedder(embedder.model, tmp_path / "e.sqlite").embed_marked([text, "tea"])[1].tolist() == [True, False]


def test_a_query_takes_the_models_prefix_and_a_document_does_not(embedder: Embedder, tmp_path: Path) -> None:
    prefixed = Embedder(find_model(query_prefix="Represent this sentence: "))
    plain = embedder.embed(["tea", "Represent this sentence: tea"])
    assert prefixed.embed(["tea"])[0].tobytes() == plain[0].tobytes() == embedder.embed_query("tea").tobytes()
    assert prefixed.embed_query("tea").tobytes() == plain[1].tobytes()


def test_the_published_similarity_of_this_model_is_reached(embedder: Embedder) -> None:
    # The publisher's fp32 model gives 0.825373 for this pair; int8 rounding moves it by less than a hundredth.
    a, b = embedder.embed(["Tell me about deep learning", "Deep Learning is amazing"])
    assert float(a @ b) == pytest.approx(0.825373, abs=0.01)


def test_a_damaged_cache_is_an_error_by_name_that_says_what_to_delete(embedder: Embedder, tmp_path: Path) -> None:
    path = tmp_path / "e.sqlite"
    path.write_bytes(b"this is no database" * 500)
    with pytest.raises(CacheError, match=r"e\.sqlite.*Delete it"):
        Embedder(embedder.model, path).embed(["tea"])


def test_several_processes_fill_one_cache(embedder: Embedder, tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from workbench.stores.vectors.embedder import Embedder\nfrom workbench.stores.vectors.models import find_model\n"
        "e = Embedder(find_model(), Path(sys.argv[1]), workers=1)\n"
        "for n in range(8): e.embed([f'text {n}', f'text {n + 1}', sys.argv[2] + str(n)])\n"
    )
    path = tmp_path / "e.sqlite"
    running = [subprocess.Popen([sys.executable, "-c", code, str(path), str(n)]) for n in range(3)]
    assert [p.wait(timeout=300) for p in running] == [0, 0, 0]
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT count(*) FROM embedding").fetchone() == (9 + 3 * 8,)
        assert db.execute("SELECT count(*) FROM model").fetchone() == (1,)
