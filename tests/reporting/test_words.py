"""What is said of a figure is the figure: every number of a sentence is one of the explanation's."""

from __future__ import annotations

import re

import pytest
from helpers.made_collection import Document, documents, made_collection, queries
from helpers.made_variants import variants
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.analysis.counterfactual import counterfactuals
from workbench.analysis.explain import explain
from workbench.reporting import words
from workbench.retrieval.channels import lexical, semantic
from workbench.retrieval.frozen import freeze
from workbench.retrieval.fusions import rrf
from workbench.retrieval.knobs import knobs
from workbench.retrieval.policies import any_term
from workbench.retrieval.variant import Variant
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
