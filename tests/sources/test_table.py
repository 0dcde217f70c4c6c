"""Tables by a column mapping: formats agree, and every bad row is named with its line."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.errors import BadParameter
from workbench.sources.base import JudgedQuery, Qrel, Source, SourceError
from workbench.sources.table import parse_columns, table
from workbench.types import Chunk

ROWS = [
    {"id": "a", "title": "Meeting 2026-11-11", "text": 'with "quotes", commas\nand lines', "tags": "x,y", "size": "7"},
    {"id": "b", "title": "", "text": "plain", "tags": "", "size": ""},
]


def as_jsonl(path: Path, rows: list[dict]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def as_csv(path: Path, rows: list[dict], delimiter: str = ",") -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return path


def as_parquet(path: Path, rows: list[dict]) -> Path:
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


def read(path: Path, **options: object) -> tuple[list[Chunk], Source]:
    source = table(**options)(path)
    return list(source.chunks()), source


WRITERS = {"t.jsonl": as_jsonl, "t.csv": as_csv, "t.parquet": as_parquet}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_chunks(tmp_path: Path, name: str) -> None:
    chunks, source = read(WRITERS[name](tmp_path / name, ROWS))
    assert [(c.id, c.entity_id, c.title, c.text) for c in chunks] == [
        (1, "a", "Meeting 2026-11-11", 'Meeting 2026-11-11\n\nwith "quotes", commas\nand lines'), (2, "b", "", "plain"),
    ]  # fmt: skip
    assert chunks[0].facets.tags == ("x", "y") and dict(chunks[0].facets.metadata) == {"size": "7"}
    assert dict(chunks[1].facets.metadata) == {}
    assert list(source.chunks()) == chunks


@pytest.mark.parametrize("columns", ["id=Issue,text=Body,title=Sum mary", {"id": "Issue", "text": "Body", "title": "Sum mary"},
                                     ["id=Issue", "text=Body", "title=Sum mary"]])  # fmt: skip
def test_columns_are_mapped_and_the_others_are_metadata(tmp_path: Path, columns: object) -> None:
    path = as_csv(tmp_path / "t.csv", [{"Issue": "7", "Sum mary": "S", "Body": "B", "Priority": "high"}])
    (chunk,), source = read(path, columns=columns)
    assert (chunk.entity_id, chunk.text, dict(chunk.facets.metadata)) == ("7", "S\n\nB", {"Priority": "high"})
    assert source.settings["columns"] == {"id": "Issue", "text": "Body", "title": "Sum mary"}


@pytest.mark.parametrize("columns", ["id", "id=a,id=b", "nope=a", "id="])
def test_a_mapping_that_is_none_is_refused(columns: str) -> None:
    with pytest.raises(BadParameter):
        parse_columns(columns)


def test_missing_columns_are_listed_with_those_found(tmp_path: Path) -> None:
    path = as_csv(tmp_path / "t.csv", [{"Issue": "7", "Body": "B"}])
    with pytest.raises(SourceError, match="missing columns: id, text; found: Issue, Body"):
        read(path)
    with pytest.raises(SourceError, match="missing columns: Nope; found: Issue, Body"):
        read(path, columns={"id": "Issue", "text": "Nope"})


def test_a_row_number_can_be_the_id(tmp_path: Path) -> None:
    chunks, _ = read(as_jsonl(tmp_path / "t.jsonl", [{"text": "x"}, {"text": "y"}]), columns="id=#row")
    assert [c.entity_id for c in chunks] == ["1", "2"]


def test_rows_that_are_chunks_keep_their_text_and_place(tmp_path: Path) -> None:
    rows = [{"entity_id": "n", "chunk_index": i, "title": "T", "text": t, "source_type": s, "source": "m/n.md", "id": i + 40}
            for i, t, s in ((0, "T first", "entity"), (1, "second", "entity"), (0, "fact", "observation"))]  # fmt: skip
    chunks, _ = read(as_jsonl(tmp_path / "t.jsonl", rows))
    assert [(c.key, c.text, c.source) for c in chunks] == [
        (("entity", "n", 0), "T first", "m/n.md"), (("entity", "n", 1), "second", "m/n.md"),
        (("observation", "n", 0), "fact", "m/n.md"),
    ]  # fmt: skip
    assert dict(chunks[1].facets.metadata) == {"id": 41}


@pytest.mark.parametrize(
    ("rows", "said"),
    [([{"id": "a", "text": "x"}, {"id": "b", "text": "y"}, {"id": "a", "text": "z"}], r"'a' stands twice.*:3 and line 1"),
     ([{"entity_id": "n", "chunk_index": 1, "text": "x"}, {"entity_id": "n", "chunk_index": 1, "text": "y"}],
      r"entity chunk 1, stands twice.*:2 and line 1"),
     ([{"entity_id": "n", "text": "x"}, {"entity_id": "n", "text": "y"}], "map chunk_index"),
     ([{"id": "a", "text": {"x": 1}}], "the text is no text"), ([{"id": "", "text": "x"}], "'' is no id"),
     ([{"id": "a", "text": "x"}, {"text": "y"}], "None is no id"), ([{"id": True, "text": "x"}], "True is no id"),
     ([{"entity_id": "n", "chunk_index": -1, "text": "x"}], "chunk_index -1"),
     ([{"id": "a", "text": "x", "source_type": "note"}], "unknown source_type 'note'")],
)  # fmt: skip
def test_a_bad_row_is_an_error_with_its_line(tmp_path: Path, rows: list[dict], said: str) -> None:
    with pytest.raises(SourceError, match=said):
        read(as_jsonl(tmp_path / "t.jsonl", rows))


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [("t.jsonl", '{"id": "a", "text": "x"}\n{oops\n', r"t\.jsonl:2"), ("t.csv", "id,text\na,b,c\n", r"3 cells.*t\.csv:2"),
     ("t.csv", 'id,text\na,"open\nnever closed', r"t\.csv:2"), ("t.csv", "id,text,id\na,b,c\n", "columns named twice: id"),
     ("t.csv", "", "empty"), ("t.csv", "id,text\n", "no rows"), ("t.jsonl", "\n\n", "empty"),
     ("t.parquet", "PAR1 not really", "not a Parquet file"), ("t.txt", "id text\n", "table_format")],
)  # fmt: skip
def test_a_damaged_file_is_an_error_that_names_it(tmp_path: Path, name: str, content: str, said: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(SourceError, match=said):
        read(tmp_path / name)


def test_lines_are_counted_over_cells_with_line_ends(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('id,text\na,"one\ntwo\nthree"\n\nb,x\na,y\n')
    with pytest.raises(SourceError, match=r"t\.csv:7 and line 2"):
        read(tmp_path / "t.csv")


def test_a_cell_longer_than_the_csv_modules_limit_is_read(tmp_path: Path) -> None:
    (chunk,), _ = read(as_csv(tmp_path / "t.csv", [{"id": "a", "text": "w" * 1_000_000}]))
    assert len(chunk.text) == 1_000_000


def test_a_quotation_mark_in_a_tsv_is_text(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text('id\ttext\na\t"open quote\nb\tx\n')
    assert [c.text for c in read(tmp_path / "t.tsv")[0]] == ['"open quote', "x"]


def test_empty_documents_are_handed_over_and_counted(tmp_path: Path) -> None:
    chunks, source = read(as_jsonl(tmp_path / "t.jsonl", [{"id": "a", "text": None}, {"id": "b", "text": "x"}]))
    assert [c.text for c in chunks] == ["", "x"]
    assert source.warnings == ["documents are empty and are not searched: 1 (a (line 1))"]


def test_times_and_nested_values_of_typed_formats_are_kept(tmp_path: Path) -> None:
    row = {"id": 7, "text": "x", "created": datetime(2026, 1, 2, 3, tzinfo=UTC), "tags": ["a", "b"], "m": {"k": [1, 2]}}
    (chunk,), source = read(as_parquet(tmp_path / "t.parquet", [row]))
    assert (chunk.entity_id, chunk.facets.created, chunk.facets.tags) == ("7", "2026-01-02T03:00:00Z", ("a", "b"))
    assert dict(chunk.facets.metadata) == {"m.k": [1, 2]} and source.warnings == []


def test_values_that_no_facet_holds_are_counted_and_kept(tmp_path: Path) -> None:
    chunks, source = read(as_jsonl(tmp_path / "t.jsonl", [{"id": "a", "text": "x", "created": "30/Sep/21 17:20"}]))
    assert dict(chunks[0].facets.metadata) == {"created": "30/Sep/21 17:20"}
    assert "line 1" in source.warnings[0] and "30/Sep/21" in source.warnings[0]


@pytest.fixture
def judged(tmp_path: Path) -> Callable[[str, str], Source]:
    def opened(queries: str, qrels: str) -> Source:
        name = "q.jsonl" if queries.startswith("{") else "q.tsv" if "\t" in queries else "q.csv"
        (tmp_path / name).write_text(queries)
        (tmp_path / "j.csv").write_text(qrels)
        return table(queries=tmp_path / name, qrels=tmp_path / "j.csv")(as_jsonl(tmp_path / "t.jsonl", ROWS))

    return opened


@pytest.mark.parametrize(
    "queries",
    ['{"_id": "q", "text": "how?", "topic": "t"}\n', "query,qid,topic\nhow?,q,t\n", "q\thow?\n", "id\ttext\nq\thow?\n"],
)
def test_queries_come_from_any_table(judged: Callable, queries: str) -> None:
    source = judged(queries, "query_id,doc_id,grade\nq,a,1\nq,gone,1\n")
    attributes = {"topic": "t"} if "topic" in queries else {}
    assert source.queries == (JudgedQuery("q", "how?", attributes),)
    assert source.qrels == (Qrel("q", "a", 1), Qrel("q", "gone", 1))
    list(source.chunks())
    assert source.warnings == ["judgements name documents that are not there: 1 (q gone)"]


@pytest.mark.parametrize(
    ("queries", "said"),
    [("id,answer\nq,x\n", "missing columns: text; found: id, answer"), ("id,text\nq,x\nq,y\n", "stands twice.*:3 and line 2"),
     ('{"_id": "q", "text": 7}\n', "a int for a text"), ("id,text\n,x\n", "query id"), ("", "empty")],
)  # fmt: skip
def test_a_bad_queries_file_is_an_error(judged: Callable, queries: str, said: str) -> None:
    with pytest.raises(SourceError, match=said):
        judged(queries, "query_id,doc_id,grade\nq,a,1\n")


def test_rows_are_streamed(tmp_path: Path) -> None:
    path = as_jsonl(tmp_path / "t.jsonl", [{"id": str(n), "text": "x"} for n in range(5)])
    with path.open("a") as file:
        file.write("{bad\n")
    chunks = table()(path).chunks()
    assert [next(chunks).entity_id for _ in range(5)] == ["0", "1", "2", "3", "4"]
    with pytest.raises(SourceError, match=":6"):
        next(chunks)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\x00"), max_size=30), min_size=1))
def test_any_text_comes_through_csv_unchanged(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    rows = [{"id": str(n), "text": text} for n, text in enumerate(texts)]
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["id", "text"], quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    assert [c.text for c in read(path)[0]] == texts
