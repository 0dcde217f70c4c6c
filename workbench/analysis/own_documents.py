"""A query that is itself a document: which one, so that no ranking is evaluated with it, and how many there are.

A query names its own document by the attribute `self`. Without it, a query whose id is a document's id is
that document (BEIR's collections of duplicates and arguments), where the texts agree and where the judgements
do not ask for that very document.
"""

from __future__ import annotations

from collections.abc import Collection as Ids
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from workbench.analysis.judged import Judged
from workbench.retrieval.search import Collection
from workbench.sources.source import JudgedQuery, Qrel
from workbench.text import verbatim_key, well_formed
from workbench.types import content_hash

BY_ATTRIBUTE = "the query's attribute self names it"
BY_ID = "the query's id is the document's id"

CHECKED = 200
"""Queries whose text is compared with the document of the same id: a sample, drawn by the hash of the id."""


@dataclass(frozen=True, slots=True)
class OwnDocuments:
    """How many queries have an own document that is left out, by which rule, and what a reader must know of it."""

    queries: int = 0
    rule: str = ""
    notes: tuple[str, ...] = ()


def with_own_documents(
    collection: Collection,
    queries: Sequence[JudgedQuery],
    qrels: Iterable[Qrel] = (),
    documents: Ids[str] = frozenset(),
    *,
    keep: bool = False,
) -> tuple[list[JudgedQuery], OwnDocuments]:
    """The queries, each with its own document as the attribute `self`, and the account of it.

    `documents` are the collection's ids. With `keep` no query has an own document: every ranking is
    evaluated whole. Whatever evaluates a ranking leaves `JudgedQuery.own_document` out of it.
    """
    named = [q for q in queries if q.own_document]
    if keep:
        kept = [replace(q, attributes=_without_self(q)) if q.own_document else q for q in queries]
        note = f"the own documents of {len(named)} queries are kept in their rankings"
        return kept, OwnDocuments(notes=(note,) if named else ())
    if named:
        strangers = sum(q.own_document not in documents for q in named)
        notes = [_left_out(len(named), BY_ATTRIBUTE)]
        if strangers:
            notes.append(f"own documents that are not in the collection: {strangers}")
        return list(queries), OwnDocuments(len(named), BY_ATTRIBUTE, tuple(notes))
    same = [q for q in queries if q.id in documents]
    if not same:
        return list(queries), OwnDocuments()
    if not _texts_agree(collection, same):
        note = (
            f"ids of {len(same)} queries are also ids of documents with other texts: nothing was left out;"
            " an attribute self of a query names its own document"
        )
        return list(queries), OwnDocuments(notes=(note,))
    wanted = _relevant(qrels)
    own = {q.id for q in same if wanted.get(q.id) != {q.id}}
    notes = [_left_out(len(own), BY_ID)] if own else []
    if len(own) < len(same):
        notes.append(
            f"queries whose own document is the only relevant one, which is kept: {len(same) - len(own)}"
        )
    marked = [
        replace(q, attributes={**q.attributes, "self": q.id}) if q.id in own else q for q in queries
    ]
    return marked, OwnDocuments(len(own), BY_ID if own else "", tuple(notes))


def leakage(collection: Collection, judged: Judged) -> tuple[int, int] | None:
    """(queries that stand verbatim in their document, queries) of a known-item set; None for another set.

    A known-item set has one relevant document for each query. Case and white space are ignored.
    """
    targets = {q: [d for d, g in of.items() if g > 0] for q, of in judged.grades.items()}
    if not targets or any(len(of) != 1 for of in targets.values()):
        return None
    texts = texts_of(collection, {of[0] for of in targets.values()})
    keys = {d: [verbatim_key(text) for text in of] for d, of in texts.items()}
    found = 0
    for query in judged.queries:
        key = verbatim_key(query.text)
        found += bool(key) and any(key in text for text in keys.get(targets[query.id][0], ()))
    return found, len(targets)


def texts_of(collection: Collection, documents: Ids[str]) -> dict[str, list[str]]:
    """Titles and texts of the chunks of these documents, by document."""
    rows = collection.stores.catalog.sql(
        "SELECT entity_id, title, text FROM chunk SEMI JOIN (SELECT unnest($ids::VARCHAR[]) AS entity_id)"
        " wanted USING (entity_id) ORDER BY cid",
        {"ids": sorted(d for d in documents if well_formed(d) == d)},
    )
    out: dict[str, list[str]] = {}
    for entity, title, text in rows.rows():
        out.setdefault(entity, []).extend(t for t in (title, text) if t)
    return out


def _texts_agree(collection: Collection, same: Sequence[JudgedQuery]) -> bool:
    """Whether most queries have at least half of their terms in the document of their id.

    Numbered queries over numbered documents share ids by chance; their texts do not agree.
    """
    sample = sorted(same, key=lambda q: content_hash(q.id))[:CHECKED]
    texts = texts_of(collection, {q.id for q in sample})
    terms_of = collection.stores.tokenizer.query_terms
    agree = 0
    for query in sample:
        terms = set(terms_of(query.text))
        held = set(terms_of(" ".join(texts.get(query.id, ()))))
        agree += bool(terms) and len(terms & held) * 2 >= len(terms)
    return agree * 2 > len(sample)


def _relevant(qrels: Iterable[Qrel]) -> dict[str, set[str]]:
    out: dict[str, set[str]] = {}
    for qrel in qrels:
        if qrel.grade > 0:
            out.setdefault(qrel.query_id, set()).add(qrel.entity_id)
    return out


def _without_self(query: JudgedQuery) -> Mapping[str, object]:
    return {k: v for k, v in query.attributes.items() if k != "self"}


def _left_out(count: int, rule: str) -> str:
    noun = "1 query's own document is" if count == 1 else f"own documents of {count:,} queries are"
    return f"{noun} left out of the ranking: {rule}; --keep-own keeps them"
