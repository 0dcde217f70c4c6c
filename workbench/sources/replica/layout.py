"""The whole collection as numbers: which parts make each chunk, and what follows from that exactly.

Memory at 384,885 chunks: about 6 million part numbers and sums per chunk, under 200 MB.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from workbench.bm25 import K1, B, idf
from workbench.sources.replica.builder import Builder
from workbench.sources.replica.parts import Parts
from workbench.sources.replica.plan import Plan, make_plan, mask_of
from workbench.sources.replica.pool import foreign_pool, made_pool
from workbench.sources.replica.spec import Incident
from workbench.sources.replica.tables import SpecError
from workbench.sources.replica.target import target_texts
from workbench.text import DEFAULT


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
    incident: Incident, seed: int, filler: Callable[[], Iterable[str]] | None = None,
    target_averages: float | None = None,
) -> Layout:  # fmt: skip
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
    incident: Incident, seed: int, filler: Callable[[], Iterable[str]] | None, target_averages: float | None
) -> Layout:
    counted = tuple(incident.terms)
    parts = Parts(counted)
    rng = np.random.default_rng([seed, *incident.name.encode()])
    words = random.Random(f"{incident.name}/{seed}/words")
    texts = [] if incident.captured else target_texts(incident, parts, seed)
    average = incident.filler.average_terms or parts.length_of(texts[0]) / (incident.filler.average_by_target or 1)
    if target_averages:
        texts = target_texts(incident, parts, seed, round(target_averages * average))
    target = [parts.add(t, incident.target.created) for t in texts]
    sentences = made_pool(parts) if filler is None else foreign_pool(parts, filler(), seed)
    plan = make_plan(incident, rng, [mask_of(parts.held(t), counted) for t in texts])
    builder = Builder(incident, plan, parts, sentences, rng, words, average)
    starts, part = builder.build(target)
    layout = Layout(
        incident, seed, plan, parts, starts, part, builder.kind, builder.project, tuple(builder.projects),
        builder.subject, np.add.reduceat(parts.lengths[part], starts[:-1]),
        np.add.reduceat(parts.tf[part], starts[:-1], axis=0), plan.order,
        lambda other: layout if other == seed else _made(incident, other, filler, target_averages),
    )  # fmt: skip
    return layout


def _verify_counts(layout: Layout) -> None:
    incident = layout.incident
    for n, (term, df) in enumerate(incident.terms.items()):
        made = int((layout.tf[:, n] > 0).sum())
        if made != df:
            raise SpecError(f"{term!r} stands in {made} chunks in place of {df}", where=incident.name)


def _verify_first(layout: Layout) -> None:
    incident = layout.incident
    for query_id in incident.checks.lexically_first:
        scores = layout.bm25(incident.query(query_id).text)
        target = layout.target[0]
        above = int((scores > scores[target]).sum()) + int((scores == scores[target]).sum()) - 1
        if above:
            raise SpecError(
                f"{above} chunks score as high as the target or higher for query {query_id!r} by BM25", where=incident.name,
                do="Raise [filler] least_length, or let fewer terms stand together",
            )  # fmt: skip
