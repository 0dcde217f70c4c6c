"""A BEIR folder: `corpus.jsonl`, `queries.jsonl`, `qrels/<split>.tsv`."""

from __future__ import annotations

import os
import shutil
import tarfile
from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from workbench.errors import BadParameter
from workbench.registry import register
from workbench.settings import home, project_root
from workbench.sources.base import (
    JudgedQuery,
    Qrel,
    Source,
    SourceError,
    Tally,
    check_chunk_size,
    document_chunks,
    titled,
)
from workbench.sources.chunking import OVERLAP
from workbench.sources.facets import facets_of
from workbench.sources.files import (
    existing_file,
    existing_folder,
    json_rows,
    missing_columns,
    named_rows,
    read_json,
)
from workbench.sources.judgements import Documents, check_queries, read_qrels, read_queries
from workbench.sources.table import table
from workbench.types import Chunk, Facets, content_hash

# ---- A BEIR folder: `corpus.jsonl`, `queries.jsonl`, `qrels/<split>.tsv` ----


@register("reader")
def beir(
    location: str | Path,
    *,
    split: str = "test",
    chunk_size: int | None = None,
    overlap: int = OVERLAP,
    documents: int | None = None,
) -> Source:
    """A BEIR folder: corpus.jsonl, queries.jsonl, qrels/<split>.tsv.

    One chunk a document: title, blank line, text. With `chunk_size` a document is as many chunks as it takes; sizes are in characters. Files may end in `.gz`.
    With `documents` at most so many are read, for a quick look: every judged one, then those with the smallest hash of their id; its figures are those of an easier collection.
    Judgements of unknown documents or queries, negative grades, queries without judgements and empty documents
    are counted in the warnings; queries and judgements may be missing, `split` may not where others are there.

    Raises SourceError with file and line for a line that is not a JSON object, a missing column and an id that
    stands twice.
    """
    check_chunk_size(chunk_size, overlap)
    folder = existing_folder(location, "the BEIR folder")
    corpus = _file(folder, "corpus.jsonl")
    if corpus is None:
        raise SourceError("no corpus.jsonl here", where=str(folder), do="A BEIR folder holds one")
    warnings: list[str] = []
    queries = _queries(folder, warnings)
    qrels = _qrels(folder, split, warnings)
    check_queries(queries, qrels, warnings)
    kept = None if documents is None else _sample(corpus, qrels, documents, warnings)
    chunks = partial(_chunks, corpus, qrels, chunk_size, overlap, warnings, kept)
    settings = {
        "split": split,
        "chunk_size": chunk_size,
        "overlap": overlap,
        "documents": documents,
    }
    return Source("beir", str(location), settings, chunks, queries, qrels, warnings)


def corpus_of(folder: Path) -> Path | None:
    """The corpus where the folder is a BEIR folder."""
    return _file(folder, "corpus.jsonl")


def _file(folder: Path, name: str) -> Path | None:
    return next((p for p in (folder / name, folder / f"{name}.gz") if p.is_file()), None)


def _queries(folder: Path, warnings: list[str]) -> tuple[JudgedQuery, ...]:
    path = _file(folder, "queries.jsonl")
    if path is None:
        warnings.append("there is no queries.jsonl: the collection has no queries of its own")
        return ()
    return read_queries(path)


def _qrels(folder: Path, split: str, warnings: list[str]) -> tuple[Qrel, ...]:
    path = _file(folder / "qrels", f"{split}.tsv")
    if path is not None:
        return read_qrels(path, warnings)
    splits = sorted(p.name.split(".")[0] for p in (folder / "qrels").glob("*.tsv*"))
    if splits:
        raise SourceError(
            f"no judgements for the split {split!r}",
            where=str(folder / "qrels"),
            do=f"The splits here are {', '.join(splits)}",
        )
    warnings.append("there are no qrels: nothing is judged")
    return ()


def _sample(corpus: Path, qrels: tuple[Qrel, ...], documents: int, warnings: list[str]) -> set[str]:
    """The ids to read. Raises BadParameter where the judged ones alone are more."""
    ids = {str(row["_id"]) for _, row in json_rows(corpus) if "_id" in row}
    judged = ids & {q.entity_id for q in qrels}
    if documents < max(1, len(judged)):
        raise BadParameter(
            f"a sample of {documents} documents is smaller than the {len(judged)} judged ones",
            do=f"Ask for at least {max(1, len(judged))}",
        )
    others = sorted(ids - judged, key=content_hash)
    left = others[documents - len(judged) :]
    if left:
        warnings.append(f"documents left out of this sample: {len(left):,} of {len(ids):,}")
    return ids.difference(left)


def _chunks(
    corpus: Path,
    qrels: tuple[Qrel, ...],
    chunk_size: int | None,
    overlap: int,
    warnings: list[str],
    kept: set[str] | None,
) -> Iterator[Chunk]:
    documents = Documents(corpus, qrels)
    ids = count(1)
    for line, row in json_rows(corpus):
        where = f"{corpus}:{line}"
        missing = [name for name in ("_id", "text") if name not in row]
        if missing:
            raise missing_columns(
                missing, list(row), where, "A corpus line has _id, text and title"
            )
        entity_id, title, text = str(row["_id"]), row.get("title") or "", row["text"] or ""
        for name, value in (("title", title), ("text", text)):
            if not isinstance(value, str):
                raise SourceError(f"the {name} is a {type(value).__name__}", where=where)
        documents.seen(entity_id, line, not (title + text).strip())
        if kept is not None and entity_id not in kept:
            continue
        rest = {
            key: value
            for key, value in row.items()
            if key not in ("_id", "title", "text", "metadata")
        }
        extra = row.get("metadata") or {}
        facets = facets_of(
            {}, {**rest, **(extra if isinstance(extra, dict) else {"metadata": extra})}
        ).facets
        yield from document_chunks(
            ids,
            entity_id,
            title,
            text,
            source=entity_id,
            facets=facets,
            chunk_size=chunk_size,
            overlap=overlap,
        )
    documents.into(warnings)


# ---- Question collections in SQuAD's JSON: each paragraph a document, each question a query ----


@register("reader")
def squad(location: str | Path) -> Source:
    """A SQuAD file: .json of SQuAD 1 or 2, or of XQuAD.

    Paragraphs are documents, and a question's own paragraph is its one relevant document. A document's id is `article-paragraph`, both numbered from 0, so it is the same in every language of XQuAD;
    its title is the article's and is not part of the text. A question marked impossible has no judgement.

    Raises SourceError for a file of another shape and for a question id that stands twice.
    """
    path = existing_file(location, "the SQuAD file")
    found = read_json(path)
    if not is_squad(found):
        raise SourceError("not SQuAD's JSON: no data[].paragraphs[].context", where=str(path))
    paragraphs: list[tuple[str, str, str]] = []
    queries: dict[str, JudgedQuery] = {}
    qrels: list[Qrel] = []
    warnings: list[str] = []
    empty = Tally("documents are empty and are not searched")
    for article_number, article in enumerate(found["data"]):
        title = str(article.get("title") or "").replace("_", " ")
        for number, paragraph in enumerate(article["paragraphs"]):
            where = f"{path}: data[{article_number}].paragraphs[{number}]"
            document = f"{article_number}-{number}"
            text = _text(paragraph, "context", where)
            if not text.strip():
                empty.add(document)
            paragraphs.append((document, title, text))
            for question in paragraph.get("qas") or ():
                query_id = str(question.get("id") or "")
                if not query_id or query_id in queries:
                    raise SourceError(
                        f"the question id {query_id!r} is empty or stands twice", where=where
                    )
                impossible = bool(question.get("is_impossible"))
                attributes: dict[str, Any] = {"impossible": True} if impossible else {}
                queries[query_id] = JudgedQuery(
                    query_id, _text(question, "question", where), attributes
                )
                if not impossible:
                    qrels.append(Qrel(query_id, document, 1))
    empty.into(warnings)
    check_queries(tuple(queries.values()), qrels, warnings)
    return Source(
        "squad",
        str(location),
        {},
        partial(_chunks_squad, paragraphs),
        tuple(queries.values()),
        tuple(qrels),
        warnings,
        count=len(paragraphs),
    )


def is_squad(found: Any) -> bool:
    """Whether a JSON value has SQuAD's shape, told by its articles and their paragraphs."""
    articles = found.get("data") if isinstance(found, dict) else None
    return (
        isinstance(articles, list)
        and bool(articles)
        and all(
            isinstance(article, dict)
            and isinstance(article.get("paragraphs"), list)
            and all(
                isinstance(p, dict) and isinstance(p.get("context"), str)
                for p in article["paragraphs"]
            )
            for article in articles
        )
    )


def _text(found: Any, key: str, where: str) -> str:
    value = found.get(key) if isinstance(found, dict) else None
    if not isinstance(value, str):
        raise SourceError(f"no {key} here", where=where)
    return value


def _chunks_squad(paragraphs: list[tuple[str, str, str]]) -> Iterator[Chunk]:
    for number, (document, title, text) in enumerate(paragraphs, 1):
        for chunk in document_chunks(
            [number], document, "", text, source=title, facets=Facets(project=title or None)
        ):
            yield Chunk(number, document, 0, chunk.text, title, title, facets=chunk.facets)


# ---- QMSum: meeting transcripts, their turns as documents, and queries with the turns that  ----

TRANSCRIPT, QUERIES, SPANS = "meeting_transcripts", "specific_query_list", "relevant_text_span"


@register("reader")
def qmsum(location: str | Path, *, chunk_size: int | None = None, overlap: int = OVERLAP) -> Source:
    """A folder of QMSum meetings: one JSON file each.

    Every turn is a document, every specific query is judged by its turns. Ids are `meeting/turn` and `meeting/qN`, numbered from 0 as the file's spans are; a span includes its end. A
    turn's text is `speaker: words`, its project the meeting. Queries about a whole meeting have no turns and are
    left out. A span beyond the transcript is counted.

    Raises SourceError for a file of another shape.
    """
    check_chunk_size(chunk_size, overlap)
    folder = existing_folder(location, "the folder of meetings")
    paths = sorted(folder.rglob("*.json"), key=lambda path: path.relative_to(folder).as_posix())
    if not paths:
        raise SourceError("no meetings (*.json) here", where=str(folder))
    queries: list[JudgedQuery] = []
    qrels: list[Qrel] = []
    warnings: list[str] = []
    outside = Tally("queries name turns beyond the transcript")
    for path in paths:
        name, meeting = _meeting(folder, path)
        for number, query in enumerate(meeting.get(QUERIES) or ()):
            query_id = f"{name}/q{number}"
            queries.append(JudgedQuery(query_id, str(query.get("query") or ""), {"meeting": name}))
            turns = sorted(
                {
                    turn
                    for span in query.get(SPANS) or ()
                    for turn in _turns(span, f"{path}: {query_id}")
                }
            )
            known = [turn for turn in turns if turn < len(meeting[TRANSCRIPT])]
            if len(known) < len(turns):
                outside.add(query_id)
            qrels += [Qrel(query_id, f"{name}/{turn}", 1) for turn in known]
    outside.into(warnings)
    check_queries(queries, qrels, warnings)
    chunks = partial(_chunks_qmsum, folder, paths, chunk_size, overlap)
    settings = {"chunk_size": chunk_size, "overlap": overlap}
    return Source("qmsum", str(location), settings, chunks, tuple(queries), tuple(qrels), warnings)


def _chunks_qmsum(
    folder: Path, paths: list[Path], chunk_size: int | None, overlap: int
) -> Iterator[Chunk]:
    ids = count(1)
    for path in paths:
        name, meeting = _meeting(folder, path)
        for number, turn in enumerate(meeting[TRANSCRIPT]):
            speaker, content = str(turn.get("speaker") or ""), str(turn.get("content") or "")
            text = f"{speaker}: {content}" if speaker and content else content
            facets = Facets(
                project=name,
                note_type="turn",
                path=path.relative_to(folder).as_posix(),
                metadata={"speaker": speaker} if speaker else {},
            )
            yield from document_chunks(
                ids,
                f"{name}/{number}",
                "",
                text,
                source=f"{name} turn {number}",
                facets=facets,
                chunk_size=chunk_size,
                overlap=overlap,
            )


def is_qmsum(found: Any) -> bool:
    """Whether a JSON value is one meeting."""
    return isinstance(found, dict) and isinstance(found.get(TRANSCRIPT), list)


def _meeting(folder: Path, path: Path) -> tuple[str, dict[str, Any]]:
    found = read_json(path)
    if not is_qmsum(found) or not all(isinstance(turn, dict) for turn in found[TRANSCRIPT]):
        raise SourceError(f"not a QMSum meeting: no {TRANSCRIPT}", where=str(path))
    return path.relative_to(folder).with_suffix("").as_posix(), found


def _turns(span: Any, where: str) -> range:
    try:
        first, last = (int(turn) for turn in span)
    except (TypeError, ValueError):
        raise SourceError(f"the span {span!r} is not two turns", where=where) from None
    return range(first, last + 1)


# ---- GitBugs: issue reports with known duplicates; a report asks for those ----

REPORTS, PAIRS = "*_bugs.csv", "*_bugs-combined.csv"
ID, DUPLICATE = "Issue id", "Duplicate id"
COLUMNS = {
    "id": ID,
    "title": "Summary",
    "text": "Description",
    "status": "Status",
    "note_type": "Resolution",
}


@register("reader")
def gitbugs(location: str | Path, *, chunk_size: int | None = None) -> Source:
    """A GitBugs folder: *_bugs.csv, *_bugs-combined.csv.

    Each report is a document. The reports of one row of pairs are each other's duplicates, and each of them is a query (its title and
    description) judged by the others. A query would find itself first: its attribute `self` names the document to
    leave out of its ranking. Rows that name a report not here, or one twice, are counted.

    Raises SourceError where a file or a column is missing.
    """
    folder = existing_folder(location, "the GitBugs folder")
    reports, pairs = _one(folder, REPORTS), _one(folder, PAIRS)
    made = table(columns=COLUMNS, chunk_size=chunk_size)(reports)
    texts = {
        row[ID].strip(): titled(row["Summary"], row["Description"])
        for _, row in named_rows(reports, ",")
    }
    pairs_found = _duplicates(pairs, texts, made.warnings)
    queries = tuple(
        JudgedQuery(q, texts[q], {"self": q}) for q in dict.fromkeys(q for q, _ in pairs_found)
    )
    qrels = tuple(Qrel(query, document, 1) for query, document in pairs_found)
    settings = {"chunk_size": chunk_size}
    return Source("gitbugs", str(location), settings, made.chunks, queries, qrels, made.warnings)


def _duplicates(pairs: Path, known: dict[str, str], warnings: list[str]) -> list[tuple[str, str]]:
    """Distinct (query, document) pairs, in the order in which the rows name them."""
    absent, itself = (
        Tally("rows name a report that is not here"),
        Tally("rows name one report twice"),
    )
    found: dict[tuple[str, str], None] = {}
    for number, row in named_rows(pairs, ","):
        missing = [name for name in (ID, DUPLICATE) if name not in row]
        if missing:
            raise missing_columns(missing, list(row), f"{pairs}:1", "Mend the header")
        named = [row[ID].strip(), *(part.strip() for part in row[DUPLICATE].split(","))]
        group = [report for report in dict.fromkeys(named) if report in known]
        if not set(named) <= known.keys():
            absent.add(f"{' '.join(named)} (line {number})")
        elif len(group) < len(named):
            itself.add(f"{' '.join(named)} (line {number})")
        found.update(((a, b), None) for a in group for b in group if a != b)
    absent.into(warnings)
    itself.into(warnings)
    return list(found)


def _one(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise SourceError(f"{len(found)} files {pattern} where one belongs", where=str(folder))
    return found[0]


# ---- Public collections that may lie beside the repository, for measurements: found, unpack ----

WHERE = Path("..") / "shared" / "data"
"""Relative to the project: an archive a collection, its README naming source and licence."""


def public(name: str) -> Path | None:
    """The unpacked folder of a public collection, None where its archive is not beside the repository."""
    archive = (project_root() / WHERE / f"{name}.tar.gz").resolve()
    if not archive.is_file():
        return None
    folder = home() / "public" / name
    if not folder.is_dir():
        partial = folder.with_name(f"{name}.{os.getpid()}.partial")
        partial.mkdir(parents=True, exist_ok=True)
        with tarfile.open(archive) as packed:
            packed.extractall(partial, filter="data")
        try:
            partial.rename(folder)
        except OSError:  # another process was first
            shutil.rmtree(partial)
    inner = [p for p in folder.iterdir() if p.is_dir()]
    return (
        inner[0] if len(inner) == 1 and not any(p.is_file() for p in folder.iterdir()) else folder
    )


def why_absent(name: str) -> str:
    """The plain reason that a test skips with and a ledger row notes."""
    return f"the public collection {name} is not at {WHERE}/{name}.tar.gz beside the repository"
