"""The rebuilt notes search as a variant: one statement over both legs, on the catalog or on SQLite."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from workbench.errors import BadParameter
from workbench.retrieval.notes.beside import sqlite_file
from workbench.retrieval.notes.budget import K_CAP
from workbench.retrieval.notes.by_note import NoteFusion, by_note
from workbench.retrieval.notes.request import Key
from workbench.retrieval.notes.search import Notes, Plan
from workbench.retrieval.notes.sqlite import OVERFETCH, SqliteNotes
from workbench.retrieval.notes.sqlite_filters import pushed
from workbench.retrieval.notes.sqlite_open import K_MOST
from workbench.retrieval.notes.told import End, told
from workbench.types import Chunk, Facets, Query, Result, Span, content_hash

if TYPE_CHECKING:
    from workbench.retrieval.notes.result import NotesSpan
    from workbench.retrieval.search import Collection

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
            raise BadParameter(f"the notes search has no engine {self.engine!r}", do=f"Use {' or '.join(ENGINES)}")

    def plan(self) -> str:
        """As it runs."""
        budget, floors = self.how.budget, self.how.floors
        named = {"every chunk": floors.every, "a row without full text": floors.unsupported, "where full text finds nothing": floors.alone}
        set_ = [f"{of} {floor:g}" for of, floor in named.items() if floor is not None]
        where = f"one statement on {self.engine}" + (", every filter before the ranking" if self.exact else "")
        return "\n".join([
            f"{self.name}  [{self.source}]",
            f"  lexical   the best admitted chunks by full text (k_fts={budget.k_fts})",
            f"  semantic  the nearest admitted chunks (k_vec={budget.k_vec})",
            *([f"  floors    {', '.join(set_)}"] if set_ else []),
            f"  fusion    {self.how.fusion} of each note's best chunks",
            f"  page      {where}, ids first; then at most {budget.page_rows} excerpts of {budget.excerpt_chars} characters",
        ])  # fmt: skip

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
        fusion = NoteFusion(self.how.fusion, self.how.floors, {point_id: row for row, point_id in stands.items()})
        chunks = {
            h.best_chunk: Chunk(h.best_chunk, h.id, found.chunks[h.best_chunk][2], h.excerpt, h.title, source_type=h.type,
                                facets=Facets(note_type=h.note_type or None, path=h.path or None))
            for h in found.hits
        }  # fmt: skip
        spans = (*found.spans, Span("bytes", "note", note=_bytes(found.span, sum(map(len, found.lists)))))
        return told(collection, self, query, [h.best_chunk for h in found.hits], chunks, lists, fusion, stands, spans)

    def ends(self, collection: Collection, result: Result, row: Key) -> tuple[End, End]:
        """What the end of each leg did to a row that the filters admit."""
        filters = result.evidence["filters"]
        found = opened(collection, self.engine, self.exact).place(result.query, row, filters)
        budget, every = self.how.budget, self.how.floors.every
        (fts, fts_score), (vec, vec_score) = ((leg.rank, leg.score) if leg else (None, None) for leg in found)
        return (
            End("lexical", fts, fts_score, budget.k_fts, "k_fts", f"the leg ends at {budget.k_fts:,}", most=K_CAP),
            End("semantic", vec, vec_score, budget.k_vec, "k_vec", f"the leg ends at {budget.k_vec:,}", most=K_CAP,
                floor=every, floor_knob="floor", overfetched=self._overfetched(collection, result.query, row, filters)),
        )  # fmt: skip

    def _overfetched(self, collection: Collection, query: Query, row: Key, filters: Mapping[str, Any]) -> tuple[int, int] | None:
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
        return Notes(SqliteNotes.open(sqlite_file(collection), exact=exact), collection.stores.embedder)

    return collection.kept(("notes", engine, exact), opening)


def _bytes(span: NotesSpan, told: int) -> str:
    return f"{span.bytes:,}: ids {span.bytes_ids:,}, page {span.bytes_page:,}; telling both legs' {told:,} chunks took {span.bytes_lists:,} more"
