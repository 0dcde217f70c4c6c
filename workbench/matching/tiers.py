"""The tiers of the cascade, each a function of (request, library): what it found and why not more.

ADR-0003's order: exact, normalised, alias, lexical, embedding. The first three are look-ups; only lexical and
embedding compare, so only they have thresholds. A pair that a reviewer rejected is never served or proposed by any
tier that compares less than the whole request.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from workbench.matching.fingerprint import Prepared, shape_differences
from workbench.matching.library import Library
from workbench.matching.request import Answer
from workbench.matching.similarity import LIKENESSES, Compared, broken_gates, broken_words
from workbench.registry import register

Verdict = Literal["served", "review", "miss", "failed"]


@dataclass(frozen=True, slots=True)
class Proposal:
    """An entry that came near. `broken` names the conditions of shape and the gates that keep it from being served."""

    entry_id: int
    score: float
    broken: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """What one tier found: `entry_id` and maybe its `answer` when served, else proposals for review, best first.

    `score` is the best one seen, None where nothing was compared; `serve` and `review` are the thresholds it met.
    """

    verdict: Verdict
    why: str
    score: float | None = None
    serve: float | None = None
    review: float | None = None
    entry_id: int | None = None
    answer: Answer | None = None
    proposals: tuple[Proposal, ...] = ()


@register("tier")
def exact(ask: Prepared, library: Library) -> Finding:
    """Serve the entry whose whole request is equal (after redaction)."""
    found = library.exact(ask.exact)
    if found is None:
        return Finding("miss", "no entry has this request")
    return Finding("served", "the same request", 1.0, entry_id=found[0], answer=found[1])


@register("tier")
def normalised(ask: Prepared, library: Library) -> Finding:
    """Serve the entry that is equal after scrubbing, tool order and white space aside; the oldest of several."""
    found = library.normalised(ask.normalised)
    kept = (
        [entry for entry in found if entry not in library.rejected(ask.normalised)] if found else []
    )
    if not kept:
        return Finding(
            "miss",
            "a reviewer rejected the one that is equal"
            if found
            else "no entry is equal after scrubbing",
        )
    more = f"; the oldest of {len(kept)}" if len(kept) > 1 else ""
    return Finding("served", f"equal after scrubbing{more}", 1.0, entry_id=kept[0])


@register("tier")
def alias(ask: Prepared, library: Library) -> Finding:
    """Serve the entry that a reviewer approved for this request."""
    found = [
        entry
        for entry in library.aliases(ask.normalised)
        if entry not in library.rejected(ask.normalised)
    ]
    if not found:
        return Finding("miss", "no reviewer approved an entry for it")
    return Finding("served", "approved by a reviewer", 1.0, entry_id=found[0])


@register("tier")
def lexical(
    ask: Prepared,
    library: Library,
    *,
    serve: float | None = 1.0,
    review: float = 0.6,
    proposals: int = 10,
    index: str = "fts5",
    likeness: str = "dice_multiset",
    gates: tuple[str, ...] = (),
    query_words: int = 64,
    common_share: float = 0.5,
    scan_limit: int = 5000,
) -> Finding:
    """The index proposes entries with the same speakers; word overlap decides: serve, review, or neither."""
    found = library.index(
        index, query_words=query_words, common_share=common_share, scan_limit=scan_limit
    )
    near = found.propose(library.db, ask.words, ask.speakers, proposals)
    measure = LIKENESSES[likeness]

    def scored(held: Compared, entry_id: int) -> float:
        return measure(ask.words, held.words)

    return _decide(
        ask, library, near, scored, serve, review, gates, "shares a word and the speakers"
    )


@register("tier")
def embedding(
    ask: Prepared,
    library: Library,
    *,
    serve: float | None = None,
    review: float = 0.75,
    proposals: int = 10,
    gates: tuple[str, ...] = (),
) -> Finding:
    """Cosine of the last messages with text, among entries with the same speakers; a failing model is a miss."""
    if not ask.last:
        return Finding("miss", "no message with text to embed", serve=serve, review=review)
    matrix = library.matrix()
    if not len(matrix.ids):
        return Finding("miss", "no entry has a vector yet", serve=serve, review=review)
    try:
        vector = library.encoder.encode([ask.last])[0]
        found = dict(matrix.nearest(vector, ask.speakers, proposals))
    except (
        Exception
    ) as error:  # whatever the model raises: the call carries on as a miss, and the log says why
        return Finding(
            "failed",
            library.normal.redaction.text(
                f"the embedder failed: {type(error).__name__}: {error}"[:300]
            ),
            serve=serve,
            review=review,
        )
    return _decide(
        ask,
        library,
        list(found),
        lambda held, entry: found[entry],
        serve,
        review,
        gates,
        "has these speakers",
    )


def _decide(
    ask: Prepared,
    library: Library,
    near: Sequence[int],
    score: Callable[[Compared, int], float],
    serve: float | None,
    review: float,
    gates: Sequence[str],
    what: str,
) -> Finding:
    """Score, best first (ties by id): the first that may be served is; else those over `review` are proposed."""
    known = library.candidate_states(ask.normalised) if near else {}
    held = library.compared([entry for entry in near if known.get(entry) != "rejected"])
    ranked = [
        Proposal(entry, score(text, entry), _broken(ask, text, shape, gates))
        for entry, (text, shape) in held.items()
    ]
    ranked.sort(key=lambda p: (-p.score, p.entry_id))
    if not ranked:
        why = f"every entry that {what} was rejected by a reviewer" if near else f"no entry {what}"
        return Finding("miss", why, None, serve, review)
    best = ranked[0].score
    for place in ranked:
        if serve is not None and place.score >= serve and not place.broken:
            tied = sum(p.score == place.score and not p.broken for p in ranked)
            more = f"; {tied} entries tie, the oldest is served" if tied > 1 else ""
            return Finding(
                "served",
                f"score at or over {serve}{more}",
                place.score,
                serve,
                review,
                place.entry_id,
            )
    over = tuple(p for p in ranked if p.score >= review)
    why = _why(ranked[0], serve, review)
    full = len(known) >= library.settings.max_candidates
    if over and not any(known.get(p.entry_id, "" if full else "open") == "open" for p in over):
        rejections = sum(state == "rejected" for state in known.values())
        return Finding(
            "miss",
            f"{why}; rejected before: {rejections} of its {len(known)} candidates",
            best,
            serve,
            review,
        )
    return Finding("review" if over else "miss", why, best, serve, review, proposals=over)


def _broken(
    ask: Prepared, held: Compared, shape: dict[str, str], gates: Sequence[str]
) -> tuple[str, ...]:
    return (*shape_differences(ask.shape, shape), *broken_gates(gates, ask.compared, held))


def _why(best: Proposal, serve: float | None, review: float) -> str:
    if best.score < review:
        return f"best score {best.score:.3f} is under the review threshold {review}"
    if serve is None:
        return f"best score {best.score:.3f}; this tier does not serve"
    if best.score < serve:
        return f"best score {best.score:.3f} is under the serve threshold {serve}"
    return f"best score {best.score:.3f}, but not the same {broken_words(best.broken)}"
