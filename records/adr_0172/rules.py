"""ADR 0172's rules shown by cases: what its tests hold, and what it leaves open (A17, A18, A19, A24)."""

from __future__ import annotations

from typing import Any

from records.adr_0172.incident import TITLE
from records.subjects import Incident, incident
from workbench.analysis.run import Run
from workbench.analysis.verdict import Measured, returns
from workbench.retrieval.fusions import rrf
from workbench.retrieval.variant import variant
from workbench.types import Query, Ranking

STORAGE_TEST_CAP = 8
"""The record's storage test: 30 memories, a candidate cap of 8 (Validation)."""

FIRST = 8


@returns("fusion_after", "fusion_before", "storage_after", "storage_before")
def storage_and_fusion_test(run: Run) -> Measured:
    """A17: the record's two tests, run on both variants: they fail before and pass after."""
    at = incident(run, "adr-0172-small")
    storage = {}
    for name in ("adr_0005", "adr_0172"):
        result = at.search(TITLE, variant(name, cap=STORAGE_TEST_CAP), limit=FIRST)
        storage[name] = at.target in result.evidence["lexical"].ids
    return Measured(
        {"storage_before": storage["adr_0005"], "storage_after": storage["adr_0172"], **_fusion_test()},
        at.where,
        "Storage: is the meeting, last by point id, among at most 8 candidates. Fusion: first in the lexical and the "
        "verbatim list and absent from the semantic one, is it in the first eight.",
    )  # fmt: skip


def _fusion_test() -> dict[str, bool]:
    """A row that is first in the lexical list only, against rows that stand in both lists."""
    both = tuple(range(1, 41))
    lexical = Ranking("lexical", (0, *both), tuple(float(50 - i) for i in range(41)))
    semantic = Ranking("semantic", both, tuple(1.0 - i / 100 for i in range(40)))
    phrase = Ranking("verbatim", (0,), (50.0,))
    before, after = rrf()([lexical, semantic]).ranking, rrf()([lexical, semantic, phrase]).ranking
    return {"fusion_before": 0 in before.ids[:FIRST], "fusion_after": 0 in after.ids[:FIRST]}


@returns("more_hold_every_term_than_the_cap", "target_among_candidates")
def all_common(run: Run) -> Measured:
    """A18: more points hold every term than the cap reads, and the meeting is last among them by id: it is lost."""
    at = incident(run, "adr-0172-all-common")
    result = at.search(TITLE, variant("adr_0172", cap=at.spec.limits.lexical), limit=50)
    candidates = result.evidence["lexical"]
    every = [p.id for p in at.collection.stores.points.scroll(result.evidence["terms"], "all", {}, at.collection.stores.catalog.n, fields=())]
    return Measured(
        {"target_among_candidates": at.target in candidates.ids, "more_hold_every_term_than_the_cap": len(every) > candidates.cap},
        at.where, f"{len(every)} points hold every term; the cap reads {candidates.cap} of them by point id.",
        data={"holding": len(every), "cap": candidates.cap, "position": every.index(at.target) + 1},
    )  # fmt: skip


@returns("rankings_equal", "rows_in_third_lists")
def single_term(run: Run) -> Measured:
    """A19: a query of one term has no third list, so two lists and three give the same ranking."""
    at = incident(run)
    terms = at.collection.stores.tokenizer.query_terms(at.queries[TITLE].text)
    same = {}
    third = 0
    for term in terms:
        with_third, without = (at.search(Query(term), v) for v in ("adr_0172", "two_lists"))
        same[term] = with_third.fused == without.fused
        third += len(next(r for r in with_third.lists if r.name == "verbatim"))
    return Measured({"rankings_equal": all(same.values()), "rows_in_third_lists": third}, at.where, f"terms: {', '.join(terms)}")


@returns("all_hold", "checked")
def meaning_kept(run: Run) -> Measured:
    """A24: semantic mode is the same; lexical mode differs by the candidate order alone; filters and scores mean the same."""
    at = incident(run)
    checks: dict[str, bool] = {}
    for label, filters in _filters(at).items():
        text = at.queries[TITLE].text
        semantic, lexical, hybrid = (
            [at.search(Query(text, filters, mode=mode), v) for v in ("adr_0005", "adr_0172")]
            for mode in ("semantic", "lexical", "hybrid")
        )
        checks[f"{label}: semantic mode equal"] = semantic[0].fused == semantic[1].fused
        checks[f"{label}: scores of shared lexical rows equal"] = _shared_scores_equal(*lexical)
        checks[f"{label}: filters hold"] = all(_admitted(at, r, filters) for r in (*semantic, *lexical, *hybrid))
        checks[f"{label}: match types are list membership"] = all(_match_types_hold(r) for r in hybrid)
    return Measured(
        {"all_hold": all(checks.values()), "checked": len(checks)}, at.where,
        "Failed: " + ", ".join(n for n, ok in checks.items() if not ok) if not all(checks.values()) else "",
    )  # fmt: skip


def _filters(at: Incident) -> dict[str, dict[str, Any]]:
    own = at.spec.target.project
    other = next(p for p in at.spec.filler.projects if p != own)
    return {"no filter": {}, "its project": {"project": own}, "another project": {"project": other},
            "two projects": {"project": [own, other]}, "source type": {"source_type": "entity"}}  # fmt: skip


def _shared_scores_equal(a: Any, b: Any) -> bool:
    first, second = (dict(zip(r.fused.ids, r.fused.scores, strict=True)) for r in (a, b))
    return all(first[i] == second[i] for i in first.keys() & second.keys())


def _admitted(at: Incident, result: Any, filters: dict[str, Any]) -> bool:
    wanted = filters.get("project")
    allowed = None if wanted is None else set(wanted if isinstance(wanted, list) else [wanted])
    return allowed is None or all(c.facets.project in allowed for c in at.of(result.fused.ids))


def _match_types_hold(result: Any) -> bool:
    members = {r.name: set(r.ids) for r in result.lists}
    return all(h.match == tuple(n for n in ("lexical", "semantic") if h.id in members[n]) for h in result.hits)
