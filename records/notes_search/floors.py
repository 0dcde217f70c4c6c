"""A weak-match floor: wrong rows refused against right ones lost, rule by rule (B14)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from records.notes_search.judged import Legs, Trial, trials, where
from workbench.analysis.ledger.run import Run
from workbench.analysis.ledger.verdict import NOT_MEASURABLE, Measured, returns
from workbench.retrieval.fusions import MAX_MIN_BONUS

FLOORS = tuple(round(0.4 + 0.025 * n, 3) for n in range(21))
RULES = ("every", "unsupported", "alone", "whole search")
"""The floor on every chunk of the vector leg; on rows that full text does not support; where full text finds nothing; and, for
comparison, on the best cosine of the search, below which nothing is returned."""
PAGE = 8
LOST_AT_MOST, REFUSED_AT_LEAST = 0.05, 0.5


@returns("a_floor_refuses_half_and_loses_5_percent", "by_set")
def floor_sweep(run: Run) -> Measured:
    """B14: each rule at each floor: right answers lost, and answers refused where the relevant documents were taken out."""
    found, absent = trials(run)
    if not found:
        return Measured(None, "judged collections", verdict=NOT_MEASURABLE, note="; ".join(absent))
    rows, value, overlap = [], {}, []
    for name, trial in found.items():
        queries = _rows(trial)
        swept = [_swept(queries, rule, floor) for rule in RULES for floor in FLOORS]
        rows += [{"set": name, **r} for r in swept]
        fit = [r for r in swept if r["right_lost"] <= LOST_AT_MOST]
        value[name] = {
            "best": {
                rule: max(
                    (r for r in fit if r["rule"] == rule),
                    key=lambda r: (r["wrong_refused"], -r["floor"]),
                    default=None,
                )
                for rule in RULES
            },
            "cosines": _cosines(trial),
            "full_text_finds_nothing": round(
                np.mean([_no_lexical(legs) for legs in trial.legs.values()]).item(), 4
            ),
        }
        overlap += _overlap(trial)
    stated = ("unsupported", "alone")
    works = {
        n: any(v["best"][r] and v["best"][r]["wrong_refused"] >= REFUSED_AT_LEAST for r in stated)
        for n, v in value.items()
    }
    return Measured(
        {"a_floor_refuses_half_and_loses_5_percent": all(works.values()), "by_set": value},
        where(found),
        " ".join(
            [
                f"Refused: of queries whose relevant documents were taken out, the share of wrong rows that left the first {PAGE}. Lost: of queries "
                "whose right answer stood there, the share where it no longer does. Full text of any term nearly always finds something, so the rule "
                "for where it finds nothing is hardly ever asked; the nearest irrelevant and the relevant cosines overlap.",
                *absent,
            ]
        ),
        data={"sweep": rows, "overlap": overlap},
    )


def _no_lexical(legs: Legs) -> bool:
    return all(s[0] is None for s in legs.shares.values())


@dataclass(frozen=True, slots=True)
class _Rows:
    """One query's rows in the order of their keys: full-text share and cosine (NaN where a leg lacks the row), and
    whether each is relevant."""

    lexical: np.ndarray
    cosine: np.ndarray
    relevant: np.ndarray

    @classmethod
    def of(cls, legs: Legs, relevant: Collection[str]) -> _Rows:
        keys = sorted(legs.shares)
        pairs = np.asarray([legs.shares[k] for k in keys], dtype=float).reshape(len(keys), 2)
        return cls(
            pairs[:, 0], pairs[:, 1], np.asarray([i in relevant for _, i in keys], dtype=bool)
        )

    def only(self, kept: np.ndarray) -> _Rows:
        return _Rows(self.lexical[kept], self.cosine[kept], self.relevant[kept])

    def first(self, admitted: np.ndarray, cosine: np.ndarray) -> np.ndarray:
        """The first PAGE admitted rows by max + 0.3 × min, ties by key."""
        f, v = np.nan_to_num(self.lexical), np.nan_to_num(cosine)
        score = np.where(admitted, np.maximum(f, v) + MAX_MIN_BONUS * np.minimum(f, v), -np.inf)
        order = np.argsort(-score, kind="stable")[:PAGE]
        return order[admitted[order]]

    def floored(self, rule: str, floor: float) -> tuple[np.ndarray, np.ndarray]:
        """(which rows a rule lets pass, the cosines that it leaves them)."""
        near, held = self.cosine >= floor, ~np.isnan(self.lexical)
        everything = np.ones(len(held), bool)
        if rule == "every":
            return near | held, np.where(near, self.cosine, np.nan)
        if rule == "whole search":
            return (everything if near.any() else ~everything), self.cosine
        if rule == "alone" and held.any():
            return everything, self.cosine
        return held | near, self.cosine


def _rows(trial: Trial) -> list[_Rows]:
    return [
        _Rows.of(legs, {d for d, g in trial.judged.grades[q].items() if g > 0})
        for q, legs in trial.legs.items()
    ]


def _swept(queries: list[_Rows], rule: str, floor: float) -> dict[str, Any]:
    kept = had = wrong = refused = 0
    for rows in queries:
        before = rows.first(np.ones(len(rows.relevant), bool), rows.cosine)
        if rows.relevant[before].any():
            had += 1
            kept += bool(rows.relevant[rows.first(*rows.floored(rule, floor))].any())
        rest = rows.only(~rows.relevant)
        shown = rest.first(np.ones(len(rest.relevant), bool), rest.cosine)
        wrong += len(shown)
        refused += int((~rest.floored(rule, floor)[0][shown]).sum())
    return {
        "rule": rule,
        "floor": floor,
        "right_lost": round(1 - kept / had, 4),
        "wrong_refused": round(refused / wrong, 4),
    }


def _cosines(trial: Trial) -> dict[str, float]:
    """Medians of the best relevant and the best irrelevant cosine, and the chance that the relevant one is larger."""
    pairs = [(r["relevant"], r["irrelevant"]) for r in _best_cosines(trial)]
    return {
        "relevant": round(median(r for r, _ in pairs), 4),
        "irrelevant": round(median(i for _, i in pairs), 4),
        "relevant_is_nearer": round(sum(r > i for r, i in pairs) / len(pairs), 4),
    }


def _best_cosines(trial: Trial) -> list[dict[str, float]]:
    rows = []
    for query, legs in trial.legs.items():
        relevant = {("entity", d) for d, g in trial.judged.grades[query].items() if g > 0}
        near = [v for k, (_, v) in legs.shares.items() if k in relevant and v is not None]
        far = [v for k, (_, v) in legs.shares.items() if k not in relevant and v is not None]
        if near and far:
            rows.append({"relevant": max(near), "irrelevant": max(far)})
    return rows


def _overlap(trial: Trial) -> list[dict[str, Any]]:
    """Counts of the best relevant and irrelevant cosines by bins of 0.02."""
    edges = np.arange(0.3, 1.0001, 0.02)
    out = []
    for kind in ("relevant", "irrelevant"):
        counts, _ = np.histogram([r[kind] for r in _best_cosines(trial)], edges)
        out += [
            {
                "set": trial.name,
                "kind": kind,
                "cosine": round(float(e) + 0.01, 2),
                "queries": int(n),
            }
            for e, n in zip(edges, counts, strict=False)
        ]
    return out
