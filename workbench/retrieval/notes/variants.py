"""The notes search's paths by name: as it was, its stopgap whole and in parts, and as it is rebuilt with either fusion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.errors import BadParameter, WorkbenchError
from workbench.registry import Stage, register
from workbench.retrieval.fusions import MAX_MIN_BONUS, RRF_K, Fused, max_min, rrf
from workbench.retrieval.notes.files_made import old_schema, sqlite_file
from workbench.retrieval.notes.legacy import (
    CANDIDATE_LIMIT,
    MIN_SIMILARITY,
    OLD,
    OUTSIDE,
    ROW_BUDGET,
    STOPGAP,
    OldNotes,
    OldResult,
    OldSettings,
    Switches,
    ranked_by,
)
from workbench.retrieval.notes.model import K_CAP, PAGE_ROWS, TIE_RULE, Budget, Floors, Key
from workbench.retrieval.notes.search import Notes, Plan, typed
from workbench.retrieval.notes.sqlite import K_MOST, OVERFETCH, SqliteNotes, pushed
from workbench.retrieval.search import hits
from workbench.retrieval.variant import Whole
from workbench.trace import Trace
from workbench.types import (
    Chunk,
    Facets,
    PointId,
    Query,
    Ranking,
    Result,
    Span,
    content_hash,
    point_order,
)

if TYPE_CHECKING:
    from workbench.retrieval.notes.model import NotesSpan
    from workbench.retrieval.search import Collection

# ---- The ranking of both legs told again in Python: lists by note, and the statement's fusi ----

AS_FOUND = "score descending, then as the legs found them, full text first"


def by_note(
    legs: Sequence[Ranking], chunks: Mapping[PointId, tuple[str, str, int]]
) -> tuple[tuple[Ranking, ...], dict[Key, PointId]]:
    """Both legs with one row a note, at the share of its best chunk, and the chunk that stands for each note: the one
    of the larger share in either leg, then in point-id order. A share is a full-text score over the best one, or a
    cosine, at least 0. `chunks` are the keys (type, entity, chunk index) of the legs' chunks."""
    lexical, semantic = legs
    top = lexical.scores[0] if lexical.scores else 1.0
    shares = (
        {i: score / top for i, score in zip(lexical.ids, lexical.scores, strict=True)},
        {i: max(score, 0.0) for i, score in zip(semantic.ids, semantic.scores, strict=True)},
    )
    best_first = sorted(
        dict.fromkeys((*lexical.ids, *semantic.ids)),
        key=lambda i: (-max(s.get(i, 0.0) for s in shares), point_order(i)),
    )
    stands: dict[Key, PointId] = {}
    for point_id in best_first:
        stands.setdefault(chunks[point_id][:2], point_id)
    lists = []
    for leg, share in zip(legs, shares, strict=True):
        rows: dict[Key, float] = {}
        for point_id, value in share.items():
            row = chunks[point_id][:2]
            rows[row] = max(value, rows.get(row, value))
        order = sorted(rows, key=lambda row: (-rows[row], row))
        lists.append(
            Ranking(
                leg.name, tuple(stands[r] for r in order), tuple(rows[r] for r in order), TIE_RULE
            )
        )
    return tuple(lists), stands


@dataclass(frozen=True, slots=True)
class NoteFusion:
    """A fusion over lists by note, called as any fusion is. `rows` are the notes by the point that stands for each, by
    which ties are broken; without them ties stay as the lists found the rows."""

    stage: Stage
    floors: Floors = Floors()
    rows: Mapping[PointId, Key] | None = None

    def __call__(self, lists: Sequence[Ranking]) -> Fused:
        lexical, semantic = lists
        fused = self.stage(lists)
        scores = dict(zip(fused.ranking.ids, fused.ranking.scores, strict=True))
        supported, cosines = set(lexical.ids), dict(zip(semantic.ids, semantic.scores, strict=True))
        floor = self.floors.of_unsupported(alone=not supported)
        found = dict.fromkeys((*lexical.ids, *semantic.ids))
        kept = [i for i in found if i in supported or floor is None or cosines[i] >= floor]
        rows = self.rows
        if rows is None:
            kept.sort(key=lambda i: -scores[i])
        else:
            kept.sort(key=lambda i: (-scores[i], rows[i]))
        ranking = Ranking(
            fused.ranking.name,
            tuple(kept),
            tuple(scores[i] for i in kept),
            AS_FOUND if rows is None else TIE_RULE,
        )
        return Fused(ranking, fused.contributions)


# ---- What a notes path found as the result that every variant has: a row is a note, by the  ----


class NotTheSame(WorkbenchError):
    """A path's page is not the one of its own fusion over its legs: a fault of the workbench, never to be told."""


class End(NamedTuple):
    """What a leg's end did to one row. `rank` and `score` are the row's as if nothing cut the leg, None where it is not
    in it; the leg ends at `limit`, set by the parameter `knob` (up to `most`), which `cut` says in words; below `floor`,
    set by `floor_knob`, nothing is in it. `of` is what is ranked. `overfetched`: the row's place before a filter that
    was asked after the ranking, and how many were fetched for it, where the place is beyond that."""

    leg: str
    rank: int | None
    score: float | None
    limit: int
    knob: str
    cut: str
    of: str = "its best chunk"
    most: int | None = None
    floor: float | None = None
    floor_knob: str = ""
    overfetched: tuple[int, int] | None = None


def told(
    collection: Collection,
    chosen: Whole,
    query: Query,
    page: Sequence[PointId],
    chunks: Mapping[PointId, Chunk],
    lists: tuple[Ranking, ...],
    fusion: NoteFusion,
    stands: Mapping[Key, PointId],
    spans: Sequence[Span],
    **evidence: Any,
) -> Result:
    """The result of a page. Its evidence has `rows`, the point that stands for each note of the legs, and the `filters`
    that the path really asked. Raises NotTheSame."""
    fused = fusion(lists)
    if tuple(page) != fused.ranking.ids[query.offset : query.offset + query.limit]:
        raise NotTheSame(f"{chosen.name} gave another page than its fusion over both legs")
    terms = tuple(collection.stores.tokenizer.query_terms(query.normalised))
    notes = []
    if not terms:
        notes.append(Span("lexical", "note", note="the query has no terms after the stop list"))
    if not query.normalised:
        notes.append(Span("semantic", "note", note="the query is empty: there is nothing to embed"))
    return Result(
        query,
        chosen.name,
        hits(query, page, fused, lists, chunks),
        fused.ranking,
        lists,
        (*spans, *notes),
        {
            "terms": terms,
            "variant": chosen,
            "fusion": fusion,
            "fused": fused,
            "rows": stands,
            "filters": typed(query.filters),
            **evidence,
        },
        {**collection.inputs, "variant": chosen.hash},
    )


# ---- The rebuilt notes search as a variant: one statement over both legs, on the catalog or ----

ENGINES = ("duckdb", "sqlite")


@dataclass(frozen=True, slots=True)
class NotesVariant:
    """A `Whole` variant. `exact`: on SQLite, a filter that vec0 cannot hold is asked before the ranking, of every vector."""

    name: str
    how: Plan
    engine: str = "duckdb"
    exact: bool = False
    source: str = ""

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise BadParameter(
                f"the notes search has no engine {self.engine!r}", do=f"Use {' or '.join(ENGINES)}"
            )

    def plan(self) -> str:
        """As it runs."""
        budget, floors = self.how.budget, self.how.floors
        named = {
            "every chunk": floors.every,
            "a row without full text": floors.unsupported,
            "where full text finds nothing": floors.alone,
        }
        set_ = [f"{of} {floor:g}" for of, floor in named.items() if floor is not None]
        where = f"one statement on {self.engine}" + (
            ", every filter before the ranking" if self.exact else ""
        )
        return "\n".join(
            [
                f"{self.name}  [{self.source}]",
                f"  lexical   the best admitted chunks by full text (k_fts={budget.k_fts})",
                f"  semantic  the nearest admitted chunks (k_vec={budget.k_vec})",
                *([f"  floors    {', '.join(set_)}"] if set_ else []),
                f"  fusion    {self.how.fusion} of each note's best chunks",
                f"  page      {where}, ids first; then at most {budget.page_rows} excerpts of {budget.excerpt_chars} characters",
            ]
        )

    @property
    def hash(self) -> str:
        return content_hash("notes", self.how.hash, self.engine, self.exact)

    def replace(self, **changes: Any) -> NotesVariant:
        return replace(self, **changes)

    def search(self, collection: Collection, query: Query) -> Result:
        """The statement's page, and the legs that it was made of; a hit's text is its excerpt.

        Raises BadParameter for a page beyond the budget and for another mode than hybrid.
        """
        found = opened(collection, self.engine, self.exact).search(query, self.how, lists=True)
        lists, stands = by_note(found.lists, found.chunks)
        fusion = NoteFusion(
            self.how.fusion, self.how.floors, {point_id: row for row, point_id in stands.items()}
        )
        chunks = {
            h.best_chunk: Chunk(
                h.best_chunk,
                h.id,
                found.chunks[h.best_chunk][2],
                h.excerpt,
                h.title,
                source_type=h.type,
                facets=Facets(note_type=h.note_type or None, path=h.path or None),
            )
            for h in found.hits
        }
        spans = (
            *found.spans,
            Span("bytes", "note", note=_bytes(found.span, sum(map(len, found.lists)))),
        )
        return told(
            collection,
            self,
            query,
            [h.best_chunk for h in found.hits],
            chunks,
            lists,
            fusion,
            stands,
            spans,
        )

    def ends(self, collection: Collection, result: Result, row: Key) -> tuple[End, End]:
        """What the end of each leg did to a row that the filters admit."""
        filters = result.evidence["filters"]
        found = opened(collection, self.engine, self.exact).place(result.query, row, filters)
        budget, every = self.how.budget, self.how.floors.every
        (fts, fts_score), (vec, vec_score) = (
            (leg.rank, leg.score) if leg else (None, None) for leg in found
        )
        return (
            End(
                "lexical",
                fts,
                fts_score,
                budget.k_fts,
                "k_fts",
                f"the leg ends at {budget.k_fts:,}",
                most=K_CAP,
            ),
            End(
                "semantic",
                vec,
                vec_score,
                budget.k_vec,
                "k_vec",
                f"the leg ends at {budget.k_vec:,}",
                most=K_CAP,
                floor=every,
                floor_knob="floor",
                overfetched=self._overfetched(collection, result.query, row, filters),
            ),
        )

    def _overfetched(
        self, collection: Collection, query: Query, row: Key, filters: Mapping[str, Any]
    ) -> tuple[int, int] | None:
        """See End: where SQLite asks one of the filters afterwards."""
        within = {name: value for name, value in filters.items() if pushed({name: value})[1]}
        if self.engine == "duckdb" or self.exact or within == filters:
            return None
        near = opened(collection, self.engine).place(query, row, within)[1]
        fetched = min(self.how.budget.k_vec * OVERFETCH, K_MOST)
        return (near.rank, fetched) if near and near.rank > fetched else None


def opened(collection: Collection, engine: str = "duckdb", exact: bool = False) -> Notes:
    """The notes search over a collection, opened once by engine; SQLite's file is made where there is none."""

    def opening() -> Notes:
        if engine == "duckdb":
            return Notes.of(collection)
        return Notes(
            SqliteNotes.open(sqlite_file(collection), exact=exact), collection.stores.embedder
        )

    return collection.kept(("notes", engine, exact), opening)


def _bytes(span: NotesSpan, told: int) -> str:
    return f"{span.bytes:,}: ids {span.bytes_ids:,}, page {span.bytes_page:,}; telling both legs' {told:,} chunks took {span.bytes_lists:,} more"


# ---- The old notes search and its stopgap as variants: rounds, rows and bytes by stage stan ----


@dataclass(frozen=True, slots=True)
class OldNotesVariant:
    """A `Whole` variant. A row is a whole note; its first chunk stands for it."""

    name: str
    switches: Switches
    settings: OldSettings
    source: str = ""

    def plan(self) -> str:
        """As it runs."""
        on, at = self.switches, self.settings
        budget = (
            f"{at.row_budget} rows"
            if on.row_budget
            else f"{at.candidate_limit} rows, the number of chunks that it began with,"
        )
        pushed = "project and source type" if on.type_pushed else "project"
        return "\n".join(
            [
                f"{self.name}  [{self.source}]",
                f"  lexical   whole notes by full text (limit={at.candidate_limit}, unit={at.lexical})",
                f"  semantic  a window of chunks that doubles, {at.candidate_limit} to {at.scan_limit}, until {budget} are admitted",
                f"  floors    every chunk {at.min_similarity:g}",
                f"  filters   {pushed} in the vector query, all others on the rows afterwards",
                f"  fusion    {max_min(bonus=at.bonus)} of whole notes, in Python",
                f"  page      every candidate read with{'out' if on.no_content else ''} its whole text, in each round",
            ]
        )

    @property
    def hash(self) -> str:
        return content_hash("notes before", self.switches, self.settings)

    def replace(self, **changes: Any) -> OldNotesVariant:
        return replace(self, **changes)

    def search(self, collection: Collection, query: Query) -> Result:
        """The page with the beginning of each note, and what every statement of every round moved."""
        notes, trace = _old(collection), Trace()
        with trace.span("search", "search") as span:
            found = notes.search(query, self.switches, self.settings)
            span.rows, span.bytes = len(found.keys), found.bytes
        stands = notes.first_chunks([row for row, _ in found.ranking])
        lists = tuple(
            _ranking(name, leg, stands)
            for name, leg in zip(("lexical", "semantic"), found.legs, strict=True)
        )
        page = [stands[row] for row in found.keys]
        # What the old path moved held all of a page's text already.
        chunks = {c.id: c for c in collection.stores.catalog.chunks(page)}
        fusion = NoteFusion(max_min(bonus=self.settings.bonus))
        return told(
            collection,
            self,
            query,
            page,
            chunks,
            lists,
            fusion,
            stands,
            (*_spans(found), *trace.spans),
            old=found,
        )

    def ends(self, collection: Collection, result: Result, row: Key) -> tuple[End, End]:
        """What the end of each leg did to a row that the filters admit."""
        query = result.query
        at = self.settings.of_page(query.offset + query.limit)
        full_text = _old(collection).full_text_place(query, row, at) or (None, None)
        near = opened(collection).place(
            query, row, ranked_by(result.evidence["filters"], self.switches)
        )[1]
        loop: OldResult = result.evidence["old"]
        window = loop.rounds[-1].window if loop.rounds else 0
        return (
            End(
                "lexical",
                *full_text,
                at.candidate_limit,
                "candidate_limit",
                f"the leg ends at {at.candidate_limit:,} notes",
                of="the note",
            ),
            End(
                "semantic",
                near and near.rank,
                near and near.score,
                window,
                "candidate_limit",
                f"the loop ended at a window of {window:,} chunks: {loop.exit}",
                floor=at.min_similarity,
                floor_knob="min_similarity",
            ),
        )


def _old(collection: Collection) -> OldNotes:
    stores = collection.stores
    return collection.kept(
        "old notes",
        lambda: OldNotes(Path(stores.catalog.path), old_schema(collection), stores.embedder),
    )


def _ranking(name: str, leg: Sequence[tuple[Key, float]], stands: dict[Key, PointId]) -> Ranking:
    """A leg as the old path scores it: by its best full-text score, or by similarity."""
    top = max((score for _, score in leg), default=1.0) if name == "lexical" else 1.0
    return Ranking(
        name, tuple(stands[row] for row, _ in leg), tuple(score / top for _, score in leg), AS_FOUND
    )


def _spans(found: OldResult) -> list[Span]:
    """Every statement, and the rounds and stages in words."""
    spans = [
        Span(
            c.stage,
            "sql",
            "duckdb",
            c.seconds,
            c.rows,
            c.bytes,
            note="" if c.round == OUTSIDE else f"round {c.round}",
        )
        for c in found.crossings
    ]
    for r in found.rounds:
        spans.append(
            Span(
                "round",
                "note",
                note=f"{r.number}: {r.window:,} chunks asked, {r.chunks:,} came, {r.rows:,} rows, {r.admitted:,} admitted",
            )
        )
    if found.rounds:
        spans.append(Span("rounds", "note", note=f"{len(found.rounds)}, ended by: {found.exit}"))
    rows: dict[str, int] = {}
    for crossing in found.crossings:
        rows[crossing.stage] = rows.get(crossing.stage, 0) + crossing.rows
    stages = "; ".join(
        f"{stage} {rows[stage]:,} rows, {size:,}" for stage, size in found.by_stage().items()
    )
    return [*spans, Span("bytes", "note", note=f"{found.bytes:,}: {stages}")]


# ---- The notes search's paths by name: as it was, its stopgap whole and in parts, and as it ----

_STOPGAP = "notes search rebuild, Suggested order of work, 1"


@register("variant")
def notes_old(
    *,
    candidate_limit: int = CANDIDATE_LIMIT,
    min_similarity: float = MIN_SIMILARITY,
    bonus: float = MAX_MIN_BONUS,
) -> OldNotesVariant:
    """The notes search as it was: whole rows in every step, a window that widens until rows meet a budget of chunks."""
    settings = OldSettings(
        candidate_limit=candidate_limit, min_similarity=min_similarity, bonus=bonus
    )
    return OldNotesVariant("notes_old", OLD, settings, "notes search rebuild, Why it happens")


@register("variant")
def notes_stopgap(
    *,
    candidate_limit: int = CANDIDATE_LIMIT,
    row_budget: int = ROW_BUDGET,
    min_similarity: float = MIN_SIMILARITY,
    bonus: float = MAX_MIN_BONUS,
) -> OldNotesVariant:
    """The stopgap: rows are compared with a budget of rows, the source type is in the vector query, no content in between."""
    settings = OldSettings(
        candidate_limit=candidate_limit,
        row_budget=row_budget,
        min_similarity=min_similarity,
        bonus=bonus,
    )
    return OldNotesVariant("notes_stopgap", STOPGAP, settings, _STOPGAP)


@register("variant")
def notes_row_budget(*, row_budget: int = ROW_BUDGET) -> OldNotesVariant:
    """The old path with one part of the stopgap: the loop ends when its rows meet a budget of rows."""
    return OldNotesVariant(
        "notes_row_budget", Switches(row_budget=True), OldSettings(row_budget=row_budget), _STOPGAP
    )


@register("variant")
def notes_type_pushed() -> OldNotesVariant:
    """The old path with one part of the stopgap: the source type is asked in the vector query."""
    return OldNotesVariant("notes_type_pushed", Switches(type_pushed=True), OldSettings(), _STOPGAP)


@register("variant")
def notes_no_content() -> OldNotesVariant:
    """The old path with one part of the stopgap: candidates are read and filtered without their whole text."""
    return OldNotesVariant("notes_no_content", Switches(no_content=True), OldSettings(), _STOPGAP)


@register("variant")
def notes_max_min(
    *,
    bonus: float = MAX_MIN_BONUS,
    k_fts: int = K_CAP,
    k_vec: int = K_CAP,
    floor: float | None = None,
    floor_unsupported: float | None = None,
    floor_alone: float | None = None,
    page_rows: int = PAGE_ROWS,
    engine: str = "duckdb",
    exact: bool = False,
) -> NotesVariant:
    """The rebuilt notes search with the fusion that it had: ids ranked in one statement, text for the page alone."""
    how = _plan(
        max_min(bonus=bonus), k_fts, k_vec, Floors(floor, floor_unsupported, floor_alone), page_rows
    )
    return NotesVariant(
        "notes_max_min", how, engine, exact, "notes search rebuild, Proposed design"
    )


@register("variant")
def notes_rrf(
    *,
    k: float = RRF_K,
    k_fts: int = K_CAP,
    k_vec: int = K_CAP,
    floor: float | None = None,
    floor_unsupported: float | None = None,
    floor_alone: float | None = None,
    page_rows: int = PAGE_ROWS,
    engine: str = "duckdb",
    exact: bool = False,
) -> NotesVariant:
    """The rebuilt notes search fused by RRF: the first of its open questions."""
    how = _plan(rrf(k=k), k_fts, k_vec, Floors(floor, floor_unsupported, floor_alone), page_rows)
    return NotesVariant("notes_rrf", how, engine, exact, "notes search rebuild, Open questions")


def _plan(fusion: Stage, k_fts: int, k_vec: int, floors: Floors, page_rows: int) -> Plan:
    return Plan(fusion, floors, Budget(k_fts, k_vec, page_rows))
