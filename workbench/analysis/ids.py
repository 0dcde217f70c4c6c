"""Ids that look alike: `7` and `007` are two ids, and a set that mixes them is told so, never mended."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

EXAMPLES_SHOWN = 3

_LEADING_ZEROS = re.compile(r"(?<!\d)0+(?=\d)")


@dataclass(frozen=True, slots=True)
class Padded:
    """Ids that stand on the other side with other padding only: how many, and the first pairs by id."""

    count: int = 0
    examples: tuple[tuple[str, str], ...] = ()

    def sentence(self, left: str, right: str) -> str:
        """One line for a report: `ids that are judged ids but for padding, not matched: 1 (7 / 007)`."""
        pairs = ", ".join(f"{a} / {b}" for a, b in self.examples)
        return f"{left} that are {right} but for padding, not matched: {self.count} ({pairs})"


def padding_key(text: str) -> str:
    """An id without outer white space and leading zeros of its numbers: ` doc007` gives `doc7`."""
    return _LEADING_ZEROS.sub("", text.strip())


def padded(left: Iterable[str], right: Iterable[str]) -> Padded:
    """The ids of `left` that are not in `right`, but would be if padding did not count."""
    left, right = set(left), set(right)
    # An id that both sides hold has found its partner and explains nothing.
    partners = {padding_key(i): i for i in sorted(right - left, reverse=True)}
    pairs = [(i, partners[key]) for i in sorted(left - right) if (key := padding_key(i)) in partners]
    return Padded(len(pairs), tuple(pairs[:EXAMPLES_SHOWN]))
