"""Charts of two variants side by side: each row's two ranks, the queries that differ most, and a metric's room in its
ties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workbench.analysis.rank_compare import NO_LIST, ComparedRow, RankComparison
from workbench.reporting.theme import CATEGORIES, MUTED
from workbench.text import excerpt

if TYPE_CHECKING:
    import polars as pl

    from workbench.analysis.ties import Range
    from workbench.types import PointId

ABSENT = "absent"
TITLE_CHARACTERS = 60
WIDE = 640


def slope(found: RankComparison, titles: Mapping[PointId, str], target: PointId | None = None) -> Any:
    """Two variants on one query: rank left, rank right, a line a row, coloured by the lists that hold it on the right.

    On a side the rows stand in its order, each with its rank, so that deep ranks stay apart; what a side lacks stands
    last, as absent. The target's line is thick.
    """
    alt = _alt()
    places = {side: _order([getattr(r, side).rank for r in found.rows]) for side in ("left", "right")}
    points = [
        {"row": str(r.id), "side": name, "place": places[side][n], "shown": str(getattr(r, side).rank or ABSENT), "title": _title(r, titles),
         "lists": membership(r), "end": side == "right", "target": r.id == target}
        for n, r in enumerate(found.rows) for side, name in (("left", found.left), ("right", found.right))
    ]  # fmt: skip
    kinds = list(dict.fromkeys(p["lists"] for p in points))
    base = alt.Chart(_frame(points)).encode(
        x=alt.X("side:N", sort=[found.left, found.right], title=None, axis=alt.Axis(labelAngle=0, orient="top", labelFontWeight=600)),
        y=alt.Y("place:Q", scale=alt.Scale(reverse=True, domain=[-0.5, len(found.rows) - 0.5]), axis=None),
        color=alt.Color("lists:N", title=None, sort=kinds, scale=alt.Scale(domain=kinds, range=CATEGORIES[: len(kinds)])),
        tooltip=["title:N", "side:N", "shown:N", "lists:N"],
    )  # fmt: skip
    lines = base.mark_line().encode(detail="row:N", strokeWidth=alt.condition("datum.target", alt.value(4), alt.value(1.6)))
    left = base.transform_filter("!datum.end").mark_text(align="right", dx=-10).encode(text="shown:N")
    right = base.transform_filter("datum.end").transform_calculate(label="datum.shown + '   ' + datum.title").mark_text(align="left", dx=10)
    return (lines + base.mark_point(size=45) + left + right.encode(text="label:N")).properties(
        width=240, height=max(120, 22 * len(found.rows)),
        title={"text": f"{found.left} beside {found.right}", "subtitle": _said(found)},
    )  # fmt: skip


def _order(ranks: Sequence[int | None]) -> list[int]:
    """The place of each row on a side: by rank, absent ones last in the order of the rows."""
    order = sorted(range(len(ranks)), key=lambda n: (ranks[n] is None, ranks[n] or n))
    return [order.index(n) for n in range(len(ranks))]


def membership(row: ComparedRow) -> str:
    """The lists that hold a row on the right; where none does, those that hold it on the left."""
    right = row.right.membership
    return right if right != NO_LIST else f"{row.left.membership} (left only)"


def most_different(table: pl.DataFrame, left: str, right: str, limit: int = 20) -> Any:
    """The queries on which two variants differ most, by their texts: a long bar is a rank-biased overlap near 0."""
    alt = _alt()
    asked = table.head(limit).to_dicts()
    texts = [excerpt(r["text"], "", TITLE_CHARACTERS) or "(an empty query)" for r in asked]
    rows = [
        # Two queries of one text are two bars.
        {"query": text if texts.count(text) == 1 else f"{text} ({r['query_id']})", "difference": 1 - r["rbo"], "overlap": r["rbo"],
         "first difference": r["first_difference"], "id": r["query_id"]}
        for r, text in zip(asked, texts, strict=True)
    ]  # fmt: skip
    return alt.Chart(_frame(rows)).mark_bar().encode(
        y=alt.Y("query:N", sort=[r["query"] for r in rows], title=None, axis=alt.Axis(labelLimit=260)),
        x=alt.X("difference:Q", scale=alt.Scale(domain=[0, 1]), title=[f"how far {left} and {right} differ", "(1 − rank-biased overlap)"]),
        tooltip=["query:N", "id:N", alt.Tooltip("overlap:Q", title="rank-biased overlap", format=".3f"), alt.Tooltip("first difference:Q", title="first difference at rank")],
    ).properties(width=WIDE - 200, height=alt.Step(20))  # fmt: skip


def tie_ranges(ranges: Mapping[str, Range]) -> Any:
    """A metric of each variant as it is in our order, within the least and the most that it could be in its ties."""
    alt = _alt()
    rows = [{"variant": v, "value": r.value, "low": r.low, "high": r.high, "split": len(r.split), "moved": len(r.moved)} for v, r in ranges.items()]
    metric = next(iter(ranges.values())).metric
    base = alt.Chart(_frame(rows)).encode(y=alt.Y("variant:N", sort=list(ranges), title=None))
    return (
        base.mark_rule(strokeWidth=3, color=MUTED).encode(x=alt.X("low:Q", title=f"{metric}, over all orders of the ties", scale=alt.Scale(zero=False)), x2="high:Q")
        + base.mark_point(size=90).encode(x="value:Q", tooltip=["variant:N", "value:Q", "low:Q", "high:Q", "split:Q", "moved:Q"])
    ).properties(width=WIDE - 200, height=alt.Step(34))  # fmt: skip


def _said(found: RankComparison) -> str:
    o = found.overlap
    first = f"first difference at rank {o.first_difference}" if o.first_difference else "the same from first to last"
    return f"rank-biased overlap {o.rbo:.3f}, {first}, {o.at_k:.0%} of the first {o.k} shared"


def _title(row: ComparedRow, titles: Mapping[PointId, str]) -> str:
    text = " ".join(titles.get(row.id, str(row.id)).split())
    return text if len(text) <= TITLE_CHARACTERS else text[: TITLE_CHARACTERS - 1] + "…"


def _alt() -> Any:
    import altair as alt

    return alt


def _frame(rows: Sequence[Mapping[str, Any]]) -> Any:
    import polars

    return polars.DataFrame(list(rows), infer_schema_length=None)
