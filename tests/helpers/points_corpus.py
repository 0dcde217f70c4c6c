"""The collection of the points contract, and what a plain Python reading of it says: the oracle of three engines.

The texts are paragraphs of Python's own documentation; ids are integers up to the largest and UUIDs; facets are
of every kind, some absent; vectors are random but for groups of copies, so that scores tie.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np

from workbench.sources.base import Source
from workbench.stores.staging import parts_of, stage
from workbench.text import DEFAULT
from workbench.types import Chunk, Facets, PointId, point_order

PARAGRAPHS, DIM = 330, 16
COPIES = 150
HOSTILE = "<script>alert(1)</script> \x1b[31mred\x1b[0m \u202egnirts\u202c 😀👩‍👩‍👧 \x00nul \r\n\t 'quote\" OR 1=1 --"
LONG_PATH = "/usr/local/lib/python3.11/site-packages/workbench/stores/points.py"
LONG_WORD = "donaudampfschifffahrtselektrizitaetenhauptbetriebswerkbauunterbeamter"
HUGE_WORD = "x" * 1_000_000
SPECIAL = (
    "Ședința de luni; Şedinţă cu sedilă; cafe, café, ação, łaska, straße, ÆØÅ",
    "देवनागरी लिपि में हिन्दी",
    "日本語 の 文書",
    f"the module stands at {LONG_PATH} and nowhere else",
    f"one word: {LONG_WORD}",
    f"a word of a million letters: {HUGE_WORD}",
    HOSTILE,
    "?! … —",
    "RULE-A002 covid-19 numpy.linalg.svd 2026-11-11 09:58 CVE-2024-1234 bar's",
)
TIMES = (
    "2026-01-05", "2026-01-05T10:00:00Z", "2026-01-05T23:30:00-05:00", "2026-02-01 08:15", "2026-02-01T08:15:30.250",
    "2025-12-31T23:59:59Z", "last Tuesday", None,
)  # fmt: skip
METADATA: tuple[dict[str, Any], ...] = (
    {"lang": "en", "n": 1, "ok": True}, {"lang": "ro", "n": 2.5, "ok": False}, {"lang": ["en", "ro"], "n": 1.0},
    {"a.b": "dotted", "two words": "yes", "ünï": "códe"}, {"n": 2**60 + 1, "lang": "EN"}, {"lang": None, "n": "1"}, {},
)  # fmt: skip


FILTERS = (
    {"project": "beta"}, {"project": ["alpha", "Beta"]}, {"project": None}, {"project": [None, "beta"]},
    {"project": []}, {"project": "nowhere"}, {"note_type": "note"}, {"tags": "y"}, {"tags": ["x", "z z"]},
    {"tags": "ș"}, {"tags": None}, {"status": ""}, {"status": "<b>"}, {"source_type": ["entity", "relation"]},
    {"entity_id": "e7"}, {"path": "docs/*"}, {"path": "docs*"}, {"path": ["docs/1/*", "docs2.md"]}, {"path": "*"},
    {"path": "docs"}, {"created": "2026-01-05"}, {"created": {"gte": "2026-01-05"}},
    {"created": {"gte": "2026-01-05", "lt": "2026-01-06"}}, {"created": {"gt": "2026-01-05T12:00:00+02:00"}},
    {"updated": {"lte": "2026-02-01T08:15:00Z"}}, {"updated": {"gte": date(2026, 2, 1)}}, {"updated": None},
    {"lang": "en"}, {"lang": "EN"}, {"lang": ["en", "ro"]}, {"lang": None}, {"n": 1}, {"n": 1.0}, {"n": 2.5},
    {"n": "1"}, {"n": 2**60 + 1}, {"n": 2**60}, {"n": {"gte": 1, "lt": 3}}, {"n": [1, "1", None]}, {"ok": True},
    {"ok": False}, {"ok": [True, None]}, {"a.b": "dotted"}, {"two words": "yes"}, {"ünï": "códe"},
    {"nobody": "x"}, {"nobody": None}, {"project": "\ud800"},
    {"project": "alpha", "tags": "x", "created": {"gte": "2026-01-01"}, "lang": ["en", "ro"]},
)  # fmt: skip


def paragraphs() -> list[str]:
    """The first paragraphs of pydoc's topics by topic name, each of at least three words."""
    from pydoc_data.topics import topics

    found = (p.strip() for name in sorted(topics) for p in topics[name].split("\n\n"))
    return [p for p in found if len(p.split()) >= 3][:PARAGRAPHS]


def chunks() -> list[Chunk]:
    """All chunks in point-id order."""
    texts = [*SPECIAL, *paragraphs()]
    ids = sorted((_id(number) for number in range(len(texts))), key=point_order)
    return [_chunk(number, point_id, text) for number, (point_id, text) in enumerate(zip(ids, texts, strict=True))]


def vectors(count: int) -> np.ndarray:
    """(count, DIM) float32 unit rows; the last COPIES are one vector, and every seventh other repeats the one before."""
    rows = np.random.default_rng(172).normal(size=(count, DIM))
    rows[6::7] = rows[5::7][: len(rows[6::7])]
    rows[count - COPIES :] = rows[-1]
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def term_sets() -> list[tuple[str, ...]]:
    """Sixty sets of one to five terms of the texts, common and rare ones, some with a term that is nowhere."""
    draw = random.Random(172)
    vocabulary = sorted({t for c in chunks() for t in DEFAULT.terms(c.text) if t.isascii() and t != HUGE_WORD})
    common = ["python", "object", "value", "class", "expression", "statement"]
    sets = [tuple(draw.sample(vocabulary, draw.randint(1, 3)) + draw.sample(common, draw.randint(0, 2))) for _ in range(58)]
    return [*sets, ("python", "nowhere0"), ("nowhere0",)]


def write_staging(directory: Path, stored: Sequence[Chunk], rows: np.ndarray) -> tuple[list[Path], Path]:
    """The staging directory of these chunks and vectors, as the loader makes it."""
    stage(Source("test", "test", {}, lambda: iter(stored)), directory, DEFAULT, lambda _: None)
    np.save(directory / "vectors.npy", np.asarray(rows, dtype=np.float32))
    return parts_of(directory), directory / "vectors.npy"


def _id(number: int) -> PointId:
    if number % 5 == 4:
        return str(UUID(int=(number * 2654435761) << 64 | number))
    return number * 3 if number % 50 else 2**64 - 1 - number


def _chunk(number: int, point_id: PointId, text: str) -> Chunk:
    facets = Facets(
        project=("alpha", "beta", "Beta", None)[number % 4], note_type=("note", None)[number % 2],
        tags=(("x", "y"), ("y",), (), ("z z", "ș"))[number % 4], status=(None, "open", "", "<b>")[number % 4],
        created=TIMES[number % len(TIMES)], updated=TIMES[(number + 3) % len(TIMES)],
        path=(f"docs/{number % 3}/a.md", f"docs{number % 3}.md", None, "x.md")[number % 4], metadata=METADATA[number % len(METADATA)],
    )  # fmt: skip
    kind = ("entity", "observation", "relation")[number % 3]
    source = f"pydoc/{number % 9}.txt"
    return Chunk(point_id, f"e{number // 2}", number, text, f"title {number}", source, kind, facets)


class Oracle:
    """What the engines must say, from the chunks alone."""

    def __init__(self, stored: Sequence[Chunk], rows: np.ndarray) -> None:
        self.chunks, self.rows = stored, rows
        self.terms = [DEFAULT.terms(chunk.text) for chunk in stored]

    def matching(self, terms: Sequence[str], match: str, filters: Mapping[str, Any]) -> list[PointId]:
        """Ids in point-id order."""
        found = zip(self.chunks, self.terms, strict=True)
        return [c.id for c, held in found if holds(held, terms, match) and admitted(c, filters)]

    def nearest(self, query: np.ndarray, filters: Mapping[str, Any]) -> list[tuple[PointId, float]]:
        unit = np.asarray(query, dtype=np.float64) / np.linalg.norm(query)
        scores = self.rows.astype(np.float64) @ unit
        pairs = [(c.id, round(float(s), 6)) for c, s in zip(self.chunks, scores, strict=True) if admitted(c, filters)]
        return sorted(pairs, key=lambda p: (-p[1], point_order(p[0])))

    def bm25(self, terms: Sequence[str], k1: float = 1.2, b: float = 0.75) -> dict[PointId, float]:
        """Points without a term are no documents: neither counted nor in the mean length."""
        documents = [(c.id, Counter(held)) for c, held in zip(self.chunks, self.terms, strict=True) if held]
        mean = sum(tf.total() for _, tf in documents) / len(documents)
        scores: dict[PointId, float] = {}
        for term in set(terms):
            df = sum(term in tf for _, tf in documents)
            idf = math.log(1 + (len(documents) - df + 0.5) / (df + 0.5))
            for point_id, tf in documents:
                if term in tf:
                    weight = tf[term] * (k1 + 1) / (tf[term] + k1 * (1 - b + b * tf.total() / mean))
                    scores[point_id] = scores.get(point_id, 0.0) + idf * weight
        return scores


def holds(held: Iterable[str], terms: Sequence[str], match: str) -> bool:
    """Whether a text with these terms holds any / all of the terms asked; no terms: any text does."""
    found = [term in set(held) for term in terms]
    return not found or (all(found) if match == "all" else any(found))


def admitted(chunk: Chunk, filters: Mapping[str, Any]) -> bool:
    return all(_one(chunk, name, value) for name, value in filters.items())


def _one(chunk: Chunk, name: str, asked: Any) -> bool:
    own = {"entity_id": chunk.entity_id, "source_type": chunk.source_type}
    held = own[name] if name in own else getattr(chunk.facets, name, None)
    if name not in own and not hasattr(chunk.facets, name):
        held = chunk.facets.metadata.get(name)
    values = [v for v in (held if isinstance(held, list | tuple) else [held]) if v is not None]
    if isinstance(asked, Mapping):
        return any(_in_range(v, asked) for v in values)
    options = asked if isinstance(asked, list) else [asked]
    return any(not values if o is None else any(_equal(name, v, o) for v in values) for o in options)


def _equal(name: str, value: Any, asked: Any) -> bool:
    if name == "path" and asked.endswith("*"):
        return value.startswith(asked[:-1])
    return isinstance(value, bool) == isinstance(asked, bool) and value == asked


def _in_range(value: Any, bounds: Mapping[str, Any]) -> bool:
    compare = {"gte": lambda a, b: a >= b, "gt": lambda a, b: a > b, "lte": lambda a, b: a <= b, "lt": lambda a, b: a < b}
    if all(isinstance(b, int | float) for b in bounds.values()):
        return isinstance(value, int | float) and not isinstance(value, bool) and all(
            compare[op](value, b) for op, b in bounds.items()
        )
    moment = _moment(value)
    return moment is not None and all(compare[op](moment, _moment(b)) for op, b in bounds.items())


def _moment(text: Any) -> datetime | None:
    try:
        found = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
