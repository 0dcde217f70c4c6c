"""The new path on DuckDB: the catalog as it is loaded, or another layout of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from workbench.retrieval.notes import statement
from workbench.retrieval.notes.file import NotesFile
from workbench.retrieval.notes.layouts import TWO_TABLES, Layout
from workbench.retrieval.notes.request import Ask, Found, Key, Leg, Ranked, Shown
from workbench.stores.catalog_sql import K1, B
from workbench.stores.sql_filters import where
from workbench.text import STOP_LISTS, Tokenizer, well_formed
from workbench.types import PointId

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
        ((kind,),) = file.rows(f"SELECT typeof(embedding) FROM {layout.vector} LIMIT 1") or (("FLOAT[0]",),)
        self.dim = int(kind.removeprefix("FLOAT[").removesuffix("]"))

    @classmethod
    def open(cls, catalog: Path, layout: Layout = TWO_TABLES, beside: Mapping[str, Path] | None = None) -> DuckNotes:
        """Open a catalog file, with the file of another layout beside it. Raises the catalog's named errors."""
        file = NotesFile(catalog, beside)
        try:
            return cls(file, layout)
        except BaseException:
            file.close()
            raise

    def ranked(self, ask: Ask) -> Found:
        """See Engine."""
        admitted = where(ask.filters)
        sql = statement.ranking(ask, self.layout, self.dim, admitted.sql)
        found = self.file.rows(sql, {**_params(ask), **admitted.params})
        fts, vec = found[0][4:] if found else (0, 0)
        ranked = (Ranked(*row[:3], tuple(dict.fromkeys(row[3]))[: ask.chunks]) for row in found)
        return Found(tuple(ranked), fts, vec)

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
            leg, names = statement.lexical_leg(self.layout, admitted.sql), ("terms", "k1", "b", "k_fts")
        else:
            asked = ask.vector is not None
            leg = statement.vector_leg(self.layout, self.dim, admitted.sql, ask.floors, asked=asked)
            names = ("vector", "k_vec") if asked else ()
        params = {n: given[n] for n in names}
        if names:
            params |= admitted.params
        only = "true"
        if row is not None:
            only, params = "source_type = $type AND entity_id = $id", {**params, "type": row[0], "id": row[1]}
        found = self.file.rows(statement.numbered(leg, self.layout.chunk, only), params)
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
        return [Shown(point_id_of(row[0]), *row[1:]) for row in self.file.rows(sql, params)] if cids else []

    def documents(self, chunks: Sequence[int], chars: int) -> list[str]:
        """See Engine."""
        sql = f"SELECT left(text, $chars::BIGINT) FROM {_ASKED} JOIN {self.layout.chunk} USING (cid) ORDER BY place"
        return [text for (text,) in self.file.rows(sql, {"cids": list(chunks), "chars": chars})]

    def close(self) -> None:
        self.file.close()


def _params(ask: Ask) -> dict[str, Any]:
    """The statement's parameters. Terms with a lone surrogate stand in no dictionary."""
    params = {
        "terms": [t for t in ask.terms if well_formed(t) == t], "k1": K1, "b": B, "k_fts": ask.k_fts,
        "first": ask.first, "rows": ask.last + 1 - ask.first,
    }  # fmt: skip
    return params if ask.vector is None else {**params, "vector": ask.vector, "k_vec": ask.k_vec}


def point_id_of(text: str) -> PointId:
    """A catalog's point id: an integer as decimal text, or a UUID."""
    return int(text) if text.isascii() and text.isdecimal() else text


def tokenizer_of(name: str) -> Tokenizer:
    """The tokenizer that a catalog records by name (see Tokenizer.name)."""
    parts = dict(part.split("=", 1) for part in name.split("/")[1:])
    assert parts["stop"] in STOP_LISTS
    return Tokenizer(**parts)
