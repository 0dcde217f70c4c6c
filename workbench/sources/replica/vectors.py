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

from workbench.sources.base import Embed
from workbench.sources.replica.incident import Layout
from workbench.sources.replica.notes_layout import NotesLayout
from workbench.sources.replica.render import is_whole, note_text, text_of
from workbench.sources.replica.spec import SpecError
from workbench.sources.replica.wording import KINDS
from workbench.types import Query

# ---- The arithmetic of composed vectors: a weight a direction, a sum brought to unit length ----


def on_the_sphere(centre: np.ndarray, own: np.ndarray) -> np.ndarray:
    """centre + t · own, t > 0 such that the row has unit length.

    Scaling the whole sum would scale the centre too, and so move short sums towards every query. A centre is a
    mean of unit vectors, so shorter than 1, and such a t exists; it is 1 where own is nothing.
    """
    a = np.maximum((own * own).sum(1), 1e-12)
    b = (centre * own).sum(1)
    c = (centre * centre).sum(1) - 1
    out = centre + ((np.sqrt(b * b - a * c) - b) / a)[:, None] * own
    return (out / np.linalg.norm(out, axis=1, keepdims=True)).astype(np.float32)


def weights_by_direction(
    y: np.ndarray, h: np.ndarray, s: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The (dim, dim) matrices that weigh h and s by principal direction of y, each direction by least squares.

    y, h and s are (n, dim), centred.
    """
    _, _, directions = np.linalg.svd(y, full_matrices=False)
    yd, hd, sd = (m @ directions.T for m in (y, h, s))
    weights = np.stack(
        [
            np.linalg.lstsq(np.stack([hd[:, d], sd[:, d]], 1), yd[:, d], rcond=None)[0]
            for d in range(len(directions))
        ]
    )
    return tuple(directions.T @ (weights[:, [n]] * directions) for n in (0, 1))


def draws(
    seed: int, items: np.ndarray, residuals: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two residual numbers and an angle for each item, by a fixed mixing of its number and the seed."""
    mixed = _mix(items.astype(np.uint64) ^ _mix(np.asarray([seed & 0xFFFFFFFF], np.uint64)))
    first = (mixed >> np.uint64(40)) % np.uint64(residuals)
    second = (
        first + np.uint64(1) + (mixed >> np.uint64(20)) % np.uint64(residuals - 1)
    ) % np.uint64(residuals)
    angle = (mixed & np.uint64(0xFFFFF)).astype(np.float64) / 0x100000 * (np.pi / 2)
    return first.astype(np.int64), second.astype(np.int64), angle.astype(np.float32)


def _mix(x: np.ndarray) -> np.ndarray:
    """SplitMix64's finaliser (Steele, Lea and Flood 2014)."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


# ---- Vectors of long filler composed from true embeddings of its parts, and calibrated on f ----

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
        if found < incident.limits.semantic:
            raise SpecError(
                f"only {found} chunks that were embedded whole are nearer to query {query_id!r} than the target, "
                f"so it may be in a semantic list of {incident.limits.semantic}",
                where=incident.name,
                do="Add rows to the groups that are near the query",
            )


class Composer:
    """Embeds the parts once, fits, then composes any items; an item's vector does not hang on its batch."""

    def __init__(self, layout: Layout, embed: Embed) -> None:
        self.layout, self.embed = layout, embed
        self.whole = is_whole(layout)
        if not self.whole.all():
            parts = _PartVectors.of(layout, ~self.whole, embed)
            self.fit = fit_of(layout.drawn_by(CALIBRATION_SEED), embed)
            self._heading, self._sentence = (
                parts.times(self.fit.heading),
                parts.times(self.fit.sentence),
            )

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
        return (
            np.add.reduceat(self.vectors[self.row[self.layout.part[body]]], ends - counts, axis=0)
            / counts[:, None]
        )


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
    true, heading, sentences = (
        f.reshape(len(KINDS), CALIBRATION, -1).astype(np.float64) for f in found
    )
    means = [f.mean(1) for f in (true, heading, sentences)]
    y, h, s = (
        (f - m[:, None]).reshape(len(flat), -1)
        for f, m in zip((true, heading, sentences), means, strict=True)
    )
    by_heading, by_sentence = weights_by_direction(y, h, s)
    residuals = (y - h @ by_heading - s @ by_sentence).reshape(true.shape)
    shift = means[1] @ by_heading + means[2] @ by_sentence
    return Fit(
        *(a.astype(np.float32) for a in (means[0], shift, by_heading, by_sentence, residuals))
    )


# ---- Vectors of a captured incident: made so that their cosines to the query are the record ----

COSINE_BATCH = 4096
MARGIN = 1e-5
"""A cosine below the ceiling by less than a float32 vector keeps would not stay below it."""


def constructed(layout: Layout, embed: Embed) -> Iterator[np.ndarray]:
    """Batches of (rows, dim) float32 unit vectors in point-id order.

    The law: v = c · q + √(1 − c²) · u with q the first query's own vector, u a random unit vector orthogonal to it
    and c the recorded cosine; chunks without one get a normal draw with the recorded mean and spread, folded
    below the recorded ceiling, so that none of them enters the semantic list.
    """
    captured = layout.incident.captured
    query = embed([Query(layout.incident.queries[0].text).normalised])[0].astype(np.float64)
    rng = np.random.default_rng([layout.seed, layout.incident.size, 1])
    cosine = rng.normal(captured.cosine_mean, captured.cosine_spread, layout.incident.size)
    # Folded, not clipped: clipping would leave ties at the ceiling.
    cosine = np.clip(
        captured.cosine_ceiling - np.abs(captured.cosine_ceiling - MARGIN - cosine) - MARGIN, -1, 1
    )
    for row in captured.rows:
        if row.cosine is not None:
            cosine[row.position - 1] = row.cosine
    for start in range(0, len(cosine), COSINE_BATCH):
        c = cosine[start : start + COSINE_BATCH, None]
        u = rng.normal(size=(len(c), len(query)))
        u -= (u @ query)[:, None] * query
        u /= np.linalg.norm(u, axis=1, keepdims=True)
        yield (c * query + np.sqrt(1 - c * c) * u).astype(np.float32)


# ---- Vectors of a notes replica: sections composed from true embeddings of their parts by t ----

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
        ends = titled.rows(layout.title[layout.note[links[:, 0]]]) + titled.rows(
            layout.title[links[:, 1]]
        )
        rows = np.concatenate(
            [
                sections.vectors(np.arange(bounds[low], bounds[high])),
                _unit(said.rows(own) + SAID_AGAIN * sections.residuals(rng, len(own))),
                _unit(ends + sections.residuals(rng, len(links))),
            ]
        )
        # The rows of a kind are in the order of their notes: a stable sort brings each note's together.
        note = np.concatenate(
            [
                layout.note[bounds[low] : bounds[high]],
                layout.note[layout.observations[observed[low] : observed[high], 0]],
                layout.note[links[:, 0]],
            ]
        )
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
        return self.fit.residuals[
            rng.integers(0, len(KINDS), rows), rng.integers(0, CALIBRATION, rows)
        ]

    def _features(
        self, items: np.ndarray, as_heading: np.ndarray, as_sentence: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """(n, dim) heading vectors and mean sentence vectors, from these tables of parts."""
        layout = self.layout
        starts, counts = layout.starts[items] + 1, np.diff(layout.starts)[items] - 1
        ends = np.cumsum(counts)
        body = np.repeat(starts - (ends - counts), counts) + np.arange(int(counts.sum()))
        sentences = (
            np.add.reduceat(as_sentence[self._row[layout.part[body]]], ends - counts, axis=0)
            / counts[:, None]
        )
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
        true = embed([note_text(self.layout, int(i)) for i in flat])
        found = [
            f.reshape(len(KINDS), CALIBRATION, -1).astype(np.float64)
            for f in (true, *self._features(flat, parts, parts))
        ]
        means = [f.mean(1) for f in found]
        y, h, s = (
            (f - m[:, None]).reshape(len(flat), -1) for f, m in zip(found, means, strict=True)
        )
        by_heading, by_sentence = weights_by_direction(y, h, s)
        residuals = (y - h @ by_heading - s @ by_sentence).reshape(found[0].shape)
        shift = means[1] @ by_heading + means[2] @ by_sentence
        return Fit(
            *(a.astype(np.float32) for a in (means[0], shift, by_heading, by_sentence, residuals))
        )


class _Table:
    """True embeddings of some parts, by part number."""

    def __init__(self, parts: np.ndarray, layout: NotesLayout, embed: Embed) -> None:
        self._known = np.unique(parts)
        self._vectors = embed([layout.parts.texts[p] for p in self._known])

    def rows(self, parts: np.ndarray) -> np.ndarray:
        return self._vectors[np.searchsorted(self._known, parts)]


def _unit(rows: np.ndarray) -> np.ndarray:
    return (
        (rows / np.linalg.norm(rows, axis=1, keepdims=True))
        .astype(np.float32)
        .reshape(len(rows), -1)
    )
