"""Pools hold what every variant found, shuffled without a label; every grade is on disk at once and goes on from there."""

from __future__ import annotations

import pytest

from workbench.analysis.evaluate.judging import EXCERPT, Judging, pools
from workbench.analysis.evaluate.query_sets import query_set
from workbench.errors import BadParameter
from workbench.retrieval.search import open_collection
from workbench.sources.base import JudgedQuery
from workbench.sources.judgements import read_qrels, read_queries

QUERIES = ["how is tea made", "ferry harbour", "zzz qqq"]
VARIANTS = ["semantic", "lexical_bm25"]


@pytest.fixture
def collection(tiny):
    with open_collection(tiny) as opened:
        yield opened


def test_a_pool_is_the_first_documents_of_every_variant_each_once(collection):
    for pool in pools(collection, QUERIES, VARIANTS, depth=2):
        wanted = {}
        for v in VARIANTS:
            ids = collection.search(pool.query.text, v, limit=1).fused.ids
            for d in list(dict.fromkeys(collection.stores.catalog.entities(ids) if ids else ()))[:2]:
                wanted.setdefault(d, []).append(v)
        assert {i.entity_id: list(i.found_by) for i in pool.items} == wanted
        assert all(len(i.text) <= EXCERPT and "semantic" not in repr(i) for i in pool.items)


def test_the_order_depends_on_seed_query_and_document_alone(collection):
    first, turned = (pools(collection, QUERIES, v, depth=5) for v in (VARIANTS, VARIANTS[::-1]))
    assert [[i.entity_id for i in p.items] for p in first] == [[i.entity_id for i in p.items] for p in turned]
    others = {tuple(i.entity_id for i in pools(collection, QUERIES[:1], VARIANTS, depth=5, seed=s)[0].items) for s in range(6)}
    assert len(others) > 1
    ranked = [collection.stores.catalog.entities(collection.search(QUERIES[0], v, limit=1).fused.ids)[:5] for v in VARIANTS]
    assert any(list(o) not in ranked for o in others)


def test_grades_are_saved_at_once_and_judging_goes_on_where_it_was(collection, tmp_path):
    pooled = pools(collection, QUERIES, VARIANTS, depth=3)
    path = tmp_path / "judges" / "ann.tsv"
    judging = Judging(pooled, path)
    seen = []
    for grade in (2, 0, 3):
        pool, item = judging.current
        seen.append((pool.query.id, item.entity_id, grade))
        judging.grade(grade)
        assert sorted((q.query_id, q.entity_id, q.grade) for q in read_qrels(path)) == sorted(seen)
    again = Judging(pooled, path)
    assert again.judged == 3 and again.current == judging.current and again.total == sum(len(p.items) for p in pooled)
    while again.current is not None:
        again.grade(1)
    assert again.judged == again.total == len(read_qrels(path))
    found = query_set(collection, str(again.queries_path), str(path))
    assert {q.id for q in found.queries} == {p.query.id for p in pooled if p.items}
    assert [q.text for q in read_queries(again.queries_path)][0] == QUERIES[0]


def test_a_grade_can_be_looked_at_again_and_changed(collection, tmp_path):
    judging = Judging(pools(collection, QUERIES[:1], VARIANTS, depth=3), tmp_path / "ann.json")
    first = judging.current
    judging.grade(3)
    judging.step(-1)
    assert judging.current == first and judging.grade_of(first[1], first[0]) == 3
    judging.grade(0)
    assert read_qrels(tmp_path / "ann.json")[0].grade == 0
    judging.step(100)
    assert judging.current is None
    judging.grade(1)  # at the end there is nothing to grade
    judging.step(-1)
    assert judging.current is not None and judging.judged == 1


def test_grades_of_other_queries_in_the_file_stay(collection, tmp_path):
    path = tmp_path / "ann.qrels"
    path.write_text("other 0 tea 2\n")
    judging = Judging(pools(collection, [JudgedQuery("mine", "tea")], VARIANTS, depth=1), path)
    assert judging.judged == 0
    judging.grade(1)
    assert {(q.query_id, q.grade) for q in read_qrels(path)} == {("other", 2), ("mine", 1)}


def test_what_cannot_be_judged_is_refused(collection, tmp_path):
    with pytest.raises(BadParameter, match="stands twice"):
        pools(collection, [JudgedQuery("q", "a"), JudgedQuery("q", "b")], VARIANTS)
    with pytest.raises(BadParameter, match="depth 0"):
        pools(collection, QUERIES, VARIANTS, depth=0)
    with pytest.raises(BadParameter, match="2 to 10 grades"):
        Judging((), tmp_path / "x.json", ["one"])
    judging = Judging(pools(collection, QUERIES[:1], VARIANTS), tmp_path / "x.json")
    with pytest.raises(BadParameter, match="grade 4 is not on the scale"):
        judging.grade(4)
