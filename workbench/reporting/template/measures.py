"""What measures the claims of @ID@: each function takes the run and returns Measured.

`returns` declares the keys of its value, so that a misspelt key in record.toml is found before the run.
"""

from __future__ import annotations

from typing import Any

from workbench.analysis.evaluate.known_items import chunks_of, titles
from workbench.analysis.ledger.run import Run
from workbench.analysis.runs import run_variants
from workbench.analysis.ledger.verdict import Measured, returns
from workbench.retrieval.search import Collection
from workbench.stores.collections import collections

PAGE = 8
MADE = "pydoc"


def subject(run: Run) -> Collection:
    """The run's collection, opened once; pydoc is loaded first where this machine does not have it yet."""
    name = run.params["collection"]
    if name == MADE and name not in [c.name for c in collections() if c.manifest]:
        from workbench.stores.load import load

        load(MADE, name=name)
    return run.open(name)


def where(collection: Collection) -> str:
    return f"{collection.name}, {collection.stores.catalog.n:,} chunks"


@returns("asked", "found_before", "found_after", "share_after", "gained")
def titles_found(run: Run) -> Measured:
    """Titles as queries: how many find their own document among the first 8, before and after."""
    collection, variants = subject(run), (run.params["before"], run.params["after"])
    items = titles(chunks_of(collection.stores.catalog), limit=run.params["titles"], seed=run.seed)
    ran = run_variants(collection, items.queries, variants).runs
    rows: list[dict[str, Any]] = [
        {"title": query.text, **{v: _rank(ran[v][query.id], wanted.entity_id) for v in variants}}
        for query, wanted in zip(items.queries, items.qrels, strict=True)
    ]
    found = [sum(row[v] is not None and row[v] <= PAGE for row in rows) for v in variants]
    value = {
        "asked": len(rows), "found_before": found[0], "found_after": found[1],
        "share_after": found[1] / len(rows), "gained": found[1] - found[0],
    }  # fmt: skip
    return Measured(value, where(collection), data=rows)


@returns("scrolls", "counts", "word")
def calls_of_one_word(run: Run, word: str) -> Measured:
    """The engine calls of one search, counted from its trace."""
    collection = subject(run)
    result = collection.search(word, run.params["after"])
    value = {"scrolls": len(result.calls("scroll")), "counts": len(result.calls("count")), "word": word}
    return Measured(value, where(collection))


def _rank(documents: tuple[str, ...], wanted: str) -> int | None:
    return documents.index(wanted) + 1 if wanted in documents else None
