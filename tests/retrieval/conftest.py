"""A collection whose right answers are computed in plain Python: random words, random unit vectors, two projects."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass

import numpy as np
import pytest
from helpers.made_sources import source_of

from workbench.text import DEFAULT
from workbench.types import Chunk, Facets

WORDS = ["alpha", "beta", "gamma", "delta", "eins", "zwei", "drei", "vier", "fünf", "sechs"]
SIZE = 400
DIM = 384


@dataclass(frozen=True)
class World:
    """The made chunks by id, their term lists, and their vectors."""

    chunks: dict[int, Chunk]
    terms: dict[int, list[str]]
    vectors: np.ndarray

    def holding(self, terms: list[str], match: str, filters: dict | None = None) -> list[int]:
        """Ids, ascending, of the chunks that hold any / all of the terms within a project filter."""
        test = any if match == "any" else all
        project = (filters or {}).get("project")
        return [
            i for i, held in sorted(self.terms.items())
            if test(t in held for t in terms) and (project is None or self.chunks[i].facets.project == project)
        ]  # fmt: skip


def make_world(seed: int = 5) -> World:
    chance = random.Random(seed)
    chunks = {}
    for i in range(1, SIZE + 1):
        words = chance.choices(WORDS, weights=range(len(WORDS), 0, -1), k=chance.randint(2, 9))
        text = " ".join(words) + ("  Alpha\tBETA gamma" if i % 37 == 0 else "")
        chunks[i] = Chunk(i, f"e{i}", 0, text, title=words[0], source=f"notes/{i}.md",
                          facets=Facets(project="even" if i % 2 == 0 else "odd"))  # fmt: skip
    vectors = np.random.default_rng(seed).normal(size=(SIZE, DIM)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return World(chunks, {i: DEFAULT.terms(c.text) for i, c in chunks.items()}, vectors)


@pytest.fixture(scope="session")
def world() -> World:
    return make_world()


@pytest.fixture(scope="session")
def world_home(world: World, tmp_path_factory: pytest.TempPathFactory):
    from workbench.stores.load import load

    directory = tmp_path_factory.mktemp("world-home")
    with pytest.MonkeyPatch.context() as patch:
        for variable in [v for v in os.environ if v.startswith("WORKBENCH_")]:
            patch.delenv(variable)
        patch.setenv("WORKBENCH_HOME", str(directory))
        source = source_of(world.chunks.values(), vectors=lambda embed: iter([world.vectors]))
        load(source, name="world", progress=False, sparse=True)
    return directory


@pytest.fixture
def collection(world_home, monkeypatch, _no_settings):
    from workbench.retrieval.search import open_collection

    monkeypatch.setenv("WORKBENCH_HOME", str(world_home))
    with open_collection("world") as opened:
        yield opened
