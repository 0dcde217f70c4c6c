"""Items of a layout as chunks that read like memories, streamed in point-id order and counted again on the way."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import numpy as np

from workbench.sources.replica.layout import Layout
from workbench.sources.replica.plan import FILLER, KNOWN, TARGET
from workbench.sources.replica.sentences import KINDS
from workbench.sources.replica.tables import SpecError
from workbench.sources.replica.words import SUBJECTS
from workbench.text import DEFAULT
from workbench.types import Chunk, Facets

PARAGRAPH = 4
"""Sentences of one paragraph in a note."""
STATUSES = ("open", "done", None, None)

# The collection's age: memories whose text tells no date were made some time in these days before the incident.
AGE_DAYS = 1100
NEWEST = datetime(2026, 11, 11, 10, 0)
INCIDENT_DAY = NEWEST.strftime("%Y-%m-%d")

# What stands between heading and body, and before each sentence of the body.
_MARKS = {"note": ("\n\n", ""), "activity": ("\n", "- "), "commit": ("\n\n", ""), "transcript": ("\n", ""), "schedule": ("\n", "* ")}


def body(kind: str, sentences: list[str]) -> str:
    """The sentences as that kind of memory sets them."""
    if kind == "note":
        return "\n\n".join(" ".join(sentences[i : i + PARAGRAPH]) for i in range(0, len(sentences), PARAGRAPH))
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
        wrong = ", ".join(f"{t} in {found[t]} in place of {n}" for t, n in layout.incident.terms.items() if found[t] != n)
        raise SpecError(f"the texts hold {wrong}", where=layout.incident.name)


def _target_chunk(layout: Layout, point_id: int, text: str) -> Chunk:
    target = layout.incident.target
    facets = Facets(target.project, target.note_type, (), None, target.created or None, None, None)
    return Chunk(point_id, target.entity, point_id - target.position, text, target.title, target.source, facets=facets)


def _chunk(layout: Layout, point_id: int, item: int, kind: str, text: str, age: float, quoted: str) -> Chunk:
    heading = layout.part[layout.starts[item]]
    created = layout.parts.created[heading]
    if not created or created[:10] > INCIDENT_DAY:
        created = (NEWEST - timedelta(days=age * AGE_DAYS)).strftime("%Y-%m-%dT%H:%M:00Z")
    project = layout.projects[layout.project[item]]
    reference = f"{(point_id * 2654435761) & 0xFFFFFFFF:08x}"
    return Chunk(
        point_id, f"{kind}-{reference}", 0, text, layout.parts.texts[heading].split("\n", 1)[0], quoted or f"{kind}/{reference}",
        facets=Facets(
            project, kind, (SUBJECTS[layout.subject[item]].name,), STATUSES[point_id % len(STATUSES)], created, created,
            f"{project}/{kind}/{reference}.md",
        ),
    )  # fmt: skip


def is_whole(layout: Layout) -> np.ndarray:
    """(n,) whether an item is embedded as a whole and not composed of its parts."""
    make = layout.plan.make
    return ~np.isin(make, (FILLER, KNOWN))
