"""Where queries and judgements come from: matched by id alone, everything else counted or refused by name."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest

from workbench.analysis.evaluate.query_sets import NothingToEvaluate, query_set
from workbench.errors import BadParameter, NotAvailable
from workbench.retrieval.search import open_collection
from workbench.sources.base import JudgedQuery, Qrel, SourceError


@pytest.fixture
def collection(tiny):
    with open_collection(tiny) as opened:
        yield opened


def test_the_collections_own_queries_and_judgements(collection):
    found = query_set(collection)
    assert [q.id for q in found.queries] == ["q1", "q2", "q3"]
    assert found.origin == "the queries of tiny; judgements: of tiny"
    assert any("documents that do not exist" in n and n.endswith(": 1") for n in found.notes)
    assert found.queries[1].attributes["question"] is False and found.queries[0].attributes["verbatim"] is False


def test_a_made_set_says_its_rule_and_what_it_dropped(collection):
    found = query_set(collection, "titles")
    assert {q.id for q in found.queries} == {f"title:{d}" for d in ("tea", "coffee", "meeting", "ferry", "linear", "sedinta", "rule")}
    assert "every title" in found.origin and "judgements" not in found.origin
    assert found.queries[0].attributes["verbatim"] is True
    assert query_set(collection, "identifiers").queries and query_set(collection, "spans").queries


def test_a_limit_draws_by_seed_and_a_smaller_one_draws_some_of_the_same(collection):
    drawn = [{q.id for q in query_set(collection, "titles", limit=n).queries} for n in (2, 4, 7)]
    assert [len(d) for d in drawn] == [2, 4, 7] and drawn[0] < drawn[1] < drawn[2]
    assert drawn[1] != {q.id for q in query_set(collection, "titles", limit=4, seed=3).queries}
    (note,) = [n for n in query_set(collection, limit=1).notes if "beyond the limit" in n]
    assert note.endswith(": 2")


def test_files_are_read_and_what_does_not_fit_is_counted(collection, tmp_path):
    queries, qrels = tmp_path / "q.tsv", tmp_path / "q.qrels"
    queries.write_text("id\ttext\n007\tgreen tea\n8\tferry\n9\tnothing\n10\tbad\n")
    qrels.write_text("7 0 tea 1\n8 0 ferry 2\n8 0 gone 1\n8 0 tea -1\n10 0 tea 0\n99 0 tea 1\n")
    found = query_set(collection, str(queries), str(qrels))
    assert [q.id for q in found.queries] == ["8"] and found.origin == "q.tsv; judgements: q.qrels"
    said = "\n".join(found.notes)
    for part in (
        "no judgements: 2", "no relevant documents: 1", "negative grades, taken as judged and not relevant: 1",
        "not in the query set, left out: 2", "do not exist, kept in the judgements: 1", "but for padding, not matched: 1 (7 / 007)",
    ):  # fmt: skip
        assert part in said


def test_query_ids_that_may_count_by_position_are_told_and_not_matched(collection, tmp_path):
    queries, qrels = tmp_path / "q.tsv", tmp_path / "q.qrels"
    queries.write_text("id\ttext\n101\tgreen tea\n102\tferry\n")
    qrels.write_text("1 0 tea 1\n2 0 ferry 1\n")
    with pytest.raises(NothingToEvaluate, match="0 of 2 queries.*2 have no judgements"):
        query_set(collection, str(queries), str(qrels))
    assert any("by position" in n for n in query_set(collection, str(queries), str(qrels), least=0).notes)


def test_handed_over_queries_and_judgements(collection):
    found = query_set(collection, [JudgedQuery("a", "tea", {"kind": "made"})], [Qrel("a", "tea", 1)])
    assert found.queries[0].attributes["kind"] == "made" and "handed over" in found.origin
    assert found.hash != query_set(collection, [JudgedQuery("a", "tea")], [Qrel("a", "tea", 2)]).hash


def test_a_file_that_is_not_there_names_what_else_there_is(collection):
    with pytest.raises(SourceError, match="not there.*nothing.tsv.*titles, spans, identifiers, or irds:NAME"):
        query_set(collection, "nothing.tsv")


def test_a_collection_without_queries_says_so(home):
    from helpers.made_sources import chunks_of, source_of

    from workbench.stores.load import load

    load(source_of(chunks_of("one two")), name="bare", progress=False)
    with open_collection("bare") as opened, pytest.raises(BadParameter, match="no queries of its own.*--queries"):
        query_set(opened)


# -- ir_datasets ---------------------------------------------------------------------------------------------------
def package(monkeypatch, load):
    module = ModuleType("ir_datasets")
    module.load = load
    monkeypatch.setitem(sys.modules, "ir_datasets", module)


def dataset(queries=True, fails=False):
    def rows(found):
        if fails:
            raise ConnectionError("no route to host")
        return iter(found)

    return SimpleNamespace(
        has_queries=lambda: queries, has_qrels=lambda: True,
        queries_iter=lambda: rows([SimpleNamespace(query_id="1", text="tea"), SimpleNamespace(query_id="2", title="ferry", description="x")]),
        qrels_iter=lambda: rows([SimpleNamespace(query_id="1", doc_id="tea", relevance=1), SimpleNamespace(query_id="2", doc_id="ferry", relevance=1)]),
    )  # fmt: skip


def test_a_name_of_ir_datasets_is_read_by_the_package(collection, monkeypatch):
    package(monkeypatch, lambda name: {"beir/made": dataset()}[name])
    found = query_set(collection, "irds:beir/made")
    assert [(q.id, q.text) for q in found.queries] == [("1", "tea"), ("2", "ferry")] and found.origin == "irds:beir/made"
    with pytest.raises(BadParameter, match="knows no data set 'beir/none'"):
        query_set(collection, "irds:beir/none")


def test_without_the_package_the_network_or_the_queries_the_error_says_which(collection, monkeypatch):
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(NotAvailable, match="ir_datasets is not installed"):
        query_set(collection, "irds:beir/made")
    package(monkeypatch, lambda name: dataset(fails=True))
    with pytest.raises(NotAvailable, match="could not fetch 'beir/made': ConnectionError: no route to host"):
        query_set(collection, "irds:beir/made")
    package(monkeypatch, lambda name: dataset(queries=False))
    with pytest.raises(BadParameter, match="'beir/made' has no queries"):
        query_set(collection, "irds:beir/made")
