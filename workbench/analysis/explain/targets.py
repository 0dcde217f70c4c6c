"""Which point a person means: by its id, its entity's id, or its exact title, where only one fits."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple
from uuid import UUID

from workbench.analysis.explain.absences import Absence, not_indexed
from workbench.errors import BadParameter
from workbench.retrieval.custom import OWN_VARIABLE
from workbench.retrieval.search import Collection
from workbench.stores.catalog.errors import UnknownPoint
from workbench.stores.journal import WaitingDocument, waiting_documents
from workbench.text import well_formed
from workbench.types import PointId, Query, Result, point_order

# ---- Which point a person means: by its id, its entity's id, or its exact title, where only ----

SHOWN = 10
"""Candidates that an error lists."""

TITLE_SHOWN = 60

NEAREST = 3
"""Documents offered by their spelling, where none holds what was named."""

WAYS = ("point", "entity", "title")

_GIVE = "Give an id, an entity's id or a whole title"

# A title of a megabyte is compared by its beginning: the measure takes the product of both lengths.
_ALIKE = "greatest({}) DESC".format(
    ", ".join(
        f"jaro_winkler_similarity(left(lower(coalesce({name}, '')), 100), left(lower($text), 100))"
        for name in ("title", "entity_id")
    )
)

_FIELDS = "point_id, entity_id, chunk_index, title"


class NoSuchTarget(BadParameter):
    """Nothing of the collection is named so; says what is near."""


class NotYetIndexed(NoSuchTarget):
    """What is named waits to be indexed, so that no point stands for it yet."""

    def __init__(self, document: WaitingDocument, absence: Absence) -> None:
        self.document, self.absence = document, absence
        super().__init__(f"{document.entity_id!r} is {absence.reason}: {absence.detail}")


class AmbiguousTarget(BadParameter):
    """Several points fit; lists them."""


class Candidate(NamedTuple):
    id: PointId
    entity: str
    chunk: int
    title: str

    def __str__(self) -> str:
        named = self.title or self.entity
        cut = named if len(named) <= TITLE_SHOWN else named[: TITLE_SHOWN - 1] + "…"
        return f"point:{self.id} ({cut}, chunk {self.chunk})"


def resolve(collection: Collection, text: str, result: Result | None = None) -> PointId:
    """The one point that a text names: `point:ID`, `entity:ID`, `title:TEXT`, or without a prefix whichever fits.

    Titles are compared whole, in the case they are written in. With a result, of an entity's several chunks it is the
    one that ranks best there, the first one where none is ranked. Raises NoSuchTarget, NotYetIndexed, AmbiguousTarget.
    """
    way, _, rest = text.partition(":")
    ways = (way,) if way in WAYS and rest else WAYS
    wanted = rest if len(ways) == 1 else text
    found: dict[PointId, Candidate] = {}
    for each in ways:
        found.update({c.id: c for c in _LOOKED_UP[each](collection, well_formed(wanted))})
    if len(found) == 1:
        return next(iter(found))
    if not found:
        waits = waiting_of(collection, well_formed(wanted))
        if waits is not None:
            raise NotYetIndexed(waits, not_indexed(collection, waits))
        near = _near(collection, well_formed(wanted))
        raise NoSuchTarget(
            f"nothing is named {wanted!r}", do=f"Near it: {_listed(near)}" if near else _GIVE
        )
    if result is not None and len({c.entity for c in found.values()}) == 1:
        ranks = result.fused.ranks()
        return min(
            found, key=lambda i: (ranks.get(i, len(ranks) + 1), found[i].chunk, point_order(i))
        )
    raise AmbiguousTarget(
        f"{wanted!r} names {len(found)} points", do=f"Name one of {_listed(list(found.values()))}"
    )


def waiting_of(collection: Collection, named: str) -> WaitingDocument | None:
    """The first document that waits to be indexed under this entity id or whole title."""
    return next(iter(waiting_documents(collection.stores.catalog.path.parent, named)), None)


def _points(collection: Collection, text: str) -> list[Candidate]:
    try:
        point_id: PointId = int(text) if text.isascii() and text.isdecimal() else str(UUID(text))
        chunk = collection.stores.catalog.chunks([point_id])[0]
    except (ValueError, UnknownPoint):
        return []
    return [Candidate(point_id, chunk.entity_id, chunk.chunk_index, chunk.title)]


def _entities(collection: Collection, text: str) -> list[Candidate]:
    return _rows(collection, "entity_id = $text", text)


def _titles(collection: Collection, text: str) -> list[Candidate]:
    return _rows(collection, "title = $text", text) if text else []


_LOOKED_UP = {"point": _points, "entity": _entities, "title": _titles}


def _near(collection: Collection, text: str) -> list[Candidate]:
    """What holds the text in its title or entity's id, else the documents that are spelled most like it."""
    if not text.strip():
        return []
    holding = "contains(lower(title), lower($text)) OR contains(lower(entity_id), lower($text))"
    return _rows(collection, holding, text) or _rows(
        collection, "chunk_index = 0", text, _ALIKE, NEAREST
    )


def _rows(
    collection: Collection,
    where: str,
    text: str,
    order: str = "length(title)",
    limit: int = SHOWN + 1,
) -> list[Candidate]:
    # One more than is listed tells that there are more.
    sql = f"SELECT {_FIELDS} FROM chunk WHERE {where} ORDER BY {order}, cid LIMIT {limit}"
    rows = collection.stores.catalog.sql(sql, {"text": text}).rows()
    return [
        Candidate(int(i) if i.isdecimal() else i, entity, chunk, title or "")
        for i, entity, chunk, title in rows
    ]


def _listed(candidates: list[Candidate]) -> str:
    return ", ".join(map(str, candidates[:SHOWN])) + (
        " and more" if len(candidates) > SHOWN else ""
    )


# ---- Commands that a reader can copy: the one that explains a row of a report ----


def explain_command(
    collection: str,
    query: Query,
    target: PointId,
    variant: str,
    of: Literal["point", "entity"] = "point",
) -> str:
    """`workbench explain …` for a point's or an entity's id under one variant, as a shell takes it; files of one's own
    go before it."""
    words = ["workbench", "explain", collection, "--target", f"{of}:{target}", "--variant", variant]
    if query.mode != "hybrid":
        words += ["--mode", query.mode]
    for name, value in query.filters.items():
        for one in value if isinstance(value, list | tuple) else [value]:
            words += ["--filter", f"{name}={_written(one)}"]
    # After `--`, so that a query that begins with a hyphen is no option.
    words += ["--", query.text] if query.text.startswith("-") else [query.text]
    own = os.environ.get(OWN_VARIABLE)
    return (f"{OWN_VARIABLE}={shlex.quote(own)} " if own else "") + shlex.join(words)


def _written(value: Any) -> str:
    """A filter's value as the command line takes it: nothing for absent; a range as its bounds."""
    if isinstance(value, Mapping):
        return ",".join(f"{op}:{bound}" for op, bound in value.items())
    return "" if value is None else str(value)
