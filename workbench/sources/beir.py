"""A BEIR folder: `corpus.jsonl`, `queries.jsonl`, `qrels/<split>.tsv`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path

from workbench.errors import BadParameter
from workbench.registry import register
from workbench.sources.chunking import OVERLAP
from workbench.sources.documents import check_chunk_size, document_chunks
from workbench.sources.facets import facets_of
from workbench.sources.files import existing_folder, json_rows, missing_columns
from workbench.sources.judgements import Documents, check_queries, read_qrels, read_queries
from workbench.sources.source import JudgedQuery, Qrel, Source, SourceError
from workbench.types import Chunk, content_hash


@register("reader")
def beir(
    location: str | Path, *, split: str = "test", chunk_size: int | None = None, overlap: int = OVERLAP,
    documents: int | None = None,
) -> Source:  # fmt: skip
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
    settings = {"split": split, "chunk_size": chunk_size, "overlap": overlap, "documents": documents}
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
        raise SourceError(f"no judgements for the split {split!r}", where=str(folder / "qrels"),
                          do=f"The splits here are {', '.join(splits)}")  # fmt: skip
    warnings.append("there are no qrels: nothing is judged")
    return ()


def _sample(corpus: Path, qrels: tuple[Qrel, ...], documents: int, warnings: list[str]) -> set[str]:
    """The ids to read. Raises BadParameter where the judged ones alone are more."""
    ids = {str(row["_id"]) for _, row in json_rows(corpus) if "_id" in row}
    judged = ids & {q.entity_id for q in qrels}
    if documents < max(1, len(judged)):
        raise BadParameter(f"a sample of {documents} documents is smaller than the {len(judged)} judged ones",
                           do=f"Ask for at least {max(1, len(judged))}")  # fmt: skip
    others = sorted(ids - judged, key=content_hash)
    left = others[documents - len(judged) :]
    if left:
        warnings.append(f"documents left out of this sample: {len(left):,} of {len(ids):,}")
    return ids.difference(left)


def _chunks(
    corpus: Path, qrels: tuple[Qrel, ...], chunk_size: int | None, overlap: int, warnings: list[str],
    kept: set[str] | None,
) -> Iterator[Chunk]:  # fmt: skip
    documents = Documents(corpus, qrels)
    ids = count(1)
    for line, row in json_rows(corpus):
        where = f"{corpus}:{line}"
        missing = [name for name in ("_id", "text") if name not in row]
        if missing:
            raise missing_columns(missing, list(row), where, "A corpus line has _id, text and title")
        entity_id, title, text = str(row["_id"]), row.get("title") or "", row["text"] or ""
        for name, value in (("title", title), ("text", text)):
            if not isinstance(value, str):
                raise SourceError(f"the {name} is a {type(value).__name__}", where=where)
        documents.seen(entity_id, line, not (title + text).strip())
        if kept is not None and entity_id not in kept:
            continue
        rest = {key: value for key, value in row.items() if key not in ("_id", "title", "text", "metadata")}
        extra = row.get("metadata") or {}
        facets = facets_of({}, {**rest, **(extra if isinstance(extra, dict) else {"metadata": extra})}).facets
        yield from document_chunks(ids, entity_id, title, text, source=entity_id, facets=facets,
                                   chunk_size=chunk_size, overlap=overlap)  # fmt: skip
    documents.into(warnings)
