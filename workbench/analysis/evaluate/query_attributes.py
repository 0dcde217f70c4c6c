"""What a query is like, from its text alone: the attributes that slices are made by."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import replace

import regex

from workbench.retrieval.derived import title_shaped
from workbench.sources.base import JudgedQuery
from workbench.text import DEFAULT, Tokenizer, verbatim_key

# ---- The language of a query, from its script and its commonest words; "unknown" where they ----

UNKNOWN = "unknown"

# The commonest function words that a question or sentence can hardly do without; what two languages share tells
# neither apart, and counts for both.
FUNCTION_WORDS = {
    "en": "the of and to in is was for what how who which where when why did does do are with from that this an a on by has have not be"
    " at as it can if were been than or",
    "ro": "și si în de la se cui căror cărui cărei care ce cum unde când cine este sunt pe cu din pentru nu o un a fost ale al cât câte câți prin mai lui să dintre"
    " după către acest această într-o fi",
    "es": "el la los las de del que qué en y es por para con una un como cómo cuándo dónde quién fue se al su más no cuál",
    "fr": "le la les des de du que qui quoi est et en une un pour dans par sur comment où quand quel quelle avec au aux ne pas a-t-il",
    "de": "der die das und ist in zu den dem ein eine wie was wer wo wann warum wurde von mit für auf im nicht welche welcher des sind war",
    "it": "il lo la gli le di del della che chi cosa è e in un una per con come dove quando quale sono da nel non al si",
    "pt": "o os as de do da que e é em um uma para com por como onde quando quem qual não no na foi se ao mais dos das",
}
_WORDS = {language: frozenset(words.split()) for language, words in FUNCTION_WORDS.items()}
# A letter that of these languages one alone writes is one more vote.
_OWN_LETTERS = {"ro": "ășț", "es": "ñ¿¡", "pt": "ãõ", "de": "ß"}
_SCRIPTS = (
    ("ja", regex.compile(r"[\p{Hiragana}\p{Katakana}]")),
    ("ko", regex.compile(r"\p{Hangul}")),
    ("zh", regex.compile(r"\p{Han}")),
    ("ru", regex.compile(r"\p{Cyrillic}")),
    ("el", regex.compile(r"\p{Greek}")),
    ("ar", regex.compile(r"\p{Arabic}")),
    ("he", regex.compile(r"\p{Hebrew}")),
    ("hi", regex.compile(r"\p{Devanagari}")),
    ("th", regex.compile(r"\p{Thai}")),
)
_LETTER = regex.compile(r"\p{L}")
_WORD = regex.compile(r"[\p{L}\p{M}]+(?:-\p{L}+)*")
# Half of the letters: a Greek letter in an English sentence makes it no Greek.
_MOST = 0.5
_LONGEST = 2_000
"""Characters that are looked at: enough to tell."""


def language_of(text: str) -> str:
    """The ISO 639-1 code of the text's language, or UNKNOWN."""
    text = unicodedata.normalize("NFC", text[:_LONGEST]).replace("ş", "ș").replace("ţ", "ț")
    letters = len(_LETTER.findall(text))
    for language, script in _SCRIPTS:
        if letters and len(script.findall(text)) >= _MOST * letters:
            return language
    low = text.lower()
    words = set(_WORD.findall(low))
    votes = {
        language: len(words & known) + any(c in low for c in _OWN_LETTERS.get(language, ""))
        for language, known in _WORDS.items()
    }
    (language, most), (_, second) = sorted(votes.items(), key=lambda v: -v[1])[:2]
    return language if most > second else UNKNOWN


# ---- What a query is like, from its text alone: the attributes that slices are made by ----

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
    queries: Sequence[JudgedQuery],
    texts: Iterable[str] | None = None,
    tokenizer: Tokenizer = DEFAULT,
) -> tuple[JudgedQuery, ...]:
    """The queries with these attributes beside their own, which win. With `texts`, the collection's texts,
    read once, also `verbatim`: whether the whole query stands in one of them, case and white space
    ignored."""
    found = {} if texts is None else _standing(queries, texts)
    return tuple(
        replace(
            q,
            attributes={
                **attributes_of(q.text, tokenizer),
                **(found.get(q.id) or {}),
                **q.attributes,
            },
        )
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
