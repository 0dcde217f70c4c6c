"""A project's library of recorded calls: opened by name, written by `record`, read by the tiers.

One object belongs to one thread at a time; several objects and processes may share a file. Redaction happens here,
before anything is stored, hashed or compared.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from workbench.matching import entries
from workbench.matching.call_log import LogWriter
from workbench.matching.fingerprint import Normal, Prepared, text_words
from workbench.matching.lexical import Index, index_of
from workbench.matching.project import Project
from workbench.matching.redaction import redaction
from workbench.matching.request import Answer, RecordedRequest
from workbench.matching.rules import RuleSet, Seen
from workbench.matching.schema import LibraryError, connect, has_fts5, prepare_file, transaction
from workbench.matching.settings import MatchingSettings, embeddings_on
from workbench.matching.similarity import Compared
from workbench.matching.vectors import Encoder, Matrix, VectorWorker, embed_pending, read_matrix, set_version
from workbench.settings import home

MEMORY = ":memory:"


def library_path(name: str) -> Path:
    """`<home>/matching/<name>.sqlite`. Raises LibraryError for a name that is no file name."""
    if not name or name.startswith(".") or not all(c.isalnum() or c in "-_." for c in name):
        raise LibraryError(f"a library cannot be named {name!r}", do="Use letters, digits, `-`, `_` and `.`")
    if redaction().text(name) != name:
        raise LibraryError("a library cannot be named like a key or an address", do="Choose another name")
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
        self, path: Path | str = MEMORY, *, settings: MatchingSettings | None = None, encoder: Encoder | None = None,
        key: bytes | None = None,
    ) -> None:  # fmt: skip
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
                raise LibraryError(f"the library cannot be used: {error}", where=str(path)) from error
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
        from workbench.matching.embedder import open_encoder

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
    def record(self, request: RecordedRequest, answer: Answer, *, source: str = "", number: int = 0) -> int:
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
                    self.db, ask, answered=True, source=self.normal.redaction.text(source), number=number
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
        return {entry for entry, state in self.candidate_states(fingerprint).items() if state == "rejected"}

    def compared(self, entry_ids: Sequence[int]) -> dict[int, tuple[Compared, dict[str, str]]]:
        """(words and marks, shape) of entries by id."""
        marks = ",".join("?" * len(entry_ids))
        rows = self.db.execute(
            f"SELECT request_id, words, marks, places, shape FROM fingerprints WHERE request_id IN ({marks})",
            entry_ids,
        )
        return {
            i: (Compared(text_words(words), held, tuple(map(int, places.split()))), json.loads(shape))
            for i, words, held, places, shape in rows
        }

    def index(self, name: str, *, query_words: int, common_share: float, scan_limit: int) -> Index:
        if name == "fts5" and not has_fts5(self.db):
            name = "scan"
        return index_of(name, query_words=query_words, common_share=common_share, scan_limit=scan_limit)

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
        what = {"entries": "requests WHERE answered = 1", "answers": "answers", "vectors": "entry_vector",
                "aliases": "aliases", "open candidates": "candidates WHERE state = 'open'", "calls": "call_log"}  # fmt: skip
        return {k: self.db.execute(f"SELECT count(*) FROM {sql}").fetchone()[0] for k, sql in what.items()}

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
            raise LibraryError(f"the library cannot be used: {error}", where=str(self.path or MEMORY)) from error
