"""The report of a replay: how many first pages changed, how far, what it costs, and the worst with their reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from workbench.analysis.canonical import canonical, write_text
from workbench.analysis.ledger.blocks import chart_block, table_block
from workbench.analysis.ledger.run import code_hash
from workbench.analysis.replay.replay import SHOWN, Change, Pair, Reason, Replayed, change_row
from workbench.reporting.html import safe
from workbench.reporting.pages.brief import (
    Case,
    Column,
    Line,
    Section,
    brief_page,
    cases_html,
    notes,
    plans,
)
from workbench.reporting.theme import CATEGORIES
from workbench.text import counted

PAGE_NAME, DATA_NAME, CHANGES_NAME = "index.html", "replay.json", "changes.jsonl"
CASES_SHOWN = 25
"""Changes of each pair on the page; the file of changes has them all."""


def write_replay(directory: Path, replayed: Replayed) -> Path:
    """Write the page, its data as JSON, and every change as one JSON line; returns the page."""
    import json

    directory.mkdir(parents=True, exist_ok=True)
    lines = (
        json.dumps(change_row(c)) + "\n" for changes in replayed.changes.values() for c in changes
    )
    write_text(directory / CHANGES_NAME, "".join(lines))
    write_text(directory / DATA_NAME, canonical(replayed.to_dict()))
    write_text(directory / PAGE_NAME, replay_page(replayed))
    return directory / PAGE_NAME


def sentence(pair: Pair, first: int) -> tuple[str, str]:
    """What changed between two sides, and the figures behind it."""
    if not pair.queries:
        return f"{pair.b} against {pair.a}: no query that both answered.", ""
    share = pair.changed / pair.queries
    said = f"{pair.b} against {pair.a}: {pair.changed:,} of {pair.queries:,} queries ({share:.0%}) {'has' if pair.changed == 1 else 'have'} another first {first}"
    if pair.emptied:
        said += f", and {pair.emptied:,} {'is' if pair.emptied == 1 else 'are'} newly empty"
    figures = (
        f"{pair.reordered:,} of them the same documents in another order; another first document in {pair.first_changed:,};"
        f"{f' {pair.filled:,} no longer empty;' if pair.filled else ''} mean overlap {pair.kept:.2f}, mean rank-biased overlap {pair.rbo:.2f};"
        f" by times asked {pair.asked_changed:,} of {pair.asked:,} ({pair.asked_changed / pair.asked:.0%})"
    )
    return said + ".", figures


def came_and_left(change: Change) -> str:
    """How many documents left and came, a number that is 0 left out; the same in another order says so."""
    said = [
        f"{len(of)} {word}" for of, word in ((change.left, "left"), (change.came, "came")) if of
    ]
    return ", ".join(said) or "another order"


def replay_page(replayed: Replayed) -> str:
    """The page as text."""
    findings = [
        Markup("{}<small>{}</small>").format(*map(safe, sentence(p, replayed.first)))
        for p in replayed.pairs
    ]
    for name, (count, why) in replayed.failed.items():
        findings.append(
            Markup('<span class="bad">{}</span><small>{}</small>').format(
                safe(f"{name} answered {counted(count, 'query', 'queries')} with an error."),
                safe(f"The first: {why}"),
            )
        )
    sections = [
        Section(
            "What it costs",
            (
                table_block(
                    "costs",
                    _costs(replayed),
                    "One search each; stages that variants share are counted in full.",
                    "",
                    (),
                ),
            ),
            wide=True,
        ),
        Section("How far pages changed", _spread(replayed)),
        *(_worst(replayed, pair, number) for number, pair in enumerate(replayed.changes, 1)),
        Section("What was run", (plans(replayed.plans), notes([*replayed.notes, *_run(replayed)]))),
    ]
    return brief_page(
        eyebrow=f"Replay on {replayed.collection}",
        title=f"{Path(replayed.log.location).name}: what changed in the first {replayed.first}",
        findings=findings,
        facts={
            "Rows": f"{replayed.log.rows:,}",
            "Queries": f"{len(replayed.log.queries):,} distinct",
            "Page": f"the documents of the first {replayed.first} rows",
        },
        sections=sections,
        footer="Worst first: new empty pages, then those that share the least, then by rank-biased overlap.",
    )


def _costs(replayed: Replayed) -> Any:
    import polars as pl

    rows = [
        {
            "variant": c["variant"],
            "queries": c["queries"],
            "without results": c["empty"],
            **{
                n: None if c[k] is None else round(c[k], 1)
                for n, k in (("p50 ms", "p50_ms"), ("p95 ms", "p95_ms"), ("calls", "calls"))
            },
            "payload bytes": None if c["payload_bytes"] is None else round(c["payload_bytes"]),
        }
        for c in replayed.costs
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def _spread(replayed: Replayed) -> tuple[Any, ...]:
    rows: list[dict[str, Any]] = []
    for pair in replayed.pairs:
        changes = replayed.changes[pair.a, pair.b]
        gone = Counter(len(c.left) for c in changes)
        gone[0] += pair.queries - len(changes)
        rows += [
            {"pair": f"{pair.b} − {pair.a}", "gone": n, "queries": q}
            for n, q in sorted(gone.items())
            if q
        ]
    if not rows:
        return ()
    caption = f"Queries by how many documents of a's first {replayed.first} are not on b's page; 0 holds those in another order too."
    return (chart_block("gone", gone_chart(rows), caption, "", ()),)


def gone_chart(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Bars of queries by documents that left the page, one panel a pair. Rows: pair, gone, queries."""
    import altair as alt
    import polars as pl

    pairs = list(dict.fromkeys(r["pair"] for r in rows))
    return (
        alt.Chart(pl.DataFrame(list(rows)))
        .mark_bar()
        .encode(
            x=alt.X("gone:O", title="documents that left the page", axis=alt.Axis(labelAngle=0)),
            y=alt.Y("queries:Q", title="queries"),
            color=alt.Color(
                "pair:N", sort=pairs, legend=None, scale=alt.Scale(domain=pairs, range=CATEGORIES)
            ),
            tooltip=["pair", "gone", "queries"],
        )
        .properties(width=260, height=150)
        .facet(alt.Facet("pair:N", sort=pairs, title=None), columns=2)
    )


def _worst(replayed: Replayed, pair: tuple[str, str], number: int) -> Section:
    changes, reasons = replayed.changes[pair], replayed.reasons[pair]
    cases = [
        _case(replayed, c, reasons[n] if n < len(reasons) else (), f"change-{number}-{n + 1}")
        for n, c in enumerate(changes[:CASES_SHOWN])
    ]
    rest = len(changes) - len(cases)
    pieces = (cases_html(cases, opened=1 if number == 1 else 0),) if cases else ()
    if rest > 0:
        pieces += (
            Markup('<p class="quiet">{}</p>').format(f"{rest:,} more are in {CHANGES_NAME}."),
        )
    return Section(f"{pair[1]} against {pair[0]}", pieces, wide=True)


def _case(replayed: Replayed, change: Change, reasons: Sequence[Reason], anchor: str) -> Case:
    if change.emptied:
        said, tone = "newly empty", "bad"
    elif change.left or change.came:
        said, tone = f"{came_and_left(change)}; first change at {change.first}", ""
    else:
        said, tone = f"another order from {change.first} on", ""
    if change.query.times > 1:
        said += f"; asked {change.query.times:,} times"
    about = [f"filters: {dict(change.query.filters)}"] if change.query.filters else []
    if change.query.time:
        about.append(f"asked {change.query.time}")
    sides = []
    for name, page, other, mark in zip(
        (change.a, change.b), change.pages, reversed(change.pages), ("left", "came"), strict=True
    ):
        told = [r for r in reasons if r.variant == name]
        lines = tuple(
            Line(n, replayed.titles.get(d) or d, "" if d in other else mark)
            for n, d in enumerate(page, 1)
        )
        sentences = tuple(
            f"“{replayed.titles.get(r.document) or r.document}”: {r.told}." for r in told if r.told
        )
        commands = tuple(r.command for r in told if r.command)
        heading = (
            name
            if name != SHOWN
            else f"{SHOWN}{', ' + change.query.time[:10] if change.query.time else ''}"
        )
        sides.append(
            Column(
                heading, lines, (*about, *sentences) if name == change.b else sentences, commands
            )
        )
    return Case(anchor, change.query.text, said, tone, tuple(sides))


def _run(replayed: Replayed) -> list[str]:
    told = [f"{name}: {value}" for name, value in replayed.inputs.items()]
    return [*told, f"log: {replayed.log.hash}", f"code: {code_hash()}"]
