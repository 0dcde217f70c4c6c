"""YAML as notes hold it: text stays as written, one bad entry does not cost the others."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from workbench.sources.facets import MAX_DEPTH

_Base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

ENTRY = re.compile(r"[^\s#:\-][^:\n]*:(?:\s|$)")
# A value that opens with one of these has a structure that was meant; the rest of a line is plain text.
STRUCTURE_MARKS = tuple("[]{}&*!|>%@`\"'#")
TAB_WIDTH = 2


class _Loader(_Base):
    """Composes nodes only; nothing is ever constructed from a tag."""

    yaml_implicit_resolvers: dict = {}


# YAML 1.2's core schema: `no` is a word, `09:58` a text, a date stays as it was written.
for _tag, _pattern, _first in (
    ("null", r"(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("bool", r"(?:true|True|TRUE|false|False|FALSE)$", list("tTfF")),
    ("int", r"[-+]?(?:0|[1-9][0-9]{0,17})$", list("-+0123456789")),
    ("float", r"[-+]?(?:0|[1-9][0-9]{0,17})\.[0-9]+(?:[eE][-+]?[0-9]{1,3})?$", list("-+0123456789")),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_pattern), _first)


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
            line = min(line, start + len(text.rstrip().split("\n")))  # the parser may mark the line behind it
            key, _, value = text.strip().partition(":")
            plain = "\n" not in text.strip() and ENTRY.match(text) and not value.strip().startswith(STRUCTURE_MARKS)
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
    parts = [(a, "\n".join(lines[a:b])) for a, b in zip(starts, [*starts[1:], len(lines)], strict=True)]
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
        return Entries(mapping=False, problems=[(root.start_mark.line + 1, "front matter is not a mapping")])
    found, seen = Entries(), set()
    for key_node, node in root.value:
        key = _key(key_node)
        if key in found.values:
            found.problems.append((key_node.start_mark.line + 1, f"{key!r} stands twice, the last is kept"))
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
        read = {"null": lambda _: None, "bool": lambda v: v.lower() == "true", "int": int, "float": float}.get(kind)
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
