"""List items that state something of their own: observations `- [category] text #tag` and relations
`- relation_type [[Target]]`, as Basic Memory writes them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from workbench.sources.chunking import Unit
from workbench.types import content_hash

MARKER = r"(?:[-*+]|\d{1,9}[.)])[ \t]+"
# A box (`[ ]`, `[x]`, `[-]`) is a task, `[text](…)`, `[text]:` and `[^1]` are links and footnotes.
OBSERVATION = re.compile(MARKER + r"\[(?!\s*[xX\-/>!?*]?\s*\])([^\[\]()^\n]{1,60})\](?![(\[:])[ \t]+(\S.*)", re.DOTALL)
# A type of one to five words and nothing behind the target but a remark in parentheses: a sentence that happens
# to hold a link is no relation.
RELATION = re.compile(
    MARKER + r"(\w[\w'-]*(?:[ \t]+[\w'-]+){0,4}):?[ \t]+\[\[([^\[\]\n]{1,1000})\]\][ \t]*(?:\(([^()\n]*)\))?\s*"
)
TAG = re.compile(r"(?<![\w#&/])#([^\W\d_][\w/-]*)")
ID_CHARS = 12


@dataclass(frozen=True, slots=True)
class Statement:
    """One item. `label` is the category or the relation type; `target` is the inside of a relation's `[[…]]`;
    `tags` are an observation's own. `id` is stable while the statement's own text is."""

    kind: Literal["observation", "relation"]
    id: str
    label: str
    text: str
    trail: tuple[str, ...]
    target: str = ""
    tags: tuple[str, ...] = ()


def find_statements(text: str, units: Sequence[Unit], note_id: str, title: str) -> Iterator[Statement]:
    """The statements of a note's text without code, in order. One that stands twice has `~2`, … behind its id."""
    seen: dict[str, int] = {}
    for unit in units:
        if unit.kind != "item":
            continue
        item = text[unit.start : unit.end].strip()
        if found := OBSERVATION.match(item):
            label, content = found[1].strip(), " ".join(found[2].split())
            made = Statement("observation", f"{note_id}#observation/{content_hash(label, content)[:ID_CHARS]}", label,
                             f"[{label}] {content}", unit.trail, tags=tuple(dict.fromkeys(TAG.findall(content))))  # fmt: skip
        elif found := RELATION.fullmatch(item):
            label, target = " ".join(found[1].split()), found[2].strip()
            shown = target.split("|", 1)[0].split("#", 1)[0].strip() or target
            remark = f" ({found[3].strip()})" if found[3] and found[3].strip() else ""
            made = Statement("relation", f"{note_id}#relation/{content_hash(label, target)[:ID_CHARS]}", label,
                             f"{title} {label} {shown}{remark}", unit.trail, target)  # fmt: skip
        else:
            continue
        seen[made.id] = seen.get(made.id, 0) + 1
        again = f"~{seen[made.id]}" if seen[made.id] > 1 else ""
        yield Statement(made.kind, made.id + again, made.label, made.text, made.trail, made.target, made.tags)
