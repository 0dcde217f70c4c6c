"""Reading staged vectors: two threads of one load never read a header at once."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workbench.stores.vectors.checks import read_vectors


def test_two_threads_take_turns_at_a_header(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy parses it by `ast`, which fails in CPython 3.11 where two threads do; when is chance, so turns are watched."""
    path, load, inside, most = tmp_path / "v.npy", np.load, [0], [0]
    np.save(path, np.ones((3, 4), np.float32))

    def watched(*args: Any, **kwargs: Any) -> Any:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        time.sleep(0.01)
        inside[0] -= 1
        return load(*args, **kwargs)

    monkeypatch.setattr(np, "load", watched)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(read_vectors, [path] * 8))
    assert most == [1] and all(rows.shape == (3, 4) for rows in found)
