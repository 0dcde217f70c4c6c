"""A parameter in brackets is what its function declares, within its range, or one line says what it may be."""

from __future__ import annotations

import pytest

from workbench.errors import BadParameter
from workbench.registry import checked
from workbench.retrieval.fusions import rrf
from workbench.retrieval.variant import parse, variant, with_knobs


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("adr_0172(k=abc)", "k cannot be 'abc'. Use a number of at least 0"),
        ("adr_0172(k=nan)", "k cannot be nan. Use a number of at least 0"),
        ("adr_0172(k=none)", "k cannot be None. Use a number of at least 0"),
        ("adr_0172(k=true)", "k cannot be True. Use a number of at least 0"),
        ("adr_0172(k=1e999)", "k cannot be inf. Use a number of at least 0"),
        ("adr_0172(cap=1.5)", "cap is a whole number, not 1.5"),
        ("adr_0172(semantic_limit=abc)", "semantic_limit cannot be 'abc'"),
        ("adr_0172(cap=99999999999)", "cap cannot be 99999999999. Use a whole number from 1 to 2,147,483,647"),
        ("adr_0172(floor=2)", "floor cannot be 2. Use a number from -1 to 1"),
        ("adr_0172(cap=0,floor=0.5)", "cap cannot be 0"),
        ("verbatim_weighted(weight=abc)", "weight cannot be 'abc'. Use a number of at least 0"),
        ("counts_rarest(counted=abc)", "counted cannot be 'abc'. Use a whole number from 0"),
        ("notes_old(candidate_limit=0)", "candidate_limit cannot be 0"),
        ("notes_rrf(k_vec=abc)", "k_vec cannot be 'abc'. Use a whole number"),
        ("notes_rrf(floor=abc)", "floor cannot be 'abc'. Use a number from -1 to 1"),
        ("notes_rrf(exact=maybe)", "exact cannot be 'maybe'. Use true or false"),
        ("notes_rrf(engine=3)", "engine cannot be 3. Use text"),
        ("adr_0172+recency(half_life=abc)", "half_life cannot be 'abc'. Use a number of at least 0"),
        ("adr_0172+recency(field=foo)", "field cannot be 'foo'. Use updated or created"),
        ("adr_0172+dated(now=2026)", "now cannot be 2026. Use text"),
        ("adr_0172_priors(pinned=nan)", "pinned cannot be nan"),
        ("semantic(limit=abc)", "limit cannot be 'abc'"),
        ("lexical(policy=any_term)", "policy cannot be 'any_term'. Use a Stage of Python"),
    ],
)  # fmt: skip
def test_a_value_that_is_not_declared_is_refused_by_its_name(text, said):
    with pytest.raises(BadParameter) as refused:
        parse(text)
    assert str(refused.value).startswith(said)


def test_brackets_knobs_and_python_are_refused_alike():
    for refused in (lambda: parse("adr_0172(k=-1)"), lambda: with_knobs("adr_0172", {"k": -1}), lambda: variant("adr_0172", k=-1),
                    lambda: rrf(k=-1)):  # fmt: skip
        with pytest.raises(BadParameter, match=r"^k cannot be -1. Use a number of at least 0$"):
            refused()
    with pytest.raises(BadParameter, match="weights cannot be"):
        rrf(weights={"verbatim": float("nan")})


def test_what_is_declared_is_taken_and_a_whole_float_is_its_whole_number():
    assert parse("adr_0172(cap=8.0)").hash == parse("adr_0172(cap=8)").hash
    assert with_knobs("adr_0172", {"cap": 8.0}).hash == parse("adr_0172(cap=8)").hash
    for text in ("adr_0172(floor=none)", "notes_rrf(floor=-1,exact=true,engine=sqlite)", "adr_0172+project(preferred=json)"):
        assert parse(text).name == text
    assert parse("adr_0172(k=10)").fusion["k"] == 10 and rrf(weights={"verbatim": 0}).params


def test_a_function_of_ones_own_has_its_types_and_no_range_of_ours():
    def mine(query, ctx, *, floor: float = 5, limit: int = 3, other=None): ...

    assert checked(mine, {"floor": 12.5, "limit": 0, "other": object}) == {"floor": 12.5, "limit": 0, "other": object}
    with pytest.raises(BadParameter, match="limit is a whole number, not 0.5"):
        checked(mine, {"limit": 0.5})
