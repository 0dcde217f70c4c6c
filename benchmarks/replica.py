"""Building the whole incident of ADR 0172 from nothing: minutes, peak memory and disk."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.harness import Row, at_most, benchmark

INCIDENT = "data/incidents/adr-0172.toml"
GB = 1e9
EVERY_SECONDS = 0.25
BLOCK = 512  # what st_blocks counts in


@benchmark("replica")
def replica() -> Iterator[Row]:
    """A load in a process and a home of its own, no embedding cached. The memory is that of all its processes at once,
    sampled; pages they share, and files they map, count once."""
    with tempfile.TemporaryDirectory() as home:
        start = time.perf_counter()
        load = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.replica"], stdout=subprocess.PIPE, text=True,
            env={**os.environ, "WORKBENCH_HOME": home},
        )  # fmt: skip
        peak, own = _peak(load)
        seconds = time.perf_counter() - start
        printed, _ = load.communicate()
        if load.returncode != 0:
            raise RuntimeError(f"the load ended with {load.returncode}")
        count = int(printed)
        # The engine's files are sparse: what they take is less than what they say.
        size = sum(f.stat().st_blocks * BLOCK for f in Path(home, "collections").rglob("*") if f.is_file())
    what = f"{count:,} memories from nothing"
    yield Row("replica/peak memory", peak / GB, "GB", at_most(6), f"{what}; without the files that are mapped {own / GB:.1f} GB", 1)
    yield Row("replica/disk", size / GB, "GB", None, f"{what}, both stores", 1)
    yield Row("replica/minutes", seconds / 60, "min", None, what, 1)


def _peak(process: subprocess.Popen[str]) -> tuple[int, int]:
    """The most bytes that a process and its children held together until it ended, and the most that was theirs alone."""
    import psutil

    peak = own = 0
    root = psutil.Process(process.pid)
    while process.poll() is None:
        held = []
        for one in (root, *root.children(recursive=True)):
            try:
                held.append(one.memory_full_info())
            except psutil.Error:  # it ended meanwhile
                continue
        peak = max(peak, sum(getattr(m, "pss", m.rss) for m in held))
        own = max(own, sum(m.rss - getattr(m, "shared", 0) for m in held))
        time.sleep(EVERY_SECONDS)
    return peak, own


def _build() -> None:
    from workbench.settings import project_root
    from workbench.stores.load import load

    print(load(str(project_root() / INCIDENT), name="adr-0172", progress=False).counts["chunks"])


if __name__ == "__main__":
    _build()
