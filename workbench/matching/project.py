"""A project's settings and rules, kept in its library: what a new file starts with, how they change, who is told.

Everything derived from the rules (fingerprints, words) is made anew in the transaction that changes them, so that the
file always agrees with itself; an object that has the file open takes over what another process changed.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Mapping
from typing import Any

from workbench.matching.fingerprint import Normal
from workbench.matching.redaction import redaction
from workbench.matching.remake import remake
from workbench.matching.rules import BadRule, Rule, RuleSet, rule_from
from workbench.matching.schema import transaction
from workbench.matching.scrubbing import scrubbing
from workbench.matching.settings import MatchingSettings

KEY_BYTES = 16
KINDS = ("redaction", "scrubbing")


class Project:
    """The settings and rules of an open file. `settings` and `key` are what a new file starts with."""

    def __init__(self, db: sqlite3.Connection, settings: MatchingSettings | None, key: bytes | None) -> None:
        self.db = db
        given = {"settings": (settings or MatchingSettings()).as_json(), "key": (key or os.urandom(KEY_BYTES)).hex(),
                 "redaction": "[]", "scrubbing": "[]", "dropped": "[]", "normal": ""}  # fmt: skip
        if self.get("normal") is None:
            with transaction(db):
                db.executemany("INSERT OR IGNORE INTO settings VALUES (?, ?)", given.items())
        self._read()
        if (
            self._made_by != self.normal.hash
        ):  # the shipped rules are no longer those that made the fingerprints
            with transaction(db):
                self._remake()

    def _read(self) -> None:
        self._version = self._data_version()
        self._told, self._made_by = self.get("settings"), self.get("normal")
        self.settings = MatchingSettings.from_json(self._told)
        self.normal = self._normal(self.settings)

    def _normal(self, settings: MatchingSettings) -> Normal:
        hidden = redaction(bytes.fromhex(self.get("key")), self.own_rules("redaction"))
        seen = scrubbing(self.own_rules("scrubbing"), json.loads(self.get("dropped")))
        return Normal(hidden, seen, settings.include_params, settings.tail_n)

    def refresh(self) -> bool:
        """Take over what another process changed; True if settings or rules are new."""
        if self._data_version() == self._version:
            return False
        before = self._told, self._made_by
        self._version = self._data_version()
        if (self.get("settings"), self.get("normal")) == before:
            return False
        self._read()
        return True

    def _data_version(self) -> int:
        return self.db.execute("PRAGMA data_version").fetchone()[0]

    def get(self, name: str) -> str | None:
        row = self.db.execute("SELECT value FROM settings WHERE name = ?", (name,)).fetchone()
        return row[0] if row else None

    def _set(self, name: str, value: str) -> None:
        self.db.execute("UPDATE settings SET value = ? WHERE name = ?", (value, name))

    def own_rules(self, kind: str) -> tuple[Rule, ...]:
        """The project's own rules of a kind, "redaction" or "scrubbing", behind the shipped ones."""
        return tuple(rule_from(r, kind) for r in json.loads(self.get(kind)))

    def rules(self, kind: str) -> RuleSet:
        """All rules of a kind that work here. Raises BadRule for an unknown kind."""
        self._known(kind)
        return self.normal.redaction.rules if kind == "redaction" else self.normal.scrubbing

    def add_rule(self, kind: str, rule: Mapping[str, Any]) -> None:
        """Add a rule of the project's own, or replace the one with its name. A redaction rule also cleans what is
        stored already. Raises BadRule."""
        self._known(kind)
        rule_from(rule, kind)
        with transaction(self.db):
            kept = [r for r in json.loads(self.get(kind)) if r["name"] != rule["name"]]
            self._set(kind, json.dumps([*kept, dict(rule)]))
            self._remake()

    def drop_rule(self, name: str) -> None:
        """Scrub no more by this rule, because what it hides is what this project asks about. Raises BadRule.

        Redaction rules cannot be dropped.
        """
        known = [r.name for r in self.normal.scrubbing.rules]
        if name not in known:
            raise BadRule(f"no scrubbing rule {name!r}", do=f"There are: {', '.join(known)}")
        with transaction(self.db):
            self._set(
                "scrubbing", json.dumps([r for r in json.loads(self.get("scrubbing")) if r["name"] != name])
            )
            self._set("dropped", json.dumps(sorted({*json.loads(self.get("dropped")), name})))
            self._remake()

    def change(self, settings: MatchingSettings) -> None:
        """Keep these settings, for good."""
        with transaction(self.db):
            self._set("settings", settings.as_json())
            self._remake()

    def _remake(self) -> None:
        """Inside a transaction: derive everything anew where rules or what is compared have changed."""
        normal = self._normal(MatchingSettings.from_json(self.get("settings")))
        if self.get("normal") != normal.hash:
            remake(self.db, normal)
            self._set("normal", normal.hash)
        self._read()

    def _known(self, kind: str) -> None:
        if kind not in KINDS:
            raise BadRule(f"no rule set {kind!r}", do=f"There are: {', '.join(KINDS)}")
