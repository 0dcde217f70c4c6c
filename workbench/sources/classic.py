"""Judged collections in the formats of TREC and SMART, and by name from ir_datasets."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Literal, NamedTuple

from workbench.errors import NotAvailable
from workbench.registry import register
from workbench.sources.base import (
    JudgedQuery,
    Qrel,
    Source,
    SourceError,
    check_chunk_size,
    document_chunks,
    titled,
)
from workbench.sources.chunking import OVERLAP
from workbench.sources.facets import facets_of
from workbench.sources.files import existing, existing_file, walk
from workbench.sources.judgements import Documents, check_queries, read_qrels, read_queries
from workbench.sources.trec_smart import documents as sgml_documents
from workbench.sources.trec_smart import first_tag, records
from workbench.types import Chunk

IR_DATASETS = "ir_datasets:"
"""What a location of that reader begins with."""
SMART_NAMES = {"A": "author", "B": "published", "K": "keywords"}
"""SMART's fields that go to the metadata, under these names."""


class _Row(NamedTuple):
    """A document, the file that it is from, and its line there."""

    path: Path
    line: int
    id: str
    title: str
    text: str
    metadata: dict[str, Any]


@register("reader")
def trec(
    location: str | Path,
    *,
    queries: str | Path | None = None,
    qrels: str | Path | None = None,
    topic: Literal["title", "desc", "narr"] = "title",
    chunk_size: int | None = None,
    overlap: int = OVERLAP,
) -> Source:
    """TREC's SGML documents: a file that begins with <DOC>, or a folder of such files.

    `queries` and `qrels` name files: topics (`topic` is the field that is asked), or any other
    format of judged queries. A document's title is its TITLE, HEADLINE, HEAD, HL or TI; its
    text is that of its TEXT elements, or all the rest. Files may end in `.gz`; in a folder
    other files are left out.

    Raises SourceError with file and line for a document that is not closed, has no DOCNO or has
    one that stands twice.
    """
    path = existing(location, "the TREC collection")
    files = [path] if path.is_file() else sgml_files(path)
    if not files or first_tag(files[0]) != "doc":
        raise SourceError("no file here begins with <DOC>", where=str(path))
    settings = {"queries": str(queries or ""), "qrels": str(qrels or ""), "topic": topic}
    rows = partial(_sgml_rows, files)
    return _source(
        "trec", location, settings, rows, *_judged(queries, qrels, topic), chunk_size, overlap
    )


@register("reader")
def smart(
    location: str | Path,
    *,
    fields: Sequence[str] = ("W",),
    queries: str | Path | None = None,
    qrels: str | Path | None = None,
    chunk_size: int | None = None,
    overlap: int = OVERLAP,
) -> Source:
    """A SMART file of documents: records `.I ID` with fields .T, .W, ….

    The title is .T; `fields` are those whose text is searched with it, in this order. Authors
    (.A), origin (.B) and keywords (.K) go to the metadata. `queries` and `qrels` name files:
    SMART's queries and judgements, or any other format.

    Raises SourceError with file and line for text outside of a field, a record without an id
    and an id that stands twice.
    """
    path = existing_file(location, "the SMART file")
    settings = {"fields": list(fields), "queries": str(queries or ""), "qrels": str(qrels or "")}
    return _source(
        "smart",
        location,
        settings,
        partial(_smart_rows, path, tuple(fields)),
        *_judged(queries, qrels),
        chunk_size,
        overlap,
    )


@register("reader")
def ir_datasets(
    location: str | Path, *, chunk_size: int | None = None, overlap: int = OVERLAP
) -> Source:
    """A name such as ir_datasets:vaswani, where that package and its data are installed.

    Documents, queries and judgements are read by the package; the data must be there already.
    The text is the package's default text without the title; where a dataset has no queries or
    judgements there are none.

    Raises NotAvailable where the package is not installed, SourceError for an unknown name and
    for data that cannot be read.
    """
    name = str(location).removeprefix(IR_DATASETS)
    try:
        package = importlib.import_module("ir_datasets")
    except ImportError:
        raise NotAvailable(
            "the package ir_datasets is not installed",
            where=str(location),
            do="pip install ir_datasets",
        ) from None
    dataset = _read_by_package(location, lambda: package.load(name))
    asked = [
        JudgedQuery(q.query_id, q.default_text()) for q in _read_all(location, dataset, "queries")
    ]
    judged = [
        Qrel(q.query_id, q.doc_id, int(q.relevance)) for q in _read_all(location, dataset, "qrels")
    ]
    warnings: list[str] = []
    check_queries(asked, judged, warnings)
    rows = partial(_package_rows, location, dataset)
    return _source(
        "ir_datasets",
        location,
        {},
        rows,
        tuple(asked),
        tuple(judged),
        warnings,
        chunk_size,
        overlap,
    )


def sgml_files(folder: Path) -> list[Path]:
    """The files below a folder that begin with <DOC>, by path."""
    return [folder / name for name in walk(folder, None).files if first_tag(folder / name) == "doc"]


def _judged(
    queries: Any, qrels: Any, topic: str = "title"
) -> tuple[tuple[JudgedQuery, ...], tuple[Qrel, ...], list[str]]:
    warnings: list[str] = []
    asked = read_queries(queries, topic) if queries else ()
    judged = read_qrels(qrels, warnings) if qrels else ()
    check_queries(asked, judged, warnings)
    return asked, judged, warnings


def _source(
    kind: str,
    location: str | Path,
    settings: dict[str, Any],
    rows: Callable[[], Iterable[_Row]],
    queries: tuple[JudgedQuery, ...],
    qrels: tuple[Qrel, ...],
    warnings: list[str],
    chunk_size: int | None,
    overlap: int,
) -> Source:
    check_chunk_size(chunk_size, overlap)

    def chunks() -> Iterator[Chunk]:
        found, ids = Documents(Path(str(location)), qrels), count(1)
        for row in rows():
            found.seen(row.id, row.line, not titled(row.title, row.text).strip(), path=row.path)
            facets = facets_of({}, row.metadata).facets
            yield from document_chunks(
                ids,
                row.id,
                row.title,
                row.text,
                source=row.id,
                facets=facets,
                chunk_size=chunk_size,
                overlap=overlap,
            )
        found.into(warnings)

    return Source(
        kind,
        str(location),
        {**settings, "chunk_size": chunk_size, "overlap": overlap},
        chunks,
        queries,
        qrels,
        warnings,
    )


def _sgml_rows(files: Sequence[Path]) -> Iterator[_Row]:
    for path in files:
        for found in sgml_documents(path):
            yield _Row(path, *found, {})


def _smart_rows(path: Path, fields: Sequence[str]) -> Iterator[_Row]:
    for record in records(path):
        metadata = {
            name: record.fields[mark]
            for mark, name in SMART_NAMES.items()
            if record.fields.get(mark)
        }
        text = "\n\n".join(record.fields[name] for name in fields if record.fields.get(name))
        yield _Row(path, record.line, record.id, record.fields.get("T", ""), text, metadata)


def _package_rows(location: str | Path, dataset: Any) -> Iterator[_Row]:
    for number, doc in enumerate(_read_all(location, dataset, "docs"), 1):
        title = getattr(doc, "title", "") or ""
        text = doc.default_text()
        yield _Row(
            Path(str(location)),
            number,
            doc.doc_id,
            title,
            text.removeprefix(title).strip() if title else text,
            {},
        )


def _read_all(location: str | Path, dataset: Any, what: str) -> Iterator[Any]:
    if not getattr(dataset, f"has_{what}")():
        return
    items = _read_by_package(location, lambda: iter(getattr(dataset, f"{what}_iter")()))
    while (item := _read_by_package(location, lambda: next(items, None))) is not None:
        yield item


def _read_by_package(location: str | Path, call: Callable[[], Any]) -> Any:
    """What the package gives; whatever it raises, one for each of its sources, becomes a SourceError."""
    try:
        return call()
    except Exception as error:
        raise SourceError(
            f"ir_datasets cannot give it: {type(error).__name__}: {error}",
            where=str(location),
            do="Check the name, and that its data is on this machine",
        ) from error
