"""A comparison from variants to reasons: every difference is explained on both sides, by a command that is true."""

from __future__ import annotations

import json
import shlex

import pytest

from workbench.analysis.evaluate.compare import compare_variants, explained
from workbench.analysis.explain.explain import explain
from workbench.analysis.explain.targets import explain_command
from workbench.errors import BadParameter
from workbench.retrieval.search import open_collection
from workbench.sources.base import JudgedQuery, Qrel
from workbench.types import Query

VARIANTS = ["adr_0172", "adr_0172(cap=1,third_list=none,semantic_limit=1)"]


@pytest.fixture
def compared(tiny):
    return compare_variants(tiny, VARIANTS, "titles", metrics=["RR", "Success@1"], resamples=99)


def test_a_variant_under_another_name_ties_on_every_query(tiny):
    from workbench.retrieval.variant import variant

    found = compare_variants(tiny, ["adr_0172", variant("adr_0172").replace(name="same")], "titles", resamples=99)
    assert all((r["wins"], r["losses"]) == (0, 0) for r in found.comparison.per_pair.to_dicts()) and found.differences == ()


def test_each_difference_is_told_by_an_explanation_of_that_side(compared, tiny):
    assert compared.differences
    with open_collection(tiny) as collection:
        for d in compared.differences:
            assert d.difference == pytest.approx(d.b.value - d.a.value) and d.difference != 0
            for side in (d.a, d.b):
                words = shlex.split(side.command)
                assert words[:3] == ["workbench", "explain", "tiny"] and words[-1] == d.text
                target, named = int(words[words.index("--target") + 1].removeprefix("point:")), words[words.index("--variant") + 1]
                result = collection.search(d.text, named)
                assert side.told == explained(explain(collection, result, target))
                assert (side.rank is None) == side.told.startswith("absent")
                assert collection.stores.catalog.entities([target]) == [d.target]


def test_its_data_is_json_and_equal_for_equal_inputs(compared, tiny):
    again = compare_variants(tiny, VARIANTS, "titles", metrics=["RR", "Success@1"], resamples=99)
    costs = {"costs"}
    first, second = ({k: v for k, v in c.to_dict().items() if k not in costs} for c in (compared, again))
    assert json.dumps(first) == json.dumps(second)
    assert first["inputs"]["content"] and first["plans"].keys() == set(VARIANTS) and first["queries_hash"]


def test_shared_stages_run_once_a_query(tiny, monkeypatch):
    from workbench.retrieval.context import Context

    calls = []
    nearest = Context.nearest
    monkeypatch.setattr(Context, "nearest", lambda self, query, *rest: calls.append(query.text) or nearest(self, query, *rest))
    compare_variants(tiny, ["adr_0172", "adr_0005", "two_lists", "adr_0172(k=1)"], resamples=99, differing=0)
    assert len(calls) == 3


def test_the_target_is_the_relevant_document_that_moves_most(tiny):
    qrels = [Qrel("q", "ferry", 1), Qrel("q", "meeting", 2), Qrel("q", "tea", 0)]
    found = compare_variants(
        tiny, ["adr_0172", "lexical_bm25"], [JudgedQuery("q", "ferry harbour")], qrels, ["AP", "P@3"], resamples=9
    )
    for d in found.differences:
        assert d.target in ("ferry", "meeting")


@pytest.mark.parametrize(
    ("variants", "said"), [(["nope"], "unknown variant 'nope'"), ([], "no variant is named"), (["adr_0172", "adr_0172"], "named twice")]
)
def test_bad_variants_are_refused_before_anything_runs(tiny, variants, said):
    with pytest.raises(BadParameter, match=said):
        compare_variants(tiny, variants)


def test_progress_counts_the_queries(tiny):
    told = []
    compare_variants(tiny, ["adr_0005"], resamples=9, progress=lambda done, of: told.append((done, of)))
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_a_command_is_what_a_shell_takes(monkeypatch):
    monkeypatch.setenv("WORKBENCH_OWN", "my search.py")
    query = Query("-what's \"new\"?", {"project": ["a b", None], "created": {"gte": "2026-01-01"}}, mode="lexical")
    words = shlex.split(explain_command("notes", query, "0b85", "adr_0172(k=1)"))
    assert words[0] == "WORKBENCH_OWN=my search.py" and words[-2:] == ["--", query.text]
    assert words[words.index("--mode") + 1] == "lexical"
    assert [w for w in words if w.startswith(("project=", "created="))] == ["project=a b", "project=", "created=gte:2026-01-01"]
