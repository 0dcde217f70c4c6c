"""A comparison of two ledgers in words: what changed, to the single value, and what can have done it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from workbench.analysis.ledger import Comparison, Ledger

# As many characters of a hash tell two runs apart; the ledgers have it whole.
_HASH_SHOWN = 12
SINGULAR = (("code",), ("machine",))


@dataclass(frozen=True, slots=True)
class Leaf:
    """One value of one row that changed: `path` is the field, then keys and 1-based places, joined by dots."""

    id: str
    path: str
    before: Any
    after: Any
    timing: bool
    superseded: bool = False


def leaves(comparison: Comparison) -> list[Leaf]:
    """Every changed value of every changed field, tables and lists taken apart."""
    return [
        Leaf(c.id, path, old, new, c.timing, c.superseded)
        for c in comparison.changes
        for path, old, new in _leaves(c.field, c.before, c.after)
    ]


def differing(before: Ledger, after: Ledger, comparison: Comparison) -> dict[str, list[Leaf]]:
    """For each cause that is a part of the header, the values of it that differ."""
    return {
        cause: [Leaf("", path.removeprefix(f"{cause}."), old, new, False)
                for path, old, new in _leaves(cause, before.header.get(cause), after.header.get(cause))]
        for cause in comparison.causes if cause in before.header or cause in after.header
    }  # fmt: skip


def sentence(comparison: Comparison) -> str:
    """What changed and what can have done it, as far as the two headers can tell."""
    changed = len({c.id for c in comparison.changes if c.drift})
    causes = comparison.causes
    differ = f"{_joined(causes)} {'differs' if causes in SINGULAR else 'differ'}"
    if not changed:
        return f"nothing changed, though {differ}" if causes else "nothing changed"
    told = f"{changed} claim{'s' if changed > 1 else ''} changed"
    if causes == ("chance",):
        return f"{told}, and all that the two runs stood on is equal: chance did it"
    if len(causes) == 1:
        return f"{told}, and of what the two runs stood on only {differ}"
    return f"{told}; {differ}, and any of them can have done it"


def shown(value: Any) -> str:
    """A value in a line: a hash by its beginning."""
    if isinstance(value, str) and len(value) == 64 and all(c in "0123456789abcdef" for c in value):
        return value[:_HASH_SHOWN]
    return "nothing" if value is None else str(value)


def _joined(names: tuple[str, ...]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def _leaves(path: str, old: Any, new: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in [*new, *(k for k in old if k not in new)]:
            if old.get(key) != new.get(key) or (key in old) != (key in new):
                yield from _leaves(f"{path}.{key}", old.get(key), new.get(key))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for place, (a, b) in enumerate(zip(old, new, strict=True), 1):
            if a != b:
                yield from _leaves(f"{path}.{place}", a, b)
    else:
        yield path, old, new
