"""The points contract on three engines: embedded, a server at a URL (the loopback double), the client in memory.

The embedded one stands here twice, as small collections are built and as large ones are (with facet indexes).
What they share is asserted of each against a plain Python oracle; where one differs, the difference is a test.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from helpers.points_corpus import (
    COPIES,
    DIM,
    FILTERS,
    HOSTILE,
    HUGE_WORD,
    LONG_PATH,
    LONG_WORD,
    Oracle,
    chunks,
    term_sets,
    vectors,
    write_staging,
)
from helpers.qdrant_double import QdrantDouble

from workbench.errors import BadParameter, NotAvailable
from workbench.stores.catalog.errors import BadVector
from workbench.stores.filters.values import KEYWORD_FIELDS, Points, payload_of
from workbench.stores.points.edge import EdgePoints
from workbench.stores.points.edge_build import build_edge
from workbench.stores.points.server import ClientPoints
from workbench.stores.points.server_build import build_client, in_memory
from workbench.text import DEFAULT
from workbench.types import point_order

ENGINES = ("edge", "indexed", "server", "memory")
STORED = chunks()
ROWS = vectors(len(STORED))
ORACLE = Oracle(STORED, ROWS)
IDS = [chunk.id for chunk in STORED]
DEVANAGARI = DEFAULT.terms("देवनागरी")[0]

@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Points]]:
    directory = tmp_path_factory.mktemp("points")
    staged = write_staging(directory / "staging", STORED, ROWS)
    build_edge(directory / "points", *staged)
    build_edge(directory / "indexed", *staged, facets_indexed_from=0)
    with QdrantDouble(directory) as double:
        build_client(double.url, "contract", *staged)
        with (
            EdgePoints.open(directory / "points") as edge,
            EdgePoints.open(directory / "indexed") as indexed,
            ClientPoints(double.url, "contract") as server,
            in_memory(*staged) as memory,
        ):
            yield {"edge": edge, "indexed": indexed, "server": server, "memory": memory}


@pytest.fixture(params=ENGINES)
def points(request: pytest.FixtureRequest, engines: dict[str, Points]) -> Points:
    return engines[request.param]


def ids(found: list) -> list:
    return [p.id for p in found]


def test_counts_of_any_and_all_terms_are_the_oracles_number_by_number(points: Points) -> None:
    for terms in term_sets():
        for match in ("any", "all"):
            assert points.count(terms, match, {}) == len(ORACLE.matching(terms, match, {})), (terms, match)


def test_a_scroll_is_the_first_points_in_point_id_order(points: Points) -> None:
    for terms in term_sets():
        for match, limit in (("any", 7), ("all", 1000), ("any", 1000)):
            found = ids(points.scroll(terms, match, {}, limit, fields=()))
            assert found == ORACLE.matching(terms, match, {})[:limit], (terms, match)


@pytest.mark.parametrize("filters", FILTERS, ids=str)
def test_every_kind_of_filter_admits_what_the_oracle_admits(points: Points, filters: dict) -> None:
    for terms in ((), ("python", "object")):
        expected = ORACLE.matching(terms, "any", filters)
        assert ids(points.scroll(terms, "any", filters, 1000, fields=())) == expected
        assert points.count(terms, "any", filters) == len(expected)


def test_the_filters_of_this_contract_admit_some_points_and_not_all() -> None:
    nothing = [f for f in FILTERS if not ORACLE.matching((), "any", f)]
    nobodys = ({"project": []}, {"project": "nowhere"}, {"path": "docs"}, {"n": 2**60}, {"nobody": "x"}, {"project": "\ud800"})
    assert nothing == list(nobodys)
    assert [f for f in FILTERS if len(ORACLE.matching((), "any", f)) == len(STORED)] == [{"nobody": None}]


def test_no_terms_and_no_filters_are_all_points_integers_first_then_uuids(points: Points) -> None:
    assert points.count((), "any", {}) == len(STORED)
    found = ids(points.scroll((), "all", {}, 10_000, fields=()))
    assert found == IDS == sorted(IDS, key=point_order)
    assert max(i for i in found if isinstance(i, int)) == 2**64 - 1
    assert isinstance(found[-1], str)


@pytest.mark.parametrize(
    "filters",
    [{"created": {"after": "2026-01-01"}}, {"created": {}}, {"project": {"gte": "a"}}, {"project": 5}, {"tags": [True]},
     {"n": float("nan")}, {"n": 1j}, {"created": {"gte": "yesterday"}}, {"created": {"gte": 5}},
     {"n": {"gte": 1, "lt": "2026-01-01"}}],
    ids=str,
)  # fmt: skip
def test_a_filter_that_means_nothing_is_refused_by_name(points: Points, filters: dict) -> None:
    with pytest.raises(BadParameter):
        points.count((), "any", filters)


def test_an_unknown_match_is_refused(points: Points) -> None:
    with pytest.raises(BadParameter, match="some"):
        points.count(("python",), "some", {})  # type: ignore[arg-type]


def test_a_key_that_the_engine_cannot_name_is_refused_and_not_an_empty_answer(points: Points) -> None:
    with pytest.raises(NotAvailable, match="key"):
        points.scroll((), "any", {'a"b': "x"}, 10)


def test_retrieve_keeps_the_order_asked_and_leaves_out_who_is_not_there(points: Points) -> None:
    asked = [IDS[200], IDS[-1], 1, IDS[3], 2**64 - 1, "00000000-0000-0000-0000-000000000000", IDS[200]]
    assert ids(points.retrieve(asked, fields=())) == [i for i in asked if i in IDS]
    assert points.retrieve([]) == []


def test_only_the_fields_asked_for_are_read(points: Points) -> None:
    chunk = STORED[0]
    assert points.retrieve([chunk.id])[0].payload == {"content": chunk.text, "source": chunk.source}
    assert points.scroll((), "any", {}, 1, fields=("title",))[0].payload == {"title": chunk.title}
    assert points.scroll((), "any", {}, 1, fields=())[0].payload == {}
    assert points.nearest(ROWS[0], {"entity_id": "e0"}, 1, fields=("tags",))[0][0].payload == {"tags": ["x", "y"]}
    absent = next(c for c in STORED if c.facets.project is None)
    assert points.retrieve([absent.id], fields=("project", "title"))[0].payload == {"title": absent.title}


def test_hostile_text_comes_back_as_it_went_in(points: Points) -> None:
    hostile = next(c for c in STORED if c.text == HOSTILE)
    assert points.retrieve([hostile.id])[0].payload["content"] == HOSTILE
    assert hostile.id in ids(points.scroll(DEFAULT.terms("gnirts alert"), "all", {}, 10))


@pytest.mark.parametrize("text", [LONG_PATH, LONG_WORD, HUGE_WORD], ids=["path", "word", "million letters"])
def test_a_long_term_finds_itself(points: Points, text: str) -> None:
    found = points.scroll(DEFAULT.terms(text), "all", {}, 10, fields=("content",))
    assert len(found) == 1
    assert text in found[0].payload["content"]


@pytest.mark.parametrize(
    "query",
    ["ședinta", "SEDINTA sedila", "Şedinţă", "café", "ACAO", "laska", "strasse", "Aeoa", "RULE-A002", "covid-19",
     "numpy.linalg.svd", "2026-11-11 09:58", "CVE-2024-1234", "日本語"],
)  # fmt: skip
def test_folded_words_and_the_parts_of_identifiers_find_their_text(points: Points, query: str) -> None:
    terms = DEFAULT.query_terms(query)
    expected = ORACLE.matching(terms, "all", {})
    assert expected
    assert ids(points.scroll(terms, "all", {}, 100)) == expected


def test_a_part_of_a_term_finds_nothing(points: Points) -> None:
    for term in ("0", "pytho", "covid19", LONG_WORD[:20]):
        assert points.count((term,), "any", {}) == len(ORACLE.matching((term,), "any", {})), term
    assert points.count(("pytho",), "any", {}) == 0


def test_nearest_is_exact_with_equal_scores_in_point_id_order(points: Points) -> None:
    for number in (0, 40, 200):
        query = ROWS[number] + 0.01 * ROWS[number + 1]
        for filters in ({}, {"project": "beta"}, {"lang": "en"}):
            found = points.nearest(query, filters, 25, fields=())
            expected = ORACLE.nearest(query, filters)[:25]
            assert ids([p for p, _ in found]) == [i for i, _ in expected]
            assert [s for _, s in found] == pytest.approx([s for _, s in expected], abs=2e-6)


@pytest.mark.parametrize("limit", [1, 10, COPIES - 1, COPIES, COPIES + 5])
def test_a_cut_inside_a_tie_keeps_the_lowest_point_ids(points: Points, limit: int) -> None:
    found = points.nearest(ROWS[-1], {}, limit, fields=())
    assert ids([p for p, _ in found]) == [i for i, _ in ORACLE.nearest(ROWS[-1], {})[:limit]]
    assert len({s for _, s in found[:COPIES]}) == 1


def test_more_than_there_are_is_all_that_there_are(points: Points) -> None:
    assert len(points.nearest(ROWS[0], {}, 10_000, fields=())) == len(STORED)
    assert len(points.nearest(ROWS[0], {"entity_id": "e7"}, 10_000, fields=())) == 2


def test_a_vector_without_a_direction_or_of_another_length_is_refused(points: Points) -> None:
    for bad in (np.zeros(DIM), np.full(DIM, np.nan), np.full(DIM, np.inf), np.ones(DIM + 1), np.ones((1, DIM))):
        with pytest.raises(BadVector):
            points.nearest(bad, {}, 5)


def tolerance(points: Points) -> float:
    """In memory the one text of words in pieces is longer, and with it the mean length: scores differ by 0.06 %."""
    return 1e-3 if "in memory" in points.engine else 1e-5


def test_the_engines_bm25_is_the_formula_over_points_that_hold_a_term(points: Points) -> None:
    for terms in (["python"], ["python", "object", "value"], ["expression", "nowhere0"], ["nowhere0"], ["class", "class"]):
        found = points.bm25(terms, {}, 1000)
        scores = ORACLE.bm25(terms)
        assert {p.id for p, _ in found} == set(scores)
        assert [s for _, s in found] == pytest.approx([scores[p.id] for p, _ in found], rel=tolerance(points))
        assert found == sorted(found, key=lambda f: (-f[1], point_order(f[0].id)))


def test_the_engines_bm25_keeps_the_whole_collections_frequencies_within_filters(points: Points) -> None:
    scores = ORACLE.bm25(["object", "value"])
    found = points.bm25(["object", "value"], {"project": "alpha"}, 5, fields=("title",))
    assert len(found) == 5
    assert [s for _, s in found] == pytest.approx([scores[p.id] for p, _ in found], rel=tolerance(points))
    assert all(set(p.payload) == {"title"} for p, _ in found)
    assert points.bm25([], {}, 5) == []


def test_all_points_are_every_payload_and_vector_once_in_order(points: Points) -> None:
    read = list(points.all_points(batch=64))
    assert [i for i, _, _ in read] == IDS
    assert [p for _, p, _ in read] == [payload_of(c, DEFAULT.terms(c.text)) for c in STORED]
    assert np.allclose([v for _, _, v in read], ROWS, atol=1e-6)


def test_every_keyword_facet_is_filtered_somewhere_in_this_contract() -> None:
    assert set(KEYWORD_FIELDS) <= {name for filters in FILTERS for name in filters}


def test_in_memory_a_word_with_marks_falls_into_pieces_and_elsewhere_it_does_not(engines: dict[str, Points]) -> None:
    piece = DEVANAGARI[:2]
    assert {name: engines[name].count((DEVANAGARI,), "any", {}) for name in ENGINES} == dict.fromkeys(ENGINES, 1)
    counted = {name: engines[name].count((piece,), "any", {}) for name in ENGINES}
    assert counted == {"edge": 0, "indexed": 0, "server": 0, "memory": 1}


def test_an_approximate_count_is_never_far_from_the_exact_one(points: Points) -> None:
    exact = points.count(("python",), "any", {})
    assert abs(points.count(("python",), "any", {}, exact=False) - exact) <= exact // 2
