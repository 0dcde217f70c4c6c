"""Judging without a label: what several variants found, pooled and shuffled, graded one by one and saved as judgements.

The law: a pool holds the first documents of every variant, each once, in the order of the hash of seed, query and
document; nothing in it tells who found what, or where. Every grade is on disk when the next document is shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from workbench.analysis.evaluate.compare import PAGE
from workbench.analysis.evaluate.formats import write_qrels, write_queries
from workbench.analysis.evaluate.judged import with_own_documents
from workbench.analysis.evaluate.known_items import SEED
from workbench.analysis.evaluate.metrics import documents
from workbench.analysis.evaluate.significance import LEAST_QUERIES, RESAMPLES
from workbench.analysis.evaluate.significance import SEED as RESAMPLING_SEED
from workbench.errors import BadParameter
from workbench.retrieval.search import Collection, open_collection
from workbench.retrieval.variant import Variant, distinct_variants
from workbench.sources.base import JudgedQuery, Qrel
from workbench.sources.judgements import read_qrels
from workbench.types import content_hash

# ---- Judging without a label: what several variants found, pooled and shuffled, graded one  ----

SCALE = ("not relevant", "related", "relevant", "exactly this")
"""What the grades 0, 1, 2 and 3 mean; 1 and more count as relevant, as everywhere."""

EXCERPT = 1_500
"""Characters of a document's text that a judge is shown: what one reads in half a minute."""


@dataclass(frozen=True, slots=True)
class Item:
    """One document to judge, as it is shown: its best chunk's text. `found_by` is for afterwards and is never shown."""

    entity_id: str
    title: str
    text: str
    found_by: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Pool:
    """One query with its documents in the order in which they are judged."""

    query: JudgedQuery
    items: tuple[Item, ...]


def pools(
    collection: str | Collection,
    queries: Sequence[JudgedQuery | str],
    variants: Sequence[str | Variant],
    *,
    depth: int = PAGE,
    seed: int = SEED,
) -> tuple[Pool, ...]:
    """The pools of these queries: the first `depth` documents of each variant, without a query's own. A text is a query whose id is `q` and its
    place, from 1. Raises BadParameter for an id that stands twice."""
    if depth < 1:
        raise BadParameter(f"a pool of depth {depth} is empty", do="Use at least 1")
    chosen = distinct_variants(variants)
    asked = [
        q if isinstance(q, JudgedQuery) else JudgedQuery(f"q{n}", q)
        for n, q in enumerate(queries, 1)
    ]
    if len({q.id for q in asked}) < len(asked):
        raise BadParameter("a query id stands twice in what is to be judged")
    with (
        nullcontext(collection)
        if isinstance(collection, Collection)
        else open_collection(collection) as opened
    ):
        asked, _ = with_own_documents(opened, asked, (), opened.stores.catalog.documents())
        return tuple(_pool(opened, q, chosen, depth, seed) for q in asked)


def _pool(
    collection: Collection, query: JudgedQuery, variants: Sequence[Variant], depth: int, seed: int
) -> Pool:
    memo: dict = {}
    catalog = collection.stores.catalog
    found_by: dict[str, list[str]] = {}
    best: dict[str, object] = {}
    for v in variants:
        ids = collection.search(query.search, v, with_chunks=False, memo=memo).fused.ids
        entity = dict(zip(ids, catalog.entities(ids), strict=True)) if ids else {}
        first: dict[str, object] = {}
        for point in ids:
            first.setdefault(entity[point], point)
        for document in documents(ids, entity, own=query.own_document, depth=depth):
            found_by.setdefault(document, []).append(v.name)
            best.setdefault(document, first[document])
    order = sorted(found_by, key=lambda d: content_hash(seed, query.id, d))
    chunks = catalog.chunks([best[d] for d in order]) if order else []
    return Pool(
        query,
        tuple(
            Item(d, c.title, c.text[:EXCERPT], tuple(found_by[d]))
            for d, c in zip(order, chunks, strict=True)
        ),
    )


class Judging:
    """A judge's way through pools: where they stand, what they graded, all of it saved at once.

    `path` is the judgements' file, its kind told by its name (`.json` ranx, `.tsv` BEIR, else TREC); grades that it
    holds already are kept, and judging goes on at the first document without one. The queries are saved beside it.
    """

    def __init__(
        self, pooled: Sequence[Pool], path: str | Path, scale: Sequence[str] = SCALE
    ) -> None:
        if not 2 <= len(scale) <= 10:
            raise BadParameter(
                f"a scale has 2 to 10 grades, not {len(scale)}", do="One key is one grade"
            )
        self.pools, self.path, self.scale = (
            tuple(p for p in pooled if p.items),
            Path(path),
            tuple(scale),
        )
        self.grades: dict[tuple[str, str], int] = {}
        if self.path.exists():
            self.grades = {(q.query_id, q.entity_id): q.grade for q in read_qrels(self.path)}
        self._order = [(p.query.id, i.entity_id) for p in self.pools for i in p.items]
        self.place = self._next_open(0)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_queries(self.queries_path, [p.query for p in self.pools])

    @property
    def queries_path(self) -> Path:
        """The queries' file beside the judgements: `NAME.queries.jsonl`."""
        return self.path.with_name(f"{self.path.name.split('.')[0]}.queries.jsonl")

    @property
    def total(self) -> int:
        return len(self._order)

    @property
    def judged(self) -> int:
        """How many of these pools' documents have a grade."""
        return sum(key in self.grades for key in self._order)

    @property
    def current(self) -> tuple[Pool, Item] | None:
        """The query and document that is judged now; None where there is none."""
        place = self.place
        for pool in self.pools:
            if place < len(pool.items):
                return pool, pool.items[place]
            place -= len(pool.items)
        return None

    def grade(self, value: int) -> None:
        """Grade the current document, save, and go to the next one without a grade. Raises BadParameter."""
        if not 0 <= value < len(self.scale):
            raise BadParameter(
                f"grade {value} is not on the scale", do=f"Use 0 to {len(self.scale) - 1}"
            )
        if self.place < self.total:
            self.grades[self._order[self.place]] = value
            self.save()
            self.place = self._next_open(self.place + 1)

    def step(self, by: int) -> None:
        """Go so many documents on or back; beyond the last one stands the end."""
        self.place = max(0, min(self.total, self.place + by))

    def grade_of(self, item: Item, pool: Pool) -> int | None:
        return self.grades.get((pool.query.id, item.entity_id))

    def save(self) -> None:
        """Write every grade there is, those of other queries in the file too, by query and document."""
        write_qrels(self.path, [Qrel(q, d, g) for (q, d), g in sorted(self.grades.items())])

    def _next_open(self, start: int) -> int:
        """The first document from `start` on without a grade, then from the beginning; the end where all have one."""
        order = [*range(start, self.total), *range(min(start, self.total))]
        return next((n for n in order if self._order[n] not in self.grades), self.total)


# ---- How far two judges agree beyond chance: Cohen's kappa over what both have judged ----

Weights = Literal["none", "linear", "quadratic"]
_POWER = {"none": 0, "linear": 1, "quadratic": 2}

NAMES = (
    (0.0, "worse than chance"),
    (0.2, "slight"),
    (0.4, "fair"),
    (0.6, "moderate"),
    (0.8, "substantial"),
    (1.0, "almost perfect"),
)
"""Words for kappa up to each bound (Landis and Koch 1977): a custom, no law."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One pair that the judges graded differently."""

    query_id: str
    entity_id: str
    a: int
    b: int


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two judges over the pairs (query, document) that both judged. `share` is that of equal grades; `kappa` is over the
    grades as they are, `weighted` counts a distance by its square, `relevant` is over relevant or not (grade of at
    least 1); each is None where chance alone would make them agree. `low`, `high`: 95 % bootstrap interval of kappa,
    None for fewer than LEAST_QUERIES pairs. `table` maps (a's grade, b's grade) to pairs; `disagreements` come by
    distance, then ids."""

    both: int
    only_a: int
    only_b: int
    share: float | None
    kappa: float | None
    weighted: float | None
    relevant: float | None
    low: float | None
    high: float | None
    table: dict[tuple[int, int], int]
    disagreements: tuple[Disagreement, ...]

    @property
    def sentence(self) -> str:
        """The figures in one line."""
        if not self.both:
            return f"no pair was judged by both ({self.only_a} by the first alone, {self.only_b} by the second alone)"
        said = f"{self.both} pairs judged by both, {self.share:.0%} equal"
        if self.kappa is None:
            return f"{said}; kappa is not defined: both gave one and the same grade throughout"
        said += f"; kappa {self.kappa:.2f} ({named(self.kappa)})"
        if self.low is not None:
            said += f", 95% interval {self.low:.2f} to {self.high:.2f}"
        for what, value in (
            ("weighted by squares", self.weighted),
            ("relevant or not", self.relevant),
        ):
            said += f"; {what} {value:.2f}" if value is not None else ""
        return said


def agreement(
    a: Iterable[Qrel], b: Iterable[Qrel], *, seed: int = RESAMPLING_SEED, resamples: int = RESAMPLES
) -> Agreement:
    """Compare two judges' grades. Raises BadParameter for a judge who graded one pair twice and differently."""
    first, second = _grades(a, "the first"), _grades(b, "the second")
    pairs = sorted(first.keys() & second.keys())
    x, y = [first[p] for p in pairs], [second[p] for p in pairs]
    low, high = _interval(x, y, seed, resamples)
    differing = [Disagreement(*p, first[p], second[p]) for p in pairs if first[p] != second[p]]
    return Agreement(
        len(pairs),
        len(first) - len(pairs),
        len(second) - len(pairs),
        sum(i == j for i, j in zip(x, y, strict=True)) / len(pairs) if pairs else None,
        kappa(x, y),
        kappa(x, y, "quadratic"),
        kappa([g > 0 for g in x], [g > 0 for g in y]),
        low,
        high,
        dict(sorted(Counter(zip(x, y, strict=True)).items())),
        tuple(sorted(differing, key=lambda d: (-abs(d.a - d.b), d.query_id, d.entity_id))),
    )


def kappa(a: Sequence[int], b: Sequence[int], weights: Weights = "none") -> float | None:
    """Cohen's kappa, 1 - observed / expected disagreement; from -1 to 1, 0 is what chance does, None where chance alone
    would agree throughout. `weights` count a disagreement by 1, its distance, or the distance's square.

    Source: Cohen, "A Coefficient of Agreement for Nominal Scales", 1960, and "Weighted Kappa", 1968. Raises
    BadParameter for two lengths.
    """
    if len(a) != len(b):
        raise BadParameter(
            f"two judges of the same pairs give as many grades, not {len(a)} and {len(b)}"
        )
    if weights not in _POWER:
        raise BadParameter(f"unknown weights {weights!r}", do=f"Use {', '.join(_POWER)}")
    power, n = _POWER[weights], len(a)
    observed = sum(_distance(i, j, power) for i, j in zip(a, b, strict=True))
    of_a, of_b = Counter(a), Counter(b)
    expected = sum(p * q * _distance(i, j, power) for i, p in of_a.items() for j, q in of_b.items())
    return 1 - n * observed / expected if expected else None


def named(value: float) -> str:
    """The word for a kappa."""
    return (
        next((word for bound, word in NAMES if value <= bound), NAMES[-1][1])
        if value > 0
        else NAMES[0][1]
    )


def _distance(i: int, j: int, power: int) -> int:
    return abs(i - j) ** power if i != j else 0


def _grades(qrels: Iterable[Qrel], who: str) -> dict[tuple[str, str], int]:
    found: dict[tuple[str, str], int] = {}
    for q in qrels:
        if found.setdefault((q.query_id, q.entity_id), q.grade) != q.grade:
            raise BadParameter(
                f"{who} judge gave document {q.entity_id!r} two grades",
                where=f"query {q.query_id!r}",
                do="Keep one",
            )
    return found


def _interval(
    a: Sequence[int], b: Sequence[int], seed: int, resamples: int
) -> tuple[float | None, float | None]:
    """Percentile bootstrap over pairs, in the table of counts; resamples without a kappa are left out."""
    if len(a) < LEAST_QUERIES:
        return None, None
    import numpy as np

    grades = sorted({*a, *b})
    place = {g: n for n, g in enumerate(grades)}
    size = len(grades)
    counts = np.bincount(
        [place[i] * size + place[j] for i, j in zip(a, b, strict=True)], minlength=size * size
    )
    drawn = (
        np.random.default_rng(seed)
        .multinomial(len(a), counts / len(a), size=resamples)
        .reshape(resamples, size, size)
    )
    observed = len(a) - np.trace(drawn, axis1=1, axis2=2)
    expected = len(a) - (drawn.sum(axis=2) * drawn.sum(axis=1)).sum(axis=1) / len(a)
    found = 1 - observed[expected > 0] / expected[expected > 0]
    if not len(found):
        return None, None
    low, high = np.percentile(found, [2.5, 97.5])
    return float(low), float(high)
