"""Files in and out: what is written is read back, and what is wrong is named with its line."""

import gzip
import json

import ir_measures
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.analysis.evaluate.formats import read_run, write_qrels, write_queries, write_run
from workbench.errors import BadParameter
from workbench.sources.base import JudgedQuery, Qrel, SourceError
from workbench.sources.judgements import read_qrels, read_queries

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
WORD_ID = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"], exclude_characters="\ufeff"),
    max_size=5,
).map("{}.".format)  # never the name of a column, which would make the first line a header
ANY_ID = st.text(st.characters(), max_size=5)


def runs(ids):
    return st.dictionaries(ids, st.lists(ids, unique=True, min_size=1, max_size=5), max_size=4)


def judgements(ids):
    pairs = st.dictionaries(st.tuples(ids, ids), st.integers(-2, 3), max_size=6)
    return pairs.map(lambda d: [Qrel(q, doc, grade) for (q, doc), grade in sorted(d.items())])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("formats")


def put(path, text):
    path.write_text(text, encoding="utf-8")
    return path


@settings(max_examples=50, deadline=None)
@given(run=runs(WORD_ID))
def test_a_trec_run_is_read_back_in_our_order(folder, run):
    write_run(folder / "run.txt", run)
    assert read_run(folder / "run.txt").rankings == {q: tuple(ids) for q, ids in run.items()}


@settings(max_examples=50, deadline=None)
@given(run=runs(ANY_ID))
def test_a_json_run_is_read_back_whatever_its_ids_are(folder, run):
    write_run(folder / "run.json", {**run, "no results": []})
    found = read_run(folder / "run.json")
    assert (
        found.rankings == {**{q: tuple(ids) for q, ids in run.items()}, "no results": ()} and not found.notes
    )


@settings(max_examples=50, deadline=None)
@given(qrels=judgements(WORD_ID).filter(len))
def test_judgements_are_read_back_from_all_three_kinds(folder, qrels):
    for name in ("qrels.txt", "qrels.tsv", "qrels.json"):
        write_qrels(folder / name, qrels)
        assert list(read_qrels(folder / name)) == qrels


@settings(max_examples=30, deadline=None)
@given(queries=st.dictionaries(WORD_ID, ANY_TEXT, min_size=1, max_size=5))
def test_queries_are_read_back_with_their_attributes(folder, queries):
    written = tuple(JudgedQuery(i, text, {"n": 1, "tags": ["a"]}) for i, text in queries.items())
    write_queries(folder / "queries.jsonl", written)
    assert read_queries(folder / "queries.jsonl") == written


def test_other_software_reads_what_is_written(folder):
    write_run(folder / "run.txt", {"q": ["z", "a"]})
    write_qrels(folder / "qrels.txt", [Qrel("q", "a", 1)])
    run = ir_measures.read_trec_run(str(folder / "run.txt"))
    qrels = ir_measures.read_trec_qrels(str(folder / "qrels.txt"))
    assert ir_measures.calc_aggregate([ir_measures.RR], qrels, run) == {ir_measures.RR: 0.5}
    assert (folder / "run.txt").read_text() == "q Q0 z 1 1 workbench\nq Q0 a 2 0 workbench\n"


def test_the_json_is_that_of_ranx(folder):
    write_run(folder / "run.json", {"q": ["z", "a"]})
    assert json.loads((folder / "run.json").read_text()) == {"q": {"z": 1.0, "a": 0.0}}
    write_qrels(folder / "qrels.json", [Qrel("q", "a", 2)])
    assert json.loads((folder / "qrels.json").read_text()) == {"q": {"a": 2}}


def test_the_score_orders_and_disagreeing_ranks_and_ties_are_counted(folder):
    path = put(folder / "r", "q Q0 a 1 0.5 t\nq Q0 b 2 0.9 t\nr Q0 x 1 1 t\nr Q0 y 2 1 t\ns Q0 x 1 1 t\n")
    found = read_run(path)
    assert found.rankings == {"q": ("b", "a"), "r": ("x", "y"), "s": ("x",)}
    assert found.scored()["q"] == (("b", 0.9), ("a", 0.5))
    assert found.notes == (
        "queries with equal scores, kept in the order of the file: 1",
        "queries whose ranks disagree with their scores, the scores were followed: 1",
    )


def test_negative_grades_and_padded_ids_are_kept_as_they_stand(folder):
    path = put(folder / "q", "007 0 07 -1\n7 0 7 1\n")
    assert read_qrels(path) == (Qrel("007", "07", -1), Qrel("7", "7", 1))


def test_marks_line_ends_blank_lines_and_gzip_are_read(folder):
    path = put(folder / "q", "\ufeff1 0 a 1\r\n\r\n 1\t0  b 0 \n")
    assert read_qrels(path) == (Qrel("1", "a", 1), Qrel("1", "b", 0))
    (folder / "q.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert read_qrels(folder / "q.gz") == read_qrels(path)


def test_a_judgement_that_stands_twice_is_kept_once_and_said(folder):
    warnings = []
    found = read_qrels(put(folder / "q", "q 0 a 1\nq 0 a 1\nq 0 b -1\n"), warnings)
    assert found == (Qrel("q", "a", 1), Qrel("q", "b", -1))
    assert len(warnings) == 2 and "negative" in warnings[0] and "twice" in warnings[1]


def test_beir_ids_may_hold_blanks_and_columns_may_stand_in_any_order(folder):
    path = put(folder / "q.tsv", "corpus-id\tscore\tquery-id\nnotes/a b.md\t1\tq 1\n")
    assert read_qrels(path) == (Qrel("q 1", "notes/a b.md", 1),)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("q Q0 a 1 0.5\n", r"5 columns in place of the 6 of a TREC run; missing: tag \(.*run:1\)"),
        ("q Q0 a 1 0.5 t\n\nq Q0 b 2 0.4 t t\n", r"7 columns.*run:3"),
        ("q Q0 a 1 high t\n", "score 'high' is not a finite number.*run:1"),
        ("q Q0 a 1 nan t\n", "score 'nan'.*run:1"),
        ("q Q0 a 1 1_0 t\n", "score '1_0'.*run:1"),
        ("q Q0 a first 1 t\n", "rank 'first' is not a whole number.*run:1"),
        ("q Q0 a 1 2 t\nq Q0 a 2 1 t\n", "query 'q' names document 'a' twice.*run:2"),
    ],
)
def test_a_broken_run_is_refused_with_its_line(folder, text, said):
    with pytest.raises(SourceError, match=said):
        read_run(put(folder / "run", text))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("q 0 a b c\n", "missing columns: query, document, grade.*qrels:1"),
        ("q 0 a 1.5\n", "grade '1.5' is not a whole number.*qrels:1"),
        ("q 0 a 1\nq 0 a 2\n", "'a' have the grades 1 and 2.*qrels:2"),
        ("query-id\tcorpus-id\tgain\nq\ta\t1\n", "missing columns: grade; found: query-id, corpus-id, gain"),
        ("query-id\tcorpus-id\tscore\nq\ta\n", "2 cells where 3 belong.*qrels:2"),
        ("query-id\tcorpus-id\tscore\nq\ta\tyes\n", "grade 'yes'.*qrels:2"),
    ],
)
def test_broken_judgements_are_refused_with_their_line(folder, text, said):
    with pytest.raises(SourceError, match=said):
        read_qrels(put(folder / "qrels", text))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"q": {"a": 1},\n "r": }', r"not JSON: .*x\.json:2"),
        ('{"q": {"a": 1}, "q": {"b": 1}}', "the key 'q' stands twice"),
        ('{"q": {"a": 1, "a": 2}}', "the key 'a' stands twice"),
        ('["q"]', "a JSON list where an object belongs"),
        ('{"q": ["a"]}', "a JSON list where an object belongs.*query 'q'"),
        ('{"q": {"a": "1"}}', "'1' is not a number.*query 'q', document 'a'"),
        ('{"q": {"a": true}}', "True is not a"),
        ('{"q": {"a": NaN}}', "NaN is not a number"),
        ('{"q": {"a": 1e999}}', "inf is not a"),
        ("[" * 100_000, "not JSON"),
        ("", "not JSON"),
    ],
    ids=range(11),
)
def test_broken_json_is_refused_with_its_place(folder, text, said):
    path = put(folder / "x.json", text)
    with pytest.raises(SourceError, match=said):
        read_run(path)
    with pytest.raises(SourceError, match="x.json"):
        read_qrels(path)


def test_a_grade_with_a_fraction_is_refused_in_json(folder):
    with pytest.raises(SourceError, match="grade 1.5 is not a whole number"):
        read_qrels(put(folder / "x.json", '{"q": {"a": 1.5}}'))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '{"_id": "1", "text": "a"}\n{"_id": "2", "body": "b"}\n',
            "missing columns: text; found: _id, body.*:2",
        ),
        ('{"_id": "1", "text": 5}\n', "a int for a text.*jsonl:1"),
        ('{"_id": "1", "text": "a"}\n\n{"_id": "1", "text": "b"}\n', "query '1' stands twice.*jsonl:3"),
        ("not json\n", "not JSON.*jsonl:1"),
    ],
)
def test_broken_queries_are_refused_with_their_line(folder, text, said):
    with pytest.raises(SourceError, match=said):
        read_queries(put(folder / "queries.jsonl", text))


def test_a_file_that_is_not_there_and_one_that_is_not_utf8_are_refused(folder):
    for read in (read_run, read_qrels, read_queries):
        with pytest.raises(SourceError, match="not there"):
            read(folder / "nowhere")
    (folder / "latin").write_bytes(b"q 0 a 1\nq 0 \xe9 1\n")
    with pytest.raises(SourceError, match="not UTF-8.*latin:2"):
        read_qrels(folder / "latin")


@pytest.mark.parametrize("bad", ["a b", "", "a\nb", "\ud800", "\ufeffa"])
def test_an_id_that_the_kind_cannot_hold_is_refused_and_the_file_that_stands_is_kept(folder, bad):
    path = put(folder / "kept.txt", "as it was")
    with pytest.raises(BadParameter, match="cannot hold the id"):
        write_run(path, {"q": [bad]})
    with pytest.raises(BadParameter, match="cannot hold the id"):
        write_qrels(path, [Qrel(bad, "a", 1)])
    assert path.read_text() == "as it was"


def test_beir_judgements_are_those_of_the_public_collection(shared_data):
    found = read_qrels(next(shared_data("scifact-beir").rglob("qrels/test.tsv")))
    assert len(found) == 339 and len({q.query_id for q in found}) == 300
    queries = read_queries(next(shared_data("scifact-beir").rglob("queries.jsonl")))
    assert {q.query_id for q in found} <= {q.id for q in queries}
