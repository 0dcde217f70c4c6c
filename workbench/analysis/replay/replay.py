"""Replay a log of real queries through variants: what changed on the first page, against each other and against then.

The law: a page is the documents of a ranking's first N rows, each once, as a search of that limit returns them. The
first variant is compared with every other, and what was shown then with every variant. Worst first: new empty pages,
then the pages that share the least, then by rank-biased overlap, then by how often the query was asked, then by line.
A log that holds fewer ids than a page is compared no further than it goes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from workbench.analysis.canonical import plain
from workbench.analysis.evaluate.compare import best_row, explained, titles_of
from workbench.analysis.evaluate.judged import with_own_documents
from workbench.analysis.evaluate.metrics import mean
from workbench.analysis.evaluate.rankings import PAGE, first_difference, overlap_at, rbo
from workbench.analysis.explain.explain import explain
from workbench.analysis.explain.targets import explain_command
from workbench.analysis.replay.query_log import Log, Logged, read_log
from workbench.analysis.runs import moved_bytes, search_seconds
from workbench.errors import BadParameter, WorkbenchError
from workbench.retrieval.search import Collection, open_collection
from workbench.retrieval.variant import Variant, at_time, distinct_variants, recipe_at
from workbench.sources.base import JudgedQuery
from workbench.stores.catalog.errors import UnknownPoint
from workbench.types import Query, Result

# ---- Why a page changed: the documents that left and came, each with what explains its plac ----


@dataclass(frozen=True, slots=True)
class Reason:
    """Why one document stands where it does under a variant, "" where that was not looked up, and the command that
    tells the whole."""

    document: str
    variant: str
    told: str
    command: str


def reasons_of(
    collection: Collection,
    change: Change,
    variants: Mapping[str, Variant],
    first: int,
    *,
    search: bool = True,
) -> tuple[Reason, ...]:
    """Of a change: why the first document that left is not on b's page, and why the first that came is, and was not
    under a. The same documents in another order: why the first of them stands where it does. Without `search` the
    commands alone."""
    out = []
    for document, name in _asked(change, variants):
        now = change.query.time
        recipe = recipe_at(variants[name], now) if now else name
        query = Query(change.query.text, change.query.filters, limit=first)
        if not collection.stores.catalog.entity(document):
            out.append(Reason(document, name, "it is not in the collection", ""))
        elif not search:
            out.append(
                Reason(
                    document,
                    name,
                    "",
                    explain_command(collection.name, query, document, recipe, "entity"),
                )
            )
        else:
            result = collection.search(
                query, at_time(variants[name], now) if now else variants[name], with_chunks=False
            )
            point = best_row(collection, result.fused.ids, document)
            assert point is not None  # the document exists
            told = explained(explain(collection, result, point))
            out.append(
                Reason(document, name, told, explain_command(collection.name, query, point, recipe))
            )
    return tuple(out)


def _asked(change: Change, variants: Mapping[str, Variant]) -> list[tuple[str, str]]:
    """(document, variant) of what is to be explained; what was shown then has no variant to ask."""
    asked = [(change.left[0], change.b)] if change.left else []
    if change.came:
        asked += [(change.came[0], change.b), (change.came[0], change.a)]
    if not asked and change.first is not None:
        moved = change.pages[1][change.first - 1]
        asked = [(moved, change.a), (moved, change.b)]
    return [(document, name) for document, name in asked if name in variants]


# ---- Replay a log of real queries through variants: what changed on the first page, against ----

SHOWN = "shown then"
"""The name under which what the log says was shown stands beside the variants."""

EXPLAINED, COMMANDED = 10, 50
"""Changes of each pair that are explained, by two or three searches each, and that get the commands which would."""

DOCUMENTS, POINTS = "documents", "points"


@dataclass(frozen=True, slots=True)
class Answer:
    """One variant's page for one query, or why there is none; `seconds`, engine `calls` and payload `bytes` of it.
    `short`: a log holds no more of it, and nothing is known of what stood below."""

    page: tuple[str, ...]
    seconds: float = 0.0
    calls: int = 0
    bytes: int = 0
    failed: str = ""
    short: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """One query under two sides. `kept` is the overlap of the pages, `rbo` their rank-biased overlap; `left` are the
    documents of a's page that b's lacks, `came` those that only b's has; `first` the first 1-based rank that differs,
    None where the pages are the same."""

    query: Logged
    a: str
    b: str
    pages: tuple[tuple[str, ...], tuple[str, ...]]
    kept: float
    rbo: float
    first: int | None
    left: tuple[str, ...]
    came: tuple[str, ...]

    @property
    def emptied(self) -> bool:
        """Whether a showed something and b shows nothing."""
        return bool(self.pages[0]) and not self.pages[1]

    @property
    def order(self) -> tuple[Any, ...]:
        """Worst first."""
        return (not self.emptied, self.kept, self.rbo, -self.query.times, self.query.line)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sides over all queries that both answered. `changed` have another page, of which `reordered` hold the same
    documents; `first_changed` another first document; `emptied` and `filled` are new and ended empty pages; `kept` and
    `rbo` are means; `asked` and `asked_changed` count every row of the log, repeats too."""

    a: str
    b: str
    queries: int
    changed: int
    reordered: int
    first_changed: int
    emptied: int
    filled: int
    kept: float | None
    rbo: float | None
    asked: int
    asked_changed: int


@dataclass(frozen=True)
class Replayed:
    """What a replay found. `answers` is by variant and query key; `changes` by pair, worst first, without the queries
    whose pages are the same; `costs` as in `VariantRuns`; `failed` by variant: how many queries and the first reason.
    `reasons` are of each pair's worst changes, in their order; `titles` of the documents of their pages."""

    collection: str
    inputs: Mapping[str, str]
    log: Log
    first: int
    plans: Mapping[str, str]
    pairs: tuple[Pair, ...]
    changes: Mapping[tuple[str, str], tuple[Change, ...]]
    costs: tuple[Mapping[str, Any], ...]
    failed: Mapping[str, tuple[int, str]]
    notes: tuple[str, ...]
    reasons: Mapping[tuple[str, str], tuple[tuple[Reason, ...], ...]]
    titles: Mapping[str, str]
    answers: Mapping[str, Mapping[str, Answer]] = field(repr=False, default_factory=dict)

    def to_dict(self, worst: int = 50) -> dict[str, Any]:
        """The whole as JSON-ready data, of each pair's changes the worst."""
        return plain(
            {
                "collection": self.collection,
                "inputs": dict(self.inputs),
                "log": self.log.location,
                "log_hash": self.log.hash,
                "rows": self.log.rows,
                "queries": len(self.log.queries),
                "first": self.first,
                "plans": dict(self.plans),
                "pairs": list(self.pairs),
                "costs": [dict(c) for c in self.costs],
                "notes": list(self.notes),
                "failed": {v: {"queries": n, "first": why} for v, (n, why) in self.failed.items()},
                "worst": [
                    {
                        **change_row(c),
                        "reasons": list(self.reasons[pair][n])
                        if n < len(self.reasons[pair])
                        else [],
                    }
                    for pair, changes in self.changes.items()
                    for n, c in enumerate(changes[:worst])
                ],
            }
        )


def change_row(change: Change) -> dict[str, Any]:
    """One change as a row of data."""
    q = change.query
    return plain(
        {
            "a": change.a,
            "b": change.b,
            "line": q.line,
            "text": q.text,
            "time": q.time,
            "filters": dict(q.filters),
            "times": q.times,
            "emptied": change.emptied,
            "kept": change.kept,
            "rbo": change.rbo,
            "first": change.first,
            "left": change.left,
            "came": change.came,
            "page_a": change.pages[0],
            "page_b": change.pages[1],
        }
    )


def replay(
    collection: str | Collection,
    log: Log | str | Path,
    variants: Sequence[str | Variant],
    *,
    first: int = PAGE,
    shown: str = DOCUMENTS,
    explained: int = EXPLAINED,
    keep_own: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Replayed:
    """Run every distinct query of a log, as read or by its path, through the variants. Stages that variants share run once a query; a stage that
    counts from the newest row (`now=""`) counts from the query's own time where the log has one.

    A query's own document is left out of every page, as in `compare_variants`, unless `keep_own`.
    `explained` changes of each pair get their reasons. `shown`: whether the log's ids are documents' or points'. A query that a variant refuses counts as failed there and
    stops nothing. Raises BadParameter for an unknown variant.
    """
    chosen = distinct_variants(variants)
    log = log if isinstance(log, Log) else read_log(log)
    if shown not in (DOCUMENTS, POINTS) or first < 1:
        raise BadParameter(
            f"shown {shown!r} must be {DOCUMENTS} or {POINTS}, and first {first} at least 1"
        )
    with (
        nullcontext(collection)
        if isinstance(collection, Collection)
        else open_collection(collection) as opened
    ):
        log, notes = _with_own_documents(opened, log, keep_own)
        then, told = _shown_then(opened, log, shown, first)
        notes += told
        answers: dict[str, dict[str, Answer]] = {v.name: {} for v in chosen}
        for done, query in enumerate(log.queries, 1):
            memo: dict[Any, Any] = {}
            for v in chosen:
                answers[v.name][query.key] = _answer(
                    opened, query, at_time(v, query.time) if query.time else v, first, memo
                )
            if progress:
                progress(done, len(log.queries))
        sides = {SHOWN: then, **answers} if then else answers
        names = [v.name for v in chosen]
        compared = [*((names[0], n) for n in names[1:]), *((SHOWN, n) for n in names if then)]
        found = {pair: _changes(log.queries, pair, sides) for pair in compared}
        changes = {
            pair: tuple(sorted((c for c in of if c.first is not None), key=lambda c: c.order))
            for pair, of in found.items()
        }
        known = {v.name: v for v in chosen}
        reasons = {
            pair: tuple(
                reasons_of(opened, c, known, first, search=n < explained)
                for n, c in enumerate(of[:COMMANDED])
            )
            for pair, of in changes.items()
        }
        named = {
            d for of in changes.values() for c in of[:COMMANDED] for page in c.pages for d in page
        }
        return Replayed(
            opened.name,
            opened.inputs,
            log,
            first,
            {v.name: v.plan() for v in chosen},
            tuple(_pair(pair, of) for pair, of in found.items()),
            changes,
            tuple(_cost(name, list(of.values())) for name, of in answers.items()),
            _failed(answers),
            (*log.notes, *notes),
            reasons,
            titles_of(opened, sorted(named)),
            answers,
        )


def _with_own_documents(collection: Collection, log: Log, keep: bool) -> tuple[Log, list[str]]:
    """The log with each query's own document by the rule of `own_documents`, and the account of it."""
    asked = [
        JudgedQuery(
            q.id or f"line {q.line}", q.text, {"self": q.own_document} if q.own_document else {}
        )
        for q in log.queries
    ]
    marked, own = with_own_documents(
        collection, asked, (), collection.stores.catalog.documents(), keep=keep
    )
    queries = (
        replace(q, own_document=m.own_document) for q, m in zip(log.queries, marked, strict=True)
    )
    return replace(log, queries=tuple({q.key: q for q in queries}.values())), list(own.notes)


def _answer(
    collection: Collection, query: Logged, variant: Variant, first: int, memo: dict[Any, Any]
) -> Answer:
    try:
        result = collection.search(
            Query(query.text, query.filters, limit=first), variant, with_chunks=False, memo=memo
        )
    except WorkbenchError as error:
        return Answer((), failed=str(error))
    spans = [s for s in result.spans if s.engine]
    return Answer(
        _page(collection, result, first, query.own_document),
        search_seconds(result),
        len(spans),
        moved_bytes(result.spans),
    )


def _page(collection: Collection, result: Result, first: int, own: str = "") -> tuple[str, ...]:
    """The documents of a ranking's first rows, each once, those of the query's own document left out."""
    mine = set(collection.stores.catalog.entity(own)) if own else ()
    ids = (
        [i for i in result.fused.ids if i not in mine][:first] if mine else result.fused.ids[:first]
    )
    return tuple(dict.fromkeys(collection.stores.catalog.entities(ids))) if ids else ()


def _shown_then(
    collection: Collection, log: Log, kind: str, first: int
) -> tuple[dict[str, Answer], list[str]]:
    """What was shown, as documents, by query key; and what of it does not exist, counted."""
    known = [q for q in log.queries if q.shown is not None]
    if not known:
        return {}, ["the log does not say what was shown"]
    catalog = collection.stores.catalog
    documents = catalog.documents()
    out, unknown, total = {}, 0, 0
    for query in known:
        ids = query.shown or ()
        found = (
            [i if i in documents else None for i in ids]
            if kind == DOCUMENTS
            else [_entity(catalog, i) for i in ids]
        )
        unknown, total = unknown + found.count(None), total + len(found)
        # An id that is gone keeps its place: it was shown, and cannot be shown now.
        page = tuple(
            dict.fromkeys(d if d is not None else i for d, i in zip(found, ids, strict=True))
        )
        # An empty list says that nothing was shown; a shorter one than the page may be all that was logged of it.
        out[query.key] = Answer(page[:first], short=0 < len(ids) < first)
    notes = (
        []
        if len(known) == len(log.queries)
        else [f"queries of which it is not known what was shown: {len(log.queries) - len(known)}"]
    )
    if short := [len(a.page) for a in out.values() if a.short]:
        notes.append(
            f"queries of which the log holds fewer than {first} ids, compared no further than it goes: {len(short)}"
        )
    if unknown:
        notes.append(
            f"ids that were shown and are no {kind} of the collection: {unknown} of {total}"
        )
    if total and unknown == total:
        other = POINTS if kind == DOCUMENTS else DOCUMENTS
        notes.append(
            f"none of the ids that were shown is there: they may be {other}: --shown {other}"
        )
    return out, notes


def _entity(catalog: Any, text: str) -> str | None:
    try:
        return catalog.entities([int(text) if text.isascii() and text.isdecimal() else text])[0]
    except UnknownPoint:
        return None


def _changes(
    queries: Sequence[Logged], pair: tuple[str, str], sides: Mapping[str, Mapping[str, Answer]]
) -> list[Change]:
    out = []
    for query in queries:
        answers = [sides[name].get(query.key) for name in pair]
        if any(a is None or a.failed for a in answers):
            continue
        a, b = (answer.page for answer in answers if answer is not None)
        if answers[0] is not None and answers[0].short:
            b = b[: len(a)]
        depth = max(len(a), len(b), 1)
        out.append(
            Change(
                query,
                *pair,
                (a, b),
                overlap_at(a, b, depth),
                rbo(a, b),
                first_difference(a, b),
                tuple(d for d in a if d not in b),
                tuple(d for d in b if d not in a),
            )
        )
    return out


def _pair(pair: tuple[str, str], changes: Sequence[Change]) -> Pair:
    changed = [c for c in changes if c.first is not None]
    return Pair(
        *pair,
        len(changes),
        len(changed),
        sum(not c.left and not c.came for c in changed),
        sum(c.first == 1 for c in changed),
        sum(c.emptied for c in changed),
        sum(bool(c.pages[1]) and not c.pages[0] for c in changed),
        mean(c.kept for c in changes),
        mean(c.rbo for c in changes),
        sum(c.query.times for c in changes),
        sum(c.query.times for c in changed),
    )


def _cost(name: str, answers: Sequence[Answer]) -> dict[str, Any]:
    done = [a for a in answers if not a.failed]
    if not done:
        return {
            "variant": name,
            "queries": 0,
            "empty": 0,
            "p50_ms": None,
            "p95_ms": None,
            "calls": None,
            "payload_bytes": None,
        }
    ms = [a.seconds * 1e3 for a in done]
    return {
        "variant": name,
        "queries": len(done),
        "empty": sum(not a.page for a in done),
        "p50_ms": float(np.percentile(ms, 50)),
        "p95_ms": float(np.percentile(ms, 95)),
        "calls": float(np.mean([a.calls for a in done])),
        "payload_bytes": float(np.mean([a.bytes for a in done])),
    }


def _failed(answers: Mapping[str, Mapping[str, Answer]]) -> dict[str, tuple[int, str]]:
    found = {name: [a.failed for a in of.values() if a.failed] for name, of in answers.items()}
    return {name: (len(why), why[0]) for name, why in found.items() if why}
