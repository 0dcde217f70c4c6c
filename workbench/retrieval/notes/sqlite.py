"""The new path on SQLite: the same statement's shape over FTS5 and vec0, one bounded overfetch where a filter stays out.

FTS5's bm25() has its own idf, ln((N − df + ½) / (df + ½)) and 1e-6 where that is not above 0, so lexical scores
are not the catalog's.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workbench.errors import NotAvailable
from workbench.retrieval.notes.duck import EXCERPT_MARK, point_id_of, tokenizer_of
from workbench.retrieval.notes.fusion_sql import double, fused_sql
from workbench.retrieval.notes.request import Ask, Found, Key, Leg, Ranked, Shown
from workbench.retrieval.notes.sqlite_filters import Clause, pushed, where
from workbench.retrieval.notes.sqlite_open import K_MOST, connect
from workbench.retrieval.notes.statement import NOTE_KEY, numbered, supported
from workbench.text import well_formed

OVERFETCH = 4
"""Candidates for each row wanted where a filter cannot be pushed down: 4 × k, once, no retry (the document, 2)."""
CHUNKS = 3

_NOTHING: tuple[str, dict[str, Any]] = ("SELECT NULL AS cid, NULL AS score WHERE 0", {})
"""A leg that was not asked."""
_BEST = "max(coalesce(fs, 0e0), coalesce(vs, 0e0))"


class SqliteNotes:
    """A file that `build_sqlite` made, as a notes engine.

    Where a filter does not fit into vec0: `overfetch` × k candidates once, as the document has it; or, with `exact`,
    every admitted vector is compared, which misses none and costs by how many are admitted.
    """

    name = "sqlite"

    def __init__(self, con: sqlite3.Connection, overfetch: int = OVERFETCH, *, exact: bool = False) -> None:
        self.con, self.overfetch, self.exact = con, overfetch, exact
        named, self.dim = con.execute("SELECT tokenizer, dim FROM corpus").fetchone()
        self.tokenizer = tokenizer_of(named)

    @classmethod
    def open(cls, path: Path, overfetch: int = OVERFETCH, *, exact: bool = False) -> SqliteNotes:
        """Open for reading. Raises NotAvailable where the file is not there or SQLite takes no extension."""
        if not path.is_file():
            raise NotAvailable("there is no such file", where=str(path), do="Build it: build_sqlite(catalog, path)")
        return cls(connect(path, read_only=True), overfetch, exact=exact)

    def ranked(self, ask: Ask) -> Found:
        """See Engine."""
        sql, params = self._ranking(ask)
        found = self.con.execute(sql, params).fetchall()
        fts, vec = found[0][6:] if found else (0, 0)
        rows = (Ranked(*row[:3], tuple(c for c in row[3 : 3 + ask.chunks] if c is not None)) for row in found)
        return Found(tuple(rows), fts, vec)

    def legs(self, ask: Ask) -> tuple[list[Leg], list[Leg]]:
        """See Engine."""
        return self._leg(*self._lexical(ask)), self._leg(*self._vector(ask))

    def place(self, ask: Ask, row: Key) -> tuple[Leg | None, Leg | None]:
        """See Engine."""
        legs = self._lexical(ask.uncut), _NOTHING if ask.vector is None else _compared(ask)
        fts, vec = (next(iter(self._leg(*leg, row)), None) for leg in legs)
        return fts, vec

    def _leg(self, leg: str, params: dict[str, Any], row: Key | None = None) -> list[Leg]:
        only = "1"
        if row is not None:
            only, params = "source_type = :type AND entity_id = :id", {**params, "type": row[0], "id": row[1]}
        return [Leg(point_id_of(i), *rest) for i, *rest in self.con.execute(numbered(leg, "chunk", only), params)]

    def page(self, rows: Sequence[Ranked], excerpt_chars: int, label_chars: int) -> list[Shown]:
        """See Engine."""
        sql = (
            "SELECT point_id, substr(title, 1, :label), substr(coalesce(path, ''), 1, :label),"
            " substr(coalesce(note_type, ''), 1, :label), substr(text, 1, :chars) FROM chunk WHERE cid = :cid"
        )
        out = []
        for row in rows:
            parts = [self.con.execute(sql, {"cid": c, "label": label_chars, "chars": excerpt_chars}).fetchone() for c in row.chunks]
            excerpt = EXCERPT_MARK.join(part[4] for part in parts)[:excerpt_chars]
            out.append(Shown(point_id_of(parts[0][0]), *parts[0][1:4], excerpt))
        return out

    def documents(self, chunks: Sequence[int], chars: int) -> list[str]:
        """See Engine."""
        sql = "SELECT substr(text, 1, ?) FROM chunk WHERE cid = ?"
        return [self.con.execute(sql, (chars, cid)).fetchone()[0] for cid in chunks]

    def close(self) -> None:
        self.con.close()

    def pushes_down(self, ask: Ask) -> bool:
        """Whether all of the filters are part of the vector search itself."""
        return pushed(ask.filters)[1]

    def nearest_overfetched(self, ask: Ask, factor: int) -> list[int]:
        """The vector leg's chunks where no part of the filter goes into the search: `factor` × k of all, then the filter."""
        admitted = where(ask.filters)
        sql = (
            "SELECT cid FROM (SELECT cid, distance FROM vec WHERE embedding MATCH :vector AND k = :fetched) near"
            f" JOIN chunk USING (cid) WHERE {admitted.sql or '1'} ORDER BY distance LIMIT :k_vec"
        )
        fetched = min(ask.k_vec * factor, K_MOST)
        params = {"vector": ask.vector.tobytes(), "fetched": fetched, "k_vec": ask.k_vec, **admitted.params}
        return [cid for (cid,) in self.con.execute(sql, params)]

    def nearest_exact(self, ask: Ask) -> list[int]:
        """The vector leg's chunks with all of the filter before the ranking."""
        inside, whole = pushed(ask.filters)
        near, params = _inside(ask, ask.k_vec, inside) if whole else _compared(ask)
        return [cid for (cid,) in self.con.execute(f"SELECT cid FROM ({near} ORDER BY score DESC, cid LIMIT :k_vec)", {**params, "k_vec": ask.k_vec})]

    def _lexical(self, ask: Ask) -> tuple[str, dict[str, Any]]:
        """(cid, score) of the k_fts best chunks: FTS5 first, its rows then looked at."""
        terms = [t for t in ask.terms if well_formed(t) == t]
        if not terms:
            return _NOTHING
        admitted = where(ask.filters)
        sql = (
            "SELECT fts.rowid AS cid, -bm25(fts) AS score FROM fts CROSS JOIN chunk ON chunk.cid = fts.rowid"
            f" WHERE fts MATCH :match AND {admitted.sql or '1'} ORDER BY score DESC, cid LIMIT :k_fts"
        )
        return sql, {"match": " OR ".join(f'"{t}"' for t in terms), "k_fts": ask.k_fts, **admitted.params}

    def _vector(self, ask: Ask) -> tuple[str, dict[str, Any]]:
        """(cid, score) of the k_vec nearest chunks. A filter that vec0 cannot hold is asked of overfetch × k of them."""
        if ask.vector is None:
            return _NOTHING
        inside, whole = pushed(ask.filters)
        if whole:
            near, params = _inside(ask, min(ask.k_vec, K_MOST), inside)
        elif self.exact:
            near, params = _compared(ask)
        else:
            admitted = where(ask.filters)
            near, params = _inside(ask, min(ask.k_vec * self.overfetch, K_MOST), inside)
            near = f"SELECT cid, score FROM ({near}) near JOIN chunk USING (cid) WHERE {admitted.sql}"
            params |= admitted.params
        leg = f"SELECT cid, score FROM ({near}) ORDER BY score DESC, cid LIMIT :k_vec"
        every = ask.floors.every
        return (leg if every is None else f"SELECT * FROM ({leg}) WHERE score >= {double(every)}"), {**params, "k_vec": ask.k_vec}

    def _ranking(self, ask: Ask) -> tuple[str, dict[str, Any]]:
        """The one statement: see statement.ranking."""
        (lexical, a), (vector, b) = self._lexical(ask), self._vector(ask)
        note = f"json_extract(metadata, '$.{NOTE_KEY}')"
        kind, key = ("source_type", "entity_id") if ask.returns == "itself" else (
            "'entity'", f"CASE WHEN source_type = 'entity' THEN entity_id ELSE coalesce({note}, entity_id) END"
        )  # fmt: skip
        nth = ", ".join(f"max(CASE WHEN place = {n} THEN cid END) AS c{n}" for n in range(1, CHUNKS + 1))
        sql = f"""
WITH fts_leg AS MATERIALIZED ({lexical}), vec_leg AS MATERIALIZED ({vector}),
share AS (
  SELECT cid, max(fs) AS fs, max(vs) AS vs FROM (
    SELECT cid, score / (SELECT max(score) FROM fts_leg) AS fs, NULL AS vs FROM fts_leg
    UNION ALL SELECT cid, NULL, max(score, 0e0) FROM vec_leg) GROUP BY cid),
keyed AS (SELECT {kind} AS type, {key} AS id, cid, fs, vs FROM share JOIN chunk USING (cid)),
placed AS (SELECT *, row_number() OVER (PARTITION BY type, id ORDER BY {_BEST} DESC, cid) AS place FROM keyed),
note AS (SELECT type, id, max(fs) AS fs, max(vs) AS vs, {nth} FROM placed GROUP BY type, id)
SELECT type, id, score, c1, c2, c3, (SELECT count(*) FROM fts_leg), (SELECT count(*) FROM vec_leg)
FROM (SELECT * FROM ({fused_sql("note", ask.fusion, "max", "min")}) WHERE {supported(ask.floors, "fts_leg")}
      ORDER BY score DESC, type, id LIMIT :last + 1)
ORDER BY score DESC, type, id LIMIT -1 OFFSET :first"""
        return sql, {**a, **b, "first": ask.first, "last": ask.last}


def _inside(ask: Ask, k: int, inside: Clause) -> tuple[str, dict[str, Any]]:
    """(cid, score) of the k nearest by vec0, with what it can be asked for beside the vector."""
    sql = f"SELECT cid, 1e0 - distance AS score FROM vec WHERE embedding MATCH :vector AND k = :fetched{inside.sql}"
    return sql, {"vector": ask.vector.tobytes(), "fetched": k, **inside.params}


def _compared(ask: Ask) -> tuple[str, dict[str, Any]]:
    """(cid, score) of every admitted chunk: its vector is read by id and compared."""
    admitted = where(ask.filters)
    sql = (
        "SELECT cid, 1e0 - vec_distance_cosine(embedding, :vector) AS score"
        f" FROM chunk JOIN (SELECT cid, embedding FROM vec) held USING (cid) WHERE {admitted.sql}"
    )
    return sql, {"vector": ask.vector.tobytes(), **admitted.params}
