"""Why filters can admit nothing: a field that no row has, or a word where a date belongs. Asked after an empty answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from workbench.errors import BadParameter
from workbench.stores.filters.values import COLUMNS, DATETIME_FIELDS, moment_of, values_of

if TYPE_CHECKING:
    from workbench.stores.catalog.catalog import Catalog


def refuse_hopeless(catalog: Catalog, filters: Mapping[str, Any]) -> None:
    """Raises BadParameter for a filter that no row of any text could meet; one look through the metadata where a field
    is no column. A row that lacks a field is what None asks for, so None is never hopeless."""
    for name, asked in filters.items():
        values = [asked] if isinstance(asked, Mapping) else values_of(asked)
        if None in values or not values:
            continue
        if name in DATETIME_FIELDS:
            words = [v for v in values if isinstance(v, str) and moment_of(v) is None]
            if len(words) == len(values):
                raise BadParameter(
                    f"{words[0]!r} is no date or time",
                    where=f"the filter of {name}",
                    do="Write it as 2026-11-11 or 2026-11-11T09:58:00Z",
                )
        elif name not in COLUMNS:
            known = catalog.sql(
                "SELECT DISTINCT unnest(json_keys(metadata)) AS key FROM chunk ORDER BY key"
            )["key"].to_list()
            if name not in known:
                raise BadParameter(
                    f"no row has a field {name!r}", do=f"There are: {', '.join((*COLUMNS, *known))}"
                )
