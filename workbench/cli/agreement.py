"""`workbench agreement`: two judges of the same pools, and how far they agree beyond chance."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from workbench.cli.compare import AsJson
from workbench.cli.console import new_console

SHOWN = 10


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("agreement")(_agreement)


def _agreement(
    first: Annotated[str, typer.Argument(help="One judge's judgements: TREC, BEIR or ranx.")],
    second: Annotated[str, typer.Argument(help="The other's.")],
    as_json: AsJson = False,
) -> None:
    """Compare two judges: Cohen's kappa over what both judged, with its interval, and where they differ most."""
    from rich.text import Text

    from workbench.analysis.agreement import agreement
    from workbench.sources.judgements import read_qrels
    from workbench.text import visible
    from workbench.types import as_plain

    found = agreement(read_qrels(first), read_qrels(second))
    if as_json:
        table: list[dict[str, Any]] = [{"a": a, "b": b, "pairs": n} for (a, b), n in found.table.items()]
        print(json.dumps({**{k: v for k, v in as_plain(found).items() if k != "table"}, "table": table}, ensure_ascii=True))
        return
    console = new_console()
    console.print(Text(found.sentence, style="bold"))
    for d in found.disagreements[:SHOWN]:
        console.print(Text(f"  {d.a} against {d.b}: query {visible(d.query_id)}, document {visible(d.entity_id)}"))
    if len(found.disagreements) > SHOWN:
        console.print(Text(f"  and {len(found.disagreements) - SHOWN} more: --json", style="dim"))
