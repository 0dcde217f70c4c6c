"""The collection `pydoc` cut down to a few modules, made once a session: what the docs and a new record run on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

MODULES = ("bisect", "heapq", "textwrap")
TOPICS = ("assert", "break", "with")


@contextmanager
def small_pydoc(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Within it, `pydoc` in this process means MODULES and TOPICS."""
    from pydoc_data.topics import topics

    from workbench.sources import pydoc

    with patch.context() as patched:
        patched.setattr(pydoc, "CORE", MODULES)
        patched.setattr("pydoc_data.topics.topics", {name: topics[name] for name in TOPICS})
        yield


@cache
def small_pydoc_home(directory: Path) -> Path:
    """A home that holds the small collection under the name `pydoc`. Copy it before loading into it."""
    from workbench.stores.load import load

    with pytest.MonkeyPatch.context() as patch, small_pydoc(patch):
        patch.setenv("WORKBENCH_HOME", str(directory))
        load("pydoc", name="pydoc", progress=False)
    return directory
