"""The list that a metric reads: whole to a stated depth, and without the query's own document."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time

import pytest
from helpers.made_sources import source_of
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.analysis.evaluate.compare import compare_variants
from workbench.analysis.evaluate.comparison import compare
from workbench.analysis.evaluate.judged import BY_ATTRIBUTE, BY_ID, ONLY_OWN, judge
from workbench.analysis.evaluate.judging import pools
from workbench.analysis.evaluate.metrics import per_query
from workbench.analysis.evaluate.query_sets import query_set
from workbench.analysis.evaluate.rankings import scored_runs
from workbench.analysis.evaluate.tuning import tune
from workbench.analysis.replay.replay import replay
from workbench.analysis.runs import limits_reached, run_variants, search_seconds
from workbench.retrieval.search import open_collection
from workbench.retrieval.variant import variant
from workbench.sources.base import JudgedQuery, Qrel
from workbench.types import Chunk

WORDS = [
    "harbour",
    "ferry",
    "anchor",
    "rope",
    "sail",
    "storm",
    "tide",
    "crew",
    "deck",
    "chart",
    "fog",
]
METRICS = ("AP", "RR", "Rprec", "Bpref", "nDCG", "nDCG@3", "R@5", "Success@1", "P@4")


@pytest.fixture(scope="module")
def sea_home(tmp_path_factory):
    from workbench.stores.load import load

    chance = random.Random(7)
    chunks = [
        Chunk(n, str(n), 0, " ".join(chance.choices(WORDS, k=8)) + f" item{n}", title=f"t{n}")
        for n in range(1, 61)
    ]
    directory = tmp_path_factory.mktemp("evaluated-home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_HOME", str(directory))
        load(source_of(chunks), name="sea", progress=False)
    return directory


@pytest.fixture
def sea(sea_home, monkeypatch, _no_settings):
    monkeypatch.setenv("WORKBENCH_HOME", str(sea_home))
    with open_collection("sea") as opened:
        yield opened


def duplicates(opened, attribute: bool) -> tuple[list[JudgedQuery], list[Qrel]]:
    """Every document as a query for its two neighbours, its own id as the query's id or as `self`."""
    texts = {c.entity_id: c.text for c in opened.stores.catalog.chunks(range(1, 61))}
    queries = [
        JudgedQuery(f"q{d}" if attribute else d, text, {"self": d} if attribute else {})
        for d, text in texts.items()
    ]
    near = {q.id: [str((n + step) % 60 + 1) for step in (0, 6)] for n, q in enumerate(queries, 1)}
    return queries, [Qrel(q, d, 1) for q, found in near.items() for d in found]


def means(compared) -> dict[tuple[str, str], float]:
    return {
        (r["variant"], r["metric"]): r["value"] for r in compared.comparison.per_variant.to_dicts()
    }


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_value_depends_on_the_other_metrics(data):
    pool = [f"d{n}" for n in range(12)]
    run = {q: data.draw(st.permutations(pool)) for q in ("a", "b")}
    grades = {
        q: data.draw(st.dictionaries(st.sampled_from(pool), st.integers(0, 2), min_size=1))
        for q in run
    }
    depth = data.draw(st.integers(1, 14))
    others = data.draw(st.lists(st.sampled_from(METRICS), unique=True, min_size=1))
    together = per_query(run, grades, others, depth)
    for name in others:
        assert per_query(run, grades, [name], depth)[name] == together[name]
    backwards = per_query(
        dict(reversed(run.items())), dict(reversed(grades.items())), others, depth
    )
    assert backwards == together


def test_a_metric_without_a_cutoff_reads_the_stated_depth():
    run, grades = {"q": ["x", "y", "z", "a"]}, {"q": {"a": 1}}
    assert per_query(run, grades, ["AP", "R@4"], 4) == {"AP": {"q": 0.25}, "R@4": {"q": 1.0}}
    assert per_query(run, grades, ["AP", "RR", "R@4"], 3) == {
        "AP": {"q": 0},
        "RR": {"q": 0},
        "R@4": {"q": 1},
    }
    found = compare({"v": run}, judge([JudgedQuery("q", "")], [Qrel("q", "a", 1)]), ["AP"], depth=3)
    assert found.to_dict()["descriptions"] == {"AP": "AP (first 3 documents)"}


@pytest.mark.parametrize("attribute", [True, False])
def test_a_query_never_finds_its_own_document(sea, attribute):
    queries, qrels = duplicates(sea, attribute)
    found = compare_variants(
        sea,
        ["lexical_bm25", "adr_0172"],
        queries,
        qrels,
        ["RR", "nDCG@10"],
        resamples=9,
        differing=0,
    )
    kept = compare_variants(
        sea,
        ["lexical_bm25", "adr_0172"],
        queries,
        qrels,
        ["RR", "nDCG@10"],
        resamples=9,
        differing=0,
        keep_own=True,
    )
    own = {q.id: q.id.removeprefix("q") for q in queries}
    assert (
        found.queries.own.rule == (BY_ATTRIBUTE if attribute else BY_ID)
        and found.queries.own.queries == 60
    )
    assert any("--keep-own" in note for note in found.notes)
    removed = {
        name: {q: [d for d in of if d != own[q]] for q, of in run.items()}
        for name, run in kept.runs.runs.items()
    }
    assert all(run["q1" if attribute else "1"][0] == "1" for run in kept.runs.runs.values())
    by_hand = compare(removed, kept.comparison.judged, ["RR", "nDCG@10"], resamples=9)
    assert by_hand.per_variant.select("variant", "metric", "value").rows() == [
        (*key, value) for key, value in means(found).items()
    ]
    assert found.runs.runs == {n: {q: tuple(d) for q, d in of.items()} for n, of in removed.items()}


def test_ids_that_are_equal_by_chance_leave_nothing_out(sea):
    queries = [JudgedQuery(str(n), f"item{60 - n} somewhere else") for n in range(1, 20)]
    found = query_set(sea, queries, [Qrel(q.id, str(60 - int(q.id)), 1) for q in queries])
    assert found.own.queries == 0 and not any(q.own_document for q in found.queries)
    assert any("other texts" in note for note in found.notes)


def test_a_known_item_is_kept_and_its_leakage_reported(sea):
    queries = [JudgedQuery(str(n), f"item{n}") for n in range(1, 20)] + [
        JudgedQuery("20", "item20 unheard")
    ]
    found = query_set(sea, queries, [Qrel(q.id, q.id, 1) for q in queries])
    assert found.own.queries == 0 and found.leaked == 19 and len(found.queries) == 20
    assert any("19 of 20 queries stand verbatim" in note for note in found.notes)


def test_an_own_document_is_no_judgement():
    judged = judge([JudgedQuery("q", "", {"self": "a"}), JudgedQuery("p", "", {"self": 1})],
                   [Qrel("q", "a", 1), Qrel("q", "b", 1), Qrel("p", "1", 2)])  # fmt: skip
    assert (
        judged.grades == {"q": {"b": 1}} and judged.skipped == {"p": ONLY_OWN} and judged.own == 2
    )


@pytest.mark.parametrize("metric", ["R@40", "AP", "nDCG@10"])
def test_tune_gives_the_values_of_compare(sea, metric):
    queries, qrels = duplicates(sea, True)
    tuned = tune(
        sea, "adr_0172", queries, qrels, metric, grids={"k": (1, 60)}, resamples=9, depth=30
    )
    for half, trial in ((tuned.tune, tuned.own.tune), (tuned.judge, tuned.own.judge)):
        of = [q for q in queries if q.id in set(half.judged.ids)]
        ran = compare_variants(
            sea, ["adr_0172"], of, qrels, ["RR", metric], resamples=9, differing=0, depth=30
        )
        assert means(ran)["adr_0172", metric] == trial
    assert f"{metric}" in tuned.to_dict()["description"]


def test_values_do_not_depend_on_the_variants_compared(sea):
    queries, qrels = duplicates(sea, True)
    alone = means(
        compare_variants(sea, ["adr_0172"], queries, qrels, ["AP"], resamples=9, differing=0)
    )
    among = means(
        compare_variants(
            sea,
            ["semantic", "adr_0172(k=1)", "adr_0172"],
            queries[::-1],
            qrels,
            ["AP", "R@5"],
            resamples=9,
            differing=0,
        )
    )
    assert among["adr_0172", "AP"] == alone["adr_0172", "AP"]


def test_a_list_that_ends_before_a_cutoff_is_noted_once(sea):
    queries, qrels = duplicates(sea, True)
    found = compare_variants(
        sea,
        ["semantic(limit=12)", "semantic"],
        queries,
        qrels,
        ["R@50", "AP", "P@5"],
        resamples=9,
        differing=0,
    )
    (note,) = [n for n in found.notes if "limit 12" in n]
    assert note.startswith("semantic(limit=12): semantic limit 12 ends 60 of 60 lists before R@50")
    assert "AP (first 1,000 documents)" in note and "P@5" not in note


@pytest.mark.parametrize(
    ("name", "reached"),
    [
        ("bm25_ranking", False),
        ("lexical_bm25(limit=60)", False),
        ("semantic(limit=60)", False),
        ("adr_0005(cap=60,semantic_limit=60)", False),
        ("lexical_bm25(limit=3)", True),
        ("semantic(limit=59)", True),
        ("adr_0005(cap=3)", True),
    ],
)
def test_a_limit_is_reported_only_where_it_cut(sea, name, reached):
    result = sea.search(" ".join(WORDS), name)
    assert bool(limits_reached(result)) == reached, limits_reached(result)


def test_a_shared_call_counts_for_every_variant_that_needs_it(sea):
    memo = {}
    first, second = (
        sea.search("ferry harbour", v, memo=memo) for v in ("adr_0172", "adr_0172(k=1)")
    )
    shared = [s for s in second.spans if s.engine and s.note.endswith("shared")]
    assert shared and search_seconds(second) == second.seconds + sum(s.seconds for s in shared)
    assert search_seconds(first) == first.seconds
    ran = run_variants(sea, [JudgedQuery("a", "ferry")], ["adr_0172", "adr_0172(k=1)"])
    spent = {row["variant"]: row for row in ran.costs}
    assert spent["adr_0172"]["calls"] == spent["adr_0172(k=1)"]["calls"] > 0


def test_the_cost_table_counts_seconds_of_shared_calls(sea, monkeypatch):
    points = type(sea.stores.points)
    nearest = points.nearest

    def slow(*args, **named):
        time.sleep(0.05)
        return nearest(*args, **named)

    monkeypatch.setattr(points, "nearest", slow)
    ran = run_variants(sea, [JudgedQuery("a", "ferry")], ["adr_0172", "adr_0172(k=1)"])
    assert len(ran.costs) == 2 and all(row["p50_ms"] >= 50 for row in ran.costs)


@pytest.mark.parametrize("column", ["self", "id"])
def test_a_replayed_page_has_no_own_document(sea, tmp_path, column):
    text = sea.stores.catalog.chunks([5])[0].text
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps({"text": text, column: "5"}))
    own, whole = (
        next(iter(replay(sea, log, ["lexical_bm25"], first=3, keep_own=keep).answers["lexical_bm25"].values())).page
        for keep in (False, True)
    )
    assert whole[0] == "5" and "5" not in own and own[:2] == whole[1:] and len(own) == 3


@pytest.mark.parametrize("attribute", [True, False])
def test_pools_and_scored_runs_leave_own_documents_out(sea, attribute):
    queries, qrels = duplicates(sea, attribute)
    for pool in pools(sea, queries[:5], ["lexical_bm25"], depth=60):
        assert pool.items and pool.query.id not in {item.entity_id for item in pool.items}
    asked = query_set(sea, queries, qrels).queries[:5]
    runs = scored_runs(sea, asked, [variant("lexical_bm25")])["lexical_bm25"]
    assert all(runs[q.id] and q.own_document not in dict(runs[q.id]) for q in asked)
    assert all(q.own_document for q in asked)


PRINTS_A_TABLE = """
import json, sys
from workbench.analysis.evaluate.compare import compare_variants
found = compare_variants("sea", ["adr_0172", "semantic", "lexical_bm25"], "titles", metrics=["AP", "RR", "nDCG@10"], resamples=99)
print(json.dumps({k: v for k, v in found.to_dict().items() if k != "costs"}))
"""


def test_values_do_not_depend_on_the_process(sea, sea_home):
    tables = {
        subprocess.run(
            [sys.executable, "-c", PRINTS_A_TABLE],
            env={**os.environ, "WORKBENCH_HOME": str(sea_home), "PYTHONHASHSEED": seed},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(tables) == 1 and "adr_0172" in tables.pop()
