"""The old notes search, faithfully: whole rows in every step, filters after retrieval, fusion in Python."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from workbench.errors import BadParameter
from workbench.retrieval.fusions import MAX_MIN_BONUS
from workbench.retrieval.notes.duckdb import point_id_of, tokenizer_of
from workbench.retrieval.notes.file import NotesFile
from workbench.retrieval.notes.model import EVERY, Key
from workbench.retrieval.notes.search import check_hybrid, typed
from workbench.stores.catalog.sql import K1, B, admit, bm25_scores, cosine_scores
from workbench.stores.filters.sql import Where, where
from workbench.text import well_formed
from workbench.trace import payload_bytes
from workbench.types import PointId, Query

if TYPE_CHECKING:
    from workbench.stores.vectors.embedder import Embedder

# ---- The old path's constants, by name and source, and the stopgap's three switches ----

PAGE_ROWS = 25
"""Results of a page: with one row more that tells of a next page, 10 chunks a row make the document's 260."""
CHUNKS_A_ROW = 10
"""BM: candidate_limit = max(semantic_vector_k, 10 × (limit + offset)), used as a budget of chunks."""
CANDIDATE_LIMIT = CHUNKS_A_ROW * (PAGE_ROWS + 1)
"""260: the first vector window, the full-text leg's rows, and what admitted rows are compared with."""
ROW_BUDGET = PAGE_ROWS + 1
"""The stopgap's "row budget": the rows of a page and one more. The document names no number."""
SCAN_LIMIT = 50_000
"""BM: VECTOR_FILTER_SCAN_LIMIT; the document: "up to 50,000"."""
MIN_SIMILARITY = 0.55
"""BM: semantic_min_similarity; 0 switches the floor off."""
HYDRATION_BATCH = 250
"""BM: VECTOR_HYDRATION_BATCH_SIZE, rows fetched by one statement."""

LexicalUnit = Literal["larger", "document", "chunks"]


class Exit(StrEnum):
    """Every way out of the widening loop, in the order in which they are looked for."""

    BUDGET = "budget met"
    EXHAUSTED = "ranking exhausted"
    FLOOR = "similarity floor"
    LIMIT = "50,000"
    UNFILTERED = "no filter"


@dataclass(frozen=True, slots=True)
class OldSettings:
    """The old path's knobs.

    `lexical`: what a row's full-text rank is of: its whole document, its best chunk, or the larger of both. The
    document says that both are computed and not how they are joined: "larger" is assumed.
    """

    candidate_limit: int = CANDIDATE_LIMIT
    row_budget: int = ROW_BUDGET
    scan_limit: int = SCAN_LIMIT
    min_similarity: float = MIN_SIMILARITY
    hydration_batch: int = HYDRATION_BATCH
    bonus: float = MAX_MIN_BONUS
    lexical: LexicalUnit = "larger"

    def of_page(self, end: int) -> OldSettings:
        """The settings of a page that ends at this row: 10 chunks and one row more for each row beyond the first page,
        as `10 × (limit + offset)` makes of the defaults."""
        beyond = max(0, end - PAGE_ROWS)
        return replace(
            self,
            candidate_limit=self.candidate_limit + CHUNKS_A_ROW * beyond,
            row_budget=self.row_budget + beyond,
        )

    def __post_init__(self) -> None:
        for name in ("candidate_limit", "row_budget", "scan_limit", "hydration_batch"):
            if getattr(self, name) < 1:
                raise BadParameter(f"{name} is {getattr(self, name)}", do="Use at least 1")
        if self.lexical not in ("larger", "document", "chunks"):
            raise BadParameter(
                f"unknown lexical unit {self.lexical!r}", do="Use larger, document or chunks"
            )


@dataclass(frozen=True, slots=True)
class Switches:
    """The stopgap's three parts, each on or off (notes search rebuild, Suggested order of work, 1)."""

    row_budget: bool = False
    type_pushed: bool = False
    no_content: bool = False

    @property
    def name(self) -> str:
        on = [
            n.replace("_", " ")
            for n in ("row_budget", "type_pushed", "no_content")
            if getattr(self, n)
        ]
        return {0: "old", 3: "stopgap"}.get(len(on), " + ".join(on))


OLD, STOPGAP = Switches(), Switches(True, True, True)
EVERY_SWITCH = tuple(
    Switches(a, b, c) for a in (False, True) for b in (False, True) for c in (False, True)
)


# ---- The old path's statements. Each ends with its text column; weighed, with that text's s ----

OLD_SCHEMA = "old"
"""The name under which the old schema's file is attached."""

_ROW = "source_type, entity_id"
_REST = "title, path, project, note_type, tags, status, created, updated, metadata"
_ROWS = f"{OLD_SCHEMA}.search_index"
_ASKED = "(SELECT unnest($cids::INTEGER[]) AS cid, generate_subscripts($cids::INTEGER[], 1) AS place) asked"


def full_text(unit: LexicalUnit, admitted: Where, *, weigh: bool) -> str:
    """Whole rows by full-text rank: (row, type, id, score, …, text). Parameters: terms, k1, b, limit.

    The whole document and, by a subquery over its chunks, the best of them are ranked; `unit` says which counts.
    """
    document = bm25_scores(of=f"{OLD_SCHEMA}.")
    chunks = f"SELECT row AS cid, max(score) AS score FROM ({bm25_scores()}) JOIN {OLD_SCHEMA}.chunk_row USING (cid) GROUP BY row"
    rank = {
        "larger": "greatest(d.score, coalesce(c.score, 0e0))",
        "document": "d.score",
        "chunks": "coalesce(c.score, 0e0)",
    }
    if unit not in rank:
        raise BadParameter(f"unknown lexical unit {unit!r}")
    ranked = (
        f"SELECT cid, {rank[unit]} AS score FROM ({document}) d LEFT JOIN ({chunks}) c USING (cid)"
    )
    kept = (
        f"SEMI JOIN (SELECT cid FROM {_ROWS} WHERE {admitted.sql}) admitted USING (cid)"
        if admitted.sql
        else ""
    )
    return (
        f"SELECT cid, {_ROW}, score, {_REST}, {_content(weigh)}"
        f" FROM (SELECT cid, score FROM ({ranked}) {kept} ORDER BY score DESC, cid LIMIT $limit::BIGINT) best"
        f" JOIN {_ROWS} USING (cid) ORDER BY score DESC, cid"
    )


def nearest(dim: int, pushed: Where) -> str:
    """(chunk, row, similarity) of the window: similarity descending, then chunk. Parameters: vector, window."""
    return (
        f"SELECT cid, row, greatest(score, 0e0)::DOUBLE FROM (SELECT cid, score FROM"
        f" ({cosine_scores(dim, admit(pushed.sql))}) ORDER BY score DESC, cid LIMIT $window::BIGINT) near"
        f" JOIN {OLD_SCHEMA}.chunk_row USING (cid) ORDER BY score DESC, cid"
    )


def chunk_texts(*, weigh: bool) -> str:
    """(chunk, text) of every chunk of the window."""
    text, source = ("bytes", f"{OLD_SCHEMA}.chunk_row") if weigh else ("text", "chunk")
    return f"SELECT cid, {text} FROM {_ASKED} JOIN {source} USING (cid) ORDER BY place"


def whole_rows(admitted: Where, *, content: bool, weigh: bool) -> str:
    """(row, type, id, …, text) of the rows asked for that the filters admit, in the order asked."""
    text = f", {_content(weigh)}" if content else ""
    return (
        f"SELECT cid, {_ROW}, {_REST}{text} FROM {_ASKED} JOIN {_ROWS} USING (cid)"
        f" WHERE {admitted.sql or 'true'} ORDER BY place"
    )


def _content(weigh: bool) -> str:
    return "content_bytes" if weigh else "content_snippet"


# ---- The widening loop: it compares rows with a budget of chunks, doubles its window, and s ----


@dataclass(frozen=True, slots=True)
class Reading:
    """One round's window: chunks that came back, the last one's similarity (None where none came), the rows that
    they belong to, and the admitted rows' similarity (best chunk), nearest first."""

    chunks: int
    tail: float | None
    rows: int
    admitted: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class Round:
    """One pass of the loop, numbered from 1."""

    number: int
    window: int
    chunks: int
    rows: int
    admitted: int


@dataclass(frozen=True, slots=True)
class Window:
    """What the loop ended with."""

    admitted: Mapping[int, float]
    rounds: tuple[Round, ...]
    exit: Exit


def candidate_window(
    read: Callable[[int, int], Reading],
    settings: OldSettings,
    switches: Switches,
    *,
    filtered: bool,
) -> Window:
    """Read windows of chunks until one of `Exit` holds; `read(round, window)` starts from nothing each time."""
    budget = settings.row_budget if switches.row_budget else settings.candidate_limit
    window, rounds = min(settings.candidate_limit, settings.scan_limit), []
    while True:
        reading = read(len(rounds) + 1, window)
        rounds.append(
            Round(len(rounds) + 1, window, reading.chunks, reading.rows, len(reading.admitted))
        )
        way_out = _exit(reading, window, budget, settings) if filtered else Exit.UNFILTERED
        if way_out is not None:
            return Window(reading.admitted, tuple(rounds), way_out)
        window = min(window * 2, settings.scan_limit)


def _exit(reading: Reading, window: int, budget: int, settings: OldSettings) -> Exit | None:
    if len(reading.admitted) >= budget:
        return Exit.BUDGET
    if reading.chunks < window:
        return Exit.EXHAUSTED
    if reading.tail is not None and reading.tail < settings.min_similarity:
        return Exit.FLOOR
    return Exit.LIMIT if window >= settings.scan_limit else None


# ---- What crosses from the engine to Python: rows, bytes and seconds, by stage and round ----

OUTSIDE = 0
"""The round of what runs once a search."""


@dataclass(frozen=True, slots=True)
class Crossing:
    """One statement's answer. `text` are the bytes of note and chunk text among `bytes`."""

    stage: str
    round: int
    rows: int
    bytes: int
    text: int
    seconds: float


@dataclass(slots=True)
class Wire:
    """Runs statements whose last column, where they have `text`, is text.

    With `weigh` that column is the text's stored length and no text crosses: the same counts in less time.
    """

    file: NotesFile
    weigh: bool = False
    crossings: list[Crossing] = field(default_factory=list)

    def read(
        self, stage: str, number: int, sql: str, params: Mapping[str, Any], *, text: bool = False
    ) -> Sequence[tuple]:
        """All rows, counted. Where the wire weighs, the last column of a `text` statement is a number of bytes."""
        start = time.perf_counter()
        rows = self.file.rows(sql, params)
        seconds = time.perf_counter() - start
        texts = 0
        if text:
            texts = sum(row[-1] if self.weigh else payload_bytes(row[-1]) for row in rows)
            rest = sum(payload_bytes(row[:-1]) for row in rows)
        else:
            rest = sum(map(payload_bytes, rows))
        self.crossings.append(Crossing(stage, number, len(rows), texts + rest, texts, seconds))
        return rows


# ---- The old notes search, faithfully: whole rows in every step, filters after retrieval, f ----

Ties = Literal["as found", "id"]

AS_IT_WAS = OldSettings()


@dataclass(frozen=True, slots=True)
class OldResult:
    """`ranking` is all that was fused, best first, `keys` the page; `legs` the rows that full text gave and those that
    the loop admitted, with full-text score and similarity. `crossings` are all statements in order."""

    query: Query
    switches: Switches
    ranking: tuple[tuple[Key, float], ...]
    rounds: tuple[Round, ...]
    exit: Exit
    crossings: tuple[Crossing, ...]
    legs: tuple[tuple[tuple[Key, float], ...], tuple[tuple[Key, float], ...]]

    @property
    def keys(self) -> tuple[Key, ...]:
        """The page's (type, id) in order."""
        return tuple(
            key for key, _ in self.ranking[self.query.offset : self.query.offset + self.query.limit]
        )

    @property
    def bytes(self) -> int:
        return sum(c.bytes for c in self.crossings)

    @property
    def seconds(self) -> float:
        """Seconds inside statements."""
        return sum(c.seconds for c in self.crossings)

    def by_stage(self) -> dict[str, int]:
        """Bytes by stage over all rounds."""
        out: Counter[str] = Counter()
        for crossing in self.crossings:
            out[crossing.stage] += crossing.bytes
        return dict(out)


class OldNotes:
    """A catalog with the old schema beside it (see build_old). A context manager."""

    def __init__(self, catalog: Path, old: Path, embedder: Embedder) -> None:
        self.file, self.embedder = NotesFile(catalog, {OLD_SCHEMA: old}), embedder
        ((named,),) = self.file.rows("SELECT tokenizer FROM corpus")
        self.tokenizer = tokenizer_of(named)
        found = self.file.rows("SELECT typeof(embedding) FROM vector LIMIT 1")
        self.dim = int(found[0][0].removeprefix("FLOAT[").removesuffix("]")) if found else 0

    def __enter__(self) -> OldNotes:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.file.close()

    def search(
        self,
        query: Query | str,
        switches: Switches = OLD,
        settings: OldSettings = AS_IT_WAS,
        *,
        ties: Ties = "as found",
        weigh: bool = False,
        default_type: bool = True,
        **fields: Any,
    ) -> OldResult:
        """Run one search. `fields` are Query's where `query` is a string.

        `default_type`: entity is put in where the filters name no source type, as the tool did. `ties`: rows of
        one score stand in the order in which the legs gave them ("as found", as it was), or by (type, id).
        `weigh`: count the bytes by stored lengths and let no text cross.
        """
        if isinstance(query, str):
            query = Query(query, **fields)
        check_hybrid(query)
        settings = settings.of_page(query.offset + query.limit)
        filters = typed(query.filters) if default_type else dict(query.filters)
        text = query.normalised
        run = _OldSearch(self, Wire(self.file, weigh), settings, switches, filters)
        lexical = run.full_text(self._terms(text))
        window = Window({}, (), Exit.EXHAUSTED)
        if text:
            run.vector = self.embedder.embed_query(text)
            window = candidate_window(run.read, settings, switches, filtered=run.filtered)
        ranking = run.fused(lexical, window.admitted, ties)
        fts, vec = (
            tuple((run.keys[row], score) for row, score in leg.items())
            for leg in (lexical, window.admitted)
        )
        return OldResult(
            query,
            switches,
            ranking,
            window.rounds,
            window.exit,
            tuple(run.wire.crossings),
            (fts, vec),
        )

    def full_text_place(
        self, query: Query, row: Key, settings: OldSettings = AS_IT_WAS
    ) -> tuple[int, float] | None:
        """A row's exact rank and score by full text among all that the filters admit; None where it holds no term."""
        run = _OldSearch(
            self,
            Wire(self.file, weigh=True),
            replace(settings, candidate_limit=EVERY),
            OLD,
            typed(query.filters),
        )
        ranked = enumerate(run.full_text(self._terms(query.normalised)).items(), 1)
        return next(
            ((rank, score) for rank, (number, score) in ranked if run.keys[number] == row), None
        )

    def first_chunks(self, rows: Sequence[Key]) -> dict[Key, PointId]:
        """The first chunk of each row."""
        sql = (
            "SELECT source_type, entity_id, arg_min(point_id, cid) FROM chunk JOIN (SELECT unnest($types::VARCHAR[]) AS source_type,"
            " unnest($ids::VARCHAR[]) AS entity_id) asked USING (source_type, entity_id) GROUP BY ALL"
        )
        found = self.file.rows(sql, {"types": [t for t, _ in rows], "ids": [i for _, i in rows]})
        return {(kind, entity): point_id_of(point) for kind, entity, point in found}

    def _terms(self, text: str) -> list[str]:
        return [t for t in self.tokenizer.terms(text) if well_formed(t) == t]


def ranked_by(filters: Mapping[str, Any], switches: Switches) -> dict[str, Any]:
    """The filters that the vector query itself asks: a repository served one project, so that was always part of it."""
    names = {"project"} | ({"source_type"} if switches.type_pushed else set())
    return {n: v for n, v in filters.items() if n in names}


class _OldSearch:
    """One search: what its stages read, and the keys of the rows that they saw."""

    def __init__(
        self,
        notes: OldNotes,
        wire: Wire,
        settings: OldSettings,
        switches: Switches,
        filters: dict[str, Any],
    ) -> None:
        self.notes, self.wire, self.settings, self.switches = notes, wire, settings, switches
        self.vector: Any = None
        self.keys: dict[int, Key] = {}
        self.pushed = where(ranked_by(filters, switches))
        self.admitted = where(filters)
        self.filtered = bool(filters.keys() - {"project"})

    def full_text(self, terms: Sequence[str]) -> dict[int, float]:
        """The best rows by full text with their whole text: row to score, best first."""
        sql = full_text(self.settings.lexical, self.admitted, weigh=self.wire.weigh)
        params = {
            "terms": terms,
            "k1": K1,
            "b": B,
            "limit": self.settings.candidate_limit,
            **self.admitted.params,
        }
        found = self.wire.read("full text", OUTSIDE, sql, params, text=True)
        self._seen(found)
        return {row[0]: row[3] for row in found}

    def read(self, number: int, window: int) -> Reading:
        """One round, from nothing: vector query, chunk texts, whole rows, filter pass."""
        sql = nearest(self.notes.dim, self.pushed)
        params = {"vector": self.vector, "window": window, **self.pushed.params}
        near = self.wire.read("vector", number, sql, params)
        cids = [cid for cid, _, _ in near]
        self.wire.read(
            "chunk text", number, chunk_texts(weigh=self.wire.weigh), {"cids": cids}, text=True
        )
        best: dict[int, float] = {}
        for _, row, similarity in near:
            if similarity >= self.settings.min_similarity:
                best.setdefault(row, similarity)
        self._hydrate(number, list(best))
        kept = self._filter(number, list(best)) if self.filtered else set(best)
        tail = near[-1][2] if near else None
        return Reading(
            len(near), tail, len(best), {row: s for row, s in best.items() if row in kept}
        )

    def _hydrate(self, number: int, rows: Sequence[int]) -> None:
        """Whole rows by id, in batches."""
        content = not self.switches.no_content
        sql = whole_rows(Where(), content=content, weigh=self.wire.weigh)
        for start in range(0, len(rows), self.settings.hydration_batch):
            asked = {"cids": rows[start : start + self.settings.hydration_batch]}
            self._seen(self.wire.read("hydrate", number, sql, asked, text=content))

    def _filter(self, number: int, rows: Sequence[int]) -> set[int]:
        """The second full-text pass: the same rows once more, those that the filters admit."""
        content = not self.switches.no_content
        sql = whole_rows(self.admitted, content=content, weigh=self.wire.weigh)
        params = {"cids": list(rows), **self.admitted.params}
        return {row[0] for row in self.wire.read("filter pass", number, sql, params, text=content)}

    def _seen(self, rows: Sequence[tuple]) -> None:
        self.keys.update((row[0], (row[1], row[2])) for row in rows)

    def fused(
        self, lexical: dict[int, float], similarity: Any, ties: Ties
    ) -> tuple[tuple[Key, float], ...]:
        """max + bonus × min of full-text score over the best one and raw cosine, in Python."""
        top = max(lexical.values(), default=0.0)
        scores = {}
        for row in dict.fromkeys([*lexical, *similarity]):
            f = lexical[row] / top if row in lexical else 0.0
            v = similarity.get(row, 0.0)
            scores[self.keys[row]] = max(f, v) + self.settings.bonus * min(f, v)
        if ties == "id":
            return tuple(sorted(scores.items(), key=lambda r: (-r[1], r[0])))
        return tuple(sorted(scores.items(), key=lambda r: -r[1]))
