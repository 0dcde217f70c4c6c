"""A project's library of recorded calls: opened by name, written by `record`, read by the tiers.

One object belongs to one thread at a time; several objects and processes may share a file. Redaction happens here,
before anything is stored, hashed or compared.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from workbench.errors import BadParameter
from workbench.matching import schema as entries
from workbench.matching.call_log import LogWriter
from workbench.matching.fingerprint import INCLUDE_PARAMS, Normal, Prepared, text_words
from workbench.matching.index import Index, index_of
from workbench.matching.request import Answer, RecordedRequest, json_text
from workbench.matching.rules import (
    BadRule,
    Redaction,
    Rule,
    RuleSet,
    Seen,
    redaction,
    rule_from,
    scrubbing,
)
from workbench.matching.schema import (
    ENTRY_WORDS,
    LibraryError,
    connect,
    has_fts5,
    prepare_file,
    transaction,
)
from workbench.matching.similarity import GATES, LIKENESSES, Compared
from workbench.matching.vectors import (
    Encoder,
    Matrix,
    VectorWorker,
    bump,
    embed_pending,
    read_matrix,
    set_version,
)
from workbench.settings import home

# ---- Everything that is derived from the stored requests, made anew after the rules or what ----


def remake(db: sqlite3.Connection, normal: Normal) -> None:
    """Inside a transaction: clean what is stored by today's redaction, and derive fingerprints and words from it.

    Requests that the new rules make equal stay rows of their own; the oldest is the one that is found.
    """
    _clean_answers(db, normal.redaction)
    last = dict(db.execute("SELECT request_id, last FROM fingerprints"))
    if has_fts5(db):  # made new, because FTS5 keeps the words of deleted rows until it merges
        db.execute("DROP TABLE entry_words")
        db.execute(ENTRY_WORDS)
    db.execute("DELETE FROM word_counts")
    db.execute("DELETE FROM fingerprints")
    for request_id, body, source, answered in db.execute(
        "SELECT id, body, source, answered FROM requests ORDER BY id"
    ).fetchall():
        ask = normal.prepare(RecordedRequest.from_json(body))
        db.execute(
            "UPDATE requests SET body = ?, source = ? WHERE id = ?",
            (ask.request.as_json(), normal.redaction.text(source), request_id),
        )
        entries.put_fingerprints(db, request_id, ask)
        if answered:
            entries.put_words(db, request_id, ask)
        if last.get(request_id) != ask.last:
            db.execute("DELETE FROM entry_vector WHERE request_id = ?", (request_id,))
    bump(db)


def _clean_answers(db: sqlite3.Connection, redaction: Redaction) -> None:
    for answer_id, *row in db.execute(
        "SELECT id, text, calls, finish, body, events FROM answers"
    ).fetchall():
        held = Answer(row[0], tuple(map(tuple, json.loads(row[1]))), *row[2:])
        clean = redaction.answer(held)
        if clean != held:
            db.execute(
                "UPDATE answers SET text = ?, calls = ?, finish = ?, body = ?, events = ? WHERE id = ?",
                (
                    clean.text,
                    json_text(clean.calls),
                    clean.finish,
                    clean.body,
                    clean.events,
                    answer_id,
                ),
            )


# ---- What a project chooses for its matching: defaults, each with the source that it comes  ----

INDEXES = ("fts5", "scan")


@dataclass(frozen=True, slots=True)
class MatchingSettings:
    """One project's settings. Scores run from 0 to 1; a serve threshold of None never serves."""

    serve: float | None = 1.0
    review: float = 0.6
    proposals: int = 10
    index: str = "fts5"
    scan_limit: int = 5000
    query_words: int = 64
    common_share: float = 0.5
    likeness: str = "dice_multiset"
    gates: tuple[str, ...] = ("same_order", "same_marks", "same_places")
    max_candidates: int = 3
    embeddings: bool = False
    embedding_serve: float | None = None
    embedding_review: float = 0.75
    embedding_tokens: int = 128
    tail_n: int | None = None
    include_params: tuple[str, ...] = INCLUDE_PARAMS

    def __post_init__(self) -> None:
        for name in ("serve", "review", "embedding_serve", "embedding_review", "common_share"):
            _unit(name, getattr(self, name), optional=name.endswith("serve"))
        for name in (
            "proposals",
            "scan_limit",
            "query_words",
            "max_candidates",
            "embedding_tokens",
            "tail_n",
        ):
            _positive(name, getattr(self, name), optional=name == "tail_n")
        _among("index", (self.index,), INDEXES)
        _among("likeness", (self.likeness,), tuple(LIKENESSES))
        _among("gates", self.gates, tuple(GATES))

    def with_(self, **changes: Any) -> MatchingSettings:
        """New settings with some changed. Raises BadParameter for an unknown name or a wrong value."""
        changes = {
            RECORD_NAMES.get(k, k): None if k in RECORD_NAMES and v == "off" else v
            for k, v in changes.items()
        }
        known = {f.name for f in fields(self)}
        for name in changes:
            if name not in known:
                raise BadParameter(
                    f"no matching setting {name!r}", do=f"Known: {', '.join(sorted(known))}"
                )
        return replace(
            self, **{k: tuple(v) if isinstance(v, list) else v for k, v in changes.items()}
        )

    def as_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> MatchingSettings:
        return cls().with_(**json.loads(text))


RECORD_NAMES = {
    "bm25_serve_threshold": "serve",
    "bm25_review_threshold": "review",
    "embedding_serve_threshold": "embedding_serve",
    "embedding_review_threshold": "embedding_review",
}
"""ADR-0003's names of settings, accepted for ours; `off` is None there."""
SWITCH, OFFLINE = "SEMULA_EMBEDDINGS", "SEMULA_EMBEDDINGS_OFFLINE"
"""ADR-0003's environment variables: `on` and `off`."""


def switched(name: str) -> bool | None:
    """Whether an environment variable of the record says on or off; None where it is not set. Raises BadParameter."""
    said = os.environ.get(name, "").strip().lower()
    if said not in ("", "on", "off"):
        raise BadParameter(f"{name} must be on or off, not {said!r}")
    return {"on": True, "off": False}.get(said)


def embeddings_on(settings: MatchingSettings) -> bool:
    """Whether the embedding tier runs: the machine's switch decides for every library, else the library's setting."""
    machine = switched(SWITCH)
    return settings.embeddings if machine is None else machine


SOURCES: Mapping[str, str] = {
    "serve": "ADR-0003, SEM-E6: bm25_serve_threshold 1 (0.97 for a day)",
    "review": "ADR-0003, SEM-E6: bm25_review_threshold 0.6, untuned",
    "proposals": "ADR-0003, SEM-E6: up to 10 entries",
    "index": "ADR-0003, SEM-E6: FTS5 ranked by BM25; scan where there is no FTS5",
    "scan_limit": "ADR-0003, SEM-E6: first 5000 entries",
    "query_words": "this workbench: the rarest 64 words of a request are looked up, so that a long prompt stays cheap",
    "common_share": "this workbench: FTS5 gives a word in more than half of the entries no weight; 1 looks up all",
    "likeness": "ADR-0003 says Sorensen-Dice; repeats counted is this workbench's reading (a set lets repeats pass)",
    "gates": "this workbench: the record has none, and so serves `dog bites man` for `man bites dog` at its strictest "
    "threshold; a pair that breaks a gate goes to review",
    "max_candidates": "ADR-0003, SEM-E6: at most 3, counted over all states",
    "embeddings": "ADR-0003, SEM-E8: opt-in; SEMULA_EMBEDDINGS=on or off decides for every library",
    "embedding_serve": "ADR-0003, SEM-E8: embedding_serve_threshold off",
    "embedding_review": "ADR-0003, SEM-E8: embedding_review_threshold 0.75",
    "embedding_tokens": "ADR-0003, SEM-E8: truncated to 128 tokens",
    "tail_n": "ADR-0003 names it without a value: all messages",
    "include_params": 'ADR-0003 names it without a value: what changes the wire form or what a right answer is; ["*"] is all',
}


def _unit(name: str, value: float | None, *, optional: bool) -> None:
    if value is None and optional:
        return
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise BadParameter(
            f"{name} must be from 0 to 1{' or None' if optional else ''}, not {value!r}"
        )


def _positive(name: str, value: int | None, *, optional: bool) -> None:
    if value is None and optional:
        return
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise BadParameter(
            f"{name} must be a whole number of at least 1{' or None' if optional else ''}, not {value!r}"
        )


def _among(name: str, values: tuple[str, ...], known: tuple[str, ...]) -> None:
    for value in values:
        if value not in known:
            raise BadParameter(f"unknown {name} {value!r}", do=f"Known: {', '.join(known)}")


ADR_0003 = MatchingSettings(gates=())
"""The record's own settings, word for word: what its claims are measured on."""


# ---- A project's settings and rules, kept in its library: what a new file starts with, how  ----

KEY_BYTES = 16
KINDS = ("redaction", "scrubbing")


class Project:
    """The settings and rules of an open file. `settings` and `key` are what a new file starts with."""

    def __init__(
        self, db: sqlite3.Connection, settings: MatchingSettings | None, key: bytes | None
    ) -> None:
        self.db = db
        given = {
            "settings": (settings or MatchingSettings()).as_json(),
            "key": (key or os.urandom(KEY_BYTES)).hex(),
            "redaction": "[]",
            "scrubbing": "[]",
            "dropped": "[]",
            "normal": "",
        }
        if self.get("normal") is None:
            with transaction(db):
                db.executemany("INSERT OR IGNORE INTO settings VALUES (?, ?)", given.items())
        self._read()
        if (
            self._made_by != self.normal.hash
        ):  # the shipped rules are no longer those that made the fingerprints
            with transaction(db):
                self._remake()

    def _read(self) -> None:
        self._version = self._data_version()
        self._told, self._made_by = self.get("settings"), self.get("normal")
        self.settings = MatchingSettings.from_json(self._told)
        self.normal = self._normal(self.settings)

    def _normal(self, settings: MatchingSettings) -> Normal:
        hidden = redaction(bytes.fromhex(self.get("key")), self.own_rules("redaction"))
        seen = scrubbing(self.own_rules("scrubbing"), json.loads(self.get("dropped")))
        return Normal(hidden, seen, settings.include_params, settings.tail_n)

    def refresh(self) -> bool:
        """Take over what another process changed; True if settings or rules are new."""
        if self._data_version() == self._version:
            return False
        before = self._told, self._made_by
        self._version = self._data_version()
        if (self.get("settings"), self.get("normal")) == before:
            return False
        self._read()
        return True

    def _data_version(self) -> int:
        return self.db.execute("PRAGMA data_version").fetchone()[0]

    def get(self, name: str) -> str | None:
        row = self.db.execute("SELECT value FROM settings WHERE name = ?", (name,)).fetchone()
        return row[0] if row else None

    def _set(self, name: str, value: str) -> None:
        self.db.execute("UPDATE settings SET value = ? WHERE name = ?", (value, name))

    def own_rules(self, kind: str) -> tuple[Rule, ...]:
        """The project's own rules of a kind, "redaction" or "scrubbing", behind the shipped ones."""
        return tuple(rule_from(r, kind) for r in json.loads(self.get(kind)))

    def rules(self, kind: str) -> RuleSet:
        """All rules of a kind that work here. Raises BadRule for an unknown kind."""
        self._known(kind)
        return self.normal.redaction.rules if kind == "redaction" else self.normal.scrubbing

    def add_rule(self, kind: str, rule: Mapping[str, Any]) -> None:
        """Add a rule of the project's own, or replace the one with its name. A redaction rule also cleans what is
        stored already. Raises BadRule."""
        self._known(kind)
        rule_from(rule, kind)
        with transaction(self.db):
            kept = [r for r in json.loads(self.get(kind)) if r["name"] != rule["name"]]
            self._set(kind, json.dumps([*kept, dict(rule)]))
            self._remake()

    def drop_rule(self, name: str) -> None:
        """Scrub no more by this rule, because what it hides is what this project asks about. Raises BadRule.

        Redaction rules cannot be dropped.
        """
        known = [r.name for r in self.normal.scrubbing.rules]
        if name not in known:
            raise BadRule(f"no scrubbing rule {name!r}", do=f"There are: {', '.join(known)}")
        with transaction(self.db):
            self._set(
                "scrubbing",
                json.dumps([r for r in json.loads(self.get("scrubbing")) if r["name"] != name]),
            )
            self._set("dropped", json.dumps(sorted({*json.loads(self.get("dropped")), name})))
            self._remake()

    def change(self, settings: MatchingSettings) -> None:
        """Keep these settings, for good."""
        with transaction(self.db):
            self._set("settings", settings.as_json())
            self._remake()

    def _remake(self) -> None:
        """Inside a transaction: derive everything anew where rules or what is compared have changed."""
        normal = self._normal(MatchingSettings.from_json(self.get("settings")))
        if self.get("normal") != normal.hash:
            remake(self.db, normal)
            self._set("normal", normal.hash)
        self._read()

    def _known(self, kind: str) -> None:
        if kind not in KINDS:
            raise BadRule(f"no rule set {kind!r}", do=f"There are: {', '.join(KINDS)}")


# ---- A project's library of recorded calls: opened by name, written by `record`, read by th ----

MEMORY = ":memory:"


def library_path(name: str) -> Path:
    """`<home>/matching/<name>.sqlite`. Raises LibraryError for a name that is no file name."""
    if not name or name.startswith(".") or not all(c.isalnum() or c in "-_." for c in name):
        raise LibraryError(
            f"a library cannot be named {name!r}", do="Use letters, digits, `-`, `_` and `.`"
        )
    if redaction().text(name) != name:
        raise LibraryError(
            "a library cannot be named like a key or an address", do="Choose another name"
        )
    return home() / "matching" / f"{name}.sqlite"


def library_names() -> list[str]:
    """The libraries of this home, by name."""
    return sorted(p.stem for p in (home() / "matching").glob("*.sqlite"))


def open_library(name: str, *, create: bool = False, encoder: Encoder | None = None) -> Library:
    """The library of that name. Raises LibraryError where there is none and `create` is False, NotAvailable where
    its settings switch embeddings on and the model is missing."""
    path = library_path(name)
    if not path.exists() and not create:
        known = ", ".join(library_names()) or "none"
        raise LibraryError(
            f"no library {name!r}",
            do=f"There are: {known}. Load one: workbench matching load SOURCE --as {name}",
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    return Library(path, encoder=encoder)


class new_library:  # noqa: N801 - used as a function
    """`with new_library(name) as made`: a library that was not there before stays only where `made.keep()` was called."""

    def __init__(self, name: str) -> None:
        self.path = library_path(name)
        self.kept = self.path.exists()

    def keep(self) -> None:
        self.kept = True

    def __enter__(self) -> new_library:
        return self

    def __exit__(self, *_: object) -> None:
        if not self.kept:
            for end in ("", "-wal", "-shm", "-journal"):
                self.path.with_name(self.path.name + end).unlink(missing_ok=True)


class Library:
    """An open library. `encoder` replaces the workbench's model; it is used only where `settings.embeddings` is on.

    `path` MEMORY keeps everything in memory, for replays. `settings` and `key` are what a new file starts with;
    an existing one keeps its own.
    """

    def __init__(
        self,
        path: Path | str = MEMORY,
        *,
        settings: MatchingSettings | None = None,
        encoder: Encoder | None = None,
        key: bytes | None = None,
    ) -> None:
        self.path = None if path == MEMORY else Path(path)
        self.db = connect(path)
        self._matrix: tuple[int, Matrix] | None = None
        self._worker: VectorWorker | None = None
        self.log = LogWriter(self.path, self.db)
        self.encoder: Encoder | None = None
        try:
            prepare_file(self.db, str(path))
            self.project = Project(self.db, settings, key)
            self._given = encoder
            self._switch()
        except BaseException as error:
            self.db.close()
            if isinstance(error, sqlite3.DatabaseError):
                raise LibraryError(
                    f"the library cannot be used: {error}", where=str(path)
                ) from error
            raise

    # -- settings and rules --------------------------------------------------------------------------------------
    @property
    def settings(self) -> MatchingSettings:
        return self.project.settings

    @property
    def normal(self) -> Normal:
        """How this project's requests are made comparable: rules, `include_params`, `tail_n`."""
        return self.project.normal

    def change(self, **settings: Any) -> MatchingSettings:
        """Change settings of this project, for good. Raises BadParameter, NotAvailable."""
        changed = self.settings.with_(**settings)
        encoder = self._encoder_for(changed)
        self.project.change(changed)
        self._switch(encoder)
        return changed

    def add_rule(self, kind: str, rule: Mapping[str, Any]) -> None:
        """Add a rule of the project's own, "redaction" or "scrubbing", or replace the one with its name."""
        self.project.add_rule(kind, rule)

    def drop_rule(self, name: str) -> None:
        """Scrub no more by this rule."""
        self.project.drop_rule(name)

    def refresh(self) -> None:
        """Take over what another process changed. Raises NotAvailable where it switched embeddings on and the model
        is missing here."""
        if self.project.refresh():
            self._switch()

    def _encoder_for(self, settings: MatchingSettings) -> Encoder | None:
        if not embeddings_on(settings):
            return None
        if self._given is not None or self.encoder is not None:
            return self._given or self.encoder
        from workbench.matching.vectors import open_encoder

        return open_encoder(settings.embedding_tokens)

    def _switch(self, encoder: Encoder | None = None) -> None:
        """Start or stop the embedding tier as the settings ask."""
        encoder = encoder or self._encoder_for(self.settings)
        if self._worker is not None and encoder is not self.encoder:
            self._worker.close()
            self._worker = None
        self.encoder = encoder
        if encoder is not None and self.path is not None and self._worker is None:
            self._worker = VectorWorker(self.path, encoder)

    # -- writing ---------------------------------------------------------------------------------------------------
    def record(
        self, request: RecordedRequest, answer: Answer, *, source: str = "", number: int = 0
    ) -> int:
        """Keep a call: the entry's id. The model is not waited for; see `wait_for_vectors`."""
        return self.record_many([(request, answer, source, number)])[0]

    def record_many(
        self, calls: Iterable[tuple[RecordedRequest, Answer, str, int]], seen: Seen | None = None
    ) -> list[int]:
        """Keep calls, all or none of them; their entries' ids. `seen` counts what redaction did."""
        made, now = [], time.time()
        with transaction(self.db):
            self.project.refresh()
            for request, answer, source, number in calls:
                ask = Prepared(self.normal.redaction.request(request, seen), self.normal)
                entry = entries.put_request(
                    self.db,
                    ask,
                    answered=True,
                    source=self.normal.redaction.text(source),
                    number=number,
                )
                entries.put_answer(self.db, entry, self.normal.redaction.answer(answer, seen))
                entries.close_answered(self.db, ask.normalised, now)
                made.append(entry)
        if self._worker is not None:
            self._worker.wake()
        return made

    # -- what the tiers read -----------------------------------------------------------------------------------------
    def exact(self, fingerprint: str) -> tuple[int, Answer] | None:
        row = self.db.execute(entries.SERVE_EXACT, (fingerprint,)).fetchone()
        return (row[0], entries.answer_of(row)) if row else None

    def answer(self, entry_id: int) -> Answer:
        """The first answer that was recorded for an entry."""
        return entries.answer_of(self.db.execute(entries.SERVE_ENTRY, (entry_id,)).fetchone())

    def normalised(self, fingerprint: str) -> list[int]:
        """The entries with that normalised fingerprint, by id."""
        rows = self.db.execute(
            "SELECT f.request_id FROM fingerprints f JOIN requests r ON r.id = f.request_id "
            "WHERE f.normalised = ? AND r.answered = 1 ORDER BY f.request_id",
            (fingerprint,),
        )
        return [row[0] for row in rows]

    def aliases(self, fingerprint: str) -> list[int]:
        """The entries that reviewers approved for requests with that normalised fingerprint, oldest first."""
        rows = self.db.execute(
            "SELECT a.entry_id FROM fingerprints f JOIN aliases a ON a.request_id = f.request_id "
            "WHERE f.normalised = ? ORDER BY a.candidate_id",
            (fingerprint,),
        )
        return [row[0] for row in rows]

    def candidate_states(self, fingerprint: str) -> dict[int, str]:
        """The state of each entry that is or was a candidate for requests with that normalised fingerprint; a
        rejection comes before any other."""
        rows = self.db.execute(
            "SELECT c.entry_id, c.state FROM fingerprints f JOIN candidates c ON c.request_id = f.request_id "
            "WHERE f.normalised = ? ORDER BY c.state = 'rejected'",
            (fingerprint,),
        )
        return dict(rows.fetchall())

    def rejected(self, fingerprint: str) -> set[int]:
        """The entries that reviewers rejected for requests with that normalised fingerprint."""
        return {
            entry
            for entry, state in self.candidate_states(fingerprint).items()
            if state == "rejected"
        }

    def compared(self, entry_ids: Sequence[int]) -> dict[int, tuple[Compared, dict[str, str]]]:
        """(words and marks, shape) of entries by id."""
        marks = ",".join("?" * len(entry_ids))
        rows = self.db.execute(
            f"SELECT request_id, words, marks, places, shape FROM fingerprints WHERE request_id IN ({marks})",
            entry_ids,
        )
        return {
            i: (
                Compared(text_words(words), held, tuple(map(int, places.split()))),
                json.loads(shape),
            )
            for i, words, held, places, shape in rows
        }

    def index(self, name: str, *, query_words: int, common_share: float, scan_limit: int) -> Index:
        if name == "fts5" and not has_fts5(self.db):
            name = "scan"
        return index_of(
            name, query_words=query_words, common_share=common_share, scan_limit=scan_limit
        )

    def matrix(self) -> Matrix:
        """The vectors of all entries, read again when the stored set has changed."""
        version = set_version(self.db)
        if self._matrix is None or self._matrix[0] != version:
            self._matrix = (version, read_matrix(self.db, self.encoder.key))
        return self._matrix[1]

    # -- state -------------------------------------------------------------------------------------------------------
    def counts(self) -> dict[str, int]:
        """How many entries, answers, vectors, aliases, open candidates and logged calls there are."""
        self.log.flush()
        what = {
            "entries": "requests WHERE answered = 1",
            "answers": "answers",
            "vectors": "entry_vector",
            "aliases": "aliases",
            "open candidates": "candidates WHERE state = 'open'",
            "calls": "call_log",
        }
        return {
            k: self.db.execute(f"SELECT count(*) FROM {sql}").fetchone()[0]
            for k, sql in what.items()
        }

    def request(self, request_id: int) -> RecordedRequest:
        return RecordedRequest.from_json(
            self.db.execute("SELECT body FROM requests WHERE id = ?", (request_id,)).fetchone()[0]
        )

    def rules(self, kind: str) -> RuleSet:
        """All rules of a kind that work here, "redaction" or "scrubbing"."""
        return self.project.rules(kind)

    def wait_for_vectors(self, timeout: float = 600.0) -> bool:
        """Until every entry has its vector; in memory they are made here and now. False: time was up, or no model."""
        if self.encoder is None:
            return False
        if self._worker is None:
            embed_pending(self.db, self.encoder)
            return True
        self._worker.wake()
        return self._worker.wait(timeout)

    def close(self) -> None:
        try:
            if self._worker is not None:
                self._worker.close()
            self.log.close()
        finally:
            self.db.close()

    def __enter__(self) -> Library:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Close; a damaged, full or read-only file is an error that says so, wherever it was met."""
        try:
            self.close()
        except sqlite3.DatabaseError as later:
            error = error or later
        if isinstance(error, sqlite3.DatabaseError):
            raise LibraryError(
                f"the library cannot be used: {error}", where=str(self.path or MEMORY)
            ) from error
