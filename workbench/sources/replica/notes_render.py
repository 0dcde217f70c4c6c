"""Items of a notes layout as chunks: a note's sections in order, then its observations and relations."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import numpy as np

from workbench.sources.replica.notes_layout import NotesLayout
from workbench.sources.replica.notes_parts import CATEGORIES, RELATION_NAMES
from workbench.sources.replica.sentences import KINDS
from workbench.sources.replica.words import SUBJECTS
from workbench.types import Chunk, Facets

TAGS = ("open", "later", "done", "urgent", "shared", "draft", "checked", "private")
STATUSES = ("open", "done", None, None)
NEWEST = datetime(2026, 10, 10)
"""The day of the document's measurements."""
AGE_DAYS = 900


def text_of(layout: NotesLayout, item: int, related: str = "") -> str:
    """An item's text: heading, sentences as one paragraph, observations and relations as list items."""
    texts = layout.parts.texts
    heading, *rest = [texts[p] for p in layout.parts_of(item)]
    lines = "".join(f"\n- {t}" for t in rest if is_observation(t))
    return f"{heading}\n\n" + " ".join(t for t in rest if not is_observation(t)) + lines + related


def is_observation(text: str) -> bool:
    """Whether a part is an observation's line: it opens with one of the categories."""
    return text.startswith("[") and text[1:].partition("]")[0] in CATEGORIES


def chunks(layout: NotesLayout) -> Iterator[Chunk]:
    """Every chunk, ids from 1, note by note: its text, its observations, its relations."""
    rng = np.random.default_rng([layout.seed, 7])
    age, tag = rng.random(layout.project.notes), rng.integers(0, len(TAGS), (layout.project.notes, 2))
    titles = [layout.parts.texts[t] for t in layout.title]
    bounds = layout.bounds
    observed = np.searchsorted(layout.observations[:, 0], bounds)
    related = np.searchsorted(layout.relations[:, 0], bounds)
    number = 0
    for note in range(layout.project.notes):
        path = note_path(layout, note)
        kind, subject = KINDS[layout.note_kind[note]], SUBJECTS[layout.note_subject[note]].name
        when = (NEWEST - timedelta(days=float(age[note]) * AGE_DAYS)).strftime("%Y-%m-%dT%H:%M:00Z")
        tags = tuple(dict.fromkeys((subject, *(TAGS[t] for t in tag[note]))))
        facets = Facets(layout.project.name, kind, tags, STATUSES[note % len(STATUSES)], when, when, path)
        own = Facets(layout.project.name, kind, tags, facets.status, when, when, path, {"note": path})
        links = layout.relations[related[note] : related[note + 1]]
        lines: dict[int, str] = {}
        for item, target, name in links.tolist():
            lines[item] = lines.get(item, "") + f"\n- {RELATION_NAMES[name]} [[{titles[target]}]]"
        for index, item in enumerate(range(bounds[note], bounds[note + 1])):
            number += 1
            yield Chunk(number, path, index, text_of(layout, item, lines.get(item, "")), titles[note], path, facets=facets)
        for n, (_, part) in enumerate(layout.observations[observed[note] : observed[note + 1]].tolist()):
            number += 1
            yield Chunk(number, f"{path}#observation/{n}", 0, layout.parts.texts[part], titles[note], path, "observation", own)
        for n, (_, target, name) in enumerate(links.tolist()):
            number += 1
            text = f"{titles[note]} {RELATION_NAMES[name]} {titles[target]}"
            yield Chunk(number, f"{path}#relation/{n}", 0, text, titles[note], path, "relation", own,
                        ((RELATION_NAMES[name], note_path(layout, target)),))  # fmt: skip


def note_path(layout: NotesLayout, note: int) -> str:
    """The note's path in its project, which is its id."""
    return f"{SUBJECTS[layout.note_subject[note]].name}/{KINDS[layout.note_kind[note]]}/{note:05d}.md"
