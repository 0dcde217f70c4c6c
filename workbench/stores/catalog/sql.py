"""The catalog's scoring statements. Each is a SELECT of (cid, score) that a larger statement can stand on.

BM25 as Lucene has it: idf = ln(1 + (N - df + 0.5) / (df + 0.5)); a term adds
idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * dl / avgdl)); df is over the whole corpus, whatever is admitted.
A term adds that as often as the query repeats it.
BM25F is Robertson's simple one: a term's tf are divided by the field's length norm, weighted and added over
the fields, and saturated once (Robertson, Zaragoza and Taylor, CIKM 2004); its df counts chunks with the term
in either field.

A sum of doubles depends on the order in which threads add, so each term's share is rounded to a multiple of
2^-48 and summed as an integer: equal postings have equal scores, to the last bit, on any number of threads.
The rounding is 1.8e-15 a term.
"""

from __future__ import annotations

from workbench.errors import BadParameter

K1, B = 1.2, 0.75
"""Lucene's defaults (BM25Similarity)."""
K1_MAX = 1000.0
"""With it a share is below 22.2 * 1001 * 2^48 < 2^63, the integer's range (N < 2^31 as cids are 32 bits); the count
of a repeated term is multiplied in 128 bits."""
_STEP = float(2**48)

ADMIT_CIDS = "SEMI JOIN (SELECT unnest($cids::INTEGER[]) AS cid) admitted USING (cid)"
"""Only these rows. `cid IN (1, 2, …)` would read whole columns; a join reads what it needs."""

_WANTED = "term IN (SELECT unnest($terms::VARCHAR[]))"
_COUNTED = "(SELECT term, count(*)::HUGEINT AS times FROM (SELECT unnest($terms::VARCHAR[]) AS term) GROUP BY term)"
"""The distinct terms, each with how often the query repeats it."""
_FIELDS = (
    ("text_weight", "b", "posting", "avgdl"),
    ("title_weight", "title_b", "title_posting", "title_avgdl"),
)


def admit(where: str, facet: str = "chunk") -> str:
    """Only the chunks that a predicate over `facet` admits; "" admits all and joins nothing."""
    # A cid stands once there, so this keeps what a semi-join does; where most are admitted it takes two thirds of its time.
    return f"JOIN (SELECT cid FROM {facet} WHERE {where}) admitted USING (cid)" if where else ""


def _idf(df: str) -> str:
    return f"ln(1e0 + (n - {df} + 0.5e0) / ({df} + 0.5e0))"


def _norm(b: str, avgdl: str) -> str:
    return f"(1e0 - ${b}::DOUBLE + ${b}::DOUBLE * dl / {avgdl})"


def _share(norm: str) -> str:
    return f"idf * tf * ($k1::DOUBLE + 1e0) / (tf + $k1::DOUBLE * {norm})"


def _exact_sum(share: str) -> str:
    return f"sum(({share} * {_STEP!r}e0)::BIGINT * times)::DOUBLE / {_STEP!r}e0"


def bm25_scores(admitted: str = "", of: str = "") -> str:
    """BM25 of every admitted chunk that holds a term. Parameters: terms (repeats count), k1, b.

    `of` is put before the names of the tables, where another file attached beside the catalog holds postings.
    """
    share = _share(_norm("b", "avgdl"))
    return (
        # The corpus' one row comes in here: each scalar subquery beside the postings took a fifth of a millisecond to plan.
        f"WITH wanted AS MATERIALIZED (SELECT term_id, {_idf('df')} AS idf, avgdl, times"
        f" FROM {_COUNTED} JOIN {of}dict USING (term), {of}corpus)"
        f" SELECT cid, {_exact_sum(share)} AS score FROM {of}posting JOIN wanted USING (term_id) {admitted}"
        " GROUP BY cid"
    )


def bm25_fields_scores(admitted: str = "") -> str:
    """BM25F of every admitted chunk that holds a term in a field of weight above 0.

    Parameters: terms (repeats count), k1, b, title_b, text_weight, title_weight.
    """
    fields = " UNION ALL ".join(
        f"SELECT cid, term_id, ${weight}::DOUBLE * tf / {_norm(b, avgdl)} AS tf"
        f" FROM {table} JOIN wanted USING (term_id) {admitted} WHERE ${weight}::DOUBLE > 0e0"
        for weight, b, table, avgdl in _FIELDS
    )
    share = _share("1e0")
    return (
        f"WITH wanted AS MATERIALIZED (SELECT term_id, {_idf('either_df')} AS idf, avgdl, title_avgdl, times"
        f" FROM {_COUNTED} JOIN dict USING (term), corpus),"
        # Two addends at the most, and a sum of two does not depend on their order.
        f" held AS (SELECT cid, term_id, sum(tf) AS tf FROM ({fields}) GROUP BY cid, term_id)"
        f" SELECT cid, {_exact_sum(share)} AS score FROM held JOIN wanted USING (term_id) GROUP BY cid"
    )


def vector_table(space: str = "") -> str:
    """The table of a space's vectors: each has its own, so that no statement reads two."""
    return f"vector_{space}" if space else "vector"


def cosine_scores(dim: int, admitted: str = "", space: str = "") -> str:
    """The exact cosine (FLOAT) of every admitted chunk: both sides are of unit length. Parameter: vector."""
    return f"SELECT cid, array_inner_product(embedding, $vector::FLOAT[{dim}]) AS score FROM {vector_table(space)} {admitted}"


def holders(admitted: str = "") -> str:
    """The cids of admitted chunks that hold at least $need of the distinct terms. Parameters: terms, need."""
    return (
        f"SELECT cid FROM posting SEMI JOIN (SELECT term_id FROM dict WHERE {_WANTED}) wanted USING (term_id)"
        f" {admitted} GROUP BY cid HAVING count(*) >= $need::BIGINT"
    )


def reading(admitted: str = "") -> str:
    """(cid, step) of every admitted chunk that holds a term: the first step of a reading that comes to it.

    Step -1 are the chunks that hold all $need terms, where $all_first; else a term's step is its place in $terms,
    and with not $by_term all are step 0.
    """
    return (
        "WITH wanted AS MATERIALIZED (SELECT term_id, CASE WHEN $by_term::BOOLEAN THEN place ELSE 0 END AS place FROM dict"
        " JOIN (SELECT unnest($terms::VARCHAR[]) AS term, unnest(range(len($terms::VARCHAR[]))) AS place) USING (term))"
        " SELECT cid, CASE WHEN $all_first::BOOLEAN AND count(*) = $need::BIGINT THEN -1 ELSE min(place) END AS step"
        f" FROM posting JOIN wanted USING (term_id) {admitted} GROUP BY cid"
    )


def place_in_reading(reading: str) -> str:
    """The 1-based place of the row $cid in a reading: by step, then by cid; no row where it is not in it."""
    return (
        f"WITH read AS MATERIALIZED ({reading}), own AS (SELECT step FROM read WHERE cid = $cid::INTEGER)"
        " SELECT count(*) FROM read, own WHERE read.step < own.step OR (read.step = own.step AND cid <= $cid::INTEGER)"
        " HAVING count(*) > 0"
    )


def top(scores: str) -> str:
    """The $limit best: score descending, then cid ascending."""
    return f"SELECT cid, score FROM ({scores}) ORDER BY score DESC, cid LIMIT $limit::BIGINT"


def place(scores: str) -> str:
    """(is it among them, 1-based rank) of the row $cid with the score $mine: ties by cid ascending."""
    return (
        "SELECT coalesce(bool_or(cid = $cid::INTEGER), false),"
        " 1 + count(*) FILTER (WHERE score > $mine OR (score = $mine AND cid < $cid::INTEGER))"
        f" FROM ({scores})"
    )


def check_bm25(k1: float, *bs: float) -> None:
    """Raises BadParameter unless 0 <= k1 <= K1_MAX and every b is in 0 … 1."""
    if not 0 <= k1 <= K1_MAX:
        raise BadParameter(f"k1 is {k1}", do=f"Use 0 to {K1_MAX:g}")
    for b in bs:
        if not 0 <= b <= 1:
            raise BadParameter(f"b is {b}", do="Use 0 to 1")
