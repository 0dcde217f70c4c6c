"""From a plan to parts: which heading, which carriers and which sentences every chunk gets, by the generator's draws."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from workbench.bm25 import K1, B, idf
from workbench.sources.replica.parts import (
    Headings,
    Parts,
    Pool,
    carriers,
    foreign_pool,
    made_pool,
    phrased,
)
from workbench.sources.replica.spec import (
    Filler,
    Group,
    Incident,
    KnownRow,
    Phrase,
    SpecError,
    TargetChunk,
)
from workbench.sources.replica.wording import KINDS, ROMANIAN, SUBJECTS, pool, romanian_turn
from workbench.text import DEFAULT

# ---- Chunks of a captured incident: texts with exactly the recorded length and term counts, ----

# A mark that no query is made of by accident stands between bare terms, so that they form no phrase.
BETWEEN = " · "
PAD_WORDS = tuple(
    [
        "amber",
        "basil",
        "cedar",
        "dune",
        "ember",
        "fern",
        "grove",
        "heath",
        "iris",
        "juniper",
        "kelp",
        "larch",
        "moss",
        "nettle",
        "oak",
        "pine",
    ]
)


def known_row(
    incident: Incident, row: KnownRow, parts: Parts, sentences: Pool, rng: random.Random
) -> list[int]:
    """The parts of one recorded chunk. A verbatim one begins with the first query's text."""
    out: list[int] = []
    left = {t: c for t, c in zip(incident.terms, row.tf, strict=True) if c}
    length = row.length
    if row.verbatim == "content":
        phrase = incident.queries[0].text
        out.append(parts.add(phrase))
        length -= parts.length_of(phrase)
        for term in DEFAULT.terms(phrase):
            left[term] = left.get(term, 0) - 1
        if min(left.values(), default=0) < 0 or length < 0:
            raise SpecError(
                f"the chunk at {row.position} holds the query verbatim, but not all its terms",
                where=incident.name,
            )
    bare = [t for t, c in left.items() for _ in range(c)]
    if bare:
        out.append(parts.add(BETWEEN.join(reversed(bare))))
        length -= len(bare)
    group = rng.randrange(len(sentences.first))
    at = rng.randrange(int(sentences.size[group]))
    lengths = parts.lengths_so_far
    while length > 0:
        number = int(sentences.first[group]) + at
        if lengths[number] > length:
            break
        out.append(number)
        length -= lengths[number]
        at = (at + 1) % int(sentences.size[group])
    if length:
        out.append(pad(parts, length))
    # A chunk without terms still has a text.
    return out or [parts.once("…")]


def pad(parts: Parts, words: int) -> int:
    """A part of exactly that many uncounted words."""
    free = [w for w in PAD_WORDS if not parts.held(w)]
    return parts.once(" ".join(free[n % len(free)] for n in range(words)))


# ---- How long made chunks are, in terms: log-normal, cut at both ends, with the mean that t ----

ROUNDS = 20


def draw_lengths(
    rng: np.random.Generator, rows: int, mean: float, filler: Filler, least: np.ndarray
) -> np.ndarray:
    """(rows,) whole lengths: log-normal with the filler's spread, cut to [shortest, longest] and not below
    `least` (rows,), scaled until their mean is `mean` as nearly as the cuts allow."""
    shape = np.exp(rng.normal(0.0, filler.spread, rows))
    low = np.maximum(filler.shortest, least)
    scale = mean / shape.mean() if rows else 1.0
    lengths = shape
    for _ in range(ROUNDS):
        lengths = np.clip(shape * scale, low, np.maximum(filler.longest, low))
        if not rows or abs(lengths.mean() - mean) < 0.01:
            break
        scale *= mean / lengths.mean()
    return np.rint(lengths).astype(np.int32)


def filler_mean(
    average: float, size: int, fixed_terms: float, fixed_rows: int, filler: Filler
) -> float:
    """The mean length of the filler that brings all chunks to `average`, given those whose length is fixed."""
    rows = size - fixed_rows
    return max((average * size - fixed_terms) / rows, float(filler.shortest)) if rows else 0.0


# ---- Which chunk stands where and holds which counted terms: exact document frequencies, ex ----

# What an item is made as, in `Plan.make`; a group's number is its place in the incident, from 0.
FILLER, TARGET, DECOY, KNOWN = -1, -2, -3, -4


@dataclass(frozen=True, slots=True)
class Plan:
    """Items in the order they were planned; `place` is each one's 0-based place in point-id order.

    `mask` (n,) uint32 has bit t set where the item holds counted term t; `make` (n,) int16.
    """

    mask: np.ndarray
    make: np.ndarray
    place: np.ndarray

    @property
    def order(self) -> np.ndarray:
        """(n,) the item that stands at each place."""
        out = np.empty(len(self.place), np.int32)
        out[self.place] = np.arange(len(self.place), dtype=np.int32)
        return out


def mask_of(terms: Sequence[str] | frozenset[str], counted: Sequence[str]) -> int:
    """The set of terms as a number, bit t for counted term t."""
    return sum(1 << n for n, term in enumerate(counted) if term in terms)


def make_plan(incident: Incident, rng: np.random.Generator, target_masks: Sequence[int]) -> Plan:
    """The plan of an incident. Raises SpecError where its counts cannot be met together."""
    counted = tuple(incident.terms)
    classes: list[tuple[int, int, int, tuple[int, int]]] = []  # make, mask, rows, range of places
    whole = (0, incident.size)
    known = incident.captured.rows if incident.captured else ()
    if incident.decoy:
        decoy = mask_of(DEFAULT.query_terms(incident.queries[0].text), counted)
        classes.append((DECOY, decoy, 1, whole))
    for n, group in enumerate(incident.groups):
        low, high = (int(f * incident.size) for f in group.within)
        classes.append((n, mask_of(group.holds, counted), group.rows, (low, high)))
    for cell in incident.cells:
        classes.append((FILLER, mask_of(cell.holds, counted), cell.rows, whole))
    fixed = [*target_masks, *(_mask_of_counts(r.tf) for r in known)]
    classes += _singles(incident, classes, fixed)
    classes = [_after(c, incident) for c in classes if c[2]]

    place, free = [], np.ones(incident.size, bool)
    target = incident.target.position - 1
    at = [target + n for n in range(len(target_masks))] + [r.position - 1 for r in known]
    if len(set(at)) < len(at) or max(at, default=0) >= incident.size:
        raise SpecError(
            "two chunks stand at one place, or one stands outside the collection",
            where=incident.name,
        )
    free[at] = False
    placed: list[np.ndarray] = [np.empty(0, np.int64)] * len(classes)
    # The narrowest range first; equal ranges in the order they were named.
    for n in sorted(range(len(classes)), key=lambda n: (classes[n][3][1] - classes[n][3][0], n)):
        _, _, rows, (low, high) = classes[n]
        open_places = low + np.flatnonzero(free[low:high])
        if len(open_places) < rows:
            raise SpecError(
                f"{rows} chunks do not fit in places {low} to {high}", where=incident.name
            )
        placed[n] = rng.choice(open_places, rows, replace=False, shuffle=True)
        free[placed[n]] = False
    makes = [np.full(len(target_masks), TARGET), np.full(len(known), KNOWN)]
    makes += [np.full(rows, make) for make, _, rows, _ in classes]
    masks = [np.asarray(fixed, np.uint32)] + [
        np.full(rows, mask, np.uint32) for _, mask, rows, _ in classes
    ]
    place = np.concatenate([np.asarray(at, np.int64), *placed])
    return Plan(
        np.concatenate(masks), np.concatenate(makes).astype(np.int16), place.astype(np.int32)
    )


def _mask_of_counts(tf: Sequence[int]) -> int:
    return sum(1 << n for n, count in enumerate(tf) if count)


def _singles(
    incident: Incident, classes: list[tuple[int, int, int, tuple[int, int]]], fixed: Sequence[int]
) -> list[tuple[int, int, int, tuple[int, int]]]:
    """What remains of every term's count as chunks that hold it alone, and the chunks that hold none."""
    out, whole = [], (0, incident.size)
    for n, (term, df) in enumerate(incident.terms.items()):
        bit = 1 << n
        used = sum(rows for _, mask, rows, _ in classes if mask & bit) + sum(
            1 for m in fixed if m & bit
        )
        if used > df:
            raise SpecError(
                f"{term!r} is asked for in {df} chunks, but groups, cells and target hold {used}",
                where=incident.name,
                do="Raise its count or lower theirs",
            )
        out.append((FILLER, bit, df - used, whole))
    used = len(fixed) + sum(rows for _, _, rows, _ in [*classes, *out])
    if used > incident.size:
        raise SpecError(
            f"{used} chunks are asked for in a collection of {incident.size}",
            where=incident.name,
            do="Let more terms stand together, in [[cell]]",
        )
    out.append((FILLER, 0, incident.size - used, whole))
    return out


def _after(
    planned: tuple[int, int, int, tuple[int, int]], incident: Incident
) -> tuple[int, int, int, tuple[int, int]]:
    """The class with its places after those recorded for its terms, in a captured incident."""
    if not incident.captured:
        return planned
    make, mask, rows, (low, high) = planned
    after: Mapping[str, int] = incident.captured.after
    first = max((after.get(t, 0) for n, t in enumerate(incident.terms) if mask >> n & 1), default=0)
    asked = mask_of(DEFAULT.query_terms(incident.queries[0].text), tuple(incident.terms))
    if mask & asked == asked:
        first = max(first, incident.captured.after_all)
    return make, mask, rows, (max(low, first), high)


# ---- From a plan to parts: which heading, which carriers and which sentences every chunk ge ----

KIND_SHARES = (0.38, 0.28, 0.16, 0.12, 0.06)
"""Notes, agent activity, commits, transcripts, schedules: a chosen mix."""
SUBJECTS_A_PROJECT = 3
DECOY_AVERAGES = 3.0
"""A decoy is longer than the target, so that the target stays lexically first."""
MOST_OVER = 0.01
"""How far a captured average may be missed, as a share of it: scores then move by less than that."""
BELOW = 0.001
"""Share of a recorded BM25 ceiling by which filler stays under it: more than rounding a length moves a score."""
CAPTURED_SLACK = 2.0
"""Terms by which a captured incident's filler is drawn too short, then filled up to the exact average."""


@dataclass(slots=True)
class Pieces:
    """Parts collected out of order: item, where in the item (0 to 1), part."""

    item: list[np.ndarray]
    where: list[np.ndarray]
    part: list[np.ndarray]

    def put(self, item: np.ndarray, where: np.ndarray | float, part: np.ndarray) -> None:
        self.item.append(np.asarray(item, np.int64))
        self.where.append(np.broadcast_to(np.asarray(where, np.float64), self.item[-1].shape))
        self.part.append(np.asarray(part, np.int32))

    def sorted(self, items: int) -> tuple[np.ndarray, np.ndarray]:
        """(starts, parts): the parts item by item, each in its order; parts of one place as they were put."""
        item, part = np.concatenate(self.item), np.concatenate(self.part)
        order = np.argsort(item + np.concatenate(self.where) * 0.999, kind="stable")
        starts = np.zeros(items + 1, np.int64)
        np.cumsum(np.bincount(item, minlength=items), out=starts[1:])
        return starts, part[order]


class Builder:
    """Draws kinds, projects, subjects and parts for all items of a plan, in one fixed order of draws."""

    def __init__(
        self,
        incident: Incident,
        plan: Plan,
        parts: Parts,
        sentences: Pool,
        rng: np.random.Generator,
        words: random.Random,
        average: float,
    ) -> None:
        self.incident, self.plan, self.parts, self.pool = incident, plan, parts, sentences
        self.rng, self.words, self.average = rng, words, average
        self.n = len(plan.make)
        self.counted = tuple(incident.terms)
        self.projects: list[str] = []
        self.kind = np.zeros(self.n, np.int8)
        self.project = np.zeros(self.n, np.int16)
        self.subject = np.zeros(self.n, np.int8)
        self.pieces = Pieces([], [], [])
        self.stride = [s.astype(np.int64) for s in sentences.strides]
        self.sentence_mean = np.asarray(
            [
                parts.lengths[f : f + s].mean()
                for f, s in zip(sentences.first, sentences.size, strict=True)
            ]
        )

    def build(self, target: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """(starts, parts) of all items; `target` are the target's own parts."""
        make = self.plan.make
        at = np.flatnonzero(make == TARGET)
        self.pieces.put(at, 0.0, np.asarray(target, np.int32))
        self.project[at] = self._project(self.incident.target.project)
        self.kind[at] = KINDS.index("transcript")
        for n, group in enumerate(self.incident.groups):
            self._group(np.flatnonzero(make == n), group)
        if self.incident.captured:
            self._known(np.flatnonzero(make == KNOWN))
        fixed_items = np.concatenate([*self.pieces.item, np.empty(0, np.int64)])
        fixed_terms = self.parts.lengths[
            np.concatenate([*self.pieces.part, np.empty(0, np.int32)])
        ].sum()
        self._filler(
            np.flatnonzero((make == FILLER) | (make == DECOY)),
            int(fixed_terms),
            len(np.unique(fixed_items)),
        )
        return self.pieces.sorted(self.n)

    def _project(self, name: str) -> int:
        if name not in self.projects:
            self.projects.append(name)
        return self.projects.index(name)

    # -- groups and recorded chunks -----------------------------------------------------------------------------
    def _group(self, items: np.ndarray, group: Group) -> None:
        rows = len(items)
        self.kind[items] = KINDS.index(group.kind)
        numbers = np.asarray([self._project(p) for p in group.projects])
        self.project[items] = numbers[self.rng.integers(0, len(numbers), rows)]
        self.subject[items] = self.rng.integers(0, len(SUBJECTS), rows)
        for item in items:
            project = self.projects[self.project[item]]
            made = self.parts.heading(self.words, group.headings, group.holds, project)
            if made is None:
                raise SpecError(
                    f"no heading of group {group.name!r} holds exactly {', '.join(sorted(group.holds)) or 'none'} of the counted terms",
                    where=self.incident.name,
                )
            self.pieces.put(np.asarray([item]), 0.0, np.asarray([self.parts.add(*made)]))
        low, high = group.sentences
        count = self.rng.integers(low, high + 1, rows)
        if not group.bodies:
            self._sentences(items, count, np.arange(rows), np.zeros(rows, bool))
            return
        made = [
            self.parts.add(self.parts.plain(self.words, group.bodies))
            for _ in range(int(count.sum()))
        ]
        self.pieces.put(np.repeat(items, count), 0.5, np.asarray(made, np.int32))

    def _known(self, items: np.ndarray) -> None:
        for item, row in zip(items, self.incident.captured.rows, strict=True):
            self.project[item] = self._project(row.project)
            chosen = known_row(self.incident, row, self.parts, self.pool, self.words)
            self.pieces.put(np.full(len(chosen), item), 0.0, np.asarray(chosen))

    # -- filler -------------------------------------------------------------------------------------------------
    def _filler(self, items: np.ndarray, fixed_terms: int, fixed_rows: int) -> None:
        filler, rows, mask = self.incident.filler, len(items), self.plan.mask[items]
        copies, exact = self._copies(mask)
        numbers = np.asarray([self._project(p) for p in filler.projects])
        kind = self.rng.choice(len(KINDS), rows, p=KIND_SHARES)[copies]
        project = self.rng.integers(0, len(numbers), rows)[copies]
        subject = (
            (project * SUBJECTS_A_PROJECT + self.rng.integers(0, SUBJECTS_A_PROJECT, rows))
            % len(SUBJECTS)
        )[copies]
        project = numbers[project]
        if filler.first_project:
            project[self.plan.place[items] < filler.first_share * self.n] = self._project(
                filler.first_project
            )
        self.kind[items], self.project[items], self.subject[items] = kind, project, subject

        mean = filler_mean(self.average, self.n, fixed_terms, fixed_rows, filler)
        slack = CAPTURED_SLACK if self.incident.captured else 0.0
        length = draw_lengths(
            self.rng, rows, mean - slack, filler, self._least(mask, self.plan.make[items])
        )[copies]
        spent = self._headings(items, mask, exact, copies)
        groups = self.pool.groups[kind, subject]
        fitting = (length - spent) / self.sentence_mean[groups]
        # A captured collection's lengths are met exactly, by words where no whole sentence fits.
        count = (
            np.floor(fitting).clip(0) if self.incident.captured else np.rint(fitting).clip(1)
        ).astype(np.int64)
        self._sentences(items, count, copies, ~exact & (copies != np.arange(rows)))
        for phrase in self.incident.phrases:
            self._phrase(items, phrase)
        if self.incident.captured and rows:
            self._fill_up(items, length)

    def _phrase(self, items: np.ndarray, phrase: Phrase) -> None:
        if phrase.rows > len(items):
            raise SpecError(
                f"{phrase.text!r} cannot stand in {phrase.rows} of {len(items)} filler chunks",
                where=self.incident.name,
            )
        at = self.rng.choice(items, phrase.rows, replace=False)
        made = phrased(self.incident, self.parts, phrase)
        self.pieces.put(
            at, self.rng.random(len(at)), made[self.rng.integers(0, len(made), len(at))]
        )

    def _copies(self, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """By filler item, the item it is drawn like (itself where it is no duplicate), and whether exactly so.

        A duplicate is one of the nearest original before it that holds the same terms.
        """
        rows = len(mask)
        filler = self.incident.filler
        draw = self.rng.random(rows)
        copied = draw < filler.near_duplicates + filler.exact_duplicates
        copied[np.flatnonzero(np.r_[True, mask[1:] != mask[:-1]])[:rows]] = False
        source = (
            np.maximum.accumulate(np.where(copied, 0, np.arange(rows))) if rows else np.arange(0)
        )
        return source, copied & (draw < filler.exact_duplicates)

    def _least(self, mask: np.ndarray, make: np.ndarray) -> np.ndarray:
        """The least length by the number of counted terms held, and a decoy's."""
        by_terms = np.asarray(
            [*self.incident.filler.least_length, 0.0]
            if not self.incident.filler.least_length
            else self.incident.filler.least_length
        )
        held = np.bitwise_count(mask).clip(max=len(by_terms) - 1)
        least = np.where(make == DECOY, DECOY_AVERAGES, by_terms[held])
        if self.incident.captured and self.incident.captured.bm25_ceiling:
            least = np.maximum(least, self._below_ceiling(mask))
        return least * self.average

    def _below_ceiling(self, mask: np.ndarray) -> np.ndarray:
        """The length in averages from which on a chunk that holds each of its terms once scores below the recorded
        ceiling: score = Σ idf · (k1 + 1) / (1 + k1 (1 − b + b · length)), solved for the length."""
        best = sum(
            (mask >> n & 1) * idf(self.n, df) for n, df in enumerate(self.incident.terms.values())
        )
        ceiling = self.incident.captured.bm25_ceiling * (1 - BELOW)
        return np.maximum(((best * (K1 + 1) / ceiling - 1) / K1 - 1 + B) / B, 0.0)

    def _headings(
        self, items: np.ndarray, mask: np.ndarray, exact: np.ndarray, copies: np.ndarray
    ) -> np.ndarray:
        """Puts headings and carriers; returns the terms that they take of each item."""
        headings = Headings(self.incident, self.parts)
        pick = self.rng.random(len(items))
        pick[exact] = pick[copies[exact]]
        where = self.rng.random((len(items), len(self.counted)))
        chosen, carried = np.zeros(len(items), np.int64), np.zeros(len(items), np.uint32)
        combined = (
            (self.kind[items].astype(np.int64) << 48)
            | (self.project[items].astype(np.int64) << 32)
            | mask
        )
        for key, at in _by_value(combined):
            kind, project, held = key >> 48, (key >> 32) & 0xFFFF, key & 0xFFFFFFFF
            numbers, carried[at] = headings.of(int(kind), self.projects[project], int(held))
            chosen[at] = numbers[(pick[at] * len(numbers)).astype(np.int64)]
        self.pieces.put(items, 0.0, chosen)
        spent = self.parts.lengths[chosen].astype(np.int64)
        for n, term in enumerate(self.counted):
            at = np.flatnonzero((mask & ~carried) >> n & 1)
            if len(at):
                numbers = carriers(self.incident, self.parts, term)
                part = numbers[(pick[at] * 997 % 1 * len(numbers)).astype(np.int64)]
                self.pieces.put(items[at], where[at, n], part)
                spent[at] += self.parts.lengths[part]
        return spent

    def _sentences(
        self, items: np.ndarray, count: np.ndarray, copies: np.ndarray, near: np.ndarray
    ) -> None:
        """Puts `count` sentences of each item's group: a start and a stride, so that none comes twice before all
        have come; a near duplicate ends with another sentence than its original."""
        rows = len(items)
        groups = self.pool.groups[self.kind[items], self.subject[items]]
        size = self.pool.size[groups]
        start = (self.rng.random(rows) * size).astype(np.int64)[copies]
        stride = np.ones(rows, np.int64)
        draw = self.rng.random(rows)
        for group, at in _by_value(groups):
            steps = self.stride[group]
            stride[at] = steps[(draw[at] * len(steps)).astype(np.int64)]
        stride = stride[copies]
        row = np.repeat(np.arange(rows), count)
        step = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
        where = (step + 1) / (count[row] + 2)
        step = step + ((step == count[row] - 1) & near[row])
        part = self.pool.first[groups][row] + (start[row] + stride[row] * step) % size[row]
        self.pieces.put(items[row], where, part)

    def _fill_up(self, items: np.ndarray, length: np.ndarray) -> None:
        """Adds words to the filler until every chunk is as long as drawn, and then until the collection's average
        length is exactly the recorded one."""
        made = self.parts.lengths[np.concatenate(self.pieces.part)]
        by_item = np.bincount(np.concatenate(self.pieces.item), made, self.n).astype(np.int64)
        words = (length - by_item[items]).clip(0)
        lacking = round(self.average * self.n) - int(by_item.sum()) - int(words.sum())
        if -lacking > MOST_OVER * self.average * self.n:
            raise SpecError(
                f"the filler cannot be as short as an average of {self.average:.1f} terms asks for",
                where=self.incident.name,
            )
        if lacking > 0:
            words += lacking // len(items) + (np.arange(len(items)) < lacking % len(items))
        for size, at in _by_value(words):
            if size:
                self.pieces.put(items[at], 1.0, np.full(len(at), pad(self.parts, size)))


def _by_value(values: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """Each distinct value and where it stands, values ascending."""
    order = np.argsort(values, kind="stable")
    edges = (
        np.flatnonzero(np.r_[True, np.diff(values[order]) != 0])
        if len(values)
        else np.empty(0, np.int64)
    )
    return [(int(values[at[0]]), at) for at in np.split(order, edges[1:]) if len(at)]


# ---- The text of the memory that was looked for: its title, then a conversation, in chunks  ----


def target_texts(
    incident: Incident, parts: Parts, seed: int, terms: int | None = None
) -> list[str]:
    """The target's chunks. With `terms` the first one talks until it is that many terms long, whatever its
    characters. Raises SpecError where a chunk's conversation would hold a counted term that is not asked for."""
    rng = random.Random(f"{incident.name}/{seed}/target")
    turns = _Turns(rng, incident, parts)
    out = []
    for n, chunk in enumerate(incident.target.chunks):
        head = f"{incident.target.title}\n\n" if n == 0 and incident.target.title else ""
        out.append((head + turns.until(chunk, len(head), terms if n == 0 else None)).rstrip())
    return out


class _Turns:
    """Speakers who alternate; what they say holds no counted term unless the incident says so."""

    def __init__(self, rng: random.Random, incident: Incident, parts: Parts) -> None:
        self._rng, self._parts = rng, parts
        romanian_spoken = incident.target.language == "ro"
        self._openers = list(ROMANIAN["openers"]) if romanian_spoken else []
        said = [
            s.split(": ", 1)[1] for subject in SUBJECTS for s in pool()["transcript", subject.name]
        ]
        self._make = (lambda: romanian_turn(rng)) if romanian_spoken else (lambda: rng.choice(said))
        self._speaker = ""

    def until(self, chunk: TargetChunk, begun: int, terms: int | None) -> str:
        """Turns, one a line, until the chunk is long enough; what it must say comes within its first third."""
        lines: list[str] = []
        length = spoken = 0
        must = list(chunk.says)
        while (length < terms) if terms else (begun + spoken < chunk.characters):
            if must and (spoken * 3 >= chunk.characters or len(lines) == 3):
                lines.append(must.pop(0))
            else:
                lines.append(self._turn())
            spoken += len(lines[-1]) + 1
            length += len(DEFAULT.terms(lines[-1]))
        return "\n".join([*lines, *must])

    def _turn(self) -> str:
        for _ in range(100):
            text = self._openers.pop(0) if self._openers else self._make()
            if not self._parts.held(text):
                self._speaker = self._rng.choice(
                    [s for s in ROMANIAN["speakers"] if s != self._speaker]
                )
                return f"{self._speaker}: {text}"
        raise SpecError("every turn of the target's conversation holds a counted term")


# ---- The whole collection as numbers: which parts make each chunk, and what follows from th ----


@dataclass(frozen=True, slots=True)
class Layout:
    """Item i is made of parts[starts[i]:starts[i + 1]], in that order; its first part is its heading.

    `drawn_by(seed)` is the layout that another seed makes of the same incident and filler.
    `kind`, `project` (numbers into `projects`), `subject`, `length` (terms) and `tf` (n, counted terms) are by
    item; `order` is the item at each place in point-id order.
    """

    incident: Incident
    seed: int
    plan: Plan
    parts: Parts
    starts: np.ndarray
    part: np.ndarray
    kind: np.ndarray
    project: np.ndarray
    projects: tuple[str, ...]
    subject: np.ndarray
    length: np.ndarray
    tf: np.ndarray
    order: np.ndarray
    drawn_by: Callable[[int], Layout]

    def parts_of(self, item: int) -> np.ndarray:
        return self.part[self.starts[item] : self.starts[item + 1]]

    @property
    def average(self) -> float:
        """The average length in terms over all chunks."""
        return float(self.length.mean())

    @property
    def target(self) -> tuple[int, ...]:
        """The target's items, in chunk order."""
        first = self.incident.target.position - 1
        return tuple(int(i) for i in self.order[first : first + len(self.incident.target.chunks)])

    def bm25(self, text: str) -> np.ndarray:
        """(n,) exact BM25 of every item for a query whose terms are all counted."""
        scores = np.zeros(len(self.length))
        norm = K1 * (1 - B + B * self.length / self.average)
        for term in DEFAULT.query_terms(text):
            tf = self.tf[:, list(self.incident.terms).index(term)].astype(np.float64)
            df = self.incident.terms[term]
            scores += idf(len(scores), df) * tf * (K1 + 1) / (tf + norm)
        return scores


def make_layout(
    incident: Incident,
    seed: int,
    filler: Callable[[], Iterable[str]] | None = None,
    target_averages: float | None = None,
) -> Layout:
    """The layout of an incident by a seed, its counts verified.

    `target_averages` makes the target's first chunk that many average lengths long, all else as it was; whether
    it is lexically first is then not checked, but what is asked. Raises SpecError where the counts cannot be met
    or the target is not lexically first where the incident says so.
    """
    layout = _made(incident, seed, filler, target_averages)
    _verify_counts(layout)
    if not target_averages:
        _verify_first(layout)
    return layout


def _made(
    incident: Incident,
    seed: int,
    filler: Callable[[], Iterable[str]] | None,
    target_averages: float | None,
) -> Layout:
    counted = tuple(incident.terms)
    parts = Parts(counted)
    rng = np.random.default_rng([seed, *incident.name.encode()])
    words = random.Random(f"{incident.name}/{seed}/words")
    texts = [] if incident.captured else target_texts(incident, parts, seed)
    average = incident.filler.average_terms or parts.length_of(texts[0]) / (
        incident.filler.average_by_target or 1
    )
    if target_averages:
        texts = target_texts(incident, parts, seed, round(target_averages * average))
    target = [parts.add(t, incident.target.created) for t in texts]
    sentences = made_pool(parts) if filler is None else foreign_pool(parts, filler(), seed)
    plan = make_plan(incident, rng, [mask_of(parts.held(t), counted) for t in texts])
    builder = Builder(incident, plan, parts, sentences, rng, words, average)
    starts, part = builder.build(target)
    layout = Layout(
        incident,
        seed,
        plan,
        parts,
        starts,
        part,
        builder.kind,
        builder.project,
        tuple(builder.projects),
        builder.subject,
        np.add.reduceat(parts.lengths[part], starts[:-1]),
        np.add.reduceat(parts.tf[part], starts[:-1], axis=0),
        plan.order,
        lambda other: layout if other == seed else _made(incident, other, filler, target_averages),
    )
    return layout


def _verify_counts(layout: Layout) -> None:
    incident = layout.incident
    for n, (term, df) in enumerate(incident.terms.items()):
        made = int((layout.tf[:, n] > 0).sum())
        if made != df:
            raise SpecError(
                f"{term!r} stands in {made} chunks in place of {df}", where=incident.name
            )


def _verify_first(layout: Layout) -> None:
    incident = layout.incident
    for query_id in incident.checks.lexically_first:
        scores = layout.bm25(incident.query(query_id).text)
        target = layout.target[0]
        above = int((scores > scores[target]).sum()) + int((scores == scores[target]).sum()) - 1
        if above:
            raise SpecError(
                f"{above} chunks score as high as the target or higher for query {query_id!r} by BM25",
                where=incident.name,
                do="Raise [filler] least_length, or let fewer terms stand together",
            )
