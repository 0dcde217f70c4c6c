"""The ledger: one row a claim, written by a run and never by hand, with all that the run stood on."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from workbench.analysis.canonical import canonical, plain, write_text
from workbench.analysis.verdict import VERDICTS, Verdict
from workbench.errors import WorkbenchError

LEDGER_NAME = "ledger.json"
# Header fields that say when and how long; everything else is equal in two runs of equal inputs.
TIMING_HEADER = ("when",)
# Header fields that can be the cause of a change, in the order in which they are named.
CAUSES = ("inputs", "parameters", "seeds", "code", "versions", "machine")


class BadLedger(WorkbenchError):
    """A ledger file that is missing, damaged, or of another shape."""


class DifferentInputs(WorkbenchError):
    """Two ledgers were made from different inputs: a difference between them says nothing of the code."""


class DifferentRecords(WorkbenchError):
    """Two ledgers belong to different records."""


@dataclass(frozen=True, slots=True)
class Row:
    """A claim, what was measured, and the verdict; without one the build failed and `note` says why.

    `timing` marks a measured value that is a duration: it changes from run to run, flags, and never gates.
    """

    id: str
    statement: str
    kind: str
    expected: Any
    tolerance: Any
    measured: Any
    verdict: Verdict | None
    where: str
    note: str = ""
    timing: bool = False

    def __str__(self) -> str:
        return f"{self.id} {self.verdict or 'NO VERDICT'}" + (f": {self.note}" if self.note else "")

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))


@dataclass(frozen=True, slots=True)
class Ledger:
    """Header (record, when, parameters, inputs, seeds, code, versions, machine) and rows in
    the record's order."""

    header: Mapping[str, Any]
    rows: tuple[Row, ...]

    @property
    def failed(self) -> tuple[Row, ...]:
        """The rows without a verdict."""
        return tuple(r for r in self.rows if r.verdict is None)

    @property
    def whole(self) -> bool:
        """Every claim has a verdict: the build is good, whatever the verdicts say."""
        return bool(self.rows) and not self.failed

    def tally(self) -> dict[str, int]:
        """How many rows bear each verdict, in the order of VERDICTS; those that none bears are left out."""
        counts = Counter(r.verdict for r in self.rows)
        return {v: counts[v] for v in VERDICTS if counts[v]}

    def row(self, claim_id: str) -> Row:
        for row in self.rows:
            if row.id == claim_id:
                return row
        raise BadLedger(f"no row {claim_id!r}", do=f"There are: {', '.join(r.id for r in self.rows)}")

    def without_timings(self) -> Ledger:
        """What two runs on the same inputs share: no dates, and timing rows only as claims."""
        header = {k: v for k, v in self.header.items() if k not in TIMING_HEADER}
        return Ledger(header, tuple(
            replace(r, measured=None, verdict=None, note="") if r.timing else r for r in self.rows
        ))  # fmt: skip

    def json(self) -> str:
        """Canonical JSON: equal ledgers, equal bytes."""
        return canonical({"header": self.header, "rows": self.rows})

    def write(self, directory: Path) -> Path:
        """Write `ledger.json`, whole or not at all."""
        path = directory / LEDGER_NAME
        write_text(path, self.json())
        return path

    @classmethod
    def read(cls, path: Path) -> Ledger:
        """A ledger from its file, or from the directory that holds it. Raises BadLedger."""
        path = path / LEDGER_NAME if path.is_dir() else path
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise BadLedger("no ledger", where=str(path), do="Run `workbench reproduce` first") from error
        except (OSError, ValueError) as error:
            raise BadLedger(f"a ledger that cannot be read: {error}", where=str(path)) from error
        try:
            rows = tuple(Row(**row) for row in data["rows"])
            if strange := [r.id for r in rows if r.verdict not in (None, *VERDICTS)]:
                raise BadLedger(f"unknown verdicts in rows {', '.join(strange)}", where=str(path))
            return cls(dict(data["header"]), rows)
        except (KeyError, TypeError) as error:
            raise BadLedger(f"a ledger of another shape: {error}", where=str(path)) from error

    def __str__(self) -> str:
        told = [f"{n} {v}" for v, n in self.tally().items()]
        return " · ".join(told + ([f"{len(self.failed)} WITHOUT A VERDICT"] if self.failed else []))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text("\n".join([str(self), *map(str, self.rows)]))


@dataclass(frozen=True, slots=True)
class Change:
    """One field of one row that two runs disagree on; `timing` where only a clock was read."""

    id: str
    field: str
    before: Any
    after: Any
    timing: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """`causes` are the header fields that differ ("chance" where none does and a row changed)."""

    causes: tuple[str, ...]
    changes: tuple[Change, ...]


def compare(before: Ledger, after: Ledger, *, across_inputs: bool = False) -> Comparison:
    """What changed between two runs of one record, and what could have caused it.

    Rows in the order of `after`, then those that only `before` has. Raises DifferentRecords, and
    DifferentInputs unless `across_inputs` says that it is meant.
    """
    if before.header.get("record") != after.header.get("record"):
        raise DifferentRecords(f"{before.header.get('record')!r} against {after.header.get('record')!r}")
    causes = tuple(c for c in CAUSES if plain(before.header.get(c)) != plain(after.header.get(c)))
    if "inputs" in causes and not across_inputs:
        raise DifferentInputs(
            f"the inputs differ: {_differing(before.header.get('inputs'), after.header.get('inputs'))}",
            do="Compare runs on the same inputs, or say that you mean to compare across inputs",
        )
    old, new = {r.id: r for r in before.rows}, {r.id: r for r in after.rows}
    changes = tuple(
        c for i in [*new, *(i for i in old if i not in new)] for c in _changes(i, old.get(i), new.get(i))
    )
    chance = any(not c.timing for c in changes) and not causes
    return Comparison(("chance",) if chance else causes, changes)


def _changes(claim_id: str, old: Row | None, new: Row | None) -> list[Change]:
    if old is None or new is None:
        present = "absent", "present"
        return [Change(claim_id, "row", *(present if old is None else present[::-1]), timing=False)]
    timing = old.timing and new.timing
    pairs = ((f.name, plain(getattr(old, f.name)), plain(getattr(new, f.name))) for f in fields(Row))
    return [Change(claim_id, name, a, b, timing) for name, a, b in pairs if a != b]


def _differing(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> str:
    old, new = old or {}, new or {}
    return ", ".join(name for name in sorted({*old, *new}) if old.get(name) != new.get(name))
