"""The readers on real public collections: the counts that their README states, and laws that hold on all of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from workbench.sources.base import Source
from workbench.sources.readers import open_source
from workbench.types import Chunk

pytestmark = pytest.mark.shared
Shared = Callable[[str], Path]


def read(path: Path, **options: object) -> tuple[list[Chunk], Source]:
    source = open_source(path, **options)
    chunks = list(source.chunks())
    assert [c.id for c in chunks] == list(range(1, len(chunks) + 1))
    assert len({c.key for c in chunks}) == len(chunks)
    return chunks, source


def test_scifact(shared_data: Shared) -> None:
    chunks, source = read(shared_data("scifact-beir"))
    assert (len(chunks), len(source.queries), len(source.qrels)) == (5_183, 300, 339)
    assert source.warnings == []
    assert all(c.text == f"{c.title}\n\n{c.text[len(c.title) + 2 :]}" for c in chunks)


@pytest.mark.parametrize("language", ["ro", "en"])
def test_xquad(shared_data: Shared, language: str) -> None:
    chunks, source = read(shared_data("xquad-ro-en") / f"xquad.{language}.json")
    assert (len(chunks), len(source.queries), len(source.qrels)) == (240, 1_190, 1_190)


def test_xquad_has_the_same_ids_in_both_languages(shared_data: Shared) -> None:
    (ro, a), (en, b) = (read(shared_data("xquad-ro-en") / f"xquad.{lang}.json") for lang in ("ro", "en"))
    assert [c.entity_id for c in ro] == [c.entity_id for c in en] and a.qrels == b.qrels


@pytest.mark.parametrize(
    ("name", "inside", "notes"),
    [("meetings-minutes", "", 359), ("vault-dendron", "", 1_016), ("vault-eips", "EIPS", 949)],
)
def test_notes(shared_data: Shared, name: str, inside: str, notes: int) -> None:
    root = shared_data(name) / inside
    chunks, source = read(root, observations=True, relations=True)
    entities = [c for c in chunks if c.source_type == "entity"]
    assert len({c.entity_id for c in entities}) == notes
    assert all(0 < len(c.text) <= 900 for c in entities)
    assert all(c.text.startswith(c.title) for c in entities if c.chunk_index == 0)
    paths = {c.entity_id for c in entities}
    assert all((root / path).is_file() for path in paths)
    assert all(c.facets.metadata["note"] in paths for c in chunks if c.source_type != "entity")
    assert not [w for w in source.warnings if "odd" in w or "cannot" in w]


def test_dated_titles_of_minutes_are_titles(shared_data: Shared) -> None:
    chunks, _ = read(shared_data("meetings-minutes"))
    assert sum("2019-" in c.title for c in chunks if c.chunk_index == 0) > 20


def test_links_of_a_vault_lead_to_its_notes(shared_data: Shared) -> None:
    chunks, _ = read(shared_data("vault-dendron"))
    ids = {c.entity_id for c in chunks}
    links = [target for c in chunks for kind, target in c.links if kind == "wikilink"]
    assert len(links) > 2_500 and sum(target in ids for target in links) > 0.9 * len(links)


def test_front_matter_of_a_vault_is_its_facets(shared_data: Shared) -> None:
    chunks, _ = read(shared_data("vault-eips") / "EIPS")
    first = [c for c in chunks if c.chunk_index == 0]
    assert {c.facets.status for c in first} >= {"Final", "Draft", "Stagnant", "Withdrawn"}
    assert sum(c.facets.created is not None for c in first) == 584
    assert all("eip" in c.facets.metadata for c in first)


def test_gitbugs(shared_data: Shared) -> None:
    chunks, source = read(shared_data("gitbugs-hadoop"))
    assert (len(chunks), len(source.queries), len(source.qrels)) == (2_503, 129, 134)
    assert all(q.attributes["self"] == q.id for q in source.queries)


def test_qmsum(shared_data: Shared) -> None:
    chunks, source = read(shared_data("qmsum"))
    known = {c.entity_id for c in chunks}
    assert len({c.facets.project for c in chunks}) == 70
    assert source.qrels and all(q.entity_id in known for q in source.qrels)
