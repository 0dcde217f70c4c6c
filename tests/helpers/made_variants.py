"""Variants with small limits over every channel and fusion, for property tests."""

from __future__ import annotations

from hypothesis import strategies as st

from workbench.registry import make
from workbench.retrieval.variant import Variant, with_prior

small = st.integers(1, 8)
POLICIES = ("any_term", "all_terms_then_rarest", "all_terms_then_commonest", "all_terms_then_by_id", "rarest_first", "by_bm25")
weights = st.sampled_from([0, 0.25, 0.5, 1, 2])


@st.composite
def fusions(draw):
    name = draw(st.sampled_from(["rrf", "rrf", "max_min", "verbatim_first", "single"]))
    k = draw(st.sampled_from([0, 1, 2.5, 10, 60]))
    if name == "rrf":
        given = {n: draw(weights) for n in draw(st.sets(st.sampled_from(["lexical", "semantic", "verbatim"])))}
        return make("fusion", name, {"k": k, "weights": given})
    if name == "max_min":
        return make("fusion", name, {"bonus": draw(st.sampled_from([0, 0.3, 1, 2]))})
    if name == "single":
        return make("fusion", name, {"name": draw(st.sampled_from(["lexical", "semantic"]))})
    return make("fusion", name, {"k": k})


@st.composite
def variants(draw):
    channel = draw(st.sampled_from(["policy", "policy", "policy", "lexical_bm25", "lexical_engine_bm25", "lexical_sparse_bm25"]))
    if channel == "policy":
        policy = make("policy", draw(st.sampled_from(POLICIES)), {"cap": draw(small)})
        lexical = make("channel", "lexical", {"policy": policy})
    else:
        lexical = make("channel", channel, {"limit": draw(small)})
    floor = draw(st.sampled_from([None, None, -0.5, 0.0, 0.5]))
    third = draw(st.sampled_from([None, "verbatim", "verbatim", "all_terms"]))
    made = Variant(
        "made", draw(fusions()), lexical, make("channel", "semantic", {"limit": draw(small), "floor": floor}),
        derived=(make("derived", third, {}),) if third else (), distinct=draw(st.booleans()),
    )  # fmt: skip
    if made.fusion.name == "rrf" and draw(st.booleans()):
        made = with_prior(made, make("prior", "project", {"preferred": ("a",)}), draw(st.sampled_from([0.25, 1, 3])))
    return made.replace(name="made")
