"""Scrubbing: what changes from run to run and means nothing is made equal, for comparing only.

The rules are data (`data/matching/scrubbing.toml`, and a project's own behind them); see `rules.py`. What is stored
keeps its values.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from workbench.matching.rules import Rule, RuleSet, Seen, read_rules
from workbench.settings import project_root

FILE = ("data", "matching", "scrubbing.toml")


@cache
def _shipped() -> RuleSet:
    return RuleSet(read_rules(project_root().joinpath(*FILE))[0])


def scrubbing(more: Sequence[Rule] = (), without: Sequence[str] = ()) -> RuleSet:
    """The shipped rules but those named, with a project's own at the end."""
    kept = RuleSet(tuple(r for r in _shipped().rules if r.name not in without))
    return kept.extended(more)


def normal_text(rules: RuleSet, text: str, seen: Seen) -> str:
    """Scrubbed, and every run of white space one blank."""
    return " ".join(rules.apply(text, seen).split())
