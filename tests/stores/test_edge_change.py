"""The law of a changed shard: its points are those that stood, less some and with others, and every count and score is
that of a shard built of them."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from helpers.passing import passing_directory
from helpers.points_corpus import write_staging
from helpers.whole_state import points

from workbench.stores.points.edge import EdgePoints
from workbench.stores.points.edge_build import build_edge, change_edge
from workbench.stores.seal import DamagedPoints
from workbench.types import Chunk, Facets

# A long vector makes the engine merge few points into a segment that is not written to any more, as it does with many.
DIM, COUNT = 4096, 800
WORDS = ("ferry", "harbour", "crane", "noon", "tea")
TERMS = WORDS[:3]


def chunk(number: int, id_: int | None = None) -> Chunk:
    words = [WORDS[(number * 7 + n) % 5 if n % 3 else number % 4] for n in range(number % 9 + 1)]
    facets = Facets("ab"[number % 2], tags=("x",) * (number % 3 == 0), created=f"2026-0{number % 9 + 1}-01")
    return Chunk(number if id_ is None else id_, f"e{id_ or number}", 0, " ".join(words), facets=facets)


def unit(count: int, seed: int) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=(count, DIM))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


STANDING = [chunk(n) for n in range(COUNT)]
VECTORS = unit(COUNT, 1)


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A shard of STANDING, its points in a segment that is complete."""
    where = tmp_path_factory.mktemp("standing")
    build_edge(where / "points", *write_staging(where / "staged", STANDING, VECTORS), facets_indexed_from=1)
    return where / "points"


def whole(directory: Path) -> dict:
    with EdgePoints.open(directory) as found:
        return points(found, TERMS, VECTORS[3].tolist())


def snapshot(directory: Path) -> dict[str, bytes]:
    return {p.relative_to(directory).as_posix(): p.read_bytes() for p in directory.rglob("*") if p.is_file()}


def test_a_changed_shard_is_as_one_built_of_its_points_and_the_standing_one_stays(standing: Path, tmp_path: Path) -> None:
    before = snapshot(standing)
    removed, fresh = list(range(0, COUNT, 90)), [chunk(n, COUNT + n) for n in range(12)]
    added = unit(len(fresh), 2)
    kept = [n for n in range(COUNT) if n not in removed]
    staged = write_staging(tmp_path / "fresh", fresh, added)
    assert change_edge(tmp_path / "changed", standing, removed, *staged, len(kept) + len(fresh)) == len(kept) + len(fresh)
    every = write_staging(tmp_path / "every", [STANDING[n] for n in kept] + fresh, np.concatenate([VECTORS[kept], added]))
    build_edge(tmp_path / "built", *every, facets_indexed_from=1)
    assert whole(tmp_path / "changed") == whole(tmp_path / "built")
    assert snapshot(standing) == before


def test_a_shard_may_be_changed_again_and_again_and_only_be_deleted_from(standing: Path, tmp_path: Path) -> None:
    nothing = write_staging(tmp_path / "nothing", [], np.empty((0, DIM), np.float32))
    kept = list(range(COUNT))
    for step in range(3):
        removed, kept = kept[step::11], [n for n in kept if n not in kept[step::11]]
        change_edge(tmp_path / f"{step}", tmp_path / f"{step - 1}" if step else standing, removed, *nothing, len(kept))
    build_edge(tmp_path / "built", *write_staging(tmp_path / "every", [STANDING[n] for n in kept], VECTORS[kept]))
    assert whole(tmp_path / "2") == whole(tmp_path / "built")


def test_facets_are_indexed_when_there_are_enough_points_for_it(tmp_path: Path) -> None:
    few, more = STANDING[:4], [chunk(n) for n in range(4, 8)]
    build_edge(tmp_path / "few", *write_staging(tmp_path / "a", few, VECTORS[:4]), facets_indexed_from=8)
    change_edge(tmp_path / "more", tmp_path / "few", [], *write_staging(tmp_path / "b", more, VECTORS[4:8]), 8, facets_indexed_from=8)
    build_edge(tmp_path / "built", *write_staging(tmp_path / "c", STANDING[:8], VECTORS[:8]), facets_indexed_from=8)

    def indexed(directory: Path) -> set[str]:
        import qdrant_edge as edge

        shard = edge.EdgeShard.load(str(directory))
        names = set(shard.info().payload_schema)
        shard.close()
        return names

    assert indexed(tmp_path / "few") == {"terms"} < indexed(tmp_path / "more") == indexed(tmp_path / "built")
    assert whole(tmp_path / "more") == whole(tmp_path / "built")


def test_the_holes_of_the_files_are_copied_as_holes(standing: Path, tmp_path: Path) -> None:
    nothing = write_staging(tmp_path / "nothing", [], np.empty((0, DIM), np.float32))
    change_edge(tmp_path / "changed", standing, [], *nothing, COUNT)

    def taken(directory: Path) -> int:
        return sum(p.stat().st_blocks * 512 for p in directory.rglob("*") if p.is_file())

    assert taken(tmp_path / "changed") < 1.2 * taken(standing) + (1 << 20)


def test_a_shard_that_another_process_closes_meanwhile_is_copied_whole(standing: Path, tmp_path: Path) -> None:
    nothing = write_staging(tmp_path / "nothing", [], np.empty((0, DIM), np.float32))
    segments = sorted(p.parent for p in standing.rglob("segment.json"))
    with ExitStack() as stack:
        for segment in segments:
            stack.enter_context(passing_directory(segment))
        for n in range(3):
            assert change_edge(tmp_path / f"changed{n}", standing, [], *nothing, COUNT) == COUNT
            assert not list((tmp_path / f"changed{n}").rglob(".atomicwrite*"))


def test_a_wrong_count_is_refused_and_nothing_is_left(standing: Path, tmp_path: Path) -> None:
    nothing = write_staging(tmp_path / "nothing", [], np.empty((0, DIM), np.float32))
    with pytest.raises(Exception, match=f"holds {COUNT - 1} points instead of {COUNT}"):
        change_edge(tmp_path / "changed", standing, [0], *nothing, COUNT)
    assert not (tmp_path / "changed").exists() and not (tmp_path / "changed.building").exists()


def test_a_standing_shard_that_is_gone_is_said(tmp_path: Path) -> None:
    nothing = write_staging(tmp_path / "nothing", [], np.empty((0, DIM), np.float32))
    with pytest.raises(Exception, match="there is nothing here"):
        change_edge(tmp_path / "changed", tmp_path / "gone", [], *nothing, 0)
    with pytest.raises(DamagedPoints, match="stands here already"):
        change_edge(tmp_path, tmp_path / "gone", [], *nothing, 0)


def test_an_open_reader_sees_the_shard_that_it_opened(standing: Path, tmp_path: Path) -> None:
    nothing = write_staging(tmp_path / "nothing", [], np.empty((0, DIM), np.float32))
    with EdgePoints.open(standing) as found:
        reading = threading.Thread(target=change_edge, args=(tmp_path / "changed", standing, [5], *nothing, COUNT - 1))
        reading.start()
        while reading.is_alive():
            assert found.count((), "any", {}) == COUNT
            time.sleep(0.02)
        reading.join()
    assert len(whole(tmp_path / "changed")["points"]) == COUNT - 1
