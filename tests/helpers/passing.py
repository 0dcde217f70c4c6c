"""What another process does to a shard by closing it, again and again: the race of a listing with what it lists."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def passing_directory(segment: Path) -> Iterator[None]:
    """While the context is open, a thread makes and removes the directory of an atomic write beside the segment's files."""
    stop = threading.Event()

    def churn() -> None:
        while not stop.is_set():
            passing = segment / ".atomicwriteT3st"
            passing.mkdir()
            (passing / "segment.json").write_text("{}")
            shutil.rmtree(passing)

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
