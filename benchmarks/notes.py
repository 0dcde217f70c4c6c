"""The rebuilt notes search against the old path, against its own legs, and against numpy on the same rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.harness import Row, at_most, benchmark
from records.notes_search.subjects import LARGE, Project, asked, in_turn, project
from workbench.analysis.ledger.run import open_run
from workbench.bm25 import K1, B
from workbench.retrieval.notes import duckdb as statement
from workbench.retrieval.notes.duckdb import TWO_TABLES, DuckNotes
from workbench.retrieval.notes.files_made import cut_catalog
from workbench.retrieval.notes.legacy import PAGE_ROWS
from workbench.retrieval.notes.model import K_CAP, Ask, Budget
from workbench.retrieval.notes.search import Notes, typed
from workbench.settings import home
from workbench.stores.filters.sql import where
from workbench.types import Query

QUERIES, TURNS = 6, 21
SHARES = {"all": 1.0, "a tenth": 0.1, "a hundredth": 0.01}
PAGE = 10


@dataclass(frozen=True)
class _Bound:
    """What a leg may cost: some times the same work in numpy, and apart what a statement costs before it reads a row."""

    times: float
    apart_ms: float
    peer: str
    what: str

    def of(self, ms: Mapping[str, float]) -> float:
        return self.times * ms[self.peer] + self.apart_ms

    def said(self, ms: Mapping[str, float]) -> str:
        return f"{self.times:g} × {self.what} ({ms[self.peer]:.1f} ms) + {self.apart_ms:g} ms"


BOUNDS = {
    "vector": _Bound(4, 3, "numpy vectors", "numpy's product over the same rows"),
    "lexical": _Bound(5, 8, "numpy postings", "a numpy CSC of the same postings"),
}
STATEMENT_TIMES = 1.3
TENFOLD = {"all": 6.0, "a tenth": 4.0}
BYTES = 100_000


@benchmark("notes")
def notes() -> Iterator[Row]:
    """Milliseconds, ratios and bytes on the large replica at three selectivities."""
    with TemporaryDirectory(dir=_workplace()) as work:
        at = project(open_run("notes-search", out=Path(work)), LARGE)
        truth = _Numpy.of(at)
        seconds: dict[str, float] = {}
        sizes: list[int] = []
        for label in SHARES:
            queries = _queries(at, label)
            asks = [_ask(at.new, q) for q in queries]
            masks = [truth.admitted(a.filters) for a in asks]
            ms = in_turn({
                "search": lambda queries=queries: sizes.extend(at.new.search(q).span.bytes for q in queries),
                "statement": lambda asks=asks: [at.new.engine.ranked(a) for a in asks],
                "lexical": lambda asks=asks: [_lexical(at, a) for a in asks],
                "vector": lambda asks=asks: [_vector(at, a) for a in asks],
                "numpy vectors": lambda asks=asks, masks=masks: list(map(truth.nearest, asks, masks)),
                "numpy postings": lambda asks=asks, masks=masks: list(map(truth.best, asks, masks)),
            }, TURNS, QUERIES)  # fmt: skip
            seconds[label] = ms["search"]
            n, of = QUERIES * TURNS, f"{np.mean(np.sum(masks, axis=1)):,.0f} of {at.chunks:,} chunks"
            yield Row(f"notes/search, {label}", ms["search"], "ms", against=of, n=n)
            for leg, bound in BOUNDS.items():
                yield Row(f"notes/{leg} leg over its bound, {label}", ms[leg] / bound.of(ms), "×", at_most(1), bound.said(ms), n)
            yield Row(f"notes/statement over its legs, {label}", ms["statement"] / (ms["lexical"] + ms["vector"]), "×", at_most(STATEMENT_TIMES),
                      f"{ms['lexical']:.1f} + {ms['vector']:.1f} ms", n)  # fmt: skip
            old = in_turn({"old": lambda queries=queries: [at.old.search(replace(q, limit=PAGE_ROWS)) for q in queries]}, 1, QUERIES)["old"]
            yield Row(f"notes/old path over new, {label}", old / ms["search"], "×", against=f"the old path, {old:.0f} ms", n=QUERIES)
        yield from _tenfold(at, Path(work), seconds)
        budget = Budget()
        yield Row("notes/bytes a search", max(sizes), "B", at_most(min(BYTES, budget.bytes_at_most(PAGE))), "ids and page text", len(sizes))


def _tenfold(at: Project, work: Path, seconds: Mapping[str, float]) -> Iterator[Row]:
    """A tenth of the chunks, searched in the same way."""
    cut_catalog(Path(at.collection.stores.catalog.path), work / "tenth.duckdb", share=0.1)
    with Notes(DuckNotes.open(work / "tenth.duckdb"), at.new.embedder) as tenth:
        for label, limit in TENFOLD.items():
            queries = _queries(at, label)
            small = in_turn({"small": lambda queries=queries: [tenth.search(q) for q in queries]}, TURNS, QUERIES)["small"]
            yield Row(f"notes/ten times the chunks, {label}", seconds[label] / small, "×", at_most(limit), f"a tenth, {small:.1f} ms", QUERIES * TURNS)


def _workplace() -> Path:
    path = home() / "notes"
    path.mkdir(parents=True, exist_ok=True)
    return path


def _queries(at: Project, label: str) -> list[Query]:
    """Searches of that share of the notes by when they were made, each of another time: with one filter for all, both
    sides would find their rows in the processor's caches, as searches one after the other seldom do."""
    share = SHARES[label]
    sql = "SELECT quantile_disc(created, $share) FROM chunk WHERE source_type = 'entity'"

    def window(n: int) -> dict[str, Any]:
        start = n * round(1 / share) // QUERIES * share
        since, until = (at.old.file.rows(sql, {"share": s})[0][0] for s in (start, start + share))
        return {"created": {"gte": since, "lt": until}}

    return [Query(q.text, {} if share == 1 else window(n), PAGE) for n, q in enumerate(asked(at, QUERIES))]


def _ask(notes_: Notes, query: Query) -> Ask:
    text = query.normalised
    vector = notes_.embedder.embed_query(text)
    return Ask(tuple(notes_.engine.tokenizer.terms(text)), vector, typed(query.filters), K_CAP, K_CAP, 0, PAGE)


def _lexical(at: Project, ask: Ask) -> None:
    """The statement's full-text leg alone, its rows kept in the engine."""
    admitted = where(ask.filters)
    leg = statement.lexical_leg(TWO_TABLES, admitted.sql)
    params = {"terms": list(ask.terms), "k1": K1, "b": B, "k_fts": ask.k_fts, **admitted.params}
    at.new.engine.file.rows(f"SELECT count(*), max(score) FROM ({leg})", params)


def _vector(at: Project, ask: Ask) -> None:
    """The statement's vector leg alone."""
    admitted = where(ask.filters)
    leg = statement.vector_leg(TWO_TABLES, at.new.engine.dim, admitted.sql, ask.floors, asked=True)
    at.new.engine.file.rows(f"SELECT count(*), max(score) FROM ({leg})", {"vector": ask.vector, "k_vec": ask.k_vec, **admitted.params})


@dataclass(frozen=True)
class _Numpy:
    """The same vectors and postings in memory: what an exact search costs at the least."""

    at: Project
    vectors: np.ndarray
    start: np.ndarray
    cid: np.ndarray
    weight: np.ndarray
    term: Mapping[str, int]

    @classmethod
    def of(cls, at: Project) -> _Numpy:
        file = at.old.file
        found = file.table("SELECT embedding FROM vector ORDER BY cid").column(0)
        vectors = np.concatenate([p.flatten().to_numpy() for p in found.chunks]).reshape(-1, at.new.engine.dim)
        dictionary = file.rows("SELECT term, term_id, df FROM dict ORDER BY term_id")
        ((n, average),) = file.rows("SELECT n, avgdl FROM corpus")
        posting = file.table("SELECT term_id, cid, tf, dl FROM posting ORDER BY term_id, cid")
        columns = {name: posting.column(name).to_numpy() for name in posting.column_names}
        df = np.asarray([d for _, _, d in dictionary], float)
        idf = np.log(1 + (n - df + 0.5) / (df + 0.5))
        tf, norm = columns["tf"].astype(np.float64), K1 * (1 - B + B * columns["dl"] / average)
        weight = idf[columns["term_id"]] * tf * (K1 + 1) / (tf + norm)
        start = np.searchsorted(columns["term_id"], np.arange(len(df) + 1))
        return cls(at, vectors, start, columns["cid"].astype(np.int32), weight, {t: i for t, i, _ in dictionary})

    def admitted(self, filters: Mapping[str, Any]) -> np.ndarray:
        """(n,) which chunks a filter admits."""
        mask = np.zeros(len(self.vectors), bool)
        mask[np.asarray(self.at.collection.stores.catalog.ids_where(filters)) - 1] = True
        return mask

    def nearest(self, ask: Ask, mask: np.ndarray) -> np.ndarray:
        """The k nearest of the admitted rows, unordered."""
        if mask.all():
            return _top(self.vectors @ ask.vector, ask.k_vec)
        rows = np.flatnonzero(mask)
        return rows[_top(self.vectors[rows] @ ask.vector, ask.k_vec)]

    def best(self, ask: Ask, mask: np.ndarray) -> np.ndarray:
        """The k best of the admitted rows by BM25, unordered."""
        scores = np.zeros(len(mask))
        for t in ask.terms:
            if t in self.term:
                held = slice(self.start[self.term[t]], self.start[self.term[t] + 1])
                scores[self.cid[held]] += self.weight[held]  # a chunk stands once in a term's postings
        return _top(np.where(mask, scores, 0.0), ask.k_fts)


def _top(scores: np.ndarray, k: int) -> np.ndarray:
    return np.argpartition(-scores, k)[:k] if len(scores) > k else np.arange(len(scores))
