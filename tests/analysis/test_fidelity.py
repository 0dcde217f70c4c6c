"""The laws of fidelity: true vectors are found true, bent ones are found bent, where it matters."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.made_sources import chunks_of, source_of

from workbench.analysis.capture.fidelity import fidelity
from workbench.errors import BadParameter
from workbench.retrieval.search import open_collection
from workbench.sources.base import JudgedQuery, Qrel
from workbench.stores.load import load

TEXTS = (
    "the ferry leaves the harbour at nine", "a harbour pilot boards the ferry", "green tea is steeped for two minutes",
    "coffee is brewed with hot water", "the plum tree has rust on its leaves", "the choir enters a bar early",
)  # fmt: skip
QUERY = "when does the ferry leave the harbour"


def loaded(name: str, vectors=None) -> None:
    load(
        source_of(
            chunks_of(*TEXTS, first=1), vectors=vectors,
            queries=(JudgedQuery("q", QUERY),), qrels=(Qrel("q", chunks_of(*TEXTS, first=1)[0].entity_id, 1),),
        ),
        name=name, progress=False,
    )  # fmt: skip


def bent(embed):
    """The true vectors, the last one turned onto the query."""
    vectors = embed(TEXTS).copy()
    vectors[5] = embed([QUERY])[0]
    yield vectors


def test_embedded_vectors_are_true(home: Path) -> None:
    loaded("true")
    with open_collection("true") as collection:
        found = fidelity(collection)
    assert (found.sample, found.composed, found.document_mean) == (6, 0, 1.0)
    (query,) = found.queries
    assert query.true_mean == pytest.approx(query.stored_mean, abs=1e-6) and query.correlation == pytest.approx(1)
    assert (query.composed_in_first, query.of_those_true, query.target_rank, query.overlap) == (0, 0, 1, None)


def test_a_vector_bent_towards_the_query_is_seen_in_cosines_first_rows_and_target_rank(home: Path) -> None:
    loaded("true")
    loaded("bent", bent)
    with open_collection("bent") as collection, open_collection("true") as exact:
        found = fidelity(collection, exact=exact)
    assert found.composed == 1 and found.document_mean < 0.9
    (query,) = found.queries
    assert query.stored_mean > query.true_mean and query.stored_spread > query.true_spread
    assert query.composed_in_first == 1
    assert (query.target_rank, query.exact_target_rank) == (2, 1)
    assert query.overlap == 1.0  # six rows, all of them among the first 256


def test_an_exact_collection_of_other_chunks_is_refused(home: Path) -> None:
    loaded("true")
    load(source_of(chunks_of("one", "two", first=50)), name="other", progress=False)
    with open_collection("true") as a, open_collection("other") as b, pytest.raises(BadParameter, match="does not hold the chunks"):
        fidelity(a, exact=b)


def test_the_sample_is_chosen_by_its_seed(home: Path) -> None:
    loaded("bent", bent)
    with open_collection("bent") as collection:
        first, again = (fidelity(collection, sample=3, seed=4) for _ in range(2))
    assert first == again and first.sample == 3
    assert np.isfinite([q.true_mean for q in first.queries]).all()
