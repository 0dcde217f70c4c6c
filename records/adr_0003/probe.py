"""What every tier would see of a call, computed once, so that any threshold, likeness and gate is tried for nothing.

A probe holds the exact and normalised entry, and the proposals with all their likenesses and all conditions that
they break. `settle` in matching_sweep reads probes and never searches.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from workbench.matching.fingerprint import Prepared, shape_differences
from workbench.matching.index import Fts5Index
from workbench.matching.library import Library
from workbench.matching.request import RecordedRequest
from workbench.matching.similarity import GATES, LIKENESSES, broken_gates
from workbench.matching.vectors import Encoder, embed_pending, read_matrix

LEXICAL = (*LIKENESSES, "bm25")
COSINE = "cosine"
LIKENESS_NAMES = (*LEXICAL, COSINE)
"""What can decide: four overlaps of words, the index's own raw score, the cosine of the last messages."""


@dataclass(frozen=True, slots=True)
class Near:
    """A proposal: its likenesses by name, and the conditions of shape and gates that it breaks."""

    entry: int
    scores: Mapping[str, float]
    broken: frozenset[str]


@dataclass(frozen=True, slots=True)
class Probe:
    """One call against one library. `lexical` are the index's proposals, `semantic` the nearest by cosine; both are
    empty where exact or normalised answers."""

    exact: int | None
    normalised: int | None
    lexical: tuple[Near, ...]
    semantic: tuple[Near, ...]


def probes(
    library: Library,
    requests: Iterable[RecordedRequest],
    *,
    encoder: Encoder | None = None,
    proposals: int = 10,
    gates: Sequence[str] = tuple(GATES),
) -> list[Probe]:
    """Each request probed against the library, in order; without an encoder there are no semantic proposals."""
    asked = [library.normal.prepare(r) for r in requests]
    semantic = (
        _nearest(library, asked, encoder, proposals) if encoder is not None else [{}] * len(asked)
    )
    return [
        _probe(library, ask, proposals, near, gates)
        for ask, near in zip(asked, semantic, strict=True)
    ]


def _probe(
    library: Library,
    ask: Prepared,
    proposals: int,
    cosines: Mapping[int, float],
    gates: Sequence[str],
) -> Probe:
    exact, equal = library.exact(ask.exact), library.normalised(ask.normalised)
    if exact or equal:  # answered before any tier compares
        return Probe(exact[0] if exact else None, equal[0] if equal else None, (), ())
    raw = dict(Fts5Index(common_share=1.0).ranked(library.db, ask.words, ask.speakers, proposals))
    held = library.compared([*raw, *(e for e in cosines if e not in raw)])
    broken = {
        entry: frozenset(
            (*shape_differences(ask.shape, shape), *broken_gates(gates, ask.compared, text))
        )
        for entry, (text, shape) in held.items()
    }
    lexical = tuple(
        Near(
            entry,
            {n: f(ask.words, held[entry][0].words) for n, f in LIKENESSES.items()}
            | {"bm25": score},
            broken[entry],
        )
        for entry, score in raw.items()
    )
    semantic = tuple(
        Near(entry, {COSINE: score}, broken[entry]) for entry, score in cosines.items()
    )
    return Probe(None, None, lexical, semantic)


def _nearest(
    library: Library, asked: list[Prepared], encoder: Encoder, proposals: int
) -> list[Mapping[int, float]]:
    embed_pending(library.db, encoder)
    matrix = read_matrix(library.db, encoder.key)
    texts = [ask.last for ask in asked]
    distinct = list(dict.fromkeys(t for t in texts if t))
    rows = dict(zip(distinct, encoder.encode(distinct), strict=True)) if distinct else {}
    return [
        dict(matrix.nearest(rows[ask.last], ask.speakers, proposals))
        if ask.last and len(matrix.ids)
        else {}
        for ask in asked
    ]
