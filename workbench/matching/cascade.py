"""The cascade: ask the tiers in order, serve the first that is sure, queue what is near, log why.

with open_library("demo") as library:
    outcome = ask(library, plain("Hello"))
    outcome.answer.text if outcome.served else outcome.steps
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from workbench.matching import tiers
from workbench.matching.call_log import LogRow, write_rows
from workbench.matching.fingerprint import Prepared, digest
from workbench.matching.library import Library, MatchingSettings
from workbench.matching.queue import add_candidates
from workbench.matching.request import Answer, RecordedRequest, json_text
from workbench.matching.schema import transaction
from workbench.registry import Stage

Cascade = tuple[Stage, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """What one tier said, in the order in which the tiers were asked."""

    tier: str
    verdict: str
    score: float | None
    serve: float | None
    review: float | None
    why: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer, or a miss. `tier` and `score` are of the tier that answered; of a miss, the tier that came nearest
    to an answer ("" for none) and its score. `candidates` are the ids that wait for review because of this call."""

    served: bool
    tier: str
    score: float | None
    entry_id: int | None
    answer: Answer | None
    steps: tuple[Step, ...]
    candidates: tuple[int, ...] = ()


@lru_cache(maxsize=64)
def cascade_of(settings: MatchingSettings) -> Cascade:
    """The tiers that a project's settings ask for, in ADR-0003's order."""
    s = settings
    found = [
        tiers.exact(),
        tiers.normalised(),
        tiers.alias(),
        tiers.lexical(
            serve=s.serve,
            review=s.review,
            proposals=s.proposals,
            index=s.index,
            likeness=s.likeness,
            gates=s.gates,
            query_words=s.query_words,
            common_share=s.common_share,
            scan_limit=s.scan_limit,
        ),
    ]
    if s.embeddings:
        found.append(
            tiers.embedding(
                serve=s.embedding_serve,
                review=s.embedding_review,
                proposals=s.proposals,
                gates=s.gates,
            )
        )
    return tuple(found)


def _chosen(library: Library) -> Cascade:
    """The cascade of a library's settings; the machine's switch for embeddings comes before the library's."""
    settings, on = library.settings, library.encoder is not None
    return cascade_of(settings if settings.embeddings == on else replace(settings, embeddings=on))


def ask(library: Library, request: RecordedRequest, cascade: Cascade | None = None) -> Outcome:
    """Answer a request from the library or not at all; what came near waits for review; the call is logged."""
    if cascade is None or cascade[0].name == "exact":
        # A request that equals a stored one as it stands holds nothing to redact, so that an exact hit, nearly every
        # call of a replay, costs one look-up and no rule.
        fingerprint = digest(request.as_json())
        if (found := library.exact(fingerprint)) is not None:
            library.log.put(
                (
                    time.time(),
                    fingerprint,
                    "served",
                    "exact",
                    1.0,
                    None,
                    None,
                    found[0],
                    _EXACT_STEPS,
                )
            )
            return Outcome(True, "exact", 1.0, found[0], found[1], _EXACT)
    library.refresh()
    return _ask(library, library.normal.prepare(request), cascade or _chosen(library))


def _ask(library: Library, prepared: Prepared, cascade: Cascade) -> Outcome:
    steps, findings = _walk(library, prepared, cascade)
    found = _outcome(library, steps, findings)
    near = [(s.tier, p) for s, f in zip(steps, findings, strict=True) for p in f.proposals]
    if found.served or not near:
        library.log.put(_row(prepared, "served" if found.served else "miss", found))
        return found
    row = _row(prepared, "review", found)
    with transaction(library.db):
        queued = add_candidates(library, prepared, near, row[0])
        write_rows(library.db, [row])
    return replace(found, candidates=queued)


def replay(
    library: Library, requests: Iterable[RecordedRequest], cascade: Cascade | None = None
) -> Iterator[Outcome]:
    """The outcomes of many requests in order, without queueing or logging: what a library would have done."""
    chosen = cascade or _chosen(library)
    for request in requests:
        yield _outcome(library, *_walk(library, library.normal.prepare(request), chosen))


def _walk(
    library: Library, prepared: Prepared, cascade: Cascade
) -> tuple[tuple[Step, ...], list[tiers.Finding]]:
    steps, findings = [], []
    for tier in cascade:
        found = tier(prepared, library)
        steps.append(
            Step(tier.name, found.verdict, found.score, found.serve, found.review, found.why)
        )
        findings.append(found)
        if found.verdict == "served":
            break
    return tuple(steps), findings


def _outcome(
    library: Library, steps: tuple[Step, ...], findings: Sequence[tiers.Finding]
) -> Outcome:
    last, finding = steps[-1], findings[-1]
    if finding.verdict == "served":
        answer = finding.answer or library.answer(finding.entry_id)
        return Outcome(True, last.tier, finding.score, finding.entry_id, answer, steps)
    near = nearest(steps)
    return Outcome(
        False, near.tier if near else "", near.score if near else None, None, None, steps
    )


def nearest(steps: Sequence[Step]) -> Step | None:
    """The step that came nearest to an answer: the first that found something to review, else the highest score."""
    reviewed = next((s for s in steps if s.verdict == "review"), None)
    return reviewed or max(
        (s for s in steps if s.score is not None), key=lambda s: s.score, default=None
    )


_EXACT = (Step("exact", "served", 1.0, None, None, "the same request"),)


def _steps_text(steps: Sequence[Step]) -> str:
    return json_text([[s.tier, s.verdict, s.score, s.why] for s in steps])


_EXACT_STEPS = _steps_text(_EXACT)


def _row(prepared: Prepared, outcome: str, found: Outcome) -> LogRow:
    step = next((s for s in found.steps if s.tier == found.tier), None)
    thresholds = (step.serve, step.review) if step else (None, None)
    return (
        time.time(),
        prepared.exact,
        outcome,
        found.tier,
        found.score,
        *thresholds,
        found.entry_id,
        _steps_text(found.steps),
    )
