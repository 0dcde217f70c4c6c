"""Vectors of long filler composed from true embeddings of its parts, and calibrated on filler embedded whole.

The law: v = centre + t · (A (heading) + B (mean of the sentences) + residual), t such that v has unit length. The
centre is by kind of memory; A and B weigh each principal direction of the true embeddings of a sample of the same filler by least
squares; the residual mixes two of that fit's own residuals, so that composed vectors spread as true ones do. A
plain mean of parts is nearer to every query than any true vector is, and floods the first 256; one weight for all
directions spreads too far along a query (standard deviation of the cosine 0.0475 against 0.0422 true).
What is near a query (target, groups, decoy) is embedded whole and never composed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from workbench.sources.replica.layout import Layout
from workbench.sources.replica.render import is_whole, text_of
from workbench.sources.replica.sentences import KINDS
from workbench.sources.replica.sphere import draws, on_the_sphere, weights_by_direction
from workbench.sources.replica.tables import SpecError
from workbench.sources.source import Embed

CALIBRATION = 80
"""Filler chunks of each kind embedded whole for the fit; each costs as much as eight sentences."""
CALIBRATION_SEED = 0
"""The fit is made on the same incident drawn by this seed, so that replicas that differ by seed share its cost."""
BATCH = 4096


@dataclass(frozen=True, slots=True)
class Fit:
    """The fitted combination: `centre` (kinds, dim) the mean true vector, `heading` and `sentence` (dim, dim) to be
    multiplied from the right, `shift` (kinds, dim) their mean, `residuals` (kinds, CALIBRATION, dim)."""

    centre: np.ndarray
    shift: np.ndarray
    heading: np.ndarray
    sentence: np.ndarray
    residuals: np.ndarray

    @property
    def unexplained(self) -> float:
        """The residuals' mean squared length; a true vector's is 1."""
        return float((self.residuals**2).sum(-1).mean())


def composed(layout: Layout, embed: Embed) -> Iterator[np.ndarray]:
    """Batches of (rows, dim) float32 unit vectors in point-id order.

    Raises SpecError at the end where the target is not outside the semantic list as the incident's checks ask:
    at least as many chunks as the list holds, each embedded whole, must be nearer to the query.
    """
    composer, incident = Composer(layout, embed), layout.incident
    checked = incident.checks.outside_semantic
    queries = [embed([incident.query(q).text])[0] for q in checked]
    target = composer.true(np.asarray(layout.target[:1]))[0]
    nearer = np.zeros(len(queries), np.int64)
    for start in range(0, len(layout.order), BATCH):
        items = layout.order[start : start + BATCH]
        vectors = composer.vectors(items)
        whole = vectors[composer.whole[items]]
        for n, query in enumerate(queries):
            nearer[n] += int((whole @ query > target @ query).sum())
        yield vectors
    for query_id, found in zip(checked, nearer, strict=True):
        if found < incident.semantic_limit:
            raise SpecError(
                f"only {found} chunks that were embedded whole are nearer to query {query_id!r} than the target, "
                f"so it may stand in a semantic list of {incident.semantic_limit}",
                where=incident.name, do="Add rows to the groups that are near the query",
            )  # fmt: skip


class Composer:
    """Embeds the parts once, fits, then composes any items; an item's vector does not hang on its batch."""

    def __init__(self, layout: Layout, embed: Embed) -> None:
        self.layout, self.embed = layout, embed
        self.whole = is_whole(layout)
        if not self.whole.all():
            parts = _PartVectors.of(layout, ~self.whole, embed)
            self.fit = fit_of(layout.drawn_by(CALIBRATION_SEED), embed)
            self._heading, self._sentence = parts.times(self.fit.heading), parts.times(self.fit.sentence)

    def vectors(self, items: np.ndarray) -> np.ndarray:
        """(len(items), dim) float32 unit vectors, rows in the order of the items."""
        whole = self.whole[items]
        made = []
        if whole.any():
            made.append((whole, self.true(items[whole])))
        if not whole.all():
            made.append((~whole, self._composed(items[~whole])))
        out = np.empty((len(items), made[0][1].shape[1]), np.float32)
        for rows, vectors in made:
            out[rows] = vectors
        return out

    def true(self, items: np.ndarray) -> np.ndarray:
        """(len(items), dim) the embeddings of the whole texts."""
        return true_vectors(self.layout, items, self.embed)

    def _composed(self, items: np.ndarray) -> np.ndarray:
        kind = self.layout.kind[items]
        heading, sentences = self._heading.headings(items), self._sentence.sentences(items)
        first, second, angle = draws(self.layout.seed, items, CALIBRATION)
        centre = self.fit.centre[kind]
        own = heading + sentences - self.fit.shift[kind]
        own += np.cos(angle)[:, None] * self.fit.residuals[kind, first]
        own += np.sin(angle)[:, None] * self.fit.residuals[kind, second]
        return on_the_sphere(centre, own)


@dataclass(frozen=True, slots=True)
class _PartVectors:
    """Vectors of the parts that some items are made of."""

    layout: Layout
    row: np.ndarray
    vectors: np.ndarray

    @classmethod
    def of(cls, layout: Layout, items: np.ndarray, embed: Embed) -> _PartVectors:
        """The embeddings of all parts of the items (a mask)."""
        used = np.unique(layout.part[np.repeat(items, np.diff(layout.starts))])
        row = np.full(len(layout.parts.texts), -1, np.int64)
        row[used] = np.arange(len(used))
        return cls(layout, row, embed([layout.parts.texts[p] for p in used]).astype(np.float32))

    def times(self, matrix: np.ndarray) -> _PartVectors:
        """The same parts, each vector multiplied from the right."""
        return replace(self, vectors=self.vectors @ matrix)

    def headings(self, items: np.ndarray) -> np.ndarray:
        """(n, dim) the vectors of the items' first parts."""
        return self.vectors[self.row[self.layout.part[self.layout.starts[items]]]]

    def sentences(self, items: np.ndarray) -> np.ndarray:
        """(n, dim) the means of the vectors of the items' other parts."""
        starts, counts = self.layout.starts[items] + 1, np.diff(self.layout.starts)[items] - 1
        ends = np.cumsum(counts)
        body = np.repeat(starts - (ends - counts), counts) + np.arange(int(counts.sum()))
        return np.add.reduceat(self.vectors[self.row[self.layout.part[body]]], ends - counts, axis=0) / counts[:, None]


def true_vectors(layout: Layout, items: np.ndarray, embed: Embed) -> np.ndarray:
    """(len(items), dim) the embeddings of the items' whole texts."""
    return embed([text_of(layout, int(i), KINDS[layout.kind[i]]) for i in items])


def fit_of(layout: Layout, embed: Embed) -> Fit:
    """The combination that fits a sample of the layout's filler, as many chunks of every kind."""
    filler = np.flatnonzero(~is_whole(layout))
    rng = np.random.default_rng([layout.seed, CALIBRATION])
    sample = []
    for kind in range(len(KINDS)):
        own = filler[layout.kind[filler] == kind]
        # A kind with few chunks is sampled with repeats; one without any is never asked for.
        own = own if len(own) else filler
        sample.append(rng.choice(own, CALIBRATION, replace=len(own) < CALIBRATION))
    flat = np.concatenate(sample)
    chosen = np.zeros(len(layout.length), bool)
    chosen[flat] = True
    parts = _PartVectors.of(layout, chosen, embed)
    found = (true_vectors(layout, flat, embed), parts.headings(flat), parts.sentences(flat))
    true, heading, sentences = (f.reshape(len(KINDS), CALIBRATION, -1).astype(np.float64) for f in found)
    means = [f.mean(1) for f in (true, heading, sentences)]
    y, h, s = ((f - m[:, None]).reshape(len(flat), -1) for f, m in zip((true, heading, sentences), means, strict=True))
    by_heading, by_sentence = weights_by_direction(y, h, s)
    residuals = (y - h @ by_heading - s @ by_sentence).reshape(true.shape)
    shift = means[1] @ by_heading + means[2] @ by_sentence
    return Fit(*(a.astype(np.float32) for a in (means[0], shift, by_heading, by_sentence, residuals)))
