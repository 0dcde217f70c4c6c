"""A notes replica as numbers: which note has which chunks, and which sentences make each of them.

The law: notes and chunks are exactly as many as the project says, and the notes' average length rounds to its
characters. A note keeps to a few sentences of its own and comes back to them, so its chunks are near each other,
and many chunks of few notes are near a query, as in the document.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from workbench.sources.replica.parts import Parts, Pool, made_pool
from workbench.sources.replica.spec import Project, Shape, SpecError
from workbench.sources.replica.wording import KINDS, SUBJECTS, fields, substitute

# ---- The parts of made notes: sentences of the shared pool, titles, section headings, obser ----

TITLES = (
    "{Thing} and {thing2}",
    "{Thing}: {outcome}",
    "Why {thing} {trouble}",
    "Notes on {thing} with {person}",
    "{Thing} {when}",
    "{person} on {thing} {when}",
    "{Thing} as {person} and {person2} see it",
)
SECTIONS = (
    "On {thing}",
    "What {thing} needs",
    "Open points about {thing}",
    "{person} and {thing}",
    "Before {thing2}",
    "If {thing} {trouble}",
    "{file}",
    "Summary",
    "Next steps for {thing}",
    "What changed {when}",
)
SECTIONS_A_SUBJECT = 24
CATEGORIES = ("decision", "fact", "idea", "problem", "method")
OBSERVATIONS_A_GROUP = 24
"""Different observations that notes of one kind and subject make; each is embedded once."""

RELATION_NAMES = ("relates to", "depends on", "follows", "contradicts")
RELATION_LENGTHS = np.asarray([len(name) for name in RELATION_NAMES])
RELATION_MARKS = len("\n-  [[]]")


class Titles(Parts):
    """Parts with the numbers of the notes' own: `section` (subjects, SECTIONS_A_SUBJECT) headings, `observation`
    (groups, OBSERVATIONS_A_GROUP) lines without their list mark."""

    section: np.ndarray
    observation: np.ndarray

    @property
    def characters(self) -> np.ndarray:
        """(parts,) lengths in characters."""
        return np.asarray([len(t) for t in self.texts], np.int64)


def note_parts(words: random.Random, subject: np.ndarray) -> tuple[Titles, Pool, np.ndarray]:
    """(parts, pool of sentences, title part of each note); titles are distinct."""
    parts = Titles(())
    pool = made_pool(parts)
    parts.section = np.asarray([[parts.add(t) for t in _sections(n)] for n in range(len(SUBJECTS))])
    parts.observation = np.asarray([_observed(parts, pool, g) for g in range(len(pool.first))])
    return parts, pool, np.asarray([parts.add(t) for t in _titles(words, subject)])


def _sections(subject: int) -> list[str]:
    rng = random.Random(f"sections/{SUBJECTS[subject].name}")
    found: dict[str, None] = {}
    while len(found) < SECTIONS_A_SUBJECT:
        found[substitute(rng.choice(SECTIONS), fields(rng, SUBJECTS[subject]))] = None
    return list(found)


def _observed(parts: Titles, pool: Pool, group: int) -> list[int]:
    """Every fourth sentence of a group, each under one category."""
    rng = random.Random(f"observations/{group}")
    step = max(int(pool.size[group]) // OBSERVATIONS_A_GROUP, 1)
    numbers = [
        int(pool.first[group]) + n * step % int(pool.size[group])
        for n in range(OBSERVATIONS_A_GROUP)
    ]
    return [parts.once(f"[{rng.choice(CATEGORIES)}] {parts.texts[n]}") for n in numbers]


def _titles(words: random.Random, subject: np.ndarray) -> list[str]:
    """A title a note; one that was taken already is told apart by a number."""
    times: dict[str, int] = {}
    out = []
    for number in subject.tolist():
        title = substitute(words.choice(TITLES), fields(words, SUBJECTS[number]))
        times[title] = times.get(title, 0) + 1
        out.append(title if times[title] == 1 else f"{title} ({times[title]})")
    return out


# ---- A notes replica as numbers: which note has which chunks, and which sentences make each ----

KIND_SHARES = (0.38, 0.28, 0.16, 0.12, 0.06)
"""Notes, agent activity, commits, transcripts, schedules: the mix of the other replica."""
SENTENCES_A_CHUNK = 14
"""What a chunk of 900 characters holds of the pool's sentences, about."""
MOST_SENTENCES = 24
"""More than it can hold."""
# Every prime is a number of sentences through which any stride passes all before one comes again.
_PRIMES = np.asarray(
    [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89]
)
SEPARATOR = 2
"""Characters between two chunks in their note's text, and between a chunk's heading and its body."""


@dataclass(frozen=True, slots=True)
class NotesLayout:
    """Item i is an entity chunk of parts[starts[i]:starts[i + 1]]: its heading, its sentences, its observations.

    `note` (items,) is the note of each item; notes' items follow each other. `kind`, `subject` and `title` (part
    number) are by note; `observations` are (item, part) pairs, `relations` (item, target note, name) triples, both
    ordered by item.
    """

    project: Project
    seed: int
    parts: Titles
    starts: np.ndarray
    part: np.ndarray
    note: np.ndarray
    note_kind: np.ndarray
    note_subject: np.ndarray
    title: np.ndarray
    observations: np.ndarray
    relations: np.ndarray

    @property
    def kind(self) -> np.ndarray:
        """(items,) the kind of each item's note."""
        return self.note_kind[self.note]

    @property
    def bounds(self) -> np.ndarray:
        """(notes + 1,) where each note's items begin, and the end."""
        return np.searchsorted(self.note, np.arange(self.project.notes + 1))

    def parts_of(self, item: int) -> np.ndarray:
        return self.part[self.starts[item] : self.starts[item + 1]]


def make_notes_layout(project: Project, shape: Shape, seed: int) -> NotesLayout:
    """The layout of a project. Raises SpecError where its notes' length cannot be met by its chunks."""
    rng = np.random.default_rng([seed, *project.name.encode()])
    words = random.Random(f"{project.name}/{seed}/notes")
    n = project.notes
    kind = rng.choice(len(KINDS), n, p=KIND_SHARES).astype(np.int8)
    subject = rng.integers(0, len(SUBJECTS), n).astype(np.int8)
    parts, pool, title = note_parts(words, subject)
    observed, related = (
        round(project.chunks * shape.observations),
        round(project.chunks * shape.relations),
    )
    chunks = _chunks_a_note(rng, n, project.chunks - observed - related, shape)
    note = np.repeat(np.arange(n, dtype=np.int32), chunks)
    first = np.cumsum(chunks) - chunks
    observations = _observations(rng, observed, note, kind, subject, parts, pool)
    relations = _relations(rng, related, note, n)
    heading = parts.section[subject[note], rng.integers(0, parts.section.shape[1], len(note))]
    heading[first] = title
    texts = parts.characters
    fixed = texts[heading] + SEPARATOR + _lines(parts, title, len(note), observations, relations)
    drawn = _sentences(rng, shape, note, chunks, pool.groups[kind, subject], pool)
    count = _fill(rng, project, shape, fixed, texts[drawn], first + chunks - 1)
    starts, part = _joined(heading, drawn, count, observations)
    return NotesLayout(
        project, seed, parts, starts, part, note, kind, subject, title, observations, relations
    )


def _chunks_a_note(rng: np.random.Generator, notes: int, total: int, shape: Shape) -> np.ndarray:
    """(notes,) log-normal numbers of chunks, at least 1, that sum to the total."""
    drawn = np.exp(rng.normal(0.0, shape.spread, notes))
    low, high = 0.0, float(total)
    for _ in range(60):
        scale = (low + high) / 2
        made = np.clip(np.floor(drawn * scale), 1, shape.most_chunks)
        low, high = (scale, high) if made.sum() < total else (low, scale)
    made = np.clip(np.floor(drawn * low), 1, shape.most_chunks).astype(np.int64)
    lacking = int(total - made.sum())
    room = np.flatnonzero(made < shape.most_chunks)
    if lacking < 0 or lacking > len(room):
        raise SpecError(f"{total} chunks do not fit in {notes} notes of 1 to {shape.most_chunks}")
    made[rng.permutation(room)[:lacking]] += 1
    return made


def _observations(
    rng: np.random.Generator,
    count: int,
    note: np.ndarray,
    kind: np.ndarray,
    subject: np.ndarray,
    parts: Titles,
    pool: Pool,
) -> np.ndarray:
    """(count, 2) pairs of item and observation part, by item."""
    item = np.sort(rng.integers(0, len(note), count))
    group = pool.groups[kind[note[item]], subject[note[item]]]
    made = parts.observation[group, rng.integers(0, parts.observation.shape[1], count)]
    return np.stack([item, made], axis=1).astype(np.int64).reshape(count, 2)


def _relations(rng: np.random.Generator, count: int, note: np.ndarray, notes: int) -> np.ndarray:
    """(count, 3) triples of item, target note and name, by item."""
    item = np.sort(rng.integers(0, len(note), count))
    made = [item, rng.integers(0, notes, count), rng.integers(0, len(RELATION_NAMES), count)]
    return np.stack(made, axis=1).astype(np.int64).reshape(count, 3)


def _lines(
    parts: Titles, title: np.ndarray, items: int, observations: np.ndarray, relations: np.ndarray
) -> np.ndarray:
    """(items,) the characters that the lists of observations and relations take, line ends included."""
    out = np.zeros(items, np.int64)
    np.add.at(out, observations[:, 0], parts.characters[observations[:, 1]] + len("\n- "))
    target = parts.characters[title[relations[:, 1]]]
    np.add.at(out, relations[:, 0], target + RELATION_LENGTHS[relations[:, 2]] + RELATION_MARKS)
    return out


def _sentences(
    rng: np.random.Generator,
    shape: Shape,
    note: np.ndarray,
    chunks: np.ndarray,
    group: np.ndarray,
    pool: Pool,
) -> np.ndarray:
    """(items, MOST_SENTENCES) sentences in the order in which an item takes them, of its note's own ones."""
    wanted = np.clip(chunks * SENTENCES_A_CHUNK / shape.recurrence, shape.least_own, _PRIMES[-1])
    own = _PRIMES[np.searchsorted(_PRIMES, wanted, side="right") - 1]
    size = pool.size[group]
    own = np.minimum(own, _PRIMES[np.searchsorted(_PRIMES, size, side="right") - 1])
    # Two walks: through the note's own sentences, and from those to its group's by a stride of the note's.
    jump = np.asarray([s for s in (1, 5, 7, 11, 13, 17, 19, 23)])[rng.integers(0, 8, len(chunks))]
    offset = rng.integers(0, 96, len(chunks))
    start = rng.integers(0, 10_000, len(note))
    stride = 1 + rng.integers(0, 10_000, len(note)) % np.maximum(own[note] - 1, 1)
    step = (start[:, None] + stride[:, None] * np.arange(MOST_SENTENCES)) % own[note][:, None]
    place = (offset[note][:, None] + jump[note][:, None] * step) % size[note][:, None]
    return (pool.first[group[note]][:, None] + place).astype(np.int32)


def _fill(
    rng: np.random.Generator,
    project: Project,
    shape: Shape,
    fixed: np.ndarray,
    lengths: np.ndarray,
    last: np.ndarray,
) -> np.ndarray:
    """(items,) how many sentences each item takes, so that the notes' text has the wanted characters in all."""
    wanted = project.notes * project.characters - SEPARATOR * (len(fixed) - project.notes)
    grown = np.cumsum(lengths + 1, axis=1) - 1
    short = np.ones(len(fixed))
    short[last] = rng.uniform(0.15, 1.0, len(last))

    def count_for(cap: float) -> np.ndarray:
        room = np.minimum(cap, shape.chunk_characters) * short - fixed
        return (grown <= room[:, None]).sum(axis=1).clip(1)

    def total(count: np.ndarray) -> int:
        return int(fixed.sum() + np.take_along_axis(grown, count[:, None] - 1, axis=1).sum())

    low, high = 1.0, float(shape.chunk_characters)
    for _ in range(30):
        cap = (low + high) / 2
        low, high = (cap, high) if total(count_for(cap)) < wanted else (low, cap)
    count = count_for(high)
    # What is too much by now is less than a character a chunk: so many items give their last sentence.
    count[_givers(rng, grown, count, total(count) - wanted)] -= 1
    if abs(total(count) - wanted) > project.notes / 2:
        raise SpecError(
            f"{len(fixed)} chunks of at most {shape.chunk_characters} characters give notes of "
            f"{round(total(count) / project.notes)} characters, not {project.characters}",
            where=project.name,
        )
    return count


def _givers(
    rng: np.random.Generator, grown: np.ndarray, count: np.ndarray, excess: int
) -> np.ndarray:
    """The items whose last sentences have together as many characters as are too much, where any have."""
    open_ = rng.permutation(np.flatnonzero(count > 1))
    lengths = grown[open_, count[open_] - 1] - grown[open_, count[open_] - 2]
    take = int(np.searchsorted(np.cumsum(lengths), excess, side="right"))
    rest = excess - int(lengths[:take].sum())
    # One that gives is exchanged for one that has the missing characters more.
    longer = {int(length): n for n, length in enumerate(lengths[take:], take)}
    for n in range(take):
        if int(lengths[n]) + rest in longer:
            open_[[n, longer[int(lengths[n]) + rest]]] = open_[[longer[int(lengths[n]) + rest], n]]
            break
    return open_[:take]


def _joined(
    heading: np.ndarray, drawn: np.ndarray, count: np.ndarray, observations: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(starts, parts): heading, sentences, observations, item by item."""
    items = len(heading)
    held = np.bincount(observations[:, 0], minlength=items)
    size = 1 + count + held
    starts = np.zeros(items + 1, np.int64)
    np.cumsum(size, out=starts[1:])
    part = np.empty(int(starts[-1]), np.int32)
    part[starts[:-1]] = heading
    row = np.repeat(np.arange(items), count)
    step = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    part[starts[row] + 1 + step] = drawn[row, step]
    nth = np.arange(len(observations)) - (np.cumsum(held) - held)[observations[:, 0]]
    part[starts[observations[:, 0]] + 1 + count[observations[:, 0]] + nth] = observations[:, 1]
    return starts, part
