"""The reader `replica`: an incident file as a source, its texts and vectors made while they are read."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from workbench.registry import register
from workbench.sources.base import Embed, JudgedQuery, Qrel, Source
from workbench.sources.replica.spec import (
    Incident,
    SpecError,
    read_incident,
    read_notes_spec,
    scaled,
)
from workbench.sources.replica.wording import SUBJECTS, fields, substitute
from workbench.types import Chunk

if TYPE_CHECKING:
    import numpy as np

    from workbench.sources.replica.incident import Layout
    from workbench.sources.replica.notes_layout import NotesLayout

# ---- The reader `replica`: an incident file as a source, its texts and vectors made while t ----

# Part of the settings, so that a collection made by another generator is not taken for this one's.
GENERATOR = 1


@register("reader")
def replica(
    location: str | Path,
    *,
    seed: int | None = None,
    size: int | None = None,
    vectors: Literal["composed", "exact"] = "composed",
    decoy: bool | None = None,
    target_averages: float | int | None = None,
    filler: str | None = None,
    filler_texts: Callable[[], Iterable[str]] | None = None,
) -> Source:
    """A replica of an incident, made from its file: .toml.

    `seed` and `size` are the file's where not given; a size scales the counts. `vectors`: "composed" makes the
    vectors of long filler from true ones of its parts, "exact" embeds every text. `decoy` plants one chunk that
    holds all terms of the first query without its phrase. `target_averages` makes the target's first chunk that
    many average lengths long. `filler` names the collection whose chunks `filler_texts` yields, in place of made
    sentences.

    Raises SpecError for a file that cannot be built as it stands; while reading, where a count, the target's
    lexical rank or its place outside the semantic list is not as the file says.
    """
    path = Path(location).expanduser()
    incident = read_incident(path)
    if incident.captured and (
        vectors == "exact" or decoy or target_averages or size not in (None, incident.size)
    ):
        raise SpecError(
            "a captured incident has its own size, target and vectors",
            where=str(path),
            do="Build it without size, decoy, target_averages and exact vectors",
        )
    if (filler is None) != (filler_texts is None):
        raise SpecError(
            "filler needs a loaded collection's texts",
            where=str(path),
            do="workbench replica build FILE --filler NAME",
        )
    incident = scaled(incident, size or incident.size)
    if decoy is not None:
        incident = replace(incident, decoy=decoy)
    seed = incident.seed if seed is None else seed

    @cache
    def layout() -> Layout:
        from workbench.sources.replica.incident import make_layout

        return make_layout(incident, seed, filler_texts, target_averages)

    def read() -> Iterator[Chunk]:
        from workbench.sources.replica.render import chunks

        yield from chunks(layout())

    def made(embed: Embed) -> Iterator[np.ndarray]:
        from workbench.sources.replica.vectors import composed, constructed

        yield from constructed(layout(), embed) if incident.captured else composed(layout(), embed)

    settings = {
        "incident": incident.name,
        "size": incident.size,
        "seed": seed,
        "vectors": vectors,
        "decoy": incident.decoy,
        "target_averages": target_averages,
        "filler": filler,
        "generator": GENERATOR,
    }
    return Source(
        "replica",
        str(path),
        settings,
        read,
        _queries(incident),
        _qrels(incident),
        vectors=None if vectors == "exact" else made,
        count=incident.size,
        made_from="" if filler_texts else hashlib.sha256(path.read_bytes()).hexdigest(),
    )


def _queries(incident: Incident) -> tuple[JudgedQuery, ...]:
    limits: dict[str, Any] = {
        "lexical_limit": incident.limits.lexical,
        "semantic_limit": incident.limits.semantic,
    }
    return tuple(
        JudgedQuery(
            q.id,
            q.text,
            {"limit": q.limit, **limits, **({"filters": dict(q.filters)} if q.filters else {})},
        )
        for q in incident.queries
    )


def _qrels(incident: Incident) -> tuple[Qrel, ...]:
    return tuple(Qrel(q.id, incident.target.entity, 1) for q in incident.queries)


# ---- The reader `notes_replica`: a project of notes as a source, its texts and vectors made ----

# Part of the settings, so that a collection made by another generator is not taken for this one's.
NOTES_GENERATOR = 1

ASKED = {
    "question": (
        "why does it happen that {thing} {trouble}",
        "who looks after {thing}",
        "what did {person} say about {thing2}",
    ),
    "statement": ("{outcome}", "{thing} {trouble}", "{thing} depends on {thing2}"),
    "words": ("{thing}", "{thing} {thing2}", "{person} {thing}", "{file}"),
}
ELSEWHERE = (
    "sourdough bread at home",
    "football results of the weekend",
    "how tall is the Eiffel tower",
    "symptoms of hay fever",
    "guitar chords for beginners",
    "cheap flights to Lisbon",
    "history of the Roman senate",
    "puppy does not sleep",
    "x",
    "what is the meaning of life",
    "mortgage rates",
    "capital of Mongolia",
)
"""Asked of no project's subject: what a search gets that has no answer."""
SHARES = (("question", 0.4), ("statement", 0.25), ("words", 0.25), ("elsewhere", 0.1))
"""A chosen mix; the document tells nothing of its queries."""


@register("reader")
def notes_replica(
    location: str | Path, *, project: str = "", seed: int | None = None, notes: int | None = None
) -> Source:
    """A replica of a project of notes, made from its file: .toml with a [[project]].

    `project` is the first where none is named; `notes` makes fewer or more, as many chunks a note as before.
    Queries are made from the words of the notes, each with its `kind`; none is judged.

    Raises SpecError for a file that cannot be built as it stands.
    """
    path = Path(location).expanduser()
    spec = read_notes_spec(path)
    chosen = spec.project(project)
    chosen = chosen.scaled(notes) if notes else chosen
    seed = spec.seed if seed is None else seed

    @cache
    def layout() -> NotesLayout:
        from workbench.sources.replica.notes_layout import make_notes_layout

        return make_notes_layout(chosen, spec.shape, seed)

    def read() -> Iterator[Chunk]:
        from workbench.sources.replica.render import note_chunks as chunks

        yield from chunks(layout())

    def made(embed: Embed) -> Iterator[np.ndarray]:
        from workbench.sources.replica.vectors import composed_notes

        yield from composed_notes(layout(), embed)

    settings = {
        "spec": spec.name,
        "project": chosen.name,
        "notes": chosen.notes,
        "seed": seed,
        "shape": str(spec.shape),
        "generator": NOTES_GENERATOR,
    }
    return Source(
        "notes_replica",
        str(path),
        settings,
        read,
        queries(spec.queries, seed),
        vectors=made,
        count=chosen.chunks,
        made_from=hashlib.sha256(path.read_bytes()).hexdigest(),
    )


def queries(count: int, seed: int) -> tuple[JudgedQuery, ...]:
    """Distinct queries by the shares of their kinds."""
    rng = random.Random(f"notes queries/{seed}")
    found: dict[str, str] = {}
    for kind, share in SHARES:
        wanted = len(found) + round(count * share)
        if kind == "elsewhere":
            found |= dict.fromkeys(
                rng.sample(ELSEWHERE, min(wanted - len(found), len(ELSEWHERE))), kind
            )
            continue
        while len(found) < wanted:
            found.setdefault(
                substitute(rng.choice(ASKED[kind]), fields(rng, rng.choice(SUBJECTS))), kind
            )
    return tuple(
        JudgedQuery(f"{kind}-{n:03d}", text, {"kind": kind})
        for n, (text, kind) in enumerate(found.items())
    )
