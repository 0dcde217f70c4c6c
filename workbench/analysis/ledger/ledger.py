"""The ledger: one row a claim, written by a run and never by hand, with all that the run stood on."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from workbench.analysis.canonical import canonical, plain, write_text
from workbench.analysis.ledger.verdict import (
    DIFFERS,
    EVIDENCE,
    MEASURED,
    VERDICTS,
    Cause,
    Verdict,
    bound_of,
    covers,
)
from workbench.errors import WorkbenchError

# ---- The ledger: one row a claim, written by a run and never by hand, with all that the run ----

LEDGER_NAME = "ledger.json"
FULL = "full"
"""The size of a run that decides every claim; a record's parameter `size` may name a smaller one."""

NO_VERDICT, SUPERSEDED = "NO VERDICT", "SUPERSEDED"
BY_CAUSE = {"": "", "duration": " BY A DURATION", "install": " BY THIS INSTALL"}
SHOWN = (
    *(f"{v}{by}" for v in VERDICTS for by in (BY_CAUSE.values() if v == DIFFERS else [""])),
    NO_VERDICT,
    SUPERSEDED,
)
"""What rows are counted under: a difference in a duration, or of this installation, is none in substance."""

_TEXTS, _JUDGED = ("note", "explanation"), ("verdict", "cause")
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

    `evidence` is what the verdict rests on. `timing` and `timing_ratios` are the paths of `measured` that are
    durations or computed from them: they change from run to run. `cause` is "duration" or "install" where only
    such a part differs, and `explanation` says of a difference how much it matters. `superseded` names what
    replaced the claim; `needs_full` are the paths of `expected` that only a run of full size decides.
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
    evidence: str = MEASURED
    timing: Sequence[str] = ()
    timing_ratios: Sequence[str] = ()
    cause: Cause = ""
    explanation: str = ""
    superseded: str = ""
    needs_full: Sequence[str] = ()

    @property
    def shown(self) -> str:
        """The verdict as it is counted and coloured: one of SHOWN."""
        if self.superseded:
            return SUPERSEDED
        return (self.verdict or NO_VERDICT) + BY_CAUSE[self.cause]

    @property
    def unsteady(self) -> tuple[str, ...]:
        """The paths of `measured` that change from run to run."""
        return (*self.timing, *self.timing_ratios)

    @property
    def judges_time(self) -> bool:
        """True if the verdict depends on a duration."""
        return any(covers(self.unsteady, path) for path in _paths(self.expected))

    def __str__(self) -> str:
        said = " ".join(filter(None, (self.explanation, self.note)))
        return f"{self.id} {self.shown}" + (f": {said}" if said else "")

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
        """The rows without a verdict, but for superseded ones."""
        return tuple(r for r in self.rows if r.verdict is None and not r.superseded)

    @property
    def reduced(self) -> str:
        """The size of a run that was not of full size, "" for a full run."""
        size = str(self.header.get("parameters", {}).get("size", FULL))
        return "" if size == FULL else size

    @property
    def whole(self) -> bool:
        """Every claim has a verdict: the build is good, whatever the verdicts say."""
        return bool(self.rows) and not self.failed

    def tally(self) -> dict[str, int]:
        """How many rows are shown under each verdict, in the order of SHOWN; those of none are left out."""
        counts = Counter(r.shown for r in self.rows)
        return {v: counts[v] for v in SHOWN if counts[v]}

    def evidence(self) -> dict[str, int]:
        """How many rows rest on each evidence, in the order of EVIDENCE; those of none are left out."""
        counts = Counter(r.evidence for r in self.rows)
        return {e: counts[e] for e in EVIDENCE if counts[e]}

    def row(self, claim_id: str) -> Row:
        for row in self.rows:
            if row.id == claim_id:
                return row
        raise BadLedger(
            f"no row {claim_id!r}", do=f"There are: {', '.join(r.id for r in self.rows)}"
        )

    def without_timings(self) -> Ledger:
        """What two runs on the same inputs share: no dates, no durations, and no verdict that depends on one."""
        header = {k: v for k, v in self.header.items() if k not in TIMING_HEADER}
        return Ledger(header, tuple(_without_timings(r) for r in self.rows))

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
            raise BadLedger(
                "no ledger", where=str(path), do="Run `workbench reproduce` first"
            ) from error
        except (OSError, ValueError) as error:
            raise BadLedger(f"a ledger that cannot be read: {error}", where=str(path)) from error
        try:
            lists = ("timing", "timing_ratios", "needs_full")
            rows = tuple(
                Row(**row | {k: tuple(row.get(k, ())) for k in lists}) for row in data["rows"]
            )
            if strange := [r.id for r in rows if r.verdict not in (None, *VERDICTS)]:
                raise BadLedger(f"unknown verdicts in rows {', '.join(strange)}", where=str(path))
            return cls(dict(data["header"]), rows)
        except (KeyError, TypeError) as error:
            raise BadLedger(f"a ledger of another shape: {error}", where=str(path)) from error

    def __str__(self) -> str:
        return " · ".join(f"{n} {v}" for v, n in self.tally().items())

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text("\n".join([str(self), *map(str, self.rows)]))


@dataclass(frozen=True, slots=True)
class Change:
    """One field of one row that two runs disagree on. `timing` if only a clock was read, `superseded` if the
    claim is: neither counts as drift."""

    id: str
    field: str
    before: Any
    after: Any
    timing: bool
    superseded: bool = False

    @property
    def drift(self) -> bool:
        return not (self.timing or self.superseded)


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
        raise DifferentRecords(
            f"{before.header.get('record')!r} against {after.header.get('record')!r}"
        )
    causes = tuple(c for c in CAUSES if plain(before.header.get(c)) != plain(after.header.get(c)))
    if "inputs" in causes and not across_inputs:
        raise DifferentInputs(
            f"the inputs differ: {_differing(before.header.get('inputs'), after.header.get('inputs'))}",
            do="Compare runs on the same inputs, or say that you mean to compare across inputs",
        )
    old, new = {r.id: r for r in before.rows}, {r.id: r for r in after.rows}
    changes = tuple(
        c
        for i in [*new, *(i for i in old if i not in new)]
        for c in _changes(i, old.get(i), new.get(i))
    )
    chance = any(c.drift for c in changes) and not causes
    return Comparison(("chance",) if chance else causes, changes)


def _changes(claim_id: str, old: Row | None, new: Row | None) -> list[Change]:
    if old is None or new is None:
        present = "absent", "present"
        return [Change(claim_id, "row", *(present if old is None else present[::-1]), timing=False)]
    clocks = [p for p in old.unsteady if p in new.unsteady]
    quiet = set(_TEXTS if clocks else ()) | set(
        _JUDGED if old.judges_time and new.judges_time else ()
    )
    found = []
    for name, a, b in (
        (f.name, plain(getattr(old, f.name)), plain(getattr(new, f.name))) for f in fields(Row)
    ):
        parts = [(a, b, name in quiet)]
        if name == "measured" and clocks:
            parts = list(zip(_split(a, clocks), _split(b, clocks), (False, True), strict=True))
        found += [
            Change(claim_id, name, x, y, timing, bool(new.superseded))
            for x, y, timing in parts
            if x != y
        ]
    return found


def _without_timings(row: Row) -> Row:
    if not row.unsteady:
        return row
    kept = replace(
        row, measured=_split(plain(row.measured), row.unsteady)[0], note="", explanation=""
    )
    return replace(kept, verdict=None, cause="") if row.judges_time else kept


def _split(value: Any, clocks: Sequence[str], path: str = "") -> tuple[Any, Any]:
    """A value without the parts at these paths, and those parts alone."""
    if covers(clocks, path):
        return None, value
    if isinstance(value, Mapping):
        parts = {k: _split(v, clocks, f"{path}.{k}" if path else k) for k, v in value.items()}
        timed = {k for k in parts if covers(clocks, f"{path}.{k}" if path else k)}
        return {k: a for k, (a, _) in parts.items() if k not in timed}, {
            k: b for k, (_, b) in parts.items() if b
        }
    if isinstance(value, list):
        places = [
            _split(v, clocks, f"{path}.{n}" if path else str(n)) for n, v in enumerate(value, 1)
        ]
        return [a for a, _ in places], [b for _, b in places]
    return value, None


def _paths(expected: Any, path: str = "") -> Iterator[str]:
    """The paths of the values and bounds of an expected table."""
    if isinstance(expected, Mapping) and bound_of(expected) is None:
        for key, value in expected.items():
            yield from _paths(value, f"{path}.{key}" if path else key)
    else:
        yield path


def _differing(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> str:
    old, new = old or {}, new or {}
    return ", ".join(name for name in sorted({*old, *new}) if old.get(name) != new.get(name))


# ---- A comparison of two ledgers in words: what changed, to the single value, and what can  ----

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
        cause: [
            Leaf("", path.removeprefix(f"{cause}."), old, new, False)
            for path, old, new in _leaves(cause, before.header.get(cause), after.header.get(cause))
        ]
        for cause in comparison.causes
        if cause in before.header or cause in after.header
    }


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
