"""The lexical index proposes entries; it does not score them (ADR-0003, SEM-E6). Two indexes, one interface.

`propose(db, words, speakers, limit)` gives at most `limit` ids of entries with the same speakers, best first. The
service scores each proposal itself: raw BM25 depends on the size of the collection and cannot carry a threshold.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from workbench.matching.schema import EVERY_ENTRY, speakers_token
from workbench.matching.similarity import dice_multiset

ALL_WORDS_UP_TO = 5000
"""Entries up to which a search over all words stays under about 15 ms (ADR-0003's scan stops there too)."""

_LOOKUP = 500  # below SQLite's lowest limit of variables, 999


class Index(Protocol):
    def propose(
        self, db: sqlite3.Connection, words: Sequence[str], speakers: str, limit: int
    ) -> list[int]:
        """Ids of at most `limit` entries with these speakers, best first; () where no word is known."""


@dataclass(frozen=True, slots=True)
class Fts5Index:
    """SQLite's FTS5, any of the words, ranked by bm25; ties by the entry's id.

    Two limits keep a search cheap, and both leave out only what weighs least. Of a long request the `query_words`
    rarest words are looked up (ties by the word). In a collection of more than ALL_WORDS_UP_TO entries, words that
    stand in more than `common_share` of them are left out while a rarer one is known: from one half on FTS5 gives
    a word no weight, and such words are what a search spends its time on.
    """

    query_words: int = 64
    common_share: float = 0.5

    def propose(
        self, db: sqlite3.Connection, words: Sequence[str], speakers: str, limit: int
    ) -> list[int]:
        return [row[0] for row in self.ranked(db, words, speakers, limit)]

    def ranked(
        self, db: sqlite3.Connection, words: Sequence[str], speakers: str, limit: int
    ) -> list[tuple[int, float]]:
        """(entry id, raw bm25 as a positive number), best first."""
        asked = self.asked(db, words)
        if not asked:
            return []
        any_of = " OR ".join(f'"{w}"' for w in asked)
        return db.execute(
            "SELECT rowid, -bm25(entry_words, 1.0, 0.0) FROM entry_words WHERE entry_words MATCH ? "
            "ORDER BY bm25(entry_words, 1.0, 0.0), rowid LIMIT ?",
            (f'speakers : "{speakers_token(speakers)}" AND words : ({any_of})', limit),
        ).fetchall()

    def asked(self, db: sqlite3.Connection, words: Sequence[str]) -> list[str]:
        """The words that are looked up, rarest first (ties by the word)."""
        counts = entry_counts(db, [*dict.fromkeys(words), EVERY_ENTRY])
        entries = counts.pop(EVERY_ENTRY, 0)
        if entries > ALL_WORDS_UP_TO:
            rarer = {w: n for w, n in counts.items() if n <= self.common_share * entries}
            counts = rarer or counts
        return sorted(counts, key=lambda w: (counts[w], w))[: self.query_words]


def entry_counts(db: sqlite3.Connection, words: Sequence[str]) -> dict[str, int]:
    """In how many entries each of the words stands; those in none are left out."""
    found: dict[str, int] = {}
    for start in range(0, len(words), _LOOKUP):
        some = words[start : start + _LOOKUP]
        sql = f"SELECT word, entries FROM word_counts WHERE word IN ({','.join('?' * len(some))})"
        found.update(db.execute(sql, some).fetchall())
    return found


@dataclass(frozen=True, slots=True)
class ScanIndex:
    """Word overlap (Dice over the words, repeats counted) with each of the first `limit` entries, at every search.

    For stores without FTS5. Entries beyond the first 5,000 are never proposed. Ties by the entry's id.
    """

    limit: int = 5000

    def propose(
        self, db: sqlite3.Connection, words: Sequence[str], speakers: str, limit: int
    ) -> list[int]:
        if not words:
            return []
        rows = db.execute(
            "SELECT f.request_id, f.words FROM (SELECT id FROM requests WHERE answered = 1 ORDER BY id LIMIT ?) r "
            "JOIN fingerprints f ON f.request_id = r.id WHERE f.speakers = ?",
            (self.limit, speakers),
        ).fetchall()
        wanted = Counter(words)
        scored = [
            (dice_multiset(words, held), entry)
            for entry, text in rows
            if not wanted.keys().isdisjoint(held := text.split(" "))
        ]
        return [entry for _, entry in sorted(scored, key=lambda s: (-s[0], s[1]))[:limit]]


def index_of(name: str, *, query_words: int, common_share: float, scan_limit: int) -> Index:
    """The index of that name, "fts5" or "scan"."""
    return ScanIndex(scan_limit) if name == "scan" else Fts5Index(query_words, common_share)
