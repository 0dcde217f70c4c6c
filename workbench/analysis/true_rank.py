"""True ranks: where a target stands in an order of which a list holds only the beginning.

Each is found by exact queries made for an explanation; nothing of the result is computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from workbench.registry import Stage
from workbench.retrieval.context import Context
from workbench.retrieval.search import Collection, scope
from workbench.types import PointId, Query

# An order without a rank query is read from its beginning, each time so many times as deep, until it holds the
# target: most targets stand near a limit, and few readings are made of a whole collection.
_FIRST_DEPTH, _DEEPER = 4096, 16

# Policy to (points with all terms first, the sign of a term's count in the order of terms; 0 reads any term at once).
_READINGS = {
    "any_term": (False, 0), "all_terms_then_by_id": (True, 0), "all_terms_then_rarest": (True, 1),
    "all_terms_then_commonest": (True, -1), "rarest_first": (False, 1),
}  # fmt: skip


class TrueRank(NamedTuple):
    """1-based, None where the order never comes to the target; its score where the order is one of scores."""

    rank: int | None
    score: float | None = None


def lexical_rank(
    collection: Collection, query: Query, channel: Stage, terms: Sequence[str], target: PointId,
    counts: Mapping[str, int] = MappingProxyType({}),
) -> TrueRank:  # fmt: skip
    """The target's place in the order that a lexical channel's cap or limit cuts: its policy's reading, or BM25.

    `counts` are those that the reading was ordered by, where it made any.
    """
    catalog, policy = collection.stores.catalog, channel.get("policy")
    if not terms:
        return TrueRank(None)
    asked = Context(collection.stores).terms(query, repeats=True)
    if channel.name == "lexical_bm25":
        return TrueRank(*catalog.bm25_rank(asked, target, query.filters, channel["k1"], channel["b"]))
    if policy is not None and policy.name == "by_bm25":
        return TrueRank(*catalog.bm25_rank(asked, target, query.filters))
    if policy is not None and policy.name in _READINGS:
        return TrueRank(_in_reading(collection, query, policy, terms, target, counts))
    if policy is not None:
        return TrueRank(_deepened(collection, target, lambda depth: _read(collection, query, policy, terms, depth)))
    # Any other channel is asked for more of its own list, ids alone.
    scores: dict[PointId, float] = {}

    def ranked(depth: int) -> Sequence[PointId]:
        found = channel.replace(limit=depth)(query, Context(collection.stores, scope(query), fields=()))
        scores.update(zip(found.ids, found.scores, strict=True))
        return found.ids

    return TrueRank(_deepened(collection, target, ranked), scores.get(target))


def semantic_rank(collection: Collection, query: Query, target: PointId, model: str = "") -> TrueRank:
    """The target's exact place among all that the filters admit, by cosine and by one of the collection's models; None
    for a query without a character."""
    stores = collection.stores
    vector = Context(stores, scope(query)).vector(query, model)
    if vector is None:
        return TrueRank(None)
    space = {"space": stores.space(model)[1]} if model else {}
    return TrueRank(*stores.catalog.true_rank(vector, target, query.filters, **space))


def _in_reading(
    collection: Collection, query: Query, policy: Stage, terms: Sequence[str], target: PointId, counts: Mapping[str, int]
) -> int | None:
    """One exact query for the place in a reading that goes by all terms, any term, or term by term."""
    all_first, sign = _READINGS[policy.name]
    catalog, distinct = collection.stores.catalog, list(dict.fromkeys(terms))
    ordered = distinct
    if sign:
        if not counts:
            counts = catalog.df(distinct, query.filters)
            if counted := policy.get("counted"):
                df = catalog.df(distinct)
                counts = {t: counts[t] for t in sorted(distinct, key=lambda t: (df[t], distinct.index(t)))[:counted]}
        chosen = [t for t in distinct if t in counts]
        ordered = sorted(chosen, key=lambda t: (sign * counts[t], distinct.index(t))) + [t for t in distinct if t not in counts]
    return catalog.reading_place(target, ordered, query.filters, all_first=all_first and len(distinct) > 1, by_term=bool(sign))


def _read(collection: Collection, query: Query, policy: Stage, terms: Sequence[str], cap: int) -> Sequence[PointId]:
    return policy.replace(cap=cap)(query, Context(collection.stores, scope(query), fields=()), terms).ids


def _deepened(
    collection: Collection, target: PointId, read: Callable[[int], Sequence[PointId]]
) -> int | None:
    everything, depth = max(collection.stores.catalog.n, 1), _FIRST_DEPTH
    while True:
        depth = min(depth, everything)
        ids = read(depth)
        if target in ids:
            return ids.index(target) + 1
        if depth == everything or len(ids) < depth:
            return None
        depth *= _DEEPER
