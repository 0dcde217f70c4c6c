"""What ADR 0172 costs, and what the cap hides (A11, A12, A21, A23)."""

from __future__ import annotations

import time
from statistics import median
from typing import Any

from records.adr_0172.arithmetic import counts_share_on_paper
from records.adr_0172.incident import SECOND, TITLE
from records.subjects import Incident, incident
from workbench.analysis.run import Run
from workbench.analysis.verdict import Measured, returns
from workbench.retrieval.variant import variant
from workbench.types import Query, Result

REPEATS = 15
CAPS = tuple(64 * 2**i for i in range(11))
FOUND_AT_LEAST = 0.95


@returns({"after_over_before": ["notes", "title"]}, "median_ms", "share_of_counts")
def time_before_and_after(run: Run) -> Measured:
    """A11: seconds of a search after over before, interleaved in one run, and the share of the counts in it."""
    at = incident(run)
    ratios, shares, milliseconds = {}, {}, {}
    for name in (TITLE, SECOND):
        seconds: dict[str, list[float]] = {"adr_0005": [], "adr_0172": []}
        counting: list[float] = []
        for _ in range(REPEATS):
            for v in seconds:
                start = time.perf_counter()
                result = at.search(name, v)
                seconds[v].append(time.perf_counter() - start)
                if v == "adr_0172":
                    counting.append(_counting(result) / seconds[v][-1])
        ratios[name] = round(median(seconds["adr_0172"]) / median(seconds["adr_0005"]), 3)
        shares[name] = round(median(counting), 4)
        milliseconds[name] = {v: round(median(s) * 1e3, 1) for v, s in seconds.items()}
    return Measured(
        {"after_over_before": ratios, "share_of_counts": shares, "median_ms": milliseconds}, at.where, timing=True,
        note="The record's searches (2.1 s and 1.2 s) were dominated by other stages over loopback HTTP; here the "
        "engine is in the process, so the same extra calls are a larger part of a much shorter search.",
    )  # fmt: skip


@returns(
    "bytes_at_that_cap_over_bytes_at_256",
    "commonest_term",
    "found_from_cap",
    "points_with_any_term",
)
def cap_sweep(run: Run) -> Measured:
    """A12: with which cap ADR 0005's order reaches the meeting, and the payload read at each cap."""
    at = incident(run)
    terms = at.collection.stores.tokenizer.query_terms(at.queries[TITLE].text)
    union = at.collection.stores.points.count(terms, "any", {})
    rows = []
    for cap in [*(c for c in CAPS if c < union), union]:
        result = at.search(TITLE, variant("adr_0005", cap=cap))
        rows.append({
            "cap": cap, "found": at.target in result.evidence["lexical"].ids, "rank": result.rank_of(at.target),
            "payload_bytes": sum(s.bytes for s in result.calls("scroll")),
        })  # fmt: skip
    needed = _place_among_any_term(at, terms)
    common = max(at.collection.stores.catalog.df(terms).values())
    return Measured(
        {"points_with_any_term": union, "found_from_cap": needed, "commonest_term": common,
         "bytes_at_that_cap_over_bytes_at_256": round(_bytes_at(rows, needed) / _bytes_at(rows, 256), 1)},
        at.where,
        f"The choice is by point id up to the whole union of {union:,}, more than the record's {common:,} of its commonest term.",
        data=rows,
    )  # fmt: skip


@returns("embedded", "record", "record_share_high")
def counts_share(run: Run) -> Measured:
    """A21: the share of the counts on the record's figures, and in the embedded engine: exact, approximate, fewer."""
    at = incident(run)
    paper = {"5 terms, 2.1 s": counts_share_on_paper(12, 16, 2.1, 5), "7 terms, 1.2 s": counts_share_on_paper(12, 16, 1.2, 7),
             "8 terms, 1.2 s": counts_share_on_paper(12, 16, 1.2, 8)}  # fmt: skip
    embedded = {}
    for label, v in (("exact", "adr_0172"), ("approximate", "counts_approximate"), ("rarest three", "counts_rarest")):
        results = [at.search(SECOND, v) for _ in range(REPEATS)]
        embedded[label] = {"share": round(median(_counting(r) / r.seconds for r in results), 4),
                           "rank": results[0].rank_of(at.target)}  # fmt: skip
    return Measured(
        {"record": paper, "embedded": embedded, "record_share_high": paper["7 terms, 1.2 s"]["high"]},
        f"the record's figures; {at.where}", timing=True,
        note="On the record's figures 7 terms stay under a tenth and 8 can cross it. The embedded share is another "
        "engine's: shown, not compared. Parallel counts are NOT MEASURABLE HERE: they need a server.",
    )  # fmt: skip


@returns("found_at_full_size", "lost_for_half_from", "still_safe_to")
def size_curve(run: Run) -> Measured:
    """A23: from which collection size on the cap of 256 loses the meeting, exactly, for random smaller collections."""
    from scipy.stats import hypergeom

    at = incident(run)
    terms = at.collection.stores.tokenizer.query_terms(at.queries[TITLE].text)
    n = at.collection.stores.catalog.n
    before = _place_among_any_term(at, terms) - 1
    cap = at.spec.limits.lexical

    def found(size: int) -> float:
        # The meeting is read when fewer than `cap` any-term points of the sample stand before it by id.
        return float(hypergeom.cdf(cap - 1, n - 1, before, size - 1))

    sizes = sorted({int(round(n ** (i / 60))) for i in range(30, 61)} | {n})
    rows = [{"size": s, "found": found(s)} for s in sizes if s > 1]
    return Measured(
        {"found_at_full_size": found(n) > 0.5, "lost_for_half_from": _first_below(found, 0.5, n),
         "still_safe_to": _first_below(found, FOUND_AT_LEAST, n) - 1},
        at.where,
        f"Random subsets that keep the meeting: {before:,} points with any term stand before it by id, so the chance "
        "that fewer than 256 of them are drawn is hypergeometric, computed and not simulated. Lost for half from: the smallest "
        f"size at which half of the subsets lose it. Still safe to: the largest at which {FOUND_AT_LEAST:.0%} of them read it.",
        data=rows,
    )  # fmt: skip


def _counting(result: Result) -> float:
    return sum(s.seconds for s in result.calls("count"))


def _place_among_any_term(at: Incident, terms: list[str]) -> int:
    """The meeting's place, 1-based, among the points with any term in point-id order."""
    query = Query(" ".join(terms))
    points = at.collection.stores.points.scroll(terms, "any", query.filters, at.collection.stores.catalog.n, fields=())
    return next(place for place, p in enumerate(points, 1) if p.id == at.target)


def _bytes_at(rows: list[dict[str, Any]], cap: int) -> int:
    return next(r["payload_bytes"] for r in rows if r["cap"] >= cap)


def _first_below(found: Any, level: float, most: int) -> int:
    """The smallest size at which the chance falls below a level; `most` + 1 where it never does."""
    low, high = 2, most + 1
    if found(most) >= level:
        return high
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if found(middle) < level else (middle + 1, high)
    return low
