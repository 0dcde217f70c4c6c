"""A log in each of its formats is the same log; what cannot be read is counted with its line, never guessed."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime

import pytest

from workbench.analysis.replay.query_log import read_log
from workbench.errors import BadParameter
from workbench.sources.base import SourceError

ROWS = [
    {"time": "2026-11-11T09:58:00+02:00", "text": "green tea", "filters": {"project": "a", "tags": ["x", "y"]}, "shown": ["tea", "coffee"]},
    {"time": "2026-11-12", "text": "ferry, \"harbour\"", "filters": {}, "shown": []},
    {"time": "", "text": "", "filters": {"status": None}, "shown": None},
]  # fmt: skip


def written(path, rows):
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    elif path.suffix == ".gz":
        path.write_bytes(gzip.compress("".join(json.dumps(r) + "\n" for r in rows).encode()))
    elif path.suffix == ".csv":
        import csv

        with path.open("w", newline="") as file:
            table = csv.DictWriter(file, list(rows[0]))
            table.writeheader()
            table.writerows({k: v if isinstance(v, str) else "" if v is None else json.dumps(v) for k, v in r.items()} for r in rows)
    else:
        import polars as pl

        pl.DataFrame(
            [{**r, "filters": json.dumps(r["filters"])} for r in rows],
            schema={"time": pl.String, "text": pl.String, "filters": pl.String, "shown": pl.List(pl.String)},
        ).write_parquet(path)
    return path


@pytest.mark.parametrize("name", ["log.jsonl", "log.jsonl.gz", "log.csv", "log.parquet"])
def test_every_format_is_the_same_log(tmp_path, name):
    log = read_log(written(tmp_path / name, ROWS))
    first, second, third = log.queries
    assert (first.text, first.time, dict(first.filters)) == ("green tea", "2026-11-11T07:58:00Z", {"project": "a", "tags": ["x", "y"]})
    assert first.shown == ("tea", "coffee") and second.shown == () and second.time == "2026-11-12T00:00:00Z"
    assert second.text == 'ferry, "harbour"'
    assert (third.text, third.time, third.shown) == ("", "", None)
    assert log.rows == 3 and log.notes == ()


def test_parquet_structs_maps_and_times_are_read(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({
        "Query": ["a", "b"],
        "ts": pa.array([datetime(2026, 1, 2, 3, 4, tzinfo=UTC), None], pa.timestamp("us", "UTC")),
        "filter": pa.array([{"project": "x", "created": {"gte": "2026-01-01", "lt": None}}, {"project": None, "created": None}],
                           pa.struct([("project", pa.string()), ("created", pa.struct([("gte", pa.string()), ("lt", pa.string())]))])),
        "results": pa.array([[{"id": 7}, {"id": 3}], None], pa.list_(pa.struct([("id", pa.int64())]))),
    })  # fmt: skip
    pq.write_table(table, tmp_path / "log.parquet")
    a, b = read_log(tmp_path / "log.parquet").queries
    assert dict(a.filters) == {"project": "x", "created": {"gte": "2026-01-01"}} and dict(b.filters) == {}
    assert (a.time, a.shown, b.time, b.shown) == ("2026-01-02T03:04:00Z", ("7", "3"), "", None)
    mapped = pa.table({"text": ["a"], "filters": pa.array([[("project", "x")]], pa.map_(pa.string(), pa.string()))})
    pq.write_table(mapped, tmp_path / "mapped.parquet")
    assert dict(read_log(tmp_path / "mapped.parquet").queries[0].filters) == {"project": "x"}


def test_what_cannot_be_read_is_counted_with_its_lines(tmp_path):
    rows = [
        {"text": "good"}, {"text": None}, {"text": 7}, {"text": "bad filter", "filters": {"created": {"near": 1}}},
        {"text": "worse filter", "filters": "project"}, {"text": "json filter", "filters": "{"}, {"text": "odd time", "time": "yesterday"},
        {"text": "odd shown", "shown": [{"name": "x"}]}, {"text": "flag", "shown": [True]},
    ]  # fmt: skip
    log = read_log(written(tmp_path / "log.jsonl", rows))
    assert [q.text for q in log.queries] == ["good", "odd time", "odd shown", "flag"] and log.rows == 9
    said = "\n".join(log.notes)
    assert "rows without a text, left out: 2 (line 2, 3)" in said
    assert "unknown operator 'near'" in said and "no field=value" in said and "no JSON" in said
    assert "times that cannot be read, taken as none: 1 (line 7)" in said
    assert "lists of what was shown that cannot be read, taken as not known: 2 (line 8, 9)" in said


def test_a_query_that_is_repeated_runs_once_as_it_was_asked_last(tmp_path):
    rows = [
        {"text": "a", "time": "2026-01-03", "shown": ["x"]}, {"text": "a", "time": "2026-01-01", "shown": ["y"]},
        {"text": "a", "filters": {"project": "p"}}, {"text": "a"},
    ]  # fmt: skip
    log = read_log(written(tmp_path / "log.jsonl", rows))
    plain, filtered = log.queries
    assert (plain.times, plain.line, plain.shown, plain.time) == (3, 1, ("x",), "2026-01-03T00:00:00Z") and filtered.times == 1
    assert log.notes == ("rows that repeat an earlier query, run once: 2",)


@pytest.mark.parametrize(
    ("written_time", "read"),
    [(1764410280, "2025-11-29T09:58:00Z"), (1764410280000, "2025-11-29T09:58:00Z"), ("1764410280", "2025-11-29T09:58:00Z"),
     ("2026-11-11 09:58", "2026-11-11T09:58:00Z"), (1e300, ""), (True, "")],
)  # fmt: skip
def test_times_are_iso_8601_or_seconds_or_milliseconds(tmp_path, written_time, read):
    (row,) = read_log(written(tmp_path / "log.jsonl", [{"text": "a", "time": written_time}])).queries
    assert row.time == read


def test_columns_are_found_by_name_or_mapped(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("When,User Query,q2,Result-IDs\n2026-01-01,tea,other,\"a b;c\"\n")
    with pytest.raises(SourceError, match="missing columns: text; found: When, User Query.*--map text=COLUMN"):
        read_log(path)
    (row,) = read_log(path, {"text": "User Query"}).queries
    assert (row.text, row.time, row.shown) == ("tea", "2026-01-01T00:00:00Z", ("a", "b", "c"))
    with pytest.raises(SourceError, match="missing columns: nope"):
        read_log(path, {"text": "nope"})
    with pytest.raises(BadParameter, match="a log has no 'colour'"):
        read_log(path, {"colour": "x"})


def test_a_file_that_is_no_log_is_refused_by_name(tmp_path):
    (tmp_path / "log.xlsx").write_text("")
    (tmp_path / "log.parquet").write_text("no parquet")
    (tmp_path / "log.jsonl").write_text('{"text": "a"}\n[1]\n')
    for name, said in (("log.xlsx", "does not end in"), ("log.parquet", "not Parquet"), ("log.jsonl", "log.jsonl:2"), ("none.csv", "not there")):
        with pytest.raises(SourceError, match=said):
            read_log(tmp_path / name)


def test_a_limit_reads_so_many_rows_and_says_so(tmp_path):
    log = read_log(written(tmp_path / "log.jsonl", [{"text": str(n)} for n in range(9)]), limit=4)
    assert log.rows == 4 and log.notes == ("only the first 4 rows were read",)
    assert read_log(tmp_path / "log.jsonl", limit=9).notes == ()


def test_hostile_texts_are_queries(tmp_path):
    texts = ["\ud800", "<script>", "\x1b[31m", "x" * 1_000_000, "DROP TABLE chunk", "🧠", "\u202e"]
    log = read_log(written(tmp_path / "log.jsonl", [{"text": t} for t in texts]))
    assert [q.text for q in log.queries] == texts and log.hash


def test_a_log_of_which_nothing_is_a_query_is_refused_and_says_why(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text('{"text": 1}\n{"text": 2}\n')
    with pytest.raises(SourceError, match=r"holds no query \(rows without a text, left out: 2\)"):
        read_log(path)
    path.write_text('{"text": "a"}\n')
    with pytest.raises(SourceError, match="no row has the column 'when'.*Map time to one of: text"):
        read_log(path, {"time": "when"})
