"""The format of a record file: every fault in it, in words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter
from typing import Any

from workbench.analysis.verdict import BOUNDS, EVIDENCE, FITTED, NoVerdict, bound_of, covers, kinds_of

_RECORD_ID = re.compile(r"[a-z][a-z0-9-]*")
_CLAIM_ID = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_MEASURE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")

RECORD_KEYS = {"title": str, "text": str, "notebook": str, "superseded": str, "parameters": dict, "claims": list}
OPTIONAL = ("parameters", "superseded")
CLAIM_KEYS = ("id", "statement", "kind", "expected", "tolerance", "measure", "args", "section",
              "evidence", "independent", "needs_full", "if_differs", "superseded")  # fmt: skip
CLAIM_NEEDS = ("id", "statement", "kind", "expected", "measure")
_TYPE_NAMES = {str: "a text that is not empty", dict: "a table", list: "a list"}


def faults(record_id: str, data: dict[str, Any]) -> Iterator[str]:
    """All faults of a parsed record file; none where it is right."""
    if not _RECORD_ID.fullmatch(record_id):
        yield f"the folder's name {record_id!r} must be small letters, digits and `_`, a letter first"
    yield from (f"unknown key {k!r} (known: {', '.join(RECORD_KEYS)})" for k in data if k not in RECORD_KEYS)
    for key, kind in RECORD_KEYS.items():
        if key not in data and key not in OPTIONAL:
            yield f"{key!r} is missing"
        elif key in data and (not isinstance(data[key], kind) or (kind is str and not data[key].strip())):
            yield f"{key!r} must be {_TYPE_NAMES[kind]}"
    if isinstance(data.get("notebook"), str) and (
        Path(data["notebook"]).is_absolute() or ".." in data["notebook"]
    ):
        yield f"'notebook' must be a path inside the project, not {data['notebook']!r}"
    if isinstance(data.get("parameters"), dict):
        yield from (
            f"parameters.{k} must be a text" for k, v in data["parameters"].items() if not isinstance(v, str)
        )
    claims = data.get("claims")
    if not isinstance(claims, list):
        return
    if not claims:
        yield "there are no claims"
    seen: set[str] = set()
    for number, claim in enumerate(claims, 1):
        if not isinstance(claim, dict):
            yield f"claim {number} must be a table"
            continue
        name = f"claim {claim.get('id', f'number {number}')}"
        yield from (f"{name}: {fault}" for fault in _claim_faults(claim))
        if isinstance(claim.get("id"), str):
            if claim["id"] in seen:
                yield f"{name}: the id stands twice"
            seen.add(claim["id"])


def _claim_faults(claim: dict[str, Any]) -> Iterator[str]:
    yield from (f"unknown key {k!r} (known: {', '.join(CLAIM_KEYS)})" for k in claim if k not in CLAIM_KEYS)
    yield from (f"{k!r} is missing" for k in CLAIM_NEEDS if k not in claim)
    for key in ("id", "statement", "kind", "measure", "section", "evidence", "if_differs", "superseded"):
        if key in claim and (not isinstance(claim[key], str) or not claim[key].strip()):
            yield f"{key!r} must be a text that is not empty"
            return
    if "id" in claim and not _CLAIM_ID.fullmatch(claim["id"]):
        yield "the id must be a letter, then letters, digits, `-` and `_`"
    kinds: tuple[str, ...] = ()
    try:
        kinds = kinds_of(claim.get("kind", "behaviour"))
    except NoVerdict as error:
        yield str(error)
    if "measure" in claim and not _MEASURE.fullmatch(claim["measure"]):
        yield f'measure {claim["measure"]!r} must be "dotted.path:function"'
    if not isinstance(claim.get("args", {}), dict) or "run" in claim.get("args", {}):
        yield "'args' must be a table without the name `run`"
    if "expected" not in claim:
        return
    expected, tolerance = claim["expected"], claim.get("tolerance", 0)
    yield from _bound_faults(expected)
    yield from _evidence_faults(claim, expected)
    yield from _tolerance_faults(expected, tolerance)
    if "ratio" in kinds and not tolerance and _has_plain_number(expected):
        yield "a ratio is never exact: give a tolerance, or a bound (at_most, at_least, between)"


def _evidence_faults(claim: dict[str, Any], expected: Any) -> Iterator[str]:
    if claim.get("evidence", EVIDENCE[0]) not in EVIDENCE:
        yield f"unknown evidence {claim['evidence']!r} (known: {', '.join(EVIDENCE)})"
    if "independent" in claim and claim.get("evidence") != FITTED:
        yield f"'independent' belongs to evidence {FITTED!r}"
    keys = expected if isinstance(expected, dict) and bound_of(expected) is None else {}
    try:
        list(Formatter().parse(claim.get("if_differs", "")))
    except ValueError as error:
        yield f"'if_differs' is no format text: {error}"
    for name in ("independent", "needs_full"):
        named = claim.get(name, [])
        if name == "needs_full" and isinstance(named, bool):
            continue
        if not isinstance(named, list) or not all(any(covers([k], str(n)) for k in keys) for n in named):
            yield f"{name!r} must be a list of keys of 'expected', not {named!r}"


def _bound_faults(expected: Any) -> Iterator[str]:
    if (bound := bound_of(expected)) is None:
        if isinstance(expected, dict):
            if mixed := [k for k in BOUNDS if k in expected]:
                yield f"expected: {mixed[0]!r} must be the only key of its table"
            for value in expected.values():
                yield from _bound_faults(value)
        return
    limit = expected[bound]
    if bound == "absent":
        fine = isinstance(limit, bool)
    elif bound == "between":
        fine = (
            isinstance(limit, list)
            and len(limit) == 2
            and all(map(_is_number, limit))
            and limit[0] <= limit[1]
        )
    else:
        fine = _is_number(limit)
    if not fine:
        yield f"expected.{bound} cannot be {limit!r}"


def _tolerance_faults(expected: Any, tolerance: Any) -> Iterator[str]:
    if _is_number(tolerance):
        if tolerance < 0:
            yield f"tolerance {tolerance!r} must not be negative"
    elif not isinstance(tolerance, dict) or not tolerance:
        yield f"tolerance must be a number, {{abs}} or {{rel}}, or a table of those by key, not {tolerance!r}"
    elif tolerance.keys() <= {"abs", "rel"}:
        if not all(_is_number(v) and v >= 0 for v in tolerance.values()):
            yield f"tolerance {tolerance!r} must hold numbers that are not negative"
    elif not isinstance(expected, dict) or (strange := [k for k in tolerance if k not in expected]):
        named = strange if isinstance(expected, dict) else tolerance
        yield f"tolerance names {', '.join(map(repr, named))}, which expected does not"
    else:
        for key, value in tolerance.items():
            yield from _tolerance_faults(expected[key], value)


def _has_plain_number(expected: Any) -> bool:
    if bound_of(expected) is not None:
        return False
    if isinstance(expected, dict | list):
        return any(map(_has_plain_number, expected.values() if isinstance(expected, dict) else expected))
    return _is_number(expected)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value
