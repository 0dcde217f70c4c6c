"""Where a DuckDB search finds chunks, facets and vectors: the open question of one table or two that share ids."""

from __future__ import annotations

from dataclasses import dataclass, replace

from workbench.stores.catalog_sql import admit


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
        return f"{scored} WHERE {where}" if self.vector == self.facet else f"{scored} {self.admit(where)}"

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
