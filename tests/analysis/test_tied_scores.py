"""Falling scores: never rising, equal exactly where the exact sums are."""

from fractions import Fraction
from itertools import combinations

from helpers.made_collection import documents, made_collection, queries
from helpers.made_variants import variants
from hypothesis import given, settings

from workbench.analysis.evaluate.metrics import ties
from workbench.analysis.explain.knob_ranks import ListColumns, RowsOf
from workbench.registry import make
from workbench.retrieval.frozen import freeze
from workbench.retrieval.fusions import falling_scores, formula_of
from workbench.types import Query, Ranking

RRF = make("fusion", "rrf", {})


def filled(name, at):
    """A list with these points at these 1-based ranks, others of its own elsewhere."""
    offset = 10_000 if name == "lexical" else 20_000
    ids = [at.get(rank, offset + rank) for rank in range(1, max(at) + 1)]
    return Ranking(name, tuple(ids), tuple(float(-n) for n in range(len(ids))))


def test_equal_sums_of_other_parts_are_a_tie_though_their_doubles_differ():
    found = [
        (a, b, c) for a, b in combinations(range(61, 400), 2) for c in [1 / (Fraction(1, a) + Fraction(1, b))]
        if c.denominator == 1 and c > 60 and 1 / a + 1 / b > 1 / int(c)
    ]  # fmt: skip
    a, b, c = found[0]
    # Point 1 alone in one list, point 2 in both: the same exact sum, point 1 with the better rank and the lower double.
    lists = [filled("lexical", {int(c) - 60: 1, a - 60: 2}), filled("semantic", {b - 60: 2})]
    fused = RRF(lists).ranking
    places = [fused.ids.index(1), fused.ids.index(2)]
    assert places[0] < places[1] and fused.scores[places[0]] < fused.scores[places[1]]
    scores = falling_scores(RRF, lists, fused)
    assert scores[places[0]] == scores[places[1]] and list(scores) == sorted(scores, reverse=True)
    assert any(t.first <= places[0] + 1 and places[1] + 1 <= t.last for t in ties(scores))


@settings(max_examples=100, deadline=None)
@given(documents(), queries, variants())
def test_scores_fall_and_are_equal_exactly_where_the_sums_are(docs, text, chosen):
    frozen = freeze(made_collection(docs), Query(text), chosen.replace(distinct=False), depth=16)
    result = frozen.replay(frozen.variant)
    scores = falling_scores(chosen.fusion, result.lists, result.fused)
    assert len(scores) == len(result.fused) and all(x >= y for x, y in zip(scores, scores[1:], strict=False))
    columns = ListColumns(frozen, frozen.variant, "hybrid")
    held = columns.at(columns.setting())
    formula = formula_of(chosen.fusion)
    rows = RowsOf(columns, held, formula)
    if chosen.fusion.name != "single":
        exact = [formula.exact(rows.row(columns.index[i])) for i in result.fused.ids]
        assert [x == y for x, y in zip(scores, scores[1:], strict=False)] == [x == y for x, y in zip(exact, exact[1:], strict=False)]
    assert all(abs(x - y) <= 1e-12 * max(1, abs(y)) for x, y in zip(scores, result.fused.scores, strict=True))
