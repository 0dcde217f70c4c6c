"""The old notes search, faithfully: whole rows in every step, filters after retrieval, fusion in Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from workbench.retrieval.notes import old_sql
from workbench.retrieval.notes.duck import point_id_of, tokenizer_of
from workbench.retrieval.notes.file import NotesFile
from workbench.retrieval.notes.old_constants import OLD, Exit, OldSettings, Switches
from workbench.retrieval.notes.request import EVERY, Key
from workbench.retrieval.notes.search import check_hybrid, typed
from workbench.retrieval.notes.window import Reading, Round, Window, candidate_window
from workbench.retrieval.notes.wire import OUTSIDE, Crossing, Wire
from workbench.stores.catalog_sql import K1, B
from workbench.stores.sql_filters import Where, where
from workbench.text import well_formed
from workbench.types import PointId, Query

if TYPE_CHECKING:
    from workbench.stores.embedding import Embedder

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
        return tuple(key for key, _ in self.ranking[self.query.offset : self.query.offset + self.query.limit])

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
        self.file, self.embedder = NotesFile(catalog, {old_sql.OLD_SCHEMA: old}), embedder
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
        self, query: Query | str, switches: Switches = OLD, settings: OldSettings = AS_IT_WAS, *,
        ties: Ties = "as found", weigh: bool = False, default_type: bool = True, **fields: Any,
    ) -> OldResult:  # fmt: skip
        """Run one search. `fields` are Query's where `query` is a string.

        `default_type`: entity is put in where the filters name no source type, as the tool did. `ties`: rows of
        one score stand in the order in which the legs gave them ("as found", as it was), or by (type, id).
        `weigh`: count the bytes by stored lengths and let no text cross.
        """
        if isinstance(query, str):
            query = Query(query, **fields)
        check_hybrid(query)
        filters = typed(query.filters) if default_type else dict(query.filters)
        text = query.normalised
        run = _OldSearch(self, Wire(self.file, weigh), settings, switches, filters)
        lexical = run.full_text(self._terms(text))
        window = Window({}, (), Exit.EXHAUSTED)
        if text:
            run.vector = self.embedder.embed_query(text)
            window = candidate_window(run.read, settings, switches, filtered=run.filtered)
        ranking = run.fused(lexical, window.admitted, ties)
        fts, vec = (tuple((run.keys[row], score) for row, score in leg.items()) for leg in (lexical, window.admitted))
        return OldResult(query, switches, ranking, window.rounds, window.exit, tuple(run.wire.crossings), (fts, vec))

    def full_text_place(self, query: Query, row: Key, settings: OldSettings = AS_IT_WAS) -> tuple[int, float] | None:
        """A row's exact rank and score by full text among all that the filters admit; None where it holds no term."""
        run = _OldSearch(self, Wire(self.file, weigh=True), replace(settings, candidate_limit=EVERY), OLD, typed(query.filters))
        ranked = enumerate(run.full_text(self._terms(query.normalised)).items(), 1)
        return next(((rank, score) for rank, (number, score) in ranked if run.keys[number] == row), None)

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

    def __init__(self, notes: OldNotes, wire: Wire, settings: OldSettings, switches: Switches, filters: dict[str, Any]) -> None:
        self.notes, self.wire, self.settings, self.switches = notes, wire, settings, switches
        self.vector: Any = None
        self.keys: dict[int, Key] = {}
        self.pushed = where(ranked_by(filters, switches))
        self.admitted = where(filters)
        self.filtered = bool(filters.keys() - {"project"})

    def full_text(self, terms: Sequence[str]) -> dict[int, float]:
        """The best rows by full text with their whole text: row to score, best first."""
        sql = old_sql.full_text(self.settings.lexical, self.admitted, weigh=self.wire.weigh)
        params = {"terms": terms, "k1": K1, "b": B, "limit": self.settings.candidate_limit, **self.admitted.params}
        found = self.wire.read("full text", OUTSIDE, sql, params, text=True)
        self._seen(found)
        return {row[0]: row[3] for row in found}

    def read(self, number: int, window: int) -> Reading:
        """One round, from nothing: vector query, chunk texts, whole rows, filter pass."""
        sql = old_sql.nearest(self.notes.dim, self.pushed)
        params = {"vector": self.vector, "window": window, **self.pushed.params}
        near = self.wire.read("vector", number, sql, params)
        cids = [cid for cid, _, _ in near]
        self.wire.read("chunk text", number, old_sql.chunk_texts(weigh=self.wire.weigh), {"cids": cids}, text=True)
        best: dict[int, float] = {}
        for _, row, similarity in near:
            if similarity >= self.settings.min_similarity:
                best.setdefault(row, similarity)
        self._hydrate(number, list(best))
        kept = self._filter(number, list(best)) if self.filtered else set(best)
        tail = near[-1][2] if near else None
        return Reading(len(near), tail, len(best), {row: s for row, s in best.items() if row in kept})

    def _hydrate(self, number: int, rows: Sequence[int]) -> None:
        """Whole rows by id, in batches."""
        content = not self.switches.no_content
        sql = old_sql.whole_rows(Where(), content=content, weigh=self.wire.weigh)
        for start in range(0, len(rows), self.settings.hydration_batch):
            asked = {"cids": rows[start : start + self.settings.hydration_batch]}
            self._seen(self.wire.read("hydrate", number, sql, asked, text=content))

    def _filter(self, number: int, rows: Sequence[int]) -> set[int]:
        """The second full-text pass: the same rows once more, those that the filters admit."""
        content = not self.switches.no_content
        sql = old_sql.whole_rows(self.admitted, content=content, weigh=self.wire.weigh)
        params = {"cids": list(rows), **self.admitted.params}
        return {row[0] for row in self.wire.read("filter pass", number, sql, params, text=content)}

    def _seen(self, rows: Sequence[tuple]) -> None:
        self.keys.update((row[0], (row[1], row[2])) for row in rows)

    def fused(self, lexical: dict[int, float], similarity: Any, ties: Ties) -> tuple[tuple[Key, float], ...]:
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
