"""Building the whole incident of ADR 0172 from nothing: minutes, peak memory and disk."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.harness import Row, at_most, benchmark

INCIDENT = "data/incidents/adr-0172.toml"
GB = 1e9


@benchmark("replica")
def replica() -> Iterator[Row]:
    """A load in a process and a home of its own, no embedding cached; both processes' peaks are summed, as if at once."""
    with tempfile.TemporaryDirectory() as home:
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.replica"], check=True, capture_output=True, text=True,
            env={**os.environ, "WORKBENCH_HOME": home},
        )  # fmt: skip
        seconds = time.perf_counter() - start
        count, own, engine = map(int, done.stdout.split()[-3:])
        size = sum(f.stat().st_size for f in Path(home, "collections").rglob("*") if f.is_file())
    what = f"{count:,} memories from nothing"
    yield Row("replica/peak memory", (own + engine) / GB, "GB", at_most(6), f"{what}: {own / GB:.2f} for the catalog, {engine / GB:.2f} for the engine", 1)
    yield Row("replica/disk", size / GB, "GB", None, f"{what}, both stores", 1)
    yield Row("replica/minutes", seconds / 60, "min", None, what, 1)


def _build() -> None:
    from workbench.settings import project_root
    from workbench.stores.loader import load

    loaded = load(str(project_root() / INCIDENT), name="adr-0172", progress=False)
    peaks = (resource.getrusage(who).ru_maxrss * 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(loaded.counts["chunks"], *peaks)


if __name__ == "__main__":
    _build()
