"""The charts and texts of the report of @ID@, from what the measures kept in `run.data`."""

from __future__ import annotations

import altair as alt
import polars as pl

from workbench.analysis.ledger.run import Run


def tell(run: Run) -> None:
    """Add the chart of ranks to the report."""
    rows = run.data.get("C01")
    if not rows:
        return
    variants = [run.params["before"], run.params["after"]]
    ranks = pl.DataFrame(rows).unpivot(variants, index="title", variable_name="variant", value_name="rank")
    place = pl.when(pl.col("rank") == 1).then(pl.lit("1")).when(pl.col("rank") <= 8).then(pl.lit("2 to 8"))
    counts = ranks.with_columns(place=place.otherwise(pl.lit("beyond"))).group_by("variant", "place").len("titles")
    bars = (
        alt.Chart(counts.sort("variant", "place"))
        .mark_bar()
        .encode(
            x="titles:Q",
            y=alt.Y("variant:N", sort=variants),
            color="place:N",
            tooltip=["variant", "place", "titles"],
        )
    )
    run.chart("titles", bars, "The rank of each title's own document.", section="Titles", claims=["C01"])
