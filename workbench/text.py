"""The one tokenizer: Unicode words, case and diacritics folded, for the index, the query and the matcher alike.

The law: `terms(text)` = words of letters, numbers and marks; a word on the stop list (looked up before folding,
so that `thé` never becomes a stop word) is dropped; the rest are folded. Both stores index these terms and
nothing else, so a count in Qdrant and a count in DuckDB mean the same.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal

import regex

# Lucene's classic English stop set (33 words), the one that Anserini's published BM25 figures use.
LUCENE_ENGLISH_33 = frozenset(
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these "
    "they this to was will with".split()
)
STOP_LISTS: dict[str, frozenset[str]] = {"lucene-en-33": LUCENE_ENGLISH_33, "none": frozenset()}

# Letters that Unicode does not decompose but that readers type without their mark.
_UNDECOMPOSED = str.maketrans(
    {
        "ł": "l",
        "đ": "d",
        "ð": "d",
        "ø": "o",
        "ß": "ss",
        "æ": "ae",
        "œ": "oe",
        "þ": "th",
        "ħ": "h",
        "ı": "i",
        "ŧ": "t",
        "ŋ": "n",
        "ĸ": "k",
        "ƒ": "f",
    }
)

# ASCII text is lowered and split by one table, 2.7 times as fast as the pattern: all but letters and digits is blank.
_ASCII_WORDS = bytes(
    ord(chr(c).lower()) if c < 128 and chr(c).isalnum() else ord(" ") for c in range(256)
)
_WORD = regex.compile(r"[\p{L}\p{N}][\p{L}\p{N}\p{M}]*")
# Only the marks that Latin, Greek and Cyrillic wear are dropped; in Indic scripts a mark is a vowel.
_DROPPED_MARK = regex.compile(r"[\u0300-\u036f]")


@lru_cache(maxsize=1 << 18)
def fold(word: str) -> str:
    """Case and diacritics folded: `Ședință`, `Şedinţă` and `sedinta` become one word."""
    word = word.casefold()
    if word.isascii():
        return word
    decomposed = unicodedata.normalize("NFKD", word.translate(_UNDECOMPOSED))
    return unicodedata.normalize(
        "NFC", _DROPPED_MARK.sub("", decomposed).casefold().translate(_UNDECOMPOSED)
    )


@cache
def _stemmer(name: str):
    import snowballstemmer

    return lru_cache(maxsize=1 << 17)(snowballstemmer.stemmer(name).stemWord)


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """How text becomes terms. A collection is indexed and queried with the same one, recorded by name.

    `stop`: a name in STOP_LISTS. `stem`: "" (default: the records match whole words) or a Snowball algorithm
    ("porter", "english", "romanian", …).
    """

    stop: Literal["lucene-en-33", "none"] = "lucene-en-33"
    stem: str = ""

    @property
    def name(self) -> str:
        return f"words-folded/stop={self.stop}" + (f"/stem={self.stem}" if self.stem else "")

    def words(self, text: str) -> list[str]:
        """Folded words in order, stop words kept."""
        return [term for word in _surface(text) for term in _folded(word)]

    def terms(self, text: str) -> list[str]:
        """Index terms in order, repeats kept: the words less the stop words, stemmed where asked."""
        stop = STOP_LISTS[self.stop]
        if text.isascii():
            out = [w for w in _surface(text) if w not in stop]
        else:
            out = [t for w in _surface(text) if w not in stop for t in _folded(w)]
        if self.stem:
            stem = _stemmer(self.stem)
            # Porter stems `s` to nothing, which is no term.
            out = [stemmed for t in out if (stemmed := stem(t))]
        return out

    def holds_all(self, text: str, wanted: Collection[str]) -> bool:
        """Whether each of the terms is a term of the text."""
        if text.isascii() and not self.stem:
            # A term of such a text stands in it letter by letter; most texts are told apart by that alone.
            lower = text.lower()
            if not all(term in lower for term in wanted):
                return False
        return set(wanted) <= set(self.terms(text))

    def query_terms(self, text: str) -> list[str]:
        """The distinct terms of a query, in the order of their first appearance."""
        return list(dict.fromkeys(self.terms(text)))


def _surface(text: str) -> list[str]:
    if text.isascii():
        return text.encode("ascii").translate(_ASCII_WORDS).decode("ascii").split()
    return _WORD.findall(unicodedata.normalize("NFC", text).casefold())


@lru_cache(maxsize=1 << 18)
def _folded(word: str) -> tuple[str, ...]:
    # Compatibility folding can split a word (`½` is 1⁄2), so the rule for words is applied once more.
    return (word,) if word.isascii() else tuple(_WORD.findall(fold(word)))


DEFAULT = Tokenizer()


def verbatim_key(text: str) -> str:
    """Text as the verbatim rule compares it: case folded, every run of white space one blank (ADR 0172)."""
    return " ".join(text.casefold().split())


def excerpt(text: str, title: str, characters: int) -> str:
    """The beginning of a text on one line of at most `characters`, without the title that is its first line; where it
    goes on, ` …` stands after the last whole word, or within one that would leave less than half."""
    rest = text.removeprefix(title)
    if title and (not rest or rest[0] == "\n"):
        text = rest
    line = " ".join(text[: 8 * characters].split())
    if len(line) <= characters and not text[8 * characters :].strip():
        return line
    cut = line[: characters + 1].rpartition(" ")[0]
    return f"{cut if 2 * len(cut) >= characters else line[:characters]} …"


_SURROGATE = regex.compile(r"[\ud800-\udfff]")


def well_formed(text: str) -> str:
    """Text that UTF-8 can hold: each lone surrogate becomes U+FFFD."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text)
    return text


def counted(n: int, one: str, many: str = "") -> str:
    """`1 row`, `2 rows`, `1,000 queries`: a number with its word, `many` being `one` and an s where not given."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def signed(number: float, digits: int = 3) -> str:
    """`+0.012`, `−0.340`: a number with its sign, the minus a real one; what rounds to zero has a plus."""
    return f"{round(number, digits) + 0.0:+.{digits}f}".replace("-", "−")


def visible(text: str) -> str:
    """Text made safe for a terminal: control, escape and bidirectional-override characters shown as `\\x1b`."""
    return "".join(c if _shown(c) else f"\\x{ord(c):02x}" for c in text)


def _shown(char: str) -> bool:
    return (
        char in "\n\t"
        or unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co")
        or char in "\u200d\ufe0f"
    )
