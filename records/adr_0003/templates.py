"""Templates of questions (templates.toml): their wordings, their slots, what is volatile in them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from workbench.errors import WorkbenchError

FILE = Path(__file__).with_name("templates.toml")
SLOT = re.compile(r"\{([a-z]+)(\d?)\}")
VOLATILE = ("uuid", "time", "path", "id")
"""Slots that are filled anew in every call and never belong to the instance."""


class BadTemplate(WorkbenchError):
    """A template that names an unknown pool or system text."""


@dataclass(frozen=True, slots=True)
class Template:
    """One kind of question. `slots` are the values that make an instance, in the order of their first appearance."""

    name: str
    system: str
    ask: str
    paraphrases: tuple[str, ...]
    variants: Mapping[str, str]
    slots: tuple[tuple[str, str], ...]


@cache
def templates(path: Path | None = None) -> tuple[tuple[Template, ...], Mapping[str, Any]]:
    """(templates, pools and systems) of the TOML file. Raises BadTemplate."""
    path = path or FILE
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    made = tuple(_template(t, data, str(path)) for t in data["template"])
    return made, {
        "pools": data["pools"],
        "systems": {k: v.strip() for k, v in data["systems"].items()},
    }


def _template(table: Mapping[str, Any], data: Mapping[str, Any], where: str) -> Template:
    variants = {k: table[k].strip() for k in ("negated", "reordered", "operator") if k in table}
    texts = [
        table["ask"].strip(),
        *(p.strip() for p in table.get("paraphrases", ())),
        *variants.values(),
    ]
    slots = tuple(
        dict.fromkeys(
            found for text in texts for found in SLOT.findall(text) if found[0] not in VOLATILE
        )
    )
    for pool, _ in slots:
        if pool not in data["pools"]:
            raise BadTemplate(
                f"unknown pool {pool!r}", where=f"{where}, template {table['name']!r}"
            )
    if table["system"] not in data["systems"]:
        raise BadTemplate(
            f"unknown system {table['system']!r}", where=f"{where}, template {table['name']!r}"
        )
    return Template(
        table["name"],
        table["system"],
        texts[0],
        tuple(texts[1 : len(texts) - len(variants)]),
        variants,
        slots,
    )
