"""One small world of notes behind every engine."""

from __future__ import annotations

import pytest
from helpers.notes_world import FakeEmbedder, World, notes

from workbench.retrieval.notes.duck import DuckNotes
from workbench.retrieval.notes.search import Notes


@pytest.fixture(scope="session")
def notes_world() -> World:
    return World(notes())


@pytest.fixture(scope="session")
def notes_catalog(notes_world, tmp_path_factory):
    with notes_world.catalog(tmp_path_factory.mktemp("notes")) as catalog:
        yield catalog.path


@pytest.fixture(scope="session")
def duck(notes_catalog):
    with Notes(DuckNotes.open(notes_catalog), FakeEmbedder()) as opened:
        yield opened
