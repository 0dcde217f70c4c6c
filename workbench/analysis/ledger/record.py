"""A decision record as data: its claims, each with what is expected and the function that measures it."""

from __future__ import annotations

import importlib
import inspect
import re
import string
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Formatter
from typing import Any

from workbench.analysis.canonical import plain
from workbench.analysis.ledger.verdict import (
    BOUNDS,
    EVIDENCE,
    FITTED,
    MEASURED,
    NoVerdict,
    bound_of,
    covers,
    kinds_of,
    unknown_keys,
)
from workbench.errors import WorkbenchError
from workbench.settings import RECORD_FILE, RECORDS, project_root
from workbench.types import content_hash

# ---- The format of a record file: every fault in it, in words ----

_RECORD_ID = re.compile(r"[a-z][a-z0-9-]*")
_CLAIM_ID = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_MEASURE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")

RECORD_KEYS = {
    "title": str,
    "text": str,
    "notebook": str,
    "superseded": str,
    "parameters": dict,
    "claims": list,
}
OPTIONAL = ("parameters", "superseded")
CLAIM_KEYS = (
    "id",
    "statement",
    "kind",
    "expected",
    "tolerance",
    "measure",
    "args",
    "section",
    "evidence",
    "independent",
    "needs_full",
    "if_differs",
    "superseded",
)
CLAIM_NEEDS = ("id", "statement", "kind", "expected", "measure")
_TYPE_NAMES = {str: "a text that is not empty", dict: "a table", list: "a list"}


def faults(record_id: str, data: dict[str, Any]) -> Iterator[str]:
    """All faults of a parsed record file; none where it is right."""
    if not _RECORD_ID.fullmatch(record_id):
        yield f"the folder's name {record_id!r} must be small letters, digits and `_`, a letter first"
    yield from (
        f"unknown key {k!r} (known: {', '.join(RECORD_KEYS)})" for k in data if k not in RECORD_KEYS
    )
    for key, kind in RECORD_KEYS.items():
        if key not in data and key not in OPTIONAL:
            yield f"{key!r} is missing"
        elif key in data and (
            not isinstance(data[key], kind) or (kind is str and not data[key].strip())
        ):
            yield f"{key!r} must be {_TYPE_NAMES[kind]}"
    if isinstance(data.get("notebook"), str) and (
        Path(data["notebook"]).is_absolute() or ".." in data["notebook"]
    ):
        yield f"'notebook' must be a path inside the project, not {data['notebook']!r}"
    if isinstance(data.get("parameters"), dict):
        yield from (
            f"parameters.{k} must be a text"
            for k, v in data["parameters"].items()
            if not isinstance(v, str)
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
    yield from (
        f"unknown key {k!r} (known: {', '.join(CLAIM_KEYS)})" for k in claim if k not in CLAIM_KEYS
    )
    yield from (f"{k!r} is missing" for k in CLAIM_NEEDS if k not in claim)
    for key in (
        "id",
        "statement",
        "kind",
        "measure",
        "section",
        "evidence",
        "if_differs",
        "superseded",
    ):
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
        if not isinstance(named, list) or not all(
            any(covers([k], str(n)) for k in keys) for n in named
        ):
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
        return any(
            map(_has_plain_number, expected.values() if isinstance(expected, dict) else expected)
        )
    return _is_number(expected)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value


# ---- A decision record as data: its claims, each with what is expected and the function tha ----


class BadRecord(WorkbenchError):
    """A record file that is missing or does not follow the format; every fault is listed, with its claim."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One figure of a record. `expected` is JSON data or a bound, `tolerance` a number, {abs}, {rel} or by
    key (see verdict.differences); `measure` is "dotted.path:function", called as f(run, **args);
    `section` is the part of the notebook that measures it, "" for none. `evidence` is what a verdict rests on
    (see verdict.EVIDENCE); `independent` are the keys of `expected` that a fitted replica was not fitted to.
    `needs_full` are paths of `expected` that only a run of full size decides, "" for all. `if_differs` is the
    sentence that explains a difference, with `{key}` for measured values. `superseded` names what replaced it."""

    id: str
    statement: str
    kind: str
    expected: Any
    tolerance: Any
    measure: str
    args: Mapping[str, Any]
    section: str = ""
    evidence: str = MEASURED
    independent: tuple[str, ...] = ()
    needs_full: tuple[str, ...] = ()
    if_differs: str = ""
    superseded: str = ""

    def function(self, root: Path) -> Callable[..., Any]:
        """The measure, importable from the installed packages or from the project's root.

        Raises BadRecord where it is not there, does not take `run` and these args, or declares its keys (see
        verdict.returns) and `expected` or `if_differs` names another one.
        """
        module_name, _, name = self.measure.partition(":")
        if str(root) not in sys.path:
            sys.path.insert(0, str(root))
        try:
            found = getattr(importlib.import_module(module_name), name)
        except (ImportError, AttributeError) as error:
            raise BadRecord(
                f"no measure {self.measure}: {error}", where=f"claim {self.id}"
            ) from error
        try:
            inspect.signature(found).bind(None, **self.args)
        except (TypeError, ValueError) as error:
            raise BadRecord(
                f"{self.measure} cannot be called as f(run, **args): {error}",
                where=f"claim {self.id}",
            ) from error
        keys = getattr(found, "keys", None)
        if unknown := [
            *unknown_keys(self.expected, keys),
            *unknown_keys(_named(self.if_differs), keys),
        ]:
            raise BadRecord(
                "; ".join(unknown), where=f"claim {self.id}, measured by {self.measure}"
            )
        return found

    def explanation(self, value: Any) -> str:
        """`if_differs` with the measured values in it. Raises BadRecord where it names one that is not there."""
        try:
            return self.if_differs.format_map(
                value if isinstance(value, Mapping) else {"value": value}
            )
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise BadRecord(
                f"if_differs cannot be filled: {error!r}", where=f"claim {self.id}"
            ) from error


@dataclass(frozen=True, slots=True)
class Record:
    """A decision record that can be reproduced. `notebook` is relative to `root`; `parameters` explains the
    notebook's parameters by name; claims keep the order of the file. `hash` is that of the file's content."""

    id: str
    title: str
    text: str
    notebook: str
    parameters: Mapping[str, str]
    claims: tuple[Claim, ...]
    root: Path
    hash: str

    def claim(self, claim_id: str) -> Claim:
        """The claim of that id. Raises BadRecord that lists the known ones."""
        for claim in self.claims:
            if claim.id == claim_id:
                return claim
        raise BadRecord(
            f"no claim {claim_id!r}",
            where=self.id,
            do=f"Known: {', '.join(c.id for c in self.claims)}",
        )


def _named(text: str) -> dict[str, None]:
    """The measured keys that a format text names."""
    fields = (
        re.split(r"[.\[]", name)[0] for _, name, _, _ in string.Formatter().parse(text) if name
    )
    return dict.fromkeys(f for f in fields if f != "value")


def record_ids(root: Path | None = None) -> list[str]:
    """The ids of all records of a project, by name; a folder `my_record` is the record `my-record`."""
    files = ((root or project_root()) / RECORDS).glob(f"*/{RECORD_FILE}")
    return sorted(f.parent.name.replace("_", "-") for f in files)


def record_folder(record_id: str) -> Path:
    """The folder of a record relative to the project's root: its claims, measures and story."""
    return RECORDS / record_id.replace("-", "_")


def load_record(record_id: str, root: Path | None = None) -> Record:
    """Read `records/<id>/record.toml` and check it. Raises BadRecord."""
    root = root or project_root()
    known = record_ids(root)
    if record_id not in known:
        raise BadRecord(
            f"no record {record_id!r}",
            where=str(RECORDS),
            do=f"Known: {', '.join(known) or 'none'}",
        )
    file = record_folder(record_id) / RECORD_FILE
    try:
        data = tomllib.loads((root / file).read_text(encoding="utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadRecord(f"not TOML: {error}", where=str(file)) from error
    if found := list(faults(record_id, data)):
        count = f"{len(found)} faults: " if len(found) > 1 else ""
        raise BadRecord(count + "; ".join(found), where=str(file))
    return Record(
        record_id,
        data["title"].strip(),
        data["text"].strip(),
        data["notebook"],
        data.get("parameters", {}),
        tuple(_claim(c, data) for c in data["claims"]),
        root,
        content_hash(plain(data)),
    )


def _claim(table: dict[str, Any], record: dict[str, Any]) -> Claim:
    needs = table.get("needs_full", ())
    return Claim(
        table["id"],
        table["statement"].strip(),
        table["kind"],
        plain(table["expected"]),
        plain(table.get("tolerance", 0)),
        table["measure"],
        plain(table.get("args", {})),
        table.get("section", ""),
        table.get("evidence", MEASURED),
        tuple(table.get("independent", ())),
        (("",) if needs else ()) if isinstance(needs, bool) else tuple(needs),
        table.get("if_differs", "").strip(),
        table.get("superseded", record.get("superseded", "")),
    )
