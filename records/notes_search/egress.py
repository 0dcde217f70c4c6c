"""Bytes that cross: old path, stopgap, new path, each stage apart (B02, B08, B16, B17, B18, B21)."""

from __future__ import annotations

from statistics import mean, median
from typing import Any

from records.notes_search.subjects import (
    ASKED,
    LARGE,
    NEW_PAGE,
    SECOND,
    Project,
    asked,
    megabytes,
    new_searches,
    old_searches,
    project,
    some,
    spread,
)
from workbench.analysis.ledger.run import Run
from workbench.analysis.ledger.verdict import Measured, returns
from workbench.retrieval.notes.legacy import EVERY_SWITCH, OLD, PAGE_ROWS, STOPGAP, Switches
from workbench.retrieval.notes.model import Budget, NotesResult
from workbench.retrieval.notes.search import Plan, typed
from workbench.types import Query

SWITCH_QUERIES = 9
WIRE_CHECKS = 3
"""Queries whose text really crosses, to hold the weighed bytes against."""
LIMIT = 100_000
"""The document's "under about 100 KB"."""


@returns(
    "large",
    "large_mb",
    "large_over_second",
    "second",
    "second_mb",
    "weighed_bytes_equal_those_that_cross",
)
def production_bytes(run: Run) -> Measured:
    """B02: megabytes a search on both projects, and how often a project's text crosses, by stage."""
    value: dict[str, Any] = {}
    for name in (LARGE, SECOND):
        at = project(run, name)
        results = old_searches(run, at)
        stages = {
            s: mean(r.by_stage().get(s, 0) for r in results)
            for s in results[0].by_stage() | {"filter pass": 0}
        }
        value[name] = {
            "megabytes": spread([megabytes(r.bytes) for r in results]),
            "text_of_the_project_mb": megabytes(at.text_bytes, 1),
            "times_the_text_crosses": {s: round(b / at.text_bytes, 3) for s, b in stages.items()},
            "times_in_all": round(sum(stages.values()) / at.text_bytes, 2),
        }
    agrees = all(
        _weighed_right(project(run, LARGE), q.text) for q in asked(project(run, LARGE), WIRE_CHECKS)
    )
    ratio = value[LARGE]["megabytes"]["mean"] / value[SECOND]["megabytes"]["mean"]
    return Measured(
        {
            "large_mb": value[LARGE]["megabytes"]["mean"],
            "second_mb": value[SECOND]["megabytes"]["mean"],
            "large_over_second": round(ratio, 1),
            "weighed_bytes_equal_those_that_cross": agrees,
            **value,
        },
        _where(run),
        "Assumed: the project that the document describes is the one of 350 MB a search, and the other's notes are a seventh as "
        "long. 350 MB are more than all its text of 296 MB: each round reads a whole row twice.",
    )


def _weighed_right(at: Project, text: str) -> bool:
    crossed, weighed = (at.old.search(Query(text, limit=PAGE_ROWS), weigh=w) for w in (False, True))
    return [(c.stage, c.round, c.rows, c.bytes) for c in crossed.crossings] == [
        (c.stage, c.round, c.rows, c.bytes) for c in weighed.crossings
    ]


@returns(
    "budget",
    {"bytes": ["max", "mean", "p50", "p95"]},
    "ids",
    "page",
    "rows_outside_the_filter",
    "under_100_kb",
    "within_budget",
)
def new_bytes(run: Run) -> Measured:
    """B08: bytes of a new search, all queries, against 100 KB and against the stated budget."""
    budget, rows, found = Budget(), [], []
    for name in (LARGE, SECOND):
        at = project(run, name)
        pages = [*new_searches(run, at), *_variations(at)]
        found += pages
        rows += [{"path": "old", "project": name, "bytes": r.bytes} for r in old_searches(run, at)]
        rows += [
            {"path": "stopgap", "project": name, "bytes": r.bytes}
            for r in old_searches(run, at, STOPGAP)
        ]
        rows += [
            {"path": "new", "project": name, "bytes": r.span.bytes} for r in new_searches(run, at)
        ]
    sizes = [r.span.bytes for r in found]
    return Measured(
        {
            "bytes": spread(sizes, 0),
            "within_budget": all(s <= budget.bytes_at_most(NEW_PAGE) for s in sizes),
            "rows_outside_the_filter": sum(map(_outside, found)),
            "under_100_kb": max(sizes) < LIMIT,
            "budget": budget.bytes_at_most(NEW_PAGE),
            "ids": spread([r.span.bytes_ids for r in found], 0),
            "page": spread([r.span.bytes_page for r in found], 0),
        },
        _where(run),
        f"{len(found)} searches: first pages, deep pages, filters, excerpts of three chunks. Ids and text apart.",
        data=rows,
    )


def _outside(result: NotesResult) -> int:
    """Rows of a page that its filters do not admit."""
    filters = typed(result.query.filters)
    kinds, notes = filters["source_type"], filters.get("note_type")
    return sum(h.type not in kinds or notes not in (None, h.note_type) for h in result.hits)


def _variations(at: Project) -> list[NotesResult]:
    """Deep pages, filters, and the largest excerpts."""
    out = []
    for q in asked(at, 6):
        out.append(at.new.search(Query(q.text, limit=NEW_PAGE, offset=90), Plan(excerpt_chunks=3)))
        out.append(
            at.new.search(Query(q.text, {"note_type": "note"}, NEW_PAGE), Plan(excerpt_chunks=3))
        )
        out.append(
            at.new.search(
                Query(q.text, {"source_type": ["entity", "observation", "relation"]}, NEW_PAGE)
            )
        )
    return out


@returns(
    "excerpt_opens_with_the_best_chunk",
    "longest",
    "longest of 1",
    "longest of 3",
    "whole_notes",
)
def excerpts(run: Run) -> Measured:
    """B16: every excerpt is of the best chunk, or of up to three, capped, and never the whole note."""
    at = project(run, LARGE)
    budget = Budget()
    value: dict[str, Any] = {}
    whole_notes, first_holds = 0, True
    for chunks in (1, 3):
        hits = [
            h
            for q in asked(at, 12)
            for h in at.new.search(Query(q.text, limit=NEW_PAGE), Plan(excerpt_chunks=chunks)).hits
        ]
        best = {c.id: c for c in at.collection.stores.catalog.chunks([h.best_chunk for h in hits])}
        lengths = _note_lengths(at, [h.id for h in hits])
        whole_notes += sum(len(h.excerpt) >= lengths[h.id] > budget.excerpt_chars for h in hits)
        first_holds &= all(
            h.excerpt.startswith(best[h.best_chunk].text[: budget.excerpt_chars][:200])
            for h in hits
        )
        value[f"longest of {chunks}"] = max(len(h.excerpt) for h in hits)
    return Measured(
        {
            "excerpt_opens_with_the_best_chunk": first_holds,
            "whole_notes": whole_notes,
            "longest": max(value.values()),
            **value,
        },
        at.where,
        f"The cap is {budget.excerpt_chars} characters a row. A note that is shorter than it is shown as its chunk.",
    )


def _note_lengths(at: Project, ids: list[str]) -> dict[str, int]:
    sql = "SELECT entity_id, length(content_snippet) FROM old.search_index WHERE source_type = 'entity' AND entity_id IN (SELECT unnest($ids::VARCHAR[]))"
    return dict(at.old.file.rows(sql, {"ids": ids}))


@returns("allowed_characters", "candidates", "characters", "reads")
def rerank_reads(run: Run) -> Measured:
    """B17: characters and bytes read for reranking with the packaged cross-encoder, against candidates × cap."""
    from workbench.stores.vectors.reranker import reranker

    at, budget, scorer = project(run, LARGE), Budget(), _Counting(reranker())
    for q in asked(at, 3):
        for offset in (0, 10, 20):
            at.new.search(Query(q.text, limit=NEW_PAGE, offset=offset), rerank=scorer)
    first = [n for n in scorer.read if n]
    return Measured(
        {
            "characters": max(sum(n) for n in first),
            "candidates": max(map(len, first)),
            "reads": len(first),
            "allowed_characters": budget.rerank_candidates * budget.document_chars,
        },
        at.where,
        "Three pages of each query: the same prefix is read for the first two, and nothing for the third.",
    )


class _Counting:
    """A reranker that notes how long the texts were."""

    def __init__(self, scorer: Any) -> None:
        self._scorer, self.read = scorer, []

    def scores(self, query: str, texts: Any) -> list[float]:
        self.read.append([len(t) for t in texts])
        return self._scorer.scores(query, texts)


SPAN_FIELDS = ("fts_k", "vec_k", "rows_admitted", "rows_returned", "bytes_materialised")


@returns(
    "bytes_agree_with_the_stages",
    "example",
    "fields_present",
    "rows_admitted_agree_with_the_legs",
    "spans_a_search",
)
def one_span(run: Run) -> Measured:
    """B18: a search's one span: its fields, and an example."""
    results = new_searches(run, project(run, LARGE))
    spans = [[s for s in r.spans if s.call == "search"] for r in results]
    told = results[0].span.plain()
    return Measured(
        {
            "spans_a_search": max(map(len, spans)),
            "fields_present": all(f in told for f in SPAN_FIELDS),
            "bytes_agree_with_the_stages": all(
                sum(s.bytes for s in r.spans if s.engine == "duckdb") == r.span.bytes
                for r in results
            ),
            "rows_admitted_agree_with_the_legs": all(
                r.span.rows_admitted
                == len({(t, i) for t, i, _ in r.chunks.values() if t == "entity"})
                for q in asked(project(run, LARGE), WIRE_CHECKS)
                for r in [project(run, LARGE).new.search(Query(q.text, limit=NEW_PAGE), lists=True)]
            ),
            "example": {
                k: told[k] for k in (*SPAN_FIELDS, "bytes_ids", "bytes_page", "bytes_rerank")
            },
        },
        project(run, LARGE).where,
    )


@returns(
    "by_parts",
    "left_in_the_stopgap",
    "stop_condition_alone_mb",
    "stop_condition_alone_removes",
    "stopgap_removes",
)
def stopgap_parts(run: Run) -> Measured:
    """B21: the stopgap's three parts singly and together: median megabytes and rounds a search."""
    at = project(run, LARGE)
    queries = some(run, SWITCH_QUERIES)
    found = {s: old_searches(run, at, s, queries) for s in EVERY_SWITCH}
    table = {
        s.name: {
            "megabytes": megabytes(median(r.bytes for r in rs)),
            "rounds": median(len(r.rounds) for r in rs),
        }
        for s, rs in found.items()
    }
    old, new = (table[s.name]["megabytes"] for s in (OLD, STOPGAP))
    condition = table[Switches(row_budget=True).name]["megabytes"]
    return Measured(
        {
            "stopgap_removes": round(1 - new / old, 3),
            "stop_condition_alone_mb": condition,
            "stop_condition_alone_removes": round(1 - condition / old, 3),
            "by_parts": table,
            "left_in_the_stopgap": {k: megabytes(v) for k, v in _left(found[STOPGAP]).items()},
        },
        at.where,
        f"Median over {queries} queries, bytes weighed. The stopgap leaves the full-text leg, which returns whole notes.",
        data=[{"parts": name, **row} for name, row in table.items()],
    )


def _left(results: list[Any]) -> dict[str, float]:
    stages = {s for r in results for s in r.by_stage()}
    return {s: median(r.by_stage().get(s, 0) for r in results) for s in sorted(stages)}


def _where(run: Run) -> str:
    return f"{ASKED} queries on each; " + "; ".join(
        project(run, name).where for name in (LARGE, SECOND)
    )
