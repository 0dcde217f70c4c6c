"""The law of interruption: at whatever moment a load ends, the last complete collection is what readers see, and
the load can be taken up."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from helpers.made_sources import chunks_of, numbered, source_of

from workbench.stores.collections import collections, open_stores, place
from workbench.stores.load import load

CHUNKS = 700
TESTS = Path(__file__).resolve().parents[1]

# (phase, how much must be done): from the first line read to the last step.
MOMENTS = [("read", 1), ("embed", 0), ("embed", 512), ("build", 0), ("build", 1), ("publish", 0)]

KILLED_AT = """
import os, signal, sys
from helpers.made_sources import numbered, source_of
from workbench.stores.load import load
phase, done = sys.argv[1], int(sys.argv[2])
def end(now, how_much, total):
    if now == phase and how_much >= done:
        os.kill(os.getpid(), signal.SIGKILL)
load(source_of(numbered({chunks})), name="c", progress=end)
"""

ENDLESS = """
import sys
from helpers.made_sources import numbered, source_of
from workbench.stores.load import load
print("started", flush=True)
load(source_of(numbered({chunks})), name="c", progress=False)
"""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a complete collection `c` of two texts, and a cache that knows all the texts to come."""
    directory = tmp_path_factory.mktemp("prepared") / "home"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_HOME", str(directory))
        load(source_of(numbered(CHUNKS)), name="c", progress=False)
        load(source_of(chunks_of("tea", "coffee")), name="c", progress=False)
    return directory


@pytest.fixture
def earlier(prepared: Path, home: Path) -> Path:
    """The prepared home, for one test to spoil. Complete collections are never written to, so links will do."""
    home.mkdir()
    shutil.copytree(prepared / "collections", home / "collections", copy_function=os.link)
    shutil.copy(prepared / "embeddings.sqlite", home)
    return home


def run(code: str, *arguments: str, **options) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-c", code.format(chunks=CHUNKS), *arguments],
        env={**os.environ, "PYTHONPATH": str(TESTS)}, **options,
    )  # fmt: skip


def texts_of(name: str) -> list[str]:
    with open_stores(name) as stores:
        points = [(i, payload["content"]) for i, payload, _ in stores.points.all_points()]
        assert points == [(c.id, c.text) for c in stores.catalog.chunks([i for i, _ in points])]
        return [text for _, text in points]


def resumed() -> None:
    """The load runs to its end, and leaves nothing but the one generation."""
    manifest = load(source_of(numbered(CHUNKS)), name="c", progress=False)
    assert texts_of("c") == [c.text for c in numbered(CHUNKS)]
    left = {p.name for p in place("c").directory.iterdir()}
    assert left == {manifest.generation, "current"}
    assert {p.name for p in place("c").current().iterdir()} - {"points.lock"} == {"catalog.duckdb", "points", "manifest.json", "seal.json"}


@pytest.mark.parametrize(("phase", "done"), MOMENTS)
def test_kill_9_at_any_phase_leaves_the_last_complete_collection_and_the_load_resumable(
    earlier: Path, phase: str, done: int
) -> None:
    assert run(KILLED_AT, phase, str(done)).wait(timeout=300) == -signal.SIGKILL
    assert texts_of("c") == ["tea", "coffee"]
    resumed()


@pytest.mark.parametrize("state", ["*/parts", "*/whole/points.building", "*/whole/catalog.duckdb.building"])
def test_kill_9_from_outside_when_a_state_is_seen(earlier: Path, state: str) -> None:
    process = run(ENDLESS, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"started\n"
    wait_for(lambda: any(place("c").staging.glob(state)), process)
    process.kill()
    process.wait()
    # On a busy machine the load may end between the sight and the kill; either way a whole collection is read.
    assert texts_of("c") in (["tea", "coffee"], [c.text for c in numbered(CHUNKS)])
    resumed()


def wait_for(seen: Callable[[], bool], process: subprocess.Popen) -> None:
    end = time.monotonic() + 300
    while not seen() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.001)
    assert seen() or process.poll() == 0, "the state never came"


@pytest.mark.parametrize(("phase", "done"), [("read", 1), ("embed", 1), ("build", 1), ("publish", 0)])
def test_ctrl_c_leaves_the_last_complete_collection_and_the_load_resumable(earlier: Path, phase: str, done: int) -> None:
    def interrupt(now: str, how_much: int, total: int | None) -> None:
        if now == phase and how_much >= done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load(source_of(numbered(CHUNKS)), name="c", progress=interrupt)
    assert texts_of("c") == ["tea", "coffee"]
    resumed()


def test_a_signal_while_both_stores_are_filled_ends_the_load_and_its_worker(earlier: Path) -> None:
    process = run(ENDLESS, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.readline() == b"started\n"
    wait_for(lambda: any(place("c").staging.glob("*/whole/points.building")), process)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=300)
    assert b"KeyboardInterrupt" in said
    assert not list(place("c").staging.glob("*/whole/points.building"))
    assert texts_of("c") == ["tea", "coffee"]
    resumed()


def test_what_was_embedded_before_a_kill_is_not_embedded_again(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(KILLED_AT, "embed", "512").wait(timeout=300) == -signal.SIGKILL
    assert [c.broken for c in collections()] == ["its first load has not ended; load it again to resume"]
    made: list[int] = []
    from workbench.stores.vectors.embedder import Embedder

    make = Embedder._make
    monkeypatch.setattr(Embedder, "_make", lambda self, texts: made.append(len(texts)) or make(self, texts))
    load(source_of(numbered(CHUNKS)), name="c", progress=False)
    assert sum(made) == CHUNKS - 512


def test_what_an_interrupted_load_completed_is_not_built_again(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(KILLED_AT, "publish", "0").wait(timeout=300) == -signal.SIGKILL
    monkeypatch.setattr("workbench.stores.catalog.build.build_catalog", _refuse)
    monkeypatch.setattr("workbench.stores.points.edge_build.build_edge", _refuse)
    resumed()


def _refuse(*_: object, **__: object) -> None:
    raise AssertionError("it was built again")


def test_an_interrupted_load_of_another_source_is_not_taken_up(earlier: Path) -> None:
    assert run(KILLED_AT, "publish", "0").wait(timeout=300) == -signal.SIGKILL
    load(source_of(chunks_of("ferry")), name="c", progress=False)
    assert texts_of("c") == ["ferry"] and not place("c").staging.exists()


def test_a_full_disk_is_said_and_the_last_complete_collection_stands(earlier: Path) -> None:
    code = """
import sys
from helpers.made_sources import numbered, source_of
from workbench.stores.load import load
from workbench.errors import WorkbenchError
try:
    load(source_of(numbered({chunks})), name="c", progress=False)
except WorkbenchError as error:
    sys.exit(f"{{type(error).__name__}}: {{error}}")
"""
    # No file may grow beyond these: first the vectors are refused, then the embedded engine.
    for size, said in ((300_000, b"StorageError: the disk is full ("), (5_000_000, b"EngineFault: ")):
        limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (size, size))
        process = run(code, stderr=subprocess.PIPE, preexec_fn=limit)
        assert process.communicate(timeout=300)[1].startswith(said)
        assert texts_of("c") == ["tea", "coffee"] and not place("c").staging.exists()
