"""Where the queries and judgements of a comparison come from: a collection, a file, a made set, or ir_datasets.

The law: queries and judgements are matched by id and by nothing else; what does not fit is counted in the set's notes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from workbench.analysis.evaluate import known_items
from workbench.analysis.evaluate.judged import (
    Judged,
    OwnDocuments,
    judge,
    leakage,
    with_own_documents,
)
from workbench.analysis.evaluate.query_attributes import described
from workbench.errors import BadParameter, NotAvailable
from workbench.retrieval.search import Collection
from workbench.sources.base import JudgedQuery, Qrel, SourceError
from workbench.sources.judgements import read_qrels, read_queries
from workbench.stores.filters.sql import where
from workbench.stores.hints import refuse_hopeless
from workbench.types import content_hash

MADE: dict[str, Callable[..., known_items.KnownItems]] = {
    "titles": known_items.titles,
    "spans": known_items.spans,
    "identifiers": known_items.identifiers,
}
"""Query sets that are made from the collection itself, each query with the one document that it came from."""

IR_DATASETS = "irds:"
"""Before a name of the package ir_datasets, as in `irds:beir/scifact/test`."""

VERBATIM_CHECKS = 5_000_000
"""Queries × chunks up to which it is looked up whether a query stands verbatim in the collection: about 5 s."""


class NothingToEvaluate(BadParameter):
    """Not one query of the set has a relevant judgement; says how many were skipped and why."""


@dataclass(frozen=True)
class QuerySet:
    """A judged set and where it came from. `origin` is one line for a report; `notes` what did not fit, judged set's
    notes included; `hash` is of queries and judgements. `own` are the queries' own documents, which no ranking is
    evaluated with; `leaked` counts the queries of a known-item set that stand verbatim in their document, None for
    another set."""

    judged: Judged
    origin: str
    notes: tuple[str, ...]
    hash: str
    own: OwnDocuments = OwnDocuments()
    leaked: int | None = None

    @property
    def queries(self) -> tuple[JudgedQuery, ...]:
        return self.judged.queries


def query_set(
    collection: Collection,
    queries: str | Sequence[JudgedQuery] = "",
    qrels: str | Sequence[Qrel] = "",
    *,
    limit: int | None = None,
    seed: int = known_items.SEED,
    least: int = 1,
    keep_own: bool = False,
) -> QuerySet:
    """The queries to evaluate, described by attributes for slices.

    `queries`: "" for the collection's own, a file, `titles`, `spans`, `identifiers`, or `irds:NAME`; or the queries.
    `qrels`: "" for those that come with the queries, else the collection's own; a file, `irds:NAME`, or the judgements.
    `limit` keeps so many queries, by the hash of seed and id. A query's own document is left out of its ranking and
    its judgements (see `own_documents`), unless `keep_own`. Raises NothingToEvaluate for fewer than `least`,
    NotAvailable for ir_datasets without package or network, SourceError for a file, and for a query whose filters
    name a field that no row has or a value of a type that no field has.
    """
    warnings: list[str] = []
    asked, given, origin = _queries(collection, queries, limit, seed, warnings)
    judgements, of = _qrels(collection, qrels, given, warnings)
    beyond = 0
    if limit is not None and len(asked) > limit:
        kept = {q.id for q in known_items.drawn(asked, limit, seed)}
        beyond = len(asked) - len(kept)
        asked = [q for q in asked if q.id in kept]
        judgements = [j for j in judgements if j.query_id in kept]
    filtered = _checked_filters(collection, asked)
    documents = collection.stores.catalog.documents()
    asked, own = with_own_documents(collection, asked, judgements, documents, keep=keep_own)
    found = judge(asked, judgements, documents)
    if len(found.queries) < least:
        raise NothingToEvaluate(
            f"{len(found.queries)} of {len(asked)} queries can be evaluated, {least} are needed"
            + "".join(f"; {n} have {reason}" for reason, n in found.reasons.items()),
            where=origin,
            do="Give judgements by --qrels, or compare without them: workbench replay",
        )
    texts, told = _texts(collection, found)
    found = replace(found, queries=described(found.queries, texts, collection.stores.tokenizer))
    notes = [*warnings, *own.notes, *found.notes, *told]
    leaked = leakage(collection, found)
    if leaked is not None:
        notes.append(
            f"leakage: {leaked[0]} of {leaked[1]} queries stand verbatim in their one relevant document"
        )
    if filtered:
        notes.append(
            f"queries that are searched within filters of their own: {filtered} of {len(asked)}"
        )
    if beyond:
        notes.append(
            f"queries beyond the limit of {limit}, left out by the hash of seed {seed} and id: {beyond}"
        )
    source = origin + (f"; judgements: {of}" if of else "")
    return QuerySet(found, source, tuple(notes), _digest(found), own, leaked and leaked[0])


def query_set_of_files(qrels: str | Path, queries: str | Path = "") -> QuerySet:
    """The queries that a file of judgements names, with the texts of a query file where one is given, and then those
    that are not judged counted. Raises NothingToEvaluate where no judgement is relevant."""
    warnings: list[str] = []
    asked = read_queries(queries) if queries else None
    found = judge(asked, read_qrels(qrels, warnings))
    origin = (
        f"judgements: {Path(qrels).name}"
        if asked is None
        else f"{Path(queries).name}; judgements: {Path(qrels).name}"
    )
    if not found.queries:
        why = "".join(f"; {n} have {reason}" for reason, n in found.reasons.items())
        raise NothingToEvaluate(
            f"no query can be evaluated{why}",
            where=origin,
            do="Give the judgements of these queries",
        )
    if asked is not None:
        found = replace(found, queries=described(found.queries))
    return QuerySet(found, origin, (*warnings, *found.notes), _digest(found))


def _digest(judged: Judged) -> str:
    asked = [(q.id, q.text, q.own_document, dict(q.filters)) for q in judged.queries]
    return content_hash(asked, {q: dict(g) for q, g in judged.grades.items()})


def _queries(
    collection: Collection,
    queries: str | Sequence[JudgedQuery],
    limit: int | None,
    seed: int,
    warnings: list[str],
) -> tuple[list[JudgedQuery], Sequence[Qrel] | None, str]:
    """(queries, the judgements that come with them or None, where they come from)."""
    if not isinstance(queries, str):
        return list(queries), None, "queries that were handed over"
    if queries == "":
        own = collection.stores.catalog.queries()
        if not own:
            raise BadParameter(
                f"{collection.name} has no queries of its own",
                do=f"Use --queries FILE, {', '.join(MADE)} or irds:NAME",
            )
        return list(own), None, f"the queries of {collection.name}"
    if queries in MADE:
        chunks = known_items.chunks_of(collection.stores.catalog)
        made = MADE[queries](chunks, limit=limit, seed=seed, tokenizer=collection.stores.tokenizer)
        warnings += [
            f"documents without such a query, {reason}: {n}" for reason, n in made.dropped.items()
        ]
        return (
            list(made.queries),
            made.qrels,
            f"{queries} of {collection.name}: {made.rule}, seed {seed}",
        )
    if queries.startswith(IR_DATASETS):
        asked, judgements = _from_ir_datasets(queries)
        return asked, judgements, queries
    if not Path(queries).expanduser().exists():
        raise SourceError(
            "the query file is not there",
            where=queries,
            do=f"Or name one of {', '.join(MADE)}, or irds:NAME",
        )
    return list(read_queries(queries)), None, Path(queries).name


def _qrels(
    collection: Collection,
    qrels: str | Sequence[Qrel],
    given: Sequence[Qrel] | None,
    warnings: list[str],
) -> tuple[list[Qrel], str]:
    """(judgements, where they come from where that is not where the queries do)."""
    if not isinstance(qrels, str):
        return list(qrels), "handed over"
    if qrels.startswith(IR_DATASETS):
        return _from_ir_datasets(qrels)[1], qrels
    if qrels:
        return list(read_qrels(qrels, warnings)), Path(qrels).name
    if given is not None:
        return list(given), ""
    return list(collection.stores.catalog.qrels()), f"of {collection.name}"


def _checked_filters(collection: Collection, queries: Sequence[JudgedQuery]) -> int:
    """How many queries have filters. Raises SourceError with the query and its line for filters that admit nothing by
    their field or type; equal filters are looked up once."""
    seen: set[str] = set()
    filtered = [q for q in queries if q.filters]
    for query in filtered:
        key = content_hash(dict(query.filters))
        if key in seen:
            continue
        seen.add(key)
        try:
            where(query.filters)
            refuse_hopeless(collection.stores.catalog, query.filters)
        except BadParameter as error:
            raise SourceError(
                f"query {query.id!r}: {error.what}",
                where=query.where or f"the filters of a query of {collection.name}",
                do=error.do,
            ) from None
    return len(filtered)


def _texts(collection: Collection, judged: Judged) -> tuple[Iterable[str] | None, list[str]]:
    """The collection's texts for the attribute `verbatim`, or None and why it was left out."""
    checks = len(judged.queries) * collection.stores.catalog.n
    if checks > VERBATIM_CHECKS:
        return None, [
            f"no slice by verbatim: {len(judged.queries):,} queries in {collection.stores.catalog.n:,} chunks are too many to look up"
        ]
    return (text for batch in collection.stores.catalog.texts() for _, text in batch), []


def _from_ir_datasets(name: str) -> tuple[list[JudgedQuery], list[Qrel]]:
    """Queries and judgements of a data set of the package ir_datasets; what it fetches, it keeps by itself."""
    called = name.removeprefix(IR_DATASETS)
    try:
        import ir_datasets
    except ImportError as error:
        raise NotAvailable(
            "the package ir_datasets is not installed",
            where=name,
            do="pip install ir_datasets, or give files",
        ) from error
    try:
        dataset = ir_datasets.load(called)
    except KeyError as error:
        raise BadParameter(f"ir_datasets knows no data set {called!r}") from error
    for part in ("queries", "qrels"):
        if not getattr(dataset, f"has_{part}")():
            raise BadParameter(
                f"the data set {called!r} has no {part}",
                do="Name one of its splits, such as …/test",
            )
    try:
        queries = [JudgedQuery(str(q.query_id), _query_text(q)) for q in dataset.queries_iter()]
        qrels = [
            Qrel(str(j.query_id), str(j.doc_id), int(j.relevance)) for j in dataset.qrels_iter()
        ]
    except Exception as error:
        # The package raises requests', urllib's and its own errors here; the reader needs to know that nothing came.
        raise NotAvailable(
            f"ir_datasets could not fetch {called!r}: {type(error).__name__}: {error}",
            do="Check the network, or give files",
        ) from error
    return queries, qrels


def _query_text(query: Any) -> str:
    return query.text if hasattr(query, "text") else query.title
