"""The time that a query names, as one interval; none where it names none, or can be read in two ways.

The law: every date of the text is found, the longest first. One interval, however often it is named, is the answer;
`from A to B` and `between A and B` is the span of both. Two different intervals, a negated one, a day that no month
has, `03/04/2024` and an hour without a day are ambiguous or no date: no interval. A day or month without a year is
the latest that is not after now; weeks begin on Monday. Times are in the zone of `now`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from workbench.retrieval.date_patterns import RULES, Days
from workbench.text import fold

LONGEST_QUERY = 10_000
"""Characters that are looked at: no person types more, and a pasted page names many dates anyway."""

_NEGATIONS = ("not", "nicht", "kein", "pas", "non", "nu", "不是")
_FROM = ("from", "between", "von", "zwischen", "de", "entre", "dal", "tra", "du", "din", "intre", "с", "между", "从")
_TO = ("to", "and", "until", "till", "through", "-", "–", "bis", "und", "a", "y", "hasta", "al", "e", "au", "et", "pana la", "si",
       "по", "и", "到", "至")  # fmt: skip
_SPAN_MARKS = ("-", "–", "to", "until", "till", "through", "bis", "hasta", "pana la", "到", "至")
"""Between two dates these make a span also without a word before the first."""


@dataclass(frozen=True, slots=True)
class Interval:
    """From `start` to `end`, both within it, to the microsecond; `phrase` is the folded text that named it."""

    start: datetime
    end: datetime
    phrase: str


class _Found(NamedTuple):
    start: int
    stop: int
    days: Days


def recognise(text: str, now: datetime) -> Interval | None:
    """The one time that the text names, as seen from `now`."""
    folded = fold.__wrapped__(text[:LONGEST_QUERY]).replace("’", "'")
    found = list(_joined(folded, _matches(folded, now)))
    if not found or any(_before(folded, f.start, _NEGATIONS) for f in found) or len({f.days for f in found}) > 1:
        return None
    first = found[0]
    if first.days is None:
        return None
    begin, end = first.days
    zone = now.tzinfo
    start = datetime(begin.year, begin.month, begin.day, tzinfo=zone)
    stop = datetime(end.year, end.month, end.day, 23, 59, 59, 999999, tzinfo=zone)
    return Interval(start, stop, folded[first.start : first.stop])


def _matches(folded: str, now: datetime) -> list[_Found]:
    """Every date of the text from left to right; where two overlap the longer one, of equals the earlier rule's."""
    found = []
    for order, (pattern, days) in enumerate(RULES):
        for match in pattern.finditer(folded):
            try:
                read = days(match, now.date())
            except (ValueError, OverflowError):  # no such day, or beyond the calendar
                read = None
            found.append((match.start() - match.end(), match.start(), order, _Found(match.start(), match.end(), read)))
    kept: list[_Found] = []
    for _, _, _, one in sorted(found, key=lambda f: f[:3]):
        if all(one.stop <= k.start or one.start >= k.stop for k in kept):
            kept.append(one)
    return sorted(kept)[:100]


def _joined(folded: str, found: list[_Found]) -> Iterator[_Found]:
    """The dates, two that are the ends of one span as one."""
    rest = list(found)
    while rest:
        first = rest.pop(0)
        if rest and first.days and rest[0].days:
            between = folded[first.stop : rest[0].start].strip(" ,")
            opened = _before(folded, first.start, _FROM)
            if (opened and between in _TO) or between in _SPAN_MARKS:
                second = rest.pop(0)
                if first.days[0] <= second.days[1]:
                    first = _Found(first.start, second.stop, (first.days[0], second.days[1]))
                else:
                    first = _Found(first.start, second.stop, None)
        yield first


def _before(folded: str, place: int, words: tuple[str, ...]) -> bool:
    """Whether one of the words stands right before a place."""
    head = folded[max(0, place - 24) : place].rstrip()
    return any(head.endswith(w) and (w[0] > "\u3000" or not head[: -len(w)][-1:].isalnum()) for w in words)


