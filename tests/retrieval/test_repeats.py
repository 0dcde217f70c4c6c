"""A repeated query term counts as often as it occurs; ADR 0172's lists count it once."""

from __future__ import annotations

import pytest
from helpers.made_collection import Document, made_collection

from workbench.analysis.explain.absences import lexical_rank
from workbench.retrieval.frozen import freeze
from workbench.retrieval.variant import variant
from workbench.types import Query

DOCS = [
    Document(1, "red red green", "a", "a", 40),
    Document(2, "blue blue green", "b", "a", 50),
    Document(3, "green", "c", "b", 60),
    Document(4, "red blue", "d", "b", 70),
    Document(5, "blue", "e", "b", 80),
]
ASKED = ("red blue red red", "blue red blue blue blue")


def lexical(text: str, spec: str):
    """The lexical list of a variant."""
    return made_collection(DOCS).search(Query(text), spec, with_chunks=False).lists[0]


@pytest.mark.parametrize("text", ASKED)
@pytest.mark.parametrize(
    "spec", ["bm25_ranking", "bm25_order", "adr_0172(repeats=true)", "adr_0005(repeats=true)"]
)
def test_bm25_counts_a_repeated_term_as_often_as_it_occurs(text: str, spec: str) -> None:
    catalog = made_collection(DOCS).stores.catalog
    one = {t: catalog.bm25_of([d.id for d in DOCS], [t]) for t in ("red", "blue")}
    expected = {d.id: sum(one[t].get(d.id, 0.0) for t in text.split()) for d in DOCS}
    found = lexical(text, spec)
    assert dict(zip(found.ids, found.scores, strict=True)) == pytest.approx(
        {i: s for i, s in expected.items() if s}
    )


@pytest.mark.parametrize("text", ASKED)
@pytest.mark.parametrize("spec", ["adr_0172", "adr_0005"])
def test_the_records_lists_count_distinct_terms(text: str, spec: str) -> None:
    once = " ".join(dict.fromkeys(text.split()))
    assert lexical(text, spec) == lexical(once, spec) != lexical(text, f"{spec}(repeats=true)")


@pytest.mark.parametrize("text", ASKED)
@pytest.mark.parametrize(
    "spec", ["bm25_ranking", "bm25_order", "adr_0172(repeats=true)", "adr_0172"]
)
def test_frozen_lists_and_true_ranks_count_alike(text: str, spec: str) -> None:
    collection, chosen = made_collection(DOCS), variant(spec)
    fresh = collection.search(Query(text), chosen, with_chunks=False)
    assert freeze(collection, Query(text), chosen).replay(chosen).lists == fresh.lists
    if spec == "bm25_ranking":
        ranks = fresh.lists[0].ranks()
        assert {
            d.id: lexical_rank(collection, Query(text), chosen.lexical, ["red"], d.id).rank
            for d in DOCS
        } == {d.id: ranks.get(d.id) for d in DOCS}
