"""Question collections in SQuAD's JSON: each paragraph a document, each question a query that it answers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from workbench.registry import register
from workbench.sources.documents import document_chunks
from workbench.sources.files import existing_file, read_json
from workbench.sources.judgements import check_queries
from workbench.sources.source import JudgedQuery, Qrel, Source, SourceError
from workbench.sources.tally import Tally
from workbench.types import Chunk, Facets


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
                    raise SourceError(f"the question id {query_id!r} is empty or stands twice", where=where)
                impossible = bool(question.get("is_impossible"))
                attributes: dict[str, Any] = {"impossible": True} if impossible else {}
                queries[query_id] = JudgedQuery(query_id, _text(question, "question", where), attributes)
                if not impossible:
                    qrels.append(Qrel(query_id, document, 1))
    empty.into(warnings)
    check_queries(tuple(queries.values()), qrels, warnings)
    return Source("squad", str(location), {}, partial(_chunks, paragraphs), tuple(queries.values()), tuple(qrels),
                  warnings, count=len(paragraphs))  # fmt: skip


def is_squad(found: Any) -> bool:
    """Whether a JSON value has SQuAD's shape, told by its articles and their paragraphs."""
    articles = found.get("data") if isinstance(found, dict) else None
    return isinstance(articles, list) and bool(articles) and all(
        isinstance(article, dict) and isinstance(article.get("paragraphs"), list)
        and all(isinstance(p, dict) and isinstance(p.get("context"), str) for p in article["paragraphs"])
        for article in articles
    )  # fmt: skip


def _text(found: Any, key: str, where: str) -> str:
    value = found.get(key) if isinstance(found, dict) else None
    if not isinstance(value, str):
        raise SourceError(f"no {key} here", where=where)
    return value


def _chunks(paragraphs: list[tuple[str, str, str]]) -> Iterator[Chunk]:
    for number, (document, title, text) in enumerate(paragraphs, 1):
        for chunk in document_chunks([number], document, "", text, source=title, facets=Facets(project=title or None)):
            yield Chunk(number, document, 0, chunk.text, title, title, facets=chunk.facets)
