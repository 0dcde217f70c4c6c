"""The pages of docs/ that are made from registrations, so that they say what the code does and nothing older."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable

from workbench.registry import Entry, entries

# The kinds of parts that a variant is made of, in the order in which a search runs them.
PARTS = {
    "channel": ("Channels", "A channel turns a query into one ranked list."),
    "policy": (
        "Candidate policies",
        "A policy says which points the lexical channel reads, and in which order, up to its cap.",
    ),
    "derived": (
        "Derived lists",
        "A derived list is made of what the channels have read; it asks no engine for candidates.",
    ),
    "prior": ("Priors", "A prior moves rows by what is known of them beside the query."),
    "fusion": (
        "Fusions",
        "A fusion turns the lists into one ranking, ties by score, then best single rank, then point id.",
    ),
}
MADE = "<!-- made by `workbench docs` from the registrations: change those, not this page -->"
_CODE_OR_MARK = re.compile(r"`[^`]*`|[<*]")


def variants_page() -> str:
    """Every registered variant with its law, knobs and plan, then the parts that they are made of."""
    from workbench.retrieval.variant import variant

    known = entries("variant")
    lines = [
        MADE,
        "",
        "# Variants",
        "",
        "A variant is a named composition: channels make lists, derived lists are added, one fusion ranks the rows. Name one"
        ' with `--variant` or `variant=`; give its knobs with `variant("adr_0172", cap=512)`. [search.md](search.md) shows how'
        " to make one of your own. The notes variants are searched as a whole, as their document has them: [notes.md](notes.md).",
        "",
        *table(
            ("variant", "what it is"),
            ((f"[`{n}`](#{n})", in_markdown(e.law)) for n, e in known.items()),
        ),
    ]
    for name, entry in known.items():
        lines += ["", f"## {name}", "", "\n\n".join(_about(entry)), ""]
        if entry.parameters:
            lines += [f"Knobs: {_knobs(entry)}", ""]
        lines += ["```text", variant(name).plan(), "```"]
    lines += ["", "# Parts"]
    for kind, (title, about) in PARTS.items():
        if found := entries(kind):
            lines += ["", f"## {title}", "", about, ""]
            lines += [
                f"- **`{n}({', '.join(_signature(e))})`**: {' '.join(_about(e))}"
                for n, e in found.items()
            ]
    return "\n".join(lines) + "\n"


def readers_page() -> str:
    """Every registered reader with its law and parameters."""
    known = entries("reader")
    lines = [
        MADE,
        "",
        "# Readers",
        "",
        "A reader turns a source into chunks. `workbench load SOURCE --as NAME` finds it by the source; `--kind` names it. Its"
        " parameters are options of `load` where they are common, and `-p NAME=VALUE` otherwise.",
        "",
        *table(
            ("reader", "source"), ((f"[`{n}`](#{n})", in_markdown(e.law)) for n, e in known.items())
        ),
    ]
    for name, entry in known.items():
        lines += ["", f"## {name}", "", "\n\n".join(_about(entry))]
        if entry.parameters:
            rows = (
                (f"`{p.name}`", f"`{_type(p)}`", f"`{_default(p)}`")
                for p in entry.parameters.values()
            )
            lines += ["", *table(("parameter", "type", "default"), rows)]
    return "\n".join(lines) + "\n"


PAGES = {"variants.md": variants_page, "readers.md": readers_page}


def paragraphs(text: str | None) -> list[str]:
    """A docstring's paragraphs, each one line of Markdown."""
    found = inspect.cleandoc(text or "").split("\n\n")
    return [in_markdown(" ".join(part.split())) for part in found]


def in_markdown(text: str) -> str:
    """A docstring's words in Markdown: code stays code, other marks are what they are."""
    return _CODE_OR_MARK.sub(lambda m: m[0] if m[0].startswith("`") else f"\\{m[0]}", text)


def _about(entry: Entry) -> list[str]:
    return paragraphs(entry.function.__doc__)


def _knobs(entry: Entry) -> str:
    return ", ".join(f"`{text}`" for text in _signature(entry))


def _signature(entry: Entry) -> list[str]:
    return [
        p.name if p.default is inspect.Parameter.empty else f"{p.name}={_default(p)}"
        for p in entry.parameters.values()
    ]


def _type(parameter: inspect.Parameter) -> str:
    annotation = parameter.annotation
    text = (
        annotation
        if isinstance(annotation, str)
        else getattr(annotation, "__name__", str(annotation))
    )
    return "" if text == "_empty" else text.replace('"', "'")


def _default(parameter: inspect.Parameter) -> str:
    return (
        "needed" if parameter.default is inspect.Parameter.empty else str(parameter.default) or '""'
    )


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    def line(cells: Iterable[str]) -> str:
        return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"

    return [line(head), line("---" for _ in head), *map(line, rows)]
