"""Found values as facets: one rule for front matter, tables and payloads."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any

import yaml

from workbench.sources.base import SourceError
from workbench.types import Facets

# ---- Found values as facets: one rule for front matter, tables and payloads ----

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Numbers of 9 to 10 digits are seconds since 1970 and of 12 to 13 milliseconds (Dendron writes these); 8 digits
# are a date without hyphens.
EPOCH_SECONDS = re.compile(r"-?\d{9,10}")
EPOCH_MILLISECONDS = re.compile(r"-?\d{12,13}")
# `2026-01-01 10:00:00 +0200`, as git and site generators write it.
BLANK_BEFORE_OFFSET = re.compile(r"(?<=\d)\s+(?=[+-]\d{2}:?\d{2}$|Z$)")
# What both stores and canonical JSON hold as a number.
INT64 = 2**63
# Deeper than any front matter or payload that is meant to be filtered by; keeps the recursion far from Python's.
MAX_DEPTH = 32


@dataclass(frozen=True, slots=True)
class Reading:
    """Facets, and (facet, what was odd about its value) pairs."""

    facets: Facets
    problems: tuple[tuple[str, str], ...] = ()


def time_of(value: Any) -> tuple[str | None, str]:
    """ISO 8601 text and what was odd: a day stays a day, an instant with a zone becomes UTC (`…Z`), one without
    a zone stays without and is said. Unreadable: (None, why)."""
    if isinstance(value, datetime):
        return _instant(value)
    if isinstance(value, date):
        return value.isoformat(), ""
    text = "" if isinstance(value, bool) else str(value).strip()
    try:
        if EPOCH_MILLISECONDS.fullmatch(text):
            return _instant(EPOCH + timedelta(milliseconds=int(text)))
        if EPOCH_SECONDS.fullmatch(text):
            return _instant(EPOCH + timedelta(seconds=int(text)))
        if len(text) <= 10 and "T" not in text and ":" not in text:
            return date.fromisoformat(text).isoformat(), ""
        return _instant(datetime.fromisoformat(BLANK_BEFORE_OFFSET.sub("", text)))
    except (ValueError, OverflowError):
        return None, f"{_short(value)} is not an ISO 8601 time"


def _instant(when: datetime) -> tuple[str, str]:
    if when.tzinfo is None:
        return when.isoformat(), f"{when.isoformat()} has no time zone"
    return when.astimezone(UTC).isoformat().replace("+00:00", "Z"), ""


def tags_of(value: Any) -> tuple[tuple[str, ...], str]:
    """Tags in order, each once, without a leading `#`, and what was odd. Text is split at commas, or, where it
    holds none, at white space."""
    if value is None:
        return (), ""
    problem = ""
    if isinstance(value, str):
        parts: Sequence[Any] = value.split(",") if "," in value else value.split()
        problem = "tags are a text, not a list" if len(parts) != 1 else ""
    elif isinstance(value, list | tuple):
        parts = value
    else:
        return (), f"tags are a {type(value).__name__}, not a list"
    texts = (_tag(part) for part in parts if part is not None and not isinstance(part, dict | list))
    if any(isinstance(part, dict | list) for part in parts):
        problem = "tags hold nested values, left out"
    return tuple(dict.fromkeys(t for t in texts if t)), problem


def _tag(part: Any) -> str:
    return str(part).strip().removeprefix("#").strip()


def text_of(value: Any) -> str | None:
    """One value as facet text; empty is absent. Raises ValueError for a list or mapping."""
    if isinstance(value, dict | list | tuple):
        raise ValueError
    if isinstance(value, bool):
        return "true" if value else "false"
    text = "" if value is None else str(value).strip()
    return text or None


def facets_of(named: Mapping[str, Any], rest: Mapping[str, Any]) -> Reading:
    """Facets of values by facet name, the rest flattened to `metadata`.

    A value that its facet cannot hold moves to the metadata under the facet's name and is a problem.
    """
    problems: list[tuple[str, str]] = []
    values: dict[str, Any] = {}
    odd: dict[str, Any] = {}
    for name in ("project", "note_type", "status", "path"):
        try:
            values[name] = text_of(named.get(name))
        except ValueError:
            odd[name] = named[name]
            problems.append((name, f"{name} is a {type(named[name]).__name__}, not a text"))
    for name in ("created", "updated"):
        if named.get(name) in (None, ""):
            continue
        values[name], problem = time_of(named[name])
        if values[name] is None:
            odd[name] = named[name]
        if problem:
            problems.append((name, f"{name} {problem}"))
    values["tags"], problem = tags_of(named.get("tags"))
    if problem:
        problems.append(("tags", problem))
    return Reading(Facets(**values, metadata=flat({**odd, **rest})), tuple(problems))


def flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """A flat mapping: nested keys joined by dots, list positions as keys where a list holds containers, empty
    values left out, keys in the order found. Raises SourceError beyond MAX_DEPTH levels."""
    return dict(_leaves("", values, 0))


def _leaves(prefix: str, value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    if depth > MAX_DEPTH and isinstance(value, Mapping | list | tuple):
        raise SourceError(f"values nested deeper than {MAX_DEPTH} levels", where=prefix[:80])
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(f"{prefix}.{key}" if prefix else str(key), inner, depth + 1)
    elif isinstance(value, list | tuple):
        if any(isinstance(v, Mapping | list | tuple) for v in value):
            for position, inner in enumerate(value):
                yield from _leaves(f"{prefix}.{position}", inner, depth + 1)
        elif value:
            yield prefix, [_scalar(v) for v in value if v is not None]
    elif value is not None and value != "":
        yield prefix, _scalar(value)


def _scalar(value: Any) -> Any:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if -INT64 <= value < INT64 else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, date | datetime):
        return value.isoformat()
    return str(value)


def _short(value: Any, chars: int = 40) -> str:
    text = repr(value)
    return text if len(text) <= chars else text[:chars] + "…"


# ---- YAML as notes hold it: text stays as written, one bad entry does not cost the others ----

_Base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

ENTRY = re.compile(r"[^\s#:\-][^:\n]*:(?:\s|$)")
# A value that opens with one of these has a structure that was meant; the rest of a line is plain text.
STRUCTURE_MARKS = tuple("[]{}&*!|>%@`\"'#")
TAB_WIDTH = 2


class _Loader(_Base):
    """Composes nodes only; nothing is ever constructed from a tag."""

    yaml_implicit_resolvers: dict = {}


# YAML 1.2's core schema: `no` is a word, `09:58` a text, a date stays as it was written.
for _yaml_tag, _pattern, _first in (
    ("null", r"(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("bool", r"(?:true|True|TRUE|false|False|FALSE)$", list("tTfF")),
    ("int", r"[-+]?(?:0|[1-9][0-9]{0,17})$", list("-+0123456789")),
    (
        "float",
        r"[-+]?(?:0|[1-9][0-9]{0,17})\.[0-9]+(?:[eE][-+]?[0-9]{1,3})?$",
        list("-+0123456789"),
    ),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_yaml_tag}", re.compile(_pattern), _first)


@dataclass(slots=True)
class Entries:
    """Values by key, the plain text of those that are one scalar, the line of each key, and problems with their
    line. Lines are 1-based within the block."""

    values: dict[str, Any] = field(default_factory=dict)
    written: dict[str, str] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    problems: list[tuple[int, str]] = field(default_factory=list)
    mapping: bool = True


class _Refused(ValueError):
    pass


def read_entries(block: str) -> Entries:
    """The entries of a YAML block.

    What does not parse as a whole is read again with tabs as blanks, then entry by entry: an entry that fails is
    kept as text where it is one line of plain text, else left out; both are problems that name the line.
    """
    try:
        return _parse(block)
    except (yaml.YAMLError, _Refused) as error:
        first = error
    if "\t" in block:
        line = block[: block.index("\t")].count("\n") + 1
        try:
            entries = _parse(block.expandtabs(TAB_WIDTH))
        except (yaml.YAMLError, _Refused):
            pass
        else:
            entries.problems.insert(0, (line, "a tab where YAML wants blanks"))
            return entries
    return _salvage(block, first)


def _salvage(block: str, error: Exception) -> Entries:
    found = Entries(problems=[] if ENTRY.search(block) else [_problem(error, 0)])
    for start, text in _split(block.expandtabs(TAB_WIDTH)):
        try:
            one = _parse(text)
            if not one.mapping:
                raise _Refused("not `key: value`")
        except (yaml.YAMLError, _Refused) as error:
            line, what = _problem(error, start)
            line = min(
                line, start + len(text.rstrip().split("\n"))
            )  # the parser may mark the line behind it
            key, _, value = text.strip().partition(":")
            plain = (
                "\n" not in text.strip()
                and ENTRY.match(text)
                and not value.strip().startswith(STRUCTURE_MARKS)
            )
            if plain:
                found.values[key] = found.written[key] = value.strip()
                found.lines[key] = start + 1
            found.problems.append((line, f"{what}, {'kept as text' if plain else 'left out'}"))
        else:
            found.values.update(one.values)
            found.written.update(one.written)
            found.lines.update({key: line + start for key, line in one.lines.items()})
            found.problems += [(line + start, what) for line, what in one.problems]
    return found


def _split(block: str) -> list[tuple[int, str]]:
    """(lines before it, text) of each top-level entry with its continuation lines."""
    lines = block.split("\n")
    starts = [n for n, line in enumerate(lines) if n == 0 or ENTRY.match(line)]
    parts = [
        (a, "\n".join(lines[a:b])) for a, b in zip(starts, [*starts[1:], len(lines)], strict=True)
    ]
    return [(a, text) for a, text in parts if text.strip() and not text.lstrip().startswith("#")]


def _parse(block: str) -> Entries:
    loader = _Loader(block)
    try:
        root = loader.get_single_node()
    finally:
        loader.dispose()
    if root is None:
        return Entries()
    if not isinstance(root, yaml.MappingNode):
        return Entries(
            mapping=False, problems=[(root.start_mark.line + 1, "front matter is not a mapping")]
        )
    found, seen = Entries(), set()
    for key_node, node in root.value:
        key = _key(key_node)
        if key in found.values:
            found.problems.append(
                (key_node.start_mark.line + 1, f"{key!r} stands twice, the last is kept")
            )
        found.values[key] = _value(node, seen, 0)
        found.lines[key] = key_node.start_mark.line + 1
        if isinstance(node, yaml.ScalarNode) and found.values[key] is not None:
            found.written[key] = node.value
    return found


def _key(node: yaml.Node) -> str:
    return node.value if isinstance(node, yaml.ScalarNode) else "?"


def _value(node: yaml.Node, seen: set[int], depth: int) -> Any:
    if isinstance(node, yaml.ScalarNode):
        kind = node.tag.rpartition(":")[2]
        read = {
            "null": lambda _: None,
            "bool": lambda v: v.lower() == "true",
            "int": int,
            "float": float,
        }.get(kind)
        try:
            return read(node.value) if read else node.value
        except ValueError:
            return node.value
    if id(node) in seen:  # an alias: a few of them can stand for billions of values
        raise _Refused("an alias (`*name`) is not read")
    seen.add(id(node))
    if depth == MAX_DEPTH:
        raise _Refused(f"nested deeper than {MAX_DEPTH} levels")
    if isinstance(node, yaml.MappingNode):
        return {_key(k): _value(v, seen, depth + 1) for k, v in node.value}
    return [_value(v, seen, depth + 1) for v in node.value]


def _problem(error: Exception, before: int) -> tuple[int, str]:
    mark = getattr(error, "problem_mark", None)
    line = before + (mark.line + 1 if mark else 1)
    what = getattr(error, "problem", None) or str(error)
    return line, what


# ---- A note's front matter: YAML between two `---` lines becomes facets, title and metadata ----

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
    "updated": (
        "updated",
        "updated_at",
        "updated-at",
        "modified",
        "last_modified",
        "lastmod",
        "date_modified",
    ),
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
        present = [
            by_lower[s] for s in spellings if s in by_lower and values[by_lower[s]] is not None
        ]
        if present:
            keys[name] = present[0]
    named = {name: written.get(key, values[key]) for name, key in keys.items()}
    rest = {key: value for key, value in values.items() if key not in keys.values()}
    return named, rest, keys
