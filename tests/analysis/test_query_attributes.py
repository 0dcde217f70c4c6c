"""What a query is like follows from its text; what its source says of it wins."""

import pytest

from workbench.analysis.evaluate.query_attributes import attributes_of, described
from workbench.sources.base import JudgedQuery


@pytest.mark.parametrize(
    ("text", "terms"),
    [("", "0"), ("the of", "0"), ("word", "1"), ("two words", "2-3"), ("a b c d e f", "4-7"),
     (" ".join(map(str, range(9))), "8-15"), (" ".join(map(str, range(16))), "16 or more")],
)  # fmt: skip
def test_the_length_is_a_label_by_number_of_distinct_terms(text, terms):
    assert attributes_of(text)["terms"] == terms


def test_marks_digits_and_shape():
    found = attributes_of("RULE-A002")
    assert (found["has_digits"], found["title_shaped"], found["question"], found["ascii"]) == (
        True,
        True,
        False,
        True,
    )
    found = attributes_of("unde este ședința? ")
    assert (found["has_digits"], found["question"], found["ascii"]) == (False, True, False)


def test_a_query_that_stands_in_a_text_is_verbatim_case_and_white_space_ignored():
    queries = [JudgedQuery("in", "Green  TEA"), JudgedQuery("out", "tea green"), JudgedQuery("none", " ")]
    found = described(queries, ["black tea", "the green\ntea"])
    assert [q.attributes["verbatim"] for q in found] == [True, False, False]
    assert "verbatim" not in described(queries)[0].attributes


def test_what_the_source_says_wins_and_the_query_is_not_changed():
    query = JudgedQuery("q", "one", {"terms": "many", "language": "en"})
    (found,) = described([query])
    assert found.attributes["terms"] == "many" and found.attributes["language"] == "en"
    assert found.attributes["ascii"] is True and query.attributes == {"terms": "many", "language": "en"}
