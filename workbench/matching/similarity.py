"""How alike two lists of words are, and gates that a likeness must pass: plain functions, 0 to 1, symmetric.

None of the likenesses sees the order of words but `dice_bigrams`, and none sees `+` or `-`: the gates look at what
they overlook.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from workbench.text import LUCENE_ENGLISH_33

Words = Sequence[str]
Likeness = Callable[[Words, Words], float]


class Compared(NamedTuple):
    """What the gates look at: the words in order, the marks between them that are not those of a sentence, and how
    many of the words are in the system text and in each part of a message."""

    words: tuple[str, ...]
    marks: str = ""
    places: tuple[int, ...] = ()


Gate = Callable[[Compared, Compared], bool]

NEGATIONS = frozenset(
    {
        "no",
        "not",
        "never",
        "none",
        "neither",
        "nor",
        "without",
        "cannot",
        "nothing",
        "nobody",
        "nowhere",
    }
)
FUNCTION_WORDS = LUCENE_ENGLISH_33 - NEGATIONS
"""Words that carry no content of their own. Lucene's list holds `no` and `not`; here they are content."""

# Operators, currency, brackets, slashes; a point, comma or colon inside a number; the `!` of `!=`. Not the marks that
# end or divide a sentence, nor quotation marks, which come in many shapes.
_MARK = re.compile(r"""[^\w\s.,;:!?'"`“”„‘’…]|(?<=\d)[.,:](?=\d)|[!:](?==)""")


def marks(text: str) -> list[str]:
    """The marks of a text that can change what it asks, in order."""
    return _MARK.findall(text)


def _dice(a: Counter[str], b: Counter[str]) -> float:
    total = a.total() + b.total()
    return 2.0 * (a & b).total() / total if total else 0.0


def dice_multiset(a: Words, b: Words) -> float:
    """Sorensen-Dice, repeats counted: 2·|A∩B| / (|A|+|B|); 0 where neither has a word. One word added to n: 2n/(2n+1)."""
    return _dice(Counter(a), Counter(b))


def dice_set(a: Words, b: Words) -> float:
    """Sorensen-Dice over distinct words: `very very good` and `very good` are 1."""
    return _dice(Counter(set(a)), Counter(set(b)))


def dice_bigrams(a: Words, b: Words) -> float:
    """Sorensen-Dice over pairs of neighbouring words, repeats counted, with the ends as words: sees word order."""
    return _dice(_bigrams(a), _bigrams(b))


def _bigrams(words: Words) -> Counter[str]:
    ends = ["", *words, ""]
    return Counter(f"{x} {y}" for x, y in zip(ends, ends[1:], strict=False)) if words else Counter()


def containment(a: Words, b: Words) -> float:
    """The share of the shorter one's words that the other holds, repeats counted: 1 for a part of a longer text."""
    x, y = Counter(a), Counter(b)
    shorter = min(x.total(), y.total())
    return (x & y).total() / shorter if shorter else 0.0


def same_numbers(a: Compared, b: Compared) -> bool:
    """The same words that hold a digit, as often."""
    return Counter(filter(_has_digit, a.words)) == Counter(filter(_has_digit, b.words))


def _has_digit(word: str) -> bool:
    return not word.isalpha() and any(c.isdigit() for c in word)


def same_content_words(a: Compared, b: Compared) -> bool:
    """The same distinct content words: all but function words; negations are content."""
    return set(a.words) - FUNCTION_WORDS == set(b.words) - FUNCTION_WORDS


def same_negation(a: Compared, b: Compared) -> bool:
    """As many negations on both sides (the `t` of `don't` counts as one)."""
    return _negations(a.words) == _negations(b.words)


def _negations(words: Words) -> int:
    return sum(w in NEGATIONS or w == "t" for w in words)


def same_order(a: Compared, b: Compared) -> bool:
    """The words that both have stand in the same order on both sides, repeats counted."""
    shared = Counter(a.words) & Counter(b.words)
    return _kept(a.words, shared) == _kept(b.words, shared)


def _kept(words: Words, shared: Counter[str]) -> list[str]:
    left, kept = Counter(shared), []
    for word in words:
        if left[word] > 0:
            left[word] -= 1
            kept.append(word)
    return kept


def same_marks(a: Compared, b: Compared) -> bool:
    """The same marks in the same order: `10 + 10` is not `10 - 10`."""
    return a.marks == b.marks


def same_places(a: Compared, b: Compared) -> bool:
    """The words that both have are in the same part of the same message: nobody is given another's words."""
    shared = Counter(a.words) & Counter(b.words)
    return _kept_places(a, shared) == _kept_places(b, shared)


def _kept_places(a: Compared, shared: Counter[str]) -> Counter[tuple[str, int]]:
    places = [place for place, size in enumerate(a.places or (len(a.words),)) for _ in range(size)]
    left, kept = Counter(shared), Counter()
    for word, place in zip(a.words, places, strict=True):
        if left[word] > 0:
            left[word] -= 1
            kept[word, place] += 1
    return kept


LIKENESSES: dict[str, Likeness] = {
    f.__name__: f for f in (dice_multiset, dice_set, dice_bigrams, containment)
}
GATES: dict[str, Gate] = {
    f.__name__: f
    for f in (same_order, same_marks, same_places, same_numbers, same_negation, same_content_words)
}


GATE_WORDS = {
    "same_order": "order of words",
    "same_marks": "marks",
    "same_places": "places of words",
    "same_numbers": "numbers",
    "same_negation": "negations",
    "same_content_words": "content words",
}
"""What a gate asks to be the same, after "not the same"."""


def broken_words(names: Sequence[str]) -> str:
    """Broken gates as a person reads them."""
    return ", ".join(GATE_WORDS.get(name, name) for name in names)


def broken_gates(names: Sequence[str], a: Compared, b: Compared) -> tuple[str, ...]:
    """The named gates that the pair does not pass, in the order asked."""
    return tuple(name for name in names if not GATES[name](a, b))
