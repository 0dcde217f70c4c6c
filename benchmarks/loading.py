"""Loading against the engines' own bulk loads, memory beyond theirs, and embedding against fastembed's defaults."""

from __future__ import annotations

import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from benchmarks.harness import Row, at_least, at_most, benchmark

CHUNKS = 100_000
SETTLED_CHUNKS = 20_000
EMBEDDED = 200
FASTEMBED_DEFAULT = EMBEDDED  # one batch of its default 256: longest text pads all
SEED = 7
MIB = 1 << 20


@cache
def texts() -> tuple[str, ...]:
    """Real texts of mixed length: the documentation of Python's standard library."""
    from workbench.sources.readers import open_source

    return tuple(c.text for c in open_source("pydoc", scope="all").chunks() if c.text.strip())


def made(count: int):
    """A source of `count` chunks of real text, each with a serial number, and seeded unit vectors."""
    import numpy as np

    from workbench.sources.base import Source
    from workbench.types import Chunk, Facets

    def chunks() -> Iterator[Chunk]:
        for n in range(count):
            text = texts()[n % len(texts())]
            yield Chunk(n, f"d{n}", 0, f"{n} {text}", f"document {n}", f"made/{n}.md",
                        facets=Facets(project=f"p{n % 7}", tags=("a", "b"), created="2026-01-02"))  # fmt: skip

    def vectors(embed):
        rng = np.random.default_rng(SEED)
        for start in range(0, count, 1000):
            rows = rng.standard_normal((min(1000, count - start), 384)).astype(np.float32)
            yield rows / np.linalg.norm(rows, axis=1, keepdims=True)

    return Source("bench", "made", {"count": count}, chunks, vectors=vectors, count=count)


@benchmark("loading")
def loading() -> Iterator[Row]:
    """A load of both stores over the sum of the engines' own bulk loads of the same prepared parts."""
    for count in (SETTLED_CHUNKS, CHUNKS):
        with tempfile.TemporaryDirectory() as folder:
            ours, theirs = _load(count, Path(folder)), _bulk_loads(count, Path(folder))
        yield Row(f"loading/{count // 1000}k chunks", ours / theirs, "×", at_most(1.5), "both engines' own bulk loads, in turn")


@benchmark("loading-memory")
def loading_memory() -> Iterator[Row]:
    """Peak memory of a load's own process beyond the engines': DuckDB's bulk load alone in a process of its own."""
    ours, theirs = (_peak(what) for what in ("load", "catalog"))
    yield Row("loading-memory/beyond the engines", (ours - theirs) / MIB / 1024, "GiB", at_most(2), f"DuckDB's own bulk load ({theirs / MIB:,.0f} MiB)")
    yield Row("loading-memory/whole process", ours / MIB / 1024, "GiB", None, f"{CHUNKS:,} chunks, the engine's subprocess apart")


@benchmark("embedding")
def embedding() -> Iterator[Row]:
    """Texts a second over fastembed's default settings on texts of mixed length."""
    from fastembed import TextEmbedding

    from workbench.stores.vectors.embedder import Embedder
    from workbench.stores.vectors.model_files import PACKAGED_EMBEDDER, locate_packaged
    from workbench.stores.vectors.models import find_model, open_model

    chosen = random.Random(SEED).sample(texts(), EMBEDDED)
    model = find_model()
    embedder = Embedder(model)
    embedder.embed(chosen[:4])
    start = time.perf_counter()
    embedder.embed(chosen)
    ours = EMBEDDED / (time.perf_counter() - start)
    embedder.close()
    open_model(model)  # registers the packaged files with fastembed
    default = TextEmbedding(f"workbench/{model.key}", specific_model_path=str(locate_packaged(PACKAGED_EMBEDDER).directory))
    list(default.embed(chosen[:1]))
    start = time.perf_counter()
    list(default.embed(chosen[:FASTEMBED_DEFAULT]))
    theirs = FASTEMBED_DEFAULT / (time.perf_counter() - start)
    yield Row("embedding/texts a second", ours / theirs, "×", at_least(8), f"fastembed's defaults ({theirs:.1f} a second)", EMBEDDED)


def _load(count: int, folder: Path) -> float:
    from workbench.stores.load import load

    os.environ["WORKBENCH_HOME"] = str(folder / "home")
    start = time.perf_counter()
    load(made(count), name="bench", progress=False)
    return time.perf_counter() - start


def _bulk_loads(count: int, folder: Path) -> float:
    from workbench.stores.catalog.build import build_catalog
    from workbench.stores.points.edge_build import build_edge

    parts, vectors = _prepared(count, folder)
    start = time.perf_counter()
    build_catalog(folder / "own.duckdb", parts, vectors)
    build_edge(folder / "own-points", parts, vectors)
    return time.perf_counter() - start


def _prepared(count: int, folder: Path) -> tuple[list[Path], Path]:
    """The parts and vectors that the engines load, made beforehand."""
    import numpy as np

    from workbench.stores.staging import parts_of, stage
    from workbench.text import DEFAULT

    source = made(count)
    stage(source, folder / "parts", DEFAULT, lambda _: None)
    np.save(folder / "vectors.npy", np.concatenate(list(source.vectors(None))))
    return parts_of(folder / "parts"), folder / "vectors.npy"


def _peak(what: str) -> int:
    """Peak resident bytes of a fresh process that does one of the two."""
    done = subprocess.run([sys.executable, "-m", "benchmarks.loading", what], check=True, capture_output=True, text=True)
    return int(done.stdout.split()[-1])


if __name__ == "__main__":
    where = Path(tempfile.mkdtemp())
    try:
        if sys.argv[1] == "load":
            _load(CHUNKS, where)
        else:
            from workbench.stores.catalog.build import build_catalog

            done, vectors = _prepared(CHUNKS, where)
            build_catalog(where / "own.duckdb", done, vectors)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
    finally:
        shutil.rmtree(where)
