"""The laws of composed vectors: true where it matters, spread as true ones are, the same in any batch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.made_incident import DIM, embed, incident_file

from workbench.sources.readers import open_source
from workbench.sources.replica.incident import FILLER, make_layout
from workbench.sources.replica.spec import SpecError, read_incident
from workbench.sources.replica.vectors import Composer


@pytest.fixture(scope="module")
def composer(tmp_path_factory: pytest.TempPathFactory) -> Composer:
    incident = read_incident(incident_file(tmp_path_factory.mktemp("incident")))
    return Composer(make_layout(incident, incident.seed), embed)


def test_every_vector_is_finite_float32_and_of_unit_length(tmp_path: Path) -> None:
    batches = list(open_source(incident_file(tmp_path)).vectors(embed))
    vectors = np.concatenate(batches)
    assert vectors.shape == (600, DIM) and vectors.dtype == np.float32
    assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max() < 1e-5


def test_target_and_groups_have_the_vectors_of_their_whole_texts(tmp_path: Path) -> None:
    path = incident_file(tmp_path)
    source, incident = open_source(path), read_incident(path)
    layout = make_layout(incident, incident.seed)
    vectors, texts = np.concatenate(list(source.vectors(embed))), [c.text for c in source.chunks()]
    whole = np.flatnonzero(layout.plan.make[layout.order] != FILLER)
    assert len(whole) == 60 + 30 + 2
    assert np.array_equal(vectors[whole], embed([texts[i] for i in whole]))


def test_a_decoy_is_embedded_whole(tmp_path: Path) -> None:
    source = open_source(incident_file(tmp_path), decoy=True)
    texts = [c.text for c in source.chunks()]
    vectors = np.concatenate(list(source.vectors(embed)))
    assert int((np.abs(vectors - embed(texts)).max(1) < 1e-6).sum()) == 60 + 30 + 2 + 1


def test_a_composed_vector_does_not_hang_on_its_batch(composer: Composer) -> None:
    items = np.arange(200, 300)
    whole = composer.vectors(items)
    assert np.allclose(np.concatenate([composer.vectors(items[i : i + 7]) for i in range(0, 100, 7)]), whole, atol=1e-6)


def test_composed_vectors_spread_along_a_query_as_true_ones_do(composer: Composer) -> None:
    filler = np.flatnonzero(~composer.whole)
    true, made = composer.true(filler), composer.vectors(filler)
    for text in ("the write-ahead log grows", "Call 2025-04-04 08:35", "who looks after the tomato bed"):
        query = embed([text])[0]
        a, b = true @ query, made @ query
        assert abs(a.mean() - b.mean()) < 0.02
        assert 0.8 < b.std() / a.std() < 1.25
    assert (true * made).sum(1).mean() > 0.9


def test_composed_vectors_are_nobodys_exact_copy(composer: Composer) -> None:
    filler = np.flatnonzero(~composer.whole)
    made = composer.vectors(filler)
    near = made @ made.T - np.eye(len(made))
    assert (near > 0.99999).sum() <= 0.02 * len(made)


def test_exact_vectors_leave_the_embedding_to_the_loader(tmp_path: Path) -> None:
    assert open_source(incident_file(tmp_path), vectors="exact").vectors is None


def test_a_target_that_may_stand_in_the_semantic_list_is_an_error(tmp_path: Path) -> None:
    asked = ('lexically_first = ["title"]', 'outside_semantic = ["title"]')
    kept = incident_file(tmp_path, asked)
    assert sum(len(b) for b in open_source(kept).vectors(embed)) == 600
    few = incident_file(tmp_path, asked, ("semantic = 40", "semantic = 95"))
    with pytest.raises(SpecError, match="chunks that were embedded whole are nearer to query 'title'"):
        list(open_source(few).vectors(embed))
