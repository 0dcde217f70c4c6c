"""A judged query's filters are part of its search, in every command that evaluates."""

from __future__ import annotations

import json

import pytest
from helpers.made_sources import source_of
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from workbench.analysis.evaluate.compare import compare_variants
from workbench.analysis.evaluate.judging import pools
from workbench.analysis.evaluate.metrics import per_query
from workbench.analysis.evaluate.query_sets import query_set
from workbench.analysis.evaluate.rankings import scored_runs
from workbench.analysis.evaluate.tuning import tune
from workbench.analysis.replay.query_log import read_log
from workbench.analysis.replay.replay import replay
from workbench.analysis.runs import run_variants
from workbench.retrieval.search import open_collection
from workbench.retrieval.variant import variant
from workbench.sources.base import JudgedQuery, Qrel, SourceError
from workbench.sources.judgements import read_queries
from workbench.stores.load import load
from workbench.types import Chunk, Facets

SPEAKERS = ("ann", "ben", "cy")
WORDS = ("harbour", "ferry", "anchor", "rope", "sail", "storm", "tide")
CHUNKS = [
    Chunk(n, f"d{n}", 0, f"{WORDS[n % 7]} {WORDS[n % 5]} {WORDS[n % 3]} note {n}", title=f"t{n}",
          facets=Facets(project=SPEAKERS[n % 3], metadata={"year": 2020 + n % 4}))
    for n in range(1, 61)
]  # fmt: skip
VARIANTS = ["lexical_bm25", "semantic", "adr_0172"]


def of(speaker):
    return [c for c in CHUNKS if c.facets.project == speaker]


@pytest.fixture(scope="module")
def talks_home(tmp_path_factory):
    """Conversations of three people in one collection, and each person's alone in another."""
    directory = tmp_path_factory.mktemp("talks")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_HOME", str(directory))
        load(source_of(CHUNKS), name="talks", progress=False)
        for speaker in SPEAKERS:
            load(source_of(of(speaker)), name=speaker, progress=False)
    return directory


@pytest.fixture
def talks(talks_home, monkeypatch, _no_settings):
    monkeypatch.setenv("WORKBENCH_HOME", str(talks_home))
    with open_collection("talks") as opened:
        yield opened


def asked(filters, count=24):
    """Queries each of which one document of the filter's speaker answers."""
    mine = [c for c in CHUNKS if c.facets.project == filters["project"]]
    queries = [JudgedQuery(f"q{n}", f"{WORDS[n % 7]} note {mine[n % 20].id}", {"filters": filters}) for n in range(count)]
    return queries, [Qrel(f"q{n}", mine[n % 20].entity_id, 1) for n in range(count)]


FORMS = {
    "queries.jsonl": '{"_id": "q1", "text": "ferry", "metadata": {"filters": {"project": "ann"}, "topic": "sea"}}\n',
    "filters.jsonl": '{"id": "q1", "query": "ferry", "filters": {"project": "ann"}, "topic": "sea"}\n',
    "json.csv": 'id,text,filters,topic\nq1,ferry,"{""project"": ""ann""}",sea\n',
    "words.tsv": "id\ttext\tfilter\ttopic\nq1\tferry\tproject=ann\tsea\n",
    "column.csv": "id,text,filter.project,filter.source_type,topic\nq1,ferry,ann,,sea\n",
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_of_a_query_file_holds_filters(name, tmp_path):
    (tmp_path / name).write_text(FORMS[name])
    (query,) = read_queries(tmp_path / name)
    assert query.filters == {"project": "ann"} and query.attributes["topic"] == "sea"
    assert [dict(q.filters) for q in read_log(tmp_path / name).queries] == [{"project": "ann"}]
    assert query.search.filters == {"project": "ann"} and query.where.endswith((":1", ":2"))


def test_filters_survive_the_catalog_and_are_reported(talks_home, monkeypatch):
    monkeypatch.setenv("WORKBENCH_HOME", str(talks_home))
    queries, qrels = asked({"project": "ann", "year": [2020, 2021, 2022, 2023]})
    load(source_of(CHUNKS, queries=tuple(queries), qrels=tuple(qrels)), name="stored", progress=False)
    with open_collection("stored") as opened:
        found = query_set(opened)
        assert {json.dumps(dict(q.filters)) for q in found.queries} == {'{"project": "ann", "year": [2020, 2021, 2022, 2023]}'}
        assert any("filters of their own: 24 of 24" in n for n in found.notes)


def test_every_command_searches_within_the_filters(talks, tmp_path):
    queries, qrels = asked({"project": "ben"})
    mine = {c.entity_id for c in of("ben")}
    ran = compare_variants(talks, VARIANTS, queries, qrels, ["RR", "nDCG@10"], resamples=99)
    assert all(set(ids) <= mine for run in ran.runs.runs.values() for ids in run.values())
    assert any(ids for run in ran.runs.runs.values() for ids in run.values())
    sides = [side for d in ran.differences for side in (d.a, d.b)]
    assert sides and all("--filter project=ben" in s.command and {h.entity_id for h in s.page} <= mine for s in sides)
    assert all({i.entity_id for i in p.items} <= mine for p in pools(talks, queries, VARIANTS))
    scored = scored_runs(talks, queries, [variant("adr_0172")])["adr_0172"]
    assert all({d for d, _ in ranked} <= mine for ranked in scored.values())
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps({"text": q.text, "filters": dict(q.filters)}) + "\n" for q in queries))
    answers = replay(talks, log, ["adr_0172", "semantic"]).answers["adr_0172"].values()
    assert all(a.page and set(a.page) <= mine for a in answers)


def test_tune_gives_the_value_of_compare_within_filters(talks):
    queries, qrels = asked({"project": "cy"}, 40)
    tuned = tune(talks, "two_lists", queries, qrels, "RR", grids={"k": (60,)}, resamples=99)
    ran = compare_variants(talks, ["two_lists"], queries, qrels, ["RR"], resamples=99)
    values = per_query(ran.runs.runs["two_lists"], ran.queries.judged.grades, ["RR"])["RR"]
    ids = tuned.judge.judged.ids
    assert tuned.own.judge == pytest.approx(sum(values[i] for i in ids) / len(ids), abs=1e-12)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(speaker=st.sampled_from(SPEAKERS), words=st.lists(st.sampled_from([*WORDS, "note", "7", "30"]), min_size=1, max_size=4))
def test_a_filter_equals_the_collection_reduced_by_hand(talks, speaker, words):
    query = JudgedQuery("q", " ".join(words), {"filters": {"project": speaker}})
    bare = JudgedQuery("q", query.text)
    # Document frequencies are the whole collection's, so one term of BM25 and the cosine are what reducing keeps.
    variants = ["semantic", *(["lexical_bm25"] if len(set(words)) == 1 else [])]
    within = run_variants(talks, [query], variants).runs
    with open_collection(speaker) as reduced:
        by_hand = run_variants(reduced, [bare], variants).runs
    event("some documents are left out" if run_variants(talks, [bare], variants).runs != within else "same")
    assert within["semantic"] == by_hand["semantic"] and within["semantic"]["q"]
    if "lexical_bm25" in variants:
        assert set(within["lexical_bm25"]["q"]) == set(by_hand["lexical_bm25"]["q"])


@pytest.mark.parametrize(
    ("filters", "said"),
    [('{"projcet": "ann"}', "no row has a field 'projcet'"), ('{"project": 7}', "project is text, 7 is not"),
     ('{"year": {"about": 2020}}', "unknown operator 'about'"), ('{"created": "soon"}', "'soon' is no date or time"),
     ('{"year": {"gte": [1]}}', "year"), ('{"year": [[1]]}', "cannot be compared")],
)  # fmt: skip
def test_a_filter_that_cannot_hold_names_query_and_line(talks, tmp_path, filters, said):
    path = tmp_path / "q.jsonl"
    path.write_text('{"id": "q1", "text": "ferry"}\n{"id": "q2", "text": "tide", "filters": ' + filters + "}\n")
    with pytest.raises(SourceError) as error:
        query_set(talks, str(path), [Qrel("q1", "d1", 1), Qrel("q2", "d1", 1)])
    assert said in str(error.value) and "q2" in str(error.value) and "q.jsonl:2" in str(error.value)


@pytest.mark.parametrize("filters", ['"project ann"', "[1]", "7", '"{broken"'])
def test_filters_that_are_no_mapping_are_refused_by_line(tmp_path, filters):
    path = tmp_path / "q.jsonl"
    path.write_text('{"id": "q9", "text": "ferry", "filters": ' + filters + "}\n")
    with pytest.raises(SourceError, match="q9") as error:
        read_queries(path)
    assert "q.jsonl:1" in str(error.value)


def test_filters_slice_the_queries(talks):
    first, second = asked({"project": "ann"}, 12), asked({"project": "ben"}, 12)
    queries = [*first[0], *(JudgedQuery(f"b{q.id}", q.text, q.attributes) for q in second[0])]
    qrels = [*first[1], *(Qrel(f"b{r.query_id}", r.entity_id, 1) for r in second[1])]
    slices = compare_variants(talks, ["lexical_bm25", "semantic"], queries, qrels, ["RR"], resamples=99).comparison.per_slice
    found = slices.filter(attribute="filters")
    assert found["n"].to_list() == [12, 12] and '{"project": "ann"}' in found["label"].to_list()
