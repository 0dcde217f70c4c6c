"""A note's front matter: YAML between two `---` lines becomes facets, title and metadata."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from workbench.sources.facets import facets_of, text_of
from workbench.sources.front_yaml import read_entries
from workbench.types import Facets

OPENING = re.compile(r"---[ \t]*\n")
CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*$\n?", re.MULTILINE)
KEY_LINE = re.compile(r"\s*[\w-]+:(?:\s|$)")

# The keys that note tools write for one facet; the first present fills it, the others stay in the metadata.
KEYS = {
    "title": ("title",),
    "project": ("project",),
    "note_type": ("type", "note_type", "note-type"),
    "tags": ("tags", "tag"),
    "status": ("status",),
    "created": ("created", "created_at", "created-at", "date_created", "date"),
    "updated": ("updated", "updated_at", "updated-at", "modified", "last_modified", "lastmod", "date_modified"),
}


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """What stood above the body. `problems` are (1-based line of the file, what)."""

    title: str | None
    facets: Facets
    body: str
    problems: tuple[tuple[int, str], ...] = ()


def split_front_matter(text: str) -> tuple[str | None, str]:
    """(block between the marks, body); (None, whole text) where the text does not open with one that closes."""
    opening = OPENING.match(text)
    closing = opening and CLOSING.search(text, opening.end())
    if not closing:
        return None, text
    return text[opening.end() : closing.start()], text[closing.end() :]


def read_front_matter(text: str, *, project: str | None, path: str) -> FrontMatter:
    """The front matter of a note's text. `project` stands where it names none; a block that is no mapping is
    text."""
    block, body = split_front_matter(text)
    if block is None:
        opening = OPENING.match(text)
        unclosed = opening and KEY_LINE.match(text, opening.end())
        problems = ((1, "front matter is not closed, read as text"),) if unclosed else ()
        return FrontMatter(None, Facets(project=project, path=path), text, problems)
    entries = read_entries(block)
    problems = [(line + 1, what) for line, what in entries.problems]
    if not entries.mapping:
        return FrontMatter(None, Facets(project=project, path=path), text, tuple(problems))
    named, rest, keys = _named(entries.values, entries.written)
    try:
        title = text_of(named.get("title"))
    except ValueError:
        rest = {"title": named["title"], **rest}
        title = None
        problems.append((entries.lines[keys["title"]] + 1, "title is not a text"))
    named["project"], named["path"] = named.get("project") or project, path
    reading = facets_of(named, rest)
    problems += [(entries.lines[keys[name]] + 1, what) for name, what in reading.problems]
    return FrontMatter(title, reading.facets, body, tuple(problems))


def _named(
    values: dict[str, Any], written: dict[str, str]
) -> tuple[dict[str, Any], dict[str, Any], dict[str, str]]:
    """(by facet name, the rest, facet name to key). A facet is the text as written: `1.10` stays `1.10`."""
    by_lower = {key.lower(): key for key in reversed(values)}
    keys = {}
    for name, spellings in KEYS.items():
        present = [by_lower[s] for s in spellings if s in by_lower and values[by_lower[s]] is not None]
        if present:
            keys[name] = present[0]
    named = {name: written.get(key, values[key]) for name, key in keys.items()}
    rest = {key: value for key, value in values.items() if key not in keys.values()}
    return named, rest, keys
