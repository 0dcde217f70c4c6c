"""Match evidence: which terms a chunk holds and where, and the span that holds the query verbatim."""

from __future__ import annotations

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

    terms: dict[str, int]
    spans: tuple[tuple[int, int], ...]
    verbatim: tuple[int, int] | None
    verbatim_in: str = ""


def evidence_of(collection: Collection, result: Result, chunk: Chunk) -> Evidence:
    """The evidence in one chunk for one result's query, by the collection's own tokenizer."""
    tokenizer = collection.stores.tokenizer
    terms = result.evidence["terms"]
    held = tokenizer.terms(chunk.text)
    wanted = set(terms)
    spans = tuple(
        m.span() for m in _WORD.finditer(chunk.text) if wanted.intersection(tokenizer.terms(m.group()))
    )[:SPANS_KEPT]
    found, where = verbatim_span(chunk.text, result.query.normalised), "content"
    if found is None:
        found, where = verbatim_span(chunk.source, result.query.normalised), "source"
    return Evidence({t: held.count(t) for t in terms}, spans, found, where if found else "")


def verbatim_span(text: str, query: str) -> tuple[int, int] | None:
    """Where a text first holds the query, case and runs of white space ignored: (start, end) in its characters."""
    key = verbatim_key(query)
    if not key or key not in verbatim_key(text):
        return None
    pattern = r"\s+".join(regex.escape(part) for part in query.split())
    found = regex.search(pattern, text, regex.IGNORECASE | regex.FULLCASE)
    return found.span() if found else None
