"""Evidence: every span is a query term, the verbatim span holds the query wherever the verbatim list says so."""

from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.analysis.explain.evidence import SPANS_KEPT, evidence_of, verbatim_span
from workbench.retrieval.search import open_collection
from workbench.text import DEFAULT, verbatim_key
from workbench.types import Chunk

SETTINGS = settings(max_examples=200, deadline=None)
texts = st.text(st.sampled_from("aAsSßẞ İıσςΣ \t\n\u00a0éè."), max_size=14)


@SETTINGS
@given(texts, texts)
def test_a_span_is_found_exactly_where_the_verbatim_key_is(text, query):
    found = verbatim_span(text, query)
    key = verbatim_key(query)
    assert (found is not None) == (bool(key) and key in verbatim_key(text))
    if found:
        assert key in verbatim_key(text[slice(*found)])


def test_the_span_is_in_the_characters_of_the_text():
    assert verbatim_span("See  Straße\n 7 now", "STRASSE 7") == (5, 14)
    assert verbatim_span("nothing", "") is None


def told(collection, text, query):
    result = collection.search(query, with_chunks=False)
    return evidence_of(collection, result, Chunk(1, "e", 0, text, source="a/b.md"))


def test_terms_are_counted_and_their_words_are_marked(tiny):
    with open_collection(tiny) as collection:
        text = "Ferry, FERRY and the harbour: the férry."
        found = told(collection, text, "ferry to the harbour of zanzibar")
        assert found.terms == {"ferry": 3, "harbour": 1, "zanzibar": 0}
        assert [text[a:b] for a, b in found.spans] == ["Ferry", "FERRY", "harbour", "férry"]
        assert all(set(DEFAULT.terms(text[a:b])) & set(found.terms) for a, b in found.spans)


def test_a_phrase_that_stands_only_in_the_source_is_found_there(tiny):
    with open_collection(tiny) as collection:
        found = told(collection, "nothing here", "a/b.md")
        assert (found.verbatim, found.verbatim_in) == ((0, 6), "source")


def test_a_megabyte_of_hits_is_counted_whole_and_marked_in_part(tiny):
    with open_collection(tiny) as collection:
        found = told(collection, "ferry " * 150_000, "ferry")
        assert found.terms == {"ferry": 150_000} and len(found.spans) == SPANS_KEPT
