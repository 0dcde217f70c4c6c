"""Fusions as SQL over a row's full-text share `fs` and cosine `vs`, NULL where the leg lacks the row.

Each does the same double arithmetic in the same order as `fuse` does in Python, so both give the same bits.
DuckDB's and SQLite's scalar maximum differ in name and in what they do with NULL: `greatest` and `least` come in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from workbench.errors import BadParameter
from workbench.registry import Stage
from workbench.retrieval.notes.request import Key

Shares = Mapping[Key, tuple[float | None, float | None]]
"""Row to (full-text score over the best full-text score, cosine clamped at 0)."""


def fused_sql(notes: str, fusion: Stage, greatest: str = "greatest", least: str = "least") -> str:
    """SELECT of the relation's columns and `score`. Raises BadParameter for a fusion that has no SQL."""
    if fusion.name == "max_min":
        both = "coalesce(fs, 0e0), coalesce(vs, 0e0)"
        return f"SELECT *, {greatest}({both}) + {double(fusion['bonus'])} * {least}({both}) AS score FROM {notes}"
    if fusion.name == "rrf":
        if fusion.get("weights"):
            raise BadParameter("the notes search fuses two legs of weight 1", do="Leave weights out")
        k = double(fusion["k"])
        part = "CASE WHEN {0} IS NULL THEN 0e0 ELSE 1e0 / ({1} + {2}) END"
        place = "row_number() OVER (ORDER BY {0} DESC NULLS LAST, type, id)"
        return (
            f"SELECT *, {part.format('fs', k, 'fr')} + {part.format('vs', k, 'vr')} AS score"
            f" FROM (SELECT *, {place.format('fs')} AS fr, {place.format('vs')} AS vr FROM {notes}) placed"
        )
    raise BadParameter(f"the fusion {fusion.name!r} has no SQL here", do="Use max_min or rrf")


def fuse(shares: Shares, fusion: Stage) -> list[tuple[Key, float]]:
    """The same fusion in Python: (key, score), score descending, then type, then id."""
    score = _max_min(shares, fusion["bonus"]) if fusion.name == "max_min" else _rrf(shares, fusion["k"])
    return sorted(score.items(), key=lambda row: (-row[1], row[0]))


def _max_min(shares: Shares, bonus: float) -> dict[Key, float]:
    both = {key: (fs or 0.0, vs or 0.0) for key, (fs, vs) in shares.items()}
    return {key: max(pair) + bonus * min(pair) for key, pair in both.items()}


def _rrf(shares: Shares, k: float) -> dict[Key, float]:
    score = dict.fromkeys(shares, 0.0)
    for leg in (0, 1):
        held = [(key, share[leg]) for key, share in shares.items() if share[leg] is not None]
        by_place: Callable = lambda row: (-row[1], row[0])  # noqa: E731
        for place, (key, _) in enumerate(sorted(held, key=by_place), 1):
            score[key] += 1.0 / (k + place)
    return score


def double(value: float) -> str:
    """A double literal of exactly this value; a plain 0.3 would be a decimal."""
    return f"{float(value)!r}" + ("" if "e" in repr(float(value)) else "e0")
