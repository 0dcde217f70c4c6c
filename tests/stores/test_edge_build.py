"""Building an embedded shard: checked before, all or nothing, in a process of its own that never outlives its parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil
import pytest
from helpers.points_corpus import write_staging

from workbench.stores.catalog.errors import StagingError
from workbench.stores.locks import Locked, exclusive
from workbench.stores.points.edge import EdgePoints, EngineFault
from workbench.stores.points.edge_build import build_edge
from workbench.stores.points.edge_worker import building
from workbench.stores.points.staged import point_id_of
from workbench.stores.seal import DamagedPoints
from workbench.stores.vectors.checks import VectorError
from workbench.types import Chunk

COUNT, DIM = 2500, 8  # three batches, and facets are indexed
ROWS = np.random.default_rng(2).normal(size=(COUNT, DIM)).astype(np.float32)
Staged = tuple[list[Path], Path]

# As a user's script or notebook cell calls it: at the top level, without a guard against being imported again.
SCRIPT = """
import sys
from pathlib import Path
from workbench.stores.points.edge_build import build_edge

def progress(stage, done, total):
    print(stage, done, flush=True)
    if stage == "{pause}":
        import time
        time.sleep(60)

print("built", build_edge(sys.argv[1], [Path(sys.argv[2])], Path(sys.argv[3]), progress=progress), flush=True)
"""


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Staged:
    chunks = [Chunk(i, f"e{i}", 0, f"text {i} of {i % 7}") for i in range(COUNT)]
    return write_staging(tmp_path_factory.mktemp("build") / "staging", chunks, ROWS)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "points"


def left(target: Path) -> list[str]:
    """What stands beside the shard but for its lock, which is a file of a few bytes."""
    return sorted(p.name for p in target.parent.iterdir() if p.name != "points.lock")


def eventually(holds: Callable[[], bool], seconds: float = 120) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.05)
    return False


def launch(target: Path, staged: Staged, pause: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SCRIPT.format(pause=pause), str(target), str(staged[0][0]), str(staged[1])]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def until(process: subprocess.Popen[str], stage: str) -> None:
    for line in process.stdout:
        if line.startswith(stage):
            return
    pytest.fail(f"the build never came to {stage}: {process.stderr.read()}")


def test_progress_tells_every_point_and_a_built_shard_can_be_moved(staged: Staged, target: Path, tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    assert build_edge(target, *staged, progress=lambda *now: told.append(now)) == COUNT
    assert told[:3] == [("points", 1000, COUNT), ("points", 2000, COUNT), ("points", COUNT, COUNT)]
    assert list(dict.fromkeys(stage for stage, _, _ in told)) == ["points", "optimizing", "indexes", "complete"]
    assert left(target) == ["points"]
    (tmp_path / "generation").mkdir()
    os.replace(target, tmp_path / "generation" / "points")
    with EdgePoints.open(tmp_path / "generation" / "points") as points:
        assert points.count(("text",), "all", {}) == COUNT


@pytest.mark.parametrize(("value", "fault"), [(np.nan, "NaN"), (np.inf, "infinite"), (-np.inf, "infinite"), (0.0, "zero")])
def test_a_vector_without_a_direction_is_refused_with_its_row_and_nothing_is_left(
    staged: Staged, target: Path, tmp_path: Path, value: float, fault: str
) -> None:
    bad = ROWS.copy()
    bad[1777] = value
    np.save(tmp_path / "bad.npy", bad)
    with pytest.raises(VectorError, match=f"row 1777 is {fault}"):
        build_edge(target, staged[0], tmp_path / "bad.npy")
    assert left(target) == ["bad.npy"]


@pytest.mark.parametrize("shape", [(COUNT - 1, DIM), (COUNT + 1, DIM), (COUNT * DIM,)])
def test_vectors_of_another_shape_are_refused(staged: Staged, target: Path, tmp_path: Path, shape: tuple) -> None:
    np.save(tmp_path / "other.npy", np.ones(shape, dtype=np.float32))
    with pytest.raises(StagingError, match="2499|2501|20000"):
        build_edge(target, staged[0], tmp_path / "other.npy")


def test_a_file_that_holds_no_vectors_is_refused(staged: Staged, target: Path, tmp_path: Path) -> None:
    (tmp_path / "text.npy").write_text("no array")
    for path in (tmp_path / "text.npy", tmp_path / "absent.npy"):
        with pytest.raises(VectorError, match="cannot be read"):
            build_edge(target, staged[0], path)


@pytest.mark.parametrize("text", ["-1", "007", str(2**64), "1.0", "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "x", "", "१"])
def test_only_the_canonical_form_is_a_point_id(text: str) -> None:
    with pytest.raises(StagingError, match="no point id"):
        point_id_of(text)
    assert point_id_of(str(2**64 - 1)) == 2**64 - 1
    assert point_id_of("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11") == "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"


def test_a_staged_id_that_no_point_can_have_ends_the_build(staged: Staged, target: Path, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(staged[0][0])
    ids = table["point_id"].to_pylist()
    ids[1500] = "007"
    place = table.column_names.index("point_id")
    pq.write_table(table.set_column(place, "point_id", pa.array(ids)), tmp_path / "chunks.parquet")
    with pytest.raises(StagingError, match="'007' is no point id"):
        build_edge(target, [tmp_path / "chunks.parquet"], staged[1])
    assert left(target) == ["chunks.parquet"]


def test_parts_out_of_order_are_refused(staged: Staged, target: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "two.npy", np.concatenate([ROWS, ROWS]))
    with pytest.raises(StagingError, match="row 2500 has cid 0"):
        build_edge(target, staged[0] * 2, tmp_path / "two.npy")


def test_what_stands_there_already_is_never_overwritten(staged: Staged, target: Path) -> None:
    target.mkdir()
    with pytest.raises(DamagedPoints, match="already"):
        build_edge(target, *staged)


def test_an_interrupt_while_it_builds_leaves_nothing(staged: Staged, target: Path) -> None:
    def interrupt(stage: str, done: int, total: int) -> None:
        assert building(target).is_dir()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_edge(target, *staged, progress=interrupt)
    assert left(target) == []


def test_a_script_without_a_main_guard_builds(staged: Staged, target: Path) -> None:
    out, err = launch(target, staged, "never").communicate(timeout=300)
    assert out.splitlines()[-1] == f"built {COUNT}", err


def test_ctrl_c_at_the_terminal_ends_the_worker_and_sweeps_up(staged: Staged, target: Path) -> None:
    process = launch(target, staged, "optimizing")
    until(process, "optimizing")
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=300)
    assert process.returncode != 0
    assert "KeyboardInterrupt" in err
    assert left(target) == []


def test_a_killed_parent_leaves_no_worker_and_the_next_build_takes_over(staged: Staged, target: Path) -> None:
    process = launch(target, staged, "points")
    until(process, "points")
    process.kill()
    process.communicate()
    assert eventually(lambda: free(target)), "the worker outlived its parent"
    assert left(target) == ["points.building"]
    assert build_edge(target, *staged) == COUNT
    assert left(target) == ["points"]


def test_a_worker_that_was_killed_is_an_error_and_leaves_nothing(staged: Staged, target: Path) -> None:
    def kill(stage: str, done: int, total: int) -> None:
        for worker in psutil.Process().children():
            worker.kill()

    with pytest.raises(EngineFault, match="ended with -9"):
        build_edge(target, *staged, progress=kill)
    assert left(target) == []


def test_a_worker_that_cannot_start_says_why(staged: Staged, target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.stores.points.edge_build._WORKER", "workbench.stores.nowhere")
    with pytest.raises(EngineFault, match="No module named workbench.stores.nowhere"):
        build_edge(target, *staged)


def test_a_part_that_is_cut_short_is_named(staged: Staged, target: Path, tmp_path: Path) -> None:
    cut = tmp_path / "chunks-00000.parquet"
    cut.write_bytes(staged[0][0].read_bytes()[:-100])
    for part in (cut, tmp_path / "absent.parquet"):
        with pytest.raises(StagingError, match=f"cannot be read.*{part.name}"):
            build_edge(target, [part], staged[1])


def free(target: Path) -> bool:
    try:
        with exclusive(target, "looking", wait=0):
            return True
    except Locked:
        return False


def test_a_second_writer_is_told_who_is_at_work(staged: Staged, target: Path) -> None:
    with (
        exclusive(target, "building", wait=0),
        pytest.raises(Locked, match=f"process {os.getpid()} .building. is at work here"),
        exclusive(target, "building", wait=0.1),
    ):
        pytest.fail("two writers held one lock")


def test_a_collection_without_rows_is_a_shard_without_points(target: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "none.npy", np.empty((0, DIM), dtype=np.float32))
    assert build_edge(target, [], tmp_path / "none.npy") == 0
    with EdgePoints.open(target) as points:
        assert points.count((), "any", {}) == 0
        assert points.scroll(("a",), "all", {}, 5) == points.nearest(ROWS[0], {}, 5) == points.bm25(("a",), {}, 5) == []
        assert list(points.all_points()) == []
