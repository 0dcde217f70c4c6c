"""A home on a full or a read-only disk is searched; what cannot be written says so and names the place."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.made_sources import chunks_of, numbered, source_of

from workbench.retrieval.search import open_collection
from workbench.stores.collections import open_stores
from workbench.stores.load import load
from workbench.stores.locks import NotWritable, StorageError, says_full, storage_errors
from workbench.stores.points.edge_build import _ended

VARIANTS = ("adr_0172", "bm25_ranking", "notes_old")


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A small disk of this test's own with a home on it; skipped where this user may not mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200m", "tmpfs", str(place)], capture_output=True).returncode:
        pytest.skip("this user may not mount a disk")
    monkeypatch.setenv("WORKBENCH_HOME", str(place / "home"))
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def fill(disk: Path) -> None:
    with (disk / "fill").open("wb") as file, pytest.raises(OSError, match="No space left"):
        while True:
            file.write(bytes(range(256)) * 256)
            file.flush()


def answers() -> dict[str, list]:
    with open_collection("c") as collection:
        return {v: collection.search("the ferry at noon", v).hits for v in VARIANTS}


@pytest.mark.parametrize("how", ["full", "read-only"])
def test_a_home_that_cannot_be_written_is_searched(disk: Path, how: str) -> None:
    load(source_of(chunks_of("the ferry leaves at noon", "tea", "a crane")), name="c", progress=False)
    wanted = answers()
    for made in (disk / "home").rglob("notes-*"):
        made.unlink()
    if how == "full":
        fill(disk)
    else:
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    assert answers() == wanted
    with pytest.raises((StorageError, NotWritable)) as found:
        load(source_of(numbered(50)), name="d", progress=False)
    assert str(disk) in str(found.value)


def test_a_disk_that_fills_while_a_collection_is_loaded_is_named(disk: Path) -> None:
    load(source_of(chunks_of("tea")), name="c", progress=False)
    with (disk / "fill").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(0, disk_free(disk) - (1 << 20)))
    with pytest.raises(StorageError, match="the disk is full") as found:
        load(source_of(numbered(3000)), name="d", progress=False)
    assert str(disk) in str(found.value)
    with open_stores("c") as stores:
        assert stores.catalog.n == 1


def disk_free(disk: Path) -> int:
    found = os.statvfs(disk)
    return found.f_bavail * found.f_frsize


def test_a_building_process_that_ends_by_sigbus_on_a_full_disk_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.stores.points.edge_build.ROOM_BYTES", 2**62)
    assert "the disk is full" in str(_ended(-signal.SIGBUS, "it said nothing", tmp_path))
    monkeypatch.setattr("workbench.stores.points.edge_build.ROOM_BYTES", 0)
    assert "the disk failed" in str(_ended(-signal.SIGBUS, "it said nothing", tmp_path))


@pytest.mark.parametrize("words", ["database or disk is full", "No space left on device", "IO error (os error 28)"])
def test_whichever_engine_says_that_the_disk_is_full_the_place_is_named(tmp_path: Path, words: str) -> None:
    assert says_full(RuntimeError(words))
    with pytest.raises(StorageError, match=f"the disk is full .*{tmp_path.name}"), storage_errors(tmp_path):
        raise RuntimeError(words)
