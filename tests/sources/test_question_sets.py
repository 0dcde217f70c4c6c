"""Question sets in their own formats: SQuAD, QMSum, GitBugs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from workbench.sources.base import Qrel, SourceError
from workbench.sources.judged_sets import gitbugs, qmsum, squad

QUESTION = {"id": "q1", "question": "Who?", "answers": []}
ARTICLE = {"title": "Super_Bowl", "paragraphs": [{"context": "One.", "qas": [QUESTION]}, {"context": "", "qas": []}]}


def squad_file(tmp_path: Path, value: object) -> Path:
    (tmp_path / "s.json").write_text(json.dumps(value))
    return tmp_path / "s.json"


def test_a_questions_own_paragraph_is_its_one_relevant_document(tmp_path: Path) -> None:
    impossible = {"id": "q2", "question": "Why?", "is_impossible": True}
    second = {"title": "B", "paragraphs": [{"context": "Two.", "qas": [impossible]}]}
    source = squad()(squad_file(tmp_path, {"data": [ARTICLE, second]}))
    chunks = list(source.chunks())
    assert [(c.id, c.entity_id, c.text, c.title) for c in chunks] == [
        (1, "0-0", "One.", "Super Bowl"), (2, "0-1", "", "Super Bowl"), (3, "1-0", "Two.", "B"),
    ]  # fmt: skip
    assert source.qrels == (Qrel("q1", "0-0", 1),) and source.count == 3
    assert dict(source.queries[1].attributes) == {"impossible": True}
    assert "queries have no judgement: 1 (q2)" in source.warnings
    assert any("documents are empty" in w for w in source.warnings)


@pytest.mark.parametrize(
    "value",
    [{}, {"data": []}, [], {"data": [{"paragraphs": [{}]}]}, {"data": [ARTICLE, {**ARTICLE, "title": "twice"}]},
     {"data": [{"paragraphs": [{"context": "x", "qas": [{"id": "q"}]}]}]}],
)  # fmt: skip
def test_a_file_of_another_shape_is_refused(tmp_path: Path, value: object) -> None:
    with pytest.raises(SourceError):
        squad()(squad_file(tmp_path, value))


def meeting(spans: list) -> dict:
    turns = [{"speaker": "Ana", "content": "Hello."}, {"speaker": "", "content": "Hm."}, {"speaker": "Ion", "content": ""}]
    query = {"query": "What was said?", "answer": "", "relevant_text_span": spans}
    return {"meeting_transcripts": turns, "specific_query_list": [query], "general_query_list": [{"query": "All?"}]}


def test_turns_answer_queries_to_the_end_of_their_span(tmp_path: Path) -> None:
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / "M1.json").write_text(json.dumps(meeting([["0", "1"], ["1", "9"]])))
    source = qmsum()(tmp_path)
    chunks = list(source.chunks())
    assert [(c.entity_id, c.text) for c in chunks] == [
        ("test/M1/0", "Ana: Hello."), ("test/M1/1", "Hm."), ("test/M1/2", ""),
    ]  # fmt: skip
    assert [(q.query_id, q.entity_id) for q in source.qrels] == [("test/M1/q0", f"test/M1/{n}") for n in range(3)]
    assert source.warnings == ["queries name turns beyond the transcript: 1 (test/M1/q0)"]


def test_a_meeting_of_another_shape_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no meetings"):
        qmsum()(tmp_path)
    (tmp_path / "m.json").write_text('{"x": 1}')
    with pytest.raises(SourceError, match=r"m\.json"):
        qmsum()(tmp_path)
    (tmp_path / "m.json").write_text(json.dumps(meeting([["a", "b"]])))
    with pytest.raises(SourceError, match="not two turns"):
        qmsum()(tmp_path)


def test_the_reports_of_one_row_are_each_others_duplicates(tmp_path: Path) -> None:
    reports = "".join(f"{n},Summary {n},Text {n},Open,Fixed\n" for n in (1, 2, 3, 4))
    (tmp_path / "x_bugs.csv").write_text("Issue id,Summary,Description,Status,Resolution\n" + reports)
    (tmp_path / "x_bugs-combined.csv").write_text('Issue id,Duplicate id\n1,"2, 3"\n2,1\n4,4\n4,99\n')
    source = gitbugs()(tmp_path)
    assert [(q.query_id, q.entity_id) for q in source.qrels] == [
        ("1", "2"), ("1", "3"), ("2", "1"), ("2", "3"), ("3", "1"), ("3", "2"),
    ]  # fmt: skip
    assert [(q.id, q.text, dict(q.attributes)) for q in source.queries][0] == ("1", "Summary 1\n\nText 1", {"self": "1"})
    assert source.warnings == ["rows name a report that is not here: 1 (4 99 (line 5))", "rows name one report twice: 1 (4 4 (line 4))"]
    assert [c.text for c in source.chunks()][0] == source.queries[0].text
    (tmp_path / "x_bugs-combined.csv").write_text("A,B\n1,2\n")
    with pytest.raises(SourceError, match="missing columns: Issue id, Duplicate id; found: A, B"):
        gitbugs()(tmp_path)
    with pytest.raises(SourceError, match="0 files"):
        gitbugs()(tmp_path.parent)
