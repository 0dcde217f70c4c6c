"""Judged collections with both legs of every query, and which fusion is better on them (B11)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from records.notes_search.subjects import Remembering
from records.subjects import JUDGED, full_size, judged
from workbench.analysis.evaluate.comparison import Comparison, compare
from workbench.analysis.evaluate.judged import Judged
from workbench.analysis.evaluate.metrics import DEPTH
from workbench.analysis.evaluate.query_sets import query_set
from workbench.analysis.evaluate.significance import holm
from workbench.analysis.ledger.run import Run
from workbench.analysis.ledger.verdict import INCONCLUSIVE, NOT_MEASURABLE, Measured, returns
from workbench.retrieval.fusions import max_min, rrf
from workbench.retrieval.notes.duckdb import DuckNotes, Key, fuse
from workbench.retrieval.notes.model import K_CAP, Ask
from workbench.retrieval.notes.search import Notes, typed
from workbench.retrieval.search import Collection
from workbench.types import Query

METRICS = ("nDCG@10", "R@100", "RR", "Success@8")
ALPHA = 0.05
"""Of the paired test on nDCG@10, the metric that decides, corrected for the number of sets."""
THINNED = 4
"""Every so manieth query is asked for a quick look."""
SQL_CHECKS = 20
"""Every so manieth query is also fused by the statement."""
FUSIONS = {"max_min": max_min(), "rrf": rrf()}


@dataclass(frozen=True, slots=True)
class Legs:
    """One query's rows by document: (share of the best full-text score, cosine), None where a leg lacks it."""

    shares: Mapping[Key, tuple[float | None, float | None]]


@dataclass(frozen=True, slots=True)
class Trial:
    """A judged collection with both legs of every query."""

    name: str
    collection: Collection
    judged: Judged
    legs: Mapping[str, Legs]
    sql_agrees: bool


def trials(run: Run) -> tuple[dict[str, Trial], list[str]]:
    """One trial for each judged collection that is there, and why the others are not; made once a run."""

    def make() -> tuple[dict[str, Trial], list[str]]:
        found, absent = {}, []
        for archive in JUDGED:
            collection = judged(run, archive)
            if isinstance(collection, str):
                absent.append(collection)
            else:
                found[archive] = _trial(run, archive, collection)
        return found, absent

    return run.once("notes trials", make)


def _trial(run: Run, name: str, collection: Collection) -> Trial:
    catalog = collection.stores.catalog
    judged_set = query_set(collection).judged
    if not full_size(run):
        judged_set = judged_set.only(judged_set.ids[::THINNED])
    ids = catalog.ids_where()
    entity = dict(zip(ids, catalog.entities(ids), strict=True))
    legs, agrees = {}, True
    with Notes(
        DuckNotes.open(Path(catalog.path)), Remembering(collection.stores.embedder)
    ) as notes:
        for number, query in enumerate(judged_set.queries):
            legs[query.id] = Legs(_shares(notes, query.text, entity))
            if number % SQL_CHECKS == 0:
                agrees &= all(
                    _by_statement(notes, query.text, f) == fuse(legs[query.id].shares, f)[:DEPTH]
                    for f in FUSIONS.values()
                )
    return Trial(name, collection, judged_set, legs, agrees)


def _ask(notes: Notes, text: str, **more: Any) -> Ask:
    text = Query(text).normalised
    vector = notes.embedder.embed_query(text) if text else None
    return Ask(
        tuple(notes.engine.tokenizer.terms(text)),
        vector,
        typed({}),
        K_CAP,
        K_CAP,
        0,
        DEPTH - 1,
        **more,
    )


def _by_statement(notes: Notes, text: str, fusion: Any) -> list[tuple[Key, float]]:
    return [
        ((r.type, r.id), r.score)
        for r in notes.engine.ranked(_ask(notes, text, fusion=fusion)).rows
    ]


def _shares(
    notes: Notes, text: str, entity: Mapping[Any, str]
) -> dict[Key, tuple[float | None, float | None]]:
    fts, vec = notes.engine.legs(_ask(notes, text))
    top = fts[0].score if fts else 1.0
    shares: dict[Key, list[float | None]] = {}
    for place, leg in enumerate((fts, vec)):
        for row in leg:
            value = row.score / top if place == 0 else max(row.score, 0.0)
            share = shares.setdefault(("entity", entity[row.point_id]), [None, None])
            share[place] = value if share[place] is None else max(share[place], value)
    return {key: (s[0], s[1]) for key, s in shares.items()}


@returns("better", "by_set", "decided", "statement_agrees")
def which_fusion(run: Run) -> Measured:
    """B11: RRF less max + 0.3 × min on every judged set, with interval, paired test and what the set resolves."""
    found, absent = trials(run)
    if not found:
        return Measured(None, "judged collections", verdict=NOT_MEASURABLE, note="; ".join(absent))
    value: dict[str, Any] = {}
    primary, sentences = [], []
    for name, trial in found.items():
        comparison = compared(run, trial)
        rows = {m: comparison.pair("max_min", "rrf", m) for m in METRICS}
        value[name] = {
            m: {
                k: rounded(r[k])
                for k in ("value_a", "value_b", "difference", "low", "high", "p", "n", "resolution")
            }
            for m, r in rows.items()
        }
        primary.append(rows["nDCG@10"])
        sentences.append(comparison.sentence("max_min", "rrf", "nDCG@10") + f" ({name}).")
    signs = {
        sign_of(row) if p < ALPHA else 0
        for row, p in zip(primary, holm([r["p"] for r in primary]), strict=True)
    }
    decided = len(signs) == 1 and signs != {0}
    better = {1: "rrf", -1: "max_min"}.get(next(iter(signs))) if decided else None
    told = " ".join(
        [
            *sentences,
            *absent,
            "Both are the one statement's: the rankings above are fused in Python and held against it on "
            f"every {SQL_CHECKS}th query.",
        ]
    )
    return Measured(
        {
            **({"decided": True} if decided else {}),
            "better": better,
            "statement_agrees": all(t.sql_agrees for t in found.values()),
            "by_set": value,
        },
        where(found),
        told
        if decided
        else told
        + " The sets do not agree on one: judged queries of one's own notes would decide.",
        verdict=None if decided else INCONCLUSIVE,
    )


def compared(run: Run, trial: Trial) -> Comparison:
    """Both fusions and each leg alone over the trial's queries."""

    def make() -> Comparison:
        runs = {
            name: {q: _ids(fuse(legs.shares, f)) for q, legs in trial.legs.items()}
            for name, f in FUSIONS.items()
        }
        for place, leg in enumerate(("full text alone", "vectors alone")):
            runs[leg] = {
                q: _ids(
                    fuse(
                        {
                            k: _only(s, place)
                            for k, s in legs.shares.items()
                            if s[place] is not None
                        },
                        max_min(),
                    )
                )
                for q, legs in trial.legs.items()
            }
        pairs = [("max_min", "rrf"), ("vectors alone", "max_min"), ("full text alone", "max_min")]
        return compare(runs, trial.judged, METRICS, seed=run.seed, pairs=pairs)

    return run.once(("notes comparison", trial.name), make)


def _only(
    share: tuple[float | None, float | None], place: int
) -> tuple[float | None, float | None]:
    return (share[0], None) if place == 0 else (None, share[1])


def _ids(ranking: list[tuple[Key, float]]) -> tuple[str, ...]:
    return tuple(i for (_, i), _ in ranking[:DEPTH])


def sign_of(row: Mapping[str, Any]) -> int:
    if row["low"] is None or row["low"] <= 0 <= row["high"]:
        return 0
    return 1 if row["difference"] > 0 else -1


def where(found: Mapping[str, Trial]) -> str:
    return "; ".join(
        f"{n}, {len(t.judged.ids)} queries, {t.collection.stores.catalog.n:,} chunks"
        for n, t in found.items()
    )


def rounded(value: Any) -> Any:
    return round(value, 4) if isinstance(value, float) else value
