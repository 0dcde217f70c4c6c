"""Queries times judgements: all that does not fit is counted and said, nothing is guessed."""

import pytest

from workbench.analysis.evaluate.judged import (
    NOT_JUDGED,
    NOTHING_RELEVANT,
    ConflictingJudgements,
    check_run,
    judge,
)
from workbench.errors import BadParameter
from workbench.sources.base import JudgedQuery, Qrel


def queries(*ids):
    return [JudgedQuery(i, f"text of {i}") for i in ids]


def test_every_query_is_evaluated_or_skipped_with_its_reason():
    judged = judge(
        queries("hit", "none", "zero", "below"),
        [Qrel("hit", "a", 1), Qrel("zero", "a", 0), Qrel("below", "a", -1), Qrel("below", "b", 0)],
    )
    assert judged.ids == ("hit",)
    assert judged.skipped == {"none": NOT_JUDGED, "zero": NOTHING_RELEVANT, "below": NOTHING_RELEVANT}
    assert judged.reasons == {NOT_JUDGED: 1, NOTHING_RELEVANT: 2}
    assert "queries skipped, no relevant documents: 2" in judged.notes


def test_negative_grades_are_counted_and_kept():
    judged = judge(queries("q"), [Qrel("q", "a", 2), Qrel("q", "b", -1), Qrel("q", "c", -2)])
    assert judged.negative == 2 and judged.grades == {"q": {"a": 2, "b": -1, "c": -2}}
    assert any("negative" in note for note in judged.notes)


def test_unknown_documents_stay_in_the_judgements_and_are_counted():
    qrels = [Qrel("q", "a", 1), Qrel("q", "gone", 1), Qrel("lost", "gone", 1)]
    judged = judge(queries("q", "lost"), qrels, documents=["a", "b"])
    assert judged.unknown == ("gone",) and judged.only_unknown == ("lost",)
    assert judged.grades["q"] == {"a": 1, "gone": 1}
    assert "judged documents that do not exist, kept in the judgements: 1" in judged.notes
    assert judge(queries("q"), qrels).unknown is None


def test_documents_and_queries_that_differ_by_padding_are_counted_and_not_matched():
    judged = judge(queries("1", "02"), [Qrel("1", "007", 1), Qrel("2", "a", 1)], documents=["7", "a"])
    assert judged.padded_documents.count == 1 and judged.padded_documents.examples == (("007", "7"),)
    assert judged.padded_queries.examples == (("2", "02"),)
    assert judged.skipped == {"02": NOT_JUDGED} and judged.unknown == ("007",)


def test_judgements_that_seem_to_number_queries_by_position_are_named_and_not_followed():
    judged = judge(queries("10", "20", "30"), [Qrel("1", "a", 1), Qrel("2", "b", 1), Qrel("3", "c", 1)])
    assert judged.by_position and judged.orphans == ("1", "2", "3") and not judged.queries
    assert any("by position" in note and "matched by id" in note for note in judged.notes)
    assert not judge(queries("1", "2"), [Qrel("1", "a", 1)]).by_position
    assert not judge(queries("10", "20"), [Qrel("99", "a", 1)]).by_position


def test_a_repeated_judgement_counts_once_and_a_conflicting_one_is_refused():
    judged = judge(queries("q"), [Qrel("q", "a", 1), Qrel("q", "a", 1)])
    assert judged.repeated == 1 and judged.judgements == 2 and judged.grades == {"q": {"a": 1}}
    with pytest.raises(ConflictingJudgements, match="'a' has the grades 1 and 2.*query 'q'"):
        judge(queries("q"), [Qrel("q", "a", 1), Qrel("q", "a", 2)])


def test_without_a_query_set_the_judgements_name_the_queries():
    assert judge(None, [Qrel("b", "x", 1), Qrel("a", "x", 1)]).ids == ("b", "a")


@pytest.mark.parametrize("grade", [10_000, True, 1.5, "1"])
def test_a_grade_that_is_no_small_whole_number_is_refused_with_its_place(grade):
    with pytest.raises(BadParameter, match="query q, document a"):
        judge(queries("q"), [Qrel("q", "a", grade)])


def test_a_query_id_that_stands_twice_is_refused():
    with pytest.raises(BadParameter, match="'q' stands 2 times"):
        judge(queries("q", "q"), [Qrel("q", "a", 1)])


@pytest.mark.parametrize("qrel", [Qrel(1, "a", 1), Qrel("q", 7, 1)])
def test_an_id_that_is_not_text_is_refused(qrel):
    with pytest.raises(BadParameter, match="are text"):
        judge(queries("q"), [qrel])


def test_a_run_is_checked_for_missing_empty_extra_and_padded():
    judged = judge(queries("a", "b", "c", "d"), [Qrel(q, "007", 1) for q in "abc"])
    check = check_run({"b": [], "c": ["7", "x"], "d": ["x"], "z": ["x"]}, judged)
    assert (check.missing, check.empty, check.extra, check.skipped) == (("a",), ("b",), ("z",), ("d",))
    assert check.padded_documents.examples == (("007", "7"),)
    assert len(check.notes) == 5


def test_a_run_that_fits_has_no_notes():
    judged = judge(queries("a"), [Qrel("a", "x", 1)])
    assert check_run({"a": ["x", "y"]}, judged).notes == () and judged.notes == ()


def test_a_part_of_the_set_keeps_its_order_and_its_skipped_queries():
    judged = judge(queries("a", "b", "c"), [Qrel("a", "x", 1), Qrel("b", "x", 1)])
    part = judged.only(["b", "a", "c", "unknown"])
    assert part.ids == ("a", "b") and part.skipped == {"c": NOT_JUDGED}
    assert judged.only(["b"]).grades == {"b": {"x": 1}}
