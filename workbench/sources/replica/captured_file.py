"""The part of an incident file that a capture wrote: recorded chunks, one line each."""

from __future__ import annotations

from workbench.sources.replica.spec import Captured, KnownRow
from workbench.sources.replica.tables import Table

UNKNOWN = "-"
"""A cosine that was not read: below the ceiling."""
COLUMNS = ("position", "length", "tf", "cosine", "project", "verbatim")


def read_captured(table: Table, terms: int) -> Captured | None:
    """The captured part, None where the file has none."""
    if not table.left():
        return None
    rows = []
    for n, values in enumerate(table.take("rows", list), 1):
        rows.append(_row(table, n, values, terms))
    places = [r.position for r in rows]
    if places != sorted(set(places)):
        raise table.fail("the rows must stand in ascending order of their position, none twice")
    captured = Captured(
        tuple(rows), table.table("after").mapping(int), table.take("after_all", int, 0),
        table.number("cosine_mean", float, -1, 1), table.number("cosine_spread", float, 0, 1),
        table.number("cosine_ceiling", float, -1, 1), table.take("bm25_ceiling", float, 0.0),
        {k: v.mapping(int) for k, v in _nested(table.table("ranks"))}, table.take("private", bool, False),
    )  # fmt: skip
    table.done()
    return captured


def _nested(table: Table) -> list[tuple[str, Table]]:
    return [(key, table.table(key)) for key in table.left()]


def _row(table: Table, n: int, values: object, terms: int) -> KnownRow:
    if not isinstance(values, list) or len(values) != len(COLUMNS):
        raise table.fail(f"row {n} must be [{', '.join(COLUMNS)}], not {values!r}")
    position, length, tf, cosine, project, verbatim = values
    whole = all(type(v) is int and v >= 0 for v in (position, length)) and isinstance(tf, list)
    if not whole or len(tf) != terms or not all(type(v) is int and v >= 0 for v in tf):
        raise table.fail(f"row {n}: position, length and {terms} term counts must be whole numbers, not {values!r}")
    unknown = cosine == UNKNOWN
    if not (unknown or type(cosine) in (int, float) and -1 <= cosine <= 1) or not isinstance(project, str):
        raise table.fail(f"row {n}: the cosine must be within -1 to 1 or {UNKNOWN!r}, the project a string, not {values!r}")
    if verbatim not in ("", "content", "source"):
        raise table.fail(f"row {n}: verbatim must be empty, 'content' or 'source', not {verbatim!r}")
    if sum(tf) > length:
        raise table.fail(f"row {n}: {sum(tf)} counted terms do not fit in {length}")
    return KnownRow(position, length, tuple(tf), None if unknown else float(cosine), project, verbatim)
