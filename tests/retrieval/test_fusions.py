"""RRF against a five-line oracle on exact fractions, and the laws of every fusion."""

from fractions import Fraction
from math import fsum

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.errors import BadParameter
from workbench.retrieval.fusions import max_min, rrf, single, verbatim_first
from workbench.types import Ranking, point_order

SETTINGS = settings(max_examples=150, deadline=None)
ids = st.one_of(st.integers(0, 30), st.uuids(version=4).map(str))
names = ("lexical", "semantic", "verbatim", "own")


@st.composite
def rankings(draw, most=4):
    pool = draw(st.lists(ids, min_size=1, max_size=14, unique=True))
    out = []
    for name in names[: draw(st.integers(1, most))]:
        chosen = draw(st.permutations(pool))[: draw(st.integers(0, len(pool)))]
        out.append(Ranking(name, tuple(chosen), tuple(float(len(chosen) - i) for i in range(len(chosen)))))
    return out


def oracle(lists, k, weights=None):
    """Σ weight/(k + rank) as exact fractions; ties by best single rank, then point id."""
    score, best = {}, {}
    for ranking in lists:
        for rank, i in enumerate(ranking.ids, 1):
            score[i] = score.get(i, 0) + Fraction((weights or {}).get(ranking.name, 1)) / (Fraction(k) + rank)
            best[i] = min(rank, best.get(i, rank))
    return sorted(score, key=lambda i: (-score[i], best[i], point_order(i))), score


@SETTINGS
@given(rankings(), st.sampled_from([0, 1, 2, 60, 61]))
def test_rrf_agrees_with_the_oracle_on_exact_fractions(lists, k):
    fused = rrf(k=k)(lists)
    order, score = oracle(lists, k)
    assert list(fused.ranking.ids) == order
    for i, s in zip(fused.ranking.ids, fused.ranking.scores, strict=True):
        assert s == pytest.approx(float(score[i]), rel=1e-15)


@SETTINGS
@given(rankings(), st.lists(st.sampled_from([0.25, 0.5, 1, 2, 3]), min_size=4, max_size=4))
def test_weighted_rrf_agrees_with_the_oracle(lists, values):
    weights = dict(zip(names, values, strict=True))
    assert list(rrf(k=60, weights=weights)(lists).ranking.ids) == oracle(lists, 60, weights)[0]


@SETTINGS
@given(rankings(), st.randoms(use_true_random=False))
def test_the_order_of_the_lists_does_not_matter(lists, random):
    shuffled = list(lists)
    random.shuffle(shuffled)
    assert rrf(k=60)(lists).ranking == rrf(k=60)(shuffled).ranking


@SETTINGS
@given(rankings())
def test_one_more_list_never_lowers_a_score(lists):
    before = rrf(k=60)(lists[:-1]).ranking
    after = dict(zip(*(lambda r: (r.ids, r.scores))(rrf(k=60)(lists).ranking), strict=True))
    assert all(after[i] >= s for i, s in zip(before.ids, before.scores, strict=True))


@SETTINGS
@given(rankings(), st.sampled_from([rrf(), max_min(), verbatim_first()]))
def test_contributions_sum_to_the_score_exactly(lists, fusion):
    fused = fusion(lists)
    for i, s in zip(fused.ranking.ids, fused.ranking.scores, strict=True):
        assert fsum(fused.contributions[i].values()) == s


@SETTINGS
@given(rankings())
def test_verbatim_first_puts_every_verbatim_row_above_every_other(lists):
    rows = next((r.ids for r in lists if r.name == "verbatim"), ())
    assert verbatim_first()(lists).ranking.ids[: len(rows)] == rows


def test_a_weight_of_zero_takes_a_list_out():
    lists = [Ranking("lexical", (1, 2), (2.0, 1.0)), Ranking("semantic", (3,), (1.0,))]
    assert rrf(weights={"semantic": 0})(lists).ranking.ids == (1, 2)


def test_first_in_one_list_does_not_beat_third_in_both_with_sixty():
    one, both = 10, 20
    lists = [Ranking("lexical", (one, 1, both), (3.0, 2.0, 1.0)), Ranking("semantic", (2, 3, both), (3.0, 2.0, 1.0))]
    assert rrf(k=60)(lists).ranking.ids[0] == both
    assert rrf(k=0)(lists).ranking.ids[0] != both


def test_max_min_is_the_notes_formula():
    lists = [Ranking("lexical", (1, 2), (8.0, 2.0)), Ranking("semantic", (2, 3), (0.654, 0.4))]
    scores = dict(zip(*(lambda r: (r.ids, r.scores))(max_min()(lists).ranking), strict=True))
    assert scores == {1: 1.0, 2: pytest.approx(0.654 + 0.3 * 0.25), 3: 0.4}


def test_single_is_the_list_itself():
    lexical = Ranking("lexical", (5, 4), (2.0, 1.0))
    assert single(name="lexical")([lexical]).ranking is lexical


@pytest.mark.parametrize("bad", [{"k": -1}, {"weights": {"lexical": -0.5}}])
def test_a_negative_constant_or_weight_is_refused(bad):
    with pytest.raises(BadParameter):
        rrf(**bad)([Ranking("lexical", (1,), (1.0,))])
