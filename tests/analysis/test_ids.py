"""Ids that differ by padding are counted, never matched."""

from hypothesis import given
from hypothesis import strategies as st

from workbench.analysis.evaluate.judged import Padded, padded, padding_key


def test_leading_zeros_and_outer_white_space_are_padding():
    assert padding_key(" doc007 ") == "doc7" and padding_key("0") == "0" and padding_key("000") == "0"
    assert (
        padding_key("2026-01-05") == "2026-1-5"
        and padding_key("100") == "100"
        and padding_key("1.05") == "1.5"
    )


def test_an_id_that_both_sides_hold_explains_nothing():
    assert padded(["7", "8"], ["007", "8", "008"]) == Padded(1, (("7", "007"),))


def test_the_sentence_says_what_was_not_matched():
    said = padded(["7", "9"], ["07", "09"]).sentence("ids of the run", "judged ids")
    assert said == "ids of the run that are judged ids but for padding, not matched: 2 (7 / 07, 9 / 09)"


@given(
    st.sets(st.from_regex(r"[0]{0,2}[1-3][0-1]?", fullmatch=True)),
    st.sets(st.sampled_from(["1", "02", "003"])),
)
def test_a_padded_id_is_never_one_that_both_sides_hold(left, right):
    found = padded(left, right)
    expected = [i for i in left - right if any(padding_key(i) == padding_key(j) for j in right - left)]
    assert found.count == len(expected)
    assert all(a in left - right and b in right - left for a, b in found.examples)
