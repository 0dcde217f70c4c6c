"""TREC's SGML, SMART's records, tables without a header, mixed judgements, ir_datasets by name."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from workbench.errors import BadParameter, NotAvailable
from workbench.sources.base import Qrel, SourceError
from workbench.sources.judgements import read_qrels, read_queries
from workbench.sources.readers import detect, open_source

TREC_PLAIN = "<DOC>\n<DOCNO>1</DOCNO>\nThe ferry leaves\nat nine.\n</DOC>\n<DOC>\n<DOCNO>2</DOCNO>\nTea &amp; milk, a < b\n</DOC>\n"
TREC_NEWS = (
    "<?xml version='1.0'?>\n<!-- news -->\n<doc> <docno> FT911-3 </docno><DATE>910514</DATE>\n<HEADLINE> The\ncrane </HEADLINE>\n"
    "<TEXT>It <b>stands</b> still.</TEXT>\n<TEXT>A cable is worn.</TEXT></doc> <DOC><DOCNO>FT911-4</DOCNO></DOC>\n"
)
SMART_CRAN = ".I 1\n.T\nthe ferry .\n.A\nsmith,j.\n.B\nj. 1, 1958.\n.W\nthe ferry leaves\n.I noise\n.I 2\n.T\n\n.W\ntea\n"
SMART_CACM = "\n.I 7\n.T\nCranes\n.W\nA crane.\n.K\ncable, rope\n.X\n1\t5\t7\n.I 08\n.W\n.In here\n"


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def rows(source) -> list[tuple[str, str, str]]:
    return [(c.entity_id, c.title, c.text) for c in source.chunks()]


def test_trec_documents_of_plain_text(tmp_path: Path) -> None:
    source = open_source(write(tmp_path / "docs.trec", TREC_PLAIN))
    assert source.kind == "trec"
    assert rows(source) == [("1", "", "The ferry leaves\nat nine."), ("2", "", "Tea & milk, a < b")]


def test_trec_documents_with_elements_in_a_folder(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", TREC_NEWS)
    with gzip.open(tmp_path / "b.gz", "wt") as packed:
        packed.write(TREC_PLAIN)
    write(tmp_path / "other.txt", "no documents")
    source = open_source(tmp_path)
    assert source.kind == "trec"
    assert rows(source)[:2] == [
        ("FT911-3", "The\ncrane", "The\ncrane\n\nIt  stands  still.\n\nA cable is worn."),
        ("FT911-4", "", ""),
    ]
    assert [r[0] for r in rows(source)] == ["FT911-3", "FT911-4", "1", "2"]
    assert any("empty" in w and "FT911-4" in w for w in source.warnings)


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("<DOC>\n<DOCNO>1</DOCNO>\na\n<DOC>\n", 4, "line 1 is not closed"),
        ("<DOC><DOCNO>1</DOCNO>a</DOC>\n\n<DOC>\n<DOCNO>2</DOCNO>", 3, "not closed"),
        ("<DOC>\n<DOCNO> </DOCNO>a</DOC>", 1, "without a DOCNO"),
        ("<DOC><DOCNO>1</DOCNO></DOC>\nstray words\n", 2, "text outside of a document"),
        ("<DOC><DOCNO>1</DOCNO></DOC>\n<DOC><DOCNO>1</DOCNO></DOC>", 2, "stands twice"),
    ],
)
def test_broken_trec_documents_name_file_and_line(
    tmp_path: Path, text: str, line: int, what: str
) -> None:
    path = write(tmp_path / "docs", text)
    with pytest.raises(SourceError, match=what) as error:
        rows(open_source(path))
    assert f"{path}:{line}" in str(error.value)


def test_an_id_of_two_files_names_both(tmp_path: Path) -> None:
    one, two = write(tmp_path / "1.sgml", TREC_PLAIN), write(tmp_path / "2.sgml", TREC_PLAIN)
    with pytest.raises(SourceError, match="'1' stands twice") as error:
        rows(open_source(tmp_path))
    assert f"{two}:1 and {one}:1" in str(error.value)


TOPICS_OLD = "<top>\n<num> Number: 051 \n<title> Topic:  Airbus\nSubsidies\n\n<desc> Description: \nSupport of Airbus.\n</top>\n"
TOPICS_NEW = "<top>\n<num>2</num><title>\nCRANES &amp; ROPES\n</title>\n</top>"
TOPICS_CACM = "<DOC>\n<DOCNO> 1 </DOCNO>\n\n What exists\nabout TSS?\n</DOC>"


@pytest.mark.parametrize(
    ("text", "field", "expected"),
    [
        (TOPICS_OLD, "title", ("51", "Airbus Subsidies")),
        (TOPICS_OLD, "desc", ("51", "Support of Airbus.")),
        (TOPICS_NEW, "title", ("2", "CRANES & ROPES")),
        (TOPICS_CACM, "title", ("1", "What exists about TSS?")),
        (
            ".I 1\n.W\nwhat articles\n exist?\n.A\n1. Smith\n",
            "title",
            ("1", "what articles exist?"),
        ),
        (".I 002\n.T\nTitle\n.W\nand text\n", "title", ("002", "Title and text")),
        ("301\thow do cranes work\n", "title", ("301", "how do cranes work")),
        ("q1\ttea and milk\n", "title", ("q1", "tea and milk")),
    ],
)
def test_queries_are_told_by_what_the_file_begins_with(
    tmp_path: Path, text: str, field: str, expected: tuple
) -> None:
    (query,) = read_queries(write(tmp_path / "queries", text), field)
    assert (query.id, query.text) == expected


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("<top><num>1<desc>a</top>\n<top><desc>b</top>", "without a num"),
        (TOPICS_NEW, "topic 2 has no desc"),
        ("<top><num>1<desc>a</top>\n<top><num>01<desc>b</top>", "'1' stands twice"),
        (".I 1\nno field", "outside of a field"),
        (".I 1\n.W\na\n.I 1\n.W\nb", "stands twice"),
    ],
)
def test_broken_topics_name_file_and_line(tmp_path: Path, text: str, what: str) -> None:
    with pytest.raises(SourceError, match=what) as error:
        read_queries(write(tmp_path / "topics", text), "desc")
    assert f"{tmp_path / 'topics'}:" in str(error.value)


def test_smart_documents_with_authors_and_origin(tmp_path: Path) -> None:
    path = write(tmp_path / "cran.all.1400", SMART_CRAN.replace(".I noise\n", ""))
    source = open_source(path)
    first, second = source.chunks()
    assert source.kind == "smart"
    assert (first.entity_id, first.title, first.text) == (
        "1",
        "the ferry .",
        "the ferry .\n\nthe ferry leaves",
    )
    assert dict(first.facets.metadata) == {"author": "smith,j.", "published": "j. 1, 1958."}
    assert (second.entity_id, second.title, second.text) == ("2", "", "tea")


def test_smart_fields_are_chosen_and_text_may_look_like_a_mark(tmp_path: Path) -> None:
    path = write(tmp_path / "cacm.all", SMART_CACM)
    assert rows(open_source(path, fields="W,K")) == [
        ("7", "Cranes", "Cranes\n\nA crane.\n\ncable, rope"),
        ("08", "", ".In here"),
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (".I 1\n.W\na\n.I\n.W\nb", 4),
        (".I 1\nstray\n", 2),
        (SMART_CRAN, 10),
        (".I 1\n.T\na\n.I 1\n.T\nb\n", 4),
    ],
)
def test_broken_smart_records_name_file_and_line(tmp_path: Path, text: str, line: int) -> None:
    path = write(tmp_path / "a.all", text)
    with pytest.raises(SourceError) as error:
        rows(open_source(path))
    assert f"{path}:{line}" in str(error.value)


@pytest.mark.parametrize(
    ("text", "expected", "said"),
    [
        (
            "1 0 12 1\n1\t0 13   0\n 2 Q0\t14 2\n",
            [("1", "12", 1), ("1", "13", 0), ("2", "14", 2)],
            False,
        ),
        ("q1\td 1\nq2 d2 1\n".replace("d 1", "d1\t1"), [("q1", "d1", 1), ("q2", "d2", 1)], False),
        (
            "     1     28 0\t0.000000\n     1     35 0\t0.000000\n",
            [("1", "28", 1), ("1", "35", 1)],
            True,
        ),
        ("01 1410  0 0\n02 2434  0 0\n", [("1", "1410", 1), ("2", "2434", 1)], True),
        ("1 0 12 0\n1 0 13 0\n", [("1", "12", 0), ("1", "13", 0)], False),
        ("1 Q0 0 0\n", [("1", "0", 0)], False),
    ],
)
def test_judgements_with_blanks_and_tabs(
    tmp_path: Path, text: str, expected: list, said: bool
) -> None:
    warnings: list[str] = []
    assert read_qrels(write(tmp_path / "qrels", text), warnings) == tuple(
        Qrel(*q) for q in expected
    )
    assert any("grade 1" in w for w in warnings) is said


@pytest.mark.parametrize("judged", ["1 0 CACM-1 1\n", "1 0 CACM-2 1\n1 0 CACM-1 0\n"])
def test_judgements_of_no_document_show_the_ids_that_were_read(tmp_path: Path, judged: str) -> None:
    qrels, topics = write(tmp_path / "qrels", judged), write(tmp_path / "topics", TOPICS_CACM)
    source = open_source(
        write(tmp_path / "docs", TREC_PLAIN), queries=str(topics), qrels=str(qrels)
    )
    list(source.chunks())
    said = next(w for w in source.warnings if "no judgement names a document" in w)
    assert "the documents are 1, 2" in said and "CACM-1" in said


def test_a_table_that_begins_with_a_number_has_no_header(tmp_path: Path) -> None:
    path = write(tmp_path / "collection.tsv", '0\tThe "ferry" leaves.\n1\tTea\n')
    assert rows(open_source(path)) == [("0", "", 'The "ferry" leaves.'), ("1", "", "Tea")]
    qrels = write(tmp_path / "qrels.tsv", "q7\t0\t1\t1\n")
    source = open_source(
        path, queries=str(write(tmp_path / "q.tsv", "q7\tferry\n")), qrels=str(qrels)
    )
    assert source.queries[0].text == "ferry" and source.qrels == (Qrel("q7", "1", 1),)


def test_any_other_table_is_asked_whether_it_has_a_header(tmp_path: Path) -> None:
    path = write(tmp_path / "collection.tsv", "D1\tThe ferry\nD2\tTea\n")
    with pytest.raises(SourceError, match="missing columns"):
        open_source(path)
    assert rows(open_source(path, header="false")) == [("D1", "", "The ferry"), ("D2", "", "Tea")]
    numbers = write(tmp_path / "n.tsv", "1\t2\n5\tfive\n")
    assert rows(open_source(numbers, header=True, columns="id=1,text=2")) == [("5", "", "five")]
    with pytest.raises(SourceError, match="no header"):
        open_source(write(tmp_path / "a.jsonl", '{"id": "1", "text": "a"}'), header="false")


def test_topics_and_mixed_folders_are_never_guessed(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="topics, not documents"):
        detect(write(tmp_path / "topics", TOPICS_NEW))
    write(tmp_path / "docs.trec", TREC_PLAIN)
    write(tmp_path / "README.md", "# About")
    with pytest.raises(SourceError, match="not clear what to read"):
        detect(tmp_path)
    assert len(rows(open_source(tmp_path, kind="trec"))) == 2
    with pytest.raises(SourceError, match="no known kind"):
        detect(write(tmp_path / "text", "Some <DOC> text\n.I 1"))


class _Dataset:
    def __init__(self, docs: list, queries: list | None) -> None:
        self._items = {
            "docs": docs,
            "queries": queries,
            "qrels": queries and [SimpleNamespace(query_id="q", doc_id="d1", relevance=1)],
        }

    def __getattr__(self, name: str):
        if name.startswith("has_"):
            return lambda: self._items[name.removeprefix("has_")] is not None
        return lambda: iter(self._items[name.removesuffix("_iter")])


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> None:
    """A double of the package: two data sets, and an error of its own for any other name."""
    titled = SimpleNamespace(doc_id="d1", title="Ferry", default_text=lambda: "Ferry leaves")
    plain = SimpleNamespace(doc_id="d2", default_text=lambda: "tea")
    query = SimpleNamespace(query_id="q", default_text=lambda: "when")
    known = {"made": _Dataset([titled, plain], [query]), "made/docs": _Dataset([plain], None)}
    module = ModuleType("ir_datasets")
    module.load = known.__getitem__
    monkeypatch.setitem(sys.modules, "ir_datasets", module)


def test_ir_datasets_by_name(package: None) -> None:
    source = open_source("ir_datasets:made")
    assert rows(source) == [("d1", "Ferry", "Ferry\n\nleaves"), ("d2", "", "tea")]
    assert [q.text for q in source.queries] == ["when"] and source.qrels == (Qrel("q", "d1", 1),)
    assert not open_source("ir_datasets:made/docs").queries
    with pytest.raises(SourceError, match="nowhere"):
        open_source("ir_datasets:nowhere")


@pytest.mark.parametrize("name", ["vaswani", "cranfield"])
def test_without_the_package_its_names_are_refused(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(NotAvailable, match="ir_datasets is not installed"):
        open_source(f"ir_datasets:{name}")


def test_an_unknown_parameter_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadParameter):
        open_source(write(tmp_path / "d", TREC_PLAIN), topic="all")


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.jsonl", '{"id": "1", "text": "a"}'), ("a.tsv", "1\ta\n"), ("b.tsv", "id\ttext\n1\ta\n")],
)
def test_a_table_is_read_again_by_what_it_records(tmp_path: Path, name: str, text: str) -> None:
    path = write(tmp_path / name, text)
    source = open_source(path)
    recorded = {n: v for n, v in source.settings.items() if v not in (None, "")}
    assert rows(open_source(path, kind="table", **recorded)) == rows(source) == [("1", "", "a")]
