"""The reader `notes_replica`: a project of notes as a source, its texts and vectors made while they are read."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.registry import register
from workbench.sources.replica.notes_spec import read_notes_spec, scaled
from workbench.sources.replica.sentences import fields, substitute
from workbench.sources.replica.words import SUBJECTS
from workbench.sources.source import Embed, JudgedQuery, Source
from workbench.types import Chunk

if TYPE_CHECKING:
    import numpy as np

    from workbench.sources.replica.notes_layout import NotesLayout

# Part of the settings, so that a collection made by another generator is not taken for this one's.
GENERATOR = 1

ASKED = {
    "question": ("why does it happen that {thing} {trouble}", "who looks after {thing}", "what did {person} say about {thing2}"),
    "statement": ("{outcome}", "{thing} {trouble}", "{thing} depends on {thing2}"),
    "words": ("{thing}", "{thing} {thing2}", "{person} {thing}", "{file}"),
}
ELSEWHERE = (
    "sourdough bread at home", "football results of the weekend", "how tall is the Eiffel tower", "symptoms of hay fever",
    "guitar chords for beginners", "cheap flights to Lisbon", "history of the Roman senate", "puppy does not sleep",
    "x", "what is the meaning of life", "mortgage rates", "capital of Mongolia",
)  # fmt: skip
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
    chosen = scaled(chosen, notes) if notes else chosen
    seed = spec.seed if seed is None else seed

    @cache
    def layout() -> NotesLayout:
        from workbench.sources.replica.notes_layout import make_notes_layout

        return make_notes_layout(chosen, spec.shape, seed)

    def read() -> Iterator[Chunk]:
        from workbench.sources.replica.notes_render import chunks

        yield from chunks(layout())

    def made(embed: Embed) -> Iterator[np.ndarray]:
        from workbench.sources.replica.notes_vectors import composed_notes

        yield from composed_notes(layout(), embed)

    settings = {"spec": spec.name, "project": chosen.name, "notes": chosen.notes, "seed": seed, "shape": str(spec.shape),
                "generator": GENERATOR}  # fmt: skip
    return Source("notes_replica", str(path), settings, read, queries(spec.queries, seed), vectors=made, count=chosen.chunks)


def queries(count: int, seed: int) -> tuple[JudgedQuery, ...]:
    """Distinct queries by the shares of their kinds."""
    rng = random.Random(f"notes queries/{seed}")
    found: dict[str, str] = {}
    for kind, share in SHARES:
        wanted = len(found) + round(count * share)
        if kind == "elsewhere":
            found |= dict.fromkeys(rng.sample(ELSEWHERE, min(wanted - len(found), len(ELSEWHERE))), kind)
            continue
        while len(found) < wanted:
            found.setdefault(substitute(rng.choice(ASKED[kind]), fields(rng, rng.choice(SUBJECTS))), kind)
    return tuple(JudgedQuery(f"{kind}-{n:03d}", text, {"kind": kind}) for n, (text, kind) in enumerate(found.items()))
