"""Rule sets as data: named patterns with examples that they must and must not match, read from TOML.

[[rule]]
name = "email"              # shown wherever the rule has worked
pattern = '...'             # Python's re; a group named `value` limits what is replaced; {start}: see START
needs = ["@"]               # the pattern is tried only where one of these stands in the text; [] always
replace = "<email-{tag}>"   # {n}: number of the distinct value in this request; {tag}: 16-bit keyed digest
matches = ["ann@example.org"]
spares = ["@decorator"]
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workbench.errors import WorkbenchError
from workbench.types import content_hash

FIELDS = ("name", "pattern", "replace", "needs", "matches", "spares", "why")
START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf])|(?<=%[0-9A-Fa-f]{2})|(?<=\\u[0-9A-Fa-f]{4}))"
"""`{start}` in a pattern: no ASCII letter or digit before, or the end of an escape. `\\b` does not see a key behind `_`
or behind a letter of another alphabet."""
TAG_BYTES = 2
"""16 bits tell two addresses in a project apart and are too few to tell who it was."""


class BadRule(WorkbenchError):
    """A rule that does not compile, lacks a field, or breaks one of its own examples."""


@dataclass(frozen=True, slots=True)
class Rule:
    name: str
    pattern: re.Pattern[str]
    replace: str
    needs: tuple[str, ...] = ()
    matches: tuple[str, ...] = ()
    spares: tuple[str, ...] = ()
    why: str = ""

    def applies(self, text: str) -> bool:
        return not self.needs or _holds(text, self.needs)


@dataclass(slots=True)
class Seen:
    """The values that one request has shown so far, by rule, and how often each rule worked.

    Equal values share a number, so that `copy A to B` and `copy A to A` stay different after scrubbing.
    """

    numbers: dict[tuple[str, str], int] = field(default_factory=dict)
    distinct: Counter[str] = field(default_factory=Counter)
    worked: Counter[str] = field(default_factory=Counter)

    def number(self, rule: str, value: str) -> int:
        if (rule, value) not in self.numbers:
            self.distinct[rule] += 1
            self.numbers[rule, value] = self.distinct[rule]
        return self.numbers[rule, value]


@dataclass(frozen=True)
class RuleSet:
    """Rules in order; each is applied to what the one before left. `key` seeds the tags."""

    rules: tuple[Rule, ...]
    key: bytes = b""

    def __post_init__(self) -> None:
        always = any(not r.needs for r in self.rules)
        needles = tuple(sorted({n for r in self.rules for n in r.needs}))
        object.__setattr__(self, "_needles", None if always else needles)

    @property
    def hash(self) -> str:
        return content_hash([[r.name, r.pattern.pattern, r.replace, r.needs] for r in self.rules])

    def touches(self, text: str) -> bool:
        """False where no rule can match: the cheap test before the real one."""
        return self._needles is None or _holds(text, self._needles)

    def apply(self, text: str, seen: Seen | None = None) -> str:
        """The text with every match replaced. `seen` carries numbers across the texts of one request."""
        seen = Seen() if seen is None else seen
        for rule in self.rules:
            if rule.applies(text):
                text = rule.pattern.sub(lambda found, rule=rule: self._put(rule, found, seen), text)
        return text

    def _put(self, rule: Rule, found: re.Match[str], seen: Seen) -> str:
        named = "value" in rule.pattern.groupindex and found["value"] is not None
        value = found["value"] if named else found[0]
        seen.worked[rule.name] += 1
        new = rule.replace
        if "{n}" in new:
            new = new.replace("{n}", str(seen.number(rule.name, value)))
        if "{tag}" in new:
            new = new.replace("{tag}", self._tag(value))
        if not named:
            return new
        start, end = found.start("value") - found.start(), found.end("value") - found.start()
        return found[0][:start] + new + found[0][end:]

    def _tag(self, value: str) -> str:
        data = value.casefold().encode("utf-8", "surrogatepass")
        return hashlib.blake2b(data, key=self.key, digest_size=TAG_BYTES).hexdigest()

    def extended(self, more: Sequence[Rule]) -> RuleSet:
        """A new set with more rules at the end; one with a known name takes that one's place."""
        by_name = {r.name: r for r in self.rules} | {r.name: r for r in more}
        return RuleSet(tuple(by_name.values()), self.key)

    def keyed(self, key: bytes) -> RuleSet:
        return RuleSet(self.rules, key)


def _holds(text: str, needles: Sequence[str]) -> bool:
    # A loop: any() over a generator takes twice as long, and this runs for every text of every call.
    for needle in needles:  # noqa: SIM110
        if needle in text:
            return True
    return False


def rule_from(data: Mapping[str, Any], where: str) -> Rule:
    """A rule from its table. Raises BadRule for an unknown or missing field, a bad pattern, a broken example."""
    name = str(data.get("name", "?"))
    where = f"{where}, rule {name!r}"
    for key in data:
        if key not in FIELDS:
            raise BadRule(f"unknown field {key!r}", where=where, do=f"Known: {', '.join(FIELDS)}")
    for key in FIELDS[:3]:
        if not isinstance(data.get(key), str) or not data[key]:
            raise BadRule(f"the field {key!r} is missing or not a text", where=where)
    try:
        pattern = re.compile(data["pattern"].replace("{start}", START))
    except re.error as error:
        raise BadRule(f"the pattern does not compile: {error}", where=where) from error
    rule = Rule(
        name, pattern, data["replace"], *(tuple(data.get(k, ())) for k in FIELDS[3:6]), data.get("why", "")
    )
    _check_examples(rule, where)
    return rule


def _check_examples(rule: Rule, where: str) -> None:
    alone = RuleSet((rule,))
    for text in rule.matches:
        if alone.apply(text) == text:
            raise BadRule(f"it must change {text!r} and does not", where=where)
    for text in rule.spares:
        if alone.apply(text) != text:
            raise BadRule(f"it must spare {text!r} and makes {alone.apply(text)!r} of it", where=where)


def read_rules(path: Path) -> tuple[tuple[Rule, ...], dict[str, Any]]:
    """The rules of a TOML file in order, and its other top-level entries."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadRule(f"the rules cannot be read: {error}", where=str(path)) from error
    rules = tuple(rule_from(r, str(path)) for r in data.pop("rule", []))
    doubled = [n for n, c in Counter(r.name for r in rules).items() if c > 1]
    if doubled:
        raise BadRule(f"two rules are named {doubled[0]!r}", where=str(path))
    return rules, data
