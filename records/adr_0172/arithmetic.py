"""ADR 0172 on paper: what follows from its own figures by a formula (A03, A06, A21)."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import log, log10

from workbench.analysis.run import Run
from workbench.analysis.verdict import INCONCLUSIVE, Measured, returns
from workbench.bm25 import idf, relative_length_for

N = 384_885
DF = {"meeting": 1_180, "2026": 34_395, "11": 34_860, "09": 18_735, "58": 11_300}
TARGET_SCORE, BEST_RETURNED_SCORE = 11.65, 4.73
"""The record's figures, as it states them (Context)."""

RRF_K = 60
PAPER = "arithmetic on the record's own figures"


@returns(
    "best_returned_length_in_averages",
    "idf_sum_base_10",
    "idf_sum_natural",
    "ln_n_over_df",
    "target_length_in_averages",
)
def lexical_scores(run: Run) -> Measured:
    """A03: no plain IDF sum gives 11.65; BM25 gives it and 4.73 at plausible lengths. A reading, not a proof."""
    target = {
        f"11 stands {times}×": round(
            relative_length_for(TARGET_SCORE, N, [(d, times if t == "11" else 1) for t, d in DF.items()]), 3
        )
        for times in (1, 2)
    }
    other = {
        " + ".join(held): round(length, 2)
        for size in (1, 2)
        for held in combinations(DF, size)
        if (length := relative_length_for(BEST_RETURNED_SCORE, N, [(DF[t], 1) for t in held])) and 1 <= length <= 1.7
    }
    value = {
        "idf_sum_natural": round(sum(idf(N, d) for d in DF.values()), 2),
        "idf_sum_base_10": round(sum(log10(N / d) for d in DF.values()), 2),
        "ln_n_over_df": round(sum(log(N / d) for d in DF.values()), 2),
        "target_length_in_averages": target, "best_returned_length_in_averages": other,
    }  # fmt: skip
    return Measured(
        value, PAPER, verdict=INCONCLUSIVE,
        note="idf sum: the idf of the title's five terms added up, by natural logarithm and to base 10. The record states no formula. Okapi BM25 (k1 1.2, b 0.75, corpus-wide frequencies) gives 11.65 when the "
        f"chunk is {target['11 stands 1×']} or {target['11 stands 2×']} average lengths long, and 4.73 in "
        f"{len(other)} readings between 1 and 1.7: an inference. The source's scoring function would decide it.",
    )  # fmt: skip


@returns(
    "first_in_one_list",
    "last_rank_in_both_that_beats_it",
    "nearest_pair",
    "rank_pairs_that_round_to_0.0199",
)
def fusion_arithmetic(run: Run) -> Measured:
    """A06: which ranks in two lists beat a single first place, and which rank pairs round to 0.0199."""
    single = Fraction(1, RRF_K + 1)
    last = max(r for r in range(1, 1000) if Fraction(2, RRF_K + r) > single)
    pairs = [
        (a, b) for a in range(1, 257) for b in range(a, 257)
        if round(float(Fraction(1, RRF_K + a) + Fraction(1, RRF_K + b)), 4) == 0.0199
    ]  # fmt: skip
    return Measured(
        {"first_in_one_list": round(float(single), 4), "last_rank_in_both_that_beats_it": last,
         "rank_pairs_that_round_to_0.0199": len(pairs), "nearest_pair": list(min(pairs, key=lambda p: p[1] - p[0]))},
        PAPER,
        note=f"2/(60+r) > 1/61 exactly for r ≤ {last}: \"about 60\" is {last}. 0.0199 has {len(pairs)} rank pairs "
        f"within 256, from {pairs[0]} to {pairs[-1]}.",
        data={"pairs": pairs},
    )  # fmt: skip


def counts_share_on_paper(low_ms: float, high_ms: float, search_s: float, terms: int) -> dict[str, float]:
    """The share of `terms` counts of low…high milliseconds in a search of `search_s` seconds."""
    return {"low": round(terms * low_ms / 1e3 / search_s, 4), "high": round(terms * high_ms / 1e3 / search_s, 4)}
