"""Match evidence: which terms a chunk holds and where, and the span that holds the query verbatim."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import regex

from workbench.retrieval.search import Collection
from workbench.text import verbatim_key
from workbench.types import Chunk, Result

SPANS_KEPT = 200
"""Term spans kept for display; more are counted and not kept."""

_WORD = regex.compile(r"[\p{L}\p{N}][\p{L}\p{N}\p{M}]*")


@dataclass(frozen=True, slots=True)
class Evidence:
    """`terms`: query term to its count in the text (0 where it is missing). `spans`: (start, end) of words that
    are query terms, in the text's characters; `verbatim`: the first span that holds the query verbatim, in
    `verbatim_in` ("content" or "source")."""

    terms: Mapping[str, int]
    spans: tuple[tuple[int, int], ...]
    verbatim: tuple[int, int] | None
    verbatim_in: str = ""


def evidence_of(collection: Collection, result: Result, chunk: Chunk) -> Evidence:
    """The evidence in one chunk for one result's query, by the collection's own tokenizer."""
    tokenizer, terms = collection.stores.tokenizer, result.evidence["terms"]
    held, wanted = Counter(tokenizer.terms(chunk.text)), set(terms)
    # A text repeats its words: each form is asked of the tokenizer once.
    known: dict[str, bool] = {}
    spans: list[tuple[int, int]] = []
    for word in _WORD.finditer(chunk.text):
        form = word.group()
        if form not in known:
            known[form] = not wanted.isdisjoint(tokenizer.terms(form))
        if known[form]:
            spans.append(word.span())
            if len(spans) == SPANS_KEPT:
                break
    found, where = verbatim_span(chunk.text, result.query.normalised), "content"
    if found is None:
        found, where = verbatim_span(chunk.source, result.query.normalised), "source"
    return Evidence({t: held[t] for t in terms}, tuple(spans), found, where if found else "")


def verbatim_span(text: str, query: str) -> tuple[int, int] | None:
    """Where a text first holds the query, case and runs of white space ignored: (start, end) in its characters.

    It is found exactly where `verbatim_key` of the text holds that of the query.
    """
    key = verbatim_key(query)
    start = verbatim_key(text).find(key) if key else -1
    if start < 0:
        return None
    places = _places(text, start + len(key))
    return places[start], places[start + len(key) - 1] + 1


def _places(text: str, count: int) -> list[int]:
    """For each of the first characters of a text's verbatim key the place in the text that it came from."""
    places: list[int] = []
    blank = True  # white space at the beginning is dropped
    for place, char in enumerate(text):
        if char.isspace():
            if not blank:
                places.append(place)
            blank = True
        else:
            places += [place] * len(char.casefold())
            blank = False
        if len(places) >= count:
            break
    return places
