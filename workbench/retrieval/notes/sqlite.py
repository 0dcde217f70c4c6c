"""The new path on SQLite: the same statement's shape over FTS5 and vec0, one bounded overfetch where a filter stays out.

FTS5's bm25() has its own idf, ln((N − df + ½) / (df + ½)) and 1e-6 where that is not above 0, so lexical scores
are not the catalog's.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from workbench.errors import NotAvailable
from workbench.retrieval.notes.duckdb import (
    EXCERPT_MARK,
    NOTE_KEY,
    double,
    fused_sql,
    numbered,
    point_id_of,
    supported,
    tokenizer_of,
)
from workbench.retrieval.notes.file import NotesFile
from workbench.retrieval.notes.model import Ask, Found, Key, Leg, Ranked, Shown
from workbench.stores.filters.values import (
    COLUMNS,
    DATETIME_FIELDS,
    RANGE_OPERATORS,
    kind_of,
    moment_of,
    range_of,
    values_of,
)
from workbench.text import well_formed

# ---- Filters on SQLite: one predicate over `chunk`, and the part of it that vec0's metadata ----

PUSHED_TEXT = ("source_type", "project", "note_type", "status")
"""Facets with a metadata column in vec0; lists (tags), prefixes (path) and free metadata have none."""
ABSENT = "\x01"
"""An absent facet in a metadata column, which holds no NULL."""
NO_MOMENT = -1e18
"""An absent time in a metadata column: 31 billion years ago."""

_NUMBER, _TEXT = "('integer', 'real')", "'text'"


@dataclass(slots=True)
class Clause:
    """A predicate and its parameters (:f0, :f1, …); `sql` is "" where every chunk is admitted."""

    sql: str = ""
    params: dict[str, Any] = field(default_factory=dict)

    def add(self, value: Any) -> str:
        name = f"f{len(self.params)}"
        self.params[name] = value
        return f":{name}"


def where(filters: Mapping[str, Any]) -> Clause:
    """The predicate over `chunk` of filters that all hold. Raises BadParameter like the catalog's."""
    bound = Clause()
    bound.sql = " AND ".join(f"({_clause(bound, name, value)})" for name, value in filters.items())
    return bound


def pushed(filters: Mapping[str, Any]) -> tuple[Clause, bool]:
    """(what vec0 can be asked for beside the vector, whether that is all of it)."""
    bound, parts, whole = Clause(), [], True
    for name, value in filters.items():
        part = _pushed_clause(bound, name, value)
        whole &= part is not None
        parts += [part] if part else []
    # Parameters share one statement with the whole predicate's.
    renamed = {n.replace("f", "v", 1): v for n, v in bound.params.items()}
    return Clause("".join(f" AND {p}" for p in parts).replace(":f", ":v"), renamed), whole


def _pushed_clause(bound: Clause, name: str, value: Any) -> str | None:
    if isinstance(value, Mapping):
        if name not in DATETIME_FIELDS:
            return None
        bounds = range_of(name, value)
        given = [
            f"{name}_at {RANGE_OPERATORS[op]} {bound.add(b.timestamp())}"
            for op, b in bounds.items()
        ]
        return " AND ".join([*given, f"{name}_at > {NO_MOMENT / 2!r}"])
    if name not in PUSHED_TEXT:
        return None
    options = [
        ABSENT if v is None else v
        for v in values_of(value)
        if kind_of(name, v) in ("absent", "text")
    ]
    if not options:
        return None
    return f"{name} IN ({', '.join(bound.add(o) for o in options)})"


def _clause(bound: Clause, name: str, value: Any) -> str:
    if isinstance(value, Mapping):
        bounds = range_of(name, value)
        if name in DATETIME_FIELDS:
            return _between(bound, f"{name}_at", bounds)
        return _in_metadata(bound, name, lambda v, kind: _in_range(bound, v, kind, bounds))
    options = [(kind_of(name, v), v) for v in values_of(value)]
    if name in COLUMNS:
        return _any_of(_column(bound, name, kind, v) for kind, v in options)
    present = [(kind, v) for kind, v in options if kind != "absent"]
    clauses = (
        [
            _in_metadata(
                bound, name, lambda v, kind: _any_of(_equal(bound, v, kind, *o) for o in present)
            )
        ]
        if present
        else []
    )
    if len(present) < len(options):
        held = f"SELECT 1 FROM json_each(metadata) m WHERE m.key = {_key(bound, name)} AND m.type <> 'null'"
        clauses.append(
            f"NOT EXISTS ({held} AND NOT (m.type = 'array' AND json_array_length(m.value) = 0))"
        )
    return _any_of(clauses)


def _any_of(clauses: Iterable[str]) -> str:
    return " OR ".join(clauses) or "0"


def _column(bound: Clause, name: str, kind: str, value: Any) -> str:
    if kind == "never":
        return "0"
    if kind == "absent":
        return "tags = '[]'" if name == "tags" else f"{name} IS NULL"
    if name == "tags":
        return f"EXISTS (SELECT 1 FROM json_each(tags) t WHERE t.value = {bound.add(value)})"
    if kind == "prefix":
        prefix = bound.add(value[:-1])
        return f"substr(path, 1, length({prefix})) = {prefix}"
    return f"{name} = {bound.add(value)}"


def _key(bound: Clause, name: str) -> str:
    # A key that no store can hold is bound as one that is not there.
    return bound.add(name if kind_of("", name) != "never" else "\x00")


def _in_metadata(bound: Clause, key: str, holds: Callable[[str, str], str]) -> str:
    """`holds(value, type)` of the key's value, or of any element where the value is a list."""
    scalar, element = holds("m.value", "m.type"), holds("e.value", "e.type")
    return (
        f"EXISTS (SELECT 1 FROM json_each(metadata) m WHERE m.key = {_key(bound, key)} AND (({scalar})"
        f" OR (m.type = 'array' AND EXISTS (SELECT 1 FROM json_each(m.value) e WHERE {element}))))"
    )


def _equal(bound: Clause, value_sql: str, type_sql: str, kind: str, value: Any) -> str:
    if kind == "text":
        return f"({type_sql} = {_TEXT} AND {value_sql} = {bound.add(value)})"
    if kind == "boolean":
        return f"{type_sql} = '{'true' if value else 'false'}'"
    if kind in ("integer", "number"):
        return f"({type_sql} IN {_NUMBER} AND {value_sql} = {bound.add(value)})"
    return "0"


def _between(bound: Clause, moment: str, bounds: Mapping[str, Any]) -> str:
    return " AND ".join(
        f"{moment} {RANGE_OPERATORS[op]} {bound.add(b.timestamp())}" for op, b in bounds.items()
    )


def _in_range(bound: Clause, value_sql: str, type_sql: str, bounds: Mapping[str, Any]) -> str:
    if all(isinstance(b, int | float) for b in bounds.values()):
        inner = " AND ".join(
            f"{value_sql} {RANGE_OPERATORS[op]} {bound.add(b)}" for op, b in bounds.items()
        )
        return f"({type_sql} IN {_NUMBER} AND {inner})"
    return f"({type_sql} = {_TEXT} AND {_between(bound, f'moment({value_sql})', bounds)})"


# ---- A SQLite connection with FTS5 and sqlite-vec: the extension is loaded where Python all ----

NEEDED = (3, 38, 0)
"""SQLite's version that hands a virtual table the whole list of an IN (sqlite3_vtab_in), for filters of several values."""
K_MOST = 4_096
"""sqlite-vec's limit of k (vec0, 0.1)."""


def connect(path: Path | str, *, read_only: bool = False) -> sqlite3.Connection:
    """Open a file with vec0, FTS5 and the function `moment(text)` (seconds since 1970, NULL for no ISO 8601 time).

    Raises NotAvailable where this Python's SQLite is too old or takes no extension.
    """
    if sqlite3.sqlite_version_info < NEEDED:
        raise NotAvailable(
            f"SQLite {sqlite3.sqlite_version} is older than {'.'.join(map(str, NEEDED))}",
            do="Use a newer Python",
        )
    target = f"{Path(path).absolute().as_uri()}?mode=ro" if read_only else str(path)
    con = _with_vec0(target, uri=read_only)
    try:
        con.create_function("moment", 1, seconds_of, deterministic=True)
        modules = {name for (name,) in con.execute("SELECT name FROM pragma_module_list")}
        if missing := {"fts5", "vec0"} - modules:
            raise NotAvailable(
                f"this SQLite has no {' and no '.join(sorted(missing))}",
                do="Use a Python built with it",
            )
    except BaseException:
        con.close()
        raise
    return con


def seconds_of(text: str | None) -> float | None:
    """The moment that a text names, in seconds since 1970 UTC; None where it names none."""
    found = moment_of(text)
    return (
        None if found is None else datetime.fromisoformat(found.replace("Z", "+00:00")).timestamp()
    )


def _with_vec0(target: str, *, uri: bool) -> sqlite3.Connection:
    import sqlite_vec

    if hasattr(sqlite3.Connection, "enable_load_extension"):
        con = sqlite3.connect(target, uri=uri, check_same_thread=False)
        con.enable_load_extension(True)
        sqlite_vec.load(con)
        con.enable_load_extension(False)
        return con
    register, cancel, entry = _auto_extension()
    register(entry)
    try:
        return sqlite3.connect(target, uri=uri, check_same_thread=False)
    finally:
        cancel(entry)  # other connections of the process are left as they were


def _auto_extension():
    """SQLite's calls for automatic extensions, and the extension's entry; NotAvailable where they are not exported."""
    import _sqlite3

    import sqlite_vec

    try:
        engine = ctypes.CDLL(_sqlite3.__file__)
        register, cancel = engine.sqlite3_auto_extension, engine.sqlite3_cancel_auto_extension
        found = next(Path(sqlite_vec.loadable_path()).parent.glob("vec0.*"))
        entry = ctypes.cast(ctypes.CDLL(str(found)).sqlite3_vec_init, ctypes.c_void_p)
    except (AttributeError, OSError, StopIteration) as error:
        raise NotAvailable(
            f"this Python's SQLite takes no extension: {error}",
            do="Use a Python built with loadable SQLite extensions",
        ) from error
    return register, cancel, entry


# ---- The new path on SQLite: the same statement's shape over FTS5 and vec0, one bounded ove ----

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

    def __init__(
        self, con: sqlite3.Connection, overfetch: int = OVERFETCH, *, exact: bool = False
    ) -> None:
        self.con, self.overfetch, self.exact = con, overfetch, exact
        self.statements = 0
        named, self.dim = con.execute("SELECT tokenizer, dim FROM corpus").fetchone()
        self.tokenizer = tokenizer_of(named)

    @classmethod
    def open(cls, path: Path, overfetch: int = OVERFETCH, *, exact: bool = False) -> SqliteNotes:
        """Open for reading. Raises NotAvailable where the file is not there or SQLite takes no extension."""
        if not path.is_file():
            raise NotAvailable(
                "there is no such file", where=str(path), do="Build it: build_sqlite(catalog, path)"
            )
        return cls(connect(path, read_only=True), overfetch, exact=exact)

    def ranked(self, ask: Ask) -> Found:
        """See Engine."""
        sql, params = self._ranking(ask)
        found = self._rows(sql, params)
        # The counts come with every row, and with one row of nothing else on an empty page.
        fts, vec, admitted, read = found[0][6:]
        rows = (
            Ranked(*row[:3], tuple(c for c in row[3 : 3 + ask.chunks] if c is not None))
            for row in found
            if row[0] is not None
        )
        return Found(tuple(rows), fts, vec, admitted, read if self._overfetches(ask) else None)

    def legs(self, ask: Ask) -> tuple[list[Leg], list[Leg]]:
        """See Engine."""
        leg, params, near = self._vector(ask)
        return self._leg(*self._lexical(ask)), self._leg(leg, params, near=near)

    def place(self, ask: Ask, row: Key) -> tuple[Leg | None, Leg | None]:
        """See Engine."""
        legs = self._lexical(ask.uncut), _NOTHING if ask.vector is None else _compared(ask)
        fts, vec = (next(iter(self._leg(*leg, row)), None) for leg in legs)
        return fts, vec

    def _leg(
        self, leg: str, params: dict[str, Any], row: Key | None = None, near: str = ""
    ) -> list[Leg]:
        only = "1"
        if row is not None:
            only, params = (
                "source_type = :type AND entity_id = :id",
                {**params, "type": row[0], "id": row[1]},
            )
        return [
            Leg(point_id_of(i), *rest)
            for i, *rest in self.con.execute(_with(near) + numbered(leg, "chunk", only), params)
        ]

    def page(self, rows: Sequence[Ranked], excerpt_chars: int, label_chars: int) -> list[Shown]:
        """See Engine."""
        sql = (
            "SELECT point_id, substr(title, 1, :label), substr(coalesce(path, ''), 1, :label),"
            " substr(coalesce(note_type, ''), 1, :label), substr(text, 1, :chars) FROM chunk WHERE cid = :cid"
        )
        out = []
        for row in rows:
            parts = [
                self.con.execute(
                    sql, {"cid": c, "label": label_chars, "chars": excerpt_chars}
                ).fetchone()
                for c in row.chunks
            ]
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

    def _rows(self, sql: str, params: Mapping[str, Any]) -> list[tuple]:
        self.statements += 1
        return self.con.execute(sql, params).fetchall()

    def _overfetches(self, ask: Ask) -> bool:
        return ask.vector is not None and not self.exact and not self.pushes_down(ask)

    def nearest_overfetched(self, ask: Ask, factor: int) -> list[int]:
        """The vector leg's chunks where no part of the filter goes into the search: `factor` × k of all, then the filter."""
        admitted = where(ask.filters)
        sql = (
            "SELECT cid FROM (SELECT cid, distance FROM vec WHERE embedding MATCH :vector AND k = :fetched) near"
            f" JOIN chunk USING (cid) WHERE {admitted.sql or '1'} ORDER BY distance LIMIT :k_vec"
        )
        fetched = min(ask.k_vec * factor, K_MOST)
        params = {
            "vector": ask.vector.tobytes(),
            "fetched": fetched,
            "k_vec": ask.k_vec,
            **admitted.params,
        }
        return [cid for (cid,) in self.con.execute(sql, params)]

    def nearest_exact(self, ask: Ask) -> list[int]:
        """The vector leg's chunks with all of the filter before the ranking."""
        inside, whole = pushed(ask.filters)
        near, params = _inside(ask, ask.k_vec, inside) if whole else _compared(ask)
        return [
            cid
            for (cid,) in self.con.execute(
                f"SELECT cid FROM ({near} ORDER BY score DESC, cid LIMIT :k_vec)",
                {**params, "k_vec": ask.k_vec},
            )
        ]

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
        return sql, {
            "match": " OR ".join(f'"{t}"' for t in terms),
            "k_fts": ask.k_fts,
            **admitted.params,
        }

    def _vector(self, ask: Ask) -> tuple[str, dict[str, Any], str]:
        """((cid, score) of the k_vec nearest chunks, parameters, what `near` is). A filter that vec0 cannot take is
        asked of overfetch × k chunks, which are `near`; else that is empty."""
        if ask.vector is None:
            return *_NOTHING, ""
        read = ""
        inside, whole = pushed(ask.filters)
        if whole:
            near, params = _inside(ask, min(ask.k_vec, K_MOST), inside)
        elif self.exact:
            near, params = _compared(ask)
        else:
            admitted = where(ask.filters)
            read, params = _inside(ask, min(ask.k_vec * self.overfetch, K_MOST), inside)
            near = f"SELECT cid, score FROM near JOIN chunk USING (cid) WHERE {admitted.sql}"
            params |= admitted.params
        leg = f"SELECT cid, score FROM ({near}) ORDER BY score DESC, cid LIMIT :k_vec"
        every = ask.floors.every
        if every is not None:
            leg = f"SELECT * FROM ({leg}) WHERE score >= {double(every)}"
        return leg, {**params, "k_vec": ask.k_vec}, read

    def _ranking(self, ask: Ask) -> tuple[str, dict[str, Any]]:
        """The one statement: see statement.ranking."""
        (lexical, a), (vector, b, near) = self._lexical(ask), self._vector(ask)
        note = f"json_extract(metadata, '$.{NOTE_KEY}')"
        kind, key = (
            ("source_type", "entity_id")
            if ask.returns == "itself"
            else (
                "'entity'",
                f"CASE WHEN source_type = 'entity' THEN entity_id ELSE coalesce({note}, entity_id) END",
            )
        )
        nth = ", ".join(
            f"max(CASE WHEN place = {n} THEN cid END) AS c{n}" for n in range(1, CHUNKS + 1)
        )
        sql = f"""
{_with(near) or "WITH "}{"," if near else ""}fts_leg AS MATERIALIZED ({lexical}), vec_leg AS MATERIALIZED ({vector}),
share AS (
  SELECT cid, max(fs) AS fs, max(vs) AS vs FROM (
    SELECT cid, score / (SELECT max(score) FROM fts_leg) AS fs, NULL AS vs FROM fts_leg
    UNION ALL SELECT cid, NULL, max(score, 0e0) FROM vec_leg) GROUP BY cid),
keyed AS (SELECT {kind} AS type, {key} AS id, cid, fs, vs FROM share JOIN chunk USING (cid)),
placed AS (SELECT *, row_number() OVER (PARTITION BY type, id ORDER BY {_BEST} DESC, cid) AS place FROM keyed),
note AS (SELECT type, id, max(fs) AS fs, max(vs) AS vs, {nth} FROM placed GROUP BY type, id),
ranked AS MATERIALIZED (SELECT * FROM ({fused_sql("note", ask.fusion, "max", "min")})
      WHERE {supported(ask.floors, "fts_leg")}),
page AS (SELECT * FROM ranked ORDER BY score DESC, type, id LIMIT :last + 1 - :first OFFSET :first)
SELECT type, id, score, c1, c2, c3, fts, vec, admitted, read
FROM (SELECT (SELECT count(*) FROM fts_leg) AS fts, (SELECT count(*) FROM vec_leg) AS vec,
             (SELECT count(*) FROM ranked) AS admitted, {"(SELECT count(*) FROM near)" if near else "0"} AS read)
LEFT JOIN page ON 1 ORDER BY score DESC, type, id"""
        return sql, {**a, **b, "first": ask.first, "last": ask.last}


def _with(near: str) -> str:
    """The common table of the chunks that are read before a filter; "" for none."""
    return f"WITH near AS MATERIALIZED ({near}) " if near else ""


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


# ---- A catalog as one SQLite file: chunks, FTS5 over their terms, and vec0 with the facets  ----

BATCH = 2_000

# The tokenizer's terms come joined by blanks; FTS5 must split at nothing else. Contentless, and detail=full, without
# which bm25() is wrong.
_SCHEMA = """
CREATE TABLE chunk(cid INTEGER PRIMARY KEY, point_id TEXT, entity_id TEXT, chunk_index INTEGER, source_type TEXT,
  title TEXT, text TEXT, project TEXT, note_type TEXT, tags TEXT, status TEXT, path TEXT, metadata TEXT,
  created TEXT, updated TEXT, created_at REAL, updated_at REAL);
CREATE TABLE corpus(tokenizer TEXT, dim INTEGER);
CREATE VIRTUAL TABLE fts USING fts5(terms, content='',
  tokenize="unicode61 remove_diacritics 0 categories 'L* N* M* Co'");
CREATE VIRTUAL TABLE vec USING vec0(cid INTEGER PRIMARY KEY, embedding FLOAT[{dim}] distance_metric=cosine,
  source_type TEXT, project TEXT, note_type TEXT, status TEXT, created_at FLOAT, updated_at FLOAT);
"""
_COLUMNS = "cid, point_id, entity_id, chunk_index, source_type, title, text, project, note_type, tags, status, path, metadata, created, updated"


def build_sqlite(catalog: Path, path: Path) -> None:
    """Make the file at `path`, all or nothing. Raises the catalog's named errors, NotAvailable without sqlite-vec."""
    source = NotesFile(catalog)
    workplace = path.with_name(path.name + ".building")
    shutil.rmtree(workplace, ignore_errors=True)
    workplace.mkdir(parents=True)
    try:
        ((named,),) = source.rows("SELECT tokenizer FROM corpus")
        ((kind,),) = source.rows("SELECT typeof(embedding) FROM vector LIMIT 1")
        dim = int(kind.removeprefix("FLOAT[").removesuffix("]"))
        con = connect(workplace / path.name)
        try:
            con.executescript(_SCHEMA.format(dim=dim))
            con.execute("INSERT INTO corpus VALUES (?, ?)", (named, dim))
            terms = tokenizer_of(named).terms
            for rows, vectors in _batches(source, dim):
                con.executemany(
                    f"INSERT INTO chunk VALUES ({', '.join('?' * 15)}, moment(?), moment(?))",
                    [(*r, r[13], r[14]) for r in rows],
                )
                con.executemany(
                    "INSERT INTO fts(rowid, terms) VALUES (?, ?)",
                    [(r[0], " ".join(terms(r[6]))) for r in rows],
                )
                con.executemany(
                    "INSERT INTO vec VALUES (?, ?, ?, ?, ?, ?, coalesce(moment(?), ?), coalesce(moment(?), ?))",
                    [
                        (
                            r[0],
                            v.tobytes(),
                            *(ABSENT if r[c] is None else r[c] for c in (4, 7, 8, 10)),
                            r[13],
                            NO_MOMENT,
                            r[14],
                            NO_MOMENT,
                        )
                        for r, v in zip(rows, vectors, strict=True)
                    ],
                )
            con.execute("INSERT INTO fts(fts) VALUES ('optimize')")
            con.commit()
        finally:
            con.close()
        os.replace(workplace / path.name, path)
    finally:
        source.close()
        shutil.rmtree(workplace, ignore_errors=True)


def _batches(source: NotesFile, dim: int) -> Iterator[tuple[list[tuple], np.ndarray]]:
    """Rows of `chunk` with their tags as JSON, and their vectors (n, dim) float32, in cid order."""
    ((size,),) = source.rows("SELECT count(*) FROM chunk")
    for start in range(0, size, BATCH):
        within = {"start": start, "stop": start + BATCH}
        sql = f"SELECT {_COLUMNS} FROM chunk WHERE cid >= $start AND cid < $stop ORDER BY cid"
        rows = [
            (*r[:9], json.dumps(r[9], ensure_ascii=False), *r[10:])
            for r in source.rows(sql, within)
        ]
        found = source.table(
            "SELECT embedding FROM vector WHERE cid >= $start AND cid < $stop ORDER BY cid", within
        ).column(0)
        yield (
            rows,
            np.concatenate([part.flatten().to_numpy() for part in found.chunks]).reshape(-1, dim),
        )
