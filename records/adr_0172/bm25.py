"""ADR 0172's first condition followed today: BM25 on the same incident, and the title at growing lengths (A20)."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from typing import Any

from records.adr_0172.incident import TITLE
from records.subjects import Incident, incident, size_of
from workbench.analysis.run import Run
from workbench.analysis.verdict import Measured, returns
from workbench.bm25 import K1, B, idf
from workbench.retrieval.channels import SEMANTIC_LIMIT
from workbench.retrieval.fusions import rrf
from workbench.types import PointId, Ranking

VARIANTS = ("two_lists", "adr_0172", "bm25_order", "bm25_ranking", "bm25_engine", "bm25_fields")
LENGTHS = (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 12, 15)
"""The target's length in average lengths (CLAIMS A20: from 1 to 15)."""

FIRST = 8

SPARSE_SIZES = {"full": 20_000, "small": 5_000, "tiny": 5_000}
"""Memories of the replica that carries sparse vectors too, by the run's size."""


@returns(
    "plain_bm25_keeps_the_title_first_eight",
    "rank",
    "sparse_rank",
    "title_lost_from_length",
)
def first_condition(run: Run) -> Measured:
    """A20: what BM25 in place of candidate order and third list does to the incident, and from which length on."""
    at, sparse_size = incident(run), SPARSE_SIZES[size_of(run)]
    ranks = {v: at.search(TITLE, v).rank_of(at.target) for v in VARIANTS}
    rows = length_sweep(at)
    lost = {kind: next((r["length"] for r in rows if r["scoring"] == kind and not r["found"]), None) for kind in ("plain", "fields")}
    sparse = sparse_ranks(run, sparse_size)
    return Measured(
        {"rank": ranks, "sparse_rank": sparse, "plain_bm25_keeps_the_title_first_eight": (ranks["bm25_ranking"] or 10**9) <= FIRST,
         "title_lost_from_length": lost},
        at.where,
        "Lengths are in average lengths of the replica; the target's score is computed at each length against the "
        "frozen scores of all other rows, two lists, first eight. No length (–, null) where it is kept at every length swept; “plain” is BM25 over one field, “fields” over title and content. Sparse vectors in "
        f"Qdrant stand in a replica of {sparse_size:,} memories of their own, DuckDB's BM25 on the same one beside them.",
        data=rows,
    )  # fmt: skip


def sparse_ranks(run: Run, size: int) -> dict[str, int | None]:
    """The target's rank by sparse BM25 vectors in Qdrant, and by DuckDB's BM25 on the same smaller replica."""
    at = incident(run, size=size, sparse=True)
    return {v: at.search(TITLE, v).rank_of(at.target) for v in ("bm25_sparse", "bm25_ranking")}


def length_sweep(at: Incident) -> list[dict[str, Any]]:
    """The fused rank of the target at each length, its lexical rank by plain BM25 and by BM25 over fields."""
    catalog = at.collection.stores.catalog
    terms = at.collection.stores.tokenizer.terms(at.queries[TITLE].text)
    times = Counter(terms)
    semantic = next(r for r in at.search(TITLE, "two_lists").lists if r.name == "semantic")
    tf, title_tf, title_length = _frequencies(at, terms)
    rows = []
    for kind in ("plain", "fields"):
        top = catalog.bm25_top if kind == "plain" else catalog.bm25_fields_top
        others = [(i, s) for i, s in top(terms, {}, catalog.n) if i != at.target]
        for length in LENGTHS:
            score = (
                plain_score(catalog, times, tf, length) if kind == "plain"
                else fields_score(catalog, times, tf, title_tf, title_length, length)
            )  # fmt: skip
            rank = 1 + bisect_left([-s for _, s in others], -score)
            fused = _fused_rank(others, rank, at.target, semantic)
            rows.append({"scoring": kind, "length": length, "lexical_rank": rank, "fused_rank": fused,
                         "found": fused is not None and fused <= FIRST})  # fmt: skip
    return rows


def plain_score(catalog: Any, times: Counter[str], tf: dict[str, int], length: float) -> float:
    """BM25 of a chunk with these term frequencies and this relative length; `times`: how often the query has a term."""
    df = catalog.df(list(tf))
    return sum(times[t] * idf(catalog.n, df[t]) * n * (K1 + 1) / (n + K1 * (1 - B + B * length)) for t, n in tf.items())


def fields_score(
    catalog: Any, times: Counter[str], tf: dict[str, int], title_tf: dict[str, int], title_length: float,
    length: float, title_weight: float = 3.0,
) -> float:  # fmt: skip
    """BM25F of the same chunk: its title keeps its own length while the content grows."""
    held = catalog.sql("SELECT term, either_df FROM dict WHERE term IN (SELECT unnest($t::VARCHAR[]))", {"t": list(tf)})
    df = dict(held.rows())
    total = 0.0
    for term, n in tf.items():
        weighed = n / (1 - B + B * length) + title_weight * title_tf.get(term, 0) / (1 - B + B * title_length)
        total += times[term] * idf(catalog.n, df[term]) * weighed * (K1 + 1) / (weighed + K1)
    return total


def _frequencies(at: Incident, terms: list[str]) -> tuple[dict[str, int], dict[str, int], float]:
    """The target's term frequencies in its text and in its title, and its title's relative length."""
    chunk = at.of([at.target])[0]
    tokenizer = at.collection.stores.tokenizer
    text, title = tokenizer.terms(chunk.text), tokenizer.terms(chunk.title)
    average = at.collection.stores.catalog.sql("SELECT title_avgdl FROM corpus").item()
    return {t: text.count(t) for t in terms}, {t: title.count(t) for t in terms}, len(title) / average


def _fused_rank(others: list[tuple[PointId, float]], rank: int, target: PointId, semantic: Ranking) -> int | None:
    if rank > SEMANTIC_LIMIT:
        lexical = others[:SEMANTIC_LIMIT]
    else:
        lexical = [*others[: rank - 1], (target, others[rank - 1][1] if rank <= len(others) else 0.0), *others[rank - 1 : SEMANTIC_LIMIT - 1]]
    lists = [Ranking("lexical", tuple(i for i, _ in lexical), tuple(s for _, s in lexical)), semantic]
    return rrf()(lists).ranking.ranks().get(target)
