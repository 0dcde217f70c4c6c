"""The report page: one HTML file that opens without network, made from ledger.json and charts.json alone."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from markupsafe import Markup

from workbench.analysis.canonical import write_text
from workbench.analysis.ledger.blocks import BLOCKS_NAME
from workbench.analysis.ledger.ledger import LEDGER_NAME, Ledger
from workbench.analysis.ledger.verdict import INCONCLUSIVE
from workbench.errors import WorkbenchError
from workbench.reporting.html import label, markdown_html, safe, value_html
from workbench.reporting.pages.figures import chart_bundle, figure, ledger_table, script_json
from workbench.reporting.theme import THEME, VERDICT_SIGNS

PAGE_NAME = "index.html"
_TEMPLATE = Path(__file__).parents[1] / "template"
# What each verdict is called in the summary line.
_SUMMARY = {
    "HOLDS": ("holds", "hold"),
    "DIFFERS": ("differs", "differ"),
    "DIFFERS BY A DURATION": ("differs by a duration only", "differ by a duration only"),
    "DIFFERS BY THIS INSTALL": (
        "differs by this installation only",
        "differ by this installation only",
    ),
    "INCONCLUSIVE": ("is inconclusive", "are inconclusive"),
    "NOT MEASURABLE HERE": ("is not measurable here", "are not measurable here"),
    "NO VERDICT": ("has no verdict", "have no verdict"),
    "SUPERSEDED": ("is superseded", "are superseded"),
}
_HASH_SHOWN = 16
_HASH = re.compile(r"([0-9a-f]{64})(/.*)?")
_INPUTS_SHOWN = 4
_SEED = "seed"
_MACHINE = {"cpu": "processor", "memory_gib": "memory, GiB"}


class BadReport(WorkbenchError):
    """A report directory without the files that a page is made of."""


def write_page(directory: Path) -> Path:
    """Write `index.html` beside the ledger.json and charts.json that it is made of. Raises BadReport
    and BadLedger."""
    try:
        story = json.loads((directory / BLOCKS_NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadReport(f"no story: {error}", where=str(directory / BLOCKS_NAME)) from error
    path = directory / PAGE_NAME
    write_text(path, page(Ledger.read(directory / LEDGER_NAME), story))
    return path


def page(ledger: Ledger, story: Mapping[str, Any]) -> str:
    """The page as text: summary and ledger, then what was run, then the story. Equal inputs, equal page."""
    import jinja2

    blocks = story["blocks"]
    numbered = _numbered(blocks)
    figures: dict[str, list[tuple[str, str]]] = {}
    for anchor, number, block in numbered.values():
        for claim in block["claims"]:
            figures.setdefault(claim, []).append((anchor, number))
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATE),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    has_charts = any(b["kind"] == "chart" for b in blocks)
    return environment.get_template("page.html").render(
        record=ledger.header["record"],
        title=safe(ledger.header["title"]),
        about=markdown_html(story["text"]),
        failed=ledger.failed,
        total=len(ledger.rows),
        summary=_summary(ledger),
        findings=[
            (markdown_html(b["content"]), b["claims"]) for b in blocks if b["kind"] == "finding"
        ],
        facts=_facts(ledger),
        evidence=[f"{n} {e}" for e, n in ledger.evidence().items()],
        reduced=_reduced(ledger, story["parameters"]),
        ledger=ledger_table(ledger.rows, figures),
        run=_what_was_run(ledger.header, story["parameters"]),
        sections=_sections(blocks, numbered),
        bundle=Markup(chart_bundle()) if has_charts else "",
        theme=script_json(THEME),
        css=_template("page.css"),
        js=_template("page.js"),
    )


def _template(name: str) -> Markup:
    return Markup((_TEMPLATE / name).read_text(encoding="utf-8"))


def _numbered(blocks: Sequence[Mapping[str, Any]]) -> dict[int, tuple[str, str, Mapping[str, Any]]]:
    """Block position to (anchor, label, block) of every chart and table, numbered apart in their order."""
    found, counts = {}, {"chart": 0, "table": 0}
    for place, block in enumerate(blocks):
        if block["kind"] in counts:
            counts[block["kind"]] += 1
            word = "Figure" if block["kind"] == "chart" else "Table"
            found[place] = (
                f"{word.lower()}-{block['name']}",
                f"{word} {counts[block['kind']]}",
                block,
            )
    return found


def _sections(
    blocks: Sequence[Mapping[str, Any]], numbered: Mapping[int, Any]
) -> list[dict[str, Any]]:
    """Sections in the order of their first block; a section that comes back continues."""
    found: dict[str, list[Markup]] = {}
    for place, block in enumerate(blocks):
        if block["kind"] == "finding":
            continue
        if block["kind"] == "text":
            piece = Markup('<div class="prose">{}</div>').format(markdown_html(block["content"]))
        else:
            piece = figure(*numbered[place])
        found.setdefault(block["section"], []).append(piece)
    return [
        {"id": f"section-{number}", "title": safe(title) if title else Markup(""), "pieces": pieces}
        for number, (title, pieces) in enumerate(found.items(), 1)
    ]


def _summary(ledger: Ledger) -> list[dict[str, Any]]:
    return [
        {
            "verdict": v,
            "css": v.lower().replace(" ", "-"),
            "count": n,
            "words": _SUMMARY[v][n != 1],
            "sign": VERDICT_SIGNS[v],
        }
        for v, n in ledger.tally().items()
    ]


def _reduced(ledger: Ledger, helps: Mapping[str, str]) -> dict[str, Any] | None:
    """What a run of a smaller size does not decide; None for a run of full size."""
    if not ledger.reduced:
        return None
    waiting = [r.id for r in ledger.rows if r.needs_full and r.verdict == INCONCLUSIVE]
    return {"size": safe(ledger.reduced), "help": safe(helps.get("size", "")), "waiting": waiting}


def _facts(ledger: Ledger) -> list[tuple[str, Markup]]:
    header = ledger.header
    when, machine = header["when"], header["machine"]
    started = datetime.fromisoformat(when["started"])
    memory = f", {machine['memory_gib']:.0f} GiB" if machine["memory_gib"] else ""
    facts = [
        ("Run", safe(f"{started:%-d %B %Y, %H:%M} UTC")),
        ("Took", safe(_duration(when["seconds"]))),
    ]
    if ledger.reduced:
        facts.insert(0, ("Size", safe(f"{ledger.reduced}, reduced")))
    if inputs := header["inputs"]:
        facts.append(("On", _on(tuple(inputs))))
    return [*facts, ("Machine", safe(f"{machine['cores']} cores{memory}"))]


def _on(inputs: Sequence[str]) -> Markup:
    """The inputs by name, or where they are many their number, which leads to all of them."""
    if len(inputs) <= _INPUTS_SHOWN:
        return Markup(" · ").join(map(safe, inputs))
    return Markup('<a href="#run">{} inputs</a>').format(len(inputs))


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds // 60)} min {int(seconds % 60)} s"


def _what_was_run(header: Mapping[str, Any], helps: Mapping[str, str]) -> list[dict[str, Any]]:
    """Groups of (name, value, help) with all that the ledger's header holds."""
    groups = {
        "Parameters": [
            (safe(n), _told(n, v), safe(helps.get(n, ""))) for n, v in header["parameters"].items()
        ],
        "Inputs": [(safe(name), _lines(hashes), "") for name, hashes in header["inputs"].items()],
    }
    for title in ("Seeds", "Code", "Machine", "Versions"):
        rows = header[title.lower()].items()
        groups[title] = [(safe(_MACHINE.get(k, k)), _told(k, v), "") for k, v in rows]
    return [
        {"title": title, "css": title.lower(), "rows": rows}
        for title, rows in groups.items()
        if rows
    ]


def _lines(hashes: Mapping[str, Any]) -> Markup:
    line = Markup('<span class="line"><span>{}</span> <span>{}</span></span>')
    return Markup("").join(line.format(label(k), _hash(v)) for k, v in hashes.items())


def _told(name: str, value: Any) -> Markup:
    """A value of the header: a seed is a name made of digits and not a count, so its digits are not grouped."""
    return safe(str(value)) if _SEED in name and isinstance(value, int) else _hash(value)


def _hash(value: Any) -> Markup:
    if isinstance(value, str) and (found := _HASH.fullmatch(value)):
        return Markup('<code title="{}">{}…{}</code>').format(
            value, found[1][:_HASH_SHOWN], safe(found[2] or "")
        )
    return value_html(value)
