"""Vectors of a notes replica: sections composed from true embeddings of their parts by the fit of compose, observations
and relations from the embeddings of their own words, all in the order of the chunks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from workbench.sources.replica.compose import CALIBRATION, Fit
from workbench.sources.replica.notes_layout import NotesLayout
from workbench.sources.replica.notes_render import text_of
from workbench.sources.replica.sentences import KINDS
from workbench.sources.replica.sphere import draws, on_the_sphere, weights_by_direction
from workbench.sources.source import Embed

NOTES_A_BATCH = 200
SAID_AGAIN = 0.25
"""Share of a section's residual that an observation gets: many notes make the same one, and none in quite the same
place. A choice."""


def composed_notes(layout: NotesLayout, embed: Embed) -> Iterator[np.ndarray]:
    """Batches of (rows, dim) float32 unit vectors, in the order in which notes_render yields the chunks."""
    sections = _Sections(layout, embed)
    said = _Table(layout.observations[:, 1], layout, embed)
    titled = _Table(layout.title, layout, embed)
    rng = np.random.default_rng([layout.seed, 11])
    bounds = layout.bounds
    observed = np.searchsorted(layout.observations[:, 0], bounds)
    related = np.searchsorted(layout.relations[:, 0], bounds)
    for low in range(0, layout.project.notes, NOTES_A_BATCH):
        high = min(low + NOTES_A_BATCH, layout.project.notes)
        own = layout.observations[observed[low] : observed[high], 1]
        links = layout.relations[related[low] : related[high]]
        ends = titled.rows(layout.title[layout.note[links[:, 0]]]) + titled.rows(layout.title[links[:, 1]])
        rows = np.concatenate([
            sections.vectors(np.arange(bounds[low], bounds[high])),
            _unit(said.rows(own) + SAID_AGAIN * sections.residuals(rng, len(own))),
            _unit(ends + sections.residuals(rng, len(links))),
        ])  # fmt: skip
        # The rows of a kind are in the order of their notes: a stable sort brings each note's together.
        note = np.concatenate([layout.note[bounds[low] : bounds[high]],
                               layout.note[layout.observations[observed[low] : observed[high], 0]],
                               layout.note[links[:, 0]]])  # fmt: skip
        yield rows[np.argsort(note, kind="stable")]


class _Sections:
    """The sections' parts embedded once, the fit, and any sections composed by it."""

    def __init__(self, layout: NotesLayout, embed: Embed) -> None:
        self.layout = layout
        used = np.unique(layout.part)
        self._row = np.full(len(layout.parts.texts), -1, np.int64)
        self._row[used] = np.arange(len(used))
        parts = embed([layout.parts.texts[p] for p in used]).astype(np.float32)
        self.fit = self._fitted(parts, embed)
        self._heading, self._sentence = parts @ self.fit.heading, parts @ self.fit.sentence

    def vectors(self, items: np.ndarray) -> np.ndarray:
        """(len(items), dim) float32 unit vectors of these sections."""
        kind, fit = self.layout.kind[items], self.fit
        heading, sentences = self._features(items, self._heading, self._sentence)
        first, second, angle = draws(self.layout.seed, items, CALIBRATION)
        own = heading + sentences - fit.shift[kind]
        own += np.cos(angle)[:, None] * fit.residuals[kind, first]
        own += np.sin(angle)[:, None] * fit.residuals[kind, second]
        return on_the_sphere(fit.centre[kind], own)

    def residuals(self, rng: np.random.Generator, rows: int) -> np.ndarray:
        """(rows, dim) residuals of the fit, at random."""
        return self.fit.residuals[rng.integers(0, len(KINDS), rows), rng.integers(0, CALIBRATION, rows)]

    def _features(self, items: np.ndarray, as_heading: np.ndarray, as_sentence: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(n, dim) heading vectors and mean sentence vectors, from these tables of parts."""
        layout = self.layout
        starts, counts = layout.starts[items] + 1, np.diff(layout.starts)[items] - 1
        ends = np.cumsum(counts)
        body = np.repeat(starts - (ends - counts), counts) + np.arange(int(counts.sum()))
        sentences = np.add.reduceat(as_sentence[self._row[layout.part[body]]], ends - counts, axis=0) / counts[:, None]
        return as_heading[self._row[layout.part[starts - 1]]], sentences

    def _fitted(self, parts: np.ndarray, embed: Embed) -> Fit:
        """The fit on a sample of the sections, as many of each kind, each embedded whole."""
        rng = np.random.default_rng([self.layout.seed, CALIBRATION])
        kinds, items = self.layout.kind, np.arange(len(self.layout.note))
        sample = []
        for kind in range(len(KINDS)):
            own = items[kinds == kind] if (kinds == kind).any() else items
            sample.append(rng.choice(own, CALIBRATION, replace=len(own) < CALIBRATION))
        flat = np.concatenate(sample)
        true = embed([text_of(self.layout, int(i)) for i in flat])
        found = [f.reshape(len(KINDS), CALIBRATION, -1).astype(np.float64) for f in (true, *self._features(flat, parts, parts))]
        means = [f.mean(1) for f in found]
        y, h, s = ((f - m[:, None]).reshape(len(flat), -1) for f, m in zip(found, means, strict=True))
        by_heading, by_sentence = weights_by_direction(y, h, s)
        residuals = (y - h @ by_heading - s @ by_sentence).reshape(found[0].shape)
        shift = means[1] @ by_heading + means[2] @ by_sentence
        return Fit(*(a.astype(np.float32) for a in (means[0], shift, by_heading, by_sentence, residuals)))


class _Table:
    """True embeddings of some parts, by part number."""

    def __init__(self, parts: np.ndarray, layout: NotesLayout, embed: Embed) -> None:
        self._known = np.unique(parts)
        self._vectors = embed([layout.parts.texts[p] for p in self._known])

    def rows(self, parts: np.ndarray) -> np.ndarray:
        return self._vectors[np.searchsorted(self._known, parts)]


def _unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32).reshape(len(rows), -1)
