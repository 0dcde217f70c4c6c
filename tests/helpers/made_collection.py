"""A collection of a few made-up documents in memory: doubles of both stores and the model, with their laws.

Small enough that a property test makes hundreds of them; the real stores are held to the same laws elsewhere.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from workbench.retrieval.search import Collection
from workbench.stores.catalog.catalog import Place
from workbench.stores.catalog.errors import UnknownPoint
from workbench.stores.filters.values import Point
from workbench.text import DEFAULT
from workbench.types import Chunk, Facets, point_order

WORDS = ("red", "blue", "green")
PROJECTS = ("a", "b")


@dataclass(frozen=True)
class Document:
    """One row: `angle` in degrees makes its vector; the query's vector is at 0."""

    id: Any
    text: str
    entity: str
    project: str
    angle: int


@dataclass
class MadeCatalog:
    docs: Mapping[Any, Document]
    n: int = field(init=False)

    def __post_init__(self) -> None:
        self.n = len(self.docs)
        self.order = sorted(self.docs, key=point_order)
        self.terms = {i: DEFAULT.terms(d.text) for i, d in self.docs.items()}
        self.avgdl = sum(map(len, self.terms.values())) / max(self.n, 1) or 1.0

    def df(self, terms: Sequence[str], filters: Any = ()) -> dict[str, int]:
        return {t: sum(t in self.terms[i] for i in self.admitted(filters)) for t in terms}

    def count(self, terms: Sequence[str], match: str = "any", filters: Any = ()) -> int:
        holds = any if match == "any" else all
        found = [i for i in self.admitted(filters) if not terms or holds(t in self.terms[i] for t in terms)]
        return len(found)

    def reading_place(self, point_id: Any, terms: Any, filters: Any, *, all_first: bool, by_term: bool) -> int | None:
        def step(i: Any) -> int | None:
            held = [n for n, t in enumerate(terms) if t in self.terms[i]]
            return None if not held else -1 if all_first and len(held) == len(terms) else held[0] if by_term else 0

        read = sorted((step(i), n, i) for n, i in enumerate(self.admitted(filters)) if step(i) is not None)
        return next((place for place, (_, _, i) in enumerate(read, 1) if i == point_id), None)

    def admits(self, point_id: Any, filters: Mapping[str, Any]) -> bool:
        self.chunks([point_id])
        return all(getattr(self.docs[point_id], name) == value for name, value in dict(filters).items())

    def admitted(self, filters: Mapping[str, Any]) -> list[Any]:
        return [i for i in self.order if self.admits(i, filters)]

    def bm25_of(self, ids: Sequence[Any], terms: Sequence[str], k1: float = 1.2, b: float = 0.75) -> dict[Any, float]:
        self.chunks(ids)
        df, out = self.df(terms), {}
        for i in ids:
            counts, length = Counter(self.terms[i]), len(self.terms[i])
            held = [t for t in terms if counts[t]]
            if held:
                norm = k1 * (1 - b + b * length / self.avgdl)
                out[i] = math.fsum(
                    math.log(1 + (self.n - df[t] + 0.5) / (df[t] + 0.5)) * counts[t] * (k1 + 1) / (counts[t] + norm)
                    for t in held
                )
        return out

    def bm25_top(self, terms: Any, filters: Any = (), limit: int = 10, k1: float = 1.2, b: float = 0.75) -> list:
        scores = self.bm25_of(self.admitted(filters), terms, k1, b)
        return sorted(scores.items(), key=lambda p: (-p[1], point_order(p[0])))[:limit]

    def bm25_rank(self, terms: Any, point_id: Any, filters: Any = (), k1: float = 1.2, b: float = 0.75) -> Place:
        score = self.bm25_of([point_id], terms, k1, b).get(point_id)
        ids = [i for i, _ in self.bm25_top(terms, filters, self.n, k1, b)]
        return Place(ids.index(point_id) + 1 if point_id in ids else None, score or 0.0)

    def cosine(self, point_id: Any) -> float:
        return math.cos(math.radians(self.docs[point_id].angle))

    def nearest(self, vector: Any, filters: Any = (), limit: int = 10) -> list:
        found = [(i, self.cosine(i)) for i in self.admitted(filters)]
        return sorted(found, key=lambda p: (-p[1], point_order(p[0])))[:limit]

    def true_rank(self, vector: Any, point_id: Any, filters: Any = ()) -> Place:
        ids = [i for i, _ in self.nearest(vector, filters, self.n)]
        return Place(ids.index(point_id) + 1 if point_id in ids else None, self.cosine(point_id))

    def chunks(self, ids: Sequence[Any]) -> list[Chunk]:
        if missing := [i for i in ids if i not in self.docs]:
            raise UnknownPoint(f"the collection has no point {missing[0]!r}")
        return [
            Chunk(i, d.entity, 0, d.text, title=d.text.upper(), source="made", facets=Facets(project=d.project))
            for i in ids for d in (self.docs[i],)
        ]  # fmt: skip

    def facets(self, ids: Sequence[Any]) -> list[Facets]:
        return [c.facets for c in self.chunks(ids)]

    def entities(self, ids: Sequence[Any]) -> list[str]:
        return [c.entity_id for c in self.chunks(ids)]

    def entity(self, entity_id: str) -> list[Any]:
        return [i for i in self.order if self.docs[i].entity == entity_id]


@dataclass
class MadePoints:
    catalog: MadeCatalog
    missing: set = field(default_factory=set)
    engine: str = "made"
    calls: int = 0

    def _points(self, ids: Sequence[Any], fields: Sequence[str]) -> list[Point]:
        kept = [i for i in ids if i not in self.missing]
        return [Point(i, {"content": self.catalog.docs[i].text, "source": "made"} if fields else {}) for i in kept]

    def _holding(self, terms: Sequence[str], match: str, filters: Any) -> list[Any]:
        test = any if match == "any" else all
        return [i for i in self.catalog.admitted(filters) if test(t in self.catalog.terms[i] for t in terms)]

    def count(self, terms: Any, match: str, filters: Any, *, exact: bool = True) -> int:
        self.calls += 1
        return len(self._points(self._holding(terms, match, filters), ()))

    def scroll(self, terms: Any, match: str, filters: Any, limit: int, *, fields: Any = ("content",)) -> list[Point]:
        self.calls += 1
        return self._points(self._holding(terms, match, filters), fields)[:limit]

    def nearest(self, vector: Any, filters: Any, limit: int, *, fields: Any = ("content",), space: str = "") -> list:
        self.calls += 1
        ranked = [(i, s) for i, s in self.catalog.nearest(vector, filters, self.catalog.n) if i not in self.missing]
        return [(self._points([i], fields)[0], s) for i, s in ranked[:limit]]

    def bm25(self, terms: Any, filters: Any, limit: int, *, fields: Any = ()) -> list:
        self.calls += 1
        ranked = [(i, s) for i, s in self.catalog.bm25_top(terms, filters, self.catalog.n) if i not in self.missing]
        return [(self._points([i], fields)[0], s) for i, s in ranked[:limit]]

    sparse = bm25

    def retrieve(self, ids: Sequence[Any], *, fields: Any = ("content",)) -> list[Point]:
        return self._points([i for i in ids if i in self.catalog.docs], fields)


def made_collection(docs: Sequence[Document], missing: Sequence[Any] = ()) -> Collection:
    """A collection of these documents; `missing` are points that the engine lacks."""
    catalog = MadeCatalog({d.id: d for d in docs})
    manifest = SimpleNamespace(name="made", content_hash="made", model={"sha256": "made"})
    embedder = SimpleNamespace(embed_query=lambda text: np.array([1.0, 0.0], dtype=np.float32))
    return Collection(SimpleNamespace(
        manifest=manifest, catalog=catalog, points=MadePoints(catalog, set(missing)), embedder=embedder,
        tokenizer=DEFAULT, close=lambda: None,
    ))  # fmt: skip


@st.composite
def documents(draw, least: int = 3, most: int = 12) -> list[Document]:
    """Documents over three words, few entities and few angles, so that ties and twins are common."""
    count = draw(st.integers(least, most))
    rows = draw(st.lists(
        st.tuples(st.lists(st.sampled_from([*WORDS, "other"]), max_size=5), st.integers(0, 4), st.sampled_from(PROJECTS),
                  st.integers(0, 12).map(lambda n: n * 15)),
        min_size=count, max_size=count,
    ))  # fmt: skip
    return [Document(n, " ".join(words), f"e{entity}", project, angle) for n, (words, entity, project, angle) in enumerate(rows, 1)]


queries = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
