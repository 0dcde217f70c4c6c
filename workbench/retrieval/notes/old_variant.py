"""The old notes search and its stopgap as variants: rounds, rows and bytes by stage stand in the trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.retrieval.fusions import max_min
from workbench.retrieval.notes.beside import old_schema
from workbench.retrieval.notes.by_note import AS_FOUND, NoteFusion
from workbench.retrieval.notes.new_variant import opened
from workbench.retrieval.notes.old import OldNotes, OldResult, ranked_by
from workbench.retrieval.notes.old_constants import OldSettings, Switches
from workbench.retrieval.notes.request import Key
from workbench.retrieval.notes.told import End, told
from workbench.retrieval.notes.wire import OUTSIDE
from workbench.trace import Trace
from workbench.types import PointId, Query, Ranking, Result, Span, content_hash

if TYPE_CHECKING:
    from workbench.retrieval.search import Collection


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
        budget = f"{at.row_budget} rows" if on.row_budget else f"{at.candidate_limit} rows, the number of chunks that it began with,"
        pushed = "project and source type" if on.type_pushed else "project"
        return "\n".join([
            f"{self.name}  [{self.source}]",
            f"  lexical   whole notes by full text (limit={at.candidate_limit}, unit={at.lexical})",
            f"  semantic  a window of chunks that doubles, {at.candidate_limit} to {at.scan_limit}, until {budget} are admitted",
            f"  floors    every chunk {at.min_similarity:g}",
            f"  filters   {pushed} in the vector query, all others on the rows afterwards",
            f"  fusion    {max_min(bonus=at.bonus)} of whole notes, in Python",
            f"  page      every candidate read with{'out' if on.no_content else ''} its whole text, in each round",
        ])  # fmt: skip

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
        lists = tuple(_ranking(name, leg, stands) for name, leg in zip(("lexical", "semantic"), found.legs, strict=True))
        page = [stands[row] for row in found.keys]
        # What the old path moved held all of a page's text already.
        chunks = {c.id: c for c in collection.stores.catalog.chunks(page)}
        fusion = NoteFusion(max_min(bonus=self.settings.bonus))
        return told(collection, self, query, page, chunks, lists, fusion, stands, (*_spans(found), *trace.spans), old=found)

    def ends(self, collection: Collection, result: Result, row: Key) -> tuple[End, End]:
        """What the end of each leg did to a row that the filters admit."""
        query, at = result.query, self.settings
        full_text = _old(collection).full_text_place(query, row, at) or (None, None)
        near = opened(collection).place(query, row, ranked_by(result.evidence["filters"], self.switches))[1]
        loop: OldResult = result.evidence["old"]
        window = loop.rounds[-1].window if loop.rounds else 0
        return (
            End("lexical", *full_text, at.candidate_limit, "candidate_limit", f"the leg ends at {at.candidate_limit:,} notes", of="the note"),
            End("semantic", near and near.rank, near and near.score, window, "candidate_limit",
                f"the loop ended at a window of {window:,} chunks: {loop.exit}", floor=at.min_similarity, floor_knob="min_similarity"),
        )  # fmt: skip


def _old(collection: Collection) -> OldNotes:
    stores = collection.stores
    return collection.kept("old notes", lambda: OldNotes(Path(stores.catalog.path), old_schema(collection), stores.embedder))


def _ranking(name: str, leg: Sequence[tuple[Key, float]], stands: dict[Key, PointId]) -> Ranking:
    """A leg as the old path scores it: by its best full-text score, or by similarity."""
    top = max((score for _, score in leg), default=1.0) if name == "lexical" else 1.0
    return Ranking(name, tuple(stands[row] for row, _ in leg), tuple(score / top for _, score in leg), AS_FOUND)


def _spans(found: OldResult) -> list[Span]:
    """Every statement, and the rounds and stages in words."""
    spans = [
        Span(c.stage, "sql", "duckdb", c.seconds, c.rows, c.bytes, note="" if c.round == OUTSIDE else f"round {c.round}")
        for c in found.crossings
    ]
    for r in found.rounds:
        spans.append(Span("round", "note", note=f"{r.number}: {r.window:,} chunks asked, {r.chunks:,} came, {r.rows:,} rows, {r.admitted:,} admitted"))
    if found.rounds:
        spans.append(Span("rounds", "note", note=f"{len(found.rounds)}, ended by: {found.exit}"))
    rows: dict[str, int] = {}
    for crossing in found.crossings:
        rows[crossing.stage] = rows.get(crossing.stage, 0) + crossing.rows
    stages = "; ".join(f"{stage} {rows[stage]:,} rows, {size:,}" for stage, size in found.by_stage().items())
    return [*spans, Span("bytes", "note", note=f"{found.bytes:,}: {stages}")]
