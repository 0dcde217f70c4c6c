"""Opening an embedded shard: many readers at once, damage found before a search, never across a fork."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.passing import passing_directory
from helpers.points_corpus import write_staging

from workbench.errors import NotAvailable
from workbench.stores.locks import exclusive
from workbench.stores.points.edge import EdgePoints, EngineFault
from workbench.stores.points.edge_build import build_edge
from workbench.stores.seal import SEAL, DamagedPoints, read_seal, write_seal
from workbench.types import Chunk, Facets

COUNT, DIM = 600, 8
READER = """
import sys
from workbench.stores.points.edge import EdgePoints
for _ in range(5):
    with EdgePoints.open(sys.argv[1]) as points:
        assert points.count(("text",), "all", {"lang": "en"}) == 300
        assert [p.id for p in points.scroll(("text",), "any", {}, 3)] == [0, 1, 2]
print("read")
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("edge")
    chunks = [Chunk(i, f"e{i}", 0, f"text {i}", facets=Facets(metadata={"lang": ("en", "ro")[i % 2]})) for i in range(COUNT)]
    rows = np.random.default_rng(3).normal(size=(COUNT, DIM))
    build_edge(directory / "points", *write_staging(directory / "staging", chunks, rows))
    return directory / "points"


def copy_sparse(source: str, target: str) -> None:
    """A shard's files are 180 MB of holes around 2 MB of data; a copy keeps the holes."""
    block = 1 << 16
    with open(source, "rb") as reading, open(target, "wb") as writing:
        while data := reading.read(block):
            if data.count(0) == len(data):
                writing.seek(len(data), os.SEEK_CUR)
            else:
                writing.write(data)
        writing.truncate(os.path.getsize(source))


@pytest.fixture
def copied(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "points", copy_function=copy_sparse))


@pytest.fixture
def points(built: Path) -> Iterator[EdgePoints]:
    with EdgePoints.open(built) as opened:
        yield opened


def test_many_processes_read_the_same_shard_while_one_holds_it_open(points: EdgePoints) -> None:
    command = [sys.executable, "-c", READER, str(points.directory)]
    readers = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    for reader in readers:
        out, err = reader.communicate(timeout=300)
        assert out == "read\n", err
    assert points.count(("text",), "all", {}) == COUNT


def test_a_shard_that_another_process_closes_meanwhile_is_whole(copied: Path) -> None:
    """The engine writes segment.json anew at every closing, in a directory that comes and goes beside it."""
    with passing_directory(next(copied.rglob("segment.json")).parent):
        seals = [read_seal(copied) for _ in range(100)]
    assert {seal["points"] for seal in seals} == {COUNT}


def test_opening_and_reading_changes_no_file_that_is_sealed(copied: Path) -> None:
    before = digests(copied)
    for _ in range(2):
        with EdgePoints.open(copied) as points:
            points.scroll(("text",), "any", {}, 10)
    assert digests(copied) == before


def digests(shard: Path) -> dict[Path, str]:
    files = (p for p in shard.rglob("*") if p.is_file() and p.name != "edge_config.json")
    return {p: hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def test_an_opening_waits_for_the_lock_and_then_succeeds(copied: Path) -> None:
    opened: list[int] = []

    def reader() -> None:
        with EdgePoints.open(copied) as points:
            opened.append(points.points)

    thread = threading.Thread(target=reader)
    with exclusive(copied, "opening", wait=0):
        thread.start()
        thread.join(0.3)
        assert opened == []
    thread.join(30)
    assert opened == [COUNT]


def test_a_file_cut_short_or_gone_is_named_at_opening(copied: Path) -> None:
    name = next(p for p in copied.rglob("*") if p.is_file() and "payload_storage" in str(p) and p.name == "page_0.dat")
    os.truncate(name, name.stat().st_size // 2)
    with pytest.raises(DamagedPoints, match=r"payload_storage/page_0.dat has \d+ bytes instead of"):
        EdgePoints.open(copied)
    name.unlink()
    with pytest.raises(DamagedPoints, match="page_0.dat is gone"):
        EdgePoints.open(copied)
    shutil.rmtree(name.parent)
    name.parent.write_text("a file where a directory was")
    with pytest.raises(DamagedPoints, match="is gone"):
        EdgePoints.open(copied)


def test_lost_points_are_found_at_opening_though_the_engine_opens_the_shard(copied: Path) -> None:
    reseal(copied, points=COUNT + 1)
    with pytest.raises(DamagedPoints, match=f"{COUNT} points where {COUNT + 1} were stored"):
        EdgePoints.open(copied)


def reseal(shard: Path, **facts: Any) -> None:
    """Seal the shard as it is now."""
    seal = json.loads((shard / SEAL).read_text())
    names = [shard / name for name in seal.pop("files")]
    write_seal(shard, names, {**{n: v for n, v in seal.items() if n != "checksum"}, **facts})


def flipped(path: Path, at: int) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 0x55]))


@pytest.mark.parametrize("part", ["id_tracker.mappings", "id_tracker.versions", "vectors/chunk_0.mmap", "deleted/flags_a.dat",
                                  "deleted/status.dat", "payload_storage/page_0.dat", "segment.json", "edge_config.json"])  # fmt: skip
def test_one_wrong_byte_in_any_file_is_found_before_the_engine_sees_it(copied: Path, part: str) -> None:
    """The engine ends the process at a wrong id mapping, and answers from wrong vectors and deletion flags."""
    path = next(p for p in copied.rglob("*") if p.as_posix().endswith(part))
    for at in (0, path.stat().st_size // 2, path.stat().st_size - 1):
        flipped(path, at)
        with pytest.raises(DamagedPoints, match=f"{path.name} is not what was written"):
            EdgePoints.open(copied)
        flipped(path, at)
    EdgePoints.open(copied).close()


def test_a_large_file_is_read_whole_only_when_asked(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.stores.seal.SMALL_BYTES", 0)
    flipped(next(copied.rglob("chunk_0.mmap")), 0)
    read_seal(copied)
    with pytest.raises(DamagedPoints, match=r"chunk_0.mmap is not what was written"):
        read_seal(copied, whole=True)
    flipped(next(copied.rglob("*id_tracker.mappings")), 0)
    with pytest.raises(DamagedPoints, match=r"id_tracker.mappings is not what was written"):
        read_seal(copied)


def test_a_panic_of_the_engine_is_an_engine_fault(copied: Path) -> None:
    status = next(p for p in copied.rglob("status.dat") if "deleted" in str(p))
    os.truncate(status, status.stat().st_size // 2)
    reseal(copied)
    with pytest.raises(EngineFault, match="embedded engine failed"):
        EdgePoints.open(copied)


@pytest.mark.parametrize("how", ["absent", "unsealed", "seal damaged"])
def test_what_was_never_completed_is_not_opened(copied: Path, how: str) -> None:
    if how == "absent":
        shutil.rmtree(copied)
    elif how == "unsealed":
        (copied / SEAL).unlink()
    else:
        (copied / SEAL).write_text("{")
    with pytest.raises(DamagedPoints, match="Load the collection again"):
        EdgePoints.open(copied)


def test_a_forked_process_is_refused_and_does_not_hang(points: EdgePoints) -> None:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            points.count((), "any", {})
        except NotAvailable as error:
            os.write(writing, str(error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    assert b"across a fork" in os.read(reading, 1000)
    os.close(reading)


def test_closed_points_say_so_and_may_be_closed_twice(built: Path) -> None:
    points = EdgePoints.open(built)
    points.close()
    points.close()
    with pytest.raises(NotAvailable, match="closed"):
        points.count((), "any", {})
