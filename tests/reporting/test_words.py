"""What is said of a figure is the figure: every number of a sentence is one of the explanation's."""

from __future__ import annotations

import re

import pytest
from helpers.made_collection import Document, documents, made_collection, queries
from helpers.made_variants import variants
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.analysis.explain.counterfactual import counterfactuals
from workbench.analysis.explain.explain import explain
from workbench.reporting import words
from workbench.retrieval.channels import lexical, semantic
from workbench.retrieval.frozen import freeze
from workbench.retrieval.fusions import rrf
from workbench.retrieval.policies import any_term
from workbench.retrieval.variant import Variant, knobs
from workbench.types import Query


@settings(max_examples=60, deadline=None)
@given(documents(), queries, variants(), st.integers(0, 11), st.integers(1, 3))
def test_every_explanation_and_answer_has_its_words(docs, text, chosen, place, first):
    collection = made_collection(docs)
    frozen = freeze(collection, Query(text, limit=first), chosen, depth=16)
    result = frozen.replay(chosen)
    told = explain(collection, result, docs[place % len(docs)].id)
    said = words.headline(told, len(result.fused), first)
    assert (f"ranked {told.rank} of" in said) == (told.rank is not None)
    assert ("not in the first" in said) == (told.rank is not None and told.rank > first)
    for absence in told.absences:
        line = words.absence_text(absence)
        assert line.startswith(absence.reason) and line.endswith(".") and ("exact query" in line) == absence.exact
    for name, rank in told.ranks.items():
        assert f"{name} {rank}" in words.list_text(told)
    for answer in counterfactuals(frozen, told.target, first=first):
        line = words.counterfactual_text(answer)
        assert line.endswith(".") and "None" not in line and "e-3" not in line
        if answer.verdict == "found":
            assert f"brings rank {answer.plain_rank}" in line and f"{answer.moved} other row" in line
            assert len(words.moves_text(answer, {})) == answer.moved


def test_every_knob_has_a_label_of_its_own():
    labels = [words.knob_label(n) for v in ("adr_0172", "bm25_fields", "adr_0172_priors") for n in knobs(v)]
    assert all(labels) and len(set(labels)) == len({n for v in ("adr_0172", "bm25_fields", "adr_0172_priors") for n in knobs(v)})


@pytest.mark.parametrize(("value", "text"), [(None, "none"), (True, "yes"), (0.5, "0.5"), (60, "60"), (5e-324, "just above 0"), ("rrf(k=60)", "rrf(k=60)")])
def test_values_read_as_a_person_reads_them(value, text):
    assert words.value_text(value) == text


def test_what_would_pass_the_row_above_names_the_rank_now_and_the_rank_needed():
    docs = [Document(n, "red" + " blue" * n, f"e{n}", "a", 10 * n) for n in range(1, 5)]
    collection = made_collection(docs)
    result = collection.search("red", Variant("v", rrf(), lexical(policy=any_term()), semantic()))
    told = explain(collection, result, result.fused.ids[2])
    said = words.pass_text(told, "the rival")
    assert "the rival" in said
    for name, rank in told.to_pass.items():
        if rank is not None:
            assert re.search(rf"rank {rank} in {name} \(now {told.ranks[name]}\)", said)


# By words the first stand before the last, by vectors the other way round.
ROWS = [Document(n, "red" + " blue" * (n - 1), f"e{n}", "a", 15 * (7 - n)) for n in range(1, 8)]
PLAIN = Variant("v", rrf(), lexical(policy=any_term()), semantic())


def asked(target, first, chosen=PLAIN):
    frozen = freeze(made_collection(ROWS), Query("red"), chosen, depth=16)
    return frozen.replay(chosen), counterfactuals(frozen, target, first=first)


def test_where_no_knob_does_the_nearest_is_named_with_a_value_that_brings_its_rank():
    narrow = PLAIN.replace(lexical=lexical(policy=any_term(cap=2)), semantic=semantic(limit=2))
    result, answers = asked(4, 1, narrow)
    assert result.rank_of(4) is None and not any(c.verdict == "found" for c in answers)
    said = words.bottom_line(answers)
    nearest = min((c for c in answers if c.best_rank), key=lambda c: c.best_rank)
    assert said.startswith("No single knob does; the nearest is") and said.endswith(f"which brings rank {nearest.best_rank}.")
    assert f"{words.knob_label(nearest.knob)} {words.value_text(nearest.best)}," in said
    assert words.best_answer(answers) == said and words.heading(answers) == "What would bring it into the first 1"


def test_where_none_brings_it_nearer_that_is_said():
    result, answers = asked(4, 1)
    idle = [c for c in answers if c.best_rank == result.rank_of(4)]
    assert words.bottom_line(idle) == f"No single knob does, and none brings it nearer than rank {result.rank_of(4)}."


def test_of_a_target_in_the_first_n_only_knobs_that_can_take_it_out_are_told():
    result, answers = asked(7, 2)
    assert result.rank_of(7) == 2 and words.heading(answers) == "What keeps it in the first 2"
    told = words.told_answers(answers)
    assert 0 < len(told) < len(answers) and words.bottom_line(answers) == ""
    for c in answers:
        assert (c in told) == any(r is None or r > 2 for *_, r in c.curve)
    (fusion,) = [c for c in told if c.knob == "fusion"]
    assert "with single(name=lexical) it is ranked 7" in words.counterfactual_text(fusion)
    _, held = asked(4, 7)
    assert words.told_answers(held) == () and words.bottom_line(held) == words.best_answer(held) == "No single knob takes it out."


def test_of_a_ranked_row_the_list_that_lacks_it_leads():
    chosen = PLAIN.replace(lexical=lexical(policy=any_term(cap=2)))
    collection = made_collection(ROWS)
    result = collection.search(Query("red", limit=2), chosen)
    told = explain(collection, result, 6)
    first, second = words.reason_texts(told)
    assert first.startswith("Not in lexical, candidate cap") and second.startswith("beyond the page")


def test_other_rows_are_counted_as_entering_leaving_or_moving():
    frozen = freeze(made_collection(ROWS), Query("red"), PLAIN, depth=16)
    found = [c for n in range(1, 8) for c in counterfactuals(frozen, n, first=2) if c.verdict == "found"]
    assert found
    for c in found:
        assert f"{words.moved_text(c)}." in words.counterfactual_text(c)
        assert ("1 other row enters, leaves or moves within" in words.moved_text(c)) == (c.moved == 1)
