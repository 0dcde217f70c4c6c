"""Order, pages and keys of the new path (B10, B15, B20)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from records.notes_search.subjects import LARGE, Project, asked, project, some
from records.subjects import loaded
from workbench.analysis.ledger.run import Run
from workbench.analysis.ledger.verdict import Measured, returns
from workbench.retrieval.notes.duckdb import DuckNotes
from workbench.retrieval.notes.files_made import build_old, cut_catalog
from workbench.retrieval.notes.legacy import Exit, OldNotes, OldSettings
from workbench.retrieval.notes.model import Ask, Budget
from workbench.retrieval.notes.search import Notes, Plan, typed
from workbench.retrieval.search import Collection
from workbench.settings import home
from workbench.sources.base import JudgedQuery, Source
from workbench.types import Chunk, Query

EXHAUSTIVE_NOTES = 240
"""Fewer than the loop's budget of 260, so that only the end of the ranking can end it."""
EVERY_CHUNK = 10**6
ORDER_QUERIES, PAGED_QUERIES, REACHED_QUERIES = 24, 15, 15
PAGE, PAGES = 10, 5
TIED_NOTES = 60


@returns(
    "first_pages_equal_where_the_old_path_ranks_documents_too",
    "first_pages_equal_with_k_1000",
    "first_pages_equal_with_k_260",
    "queries",
    "same_order_where_exhaustive",
)
def same_order(run: Run) -> Measured:
    """B10: both paths over a project that the old one reads to its end; then with the caps, and with its own ranked unit."""
    at = project(run, LARGE)
    with TemporaryDirectory(dir=home()) as work:
        catalog, old_file = Path(work) / "cut.duckdb", Path(work) / "old.duckdb"
        cut_catalog(
            Path(at.collection.stores.catalog.path),
            catalog,
            share=min(1.0, EXHAUSTIVE_NOTES / at.notes),
        )
        build_old(catalog, old_file)
        with (
            OldNotes(catalog, old_file, at.new.embedder) as old,
            Notes(DuckNotes.open(catalog), at.new.embedder) as new,
        ):
            value = _compared(old, new, asked(at, some(run, ORDER_QUERIES)))
            ((notes, chunks),) = old.file.rows(
                "SELECT (SELECT count(*) FROM old.search_index WHERE source_type = 'entity'), count(*) FROM chunk"
            )
    return Measured(
        value,
        f"the first {notes:,} notes of {at.collection.name}, {chunks:,} chunks",
        "The old path without its similarity floor, so that the ranking is exhausted. With the full-text rank of chunks "
        "alone both give one order, scores and all; where they differ, the ranked unit is why: the old path also ranks whole "
        "documents, and the new one ranks k chunks a leg and no more.",
    )


def _compared(old: OldNotes, new: Notes, queries: Sequence[JudgedQuery]) -> dict[str, Any]:
    open_ = {unit: OldSettings(min_similarity=0.0, lexical=unit) for unit in ("chunks", "larger")}
    found: dict[str, list[bool]] = {
        n: []
        for n in ("exhaustive", "equal", "scores", "page k 1000", "page k 260", "page documents")
    }
    for q in queries:
        query = Query(q.text, limit=EVERY_CHUNK)
        before = old.search(query, settings=open_["chunks"], ties="id", weigh=True)
        after = every_row(new, query)
        found["exhaustive"].append(before.exit == Exit.EXHAUSTED)
        found["equal"].append(before.keys == tuple(key for key, _ in after))
        found["scores"].append([s for _, s in before.ranking] == [s for _, s in after])
        page = before.keys[:PAGE]
        for label, budget in (("page k 1000", Budget()), ("page k 260", Budget(260, 260))):
            found[label].append(
                new.search(Query(q.text, limit=PAGE), Plan(budget=budget)).keys == page
            )
        documents = old.search(query, settings=open_["larger"], ties="id", weigh=True)
        found["page documents"].append(documents.keys[:PAGE] == page)
    shares = {name: round(sum(flags) / len(flags), 3) for name, flags in found.items()}
    return {
        "same_order_where_exhaustive": shares["equal"]
        == shares["scores"]
        == shares["exhaustive"]
        == 1.0,
        "queries": len(queries),
        "first_pages_equal_with_k_1000": shares["page k 1000"],
        "first_pages_equal_with_k_260": shares["page k 260"],
        "first_pages_equal_where_the_old_path_ranks_documents_too": shares["page documents"],
    }


def every_row(notes: Notes, query: Query) -> list[tuple[tuple[str, str], float]]:
    """The whole fused ranking, the caps lifted: (key, score)."""
    text = query.normalised
    ask = Ask(
        tuple(notes.engine.tokenizer.terms(text)),
        notes.embedder.embed_query(text),
        typed(query.filters),
        EVERY_CHUNK,
        EVERY_CHUNK,
        0,
        EVERY_CHUNK,
    )
    return [((row.type, row.id), row.score) for row in notes.engine.ranked(ask).rows]


@returns(
    "growing",
    "one k",
    "pages_equal",
    "pages_equal_where_k_grows",
    "rows_that_k_chunks_resolve_to",
)
def pages(run: Run) -> Measured:
    """B15: pages one after the other against one long page, with the k that grows and with one k; ties; what k costs."""
    at = project(run, LARGE)
    wide = {
        "growing": Budget(growing=True, page_rows=PAGE * PAGES),
        "one k": Budget(page_rows=PAGE * PAGES),
    }
    value: dict[str, Any] = {}
    for label, budget in wide.items():
        found = [
            _paged(at.new, q.text, Plan(budget=budget)) for q in asked(at, some(run, PAGED_QUERIES))
        ]
        value[label] = {
            "first_two_pages_equal_a_double_page": all(f["two"] for f in found),
            "all_pages_equal_one_long_page": all(f["all"] for f in found),
            "queries_that_differ": sum(not f["all"] for f in found),
            "rows_lost": sum(f["lost"] for f in found),
            "rows_twice": sum(f["twice"] for f in found),
        }
    with Notes(DuckNotes.open(Path(cases(run).stores.catalog.path)), at.new.embedder) as tied:
        ties = _paged(tied, "equal words", Plan(budget=wide["one k"]))
        wanted = sorted(
            tied.search(Query("equal words", limit=PAGE * PAGES), Plan(budget=wide["one k"])).keys
        )
        in_order = (
            list(
                tied.search(
                    Query("equal words", limit=PAGE * PAGES), Plan(budget=wide["one k"])
                ).keys
            )
            == wanted
        )
    reached = {k: _reached(at, Budget(k, k), some(run, REACHED_QUERIES)) for k in (100, 260, 1000)}
    return Measured(
        {
            "pages_equal": value["one k"]["all_pages_equal_one_long_page"]
            and ties["all"]
            and in_order,
            "pages_equal_where_k_grows": value["growing"]["all_pages_equal_one_long_page"],
            **value,
            "rows_that_k_chunks_resolve_to": reached,
        },
        f"{at.where}; {TIED_NOTES} notes of one score",
        f"{PAGES} pages of {PAGE}. Where k grows with the page, as the document words it, a later page is cut from another ranking: "
        "a note that both legs reach gains 0.3 of its weaker score. One k for all pages, at the cap, cuts all from one. k chunks of long "
        "notes resolve to few rows, so a page can end before its limit.",
    )


def _paged(notes: Notes, text: str, plan: Plan) -> dict[str, Any]:
    single = [
        notes.search(Query(text, limit=PAGE, offset=PAGE * n), plan).keys for n in range(PAGES)
    ]
    double, whole = (notes.search(Query(text, limit=PAGE * n), plan).keys for n in (2, PAGES))
    joined: Sequence[tuple[str, str]] = [key for page in single for key in page]
    return {
        "two": single[0] + single[1] == double,
        "all": tuple(joined) == whole,
        "lost": len(set(whole) - set(joined)),
        "twice": len(joined) - len(set(joined)),
    }


def _reached(at: Project, budget: Budget, queries: int) -> dict[str, float]:
    """Rows that the statement can return at all."""
    found = []
    for q in asked(at, queries):
        text = Query(q.text).normalised
        ask = Ask(
            tuple(at.new.engine.tokenizer.terms(text)),
            at.new.embedder.embed_query(text),
            typed({}),
            budget.k_fts,
            budget.k_vec,
            0,
            EVERY_CHUNK,
        )
        found.append(len(at.new.engine.ranked(ask).rows))
    return {"least": min(found), "median": float(np.median(found))}


@returns("both_come_back", "keys_are_distinct", "only_the_type_asked_for")
def keys(run: Run) -> Measured:
    """B20: entity 7 and relation 7 both come back, each once."""
    stores = cases(run).stores
    with Notes(DuckNotes.open(Path(stores.catalog.path)), stores.embedder) as opened:
        found = opened.search(
            "ferry timetable", filters={"source_type": ["entity", "relation"]}
        ).keys
        relations = opened.search("ferry timetable", filters={"source_type": "relation"}).keys
    return Measured(
        {
            "only_the_type_asked_for": {t for t, _ in relations} == {"relation"},
            "both_come_back": {("entity", "7"), ("relation", "7")} <= set(found),
            "keys_are_distinct": len(set(found)) == len(found),
        },
        f"{cases(run).name}: entity 7 and relation 7 among {TIED_NOTES} notes",
        f"First rows: {', '.join(f'{t} {i}' for t, i in found[:2])}",
    )


def cases(run: Run) -> Collection:
    """A small collection: notes that all have one text and one vector, and an entity and a relation of one number."""

    def chunks() -> Iterator[Chunk]:
        number = count(1)
        for n in range(TIED_NOTES):
            yield Chunk(
                next(number),
                f"note-{(n * 37) % TIED_NOTES:02d}",
                0,
                "equal words in every note",
                "Equal",
            )
        yield Chunk(next(number), "7", 0, "the ferry timetable of the summer", "Ferry")
        yield Chunk(
            next(number),
            "7",
            0,
            "the ferry timetable belongs to the harbour",
            "Ferry",
            source_type="relation",
        )

    def vectors(embed: Any) -> Iterator[np.ndarray]:
        one = embed(["equal words in every note", "the ferry timetable"])
        yield np.concatenate(
            [np.repeat(one[:1], TIED_NOTES, axis=0), np.repeat(one[1:], 2, axis=0)]
        )

    source = Source(
        "cases",
        "notes search cases",
        {"notes": TIED_NOTES},
        chunks,
        vectors=vectors,
        count=TIED_NOTES + 2,
    )
    return loaded(run, "notes-search-cases", source)  # type: ignore[arg-type]
