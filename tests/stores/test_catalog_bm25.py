"""Lexical scores in SQL: exact, bit-stable, and what the papers say."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from helpers.catalog_world import Bm25, made, numbered
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.errors import BadParameter
from workbench.stores.catalog.catalog import Catalog
from workbench.stores.catalog.errors import UnknownPoint
from workbench.types import Chunk, Facets

WORDS = [f"w{n}" for n in range(12)]
STEP = 2.0**48


def some_words(most: int) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(WORDS), max_size=most).map(" ".join)


documents = st.lists(st.tuples(some_words(9).map(lambda t: t or "?"), some_words(4)), min_size=1, max_size=14)
queries = st.lists(st.sampled_from([*WORDS, "nowhere"]), max_size=7)


@settings(max_examples=14, deadline=None)
@given(
    documents, st.lists(queries, min_size=1, max_size=6), st.floats(0, 4), st.floats(0, 1), st.floats(0, 5)
)
def test_both_scores_are_the_papers_to_1e_9_on_any_corpus(
    found: list[tuple[str, str]], asked: list[list[str]], k1: float, b: float, weight: float
) -> None:
    chunks = numbered([text for text, _ in found], [title for _, title in found])
    oracle = Bm25(chunks)
    with TemporaryDirectory() as directory, made(Path(directory), chunks) as catalog:
        for terms in asked:
            assert catalog.df(terms) == {t: oracle.df(t) for t in terms}
            assert catalog.idf(terms) == {t: oracle.idf(oracle.df(t)) for t in terms}
            plain = oracle.scores(terms, k1, b)
            assert dict(catalog.bm25_top(terms, {}, 99, k1, b)) == pytest.approx(plain, abs=1e-9)
            assert catalog.bm25_of(oracle.ids, terms, k1, b) == pytest.approx(plain, abs=1e-9)
            fields = oracle.field_scores(terms, weight, 1.0, k1, b, 0.5)
            best = catalog.bm25_fields_top(terms, {}, 99, weight, k1, b, title_b=0.5)
            assert dict(best) == pytest.approx(fields, abs=1e-9)


@pytest.fixture(scope="module")
def corpus() -> list[Chunk]:
    """Chunks enough that their postings fill two row groups, which two threads read."""
    draw = np.random.default_rng(5)
    words = [f"v{n}" for n in range(400)]
    odds = 1 / np.arange(1, 401)
    texts = [" ".join(draw.choice(words, size=60, p=odds / odds.sum())) for _ in range(5000)]
    facets = [Facets(project=f"p{n % 4}") for n in range(len(texts))]
    return numbered(texts, [" ".join(t.split()[:2]) for t in texts], facets)


@pytest.fixture(scope="module")
def catalog(corpus: list[Chunk], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalog]:
    with made(tmp_path_factory.mktemp("bm25"), corpus) as opened:
        yield opened


TERMS = [f"v{n}" for n in (0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144)]


def test_a_score_is_the_exact_sum_of_its_rounded_shares_to_the_last_bit(
    catalog: Catalog, corpus: list[Chunk]
) -> None:
    oracle, mean = Bm25(corpus), catalog.avgdl
    idf = {t: oracle.idf(oracle.df(t)) for t in TERMS}
    expected = {}
    for chunk, held in zip(corpus, oracle.text, strict=True):
        shares = [
            idf[t] * held[t] * (1.2 + 1) / (held[t] + 1.2 * (1 - 0.75 + 0.75 * held.total() / mean))
            for t in TERMS
            if t in held
        ]
        if shares:
            expected[chunk.id] = sum(round(s * STEP) for s in shares) / STEP
    assert dict(catalog.bm25_top(TERMS, {}, len(corpus))) == expected


def test_scores_and_order_are_equal_bit_by_bit_on_any_number_of_threads(catalog: Catalog) -> None:
    first = [catalog.bm25_top(TERMS, {}, 5000), catalog.bm25_fields_top(TERMS, {}, 5000)]
    for threads in (1, 2, 4, 7):
        catalog._file._con.execute(f"SET threads = {threads}")
        for _ in range(3):
            assert [catalog.bm25_top(TERMS, {}, 5000), catalog.bm25_fields_top(TERMS, {}, 5000)] == first


def test_the_order_of_the_terms_changes_no_bit(catalog: Catalog) -> None:
    asked = [*TERMS, *TERMS[:3]]
    assert catalog.bm25_top(asked[::-1], {}, 300) == catalog.bm25_top(asked, {}, 300)


@pytest.mark.parametrize("asked", ["world world peace", "peace world peace world peace", "world " * 40 + "peace"])
def test_a_repeated_term_counts_as_often_as_it_occurs(tmp_path: Path, asked: str) -> None:
    texts = ["peace at last", "the world is round", "world peace and peace", "tea"]
    terms, chunks = asked.split(), numbered(texts, ["peace", "world", "", ""])
    with made(tmp_path, chunks) as catalog:
        once = {t: catalog.bm25_of(catalog.ids_where(), [t]) for t in set(terms)}
        added = {i: sum(once[t].get(i, 0.0) for t in terms) for i in catalog.ids_where()[:3]}
        assert dict(catalog.bm25_top(terms, {}, 9)) == pytest.approx(added, rel=1e-12)
        assert catalog.bm25_of(catalog.ids_where(), terms) == pytest.approx(added, rel=1e-12)
        fields = Bm25(chunks).field_scores(terms, 3.0, 1.0, 1.2, 0.75, 0.75)
        assert dict(catalog.bm25_fields_top(terms, {}, 9)) == pytest.approx(fields, rel=1e-9)
        best = catalog.bm25_top(terms, {}, 9)
        assert [catalog.bm25_rank(terms, i) for i, _ in best] == [(n, s) for n, (_, s) in enumerate(best, 1)]


def test_the_scores_of_given_points_are_those_of_the_whole_ranking(catalog: Catalog) -> None:
    scores = dict(catalog.bm25_top(TERMS[6:], {}, 5000))
    ids = catalog.ids_where()[::7][::-1]
    assert catalog.bm25_of(ids, TERMS[6:]) == {i: scores[i] for i in ids if i in scores}
    assert len(catalog.bm25_of(ids, TERMS[6:])) < len(ids)


def test_a_filter_leaves_scores_as_they_are_and_comes_before_the_limit(catalog: Catalog) -> None:
    everything = catalog.bm25_top(TERMS, {}, 5000)
    admitted = set(catalog.ids_where({"project": "p1"}))
    assert catalog.bm25_top(TERMS, {"project": "p1"}, 40) == [p for p in everything if p[0] in admitted][:40]
    fields = [p for p in catalog.bm25_fields_top(TERMS, {}, 5000) if p[0] in admitted]
    assert catalog.bm25_fields_top(TERMS, {"project": "p1"}, 40) == fields[:40]
    assert catalog.df(TERMS, {"project": "p1"}) == {
        t: catalog.count([t], "all", {"project": "p1"}) for t in TERMS
    }


def test_a_rank_is_the_place_in_the_whole_ranking_within_the_filters(catalog: Catalog) -> None:
    for filters in ({}, {"project": "p2"}):
        best = catalog.bm25_top(TERMS[5:], filters, 5000)
        for at in (0, 1, 17, len(best) - 1):
            assert catalog.bm25_rank(TERMS[5:], best[at][0], filters) == (at + 1, best[at][1])


def test_a_point_outside_the_filters_has_its_score_and_no_rank(catalog: Catalog) -> None:
    point, score = next(
        p for p in catalog.bm25_top(TERMS, {}, 50) if p[0] in catalog.ids_where({"project": "p0"})
    )
    assert catalog.bm25_rank(TERMS, point, {"project": "p3"}) == (None, score)


def test_title_weight_0_is_bm25_where_no_title_adds_to_a_document_frequency(catalog: Catalog) -> None:
    # Every title is the first two words of its text.
    plain, fields = catalog.bm25_top(TERMS, {}, 5000), catalog.bm25_fields_top(TERMS, {}, 5000, 0.0)
    assert dict(fields) == pytest.approx(dict(plain), abs=1e-12)
    weighted = catalog.bm25_fields_top(TERMS, {}, 5000, 3.0)
    assert dict(weighted) != pytest.approx(dict(plain), abs=1e-3)


def test_points_that_hold_no_term_never_rank_an_empty_one_least(tmp_path: Path) -> None:
    with made(tmp_path, numbered(["?!", "tea", "the", "green tea"], ["", "", "tea", ""])) as catalog:
        ids = catalog.ids_where()
        assert [i for i, _ in catalog.bm25_top(["tea"], {}, 9)] == [ids[1], ids[3]]
        assert catalog.bm25_of(ids, ["tea"]).keys() == {ids[1], ids[3]}
        assert catalog.bm25_rank(["tea"], ids[0]) == (None, 0.0)
        assert {i for i, _ in catalog.bm25_fields_top(["tea"], {}, 9)} == {ids[1], ids[2], ids[3]}
        assert {i for i, _ in catalog.bm25_fields_top(["tea"], {}, 9, 0.0)} == {ids[1], ids[3]}
        assert {i for i, _ in catalog.bm25_fields_top(["tea"], {}, 9, text_weight=0.0)} == {ids[2]}


def test_ties_are_in_point_id_order_integers_before_uuids(tmp_path: Path) -> None:
    with made(tmp_path, numbered(["same text"] * 9)) as catalog:
        best = catalog.bm25_top(["same"], {}, 7)
        assert [i for i, _ in best] == catalog.ids_where({}, 7)
        assert {type(i) for i, _ in best} == {int, str}
        assert [catalog.bm25_rank(["same"], i).rank for i in catalog.ids_where()] == list(range(1, 10))


def test_a_corpus_without_terms_or_without_chunks_answers_with_nothing(tmp_path: Path) -> None:
    for name, texts in (("none", []), ("marks", ["?", "!", "…"])):
        with made(tmp_path / name, numbered(texts)) as catalog:
            assert (catalog.n, catalog.avgdl) == (len(texts), 0)
            assert catalog.bm25_top(["tea"], {}, 5) == catalog.bm25_fields_top(["tea"], {}, 5) == []
            assert catalog.idf(["tea"]) == {"tea": math.log(1 + (len(texts) + 0.5) / 0.5)}
            assert catalog.count(["tea"]) == 0


def test_no_terms_score_nothing_and_hostile_terms_are_data(catalog: Catalog) -> None:
    assert catalog.bm25_top([], {}, 5) == catalog.bm25_fields_top([], {}, 5) == []
    assert catalog.bm25_of(catalog.ids_where({}, 3), []) == {}
    hostile = ["'; DROP TABLE posting; --", "\ud800", "\x00", "😀", "$terms", "x" * 1_000_000]
    assert catalog.df(hostile) == dict.fromkeys(hostile, 0)
    assert catalog.bm25_top([*hostile, "v3"], {}, 9) == catalog.bm25_top(["v3"], {}, 9)


def test_counts_of_any_and_all_terms_are_the_oracles(catalog: Catalog, corpus: list[Chunk]) -> None:
    held = Bm25(corpus).text
    for terms in (["v1"], ["v1", "v30"], ["v1", "v1"], ["v2", "nowhere"], ["nowhere"], ["v2", "\ud800"]):
        for match, rule in (("any", any), ("all", all)):
            expected = [c.id for c, h in zip(corpus, held, strict=True) if rule(t in h for t in terms)]
            assert catalog.count(terms, match) == len(expected)
            assert catalog.holding(terms, match, {}, 12) == expected[:12]


@pytest.mark.parametrize(
    ("name", "value"),
    [("k1", -0.1), ("k1", math.nan), ("k1", 1001.0), ("b", 1.1), ("b", -1.0), ("b", math.nan)],
)
def test_a_parameter_out_of_range_is_refused_by_name(catalog: Catalog, name: str, value: float) -> None:
    with pytest.raises(BadParameter, match=name):
        catalog.bm25_top(["v1"], {}, 5, **{name: value})
    with pytest.raises(BadParameter, match=name):
        catalog.bm25_of(catalog.ids_where({}, 1), ["v1"], **{name: value})


def test_a_bad_weight_limit_match_or_point_is_refused_by_name(catalog: Catalog) -> None:
    for weight in (-1.0, math.inf, math.nan):
        with pytest.raises(BadParameter, match="title_weight"):
            catalog.bm25_fields_top(["v1"], {}, 5, weight)
    with pytest.raises(BadParameter, match="limit"):
        catalog.bm25_top(["v1"], {}, -1)
    with pytest.raises(BadParameter, match="some"):
        catalog.count(["v1"], "some")  # type: ignore[arg-type]
    with pytest.raises(UnknownPoint, match="10"):
        catalog.bm25_of([10], ["v1"])


def test_the_largest_share_still_fits_its_integer(tmp_path: Path) -> None:
    with made(tmp_path, numbered(["rare", *["common"] * 20])) as catalog:
        for times in (1, 20_000):
            ((_, score),) = catalog.bm25_top(["rare"] * times, {}, 5, 1000.0, 1.0)
            once = Bm25(numbered(["rare", *["common"] * 20])).scores(["rare"], 1000.0, 1.0)[9]
            assert score == pytest.approx(times * once)
