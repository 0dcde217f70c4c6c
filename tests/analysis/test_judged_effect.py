"""What one query's remedy does to the judged others is what comparing the two variants says."""

from helpers.made_collection import Document, made_collection

from workbench.analysis.evaluate.comparison import compare
from workbench.analysis.evaluate.judged import judge
from workbench.analysis.evaluate.judged_effect import judged_effects
from workbench.analysis.explain.counterfactual import counterfactuals
from workbench.analysis.runs import run_variants
from workbench.retrieval.channels import lexical, semantic
from workbench.retrieval.frozen import freeze
from workbench.retrieval.fusions import rrf
from workbench.retrieval.policies import any_term
from workbench.retrieval.variant import Variant, with_knobs
from workbench.sources.base import JudgedQuery, Qrel
from workbench.types import Query

DOCS = [Document(n, text, f"d{n}", "a", angle) for n, (text, angle) in enumerate(
    [("red red", 60), ("red", 0), ("blue red", 15), ("blue blue", 90), ("green", 30)], 1)]  # fmt: skip
CHOSEN = Variant("chosen", rrf(), lexical(policy=any_term()), semantic())
ASKED = [JudgedQuery("q1", "red"), JudgedQuery("q2", "blue"), JudgedQuery("q3", "green")]
JUDGED = judge(ASKED, [Qrel("q1", "d1", 1), Qrel("q2", "d4", 1), Qrel("q3", "d5", 1)])


def test_wins_ties_and_losses_are_those_of_the_comparison():
    collection = made_collection(DOCS)
    frozen = freeze(collection, Query("red"), CHOSEN)
    answers = counterfactuals(frozen, 1, first=1)
    effects = judged_effects(collection, JUDGED, CHOSEN, answers, metrics=["RR"])
    helps = [c for c in answers if c.change]
    assert [e.knob for e in effects] == [c.knob for c in helps] and helps
    for effect, answer in zip(effects, helps, strict=True):
        changed = with_knobs(CHOSEN, answer.change)
        runs = run_variants(collection, JUDGED.queries, [CHOSEN, changed]).runs
        row = compare(runs, JUDGED, ["RR"]).pair("chosen", changed.name, "RR")
        assert (effect.wins, effect.ties, effect.losses, effect.n) == (row["wins"], row["ties"], row["losses"], 3)
        assert effect.wins + effect.ties + effect.losses == effect.n and effect.wins >= 1


def test_nothing_to_turn_or_nothing_judged_has_no_effect():
    collection = made_collection(DOCS)
    frozen = freeze(collection, Query("red"), CHOSEN)
    holds = counterfactuals(frozen, frozen.replay(CHOSEN).fused.ids[0], first=3)
    assert judged_effects(collection, JUDGED, CHOSEN, holds) == ()
    assert judged_effects(collection, judge(ASKED, []), CHOSEN, counterfactuals(frozen, 1, first=1)) == ()
