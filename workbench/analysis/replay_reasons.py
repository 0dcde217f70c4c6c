"""Why a page changed: the documents that left and came, each with what explains its place and the command that tells
the whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.analysis.commands import explain_command
from workbench.analysis.compared import best_row, explained
from workbench.analysis.explain import explain
from workbench.retrieval.priors import at_time
from workbench.retrieval.search import Collection
from workbench.retrieval.spec import recipe_at
from workbench.retrieval.variant import Variant
from workbench.types import Query

if TYPE_CHECKING:
    from workbench.analysis.replay import Change


@dataclass(frozen=True, slots=True)
class Reason:
    """Why one document stands where it does under a variant, "" where that was not looked up, and the command that
    tells the whole."""

    document: str
    variant: str
    told: str
    command: str


def reasons_of(
    collection: Collection, change: Change, variants: Mapping[str, Variant], first: int, *, search: bool = True
) -> tuple[Reason, ...]:
    """Of a change: why the first document that left is not on b's page, and why the first that came is, and was not
    under a. The same documents in another order: why the first of them stands where it does. Without `search` the
    commands alone."""
    out = []
    for document, name in _asked(change, variants):
        now = change.query.time
        recipe = recipe_at(variants[name], now) if now else name
        query = Query(change.query.text, change.query.filters, limit=first)
        if not collection.stores.catalog.entity(document):
            out.append(Reason(document, name, "it is not in the collection", ""))
        elif not search:
            out.append(Reason(document, name, "", explain_command(collection.name, query, document, recipe, "entity")))
        else:
            result = collection.search(query, at_time(variants[name], now) if now else variants[name], with_chunks=False)
            point = best_row(collection, result.fused.ids, document)
            assert point is not None  # the document exists
            told = explained(explain(collection, result, point))
            out.append(Reason(document, name, told, explain_command(collection.name, query, point, recipe)))
    return tuple(out)


def _asked(change: Change, variants: Mapping[str, Variant]) -> list[tuple[str, str]]:
    """(document, variant) of what is to be explained; what was shown then has no variant to ask."""
    asked = [(change.left[0], change.b)] if change.left else []
    if change.came:
        asked += [(change.came[0], change.b), (change.came[0], change.a)]
    if not asked and change.first is not None:
        moved = change.pages[1][change.first - 1]
        asked = [(moved, change.a), (moved, change.b)]
    return [(document, name) for document, name in asked if name in variants]
