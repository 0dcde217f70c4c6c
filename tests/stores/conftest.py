"""A small collection that is loaded once for tests that change it, and a second model."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from helpers.made_updates import first_source, linked

from workbench.stores.load import load
from workbench.stores.vectors.model_files import PACKAGED_EMBEDDER, locate_packaged


@pytest.fixture(scope="session")
def prepared_for_updates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with FIRST loaded as `c`. Tests link to it and never write into it."""
    directory = tmp_path_factory.mktemp("prepared-for-updates") / "home"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_HOME", str(directory))
        load(first_source(), name="c", progress=False)
    return directory


@pytest.fixture
def updatable(prepared_for_updates: Path, home: Path) -> Path:
    """A home of this test's own with FIRST loaded as `c`."""
    return linked(prepared_for_updates, home)


@pytest.fixture
def other(tmp_path: Path) -> str:
    """Another model, by its directory: the packaged one with the mean of its tokens and with prefixes."""
    directory = Path(shutil.copytree(locate_packaged(PACKAGED_EMBEDDER).directory, tmp_path / "model"))
    (directory / "1_Pooling").mkdir()
    (directory / "1_Pooling" / "config.json").write_text('{"pooling_mode_mean_tokens": true}')
    prompts = {"prompts": {"query": "query: ", "document": "passage: "}}
    (directory / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    return str(directory)
