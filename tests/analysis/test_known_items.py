"""A known-item query has exactly one right answer; whatever has more is dropped and counted."""

import random
from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.analysis.evaluate.known_items import (
    chunks_of,
    drawn,
    identifiers,
    is_identifier,
    spans,
    split,
    titles,
)
from workbench.errors import BadParameter
from workbench.sources.base import JudgedQuery
from workbench.text import verbatim_key
from workbench.types import Chunk

WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"]


def stream(*chunks):
    return lambda: iter(chunks)


def chunk(number, entity, text="", *, title="", index=0):
    return Chunk(id=number, entity_id=entity, chunk_index=index, text=text, title=title)


def test_every_title_is_a_query_for_its_document():
    found = titles(stream(chunk(0, "a", title="Sorting lists"), chunk(1, "b", title="Reading files")))
    assert [(q.id, q.text) for q in found.queries] == [
        ("title:a", "Sorting lists"),
        ("title:b", "Reading files"),
    ]
    assert [(r.query_id, r.entity_id, r.grade) for r in found.qrels] == [
        ("title:a", "a", 1),
        ("title:b", "b", 1),
    ]
    assert found.dropped == {} and found.judged(["a", "b"]).ids == ("title:a", "title:b")
    assert found.queries[0].attributes["kind"] == "title" and found.queries[0].attributes["terms"] == "2-3"


def test_titles_that_name_no_single_document_are_dropped_and_counted():
    found = titles(stream(
        chunk(0, "a", title="Meeting  notes"), chunk(1, "b", title="meeting notes"), chunk(2, "c", title=" "),
        chunk(3, "d", title="the"), chunk(4, "e", title="Only one"),
    ))  # fmt: skip
    assert [q.id for q in found.queries] == ["title:e"]
    assert found.dropped == {"title shared by several documents": 2, "no title": 1, "title without terms": 1}


def test_a_document_of_several_chunks_has_the_title_of_its_first():
    found = titles(stream(chunk(0, "a", title="second", index=1), chunk(1, "a", title="first", index=0)))
    assert [q.text for q in found.queries] == ["first"]


def test_a_limit_chooses_by_seed_and_counts_the_rest():
    many = stream(*(chunk(i, f"e{i}", title=f"title number {i}") for i in range(40)))
    one, again, other = titles(many, limit=10), titles(many, limit=10), titles(many, limit=10, seed=1)
    assert one == again and len(one.queries) == 10 and one.dropped == {"beyond the limit": 30}
    assert {q.id for q in one.queries} != {q.id for q in other.queries}


def test_a_query_set_does_not_depend_on_the_order_of_the_collection():
    chunks = [
        chunk(i, f"e{i}", f"text {i} " + " ".join(WORDS[i % 7 :]) + f" end{i}", title=f"t {i}")
        for i in range(20)
    ]
    turned = list(reversed(chunks))
    for make in (titles, spans, identifiers):
        one, other = make(stream(*chunks), limit=8), make(stream(*turned), limit=8)
        assert sorted(one.queries, key=lambda q: q.id) == sorted(other.queries, key=lambda q: q.id)
        assert dict(one.dropped) == dict(other.dropped)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.sampled_from(WORDS[:4]), max_size=12), min_size=1, max_size=5), st.integers(0, 3))
def test_a_span_stands_verbatim_in_its_document_and_in_no_other(texts, seed):
    chunks = [chunk(i, f"e{i // 2}", "\n".join(words), index=i % 2) for i, words in enumerate(texts)]
    found = spans(stream(*chunks), words=4, seed=seed)
    for query, qrel in zip(found.queries, found.qrels, strict=True):
        holders = {c.entity_id for c in chunks if verbatim_key(query.text) in verbatim_key(c.text)}
        assert holders == {qrel.entity_id} and len(query.text.split()) == 4
    assert len(found.queries) + sum(found.dropped.values()) == len({c.entity_id for c in chunks})


def test_a_span_that_is_inside_longer_words_elsewhere_is_dropped():
    found = spans(stream(chunk(0, "a", "art of the deal"), chunk(1, "b", "start of the dealer")), words=4)
    assert [q.id for q in found.queries] == ["span:b"]
    assert found.dropped == {"span stands in several documents": 1}


def test_spans_too_short_or_without_terms_are_dropped_and_counted():
    found = spans(stream(chunk(0, "a", "one two"), chunk(1, "b", "to be or not")), words=4)
    assert not found.queries and found.dropped == {"text shorter than the span": 1, "span without terms": 1}
    with pytest.raises(BadParameter, match="at least 4"):
        spans(stream(), words=3)


@pytest.mark.parametrize(
    "word",
    [
        "RULE-A002",
        "covid-19",
        "numpy.linalg.svd",
        "snake_case",
        "2026-11-11",
        "0b85ed4a",
        "CVE-2024-1234",
        "a/b/c",
    ],
)
def test_identifiers_are_recognised(word):
    assert is_identifier(word)


@pytest.mark.parametrize("word", ["well-known", "3.5", "2026", "end.Next", "word", "A1", "Ședință"])
def test_words_and_plain_numbers_are_not_identifiers(word):
    assert not is_identifier(word)


def test_an_identifier_stands_in_one_document_only():
    found = identifiers(stream(
        chunk(0, "a", "see RULE-A002, and RFC-9999."), chunk(1, "b", "rule-a002 again"),
        chunk(2, "c", "no such thing"),
    ))  # fmt: skip
    assert [(q.text, r.entity_id) for q, r in zip(found.queries, found.qrels, strict=True)] == [
        ("RFC-9999", "a")
    ]
    assert found.dropped == {"identifiers shared with other documents": 1, "no identifier": 1}


def test_a_catalog_is_read_in_batches_in_its_own_order():
    class Catalog:
        n = 25
        asked = []

        def ids_where(self, filters, limit):
            assert filters == {} and limit == 25
            return list(range(25))

        def chunks(self, ids):
            self.asked.append(len(ids))
            return [chunk(i, f"e{i}", title=f"title {i}") for i in ids]

    catalog = Catalog()
    assert [c.id for c in chunks_of(catalog, batch=10)()] == list(range(25))
    assert catalog.asked == [10, 10, 5]


def test_an_empty_collection_gives_an_empty_set():
    for make in (titles, spans, identifiers):
        found = make(stream())
        assert found.queries == () and found.dropped == {}


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.text(st.characters(), max_size=6), unique=True, max_size=30),
    st.integers(0, 5),
    st.floats(0, 1),
)
def test_a_split_parts_the_queries_and_never_moves_one_when_others_go(ids, seed, fraction):
    queries = [JudgedQuery(i, "") for i in ids]
    whole = split(queries, fraction, seed)
    assert sorted(q.id for q in chain(whole.tune, whole.judge)) == sorted(ids)
    half = split(queries[::2], fraction, seed)
    assert {q.id for q in half.tune} <= {q.id for q in whole.tune}
    assert {q.id for q in half.judge} <= {q.id for q in whole.judge}


def test_what_is_drawn_is_parted_like_anything_else():
    queries = [JudgedQuery(f"q{n}", "x") for n in range(1000)]
    found = split(drawn(queries, 200, 5), 0.5, 5)
    assert 70 < len(found.tune) < 130


def test_a_split_has_about_its_fraction_and_states_its_rule():
    queries = [JudgedQuery(f"q{i}", "") for i in range(4_000)]
    found = split(queries, 0.3, seed=2)
    assert len(found.tune) == pytest.approx(1_200, abs=6 * (4_000 * 0.3 * 0.7) ** 0.5)
    assert "seed 2" in found.rule and "0.3" in found.rule
    assert split(queries, 0, 1).tune == () and split(queries, 1, 1).judge == ()
    with pytest.raises(BadParameter, match="between 0 and 1"):
        split(queries, 1.5)


def test_spans_and_identifiers_stand_in_the_document_that_they_were_made_from():
    rng = random.Random(3)
    texts = [" ".join(rng.choices(WORDS, k=60)) + f" note-{i}a" for i in range(50)]
    chunks = stream(*(chunk(i, f"e{i}", text, title=f"title {i}") for i, text in enumerate(texts)))
    for found in (spans(chunks), identifiers(chunks)):
        assert len(found.queries) == 50
        for query, qrel in zip(found.queries, found.qrels, strict=True):
            assert verbatim_key(query.text) in verbatim_key(texts[int(qrel.entity_id[1:])])
