"""Known-item query sets: queries made from a collection, each with the one document it was made from.

Three kinds: every title, a quoted span, an identifier. Whatever names more than one document is dropped and
counted, so that a query has exactly one right answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import regex

from workbench.analysis.evaluate.judged import Judged, judge
from workbench.analysis.evaluate.query_attributes import attributes_of
from workbench.errors import BadParameter
from workbench.sources.base import JudgedQuery, Qrel
from workbench.text import DEFAULT, Tokenizer, verbatim_key
from workbench.types import Chunk, content_hash

Chunks = Callable[[], Iterable[Chunk]]
"""Streams the chunks from the start at every call, as `Source.chunks` does."""

SEED = 20260101

# Eight words: long enough to stand in one document only, short enough to be typed or pasted.
SPAN_WORDS = 8

_LEAST_SPAN = 4
_CATALOG_BATCH = 1_000

_IDENTIFIER = regex.compile(r"[\p{L}\p{N}]+(?:[._\-:/#@+][\p{L}\p{N}]+)*")
_LEAST_IDENTIFIER = 4
_LEAST_NUMBER = 6


@dataclass(frozen=True, slots=True)
class KnownItems:
    """Queries, one relevant document each, and how many documents were dropped, by reason. `rule` says in one
    sentence how they were made; equal collections and seeds give equal sets."""

    queries: tuple[JudgedQuery, ...]
    qrels: tuple[Qrel, ...]
    dropped: Mapping[str, int]
    rule: str
    seed: int

    def judged(self, documents: Iterable[str] | None = None) -> Judged:
        return judge(self.queries, self.qrels, documents)


def chunks_of(catalog: Any, batch: int = _CATALOG_BATCH) -> Chunks:
    """A catalog's chunks as a stream in point-id order, read in batches."""

    def stream() -> Iterator[Chunk]:
        ids = catalog.ids_where({}, catalog.n)
        for start in range(0, len(ids), batch):
            yield from catalog.chunks(ids[start : start + batch])

    return stream


def titles(
    chunks: Chunks, *, limit: int | None = None, seed: int = SEED, tokenizer: Tokenizer = DEFAULT
) -> KnownItems:
    """Every title as a query for its document: the title of the document's first chunk.

    Dropped with the reason: no title, a title without terms, a title (case and white space ignored) that
    several documents share, and beyond `limit` (chosen by the hash of seed and query id).
    """
    first: dict[str, tuple[int, str]] = {}
    for chunk in chunks():
        if chunk.entity_id not in first or chunk.chunk_index < first[chunk.entity_id][0]:
            first[chunk.entity_id] = (chunk.chunk_index, chunk.title)
    shared = Counter(verbatim_key(title) for _, title in first.values())
    found: dict[str, str] = {}
    dropped: Counter[str] = Counter()
    for entity, (_, title) in first.items():
        if not title.strip():
            dropped["no title"] += 1
        elif not tokenizer.terms(title):
            dropped["title without terms"] += 1
        elif shared[verbatim_key(title)] > 1:
            dropped["title shared by several documents"] += 1
        else:
            found[entity] = title
    return _set("title", found, dropped, "every title as a query for its document", limit, seed)


def spans(
    chunks: Chunks,
    *,
    words: int = SPAN_WORDS,
    limit: int | None = None,
    seed: int = SEED,
    tokenizer: Tokenizer = DEFAULT,
) -> KnownItems:
    """A quotation of `words` consecutive words from each document, place chosen by seed, as a query for it.

    Reads the chunks twice. Dropped with the reason: a document too short, a span without terms, a span that
    stands verbatim (case and white space ignored) in another document too, and beyond `limit`.
    """
    if words < _LEAST_SPAN:
        raise BadParameter(
            f"a span of {words} words quotes nothing", do=f"Ask for at least {_LEAST_SPAN}"
        )
    best: dict[str, tuple[str, str]] = {}
    seen: dict[str, None] = {}
    for chunk in chunks():
        seen[chunk.entity_id] = None
        split = chunk.text.split()
        if len(split) >= words:
            lot = content_hash(seed, chunk.key)
            start = int(lot, 16) % (len(split) - words + 1)
            span = " ".join(split[start : start + words])
            best[chunk.entity_id] = min(best.get(chunk.entity_id, (lot, span)), (lot, span))
    dropped: Counter[str] = Counter({"text shorter than the span": len(seen) - len(best)})
    found = {entity: best[entity][1] for entity in seen if entity in best}
    for entity in [e for e, span in found.items() if not tokenizer.terms(span)]:
        del found[entity]
        dropped["span without terms"] += 1
    for entity in _elsewhere(chunks, found):
        del found[entity]
        dropped["span stands in several documents"] += 1
    return _set("span", found, dropped, f"{words} consecutive words of each document", limit, seed)


def identifiers(
    chunks: Chunks, *, limit: int | None = None, seed: int = SEED, tokenizer: Tokenizer = DEFAULT
) -> KnownItems:
    """An identifier that stands in one document only, chosen by seed, as a query for that document.

    Identifiers are what `is_identifier` says; case is ignored. Dropped with the reason: a document without
    any, one that shares all of its own with others, and beyond `limit`.
    """
    owner: dict[str, str | None] = {}
    surface: dict[str, str] = {}
    holds: dict[str, bool] = {}
    for chunk in chunks():
        entity = chunk.entity_id
        holds.setdefault(entity, False)
        for word in filter(is_identifier, _IDENTIFIER.findall(chunk.text)):
            if not tokenizer.terms(word):
                continue
            holds[entity] = True
            key = word.casefold()
            surface.setdefault(key, word)
            if owner.setdefault(key, entity) != entity:
                owner[key] = None
    best: dict[str, tuple[str, str]] = {}
    for key, only in owner.items():
        if only is not None:
            lot = (content_hash(seed, only, key), surface[key])
            best[only] = min(best.get(only, lot), lot)
    found = {entity: best[entity][1] for entity in holds if entity in best}
    without = sum(not any_held for any_held in holds.values())
    dropped = Counter(
        {
            "no identifier": without,
            "identifiers shared with other documents": len(holds) - without - len(found),
        }
    )
    return _set("identifier", found, dropped, "one identifier of each document", limit, seed)


def is_identifier(word: str) -> bool:
    """Whether a run of letters and digits with single inner marks (`. _ - : / # @ +`) names something.

    `RULE-A002`, `covid-19`, `numpy.linalg.svd`, `snake_case`, `2026-11-11`, `0b85ed4a` do; `well-known`,
    `3.5`, `2026` and `end.Next` do not. It needs four characters, and: letters and digits together, or an
    underscore, or two inner marks other than hyphens, or six characters of digits and marks.
    """
    if len(word) < _LEAST_IDENTIFIER:
        return False
    digits = any(c.isdigit() for c in word)
    if any(c.isalpha() for c in word):
        return digits or "_" in word or sum(not c.isalnum() and c != "-" for c in word) >= 2
    return len(word) >= _LEAST_NUMBER


@dataclass(frozen=True, slots=True)
class Split:
    """Two sets without a common query: `tune` to choose by, `judge` to report on, and the rule."""

    tune: tuple[JudgedQuery, ...]
    judge: tuple[JudgedQuery, ...]
    rule: str


def split(queries: Sequence[JudgedQuery], fraction: float = 0.5, seed: int = SEED) -> Split:
    """Part queries by the hash of seed and query id: about `fraction` of them go to `tune`.

    A query never changes sides when others come or go. Raises BadParameter for a fraction outside 0 to 1.
    """
    if not 0 <= fraction <= 1:
        raise BadParameter(f"a fraction lies between 0 and 1, not {fraction}")
    # Another lot than `drawn` has: the queries of the smallest lots would all be on one side.
    tune = tuple(q for q in queries if _lot(seed, q.id, "split") < fraction)
    kept = {q.id for q in tune}
    rule = f"sha256 of (seed {seed}, query id, split) below {fraction:g} of its range tunes, the rest judges"
    return Split(tune, tuple(q for q in queries if q.id not in kept), rule)


def folds_of(
    queries: Sequence[JudgedQuery], count: int, seed: int = SEED
) -> tuple[tuple[JudgedQuery, ...], ...]:
    """The queries in `count` parts of about equal size, by the hash of seed and id: no query changes its part when others
    come or go."""
    parts: list[list[JudgedQuery]] = [[] for _ in range(count)]
    for query in queries:
        parts[int(_lot(seed, query.id, "fold") * count)].append(query)
    return tuple(map(tuple, parts))


def drawn(queries: Sequence[JudgedQuery], count: int, seed: int = SEED) -> list[JudgedQuery]:
    """So many of the queries, those of the smallest lots by seed and id; a smaller count draws some of the same."""
    return sorted(queries, key=lambda q: (_lot(seed, q.id), q.id))[:count]


def _lot(seed: int, query_id: str, *use: str) -> float:
    """A number in [0, 1) that depends on nothing but the seed, the id and what it is for."""
    return int(content_hash(seed, query_id, *use)[:13], 16) / 16**13


def _elsewhere(chunks: Chunks, found: Mapping[str, str]) -> set[str]:
    """The documents whose span stands verbatim in another document as well."""
    # The two inner words next to the first are whole words wherever the span stands: they find the
    # candidates.
    heads: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for entity, span in found.items():
        key = verbatim_key(span)
        second, third = key.split()[1:3]
        heads.setdefault((second, third), []).append((entity, key))
    twice: set[str] = set()
    for chunk in chunks():
        key = verbatim_key(chunk.text)
        words = key.split()
        for pair in {p for p in pairwise(words) if p in heads}:
            twice.update(e for e, span in heads[pair] if e != chunk.entity_id and span in key)
    return twice


def _set(
    kind: str,
    found: Mapping[str, str],
    dropped: Counter[str],
    rule: str,
    limit: int | None,
    seed: int,
) -> KnownItems:
    queries = [
        JudgedQuery(f"{kind}:{entity}", text, {"kind": kind, **attributes_of(text)})
        for entity, text in found.items()
    ]
    if limit is not None and len(queries) > limit:
        kept = {q.id for q in drawn(queries, limit, seed)}
        dropped["beyond the limit"] = len(queries) - len(kept)
        queries = [q for q in queries if q.id in kept]
    targets = {f"{kind}:{entity}": entity for entity in found}
    return KnownItems(
        queries=tuple(queries),
        qrels=tuple(Qrel(q.id, targets[q.id], 1) for q in queries),
        dropped={reason: n for reason, n in dropped.items() if n},
        rule=rule,
        seed=seed,
    )
