"""What a project chooses for its matching: defaults, each with the source that it comes from."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from workbench.errors import BadParameter
from workbench.matching.fingerprint import INCLUDE_PARAMS
from workbench.matching.similarity import GATES, LIKENESSES

INDEXES = ("fts5", "scan")


@dataclass(frozen=True, slots=True)
class MatchingSettings:
    """One project's settings. Scores run from 0 to 1; a serve threshold of None never serves."""

    serve: float | None = 1.0
    review: float = 0.6
    proposals: int = 10
    index: str = "fts5"
    scan_limit: int = 5000
    query_words: int = 64
    common_share: float = 0.5
    likeness: str = "dice_multiset"
    gates: tuple[str, ...] = ("same_order", "same_marks", "same_places")
    max_candidates: int = 3
    embeddings: bool = False
    embedding_serve: float | None = None
    embedding_review: float = 0.75
    embedding_tokens: int = 128
    tail_n: int | None = None
    include_params: tuple[str, ...] = INCLUDE_PARAMS

    def __post_init__(self) -> None:
        for name in ("serve", "review", "embedding_serve", "embedding_review", "common_share"):
            _unit(name, getattr(self, name), optional=name.endswith("serve"))
        for name in (
            "proposals",
            "scan_limit",
            "query_words",
            "max_candidates",
            "embedding_tokens",
            "tail_n",
        ):
            _positive(name, getattr(self, name), optional=name == "tail_n")
        _among("index", (self.index,), INDEXES)
        _among("likeness", (self.likeness,), tuple(LIKENESSES))
        _among("gates", self.gates, tuple(GATES))

    def with_(self, **changes: Any) -> MatchingSettings:
        """New settings with some changed. Raises BadParameter for an unknown name or a wrong value."""
        changes = {RECORD_NAMES.get(k, k): None if k in RECORD_NAMES and v == "off" else v for k, v in changes.items()}
        known = {f.name for f in fields(self)}
        for name in changes:
            if name not in known:
                raise BadParameter(f"no matching setting {name!r}", do=f"Known: {', '.join(sorted(known))}")
        return replace(self, **{k: tuple(v) if isinstance(v, list) else v for k, v in changes.items()})

    def as_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> MatchingSettings:
        return cls().with_(**json.loads(text))


RECORD_NAMES = {
    "bm25_serve_threshold": "serve", "bm25_review_threshold": "review",
    "embedding_serve_threshold": "embedding_serve", "embedding_review_threshold": "embedding_review",
}  # fmt: skip
"""ADR-0003's names of settings, accepted for ours; `off` is None there."""
SWITCH, OFFLINE = "SEMULA_EMBEDDINGS", "SEMULA_EMBEDDINGS_OFFLINE"
"""ADR-0003's environment variables: `on` and `off`."""


def switched(name: str) -> bool | None:
    """Whether an environment variable of the record says on or off; None where it is not set. Raises BadParameter."""
    said = os.environ.get(name, "").strip().lower()
    if said not in ("", "on", "off"):
        raise BadParameter(f"{name} must be on or off, not {said!r}")
    return {"on": True, "off": False}.get(said)


def embeddings_on(settings: MatchingSettings) -> bool:
    """Whether the embedding tier runs: the machine's switch decides for every library, else the library's setting."""
    machine = switched(SWITCH)
    return settings.embeddings if machine is None else machine


SOURCES: Mapping[str, str] = {
    "serve": "ADR-0003, SEM-E6: bm25_serve_threshold 1 (0.97 for a day)",
    "review": "ADR-0003, SEM-E6: bm25_review_threshold 0.6, untuned",
    "proposals": "ADR-0003, SEM-E6: up to 10 entries",
    "index": "ADR-0003, SEM-E6: FTS5 ranked by BM25; scan where there is no FTS5",
    "scan_limit": "ADR-0003, SEM-E6: first 5000 entries",
    "query_words": "this workbench: the rarest 64 words of a request are looked up, so that a long prompt stays cheap",
    "common_share": "this workbench: FTS5 gives a word in more than half of the entries no weight; 1 looks up all",
    "likeness": "ADR-0003 says Sorensen-Dice; repeats counted is this workbench's reading (a set lets repeats pass)",
    "gates": "this workbench: the record has none, and so serves `dog bites man` for `man bites dog` at its strictest "
    "threshold; a pair that breaks a gate goes to review",
    "max_candidates": "ADR-0003, SEM-E6: at most 3, counted over all states",
    "embeddings": "ADR-0003, SEM-E8: opt-in; SEMULA_EMBEDDINGS=on or off decides for every library",
    "embedding_serve": "ADR-0003, SEM-E8: embedding_serve_threshold off",
    "embedding_review": "ADR-0003, SEM-E8: embedding_review_threshold 0.75",
    "embedding_tokens": "ADR-0003, SEM-E8: truncated to 128 tokens",
    "tail_n": "ADR-0003 names it without a value: all messages",
    "include_params": 'ADR-0003 names it without a value: what changes the wire form or what a right answer is; ["*"] is all',
}


def _unit(name: str, value: float | None, *, optional: bool) -> None:
    if value is None and optional:
        return
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise BadParameter(f"{name} must be from 0 to 1{' or None' if optional else ''}, not {value!r}")


def _positive(name: str, value: int | None, *, optional: bool) -> None:
    if value is None and optional:
        return
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise BadParameter(
            f"{name} must be a whole number of at least 1{' or None' if optional else ''}, not {value!r}"
        )


def _among(name: str, values: tuple[str, ...], known: tuple[str, ...]) -> None:
    for value in values:
        if value not in known:
            raise BadParameter(f"unknown {name} {value!r}", do=f"Known: {', '.join(known)}")


ADR_0003 = MatchingSettings(gates=())
"""The record's own settings, word for word: what its claims are measured on."""
