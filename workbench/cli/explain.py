"""`workbench explain`: why a document stands where it does, or why it is absent, and what would bring it in."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.options import new_console

if TYPE_CHECKING:
    from workbench.analysis.evaluate.judged_effect import Effect
    from workbench.analysis.explain.counterfactual import Counterfactual
    from workbench.analysis.explain.explain import Explanation
    from workbench.analysis.explain.targets import NotYetIndexed
    from workbench.retrieval.frozen import Frozen
    from workbench.types import Chunk, Result


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("explain")(_explain)


def knob_values(pairs: list[str]) -> dict[str, Any]:
    """`knob=value` texts as values: numbers as numbers, yes and no as a switch, anything else as it is written.

    Raises BadParameter for a text without `=`, and for a knob that is given twice.
    """
    from workbench.errors import BadParameter

    words = {"yes": True, "true": True, "no": False, "false": False}
    out: dict[str, Any] = {}
    for pair in pairs:
        name, mark, value = pair.partition("=")
        if not mark or not name or name in out:
            raise BadParameter(
                f"{pair!r} is not one knob=value",
                do="Write e.g. --set k=30 --set weight.verbatim=0.5",
            )
        out[name] = words.get(value, value)
        for kind in (float, int):
            try:
                out[name] = kind(value)
            except ValueError:
                continue
    return out


def _explain(
    name: Annotated[str, typer.Argument(help="A loaded collection.")],
    text: Annotated[str, typer.Argument(metavar="QUERY", help="The query; any string is valid.")],
    target: Annotated[
        str,
        typer.Option(
            help="The document that is looked for: a point's id, an entity's id or a whole title."
        ),
    ],
    variant: Annotated[
        str, typer.Option(help="A variant by name; `workbench variants` lists them.")
    ] = "adr_0172",
    first: Annotated[int, typer.Option(help="The first rows that it should be among.", min=1)] = 8,
    mode: Annotated[str, typer.Option(help="hybrid, lexical or semantic.")] = "hybrid",
    filter: Annotated[
        list[str] | None, typer.Option(help="field=value, may be given several times.")
    ] = None,
    turned: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KNOB=VALUE", help="A knob of the variant, e.g. k=30; repeatable."
        ),
    ] = None,
    depth: Annotated[
        int,
        typer.Option(help="How deep the lists are frozen for what would have to change.", min=1),
    ] = 2048,
    judged: Annotated[
        bool,
        typer.Option(
            "--judged", help="What each change does to the collection's own judged queries."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON and nothing else.")] = False,
) -> None:
    """Explain why a document stands where it does, or is absent, and what would bring it into the first N.

    An absence is explained by the first limit or rule that removed it, with the number that would have let it in.
    Each change is the smallest of one knob, found exactly and run before it is told. The notes variants are searched as
    a whole and have no such knobs: what would let a note in stands at its absence.
    """
    from workbench.analysis.explain.counterfactual import counterfactuals
    from workbench.analysis.explain.explain import explain
    from workbench.analysis.explain.targets import NotYetIndexed, resolve, waiting_of
    from workbench.cli.search import parse_filters
    from workbench.retrieval.frozen import freeze
    from workbench.retrieval.search import open_collection
    from workbench.retrieval.variant import Variant, with_knobs
    from workbench.types import Query

    query = Query(text, parse_filters(filter or []), first, mode=mode)  # type: ignore[arg-type]
    chosen = with_knobs(variant, knob_values(turned or []), query.mode)
    with open_collection(name) as collection:
        # Only stages can be frozen, and --judged turns their knobs.
        frozen = (
            freeze(collection, query, chosen, depth)
            if judged or isinstance(chosen, Variant)
            else None
        )
        result = frozen.replay(frozen.variant) if frozen else collection.search(query, chosen)
        try:
            wanted = resolve(collection, target, result)
        except NotYetIndexed as waits:
            _say_waiting(result, waits, as_json)
            return
        told = explain(collection, result, wanted)
        answers = counterfactuals(frozen, wanted, first=first, mode=query.mode) if frozen else ()
        named = [
            wanted,
            *(a.id for a in told.above[-1:]),
            *(m.id for c in answers for m in c.moves),
        ]
        chunks = {c.id: c for c in collection.stores.catalog.chunks(list(dict.fromkeys(named)))}
        effects = _effects(frozen, answers) if judged and frozen else ()
        waiting = waiting_of(collection, chunks[wanted].entity_id)
    if as_json:
        print(
            json.dumps(
                {
                    **plain(result, chunks[wanted], told, answers, effects),
                    "waiting": waiting and waiting.change,
                },
                ensure_ascii=True,
            )
        )
        return
    _show(result, chunks, told, answers, effects, first)
    if waiting:
        print(
            f"\nIt stands here as it is indexed; it waits to be {waiting.change}: workbench update {name}"
        )


def _say_waiting(result: Result, waits: NotYetIndexed, as_json: bool) -> None:
    """The answer for a document that no point stands for yet."""
    from workbench.reporting.words import absence_text
    from workbench.text import visible
    from workbench.types import as_plain

    found = waits.document
    if as_json:
        target = {
            "id": None,
            "entity_id": found.entity_id,
            "chunk_index": None,
            "title": found.title,
        }
        explanation = {"rank": None, "on_page": False, "absences": [as_plain(waits.absence)]}
        print(
            json.dumps(
                {
                    "query": as_plain(result.query),
                    "variant": result.variant,
                    "target": target,
                    "explanation": explanation,
                    "waiting": found.change,
                },
                ensure_ascii=True,
            )
        )
        return
    print(visible(f"{' '.join((found.title or found.entity_id).split())[:70]}  (no point yet)"))
    print(visible(f"It is not in the ranking.\n  {absence_text(waits.absence)}"))


def plain(
    result: Result,
    chunk: Chunk,
    told: Explanation,
    answers: tuple[Counterfactual, ...],
    effects: tuple[Effect, ...],
) -> dict[str, Any]:
    """The whole answer as JSON-ready data, but for the curves: a rank at every value of every knob."""
    from workbench.types import as_plain

    answered = [
        {k: v for k, v in as_plain(c).items() if k != "curve"} | {"moved": c.moved} for c in answers
    ]
    return {
        "query": as_plain(result.query),
        "variant": result.variant,
        "plan": result.evidence["variant"].plan(),
        "terms": list(result.evidence["terms"]),
        "inputs": dict(result.inputs),
        "target": {
            "id": chunk.id,
            "entity_id": chunk.entity_id,
            "chunk_index": chunk.chunk_index,
            "title": chunk.title,
        },
        "explanation": as_plain(told),
        "counterfactuals": answered,
        "judged": as_plain(effects),
        "tie_rule": result.fused.tie_rule,
    }


def _effects(frozen: Frozen, answers: tuple[Counterfactual, ...]) -> tuple[Effect, ...]:
    from workbench.analysis.evaluate.judged import judge
    from workbench.analysis.evaluate.judged_effect import judged_effects
    from workbench.errors import BadParameter

    catalog = frozen.collection.stores.catalog
    judged = judge(catalog.queries(), catalog.qrels())
    if not judged.queries:
        raise BadParameter(
            f"{frozen.collection.name} has no judged queries", do="Leave --judged out"
        )
    return judged_effects(frozen.collection, judged, frozen.variant, answers)


def _show(
    result: Result,
    chunks: dict[Any, Chunk],
    told: Explanation,
    answers: tuple[Counterfactual, ...],
    effects: tuple[Effect, ...],
    first: int,
) -> None:
    from rich.text import Text

    from workbench.reporting import words
    from workbench.text import visible

    console = new_console()

    def name(point_id: Any) -> str:
        chunk = chunks.get(point_id)
        return (
            visible(" ".join((chunk.title or chunk.entity_id).split()))[:70]
            if chunk
            else str(point_id)
        )

    def line(text: str, style: str = "") -> None:
        console.print(Text(visible(text), style=style))

    console.print(Text(f"{name(told.target)}  (point {told.target})", style="bold"))
    line(f"Query “{' '.join(result.query.text.split())[:120]}”, variant {result.variant}", "dim")
    line(words.headline(told, len(result.fused), first))
    leading = len(told.missing) or len(told.absences)
    for number, reason in enumerate(words.reason_texts(told)):
        line("  " + reason, "red" if number < leading else "")
    line(words.list_text(told))
    if told.evidence:
        held = ", ".join(f"{t} {n}×" for t, n in told.evidence.terms.items())
        span = f"; verbatim in {told.evidence.verbatim_in}" if told.evidence.verbatim else ""
        line(f"Its text holds {held or 'no terms of the query'}{span}.")
    if told.rank and told.rank > 1:
        line(words.above_text(told))
        line(words.pass_text(told, name(result.fused.ids[told.rank - 2])))
    if answers:
        console.print(Text(f"\n{words.heading(answers)}", style="bold"))
        if bottom := words.bottom_line(answers):
            line(bottom)
    of_knob: dict[str, list[Effect]] = {}
    for effect in effects:
        of_knob.setdefault(effect.knob, []).append(effect)
    for answer in words.told_answers(answers):
        found = answer.verdict == "found"
        line(
            ("+ " if found else "= " if answer.verdict == "holds already" else "– ")
            + words.counterfactual_text(answer),
            "green" if found else "dim",
        )
        for moved in words.moves_text(answer, {i: name(i) for i in chunks}) if found else ():
            line("      " + moved, "dim")
        for effect in of_knob.get(answer.knob, ()):
            line(f"      judged queries: {effect.sentence}")
