"""The story of a report as data: texts, charts and tables in the order in which a notebook told them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from workbench.analysis.canonical import plain
from workbench.errors import WorkbenchError

BLOCKS_NAME = "charts.json"
# Altair's own bound, and CASES 28: beyond it the browser draws what nobody can read. Aggregate before.
CHART_ROWS = 5000
# A table is read by a person; what is longer belongs into a chart or a file.
TABLE_ROWS = 500

_NAME = re.compile(r"[a-z][a-z0-9-]*")


class BadBlock(WorkbenchError):
    """A chart or table that a report cannot show, and why."""


@dataclass(frozen=True, slots=True)
class Block:
    """`name` is the anchor of a chart or table, "" for a text. `content` is the text, the chart's Vega-Lite
    spec, or {columns, rows}; a finding is a text that stands above the ledger. `claims` are the ids of the claims that it illustrates."""

    kind: Literal["text", "finding", "chart", "table"]
    content: Any
    name: str = ""
    caption: str = ""
    section: str = ""
    claims: tuple[str, ...] = ()


def text_block(
    text: str, section: str, kind: Literal["text", "finding"] = "text", claims: Sequence[str] = ()
) -> Block:
    """A text in Markdown. Raises BadBlock for anything but text."""
    if not isinstance(text, str):
        raise BadBlock(f"a {kind} is text, not {type(text).__name__}")
    return Block(kind, text, section=section, claims=tuple(claims))


def chart_block(name: str, chart: Any, caption: str, section: str, claims: Sequence[str]) -> Block:
    """An Altair chart as its bare spec: no theme in it, its data in it. Raises BadBlock."""
    import altair as alt

    _check_name(name)
    try:
        with alt.theme.enable("none"), alt.data_transformers.enable("default", max_rows=CHART_ROWS):
            spec = chart.to_dict()
    except alt.MaxRowsError as error:
        raise BadBlock(
            f"a chart of more than {CHART_ROWS:,} rows", where=name, do="Aggregate first"
        ) from error
    except Exception as error:
        # Altair raises its own, narwhals' and jsonschema's errors here; the reader needs the chart's name.
        raise BadBlock(f"Altair cannot make this chart: {error}", where=name) from error
    for source in _sources(spec):
        if "url" in source:
            raise BadBlock(
                f"a chart that reads {source['url']!r}",
                where=name,
                do="A report asks for nothing: put the rows in",
            )
        if isinstance(rows := source.get("values"), list) and len(rows) > CHART_ROWS:
            raise BadBlock(
                f"a chart of {len(rows):,} rows",
                where=name,
                do=f"Aggregate to {CHART_ROWS:,} first",
            )
    return Block("chart", plain(spec, name), name, caption, section, tuple(claims))


def table_block(name: str, frame: Any, caption: str, section: str, claims: Sequence[str]) -> Block:
    """A polars frame as column names and rows. Raises BadBlock."""
    _check_name(name)
    if not hasattr(frame, "columns") or not hasattr(frame, "rows"):
        raise BadBlock(f"a table is a polars DataFrame, not {type(frame).__name__}", where=name)
    if frame.height > TABLE_ROWS:
        raise BadBlock(
            f"a table of {frame.height:,} rows",
            where=name,
            do=f"Show at most {TABLE_ROWS}, or draw them",
        )
    content = {"columns": list(frame.columns), "rows": [list(row) for row in frame.rows()]}
    return Block("table", plain(content, name), name, caption, section, tuple(claims))


def _check_name(name: str) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise BadBlock(
            f"the name {name!r} must be a small letter, then small letters, digits and `-`"
        )


def _sources(spec: Any) -> Iterator[Mapping[str, Any]]:
    """Every data source of a spec: what stands under `data` anywhere, and each of its `datasets`."""
    if isinstance(spec, Mapping):
        if isinstance(spec.get("data"), Mapping):
            yield spec["data"]
        yield from ({"values": rows} for rows in spec.get("datasets", {}).values())
        spec = [v for k, v in spec.items() if k not in ("data", "datasets")]
    if isinstance(spec, list):
        for part in spec:
            yield from _sources(part)
