"""Reranking of a fixed prefix by bounded text: the same rows on every page, so that pages stay stable."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

from workbench.errors import WorkbenchError
from workbench.retrieval.notes.request import Ranked


class RerankFailed(WorkbenchError):
    """The reranker gave no score, too many, or one that is no number; nothing is served in its place."""


class Scorer(Protocol):
    """A cross-encoder: one score a text, in their order."""

    def scores(self, query: str, texts: Sequence[str]) -> list[float]: ...


def reranked(query: str, prefix: Sequence[Ranked], texts: Sequence[str], scorer: Scorer) -> list[tuple[Ranked, float]]:
    """The prefix by score descending, then type, then id. Raises RerankFailed; never falls back."""
    if len(texts) != len(prefix):
        raise RerankFailed(f"{len(texts)} texts came back for {len(prefix)} rows")
    try:
        scores = [float(s) for s in scorer.scores(query, texts)]
    except WorkbenchError:
        raise
    except Exception as error:  # onnxruntime and tokenizers raise their own kinds
        raise RerankFailed(f"the reranker failed: {error}") from error
    if len(scores) != len(texts):
        raise RerankFailed(f"the reranker gave {len(scores)} scores for {len(texts)} texts")
    for score, row in zip(scores, prefix, strict=True):
        if not math.isfinite(score):
            raise RerankFailed(f"the reranker scored {row.type} {row.id!r} as {score}")
    rows = zip(prefix, scores, strict=True)
    return sorted(rows, key=lambda pair: (-pair[1], pair[0].type, pair[0].id))
