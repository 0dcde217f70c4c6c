"""The new path on DuckDB: the catalog as it is loaded, or another layout of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from workbench.errors import BadParameter
from workbench.registry import Stage
from workbench.retrieval.notes.file import NotesFile
from workbench.retrieval.notes.model import Ask, Floors, Found, Key, Leg, Ranked, Returns, Shown
from workbench.stores.catalog.sql import K1, B, admit, bm25_scores
from workbench.stores.filters.sql import where
from workbench.text import STOP_LISTS, Tokenizer, well_formed
from workbench.types import PointId

# ---- Where a DuckDB search finds chunks, facets and vectors: the open question of one table ----


@dataclass(frozen=True, slots=True)
class Layout:
    """Names of tables. `chunk` holds ids, text and title; `facet` the columns that filters name; `vector` the
    embeddings. They may be the same table. All share `cid`."""

    name: str
    chunk: str = "chunk"
    facet: str = "chunk"
    vector: str = "vector"

    def admit(self, where: str) -> str:
        """A join that keeps the admitted cids; "" where all are."""
        return admit(where, self.facet)

    def cosines(self, dim: int, where: str) -> str:
        """SELECT of (cid, score) of every admitted chunk. Parameter: vector."""
        scored = f"SELECT cid, array_inner_product(embedding, $vector::FLOAT[{dim}])::DOUBLE AS score FROM {self.vector}"
        if not where:
            return scored
        return (
            f"{scored} WHERE {where}"
            if self.vector == self.facet
            else f"{scored} {self.admit(where)}"
        )

    def once(self, where: str) -> tuple[str, Layout, str]:
        """A CTE of the admitted cids that every leg reads, with the layout and the predicate to read it by. There is
        none where nothing is filtered, or where the vectors' own rows hold the facets and are read but once."""
        if not where or self.vector == self.facet:
            return "", self, where
        cte = f"admitted AS MATERIALIZED (SELECT cid FROM {self.facet} WHERE {where}),"
        return cte, replace(self, facet="admitted"), "true"


TWO_TABLES = Layout("two tables")
"""Chunks with their facets, and vectors, sharing cid: the catalog as it is loaded."""

ONE_TABLE = Layout("one table", "layouts.unit", "layouts.unit", "layouts.unit")
"""Text, facets and vector on one row."""

NARROW_FACETS = Layout("narrow facets", facet="layouts.facet")
"""Two tables, and the facets in a third one of their own."""

LAYOUTS = (TWO_TABLES, ONE_TABLE, NARROW_FACETS)


# ---- Fusions as SQL over a row's full-text share `fs` and cosine `vs`, NULL where the leg l ----

Shares = Mapping[Key, tuple[float | None, float | None]]
"""Row to (full-text score over the best full-text score, cosine clamped at 0)."""


def fused_sql(notes: str, fusion: Stage, greatest: str = "greatest", least: str = "least") -> str:
    """SELECT of the relation's columns and `score`. Raises BadParameter for a fusion that has no SQL."""
    if fusion.name == "max_min":
        both = "coalesce(fs, 0e0), coalesce(vs, 0e0)"
        return f"SELECT *, {greatest}({both}) + {double(fusion['bonus'])} * {least}({both}) AS score FROM {notes}"
    if fusion.name == "rrf":
        if fusion.get("weights"):
            raise BadParameter(
                "the notes search fuses two legs of weight 1", do="Leave weights out"
            )
        k = double(fusion["k"])
        part = "CASE WHEN {0} IS NULL THEN 0e0 ELSE 1e0 / ({1} + {2}) END"
        place = "row_number() OVER (ORDER BY {0} DESC NULLS LAST, type, id)"
        return (
            f"SELECT *, {part.format('fs', k, 'fr')} + {part.format('vs', k, 'vr')} AS score"
            f" FROM (SELECT *, {place.format('fs')} AS fr, {place.format('vs')} AS vr FROM {notes}) placed"
        )
    raise BadParameter(f"the fusion {fusion.name!r} has no SQL here", do="Use max_min or rrf")


def fuse(shares: Shares, fusion: Stage) -> list[tuple[Key, float]]:
    """The same fusion in Python: (key, score), score descending, then type, then id."""
    score = (
        _max_min(shares, fusion["bonus"]) if fusion.name == "max_min" else _rrf(shares, fusion["k"])
    )
    return sorted(score.items(), key=lambda row: (-row[1], row[0]))


def _max_min(shares: Shares, bonus: float) -> dict[Key, float]:
    both = {key: (fs or 0.0, vs or 0.0) for key, (fs, vs) in shares.items()}
    return {key: max(pair) + bonus * min(pair) for key, pair in both.items()}


def _rrf(shares: Shares, k: float) -> dict[Key, float]:
    score = dict.fromkeys(shares, 0.0)
    for leg in (0, 1):
        held = [(key, share[leg]) for key, share in shares.items() if share[leg] is not None]
        by_place: Callable = lambda row: (-row[1], row[0])  # noqa: E731
        for place, (key, _) in enumerate(sorted(held, key=by_place), 1):
            score[key] += 1.0 / (k + place)
    return score


def double(value: float) -> str:
    """A double literal of exactly this value; a plain 0.3 would be a decimal."""
    return f"{float(value)!r}" + ("" if "e" in repr(float(value)) else "e0")


# ---- The new path's one statement on DuckDB: two filtered legs, fused and grouped, ids only ----

NOTE_KEY = "note"
"""The metadata key under which an observation or relation names its note (sources.markdown)."""

_ORDER = "score DESC, cid"
LEGS = 2
"""A chunk that both legs admitted stands twice among a row's best."""


def lexical_leg(layout: Layout, where: str) -> str:
    """The k_fts best admitted chunks by BM25: (cid, score), score descending, then cid."""
    return f"SELECT cid, score FROM ({bm25_scores(layout.admit(where))}) ORDER BY {_ORDER} LIMIT $k_fts::BIGINT"


def vector_leg(layout: Layout, dim: int, where: str, floors: Floors, *, asked: bool) -> str:
    """The k_vec nearest admitted chunks, none below the floor: (cid, score); empty where nothing was embedded."""
    if not asked:
        return "SELECT NULL::INTEGER AS cid, NULL::DOUBLE AS score WHERE false"
    leg = f"SELECT cid, score FROM ({layout.cosines(dim, where)}) ORDER BY {_ORDER} LIMIT $k_vec::BIGINT"
    return (
        leg
        if floors.every is None
        else f"SELECT * FROM ({leg}) WHERE score >= {double(floors.every)}"
    )


def numbered(leg: str, chunk: str, only: str = "true") -> str:
    """A leg's chunks as `Leg` has them, best first; `only` keeps some of them, at the ranks that they have among all."""
    return (
        "SELECT point_id, place, score, source_type, entity_id, chunk_index"
        f" FROM (SELECT cid, score, row_number() OVER (ORDER BY {_ORDER}) AS place FROM ({leg}) leg) placed"
        f" JOIN {chunk} USING (cid) WHERE {only} ORDER BY place"
    )


def ranking(ask: Ask, layout: Layout, dim: int, where: str) -> str:
    """$rows rows of the fused ranking behind its $first ones: (type, id, score, chunks, fts, vec, admitted).

    `chunks` are the row's best ones by their share in a leg, then cid, one of both legs twice. `fts` and `vec` are how
    many chunks each leg has, `admitted` how many rows the whole ranking has, the same on every row.
    """
    kind, key = _key(ask.returns)
    admitted, read, by = layout.once(where)
    return f"""
WITH {admitted}
fts AS MATERIALIZED ({lexical_leg(read, by)}),
vec AS MATERIALIZED ({vector_leg(read, dim, by, ask.floors, asked=ask.vector is not None)}),
note AS (
  SELECT {kind} AS type, {key} AS id, max(fs) AS fs, max(vs) AS vs,
         arg_max(cid, (coalesce(fs, vs), -cid), {LEGS * ask.chunks:d}) AS chunks
  FROM (SELECT cid, score / (SELECT max(score) FROM fts) AS fs, NULL::DOUBLE AS vs FROM fts
        UNION ALL SELECT cid, NULL, greatest(score, 0e0) FROM vec) share JOIN {layout.chunk} USING (cid)
  GROUP BY ALL)
SELECT type, id, score, chunks, (SELECT count(*) FROM fts), (SELECT count(*) FROM vec), count(*) OVER ()
FROM ({fused_sql("note", ask.fusion)}) scored WHERE {supported(ask.floors, "fts")}
ORDER BY score DESC, type, id LIMIT $rows::BIGINT OFFSET $first::BIGINT"""


def _key(returns: Returns) -> tuple[str, str]:
    """The SQL of a row's type and id."""
    if returns == "itself":
        return "source_type", "entity_id"
    note = f"json_extract_string(metadata, '/{NOTE_KEY}')"
    return (
        "'entity'",
        f"CASE WHEN source_type = 'entity' THEN entity_id ELSE coalesce({note}, entity_id) END",
    )


def supported(floors: Floors, leg: str) -> str:
    """The predicate that a row without lexical support must meet; `leg` names the full-text leg."""
    apart = floors.alone if floors.alone is not None else floors.unsupported
    if apart is None:
        return "true"
    beside = floors.unsupported if floors.unsupported is not None else -1.0
    return (
        f"fs IS NOT NULL OR vs >= CASE WHEN (SELECT count(*) FROM {leg}) = 0"
        f" THEN {double(apart)} ELSE {double(beside)} END"
    )


# ---- The new path on DuckDB: the catalog as it is loaded, or another layout of it ----

EXCERPT_MARK = "\n…\n"
"""What stands between two chunks of an excerpt."""

# `cid IN (1, 2, …)` would read the whole text column (79 ms of 373k chunks); a join reads what it needs (2 ms).
_ASKED = "(SELECT unnest($cids::INTEGER[]) AS cid, generate_subscripts($cids::INTEGER[], 1) AS place) asked"


class DuckNotes:
    """A loaded collection as a notes engine."""

    name = "duckdb"

    def __init__(self, file: NotesFile, layout: Layout = TWO_TABLES) -> None:
        self.file, self.layout = file, layout
        ((named,),) = file.rows("SELECT tokenizer FROM corpus")
        self.tokenizer = tokenizer_of(named)
        ((kind,),) = file.rows(f"SELECT typeof(embedding) FROM {layout.vector} LIMIT 1") or (
            ("FLOAT[0]",),
        )
        self.dim = int(kind.removeprefix("FLOAT[").removesuffix("]"))

    @classmethod
    def open(
        cls, catalog: Path, layout: Layout = TWO_TABLES, beside: Mapping[str, Path] | None = None
    ) -> DuckNotes:
        """Open a catalog file, with the file of another layout beside it. Raises the catalog's named errors."""
        file = NotesFile(catalog, beside)
        try:
            return cls(file, layout)
        except BaseException:
            file.close()
            raise

    @property
    def statements(self) -> int:
        """See Engine."""
        return self.file.statements

    def ranked(self, ask: Ask) -> Found:
        """See Engine."""
        admitted = where(ask.filters)
        sql = ranking(ask, self.layout, self.dim, admitted.sql)
        found = self.file.rows(sql, {**_params(ask), **admitted.params})
        if not found and ask.first:
            # A page behind the last row: the first row has the counts.
            return replace(self.ranked(replace(ask, first=0, last=0)), rows=())
        fts, vec, rows = found[0][4:] if found else (0, 0, 0)
        ranked = (Ranked(*row[:3], tuple(dict.fromkeys(row[3]))[: ask.chunks]) for row in found)
        return Found(tuple(ranked), fts, vec, rows)

    def legs(self, ask: Ask) -> tuple[list[Leg], list[Leg]]:
        """See Engine."""
        return self._leg(ask, lexical=True), self._leg(ask, lexical=False)

    def place(self, ask: Ask, row: Key) -> tuple[Leg | None, Leg | None]:
        """See Engine."""
        found = (self._leg(ask.uncut, lexical=lexical, row=row) for lexical in (True, False))
        fts, vec = (next(iter(leg), None) for leg in found)
        return fts, vec

    def _leg(self, ask: Ask, *, lexical: bool, row: Key | None = None) -> list[Leg]:
        admitted, given = where(ask.filters), _params(ask)
        if lexical:
            leg, names = lexical_leg(self.layout, admitted.sql), ("terms", "k1", "b", "k_fts")
        else:
            asked = ask.vector is not None
            leg = vector_leg(self.layout, self.dim, admitted.sql, ask.floors, asked=asked)
            names = ("vector", "k_vec") if asked else ()
        params = {n: given[n] for n in names}
        if names:
            params |= admitted.params
        only = "true"
        if row is not None:
            only, params = (
                "source_type = $type AND entity_id = $id",
                {**params, "type": row[0], "id": row[1]},
            )
        found = self.file.rows(numbered(leg, self.layout.chunk, only), params)
        return [Leg(point_id_of(i), *rest) for i, *rest in found]

    def page(self, rows: Sequence[Ranked], excerpt_chars: int, label_chars: int) -> list[Shown]:
        """See Engine."""
        cids = [cid for row in rows for cid in row.chunks]
        owner = [number for number, row in enumerate(rows) for _ in row.chunks]
        sql = (
            "SELECT first(point_id ORDER BY place), first(left(title, $label::BIGINT) ORDER BY place),"
            " first(left(coalesce(path, ''), $label::BIGINT) ORDER BY place),"
            " first(left(coalesce(note_type, ''), $label::BIGINT) ORDER BY place),"
            f" left(string_agg(left(text, $chars::BIGINT), '{EXCERPT_MARK}' ORDER BY place), $chars::BIGINT)"
            " FROM (SELECT unnest($cids::INTEGER[]) AS cid, unnest($owner::INTEGER[]) AS owner,"
            " generate_subscripts($cids::INTEGER[], 1) AS place) asked"
            f" JOIN {self.layout.chunk} USING (cid) GROUP BY owner ORDER BY owner"
        )
        params = {"cids": cids, "owner": owner, "label": label_chars, "chars": excerpt_chars}
        return (
            [Shown(point_id_of(row[0]), *row[1:]) for row in self.file.rows(sql, params)]
            if cids
            else []
        )

    def documents(self, chunks: Sequence[int], chars: int) -> list[str]:
        """See Engine."""
        sql = f"SELECT left(text, $chars::BIGINT) FROM {_ASKED} JOIN {self.layout.chunk} USING (cid) ORDER BY place"
        return [text for (text,) in self.file.rows(sql, {"cids": list(chunks), "chars": chars})]

    def close(self) -> None:
        self.file.close()


def _params(ask: Ask) -> dict[str, Any]:
    """The statement's parameters. Terms with a lone surrogate stand in no dictionary."""
    params = {
        "terms": [t for t in ask.terms if well_formed(t) == t],
        "k1": K1,
        "b": B,
        "k_fts": ask.k_fts,
        "first": ask.first,
        "rows": ask.last + 1 - ask.first,
    }
    return params if ask.vector is None else {**params, "vector": ask.vector, "k_vec": ask.k_vec}


def point_id_of(text: str) -> PointId:
    """A catalog's point id: an integer as decimal text, or a UUID."""
    return int(text) if text.isascii() and text.isdecimal() else text


def tokenizer_of(name: str) -> Tokenizer:
    """The tokenizer that a catalog records by name (see Tokenizer.name)."""
    parts = dict(part.split("=", 1) for part in name.split("/")[1:])
    assert parts["stop"] in STOP_LISTS
    return Tokenizer(**parts)
