"""The law of an update: afterwards a collection is, to the last bit, what a load of the same chunks under the same ids
makes; and the law of ids."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.made_sources import chunks_of, source_of
from helpers.made_updates import (
    FACETS,
    FIRST,
    HIGHEST,
    LINKS,
    QRELS,
    QUERIES,
    UUIDS,
    Documents,
    Oracle,
    changed,
    first_source,
    linked,
    texts_in,
)
from helpers.whole_state import snapshot, state
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from workbench.stores.collections import open_stores
from workbench.stores.load import load
from workbench.stores.update import update
from workbench.types import Chunk

WORDS = ("ferry", "harbour", "crane", "tea", "noon", "ședință", "2026", "the")
TERMS = ("ferry", "harbour", "crane", "sedinta")
DOCUMENTS = [(kind, f"e{n}") for n in range(6) for kind in ("entity", "observation")]

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
contents = st.lists(
    st.builds(Chunk, st.just(0), st.just(""), st.just(0), texts, st.sampled_from(("", "Ferry", "Tea ferry")),
              facets=st.sampled_from(FACETS), links=st.sampled_from(LINKS)),
    min_size=1, max_size=3,
)  # fmt: skip
changes = st.dictionaries(st.sampled_from(DOCUMENTS), contents, max_size=4)
deletions = st.sets(st.sampled_from([e for _, e in DOCUMENTS]), max_size=2)


def documents(given_: Documents, deleted: set[str]) -> Documents:
    return {
        (kind, entity): [replace(c, entity_id=entity, chunk_index=n, source_type=kind) for n, c in enumerate(found)]
        for (kind, entity), found in given_.items() if entity not in deleted
    }  # fmt: skip


def as_read(found: Documents) -> Iterator[Chunk]:
    """As a reader hands them over: ids count what was read."""
    every = (chunk for chunks in found.values() for chunk in chunks)
    return (replace(chunk, id=n) for n, chunk in enumerate(every, 1))


# An example takes seconds: a failing one is shown as it was found, not shrunk.
@settings(max_examples=5, deadline=None, phases=[Phase.explicit, Phase.generate], suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(changes, deletions), min_size=1, max_size=3))
def test_after_any_updates_all_is_as_a_load_of_the_same_chunks_makes_it(prepared_for_updates: Path, home: Path, asked) -> None:
    linked(prepared_for_updates, home)
    oracle = Oracle()
    for given_, deleted in asked:
        found = documents(given_, deleted)
        after = oracle.after(found, deleted)
        if after.chunks:
            update("c", source_of(as_read(found)), delete=deleted, missing_ok=True, progress=False)
            oracle = after
    load(source_of(oracle.whole, queries=QUERIES, qrels=QRELS), name="fresh", progress=False)
    assert state("c", TERMS) == state("fresh", TERMS)


def test_a_chunk_that_stays_keeps_its_id_and_a_new_one_comes_after_every_id_that_ever_was(updatable: Path) -> None:
    same = FIRST[0]
    done = update("c", source_of([same, replace(FIRST[1], id=10, text="the crane works")]), progress=False)
    assert (done.added, done.changed, done.deleted, done.unchanged) == (0, 1, 0, 0)
    first = HIGHEST + 1
    assert texts_in("c") == {3: same.text, 9: FIRST[2].text, HIGHEST: FIRST[3].text, first: "the crane works",
                             UUIDS[0]: FIRST[4].text, UUIDS[1]: FIRST[5].text}  # fmt: skip
    update("c", delete=["e0"], progress=False)
    done = update("c", changed("e0", "tea"), progress=False)
    assert done.added == 1 and first not in texts_in("c") and texts_in("c")[first + 1] == "tea"
    assert done.manifest.updates["highest"] == first + 1 and done.manifest.updates["number"] == 3


def test_a_text_that_was_embedded_is_not_embedded_again(updatable: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.stores.vectors.embedder.open_model", _refuse)
    update("c", changed("e1", FIRST[2].text, title="Another title"), delete=["e3"], progress=False)
    with open_stores("c") as stores:
        new, old = stores.catalog.entity("e1")[0], stores.catalog.entity("e0")[0]
        assert stores.catalog.vectors([new, old]).any(axis=1).all()


def _refuse(*_: object) -> None:
    raise AssertionError("the model was opened")


def test_the_same_documents_again_change_nothing(updatable: Path) -> None:
    before = snapshot(updatable)
    done = update("c", source_of(FIRST[:3]), progress=False)
    assert (done.unchanged, done.added, done.changed, done.deleted) == (2, 0, 0, 0)
    assert update("c", source=source_of(FIRST), progress=False).unchanged == 5
    assert update("c", progress=False).manifest == done.manifest and snapshot(updatable) == before


def test_equal_contents_have_equal_hashes_whatever_the_way_and_others_have_others(updatable: Path) -> None:
    before = update("c", progress=False).manifest
    one = update("c", changed("e9", "ferry", "noon"), progress=False).manifest
    back = update("c", delete=["e9"], progress=False).manifest
    assert one.content_hash != before.content_hash == back.content_hash
    assert one.updates["before"] == one.updates["loaded"] == before.content_hash
    assert back.updates["before"] == one.content_hash and back.updates["number"] == 2
    assert load(first_source(), name="c", progress=False) == back, "nothing is left to load"


def test_points_with_sparse_weights_are_all_made_anew(home: Path) -> None:
    for name, chunks in (("s", chunks_of("the ferry", "tea and harbour")), ("fresh", chunks_of("the ferry", "tea", first=0))):
        load(source_of(chunks), name=name, sparse=True, progress=False)
    update("s", changed("e1", "tea"), progress=False)
    with open_stores("s") as one, open_stores("fresh") as other:
        assert one.manifest.engines == other.manifest.engines
        found, expected = ([s for _, s in stores.points.sparse(["ferry", "tea"], {}, 9)] for stores in (one, other))
        assert found == expected and len(found) == 2


def test_composed_vectors_stay_and_new_chunks_are_the_models(home: Path, embedder) -> None:
    def compose(embed):
        yield embed(["one", "two"])

    load(source_of(chunks_of("a ferry", "a crane"), vectors=compose), name="v", progress=False)
    done = update("v", changed("e1", "tea"), progress=False)
    assert done.manifest.vectors == "composed"
    with open_stores("v") as stores:
        assert stores.catalog.vectors(list(texts_in("v"))).tobytes() == embedder.embed(["one", "tea"]).tobytes()


@pytest.mark.parametrize("sparse", [False, True])
def test_a_second_models_vectors_are_updated_beside_the_first_ones(home: Path, other: str, sparse: bool) -> None:
    for name, texts_ in (("c", ("the ferry", "a crane")), ("fresh", ("the ferry", "tea"))):
        load(source_of(chunks_of(*texts_)), name=name, also=other, sparse=sparse, progress=False)
    update("c", changed("e1", "tea"), progress=False)
    with open_stores("c") as one, open_stores("fresh") as other:
        query = other.also.embed_query("tea")
        for space in ("", "also"):
            held = [stores.catalog.vectors(stores.catalog.ids_where(), space=space).tobytes() for stores in (one, other)]
            assert held[0] == held[1]
        scores = [[s for _, s in stores.points.nearest(query, {}, 9, space="also")] for stores in (one, other)]
        assert scores[0] == scores[1] and len(scores[0]) == 2
