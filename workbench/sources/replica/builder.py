"""From a plan to parts: which heading, which carriers and which sentences every chunk gets, by the generator's draws."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from workbench.bm25 import K1, B, idf
from workbench.sources.replica.headings import Headings, carriers, phrased
from workbench.sources.replica.known import known_row, pad
from workbench.sources.replica.lengths import draw_lengths, filler_mean
from workbench.sources.replica.parts import Parts
from workbench.sources.replica.plan import DECOY, FILLER, KNOWN, TARGET, Plan
from workbench.sources.replica.pool import Pool
from workbench.sources.replica.sentences import KINDS
from workbench.sources.replica.spec import Group, Incident, Phrase
from workbench.sources.replica.tables import SpecError
from workbench.sources.replica.words import SUBJECTS

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
        self, incident: Incident, plan: Plan, parts: Parts, sentences: Pool,
        rng: np.random.Generator, words: random.Random, average: float,
    ) -> None:  # fmt: skip
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
            [parts.lengths[f : f + s].mean() for f, s in zip(sentences.first, sentences.size, strict=True)]
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
        fixed_terms = self.parts.lengths[np.concatenate([*self.pieces.part, np.empty(0, np.int32)])].sum()
        self._filler(np.flatnonzero((make == FILLER) | (make == DECOY)), int(fixed_terms), len(np.unique(fixed_items)))
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
                raise SpecError(f"no heading of group {group.name!r} holds exactly {', '.join(sorted(group.holds)) or 'none'} of the counted terms",
                                where=self.incident.name)  # fmt: skip
            self.pieces.put(np.asarray([item]), 0.0, np.asarray([self.parts.add(*made)]))
        low, high = group.sentences
        count = self.rng.integers(low, high + 1, rows)
        if not group.bodies:
            self._sentences(items, count, np.arange(rows), np.zeros(rows, bool))
            return
        made = [self.parts.add(self.parts.plain(self.words, group.bodies)) for _ in range(int(count.sum()))]
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
        subject = ((project * SUBJECTS_A_PROJECT + self.rng.integers(0, SUBJECTS_A_PROJECT, rows)) % len(SUBJECTS))[copies]
        project = numbers[project]
        if filler.first_project:
            project[self.plan.place[items] < filler.first_share * self.n] = self._project(filler.first_project)
        self.kind[items], self.project[items], self.subject[items] = kind, project, subject

        mean = filler_mean(self.average, self.n, fixed_terms, fixed_rows, filler)
        slack = CAPTURED_SLACK if self.incident.captured else 0.0
        length = draw_lengths(self.rng, rows, mean - slack, filler, self._least(mask, self.plan.make[items]))[copies]
        spent = self._headings(items, mask, exact, copies)
        groups = self.pool.groups[kind, subject]
        fitting = (length - spent) / self.sentence_mean[groups]
        # A captured collection's lengths are met exactly, by words where no whole sentence fits.
        count = (np.floor(fitting).clip(0) if self.incident.captured else np.rint(fitting).clip(1)).astype(np.int64)
        self._sentences(items, count, copies, ~exact & (copies != np.arange(rows)))
        for phrase in self.incident.phrases:
            self._phrase(items, phrase)
        if self.incident.captured and rows:
            self._fill_up(items, length)

    def _phrase(self, items: np.ndarray, phrase: Phrase) -> None:
        if phrase.rows > len(items):
            raise SpecError(f"{phrase.text!r} cannot stand in {phrase.rows} of {len(items)} filler chunks",
                            where=self.incident.name)  # fmt: skip
        at = self.rng.choice(items, phrase.rows, replace=False)
        made = phrased(self.incident, self.parts, phrase)
        self.pieces.put(at, self.rng.random(len(at)), made[self.rng.integers(0, len(made), len(at))])

    def _copies(self, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """By filler item, the item it is drawn like (itself where it is no duplicate), and whether exactly so.

        A duplicate is one of the nearest original before it that holds the same terms.
        """
        rows = len(mask)
        filler = self.incident.filler
        draw = self.rng.random(rows)
        copied = draw < filler.near_duplicates + filler.exact_duplicates
        copied[np.flatnonzero(np.r_[True, mask[1:] != mask[:-1]])[:rows]] = False
        source = np.maximum.accumulate(np.where(copied, 0, np.arange(rows))) if rows else np.arange(0)
        return source, copied & (draw < filler.exact_duplicates)

    def _least(self, mask: np.ndarray, make: np.ndarray) -> np.ndarray:
        """The least length by the number of counted terms held, and a decoy's."""
        by_terms = np.asarray([*self.incident.filler.least_length, 0.0] if not self.incident.filler.least_length
                              else self.incident.filler.least_length)  # fmt: skip
        held = np.bitwise_count(mask).clip(max=len(by_terms) - 1)
        least = np.where(make == DECOY, DECOY_AVERAGES, by_terms[held])
        if self.incident.captured and self.incident.captured.bm25_ceiling:
            least = np.maximum(least, self._below_ceiling(mask))
        return least * self.average

    def _below_ceiling(self, mask: np.ndarray) -> np.ndarray:
        """The length in averages from which on a chunk that holds each of its terms once scores below the recorded
        ceiling: score = Σ idf · (k1 + 1) / (1 + k1 (1 − b + b · length)), solved for the length."""
        best = sum((mask >> n & 1) * idf(self.n, df) for n, df in enumerate(self.incident.terms.values()))
        ceiling = self.incident.captured.bm25_ceiling * (1 - BELOW)
        return np.maximum(((best * (K1 + 1) / ceiling - 1) / K1 - 1 + B) / B, 0.0)

    def _headings(self, items: np.ndarray, mask: np.ndarray, exact: np.ndarray, copies: np.ndarray) -> np.ndarray:
        """Puts headings and carriers; returns the terms that they take of each item."""
        headings = Headings(self.incident, self.parts)
        pick = self.rng.random(len(items))
        pick[exact] = pick[copies[exact]]
        where = self.rng.random((len(items), len(self.counted)))
        chosen, carried = np.zeros(len(items), np.int64), np.zeros(len(items), np.uint32)
        combined = (self.kind[items].astype(np.int64) << 48) | (self.project[items].astype(np.int64) << 32) | mask
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

    def _sentences(self, items: np.ndarray, count: np.ndarray, copies: np.ndarray, near: np.ndarray) -> None:
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
            raise SpecError(f"the filler cannot be as short as an average of {self.average:.1f} terms asks for",
                            where=self.incident.name)  # fmt: skip
        if lacking > 0:
            words += lacking // len(items) + (np.arange(len(items)) < lacking % len(items))
        for size, at in _by_value(words):
            if size:
                self.pieces.put(items[at], 1.0, np.full(len(at), pad(self.parts, size)))


def _by_value(values: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """Each distinct value and where it stands, values ascending."""
    order = np.argsort(values, kind="stable")
    edges = np.flatnonzero(np.r_[True, np.diff(values[order]) != 0]) if len(values) else np.empty(0, np.int64)
    return [(int(values[at[0]]), at) for at in np.split(order, edges[1:]) if len(at)]
