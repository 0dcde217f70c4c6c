"""BM25 from our own postings on a public collection: the published figure, and another implementation."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from helpers.catalog_world import staged

from workbench import bm25
from workbench.stores.catalog.build import build_catalog
from workbench.stores.catalog.catalog import Catalog
from workbench.text import DEFAULT, LUCENE_ENGLISH_33, Tokenizer
from workbench.types import Chunk

# Anserini's BM25 over title and text as one field: Porter stems, Lucene's 33 stop words, k1 0.9, b 0.4.
PUBLISHED, WITHIN = 0.679, 0.02
K1, B = 0.9, 0.4
TOKENIZER = Tokenizer(stem="porter")
DOCS = Path(__file__).resolve().parents[2] / "docs" / "search.md"

pytestmark = pytest.mark.shared


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def documents(shared_data: Callable[[str], Path]) -> list[Chunk]:
    found = sorted(lines(shared_data("scifact-beir") / "corpus.jsonl"), key=lambda d: int(d["_id"]))
    return [Chunk(int(d["_id"]), d["_id"], 0, f"{d['title']} {d['text']}", d["title"]) for d in found]


@pytest.fixture(scope="module")
def catalog(documents: list[Chunk], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalog]:
    directory = tmp_path_factory.mktemp("scifact")
    rows = np.tile(np.array([1, 0], np.float32), (len(documents), 1))
    parts, vectors = staged(directory / "staged", documents, rows, TOKENIZER)
    build_catalog(directory / "catalog.duckdb", parts, vectors, tokenizer=TOKENIZER)
    with Catalog.open(directory / "catalog.duckdb") as opened:
        yield opened


@pytest.fixture(scope="module")
def queries(shared_data: Callable[[str], Path]) -> dict[str, list[str]]:
    folder = shared_data("scifact-beir")
    judged = {row.split("\t")[0] for row in (folder / "qrels/test.tsv").read_text().splitlines()[1:]}
    return {
        q["_id"]: TOKENIZER.terms(q["text"])
        for q in lines(folder / "queries.jsonl")
        if q["_id"] in judged
    }


def ndcg(catalog: Catalog, queries: dict[str, list[str]], folder: Path, k1: float, b: float) -> float:
    """nDCG@10 of BM25 alone."""
    import ir_measures
    from ir_measures import nDCG

    rows = (folder / "qrels/test.tsv").read_text().splitlines()[1:]
    qrels = [ir_measures.Qrel(q, d, int(grade)) for q, d, grade in (r.split("\t") for r in rows)]
    run = [
        # ir_measures breaks ties by its own rule: it is handed the rank.
        ir_measures.ScoredDoc(query, str(point), -rank)
        for query, terms in queries.items()
        for rank, (point, _) in enumerate(catalog.bm25_top(terms, {}, 10, k1, b))
    ]
    return ir_measures.calc_aggregate([nDCG @ 10], qrels, run)[nDCG @ 10]


def test_bm25_alone_reaches_the_published_figure(
    catalog: Catalog, queries: dict[str, list[str]], shared_data: Callable[[str], Path]
) -> None:
    assert len(queries) == 300
    measured = ndcg(catalog, queries, shared_data("scifact-beir"), K1, B)
    assert measured == pytest.approx(PUBLISHED, abs=WITHIN)
    assert f"| 0.679 (Anserini) | {measured:.4f} |" in DOCS.read_text(encoding="utf-8")


def test_the_figure_with_our_own_defaults_is_the_one_in_the_docs(
    documents: list[Chunk], tmp_path: Path, shared_data: Callable[[str], Path]
) -> None:
    rows = np.tile(np.array([1, 0], np.float32), (len(documents), 1))
    build_catalog(tmp_path / "catalog.duckdb", *staged(tmp_path / "staged", documents, rows, DEFAULT), tokenizer=DEFAULT)
    folder = shared_data("scifact-beir")
    asked = {q["_id"]: DEFAULT.terms(q["text"]) for q in lines(folder / "queries.jsonl")}
    judged = {row.split("\t")[0] for row in (folder / "qrels/test.tsv").read_text().splitlines()[1:]}
    with Catalog.open(tmp_path / "catalog.duckdb") as opened:
        measured = ndcg(opened, {q: terms for q, terms in asked.items() if q in judged}, folder, bm25.K1, bm25.B)
    assert f"| — | {measured:.4f} |" in DOCS.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def other(documents: list[Chunk]) -> Callable[[str], dict[int, float]]:
    """Raw query text to scores by bm25s, which splits, stops and stems the raw documents itself."""
    import bm25s
    import snowballstemmer

    porter = snowballstemmer.stemmer("porter")
    # Words of letters and digits, as ours; its default drops words of one letter. Porter stems `s` to nothing.
    stop = sorted({*LUCENE_ENGLISH_33, "s"})
    split = {"token_pattern": r"(?u)[^\W_]+", "stopwords": stop, "stemmer": porter.stemWords}
    index = bm25s.BM25(method="lucene", k1=K1, b=B, dtype="float64")
    index.index(bm25s.tokenize([c.text for c in documents], show_progress=False, **split), show_progress=False)
    ids = [c.id for c in documents]

    def scores(text: str) -> dict[int, float]:
        (terms,) = bm25s.tokenize([text], return_ids=False, show_progress=False, **split)
        # It leaves out the constant factor k1 + 1, as Lucene has since version 8.
        return dict(zip(ids, (index.get_scores(terms) * (K1 + 1)).tolist(), strict=True))

    return scores


def test_bm25s_over_the_raw_text_gives_the_same_scores(
    catalog: Catalog, documents: list[Chunk], other: Callable[[str], dict[int, float]],
    shared_data: Callable[[str], Path],
) -> None:
    texts = [q["text"] for q in lines(shared_data("scifact-beir") / "queries.jsonl") if q["text"].isascii()][:30]
    # Texts with letters that our words fold and its do not move the mean length by a little, and are left out.
    plain = {c.id for c in documents if c.text.isascii()}
    for text in ["world world peace", "cell cells cell therapy", *texts]:
        scores = other(text)
        best = [(i, s) for i, s in catalog.bm25_top(TOKENIZER.terms(text), {}, 100, K1, B) if i in plain]
        assert len(best) > 40
        assert [scores[i] for i, _ in best] == pytest.approx([s for _, s in best], rel=2e-3)
    assert any(len(terms := TOKENIZER.terms(text)) > len(set(terms)) for text in texts)
