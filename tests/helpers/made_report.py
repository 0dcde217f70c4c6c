"""A made-up report with everything in it that a page must show: verdicts of all kinds, charts, a table, hostile text."""

from __future__ import annotations

from pathlib import Path

from workbench.analysis.canonical import canonical, write_text
from workbench.analysis.ledger.blocks import Block, chart_block, table_block, text_block
from workbench.analysis.ledger.ledger import Ledger, Row

SCRIPT = "</script><script>window.hacked = 1</script>"
IMAGE = "\"><img src=x onerror='window.hacked = 2'>"
HOSTILE = {
    "script": SCRIPT, "image": IMAGE, "escape": "\x1b[31mred\x1b[0m", "direction": "abc\u202edcba", "lone": "\ud800 half",
    "long": "x" * 1_000_000, "emoji": "👩‍🔬 ședință", "comment": "<!-- <script>", "braces": "{{ 7 * 7 }} {% raw %}",
}  # fmt: skip

HEADER = {
    "record": "made-up", "title": f"Made up {IMAGE}", "parameters": {"limit": 8, "label": SCRIPT},
    "inputs": {"corpus": {"content": "ab" * 32, "model": "cd" * 32}}, "seeds": {"seed": 0},
    "code": {"workbench": "ef" * 32, "record": "01" * 32}, "versions": {"python": "3.11.7", "duckdb": "2.0.1"},
    "machine": {"system": "Linux", "architecture": "x86_64", "cpu": "made up", "cores": 2, "memory_gib": 23.5},
    "when": {"started": "2026-11-11T09:58:00+00:00", "seconds": 61.5, "seconds_by_claim": {}},
}  # fmt: skip


def rows(failed: bool = False) -> tuple[Row, ...]:
    found = [
        Row("M01", "It scores 0.0164", "arith", {"score": 0.0164}, {"score": 5e-05}, {"score": 1 / 61, "list": [1, 2]},
            "HOLDS", "on paper"),
        Row("M02", "It makes seven calls", "count", {"calls": 7}, 0, {"calls": 9}, "DIFFERS", "the trace", "calls: expected 7, measured 9"),
        Row("M03", "It takes 1 s", "ratio", {"at_most": 1}, 0, None, "INCONCLUSIVE", "here", "A longer log would decide", timing=("",)),
        Row("M04", "A server counts", "ratio", {"at_most": 1}, 0, None, "NOT MEASURABLE HERE", "here", "No server",
            evidence="not measurable here"),
        Row("M05", "It takes 2 s", "ratio", {"s": 2}, 0, {"s": 3}, "DIFFERS", "here", timing=("s",), cause="duration",
            explanation="It takes 1 s longer, which decides nothing."),
        Row("M06", "An older rule", "count", 1, 0, 2, "DIFFERS", "here", superseded="adr-0200", evidence="on paper"),
    ]  # fmt: skip
    found += [
        Row(f"H{i:02}", text, "behaviour", text, 0, {text: text}, "HOLDS", text, text)
        for i, text in enumerate(HOSTILE.values())
    ]
    if failed:
        found.append(Row("M99", "It fails", "count", 1, 0, None, None, "", f"ZeroDivisionError: {SCRIPT}"))
    return tuple(found)


# How many charts `blocks` has.
CHARTS = 5


def blocks() -> list[Block]:
    import altair as alt
    import polars as pl

    # Polars holds no lone surrogate; the ledger's rows and the story do.
    texts = [t for t in HOSTILE.values() if t != HOSTILE["lone"]]
    data = pl.DataFrame(
        {
            "rank": range(1, 9),
            "score": [1 / (60 + r) for r in range(1, 9)],
            "list": ["lexical", "semantic"] * 4,
        }
    )
    line = alt.Chart(data).mark_line(point=True).encode(x="rank:Q", y="score:Q", color="list:N")
    pick = alt.selection_point(fields=["list"], bind="legend", name="pick")
    bars = alt.Chart(data).mark_bar().encode(
        x="score:Q", y="rank:O", color="list:N", opacity=alt.condition(pick, alt.value(1), alt.value(0.1))
    ).add_params(pick)  # fmt: skip
    names = alt.Chart(
        pl.DataFrame({"name": [SCRIPT, HOSTILE["direction"], HOSTILE["emoji"]], "n": [1, 2, 3]})
    )
    facet = alt.Chart(data).mark_line().encode(x="rank:Q", y="score:Q", facet=alt.Facet("list:N", columns=2))
    return [
        text_block("\n\n".join(["# Heading", *HOSTILE.values(), "![picture](http://example.invalid/p.png)",
                                "[link](javascript:alert(1)) [good](https://example.invalid)"]), "Texts"),
        chart_block("line", line, f"A line. {IMAGE}", "Charts", ["M01"]),
        chart_block("bars", bars, "Bars by list.", "Charts", ["M01", "M02"]),
        chart_block("names", names.mark_bar().encode(x="n:Q", y="name:N"), SCRIPT, "Charts", []),
        chart_block("pair", line | bars, "Two side by side.", "Charts", []),
        chart_block("facet", facet, "One for each list.", "Charts", []),
        table_block("values", pl.DataFrame({"text": texts, "n": range(len(texts))}), "All texts.", "Tables", ["M02"]),
        table_block("wide", pl.DataFrame({f"column {i}": [i * 11111] for i in range(30)}), "Thirty columns.", "Tables", []),
    ]  # fmt: skip


def write_report(directory: Path, *, failed: bool = False, with_charts: bool = True) -> Path:
    """ledger.json and charts.json of the made-up report; the page is still to be written."""
    directory.mkdir(parents=True, exist_ok=True)
    story = [b for b in blocks() if with_charts or b.kind != "chart"]
    help_texts = {"limit": "results on a page", "label": SCRIPT}
    write_text(
        directory / "charts.json",
        canonical({"text": f"It says *all*. {SCRIPT}", "parameters": help_texts, "blocks": story}),
    )
    Ledger(HEADER, rows(failed)).write(directory)
    return directory
