"""Items of a layout as chunks that read like memories, streamed in point-id order and counted again on the way."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import numpy as np

from workbench.sources.replica.incident import FILLER, KNOWN, TARGET, Layout
from workbench.sources.replica.notes_layout import CATEGORIES, RELATION_NAMES, NotesLayout
from workbench.sources.replica.spec import SpecError
from workbench.sources.replica.wording import KINDS, SUBJECTS
from workbench.text import DEFAULT
from workbench.types import Chunk, Facets

# ---- Items of a layout as chunks that read like memories, streamed in point-id order and co ----

PARAGRAPH = 4
"""Sentences of one paragraph in a note."""
STATUSES = ("open", "done", None, None)

# The collection's age: memories whose text tells no date were made some time in these days before the incident.
AGE_DAYS = 1100
NEWEST = datetime(2026, 11, 11, 10, 0)
INCIDENT_DAY = NEWEST.strftime("%Y-%m-%d")

# What stands between heading and body, and before each sentence of the body.
_MARKS = {
    "note": ("\n\n", ""),
    "activity": ("\n", "- "),
    "commit": ("\n\n", ""),
    "transcript": ("\n", ""),
    "schedule": ("\n", "* "),
}


def body(kind: str, sentences: list[str]) -> str:
    """The sentences as that kind of memory sets them."""
    if kind == "note":
        return "\n\n".join(
            " ".join(sentences[i : i + PARAGRAPH]) for i in range(0, len(sentences), PARAGRAPH)
        )
    if kind == "commit":
        return " ".join(sentences)
    mark = _MARKS[kind][1]
    return "\n".join(mark + s for s in sentences)


def text_of(layout: Layout, item: int, kind: str) -> str:
    """The whole text of an item: its heading, then its body."""
    texts = layout.parts.texts
    first, *rest = [texts[p] for p in layout.parts_of(item)]
    return first + _MARKS[kind][0] + body(kind, rest) if rest else first


def chunks(layout: Layout) -> Iterator[Chunk]:
    """Every chunk in point-id order, ids from 1.

    Raises SpecError at the end where the texts, split anew by the tokenizer, do not hold the counted terms in
    exactly as many chunks as the incident says.
    """
    counted = frozenset(layout.incident.terms)
    found = dict.fromkeys(counted, 0)
    age = np.random.default_rng([layout.seed, layout.incident.size]).random(len(layout.order))
    first_target = layout.target[0]
    known = layout.incident.captured.rows if layout.incident.captured else ()
    sources = {r.position: layout.incident.queries[0].text for r in known if r.verbatim == "source"}
    for place, item in enumerate(layout.order.tolist()):
        kind = KINDS[layout.kind[item]]
        text = text_of(layout, item, kind)
        for term in counted.intersection(DEFAULT.terms(text)):
            found[term] += 1
        made = layout.plan.make[item]
        quoted = sources.get(place + 1, "")
        if made == TARGET or item == first_target:
            yield _target_chunk(layout, place + 1, text)
        else:
            yield _chunk(layout, place + 1, item, kind, text, float(age[place]), quoted)
    if found != dict(layout.incident.terms):
        wrong = ", ".join(
            f"{t} in {found[t]} in place of {n}"
            for t, n in layout.incident.terms.items()
            if found[t] != n
        )
        raise SpecError(f"the texts hold {wrong}", where=layout.incident.name)


def _target_chunk(layout: Layout, point_id: int, text: str) -> Chunk:
    target = layout.incident.target
    facets = Facets(target.project, target.note_type, (), None, target.created or None, None, None)
    return Chunk(
        point_id,
        target.entity,
        point_id - target.position,
        text,
        target.title,
        target.source,
        facets=facets,
    )


def _chunk(
    layout: Layout, point_id: int, item: int, kind: str, text: str, age: float, quoted: str
) -> Chunk:
    heading = layout.part[layout.starts[item]]
    created = layout.parts.created[heading]
    if not created or created[:10] > INCIDENT_DAY:
        created = (NEWEST - timedelta(days=age * AGE_DAYS)).strftime("%Y-%m-%dT%H:%M:00Z")
    project = layout.projects[layout.project[item]]
    reference = f"{(point_id * 2654435761) & 0xFFFFFFFF:08x}"
    return Chunk(
        point_id,
        f"{kind}-{reference}",
        0,
        text,
        layout.parts.texts[heading].split("\n", 1)[0],
        quoted or f"{kind}/{reference}",
        facets=Facets(
            project,
            kind,
            (SUBJECTS[layout.subject[item]].name,),
            STATUSES[point_id % len(STATUSES)],
            created,
            created,
            f"{project}/{kind}/{reference}.md",
        ),
    )


def is_whole(layout: Layout) -> np.ndarray:
    """(n,) whether an item is embedded as a whole and not composed of its parts."""
    make = layout.plan.make
    return ~np.isin(make, (FILLER, KNOWN))


# ---- Items of a notes layout as chunks: a note's sections in order, then its observations a ----

TAGS = ("open", "later", "done", "urgent", "shared", "draft", "checked", "private")
NOTE_STATUSES = ("open", "done", None, None)
NEWEST_NOTE = datetime(2026, 10, 10)
"""The day of the document's measurements."""
NOTE_AGE_DAYS = 900


def note_text(layout: NotesLayout, item: int, related: str = "") -> str:
    """An item's text: heading, sentences as one paragraph, observations and relations as list items."""
    texts = layout.parts.texts
    heading, *rest = [texts[p] for p in layout.parts_of(item)]
    lines = "".join(f"\n- {t}" for t in rest if is_observation(t))
    return f"{heading}\n\n" + " ".join(t for t in rest if not is_observation(t)) + lines + related


def is_observation(text: str) -> bool:
    """Whether a part is an observation's line: it opens with one of the categories."""
    return text.startswith("[") and text[1:].partition("]")[0] in CATEGORIES


def note_chunks(layout: NotesLayout) -> Iterator[Chunk]:
    """Every chunk, ids from 1, note by note: its text, its observations, its relations."""
    rng = np.random.default_rng([layout.seed, 7])
    age, tag = (
        rng.random(layout.project.notes),
        rng.integers(0, len(TAGS), (layout.project.notes, 2)),
    )
    titles = [layout.parts.texts[t] for t in layout.title]
    bounds = layout.bounds
    observed = np.searchsorted(layout.observations[:, 0], bounds)
    related = np.searchsorted(layout.relations[:, 0], bounds)
    number = 0
    for note in range(layout.project.notes):
        path = note_path(layout, note)
        kind, subject = KINDS[layout.note_kind[note]], SUBJECTS[layout.note_subject[note]].name
        when = (NEWEST_NOTE - timedelta(days=float(age[note]) * NOTE_AGE_DAYS)).strftime(
            "%Y-%m-%dT%H:%M:00Z"
        )
        tags = tuple(dict.fromkeys((subject, *(TAGS[t] for t in tag[note]))))
        facets = Facets(
            layout.project.name,
            kind,
            tags,
            NOTE_STATUSES[note % len(NOTE_STATUSES)],
            when,
            when,
            path,
        )
        own = Facets(
            layout.project.name, kind, tags, facets.status, when, when, path, {"note": path}
        )
        links = layout.relations[related[note] : related[note + 1]]
        lines: dict[int, str] = {}
        for item, target, name in links.tolist():
            lines[item] = lines.get(item, "") + f"\n- {RELATION_NAMES[name]} [[{titles[target]}]]"
        for index, item in enumerate(range(bounds[note], bounds[note + 1])):
            number += 1
            yield Chunk(
                number,
                path,
                index,
                note_text(layout, item, lines.get(item, "")),
                titles[note],
                path,
                facets=facets,
            )
        for n, (_, part) in enumerate(
            layout.observations[observed[note] : observed[note + 1]].tolist()
        ):
            number += 1
            yield Chunk(
                number,
                f"{path}#observation/{n}",
                0,
                layout.parts.texts[part],
                titles[note],
                path,
                "observation",
                own,
            )
        for n, (_, target, name) in enumerate(links.tolist()):
            number += 1
            text = f"{titles[note]} {RELATION_NAMES[name]} {titles[target]}"
            yield Chunk(
                number,
                f"{path}#relation/{n}",
                0,
                text,
                titles[note],
                path,
                "relation",
                own,
                ((RELATION_NAMES[name], note_path(layout, target)),),
            )


def note_path(layout: NotesLayout, note: int) -> str:
    """The note's path in its project, which is its id."""
    return (
        f"{SUBJECTS[layout.note_subject[note]].name}/{KINDS[layout.note_kind[note]]}/{note:05d}.md"
    )
