"""The law of interruption: at whatever moment an update ends, readers see the collection as it was, what was put into
the journal waits, and the next update takes it up."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from helpers.made_sources import chunks_of, source_of
from helpers.made_updates import FIRST, HIGHEST, UUIDS, changed, texts_in
from helpers.whole_state import snapshot

from workbench.stores.collections import place
from workbench.stores.journal import Waiting, waiting_in
from workbench.stores.load import load
from workbench.stores.update import update

TESTS = Path(__file__).resolve().parents[1]
BEFORE = {c.id: c.text for c in FIRST}
AFTER = {i: t for i, t in BEFORE.items() if i not in (9, UUIDS[0])} | {HIGHEST + 1: "coffee in the harbour"}
PHASES = ("read", "embed", "build", "publish")

KILLED_AT = """
import os, signal, sys
from helpers.made_updates import changed
from workbench.stores.update import update
phase = sys.argv[1]
def end(now, how_much, total):
    if now == phase:
        os.kill(os.getpid(), signal.SIGKILL)
update("c", changed("e1", "coffee in the harbour"), delete=["e3"], progress=end)
"""

KILLED_IN = """
import os, signal, sys
from helpers.made_updates import changed
from importlib import import_module
import_module("workbench.stores.{module}").{function} = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
from workbench.stores.update import update
update("c", changed("e1", "coffee in the harbour"), delete=["e3"], progress=False)
"""


def run(code: str, *arguments: str, **options) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-c", code, *arguments], env={**os.environ, "PYTHONPATH": str(TESTS)}, **options)


def killed(code: str, *arguments: str) -> None:
    assert run(code, *arguments).wait(timeout=300) == -signal.SIGKILL


def asked() -> dict:
    return {"changes": changed("e1", "coffee in the harbour"), "delete": ["e3"], "progress": False}


def waiting() -> Waiting:
    return waiting_in(place("c").current())


def taken_up() -> None:
    """What waits is taken up, and nothing but the one generation is left."""
    done = update("c", progress=False)
    assert (done.changed, done.deleted, done.waiting) == (1, 1, Waiting()) and texts_in("c") == AFTER
    assert {p.name for p in place("c").directory.iterdir()} == {done.manifest.generation, "current"}
    assert {p.name for p in place("c").current().iterdir()} - {"points.lock"} == {"catalog.duckdb", "points", "manifest.json", "seal.json"}


@pytest.mark.parametrize("phase", PHASES)
def test_kill_9_at_any_phase_leaves_the_collection_readable_and_what_waits_known(updatable: Path, phase: str) -> None:
    killed(KILLED_AT, phase)
    assert texts_in("c") == BEFORE
    if phase == "read":
        assert waiting() == Waiting(), "nothing was read yet"
        update("c", defer=True, **asked())
    assert waiting() == Waiting(changed=1, deleted=1)
    taken_up()


@pytest.mark.parametrize(
    ("module", "function", "waits"),
    [
        ("update", "plan_of", False), ("points.edge_build", "change_edge", True), ("update", "digest_of", True),
        ("collections", "write_whole", True),
    ],
)  # fmt: skip
def test_kill_9_in_any_step_leaves_all_of_the_changes_or_none(updatable: Path, module: str, function: str, waits: bool) -> None:
    killed(KILLED_IN.format(module=module, function=function))
    assert texts_in("c") == BEFORE
    assert waiting() == (Waiting(changed=1, deleted=1) if waits else Waiting())
    if not waits:
        update("c", defer=True, **asked())
    taken_up()


def test_a_load_clears_what_a_killed_update_left(updatable: Path) -> None:
    killed(KILLED_AT, "publish")
    assert place("c").staging.exists()
    load(source_of(chunks_of("tea")), name="c", progress=False)
    assert texts_in("c") == {0: "tea"} and not place("c").staging.exists() and waiting() == Waiting()


def test_an_interrupted_load_is_taken_up_after_an_update(updatable: Path) -> None:
    def interrupt(phase: str, done: int, total: int | None) -> None:
        if phase == "publish":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load(source_of(chunks_of("tea")), name="c", progress=interrupt)
    update("c", **asked())
    assert texts_in("c") == AFTER and [p.name for p in place("c").staging.iterdir()] != []
    load(source_of(chunks_of("tea")), name="c", progress=False)
    assert texts_in("c") == {0: "tea"}


def test_ctrl_c_leaves_the_collection_and_the_changes_wait(updatable: Path) -> None:
    def interrupt(phase: str, done: int, total: int | None) -> None:
        if phase == "publish":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        update("c", **{**asked(), "progress": interrupt})
    assert texts_in("c") == BEFORE and not place("c").staging.exists()
    taken_up()


def test_a_full_disk_is_said_and_the_changes_wait(updatable: Path) -> None:
    code = """
import sys
from helpers.made_updates import changed
from workbench.stores.update import update
from workbench.errors import WorkbenchError
try:
    update("c", changed("e1", "coffee in the harbour"), delete=["e3"], progress=False)
except WorkbenchError as error:
    sys.exit(f"{type(error).__name__}: {error}")
"""
    before = snapshot(updatable)
    # No file may grow beyond this: what is written of the catalog is refused, not the journal.
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (300_000, 300_000))
    process = run(code, stderr=subprocess.PIPE, preexec_fn=limit)
    said = process.communicate(timeout=300)[1]
    assert said.startswith(b"StorageError: "), said
    after = snapshot(updatable)
    assert {name: after[name] for name in before} == before and waiting() == Waiting(changed=1, deleted=1)
    taken_up()
