"""A running Qdrant collection by URL: read-only, by a payload mapping, with its own ids."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from workbench.errors import BadParameter
from workbench.registry import register
from workbench.remote import API_KEY_VARIABLE, NoAnswer, check_address, connect, shown_url
from workbench.sources.base import Embed, Source, SourceError, Tally
from workbench.sources.facets import facets_of
from workbench.sources.files import missing_columns
from workbench.sources.table import FACET_ROLES, Columns, parse_columns, text_value
from workbench.types import SOURCE_TYPES, Chunk, PointId, point_order

if TYPE_CHECKING:
    import numpy as np

TIMEOUT_SECONDS = 30
PAGE = 1_000
# The payload as the workbench writes it; `terms` is derived from the text and is made anew.
DEFAULTS = {
    "text": "content",
    "title": "title",
    "source": "source",
    "entity_id": "entity_id",
    "chunk_index": "chunk_index",
    "source_type": "source_type",
    **{role: role for role in FACET_ROLES},
}
# What the stores add to a payload of our own: it is made again at the next load.
DERIVED = frozenset({"terms", "created_at", "updated_at"})
COLLECTION_IN_URL = re.compile(
    r"^(?P<server>https?://.+?)/collections/(?P<name>[^/?#]+)/?(?P<query>\?.*)?$"
)


@register("reader")
def qdrant(
    location: str,
    *,
    collection: str = "",
    columns: Columns = None,
    vectors: bool = False,
    vector_name: str = "",
) -> Source:
    """A URL: the running Qdrant collection http://host:6333/collections/NAME, only read.

    `collection` names it where the URL is the server's alone. `columns` maps roles to payload fields (`text=page_content,title=metadata.title`), a dot descends; without it
    the fields are the workbench's own. What is not mapped goes to the metadata. Point ids are kept; a point
    without `entity_id` is its own document, without `chunk_index` it is the next of its document. `vectors` keeps
    the stored vectors (`vector_name` where they are named) in place of embedding the texts; points without text
    are counted and their vectors left out. The key is $QDRANT_API_KEY.

    Raises SourceError where the server does not answer, has no such collection, no point has the text field, or
    the vectors are not one dense vector with cosine distance.
    """
    server, name = _address(location, collection)
    mapped = {**DEFAULTS, **parse_columns(columns)}
    read = _Collection(server, name, mapped, vector_name)
    client = read.client()
    try:
        with read.calls():
            params = client.get_collection(name).config.params
            count = client.count(name, exact=True).count
            first = client.scroll(name, limit=PAGE, with_payload=True)[0]
    finally:
        client.close()
    if vectors:
        _check_vectors(params.vectors, vector_name, read.where)
    if first and not any(_pull(point.payload or {}, mapped["text"]) for point in first):
        found = sorted({key for point in first for key in point.payload or {}})
        raise missing_columns([mapped["text"]], found, read.where, "Map it: --map text=FIELD")
    warnings: list[str] = []
    settings = {"columns": mapped, "vectors": vectors, "vector_name": vector_name}
    return Source(
        "qdrant",
        read.where,
        settings,
        partial(_chunks, read, count, warnings),
        warnings=warnings,
        vectors=partial(_vectors, read) if vectors else None,
        count=count,
    )


def is_address(spec: str) -> bool:
    """Whether a source is named by URL."""
    return spec.startswith(("http://", "https://"))


@dataclass(frozen=True, slots=True)
class _Collection:
    server: str
    name: str
    mapped: Mapping[str, str]
    vector_name: str

    @property
    def where(self) -> str:
        return f"{shown_url(self.server)}/collections/{self.name}"

    def client(self) -> Any:
        try:
            return connect(self.server, None, TIMEOUT_SECONDS)
        except BadParameter as error:
            raise SourceError(error.what, where=self.where, do=error.do) from None

    @contextmanager
    def calls(self) -> Iterator[None]:
        """Turn what the client raises into SourceError."""
        from qdrant_client.http.exceptions import (
            ApiException,
            ResponseHandlingException,
            UnexpectedResponse,
        )

        try:
            yield
        except ResponseHandlingException as error:
            raise SourceError(
                f"Qdrant does not answer: {error.source}",
                where=self.where,
                do="Check the URL and start the server",
            ) from error
        except UnexpectedResponse as error:
            said = f"{error.status_code} {error.reason_phrase}"
            do = (
                f"Set {API_KEY_VARIABLE}"
                if error.status_code in (401, 403)
                else "Check the collection's name"
            )
            raise SourceError(f"Qdrant refuses: {said}", where=self.where, do=do) from error
        except NoAnswer as error:
            raise SourceError(
                error.what, where=self.where, do="Look at the server, or try again"
            ) from error
        except (
            ApiException,
            ValueError,
            AssertionError,
            AttributeError,
            IndexError,
            KeyError,
            TypeError,
        ) as error:
            what = "the server's answer is not one of Qdrant"
            raise SourceError(
                what, where=self.where, do="Check that the URL is a Qdrant server's"
            ) from error

    def pages(self, **wanted: Any) -> Iterator[list[Any]]:
        """Every point in point-id order, a page at a time, by scrolling alone. Raises SourceError."""
        client, offset, last = self.client(), None, None
        try:
            while True:
                with self.calls():
                    points, offset = client.scroll(self.name, limit=PAGE, offset=offset, **wanted)
                for point in points:
                    order = point_order(_point_id(point.id))
                    if last is not None and order <= last:
                        raise SourceError(f"point {point.id} came out of order", where=self.where)
                    last = order
                yield points
                if offset is None:
                    return
        finally:
            client.close()


def _address(location: str, collection: str) -> tuple[str, str]:
    found = COLLECTION_IN_URL.match(location)
    if found and (not collection or collection == unquote(found["name"])):
        return _checked(found["server"] + (found["query"] or "")), unquote(found["name"])
    if not collection or not is_address(location) or found:
        shown = shown_url(location)
        what = (
            f"it names another collection than {collection!r}"
            if collection
            else "the address names no collection"
        )
        raise SourceError(what, where=shown, do="Name it as http://host:6333/collections/NAME")
    return _checked(location.rstrip("/")), collection


def _checked(server: str) -> str:
    try:
        return check_address(server)
    except BadParameter as error:
        raise SourceError(error.what, where=error.where, do=error.do) from None


def _point_id(value: Any) -> PointId:
    return value if isinstance(value, int) else str(value).lower()


def _pull(payload: Any, path: str) -> Any:
    """The value at a path; a field whose own name holds the dots comes first."""
    if isinstance(payload, Mapping) and path in payload:
        return payload[path]
    for key in path.split("."):
        payload = payload.get(key) if isinstance(payload, Mapping) else None
    return payload


def _text(payload: Mapping[str, Any], mapped: Mapping[str, str]) -> str:
    return text_value(_pull(payload, mapped["text"])) or ""


def _chunks(read: _Collection, count: int, warnings: list[str]) -> Iterator[Chunk]:
    empty = Tally("points have no text and are not searched")
    odd = Tally("points were read with something odd")
    next_index: dict[tuple[str, str], int] = {}
    total = 0
    for points in read.pages(with_payload=True, with_vectors=False):
        for point in points:
            total += 1
            yield _chunk(point, read.mapped, next_index, empty, odd)
    if total != count:
        warnings.append(
            f"the collection changed while it was read: {count:,} points at first, {total:,} were read"
        )
    empty.into(warnings)
    odd.into(warnings)


def _chunk(
    point: Any,
    mapped: Mapping[str, str],
    next_index: dict[tuple[str, str], int],
    empty: Tally,
    odd: Tally,
) -> Chunk:
    payload, number = point.payload or {}, _point_id(point.id)
    values = {role: _pull(payload, path) for role, path in mapped.items()}
    text = _text(payload, mapped)
    if not text.strip():
        empty.add(number)
    entity_id = text_value(values.get("entity_id") or values.get("id")) or str(number)
    source_type = (
        values["source_type"] if values["source_type"] in SOURCE_TYPES else SOURCE_TYPES[0]
    )
    key = (source_type, entity_id)
    index = values["chunk_index"]
    if isinstance(index, bool) or not isinstance(index, int) or index < 0:
        index = next_index.get(key, 0)
    next_index[key] = index + 1
    reading = facets_of({role: values[role] for role in FACET_ROLES}, _rest(payload, mapped))
    for _, problem in reading.problems:
        odd.add(f"{number} ({problem})")
    title, source = (text_value(values[role]) or "" for role in ("title", "source"))
    return Chunk(number, entity_id, index, text, title, source, source_type, reading.facets)


def _rest(payload: Mapping[str, Any], mapped: Mapping[str, str]) -> dict[str, Any]:
    """What no role reads; the content of an object `metadata` stands under its own keys."""
    used = set(mapped.values()) | (DERIVED if mapped["text"] == DEFAULTS["text"] else set())
    rest = {key: value for key, value in payload.items() if key not in used}
    inner = rest.get("metadata")
    if isinstance(inner, Mapping):
        del rest["metadata"]
        rest.update((key, value) for key, value in inner.items() if f"metadata.{key}" not in used)
    return rest


def _check_vectors(found: Any, name: str, where: str) -> None:
    several = isinstance(found, Mapping)
    params = found.get(name) if several else (found if not name else None)
    if params is None:
        known = (
            ", ".join(sorted(found))
            if several and found
            else "one without a name"
            if found
            else "none"
        )
        raise SourceError(
            f"there is no vector {name!r}", where=where, do=f"The vectors are: {known}"
        )
    if params.multivector_config is not None or params.distance.value != "Cosine":
        kind = (
            "several vectors a point"
            if params.multivector_config
            else f"the distance {params.distance.value}"
        )
        raise SourceError(f"the collection has {kind}, not one vector with Cosine", where=where)


def _vectors(read: _Collection, embed: Embed) -> Iterator[np.ndarray]:
    """The stored vectors of the points that have text, scaled to unit length, a page at a time.

    Raises SourceError that names the point for a vector that is missing, zero or not finite.
    """
    import numpy as np

    name = read.vector_name
    for points in read.pages(with_payload=True, with_vectors=[name] if name else True):
        rows = []
        for point in points:
            if not _text(point.payload or {}, read.mapped).strip():
                continue
            vector = point.vector.get(name) if isinstance(point.vector, Mapping) else point.vector
            if not vector:
                raise SourceError(f"point {point.id} has no vector {name!r}", where=read.where)
            rows.append((point.id, vector))
        if not rows:
            continue
        batch = np.asarray([vector for _, vector in rows], dtype=np.float32)
        lengths = np.linalg.norm(batch, axis=1)
        bad = ~np.isfinite(lengths) | (lengths == 0)
        if bad.any():
            raise SourceError(
                f"the vector of point {rows[int(np.argmax(bad))][0]} is zero or not finite",
                where=read.where,
            )
        yield batch / lengths[:, None]
