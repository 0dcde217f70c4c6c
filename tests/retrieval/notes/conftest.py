"""One small world of notes behind every engine, each with its own full-text scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.notes_world import FakeEmbedder, World, notes

from workbench.retrieval.notes.duckdb import DuckNotes
from workbench.retrieval.notes.search import Notes
from workbench.retrieval.notes.sqlite import SqliteNotes, build_sqlite
from workbench.retrieval.search import Collection
from workbench.types import Chunk

ENGINES = ("duckdb", "sqlite")


def open_engine(name: str, catalog: Path, beside: Path) -> DuckNotes | SqliteNotes:
    """The engine over a catalog file; SQLite's file is made beside it."""
    if name == "duckdb":
        return DuckNotes.open(catalog)
    if not beside.exists():
        build_sqlite(catalog, beside)
    return SqliteNotes.open(beside)


@pytest.fixture(scope="session", params=ENGINES)
def engine_name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="session")
def notes_catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with World(notes()).catalog(tmp_path_factory.mktemp("notes")) as catalog:
        yield catalog.path


@pytest.fixture(scope="session")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    """The world as an opened collection, so that variants find it; what they need is made beside its catalog."""
    with World(notes()).collection(tmp_path_factory.mktemp("collection")) as opened:
        yield opened


@pytest.fixture(scope="session")
def notes_world(engine_name: str) -> World:
    """The oracle of the engine that the test runs on."""
    return World(notes(), engine=engine_name)


@pytest.fixture(scope="session")
def engine(engine_name: str, notes_catalog: Path) -> Iterator[Notes]:
    """The notes search on each engine."""
    with Notes(open_engine(engine_name, notes_catalog, notes_catalog.with_suffix(".sqlite")), FakeEmbedder()) as opened:
        yield opened


@pytest.fixture(scope="session")
def duck(notes_catalog: Path) -> Iterator[Notes]:
    with Notes(DuckNotes.open(notes_catalog), FakeEmbedder()) as opened:
        yield opened


@pytest.fixture(scope="session")
def duck_world() -> World:
    return World(notes())


@pytest.fixture
def opens(engine_name: str, tmp_path: Path) -> Callable[..., Any]:
    """`with opens(chunks, vectors, nearest_to=v) as notes`: these chunks behind the engine; every query is `v`."""

    @contextmanager
    def opened(chunks: Sequence[Chunk], vectors: np.ndarray | None = None, nearest_to: np.ndarray | None = None) -> Iterator[Notes]:
        class Fixed:
            def embed_query(self, text: str) -> np.ndarray:
                return nearest_to

        embedder = FakeEmbedder() if nearest_to is None else Fixed()
        with (
            World(chunks, vectors).catalog(tmp_path) as catalog,
            Notes(open_engine(engine_name, catalog.path, tmp_path / "notes.sqlite"), embedder) as notes_,
        ):
            yield notes_

    return opened
