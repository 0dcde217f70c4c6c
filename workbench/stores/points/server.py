"""A Qdrant server or cluster as Points, through qdrant-client; it is only read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from workbench.errors import NotAvailable, WorkbenchError
from workbench.remote import NoAnswer, connect, shown_url
from workbench.stores.filters.qdrant import OWN, PayloadNames, client_filter, filter_json
from workbench.stores.filters.values import ALSO, READ_FIELDS, Match, Point
from workbench.stores.points.sparse import SPARSE, TermTable
from workbench.stores.points.staged import Scored, best
from workbench.stores.vectors.checks import check_query_vector, dim_of
from workbench.types import PointId

# ---- What a Qdrant server or its client raises, as the workbench's named errors ----

_UNAUTHORISED = (401, 403)
_NOT_FOUND = 404
_REFUSED = 400


class ServerSilent(WorkbenchError):
    """The server at this URL does not answer, or not in time."""


class ServerRefused(WorkbenchError):
    """The server answered with an error; carries its own words."""


class NoSuchCollection(WorkbenchError):
    """The server has no such collection, or an incomplete one."""


@contextmanager
def server_calls(url: str, collection: str) -> Iterator[None]:
    """Turn the client's exceptions into ServerSilent, NoSuchCollection, NotAvailable and ServerRefused."""
    from pydantic import ValidationError
    from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

    try:
        yield
    except NoAnswer as error:
        raise ServerSilent(error.what, where=url, do="Look at the server, or try again") from error
    except (
        AssertionError,
        AttributeError,
        IndexError,
        KeyError,
        TypeError,
        ValidationError,
    ) as error:
        # What the client stumbles over where an answer is null, a list, or lacks what the interface promises.
        do = "Check that the URL is a Qdrant server's"
        raise ServerRefused("the server's answer is not one of Qdrant", where=url, do=do) from error
    except ResponseHandlingException as error:
        raise ServerSilent(
            f"Qdrant does not answer: {_first_line(error.source)}",
            where=url,
            do="Check the URL, start the server, or load with the embedded engine (without --qdrant)",
        ) from error
    except ResourceExhaustedResponse as error:
        raise ServerRefused(
            "Qdrant is over its limit of requests", where=url, do="Try again later"
        ) from error
    except UnexpectedResponse as error:
        said = _words(error)
        if error.status_code == _NOT_FOUND:
            raise NoSuchCollection(f"no collection {collection!r}: {said}", where=url) from error
        if error.status_code in _UNAUTHORISED:
            raise ServerRefused(
                "Qdrant refuses this key", where=url, do="Give the server's API key"
            ) from error
        kind: Any = NotAvailable if error.status_code == _REFUSED else ServerRefused
        raise kind(f"Qdrant refuses ({error.status_code}): {said}", where=url) from error
    except (ValueError, NotImplementedError) as error:
        # The in-memory mode raises these where a server answers 400, 404 or can do more.
        kind = NoSuchCollection if "not found" in str(error) else NotAvailable
        raise kind(f"qdrant-client refuses: {_first_line(error)}", where=url) from error


def _words(error: Any) -> str:
    """The server's message, cut to a line."""
    try:
        return str(json.loads(error.content)["status"]["error"]).splitlines()[0]
    except (ValueError, KeyError, TypeError, IndexError):
        return error.reason_phrase or "it gave no reason"


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), "") or type(error).__name__


# ---- A Qdrant server or cluster as Points, through qdrant-client; it is only read ----

# Seconds for one answer; exact search of 385,000 points takes 0.03.
TIMEOUT_SECONDS = 30
# Points asked for in one answer, so that none grows without bound.
PAGE = 4096
# Kept in a collection's own metadata, so that one left half-built is known as such.
STATE_KEY = "workbench"


class ClientPoints:
    """One collection of a server or cluster, at the URL of any peer. Nothing is ever written to it.

    `names` says where a foreign collection keeps its fields. Where its `terms` is the content itself, a term
    is what the server's own text index makes of it, and without one what its default word tokenizer does:
    folded terms then miss words with diacritics unless that index folds too, and counts differ from DuckDB's.
    `sparse_terms` is the table that `build_client` wrote, where the points carry sparse vectors.

    Opening raises ServerSilent, ServerRefused, NoSuchCollection (none of that name, or one that a load left
    half-built), NotAvailable where its vectors are not one dense vector with cosine distance a point.
    """

    def __init__(
        self,
        url: str,
        collection: str,
        *,
        names: PayloadNames = OWN,
        api_key: str | None = None,
        timeout: int = TIMEOUT_SECONDS,
        sparse_terms: Path | None = None,
    ) -> None:
        from qdrant_client import models

        exact = models.SearchParams(exact=True)
        self._attach(
            connect(url, api_key, timeout), shown_url(url), collection, names, exact, sparse_terms
        )

    @classmethod
    def in_memory(cls, client: Any, collection: str, *, names: PayloadNames = OWN) -> ClientPoints:
        """The same over a client's in-memory mode, whose search is always exact; closing closes the client."""
        points = cls.__new__(cls)
        points._attach(client, "in memory", collection, names, None)
        return points

    def _attach(
        self,
        client: Any,
        where: str,
        collection: str,
        names: PayloadNames,
        exact: Any,
        sparse_terms: Path | None = None,
    ) -> None:
        self._client, self.where, self.collection, self.names = client, where, collection, names
        self._exact, self._terms = exact, TermTable(sparse_terms, where)
        try:
            with self._calls():
                info = client.get_collection(collection)
                served = client.info().version
                metadata, held = info.config.metadata or {}, info.config.params.vectors
                self.points, self.dim = info.points_count or 0, _dim(held, names.vector, where)
                self.dims = {"": self.dim}
                if names is OWN and isinstance(held, Mapping) and ALSO in held:
                    self.dims[ALSO] = _dim(held, ALSO, where)
            self.engine = f"qdrant {served}" if exact else f"qdrant-client {served} in memory"
            if (metadata.get(STATE_KEY) or {}).get("complete") is False:
                what = f"the collection {collection!r} was never completed"
                raise NoSuchCollection(what, where=where, do="Load it again")
        except BaseException:
            self.close()
            raise

    def count(
        self, terms: Sequence[str], match: Match, filters: Mapping[str, Any], *, exact: bool = True
    ) -> int:
        with self._calls() as client:
            return client.count(
                self.collection, self._filter(terms, match, filters), exact=exact
            ).count

    def scroll(
        self,
        terms: Sequence[str],
        match: Match,
        filters: Mapping[str, Any],
        limit: int,
        *,
        fields: Sequence[str] = READ_FIELDS,
    ) -> list[Point]:
        within = self._filter(terms, match, filters)
        points: list[Point] = []
        offset = None
        while len(points) < limit:
            with self._calls() as client:
                page, offset = client.scroll(
                    self.collection,
                    within,
                    limit=min(limit - len(points), PAGE),
                    offset=offset,
                    with_payload=self._asked(fields),
                )
                points += [self._point(record, fields) for record in page]
            if offset is None:
                break
        return points

    def nearest(
        self,
        vector: Sequence[float],
        filters: Mapping[str, Any],
        limit: int,
        *,
        fields: Sequence[str] = READ_FIELDS,
        space: str = "",
    ) -> list[Scored]:
        query = check_query_vector(vector, dim_of(self.dims, space, self.where))
        return self._best(
            query, space or self.names.vector or None, filters, limit, fields, self._exact
        )

    def bm25(
        self,
        terms: Sequence[str],
        filters: Mapping[str, Any],
        limit: int,
        *,
        fields: Sequence[str] = (),
    ) -> list[Scored]:
        """The server's BM25 (k1 = 1.2, b = 0.75) by each shard's own document frequencies. Raises NotAvailable where
        the server or the field's text index has no scoring."""
        from qdrant_client import models

        if not terms:
            return []
        query = models.TextQuery(text=models.TextQueryInput(query=" ".join(terms)))
        return self._best(query, self.names.terms, filters, limit, fields, None)

    def sparse(
        self,
        terms: Sequence[str],
        filters: Mapping[str, Any],
        limit: int,
        *,
        fields: Sequence[str] = (),
    ) -> list[Scored]:
        """As `bm25`, each shard's IDF over every point as a document, in the catalog's lengths and frequencies."""
        from qdrant_client import models

        indices, counts = self._terms.query(terms)
        if not indices:
            return []
        query = models.SparseVector(indices=indices, values=counts)
        return self._best(query, SPARSE, filters, limit, fields, None)

    def retrieve(
        self, ids: Sequence[PointId], *, fields: Sequence[str] = READ_FIELDS
    ) -> list[Point]:
        found: dict[PointId, Point] = {}
        for start in range(0, len(ids), PAGE):
            with self._calls() as client:
                records = client.retrieve(
                    self.collection, list(ids[start : start + PAGE]), self._asked(fields)
                )
                found |= {record.id: self._point(record, fields) for record in records}
        return [found[i] for i in ids if i in found]

    def all_points(
        self, batch: int = 1000
    ) -> Iterator[tuple[PointId, Mapping[str, Any], list[float] | None]]:
        """Payloads come under the server's own names; vectors at unit length, as the engine stores them."""
        offset = None
        while True:
            with self._calls() as client:
                page, offset = client.scroll(
                    self.collection,
                    limit=batch,
                    offset=offset,
                    with_payload=True,
                    with_vectors=[self.names.vector] if self.names.vector else True,
                )
            for record in page:
                vector = record.vector
                if isinstance(vector, Mapping):
                    vector = vector.get(self.names.vector)
                yield record.id, record.payload or {}, vector
            if offset is None:
                return

    def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def __enter__(self) -> ClientPoints:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _best(
        self,
        query: Any,
        using: str | None,
        filters: Mapping[str, Any],
        limit: int,
        fields: Sequence[str],
        params: Any,
    ) -> list[Scored]:
        within = self._filter((), "any", filters)

        def read(wanted: int) -> list[Scored]:
            with self._calls() as client:
                found = client.query_points(
                    self.collection,
                    query=query,
                    using=using,
                    query_filter=within,
                    search_params=params,
                    limit=wanted,
                    with_payload=self._asked(fields),
                )
                return [(self._point(hit, fields), hit.score) for hit in found.points]

        return best(read, limit)

    def _filter(self, terms: Sequence[str], match: Match, filters: Mapping[str, Any]) -> Any:
        return client_filter(filter_json(terms, match, filters, self.names))

    def _asked(self, fields: Sequence[str]) -> Any:
        return [self.names.read_path(name) for name in fields] or False

    def _point(self, record: Any, fields: Sequence[str]) -> Point:
        payload = record.payload or {}
        return Point(
            record.id, payload if self.names is OWN else self.names.renamed(payload, fields)
        )

    @contextmanager
    def _calls(self) -> Iterator[Any]:
        if self._client is None:
            raise NotAvailable("these points are closed", where=self.where, do="Open them again")
        with server_calls(self.where, self.collection):
            yield self._client


def _dim(vectors: Any, name: str, where: str) -> int:
    """The dimension of the collection's vector of this name. Raises NotAvailable where no cosine can be asked of it."""
    from qdrant_client import models

    found = vectors.get(name) if isinstance(vectors, Mapping) else vectors if not name else None
    if found is None:
        known = (
            ", ".join(repr(n) for n in vectors)
            if isinstance(vectors, Mapping)
            else "an unnamed one"
        )
        raise NotAvailable(
            f"the collection has no vector {name!r}", where=where, do=f"It has: {known}"
        )
    if found.distance != models.Distance.COSINE or found.multivector_config is not None:
        kind = (
            "several vectors a point"
            if found.multivector_config
            else f"the distance {found.distance.value}"
        )
        raise NotAvailable(f"the collection has {kind}, not one vector with Cosine", where=where)
    return found.size
