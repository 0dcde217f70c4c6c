"""Vectors of entries: made after the write, kept as float32 bytes, searched as one matrix in memory.

The law: a write never waits for the model. A worker embeds what has no vector yet; the matrix is read again when the
stored set changes, and never otherwise.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from workbench.errors import NotAvailable
from workbench.matching.call_log import write_rows
from workbench.matching.request import json_text
from workbench.matching.rules import redaction
from workbench.matching.schema import connect, transaction

if TYPE_CHECKING:
    import numpy as np

# ---- Vectors of entries: made after the write, kept as float32 bytes, searched as one matri ----

BATCH = 32
"""Texts embedded between two commits: about a second of the model's time."""
IDLE_SECONDS = 0.5
"""How long the worker sleeps when there is nothing to do and nobody wakes it (another process may have written)."""
SET_COUNTER = "vector_set"

_PENDING = """SELECT f.request_id, f.last FROM fingerprints f JOIN requests r ON r.id = f.request_id
    LEFT JOIN entry_vector v ON v.request_id = f.request_id AND v.model = ?
    WHERE r.answered = 1 AND f.last <> '' AND v.request_id IS NULL ORDER BY f.request_id LIMIT ?"""


class Encoder(Protocol):
    """Texts to float32 (n, dim) rows of unit length; `key` tells two models' spaces apart."""

    key: str

    def encode(self, texts: Sequence[str]) -> np.ndarray: ...


@dataclass(frozen=True)
class Matrix:
    """All vectors of one model: `ids` (n,) ascending, `speakers` (n,) codes, `rows` float32 (n, dim)."""

    ids: np.ndarray
    speakers: np.ndarray
    codes: dict[str, int]
    rows: np.ndarray

    def nearest(self, vector: np.ndarray, speakers: str, limit: int) -> list[tuple[int, float]]:
        """(entry id, cosine) of the nearest entries with these speakers; score descending, then id ascending."""
        import numpy as np

        code = self.codes.get(speakers)
        if code is None:
            return []
        # One thread: on a busy machine the threads of a matrix product wait for each other longer than they work.
        scores = np.vecdot(self.rows, vector)
        if len(self.codes) > 1:
            scores = np.where(self.speakers == code, scores, -np.inf)
        if len(scores) > limit:
            # Whatever ties with the last place is kept, so that the cut in a tie is by id.
            last = np.partition(scores, len(scores) - limit)[len(scores) - limit]
            near = np.flatnonzero(scores >= last)
        else:
            near = np.arange(len(scores))
        best = near[np.lexsort((self.ids[near], -scores[near]))][:limit]
        return [(int(self.ids[i]), float(scores[i])) for i in best if np.isfinite(scores[i])]


def set_version(db: sqlite3.Connection) -> int:
    """A number that changes with the stored set of vectors."""
    row = db.execute("SELECT value FROM settings WHERE name = ?", (SET_COUNTER,)).fetchone()
    return int(row[0]) if row else 0


def bump(db: sqlite3.Connection) -> None:
    """Say that the set changed, inside the caller's transaction."""
    db.execute(
        "INSERT INTO settings VALUES (?, '1') ON CONFLICT(name) DO UPDATE SET value = CAST(value AS INTEGER) + 1",
        (SET_COUNTER,),
    )


def read_matrix(db: sqlite3.Connection, model: str) -> Matrix:
    """The matrix of that model's vectors, rows in the order of their ids."""
    import numpy as np

    found = db.execute(
        "SELECT v.request_id, f.speakers, v.vector FROM entry_vector v JOIN fingerprints f USING (request_id) "
        "WHERE v.model = ? ORDER BY v.request_id",
        (model,),
    ).fetchall()
    codes: dict[str, int] = {}
    speakers = np.array([codes.setdefault(s, len(codes)) for _, s, _ in found], np.int32)
    rows = np.frombuffer(b"".join(v for _, _, v in found), np.float32)
    return Matrix(
        np.array([i for i, _, _ in found], np.int64),
        speakers,
        codes,
        rows.reshape(len(found), -1) if found else rows.reshape(0, 0),
    )


def embed_pending(
    db: sqlite3.Connection, encoder: Encoder, *, stop: Callable[[], bool] = lambda: False
) -> int:
    """Embed every entry that has no vector of this model; how many were made. The file is locked only to store."""
    made = 0
    while not stop():
        pending = db.execute(_PENDING, (encoder.key, BATCH)).fetchall()
        if not pending:
            break
        rows = encoder.encode([text for _, text in pending])
        with transaction(db):
            db.executemany(
                "INSERT OR REPLACE INTO entry_vector VALUES (?, ?, ?)",
                [
                    (i, encoder.key, row.tobytes())
                    for (i, _), row in zip(pending, rows, strict=True)
                ],
            )
            bump(db)
        made += len(pending)
    return made


class VectorWorker:
    """The background thread that embeds what was written, on a connection of its own."""

    def __init__(self, path: Path, encoder: Encoder) -> None:
        self._path, self._encoder = path, encoder
        self._wake, self._idle, self._stopped = threading.Event(), threading.Event(), False
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="vectors", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """There is something to embed; returns at once."""
        self._idle.clear()
        self._wake.set()

    def wait(self, timeout: float) -> bool:
        """Wait until nothing is pending; False where the time was up or the model failed."""
        return self._idle.wait(timeout) and self.error is None

    def close(self) -> None:
        self._stopped = True
        self._wake.set()
        self._thread.join()

    def _run(self) -> None:
        db = connect(self._path)
        try:
            while not self._stopped:
                self._wake.clear()
                self._round(db)
                if not self._wake.is_set():
                    self._idle.set()
                self._wake.wait(IDLE_SECONDS)
        finally:
            db.close()

    def _round(self, db: sqlite3.Connection) -> None:
        try:
            embed_pending(db, self._encoder, stop=lambda: self._stopped)
            self.error = None
        except (
            Exception
        ) as error:  # a failing model leaves entries without vectors, and is tried again
            if str(error) != str(self.error):
                self._log(db, error)
            self.error = error

    def _log(self, db: sqlite3.Connection, error: Exception) -> None:
        """Say a failure once in the call log; the log must not end the worker."""
        why = redaction().text(f"the vector worker failed: {type(error).__name__}: {error}"[:300])
        steps = json_text([["embedding", "failed", None, why]])
        with contextlib.suppress(sqlite3.Error), transaction(db):
            write_rows(
                db, [(time.time(), "", "failed", "embedding", None, None, None, None, steps)]
            )


# ---- The embedding tier's model, opened when the tier is switched on, refused with a reason ----


class TailEncoder:
    """Texts cut to `tokens` (the model's two special ones among them) and embedded to unit float32 rows.

    `calls` counts texts handed to the model: a hit leaves it as it was.
    """

    def __init__(self, embedder: Any, tokenizer: Any, tokens: int) -> None:
        self._embedder, self._tokenizer, self._tokens = embedder, tokenizer, tokens
        self.key = f"{embedder.model.key}/{tokens}"
        self.calls = 0

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        self.calls += len(texts)
        return self._embedder.embed([self.cut(t) for t in texts])

    def cut(self, text: str) -> str:
        """The part of the text that the first tokens cover, without the two special ones."""
        if text.isascii() and len(text) <= self._tokens - 2:
            return text
        offsets = [
            o for o in self._tokenizer.encode(text, add_special_tokens=False).offsets if o[1] > o[0]
        ]
        kept = offsets[: self._tokens - 2]
        return text[: kept[-1][1]] if len(offsets) > len(kept) else text


def open_encoder(tokens: int, *, cached: bool = False) -> TailEncoder:
    """The encoder over the model that the user's settings name. Raises NotAvailable that says what is missing.

    Nothing is fetched unless the settings' `fetch` is on. A library keeps its entries' vectors itself and no
    request's, so only a replay that embeds the same texts in every run asks for the home's cache.
    """
    why = "embeddings are switched on for this library and cannot run"
    try:
        from workbench.matching.library import OFFLINE, switched
        from workbench.settings import home, settings
        from workbench.stores.vectors.embedder import Embedder
        from workbench.stores.vectors.models import UnknownModel, find_model, open_model

        chosen = settings()
        found = find_model(chosen.model, fetch=chosen.fetch and not switched(OFFLINE))
        tokenizer = open_model(found).model.tokenizer
    except ImportError as error:
        raise NotAvailable(
            f"{why}: {error}", do="Install the embedding packages, or switch embeddings off"
        ) from error
    except (NotAvailable, UnknownModel) as error:
        raise NotAvailable(
            f"{why}: {error}", do="Fetch the model, or switch embeddings off"
        ) from error
    return TailEncoder(
        Embedder(found, home() / "embeddings.sqlite" if cached else None), tokenizer, tokens
    )
