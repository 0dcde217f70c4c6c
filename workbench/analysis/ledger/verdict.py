"""From what a claim expects and what was measured to its verdict. HOLDS is earned, never stated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeVar

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
EVIDENCE = MEASURED, FITTED, ON_PAPER, BY_CONSTRUCTION, NO_EVIDENCE = (
    "measured",
    "measured on a replica fitted to this figure",
    "on paper",
    "by construction",
    "not measurable here",
)
"""What a verdict rests on. A figure that a replica was built to show is no independent evidence of it."""

Cause = Literal["", "duration", "install"]
"""Why a claim differs, where it is not a difference in substance: only durations, or only this installation."""

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
    """What a measure returns. `value` is JSON data; `where` says on what it was measured.

    `verdict` may be DIFFERS, INCONCLUSIVE (`note` says what would decide it) or NOT MEASURABLE HERE (`note`
    says why); it is the verdict of what `expected` names and `value` does not have. None derives it all from
    the claim. Paths into `value` (keys joined by dots, `*` for any one key, "" for all of it) name its parts:
    `timing` are durations (True: a value that is one), `timing_ratios` figures computed from durations, `install` figures
    that depend on what is installed here. `data` is for charts and is not in the ledger. Raises NoVerdict.
    """

    value: Any
    where: str
    note: str = ""
    verdict: Verdict | None = None
    timing: bool | Sequence[str] = ()
    data: Any = None
    timing_ratios: Sequence[str] = ()
    install: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.verdict not in (None, *VERDICTS):
            raise NoVerdict(
                f"unknown verdict {self.verdict!r}",
                do=f"Use one of {', '.join(VERDICTS[1:])}, or none",
            )
        if self.verdict == HOLDS:
            raise NoVerdict(
                "a measure cannot state HOLDS", do="Return the value; the comparison decides"
            )
        if self.verdict and not self.note.strip():
            raise NoVerdict(f"{self.verdict} without a note", do="Say why, or what would decide it")
        if not self.where.strip():
            raise NoVerdict("a measure must say where it measured")
        object.__setattr__(self, "value", plain(self.value, "measured"))
        if self.timing is True and isinstance(self.value, Mapping):
            raise NoVerdict(
                "a table is no duration", do='Name its durations: timing=["seconds", "*.ms"]'
            )
        if isinstance(self.timing, bool):
            object.__setattr__(self, "timing", ("",) if self.timing else ())


_Measure = TypeVar("_Measure", bound=Callable[..., Measured])
Shape = Mapping[str, Any]


def returns(*keys: str | Mapping[str, Any]) -> Callable[[_Measure], _Measure]:
    """Declare the keys that a measure's value has, so that a misspelt key in `expected` is found before a run.

    A nested table is a mapping: `@returns("rank", {"seconds": ["before", "after"]})`.
    """

    def declare(measure: _Measure) -> _Measure:
        measure.keys = _shape(keys)  # type: ignore[attr-defined]
        return measure

    return declare


def _shape(keys: Sequence[str | Mapping[str, Any]]) -> Shape:
    found: dict[str, Any] = {}
    for key in keys:
        found |= {key: None} if isinstance(key, str) else {k: _shape(v) for k, v in key.items()}
    return found


def unknown_keys(expected: Any, shape: Shape | None, path: str = "") -> Iterator[str]:
    """A sentence for each key of `expected` that a measure's declared keys do not have."""
    if shape is None or not isinstance(expected, Mapping) or bound_of(expected) is not None:
        return
    for key, value in expected.items():
        if key in shape:
            yield from unknown_keys(value, shape[key], f"{path}{key}.")
        else:
            yield f"expected names {path + key!r}, which is not measured; there are {', '.join(path + k for k in shape)}"


def kinds_of(kind: str) -> tuple[str, ...]:
    """`behaviour + arith` as its parts. Raises NoVerdict for an unknown one."""
    parts = tuple(p.strip() for p in kind.split("+"))
    for part in parts:
        if part not in KINDS:
            raise NoVerdict(f"unknown kind {part!r}", do=f"Known: {', '.join(KINDS)}")
    return parts


class Judgement(NamedTuple):
    """A verdict, its note, and why it differs where that is not in substance."""

    verdict: Verdict
    note: str
    cause: Cause = ""


def judge(
    kind: str,
    expected: Any,
    tolerance: Any,
    measured: Measured,
    *,
    open_here: Sequence[str] = (),
    independent: Sequence[str] = (),
) -> Judgement:
    """Compare what was measured with what is expected; a verdict that the measure states is that of the rest.

    `open_here` are paths of `expected` that only a run of full size decides. `independent` are keys that a
    fitted replica was not fitted to: the note judges them apart. A production claim never holds here.
    Raises NoVerdict.
    """
    value, stated = measured.value, measured.verdict
    if value is None:
        if stated is None:
            raise NoVerdict("the measure returned no value and no verdict")
        return Judgement(stated, measured.note)
    if (
        stated
        and isinstance(expected, Mapping)
        and isinstance(value, Mapping)
        and bound_of(expected) is None
    ):
        expected = {k: v for k, v in expected.items() if k in value}
    found = differences(expected, value, tolerance)
    told = [measured.note, _apart(found, independent), "; ".join(map(str, found))]
    if "production" in kinds_of(kind):
        shape = f"the shape here differs: {told.pop()}" if found else "the shape here agrees"
        return Judgement(NOT_MEASURABLE, _sentences(*told, f"{PRODUCTION_NOTE}; {shape}"))
    firm = [d.path for d in found if not covers(open_here, d.path)]
    if firm:
        return Judgement(DIFFERS, _sentences(*told), _cause(firm, measured))
    if stated:
        return Judgement(stated, _sentences(*told))
    if open_here:
        what = "it" if "" in open_here else ", ".join(open_here)
        return Judgement(INCONCLUSIVE, _sentences(f"A run of full size decides {what}", *told))
    return Judgement(HOLDS, _sentences(*told))


def _apart(found: Sequence[Difference], independent: Sequence[str]) -> str:
    """How the parts agree that a replica was not fitted to."""
    if not independent:
        return ""
    off = [key for key in independent if any(covers([key], d.path) for d in found)]
    on = [key for key in independent if key not in off]
    parts = [
        f"{', '.join(keys)} {word}"
        for keys, word in ((on, "as expected"), (off, "not as expected"))
        if keys
    ]
    return f"Independent of the fit: {'; '.join(parts)}"


def _cause(paths: Sequence[str], measured: Measured) -> Cause:
    clocks = (*measured.timing, *measured.timing_ratios)  # type: ignore[misc]
    if all(covers(clocks, p) for p in paths):
        return "duration"
    return "install" if all(covers((*clocks, *measured.install), p) for p in paths) else ""


def covers(patterns: Sequence[str], path: str) -> bool:
    """True if a dotted path is one of the patterns or below it; `*` is any one key, "" is everything."""
    parts = path.split(".")
    return any(
        not p
        or (
            len(q := p.split(".")) <= len(parts)
            and all(a in ("*", b) for a, b in zip(q, parts, strict=False))
        )
        for p in patterns
    )


def _sentences(*parts: str) -> str:
    """Those parts that say something, a full stop between two of them and none doubled."""
    said = [p for p in parts if p]
    return " ".join(
        [*(p if p.endswith((".", "?", "!")) else f"{p}." for p in said[:-1]), *said[-1:]]
    )


class Difference(NamedTuple):
    """One value that does not agree, by its path (keys and 1-based places joined by dots)."""

    path: str
    expected: str
    measured: str

    def __str__(self) -> str:
        return (
            f"{self.path}: " if self.path else ""
        ) + f"expected {self.expected}, measured {self.measured}"


def differences(
    expected: Any, measured: Any, tolerance: Any = 0, path: str = ""
) -> list[Difference]:
    """What does not agree; empty where all does.

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
            raise NoVerdict(
                f"not measured: {', '.join(path + k for k in missing)}",
                do=f"Measured were: {', '.join(map(str, measured)) or 'none'}",
            )
        return [
            line
            for key, value in expected.items()
            for line in differences(
                value, measured[key], tolerance_of(tolerance, key), f"{path}{key}."
            )
        ]
    if isinstance(expected, list):
        if not isinstance(measured, list):
            raise NoVerdict(
                f"{path.rstrip('.') or 'measured'} must be a list, not {_quote(measured)}"
            )
        if len(expected) != len(measured):
            return [
                _told(
                    path,
                    f"{len(expected)} values {_quote(expected)}",
                    f"{len(measured)} {_quote(measured)}",
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
    if (
        isinstance(expected, Mapping)
        and len(expected) == 1
        and (key := next(iter(expected))) in BOUNDS
    ):
        return key
    return None


def tolerance_of(tolerance: Any, key: str) -> Any:
    """The tolerance of one key: its own where the table is by key (0 where not named), else the whole."""
    if isinstance(tolerance, Mapping) and not tolerance.keys() & {"abs", "rel"}:
        return tolerance.get(key, 0)
    return tolerance


def _outside(bound: str, limit: Any, measured: Any, tolerance: Any, path: str) -> list[Difference]:
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


def _told(path: str, expected: str, measured: str) -> Difference:
    return Difference(path.rstrip("."), expected, measured)


def _quote(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= QUOTED else f"{text[:QUOTED]}… ({len(text):,} characters)"
