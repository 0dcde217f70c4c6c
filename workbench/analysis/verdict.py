"""From what a claim expects and what was measured to its verdict. HOLDS is earned, never stated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from workbench.analysis.canonical import plain
from workbench.errors import WorkbenchError

Verdict = Literal["HOLDS", "DIFFERS", "INCONCLUSIVE", "NOT MEASURABLE HERE"]
HOLDS, DIFFERS, INCONCLUSIVE, NOT_MEASURABLE = VERDICTS = (
    "HOLDS",
    "DIFFERS",
    "INCONCLUSIVE",
    "NOT MEASURABLE HERE",
)

KINDS = {
    "arith": "follows from a formula: must agree exactly",
    "behaviour": "an order, a presence, an absence: must hold on the replica",
    "count": "calls, rows, rounds: counted from the trace",
    "ratio": "a timing or a size, measured as a ratio in one run",
    "production": "only the original's own production could show it: the replica shows the shape",
}
PRODUCTION_NOTE = "Only the original's own production could show it"

# An expected table with one of these as its only key is a bound and not a table of values.
BOUNDS = ("at_most", "at_least", "between", "absent")
# Two floats that agree to this share are the same result of a formula, summed in another order.
FLOAT_NOISE = 1e-12
# A difference quotes at most this many characters of a value; the ledger row has it whole.
QUOTED = 80


class NoVerdict(WorkbenchError):
    """Measured and expected cannot be compared, so the claim has no verdict."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What a measure hands back. `value` is JSON data; `where` says on what it was measured.

    `verdict` may be DIFFERS, INCONCLUSIVE (`note` says what would decide it) or NOT MEASURABLE HERE (`note`
    says why); None derives it from the claim. `timing` marks a value that changes from run to run because it
    is a duration. `data` is for the notebook's charts and stays out of the ledger. Raises NoVerdict.
    """

    value: Any
    where: str
    note: str = ""
    verdict: Verdict | None = None
    timing: bool = False
    data: Any = None

    def __post_init__(self) -> None:
        if self.verdict not in (None, *VERDICTS):
            raise NoVerdict(
                f"unknown verdict {self.verdict!r}", do=f"Use one of {', '.join(VERDICTS[1:])}, or none"
            )
        if self.verdict == HOLDS:
            raise NoVerdict("a measure cannot state HOLDS", do="Return the value; the comparison decides")
        if self.verdict and not self.note.strip():
            raise NoVerdict(f"{self.verdict} without a note", do="Say why, or what would decide it")
        if not self.where.strip():
            raise NoVerdict("a measure must say where it measured")
        object.__setattr__(self, "value", plain(self.value, "measured"))


def kinds_of(kind: str) -> tuple[str, ...]:
    """`behaviour + arith` as its parts. Raises NoVerdict for an unknown one."""
    parts = tuple(p.strip() for p in kind.split("+"))
    for part in parts:
        if part not in KINDS:
            raise NoVerdict(f"unknown kind {part!r}", do=f"Known: {', '.join(KINDS)}")
    return parts


def judge(kind: str, expected: Any, tolerance: Any, measured: Measured) -> tuple[Verdict, str]:
    """Verdict and note of a claim. A production claim never holds here. Raises NoVerdict."""
    if measured.verdict is not None:
        return measured.verdict, measured.note
    if measured.value is None:
        raise NoVerdict("the measure returned no value and no verdict")
    found = differences(expected, measured.value, tolerance)
    told = [measured.note]
    if "production" in kinds_of(kind):
        shape = f"the shape here differs: {'; '.join(found)}" if found else "the shape here agrees"
        return NOT_MEASURABLE, _sentences(*told, f"{PRODUCTION_NOTE}; {shape}")
    return (DIFFERS if found else HOLDS), _sentences(*told, "; ".join(found))


def _sentences(*parts: str) -> str:
    """Those parts that say something, a full stop between two of them and none doubled."""
    said = [p for p in parts if p]
    return " ".join([*(p if p.endswith((".", "?", "!")) else f"{p}." for p in said[:-1]), *said[-1:]])


def differences(expected: Any, measured: Any, tolerance: Any = 0, path: str = "") -> list[str]:
    """What does not agree, in words; empty where all does.

    A table is compared by the keys that `expected` names; what else was measured is evidence. A table with
    the one key at_most, at_least, between or absent is a bound. Lists agree element by element. `tolerance`
    is a number (absolute), {abs} or {rel}, or a table of those by key; it widens bounds too. Raises
    NoVerdict where a key was not measured or the types cannot be compared.
    """
    if (bound := bound_of(expected)) is not None:
        return _outside(bound, expected[bound], measured, tolerance, path)
    if isinstance(expected, Mapping):
        if not isinstance(measured, Mapping):
            raise NoVerdict(
                f"{path or 'measured'} must be a table with {', '.join(expected)}, not {_quote(measured)}"
            )
        if missing := [k for k in expected if k not in measured]:
            raise NoVerdict(f"not measured: {', '.join(path + k for k in missing)}")
        return [
            line for key, value in expected.items()
            for line in differences(value, measured[key], tolerance_of(tolerance, key), f"{path}{key}.")
        ]  # fmt: skip
    if isinstance(expected, list):
        if not isinstance(measured, list):
            raise NoVerdict(f"{path.rstrip('.') or 'measured'} must be a list, not {_quote(measured)}")
        if len(expected) != len(measured):
            return [
                _told(
                    path, f"{len(expected)} values {_quote(expected)}", f"{len(measured)} {_quote(measured)}"
                )
            ]
        pairs = enumerate(zip(expected, measured, strict=True), 1)
        return [line for i, (e, m) in pairs for line in differences(e, m, tolerance, f"{path}{i}.")]
    if measured is None:
        return [_told(path, _quote(expected), "absent")]
    if _is_number(expected) and _is_number(measured):
        agree = abs(measured - expected) <= _allowed(expected, tolerance)
    elif type(expected) is type(measured):
        agree = expected == measured
    else:
        raise NoVerdict(
            f"{path.rstrip('.') or 'measured'}: {_quote(measured)} cannot be compared with {_quote(expected)}"
        )
    return [] if agree else [_told(path, _quote(expected), _quote(measured))]


def bound_of(expected: Any) -> str | None:
    """The name of the bound that an expected table is, None where it is a value."""
    if isinstance(expected, Mapping) and len(expected) == 1 and (key := next(iter(expected))) in BOUNDS:
        return key
    return None


def tolerance_of(tolerance: Any, key: str) -> Any:
    """The tolerance of one key: its own where the table is by key (0 where not named), else the whole."""
    if isinstance(tolerance, Mapping) and not tolerance.keys() & {"abs", "rel"}:
        return tolerance.get(key, 0)
    return tolerance


def _outside(bound: str, limit: Any, measured: Any, tolerance: Any, path: str) -> list[str]:
    if bound == "absent":
        return (
            []
            if (measured is None) == limit
            else [_told(path, "absent" if limit else "present", _quote(measured))]
        )
    low, high = {"at_most": (None, limit), "at_least": (limit, None)}.get(bound) or limit
    said = {"at_most": f"at most {limit}", "at_least": f"at least {limit}"}.get(
        bound
    ) or f"between {low} and {high}"
    if measured is None:
        return [_told(path, said, "absent")]
    if not _is_number(measured):
        raise NoVerdict(
            f"{path.rstrip('.') or 'measured'}: {_quote(measured)} is no number to hold against {said}"
        )
    below = low is not None and measured < low - _allowed(low, tolerance)
    above = high is not None and measured > high + _allowed(high, tolerance)
    return [_told(path, said, _quote(measured))] if below or above else []


def _allowed(expected: float, tolerance: Any) -> float:
    if isinstance(tolerance, Mapping):
        tolerance = max(tolerance.get("abs", 0), tolerance.get("rel", 0) * abs(expected))
    return max(tolerance, FLOAT_NOISE * abs(expected))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _told(path: str, expected: str, measured: str) -> str:
    return (f"{path.rstrip('.')}: " if path else "") + f"expected {expected}, measured {measured}"


def _quote(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= QUOTED else f"{text[:QUOTED]}… ({len(text):,} characters)"
