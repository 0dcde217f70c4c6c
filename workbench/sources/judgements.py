"""Queries and judgements from files, and what of them does not fit together: counted and said, never guessed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from workbench.errors import BadParameter
from workbench.sources.base import JudgedQuery, Qrel, SourceError, Tally
from workbench.sources.facets import flat
from workbench.sources.files import (
    cell_rows,
    existing_file,
    json_rows,
    missing_columns,
    suffix_of,
    text_lines,
)
from workbench.sources.trec_smart import TopicField, asked, first_tag, is_smart, topics

# Spellings of public collections, looked up without case and with `_` for `-`.
QUERY_ID = ("_id", "id", "query_id", "qid", "queryid")
QUERY_TEXT = ("text", "query", "question", "title")
FILTERS = ("filters", "filter")
FILTER_COLUMN = "filter."
FILTERS_FORM = """{"field": "value"}, field=value;field=value, or a column filter.FIELD"""
QREL_QUERY = ("query_id", "qid", "query", "queryid", "topic")
QREL_DOCUMENT = (
    "corpus_id",
    "doc_id",
    "docid",
    "docno",
    "document_id",
    "document",
    "entity_id",
    "pid",
)
QREL_GRADE = ("score", "grade", "relevance", "rel", "label")
JSON_SUFFIXES = (".jsonl", ".ndjson")

Row = tuple[int, dict[str, Any]]


def read_queries(location: str | Path, topic: TopicField = "title") -> tuple[JudgedQuery, ...]:
    """Queries in file order: JSON lines, CSV or TSV with a header, a TSV of id and text without one, TREC's topics (of
    which `topic` names the field that is asked), or SMART's records. What the file begins with tells.

    A query's filters are in the column `filters` (a mapping, its JSON, or `field=value;field=value`), in columns named
    `filter.FIELD`, or under these names in `metadata`. Every other column is an attribute.

    Raises SourceError for a missing column, an id that is empty or stands twice, a text that is no text, and filters
    that cannot be read.
    """
    path = existing_file(location, "the query file")
    lines: dict[str, int] = {}
    queries = []
    marked = _marked_up(path, topic)
    if marked is not None:
        for number, query in marked:
            if query.id in lines:
                where = f"{path}:{number} and line {lines[query.id]}"
                raise SourceError(f"query {query.id!r} stands twice", where=where)
            lines[query.id] = number
            queries.append(query)
        return tuple(queries)
    for number, row in _table(path, {"id": QUERY_ID, "text": QUERY_TEXT}, ({2: ("id", "text")})):
        where = f"{path}:{number}"
        query_id = _id(row.pop("id"), "query", where)
        if query_id in lines:
            raise SourceError(
                f"query {query_id!r} stands twice", where=f"{where} and line {lines[query_id]}"
            )
        lines[query_id] = number
        text = row.pop("text")
        if not isinstance(text, str):
            raise SourceError(
                f"query {query_id!r} has a {type(text).__name__} for a text", where=where
            )
        extra = row.pop("metadata", None)
        row |= extra if isinstance(extra, Mapping) else {"metadata": extra}
        try:
            filters = filters_of(row)
        except BadParameter as error:
            raise SourceError(
                f"the filters of query {query_id!r} cannot be read: {error.what}",
                where=where,
                do=f"Write {FILTERS_FORM}",
            ) from None
        attributes = flat(row) | ({"filters": filters} if filters else {})
        queries.append(JudgedQuery(query_id, text, attributes, where))
    return tuple(queries)


def filters_of(row: dict[str, Any]) -> dict[str, Any]:
    """Take the filters out of a query's row: the column `filters`, and a column `filter.FIELD` for each field."""
    filters: dict[str, Any] = {}
    for name in [n for n in row if _spelling(n) in FILTERS or n.startswith(FILTER_COLUMN)]:
        value = row.pop(name)
        if _spelling(name) in FILTERS:
            filters |= filters_from(value)
        elif value is not None and value != "":
            filters[name.removeprefix(FILTER_COLUMN)] = value
    return filters


def filters_from(value: Any) -> dict[str, Any]:
    """Filters as a file has them: a mapping, its JSON, pairs, or `field=value;field=value`, in which a field that is named
    twice means any of its values. A null means that the field is not asked for. Raises BadParameter."""
    if value is None or value == "" or (isinstance(value, list) and not value):
        return {}
    if isinstance(value, str):
        value = _filters_from_text(value)
    if isinstance(value, list) and all(isinstance(p, tuple) and len(p) == 2 for p in value):
        value = dict(value)  # Parquet's maps
    if not isinstance(value, Mapping):
        raise BadParameter("no mapping of fields to values")
    # A column of structs holds every field of every row; what a row did not filter by is null there.
    return {str(k): _set(v) for k, v in value.items() if v is not None}


def _set(value: Any) -> Any:
    return (
        {k: v for k, v in value.items() if v is not None} if isinstance(value, Mapping) else value
    )


def _filters_from_text(text: str) -> Any:
    if text.lstrip().startswith(("{", "[")):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise BadParameter("no JSON") from None
    out: dict[str, list[str | None]] = {}
    for pair in filter(str.strip, text.split(";")):
        name, mark, one = pair.partition("=")
        if not mark or not name.strip():
            raise BadParameter("no field=value")
        out.setdefault(name.strip(), []).append(one.strip() or None)
    return {k: v if len(v) > 1 else v[0] for k, v in out.items()}


def _marked_up(path: Path, topic: TopicField) -> Iterable[tuple[int, JudgedQuery]] | None:
    """(line, query) of TREC's or SMART's files; None for any other."""
    if suffix_of(path) in JSON_SUFFIXES:
        return None
    if first_tag(path):
        return topics(path, topic)
    return asked(path) if is_smart(path) else None


def read_qrels(location: str | Path, warnings: list[str] | None = None) -> tuple[Qrel, ...]:
    """Judgements in file order: `.json` is ranx's {query: {document: grade}}, anything else a table with
    columns by name in any order below a header, or without one query, document, grade, or TREC's four, with blanks or
    tabs between. SMART's lists of query, document, 0, 0, which grade nothing, are read as grade 1, and `warnings` say so.

    Negative grades are kept, a judgement that stands twice is kept once, and both are counted in `warnings`.
    Raises SourceError for a missing column, a grade that is not a whole number, and two grades for one pair.
    """
    path = existing_file(location, "the file of judgements")
    negative = Tally("judgements with a negative grade are kept (relevant is a grade above 0)")
    twice = Tally("judgements stand twice and are kept once")
    found: dict[tuple[str, str], tuple[int, int]] = {}
    graded = not _grades_nothing(path)
    for line, where, pair, value in _judgements(path) if graded else _ungraded(path):
        grade = _grade(value, where)
        if pair in found:
            earlier, first = found[pair]
            if earlier != grade:
                raise SourceError(
                    f"query {pair[0]!r} and document {pair[1]!r} have the grades {earlier} and {grade}",
                    where=f"{where} and line {first}",
                    do="Keep one of them",
                )
            twice.add(f"{pair[0]} {pair[1]} (line {line})")
            continue
        found[pair] = grade, line
        if grade < 0:
            negative.add(f"{pair[0]} {pair[1]} {grade}")
    if warnings is not None:
        if not graded:
            warnings.append(
                "the judgements are SMART's lists of query, document, 0, 0: each is read as grade 1"
            )
        negative.into(warnings)
        twice.into(warnings)
    return tuple(Qrel(query, document, grade) for (query, document), (grade, _) in found.items())


def _judgements(path: Path) -> Iterator[tuple[int, str, tuple[str, str], Any]]:
    """(line, its place in words, (query, document), grade as written); JSON, where no pair repeats, has line 0."""
    if suffix_of(path) == ".json":
        for query, grades in read_numbers(path).items():
            for document, grade in grades.items():
                where = f"{path}, query {query!r}, document {document!r}"
                yield 0, where, (query, document), grade
        return
    columns = {"query": QREL_QUERY, "document": QREL_DOCUMENT, "grade": QREL_GRADE}
    shapes = {3: ("query", "document", "grade"), 4: ("query", "", "document", "grade")}
    for number, row in _table(path, columns, shapes):
        where = f"{path}:{number}"
        pair = _id(row["query"], "query", where), _id(row["document"], "document", where)
        yield number, where, pair, row["grade"]


def _grades_nothing(path: Path) -> bool:
    """Whether every row is query, document, 0, 0. Where the second cells are all 0 or Q0, the columns are TREC's."""
    if suffix_of(path) in (".json", *JSON_SUFFIXES):
        return False
    second = set()
    for line in text_lines(path):
        if cells := line.split():
            if len(cells) != 4 or any(cell.strip("0.") for cell in cells[2:]):
                return False
            second.add(cells[1])
    return bool(second - {"0", "Q0"})


def _ungraded(path: Path) -> Iterator[tuple[int, str, tuple[str, str], Any]]:
    """As `_judgements`, of SMART's lists, whose queries are padded with zeros and whose records are not."""
    for number, line in enumerate(text_lines(path), 1):
        if cells := line.split():
            pair = tuple(str(int(c)) if c.isascii() and c.isdecimal() else c for c in cells[:2])
            yield number, f"{path}:{number}", pair, 1


def read_numbers(path: Path) -> dict[str, dict[str, float]]:
    """The JSON of ranx, {query: {document: number}}, in file order: a run's scores or grades.

    Raises SourceError for anything else, a number that is not finite, and a key that stands twice.
    """
    text = "".join(text_lines(path))
    try:
        found = json.loads(text, object_pairs_hook=_without_repeats, parse_constant=_not_a_number)
    except json.JSONDecodeError as error:
        raise SourceError(f"not JSON: {error.msg}", where=f"{path}:{error.lineno}") from None
    except (ValueError, RecursionError) as error:
        raise SourceError(f"not JSON: {error}", where=str(path)) from None
    for query, numbers in _object(found, str(path)).items():
        where = f"{path}, query {query!r}"
        for document, value in _object(numbers, where).items():
            if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
                raise SourceError(
                    f"{value!r} is not a number", where=f"{where}, document {document!r}"
                )
    return found


def _object(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise SourceError(
            f"a JSON {type(value).__name__} where an object belongs",
            where=where,
            do="The file is {query: {document: number}}",
        )
    return value


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for key in found if sum(key == k for k, _ in pairs) > 1)
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return found


def _not_a_number(name: str) -> Any:
    raise ValueError(f"{name} is not a number")


def check_queries(
    queries: Sequence[JudgedQuery], qrels: Sequence[Qrel], warnings: list[str]
) -> None:
    """Say which judgements name no known query and which queries have no judgement."""
    known, judged = {q.id for q in queries}, {q.query_id for q in qrels}
    strangers = Tally("judgements name queries that are not there")
    for qrel in qrels:
        if qrel.query_id not in known:
            strangers.add(f"{qrel.query_id} {qrel.entity_id}")
    if queries and judged and not known & judged:
        warnings.append(
            f"no judgement names a query that is there: the queries are {_few(q.id for q in queries)}, the judgements "
            f"name {_few(sorted(judged))}; nothing was matched by position"
        )
    strangers.into(warnings)
    without = Tally("queries have no judgement")
    for query in queries:
        if query.id not in judged:
            without.add(query.id)
    if qrels:
        without.into(warnings)


class Documents:
    """Checks a stream of rows: a key that stands twice is refused; empty texts, and judgements of documents that
    never came, are counted."""

    def __init__(self, path: Path, qrels: Sequence[Qrel]) -> None:
        self._path, self._qrels = path, qrels
        self._lines: dict[object, tuple[Path, int]] = {}
        self._awaited = {qrel.entity_id for qrel in qrels}
        self._came: set[str] = set()
        self._empty = Tally("documents are empty and are not searched")

    def seen(
        self,
        entity_id: str,
        line: int,
        empty: bool,
        part: tuple[str, int] | None = None,
        path: Path | None = None,
    ) -> None:
        """One row; `part` tells rows of one document apart, `path` is its file where the collection has several. Raises
        SourceError that names both places of a key that stands twice."""
        key = entity_id if part is None else (entity_id, *part)
        path = path or self._path
        earlier = self._lines.setdefault(key, (path, line))
        if earlier != (path, line):
            shown = repr(entity_id) + ("" if part is None else f", {part[0]} chunk {part[1]},")
            first = f"line {earlier[1]}" if earlier[0] == path else f"{earlier[0]}:{earlier[1]}"
            raise SourceError(
                f"the id {shown} stands twice",
                where=f"{path}:{line} and {first}",
                do="Ids are unique; map chunk_index where a document has several rows",
            )
        if entity_id in self._awaited:
            self._came.add(entity_id)
        if empty:
            self._empty.add(f"{entity_id} (line {line})")

    def into(self, warnings: list[str]) -> None:
        if self._awaited and self._lines and not self._came:
            read = (str(key[0] if isinstance(key, tuple) else key) for key in self._lines)
            judged = dict.fromkeys(qrel.entity_id for qrel in self._qrels)
            warnings.append(
                f"no judgement names a document that is there: the documents are {_few(read)}, "
                f"the judgements name {_few(judged)}"
            )
        unknown_documents(self._qrels, self._came, warnings)
        self._empty.into(warnings)


def unknown_documents(qrels: Sequence[Qrel], known: set[str], warnings: list[str]) -> None:
    """Say how many judgements name documents that are not there; they are kept."""
    unknown = Tally("judgements name documents that are not there")
    for qrel in qrels:
        if qrel.entity_id not in known:
            unknown.add(f"{qrel.query_id} {qrel.entity_id}")
    unknown.into(warnings)


def _table(
    path: Path, columns: Mapping[str, Sequence[str]], shapes: Mapping[int, Sequence[str]]
) -> Iterator[Row]:
    """Rows with the wanted columns under our names and the others under their own."""
    if suffix_of(path) in JSON_SUFFIXES:
        for number, row in json_rows(path):
            yield number, _renamed(row, _match(list(row), columns, f"{path}:{number}"))
        return
    rows = _cells(path)
    first = next(rows, None)
    if first is None:
        raise SourceError("the file is empty", where=str(path))
    number, cells = first
    spellings = {s for names in columns.values() for s in names}
    if spellings & {_spelling(cell) for cell in cells}:
        names = _match(cells, columns, f"{path}:{number}")
        header = [names.get(cell, cell) for cell in cells]
    elif "grade" in columns and (shape := shapes.get(len("\t".join(cells).split()))):
        # No cell of a judgement without a header holds white space, so blanks and tabs part cells alike.
        header = list(shape)
        rows = _cells(path) if suffix_of(path) == ".csv" else _blank_cells(path)
    elif len(cells) in shapes:
        header, rows = list(shapes[len(cells)]), _again(first, rows)
    else:
        do = f"A header names the columns; {' or '.join(f'{n} columns' for n in shapes)} need none"
        raise missing_columns(list(columns), cells, f"{path}:{number}", do)
    for number, cells in rows:
        if len(cells) != len(header):
            raise SourceError(
                f"{len(cells)} cells where {len(header)} belong", where=f"{path}:{number}"
            )
        yield number, {name: cell for name, cell in zip(header, cells, strict=True) if name}


def _cells(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Cells by the separator that the first line shows: tabs, commas in a `.csv`, else white space as TREC's."""
    first = next((line for line in text_lines(path) if line.strip()), "")
    if "\t" in first or suffix_of(path) == ".csv":
        yield from cell_rows(path, "\t" if "\t" in first else ",")
        return
    yield from _blank_cells(path)


def _blank_cells(path: Path) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(text_lines(path), 1):
        if line.strip():
            yield number, line.split()


def _again(
    first: tuple[int, list[str]], rest: Iterator[tuple[int, list[str]]]
) -> Iterator[tuple[int, list[str]]]:
    yield first
    yield from rest


def _spelling(name: str) -> str:
    return name.strip().lower().replace("-", "_").replace(" ", "_")


def _match(
    found: Sequence[str], columns: Mapping[str, Sequence[str]], where: str
) -> dict[str, str]:
    """Found column to our name; the first spelling present wins. Raises SourceError for columns missed."""
    by_spelling = {_spelling(name): name for name in reversed(found)}
    names: dict[str, str] = {}
    missing = []
    for ours, spellings in columns.items():
        present = [
            by_spelling[s] for s in spellings if s in by_spelling and by_spelling[s] not in names
        ]
        if present:
            names[present[0]] = ours
        else:
            missing.append(ours)
    if missing:
        accepted = "; ".join(f"{ours}: {', '.join(columns[ours])}" for ours in missing)
        raise missing_columns(missing, found, where, f"Accepted names are {accepted}")
    return names


def _renamed(row: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {names.get(key, key): value for key, value in row.items()}


def _id(value: Any, what: str, where: str) -> str:
    text = (
        str(value).strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""
    )
    if not text:
        raise SourceError(f"{value!r} is no {what} id", where=where)
    return text


def _grade(value: Any, where: str) -> int:
    try:
        number = float(value) if not isinstance(value, bool | None) else float("nan")
        if number == int(number):
            return int(number)
    except (ValueError, OverflowError, TypeError):
        pass
    raise SourceError(f"the grade {value!r} is not a whole number", where=where)


def _few(ids: Iterable[str], shown: int = 3) -> str:
    listed = list(ids)
    return ", ".join(listed[:shown]) + (f", … ({len(listed):,})" if len(listed) > shown else "")
