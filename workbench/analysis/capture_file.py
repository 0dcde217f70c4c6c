"""A captured incident as a TOML file that the replica reader reads: small tables, one recorded chunk a line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from workbench.sources.replica.spec import COLUMNS, UNKNOWN, Incident
from workbench.stores.manifest import write_whole


def write_incident(path: Path, incident: Incident) -> None:
    """Write the file, whole or not at all."""
    write_whole(path, toml_of(incident))


def toml_of(incident: Incident) -> str:
    """The incident as TOML: what `read_incident` reads back as an equal value."""
    captured, target, filler = incident.captured, incident.target, incident.filler
    rows = [
        f"  [{r.position}, {r.length}, {list(r.tf)}, {_text(UNKNOWN) if r.cosine is None else repr(r.cosine)}, "
        f"{_text(r.project)}, {_text(r.verbatim)}],"
        for r in captured.rows
    ]
    kept = "No word of the original is in it." if captured.private else "It holds the query, the target's title and project names."
    return "\n".join([
        f"# Captured from a live collection, read-only. {kept}",
        f"# Each row of [captured] is one chunk: {', '.join(COLUMNS)}; tf follows the order of [terms],",
        f"# the cosine is that to the query, {_text(UNKNOWN)} where it is only known to be below the ceiling.",
        "",
        *_pairs({"name": incident.name, "about": incident.about, "size": incident.size, "seed": incident.seed}),
        *(line for q in incident.queries for line in ("", "[[query]]", *_pairs({"id": q.id, "text": q.text, "limit": q.limit}))),
        "", "[limits]", *_pairs({"lexical": incident.limits.lexical, "semantic": incident.limits.semantic}),
        "", "[terms]", *_pairs(incident.terms),
        *(line for c in incident.cells for line in ("", "[[cell]]", *_pairs({"holds": sorted(c.holds), "rows": c.rows}))),
        "", "[target]",
        *_pairs({k: getattr(target, k) for k in ("entity", "title", "source", "project", "note_type", "language", "position")}),
        *(line for c in target.chunks for line in ("[[target.chunk]]", *_pairs({"characters": c.characters}))),
        "", "[filler]",
        *_pairs({k: getattr(filler, k) for k in (
            "average_terms", "spread", "shortest", "longest", "near_duplicates", "exact_duplicates"
        )}),
        *_pairs({"projects": list(filler.projects)}),
        "", "[captured]",
        *_pairs({
            "private": captured.private, "after_all": captured.after_all, "cosine_mean": captured.cosine_mean,
            "cosine_spread": captured.cosine_spread, "cosine_ceiling": captured.cosine_ceiling,
            "bm25_ceiling": captured.bm25_ceiling,
        }),
        "rows = [", *rows, "]",
        "", "[captured.after]", *_pairs(captured.after),
        *(line for name, ranks in captured.ranks.items() for line in ("", f"[captured.ranks.{_text(name)}]", *_pairs(ranks))),
        "",
    ])  # fmt: skip


def _pairs(values: Mapping[str, Any]) -> Iterable[str]:
    return [f"{_text(k) if not k.isidentifier() or not k.isascii() else k} = {_value(v)}" for k, v in values.items()]


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[" + ", ".join(_value(v) for v in value) + "]"
    return _text(value) if isinstance(value, str) else repr(value)


def _text(value: str) -> str:
    # A JSON string is a TOML basic string, but for DEL, which TOML wants escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
