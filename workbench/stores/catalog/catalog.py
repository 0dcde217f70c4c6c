"""The catalog: all that is counted, scored, filtered and joined in SQL over one read-only DuckDB file."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workbench.errors import BadParameter
from workbench.sources.base import JudgedQuery, Qrel
from workbench.stores.catalog import sql as statement
from workbench.stores.catalog.file import CatalogFile
from workbench.stores.catalog.ids import PointIds
from workbench.stores.catalog.sql import K1, B
from workbench.stores.filters.sql import where
from workbench.stores.filters.values import ALSO, DATETIME_FIELDS, Match
from workbench.stores.vectors.checks import check_query_vector, dim_of
from workbench.text import well_formed
from workbench.types import Chunk, Facets, PointId

if TYPE_CHECKING:
    import polars as pl

# ---- Rows of the catalog as value objects: chunks, judged queries, judgements ----

# These rows in the order asked. `cid IN (1, 2, …)` would read the whole text column.
IN_ORDER = "(SELECT unnest($cids::INTEGER[]) AS cid, generate_subscripts($cids::INTEGER[], 1) AS place) asked"
_FACETS = "project, note_type, tags, status, created, updated, path, metadata"
_CHUNK = f"entity_id, chunk_index, text, title, source, source_type, links, {_FACETS}"


def chunks(file: CatalogFile, ids: Sequence[PointId], cids: Sequence[int]) -> list[Chunk]:
    """The chunks of these rows, in the order asked."""
    sql = f"SELECT {_CHUNK} FROM {IN_ORDER} JOIN chunk USING (cid) ORDER BY place"
    return [_chunk(i, row) for i, row in zip(ids, file.rows(sql, {"cids": cids}), strict=True)]


def _chunk(point_id: PointId, row: tuple) -> Chunk:
    entity_id, chunk_index, text, title, source, source_type, links, *facets = row
    pairs = tuple((link["kind"], link["target"]) for link in links)
    return Chunk(
        point_id, entity_id, chunk_index, text, title, source, source_type, _facets(facets), pairs
    )


def facets(file: CatalogFile, cids: Sequence[int]) -> list[Facets]:
    """The facets of these rows, in the order asked."""
    sql = f"SELECT {_FACETS} FROM {IN_ORDER} JOIN chunk USING (cid) ORDER BY place"
    return [_facets(row) for row in file.rows(sql, {"cids": cids})]


def _facets(row: Sequence) -> Facets:
    project, note_type, tags, *dated, metadata = row
    return Facets(project, note_type, tuple(tags), *dated, json.loads(metadata))


def entities(file: CatalogFile, cids: Sequence[int]) -> list[str]:
    """The entity ids of these rows, in the order asked."""
    sql = f"SELECT entity_id FROM {IN_ORDER} JOIN chunk USING (cid) ORDER BY place"
    return [entity for (entity,) in file.rows(sql, {"cids": cids})]


def texts(file: CatalogFile, ids: PointIds, batch: int) -> Iterator[list[tuple[PointId, str]]]:
    """(id, text) of all rows in cid order, at most `batch` at a time."""
    for start in range(0, len(ids), batch):
        found = file.rows(
            "SELECT cid, text FROM chunk WHERE cid >= $start AND cid < $stop ORDER BY cid",
            {"start": start, "stop": start + batch},
        )
        yield list(zip(ids.at([cid for cid, _ in found]), [text for _, text in found], strict=True))


def queries(file: CatalogFile) -> tuple[JudgedQuery, ...]:
    """The judged queries in the order in which they were given."""
    found = file.rows("SELECT query_id, text, attributes FROM query ORDER BY rowid")
    return tuple(JudgedQuery(i, text, json.loads(attributes)) for i, text, attributes in found)


def qrels(file: CatalogFile) -> tuple[Qrel, ...]:
    """The judgements in the order in which they were given."""
    return tuple(
        Qrel(*row)
        for row in file.rows("SELECT query_id, entity_id, grade FROM qrel ORDER BY rowid")
    )


# ---- The catalog: all that is counted, scored, filtered and joined in SQL over one read-onl ----

TITLE_WEIGHT = 3.0
"""A word of the title counts as three of the text: a choice of ours, to be set by the caller."""

Filters = Mapping[str, Any]
Scored = list[tuple[PointId, float]]
_ALL: Filters = {}


class Place(NamedTuple):
    """Where a point stands: its exact 1-based rank (None where it is not ranked), and its exact score."""

    rank: int | None
    score: float


class Catalog:
    """A loaded collection's chunks, postings, document frequencies, vectors and judgements.

    Made by `Catalog.open(path)`; a context manager. Ids are PointIds. Lists are by score descending, then in
    point-id order. Terms are the tokenizer's: BM25 counts a repeated one as often as it is given. Filters are `Query.filters`, read
    as `filter_values` says; they never change a document frequency that a score is made of.
    """

    def __init__(self, file: CatalogFile) -> None:
        self._file = file
        facts = file.rows("SELECT n, avgdl, title_avgdl, tokenizer FROM corpus")
        self.n, self.avgdl, self.title_avgdl, self.tokenizer = facts[0]
        kinds = dict(
            file.rows(
                "SELECT table_name, data_type FROM duckdb_columns() WHERE column_name = 'embedding'"
            )
        )
        spaces = {s: kinds.get(statement.vector_table(s)) for s in ("", ALSO)}
        self.dims = {
            s: int(kind.removeprefix("FLOAT[").removesuffix("]"))
            for s, kind in spaces.items()
            if kind
        }
        self.dim = self.dims[""]

    @classmethod
    def open(cls, path: Path | str) -> Catalog:
        """Open the file for reading; any number of readers may.

        Raises CatalogMissing, CatalogLocked, CatalogDamaged.
        """
        file = CatalogFile(Path(path))
        try:
            return cls(file)
        except BaseException:
            file.close()
            raise

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Catalog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def path(self) -> Path:
        return self._file.path

    @property
    def bytes_on_disk(self) -> int:
        return self.path.stat().st_size

    @cached_property
    def _ids(self) -> PointIds:
        return PointIds.of(self._file.table("SELECT point_id FROM chunk ORDER BY cid").column(0))

    # -- terms ----------------------------------------------------------------------------------------------
    def df(self, terms: Sequence[str], filters: Filters = _ALL) -> dict[str, int]:
        """How many chunks within the filters hold each term in their text; 0 for an unknown one."""
        known, admitted = _known(terms), where(filters)
        sql = "SELECT term, df FROM dict WHERE term IN (SELECT unnest($terms::VARCHAR[]))"
        if admitted.sql:
            sql = (
                "SELECT term, count(*) FROM posting JOIN"
                " (SELECT term, term_id FROM dict WHERE term IN (SELECT unnest($terms::VARCHAR[]))) wanted"
                f" USING (term_id) {statement.admit(admitted.sql)} GROUP BY term"
            )
        found = dict(self._file.rows(sql, {"terms": known, **admitted.params}) if known else ())
        return {t: found.get(t, 0) for t in dict.fromkeys(terms)}

    def idf(self, terms: Sequence[str]) -> dict[str, float]:
        """Lucene's ln(1 + (N - df + 0.5) / (df + 0.5)) of each term, df over the whole corpus."""
        return {
            t: math.log(1 + (self.n - df + 0.5) / (df + 0.5)) for t, df in self.df(terms).items()
        }

    def count(self, terms: Sequence[str], match: Match = "any", filters: Filters = _ALL) -> int:
        """How many points within the filters hold any / all of the terms; no terms: all within them."""
        if not terms:
            clause = where(filters)
            return self._file.rows(
                f"SELECT count(*) FROM chunk WHERE {clause.sql or 'true'}", clause.params
            )[0][0]
        sql, params = _holders(terms, match, filters)
        return self._file.rows(f"SELECT count(*) FROM ({sql})", params)[0][0]

    def documents(self) -> set[str]:
        """The ids of all documents."""
        return {entity for (entity,) in self._file.rows("SELECT DISTINCT entity_id FROM chunk")}

    def holding(
        self, terms: Sequence[str], match: Match, filters: Filters, limit: int
    ) -> list[PointId]:
        """The first `limit` points within the filters that hold any / all of the terms, in point-id order."""
        sql, params = _holders(terms, match, filters)
        return self._points(
            f"{sql} ORDER BY cid LIMIT $limit::BIGINT", {**params, "limit": _limit(limit)}
        )

    def reading_place(
        self,
        point_id: PointId,
        terms: Sequence[str],
        filters: Filters,
        *,
        all_first: bool,
        by_term: bool,
    ) -> int | None:
        """The 1-based place of a point in a reading of those that hold any of the terms, each once: the points with
        all of them first where `all_first`, then term by term in the order given where `by_term`; in point-id order
        within each. None where it holds no term. Raises UnknownPoint."""
        admitted, known = where(filters), _known(terms)
        sql = statement.place_in_reading(statement.reading(statement.admit(admitted.sql)))
        params = {
            "terms": known,
            "need": len(dict.fromkeys(terms)),
            "all_first": all_first,
            "by_term": by_term,
        }
        rows = self._file.rows(
            sql, {**params, **admitted.params, "cid": int(self._ids.cids([point_id])[0])}
        )
        return rows[0][0] if rows else None

    # -- lexical scores -------------------------------------------------------------------------------------
    def bm25_of(
        self, ids: Sequence[PointId], terms: Sequence[str], k1: float = K1, b: float = B
    ) -> dict[PointId, float]:
        """The exact BM25 scores of those given points that hold a term. Raises UnknownPoint."""
        statement.check_bm25(k1, b)
        known, cids = _well_formed(terms), self._ids.cids(ids)
        if not known or not len(cids):
            return {}
        params = {"terms": known, "k1": k1, "b": b, "cids": cids}
        scores = dict(self._file.rows(statement.bm25_scores(statement.ADMIT_CIDS), params))
        return {i: scores[c] for i, c in zip(ids, cids.tolist(), strict=True) if c in scores}

    def bm25_top(
        self,
        terms: Sequence[str],
        filters: Filters = _ALL,
        limit: int = 10,
        k1: float = K1,
        b: float = B,
    ) -> Scored:
        """The best points within the filters by BM25. A chunk that holds no term is never among them."""
        statement.check_bm25(k1, b)
        return self._top(statement.bm25_scores, terms, filters, limit, {"k1": k1, "b": b})

    def bm25_fields_top(
        self,
        terms: Sequence[str],
        filters: Filters = _ALL,
        limit: int = 10,
        title_weight: float = TITLE_WEIGHT,
        k1: float = K1,
        b: float = B,
        *,
        title_b: float = B,
        text_weight: float = 1.0,
    ) -> Scored:
        """The best points within the filters by BM25F over title and text. Weight 0 leaves a field out."""
        statement.check_bm25(k1, b, title_b)
        for name, weight in (("title_weight", title_weight), ("text_weight", text_weight)):
            if not 0 <= weight < math.inf:
                raise BadParameter(f"{name} is {weight}", do="Use a finite number of at least 0")
        params = {
            "k1": k1,
            "b": b,
            "title_b": title_b,
            "text_weight": text_weight,
            "title_weight": title_weight,
        }
        return self._top(statement.bm25_fields_scores, terms, filters, limit, params)

    def bm25_rank(
        self,
        terms: Sequence[str],
        point_id: PointId,
        filters: Filters = _ALL,
        k1: float = K1,
        b: float = B,
    ) -> Place:
        """The point's exact BM25 rank among all within the filters, and its score.

        A point outside the filters has a score and no rank; one that holds no term has score 0 and no rank.
        """
        score = self.bm25_of([point_id], terms, k1, b).get(point_id)
        if score is None:
            return Place(None, 0.0)
        admitted = where(filters)
        scores = statement.bm25_scores(statement.admit(admitted.sql))
        return self._place(
            scores,
            {"terms": _well_formed(terms), "k1": k1, "b": b, **admitted.params},
            point_id,
            score,
        )

    # -- vectors --------------------------------------------------------------------------------------------
    def nearest(
        self,
        vector: Sequence[float] | np.ndarray,
        filters: Filters = _ALL,
        limit: int = 10,
        *,
        space: str = "",
    ) -> Scored:
        """The nearest points within the filters by exact cosine to the vectors of one space, whose own model must have
        made the vector.

        Raises BadVector for a vector that is zero, not finite, or of another length, NotAvailable where there is no
        such space.
        """
        admitted = where(filters)
        scores = statement.cosine_scores(self._dim(space), statement.admit(admitted.sql), space)
        params = {"vector": self._unit(vector, space), "limit": _limit(limit), **admitted.params}
        return self._scored(statement.top(scores), params)

    def true_rank(
        self,
        vector: Sequence[float] | np.ndarray,
        point_id: PointId,
        filters: Filters = _ALL,
        *,
        space: str = "",
    ) -> Place:
        """The point's exact cosine rank among all within the filters, and its cosine; outside, no rank."""
        dim, params = self._dim(space), {"vector": self._unit(vector, space)}
        cid = self._ids.cids([point_id])
        score = self._file.rows(
            statement.cosine_scores(dim, statement.ADMIT_CIDS, space), {**params, "cids": cid}
        )[0][1]
        admitted = where(filters)
        scores = statement.cosine_scores(dim, statement.admit(admitted.sql), space)
        return self._place(scores, {**params, **admitted.params}, point_id, score)

    def vectors(self, ids: Sequence[PointId], *, space: str = "") -> np.ndarray:
        """The unit vectors (len(ids), dim) float32, in the order asked. Raises UnknownPoint."""
        dim, table = self._dim(space), statement.vector_table(space)
        sql = f"SELECT embedding FROM {IN_ORDER} JOIN {table} USING (cid) ORDER BY place"
        found = self._file.table(sql, {"cids": self._ids.cids(ids)}).column(0)
        flat = [part.flatten().to_numpy() for part in found.chunks]
        return np.concatenate([np.empty(0, np.float32), *flat]).reshape(-1, dim)

    # -- rows -----------------------------------------------------------------------------------------------
    def ids_where(self, filters: Filters = _ALL, limit: int | None = None) -> list[PointId]:
        """The first `limit` points within the filters (all where None), in point-id order."""
        admitted = where(filters)
        sql = f"SELECT cid FROM chunk WHERE {admitted.sql or 'true'} ORDER BY cid LIMIT $limit::BIGINT"
        return self._points(
            sql, {**admitted.params, "limit": _limit(self.n if limit is None else limit)}
        )

    def admits(self, point_id: PointId, filters: Filters) -> bool:
        """Whether the filters admit this point. Raises UnknownPoint."""
        admitted = where(filters)
        cid = int(self._ids.cids([point_id])[0])
        sql = f"SELECT count(*) FROM chunk WHERE cid = $cid::BIGINT AND ({admitted.sql or 'true'})"
        return bool(self._file.rows(sql, {**admitted.params, "cid": cid})[0][0])

    def admitted_of(self, ids: Sequence[PointId], filters: Filters) -> set[PointId]:
        """Those of these points that the filters admit. Raises UnknownPoint."""
        admitted = where(filters)
        sql = f"SELECT cid FROM {IN_ORDER} JOIN chunk USING (cid) WHERE {admitted.sql or 'true'}"
        return (
            set(self._points(sql, {**admitted.params, "cids": self._ids.cids(ids)}))
            if ids
            else set()
        )

    def newest(self, field: str) -> datetime | None:
        """The latest moment in `created` or `updated`, in UTC; None where no chunk has one. Raises BadParameter."""
        if field not in DATETIME_FIELDS:
            raise BadParameter(
                f"{field!r} is no time of a chunk", do=f"Use {' or '.join(DATETIME_FIELDS)}"
            )
        micros = self._file.rows(f"SELECT epoch_us(max({field}_at)) FROM chunk")[0][0]
        return (
            None
            if micros is None
            else datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
        )

    def facets(self, ids: Sequence[PointId]) -> list[Facets]:
        """The facets of these points, in the order asked, without their text. Raises UnknownPoint."""
        return facets(self._file, self._ids.cids(ids)) if ids else []

    def position(self, point_id: PointId) -> int:
        """The point's 1-based place in point-id order. Raises UnknownPoint."""
        return int(self._ids.cids([point_id])[0]) + 1

    def chunks(self, ids: Sequence[PointId]) -> list[Chunk]:
        """The chunks of these points, in the order asked. Raises UnknownPoint."""
        return chunks(self._file, ids, self._ids.cids(ids))

    def entities(self, ids: Sequence[PointId]) -> list[str]:
        """The entity ids of these points, in the order asked. Raises UnknownPoint."""
        return entities(self._file, self._ids.cids(ids))

    def entity(self, entity_id: str) -> list[PointId]:
        """The points of an entity, of every source type, in point-id order; [] for an unknown one."""
        sql = "SELECT cid FROM chunk WHERE entity_id = $entity ORDER BY cid"
        return self._points(sql, {"entity": well_formed(entity_id)})

    def texts(self, batch: int = 1000) -> Iterator[list[tuple[PointId, str]]]:
        """(id, text) of all points in point-id order, at most `batch` at a time."""
        return texts(self._file, self._ids, batch)

    def queries(self) -> tuple[JudgedQuery, ...]:
        """The collection's own queries, in their source's order."""
        return queries(self._file)

    def qrels(self) -> tuple[Qrel, ...]:
        """The collection's own judgements, in their source's order."""
        return qrels(self._file)

    def sql(self, query: str, params: Any = None) -> pl.DataFrame:
        """One SELECT of your own over the tables, with $name or ? parameters. Raises BadParameter."""
        import polars

        return polars.DataFrame(self._file.query(query, params))

    # -- shared ---------------------------------------------------------------------------------------------
    def _top(
        self,
        scores: Any,
        terms: Sequence[str],
        filters: Filters,
        limit: int,
        params: dict[str, Any],
    ) -> Scored:
        known, admitted, limit = _well_formed(terms), where(filters), _limit(limit)
        if not known:
            return []
        sql = statement.top(scores(statement.admit(admitted.sql)))
        return self._scored(sql, {**params, "terms": known, "limit": limit, **admitted.params})

    def _scored(self, sql: str, params: dict[str, Any]) -> Scored:
        rows = self._file.rows(sql, params)
        return list(
            zip(self._ids.at([cid for cid, _ in rows]), [score for _, score in rows], strict=True)
        )

    def _points(self, sql: str, params: dict[str, Any]) -> list[PointId]:
        return self._ids.at([cid for (cid,) in self._file.rows(sql, params)])

    def _place(self, scores: str, params: dict[str, Any], point_id: PointId, score: float) -> Place:
        params = {**params, "cid": int(self._ids.cids([point_id])[0]), "mine": score}
        ranked, rank = self._file.rows(statement.place(scores), params)[0]
        return Place(rank if ranked else None, score)

    def _dim(self, space: str) -> int:
        return dim_of(self.dims, space, str(self.path))

    def _unit(self, vector: Sequence[float] | np.ndarray, space: str) -> np.ndarray:
        row = np.asarray(check_query_vector(vector, self._dim(space)), dtype=np.float64)
        return (row / np.linalg.norm(row)).astype(np.float32)


def _well_formed(terms: Sequence[str]) -> list[str]:
    """The terms, repeats kept, that a dictionary of well-formed text can hold."""
    return [t for t in terms if well_formed(t) == t]


def _known(terms: Sequence[str]) -> list[str]:
    """The distinct terms that a dictionary of well-formed text can hold."""
    return _well_formed(list(dict.fromkeys(terms)))


def _holders(terms: Sequence[str], match: Match, filters: Filters) -> tuple[str, dict[str, Any]]:
    if match not in ("any", "all"):
        raise BadParameter(f"unknown match {match!r}", do="Use any or all")
    admitted = where(filters)
    need = len(dict.fromkeys(terms)) if match == "all" else 1
    return statement.holders(statement.admit(admitted.sql)), {
        "terms": _known(terms),
        "need": need,
        **admitted.params,
    }


def _limit(limit: int) -> int:
    if limit < 0:
        raise BadParameter(f"a limit of {limit} is below 0")
    return limit
