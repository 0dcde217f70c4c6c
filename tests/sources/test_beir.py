"""A BEIR folder: what is judged, what is not, and where a line is bad (CASES rows 8, 13, 30)."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from workbench.errors import BadParameter
from workbench.sources.base import Qrel, Source, SourceError
from workbench.sources.judged_sets import beir
from workbench.types import Chunk

DOCUMENTS = [
    {"_id": "d1", "title": "Meeting 2026-11-11 09:58", "text": "We met.", "metadata": {"url": "x", "deep": {"n": 1}}},
    {"_id": "d2", "title": "", "text": "covid-19 and CVE-2024-1234"},
    {"_id": "d3", "title": "Only a title", "text": ""},
    {"_id": "d4", "title": "", "text": "  "},
]


def write(folder: Path, *, documents: list | None = None, queries: list | None = None, qrels: str | None = None) -> Path:
    folder.mkdir(exist_ok=True)
    lines = [row if isinstance(row, str) else json.dumps(row) for row in documents or DOCUMENTS]
    (folder / "corpus.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8", errors="surrogatepass")
    if queries is not None:
        (folder / "queries.jsonl").write_text("".join(json.dumps(q) + "\n" for q in queries))
    if qrels is not None:
        (folder / "qrels").mkdir(exist_ok=True)
        (folder / "qrels" / "test.tsv").write_text(qrels)
    return folder


def read(folder: Path, **options: object) -> tuple[list[Chunk], Source]:
    source = beir(**options)(folder)
    return list(source.chunks()), source


QUERIES = [{"_id": "q1", "text": "meeting?"}, {"_id": "q2", "text": "covid-19", "metadata": {"kind": "id"}}]
HEADER = "query-id\tcorpus-id\tscore\n"


def test_a_chunk_is_title_blank_line_text_and_ids_follow_the_file(tmp_path: Path) -> None:
    chunks, source = read(write(tmp_path / "c", queries=QUERIES, qrels=HEADER + "q1\td1\t1\nq2\td2\t2\n"))
    assert [(c.id, c.entity_id, c.text) for c in chunks] == [
        (1, "d1", "Meeting 2026-11-11 09:58\n\nWe met."), (2, "d2", "covid-19 and CVE-2024-1234"),
        (3, "d3", "Only a title"), (4, "d4", "  "),
    ]  # fmt: skip
    assert dict(chunks[0].facets.metadata) == {"url": "x", "deep.n": 1}
    assert source.qrels == (Qrel("q1", "d1", 1), Qrel("q2", "d2", 2))
    assert dict(source.queries[1].attributes) == {"kind": "id"}
    assert list(source.chunks()) == chunks


def test_empty_documents_are_handed_over_and_counted(tmp_path: Path) -> None:
    _, source = read(write(tmp_path / "c", queries=[], qrels=HEADER + "q\td1\t1\n"))
    assert "documents are empty and are not searched: 1 (d4 (line 4))" in source.warnings


def test_judgements_that_fit_nothing_are_counted_and_kept(tmp_path: Path) -> None:
    qrels = HEADER + "q1\td1\t1\nq1\tgone\t1\nq1\tlost\t2\nq9\td1\t1\nq1\td2\t-1\n"
    chunks, source = read(write(tmp_path / "c", queries=QUERIES, qrels=qrels))
    assert "judgements name documents that are not there: 2 (q1 gone, q1 lost)" in source.warnings
    assert "judgements name queries that are not there: 1 (q9 d1)" in source.warnings
    assert "judgements with a negative grade are kept (relevant is a grade above 0): 1 (q1 d2 -1)" in source.warnings
    assert "queries have no judgement: 1 (q2)" in source.warnings
    assert Qrel("q1", "d2", -1) in source.qrels and len(source.qrels) == 5
    before = list(source.warnings)
    list(source.chunks())
    assert source.warnings == before and len(chunks) == 4


def test_queries_numbered_by_position_are_reported_never_matched(tmp_path: Path) -> None:
    queries = [{"_id": f"c{n}", "text": "t"} for n in (4, 8, 15, 16)]
    _, source = read(write(tmp_path / "c", queries=queries, qrels=HEADER + "1\td1\t1\n2\td2\t1\n"))
    assert {q.query_id for q in source.qrels} == {"1", "2"}
    (said,) = [w for w in source.warnings if w.startswith("no judgement names a query that is there")]
    assert "c4, c8, c15, … (4)" in said and "1, 2" in said and "nothing was matched by position" in said


@pytest.mark.parametrize(
    "qrels",
    ["score\tcorpus-id\tquery-id\n1\td1\tq1\n", "q1\td1\t1\n", "q1 0 d1 1\n", "Query_ID\tDoc-ID\tRelevance\nq1\td1\t1.0\n"],
)
def test_columns_are_known_by_name_in_any_order_or_by_number(tmp_path: Path, qrels: str) -> None:
    _, source = read(write(tmp_path / "c", queries=QUERIES, qrels=qrels))
    assert source.qrels == (Qrel("q1", "d1", 1),)


@pytest.mark.parametrize(
    ("qrels", "said"),
    [(HEADER + "q1\td1\t1\nq1\td2\tyes\n", r"test\.tsv:3"), (HEADER + "q1\td1\t0.5\n", "whole number"),
     (HEADER + "q1\td1\n", r"test\.tsv:2"), (HEADER + "\td1\t1\n", "query id"), ("a\tb\n1\t2\n", "missing columns"),
     ("query-id\tscore\tx\nq\t1\t2\n", "missing columns: document; found: query-id, score, x"),
     (HEADER + "q1\td1\t1\nq1\td1\t2\n", "grades 1 and 2"), ("", "empty"), (HEADER + "q1\td1\tnan\n", "whole number")],
)  # fmt: skip
def test_a_bad_judgement_is_an_error_with_its_line(tmp_path: Path, qrels: str, said: str) -> None:
    with pytest.raises(SourceError, match=said):
        read(write(tmp_path / "c", queries=QUERIES, qrels=qrels))


def test_a_judgement_that_stands_twice_is_kept_once_and_counted(tmp_path: Path) -> None:
    _, source = read(write(tmp_path / "c", queries=QUERIES, qrels=HEADER + "q1\td1\t1\nq1\td1\t1\n"))
    assert source.qrels == (Qrel("q1", "d1", 1),)
    assert "judgements stand twice and are kept once: 1 (q1 d1 (line 3))" in source.warnings


@pytest.mark.parametrize(
    ("row", "said"),
    [("{not json", r"corpus\.jsonl:5"), ("[1, 2]", "a JSON list"), ('{"_id": "x"}', "missing columns: text; found: _id"),
     ('{"text": "t", "title": ""}', "missing columns: _id"), ('{"_id": "d2", "text": ""}', r"corpus\.jsonl:5 and line 2"),
     ('{"_id": "x", "text": ["a"]}', "the text is a list"), ('{"_id": "x", "text": "a", "n": NaN}', "NaN"),
     ('{"_id": "x", "text": ' + "[" * 100_000, r"corpus\.jsonl:5")],
)  # fmt: skip
def test_a_bad_corpus_line_is_an_error_with_file_and_line(tmp_path: Path, row: str, said: str) -> None:
    with pytest.raises(SourceError, match=said):
        read(write(tmp_path / "c", documents=[*DOCUMENTS, row]))


def test_bytes_that_are_no_text_are_an_error_with_the_line(tmp_path: Path) -> None:
    folder = write(tmp_path / "c")
    with (folder / "corpus.jsonl").open("ab") as file:
        file.write(b'{"_id": "x", "text": "caf\xe9"}\n')
    with pytest.raises(SourceError, match=r"corpus\.jsonl:5"):
        read(folder)


def test_only_what_a_line_end_ends_is_a_line(tmp_path: Path) -> None:
    row = '{"_id": "x", "text": "a\u2028b\x85c"}'
    chunks, _ = read(write(tmp_path / "c", documents=[row, "", "  ", '{"_id": "y", "text": "z"}']))
    assert [c.text for c in chunks] == ["a\u2028b\x85c", "z"]


def test_packed_files_are_read(tmp_path: Path) -> None:
    folder = write(tmp_path / "c", queries=QUERIES, qrels=HEADER + "q1\td1\t1\n")
    for name in ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv"):
        (folder / f"{name}.gz").write_bytes(gzip.compress((folder / name).read_bytes()))
        (folder / name).unlink()
    chunks, source = read(folder)
    assert (len(chunks), len(source.queries), len(source.qrels)) == (4, 2, 1)
    (folder / "corpus.jsonl.gz").write_bytes(b"not packed")
    with pytest.raises(SourceError, match="cannot be read"):
        list(source.chunks())


def test_a_split_that_is_not_there_lists_those_that_are(tmp_path: Path) -> None:
    folder = write(tmp_path / "c", queries=QUERIES, qrels=HEADER + "q1\td1\t1\n")
    with pytest.raises(SourceError, match="The splits here are test"):
        read(folder, split="dev")


def test_a_corpus_alone_is_a_collection_and_says_what_it_lacks(tmp_path: Path) -> None:
    chunks, source = read(write(tmp_path / "c"))
    assert len(chunks) == 4 and source.queries == () and source.qrels == ()
    assert len([w for w in source.warnings if "no queries.jsonl" in w or "no qrels" in w]) == 2
    with pytest.raises(SourceError, match=r"no corpus\.jsonl"):
        read(tmp_path)


def test_with_a_size_a_document_is_as_many_chunks_as_it_takes(tmp_path: Path) -> None:
    documents = [{"_id": "long", "title": "T", "text": "One sentence here. " * 50}, {"_id": "short", "text": "s"}]
    chunks, _ = read(write(tmp_path / "c", documents=documents), chunk_size=100, overlap=20)
    long = [c for c in chunks if c.entity_id == "long"]
    assert [c.chunk_index for c in long] == list(range(len(long))) and len(long) > 8
    assert long[0].text.startswith("T\n\nOne") and all(len(c.text) <= 100 for c in chunks)
    assert [c.id for c in chunks] == list(range(1, len(chunks) + 1))
    with pytest.raises(BadParameter, match="overlap"):
        read(tmp_path / "c", chunk_size=100)


def test_a_sample_keeps_every_judged_document_and_the_same_others_each_time(tmp_path: Path) -> None:
    many = [{"_id": f"d{n}", "title": "", "text": f"text {n}"} for n in range(40)]
    folder = write(tmp_path / "many", documents=many, queries=[{"_id": "q", "text": "x"}],
                   qrels="query-id\tcorpus-id\tscore\nq\td39\t1\nq\td7\t0\n")  # fmt: skip
    chunks, source = read(folder, documents=10)
    ids = [c.entity_id for c in chunks]
    assert len(ids) == 10 and {"d7", "d39"} < set(ids)
    assert "documents left out of this sample: 30 of 40" in source.warnings
    assert ids == [c.entity_id for c in read(folder, documents=10)[0]]
    assert set(ids) < {c.entity_id for c in read(folder, documents=20)[0]}
    assert len(read(folder, documents=99)[0]) == 40
    with pytest.raises(BadParameter, match="smaller than the 2 judged"):
        read(folder, documents=1)
