"""What a query is like, from its text alone: the attributes that slices are made by."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from workbench.analysis.languages import language_of
from workbench.retrieval.derived import title_shaped
from workbench.sources.source import JudgedQuery
from workbench.text import DEFAULT, Tokenizer, verbatim_key

# Lower bound of each part but the first, and its label: one word, a phrase, a title, a question, a passage.
LENGTHS = ((1, "1"), (2, "2-3"), (4, "4-7"), (8, "8-15"), (16, "16 or more"))


def attributes_of(text: str, tokenizer: Tokenizer = DEFAULT) -> dict[str, str | bool]:
    """`terms` (how many, as a label: "0" means that only stop words or marks were typed), `has_digits`,
    `question` (ends with a question mark), `title_shaped` (as the third list of ADR 0172 has it), `language` (as
    `languages` tells it), `ascii`."""
    count = len(tokenizer.query_terms(text))
    return {
        "terms": next((label for least, label in reversed(LENGTHS) if count >= least), "0"),
        "has_digits": any(c.isdigit() for c in text),
        "question": text.rstrip().endswith(("?", "？")),
        "title_shaped": title_shaped(text),
        "language": language_of(text),
        "ascii": text.isascii(),
    }


def described(
    queries: Sequence[JudgedQuery], texts: Iterable[str] | None = None, tokenizer: Tokenizer = DEFAULT
) -> tuple[JudgedQuery, ...]:
    """The queries with these attributes beside their own, which win. With `texts`, the collection's texts,
    read once, also `verbatim`: whether the whole query stands in one of them, case and white space
    ignored."""
    found = {} if texts is None else _standing(queries, texts)
    return tuple(
        replace(q, attributes={**attributes_of(q.text, tokenizer), **(found.get(q.id) or {}), **q.attributes})
        for q in queries
    )


def _standing(queries: Sequence[JudgedQuery], texts: Iterable[str]) -> dict[str, dict[str, bool]]:
    keys = {q.id: verbatim_key(q.text) for q in queries}
    open_keys = {key for key in keys.values() if key}
    held: set[str] = set()
    for text in texts:
        if not open_keys:
            break
        haystack = verbatim_key(text)
        now = {key for key in open_keys if key in haystack}
        held |= now
        open_keys -= now
    return {q: {"verbatim": key in held} for q, key in keys.items()}
