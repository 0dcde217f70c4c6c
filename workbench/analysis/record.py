"""A decision record as data: its claims, each with what is expected and the function that measures it."""

from __future__ import annotations

import importlib
import inspect
import re
import string
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.analysis.canonical import plain
from workbench.analysis.record_format import faults
from workbench.analysis.verdict import MEASURED, unknown_keys
from workbench.errors import WorkbenchError
from workbench.settings import RECORD_FILE, RECORDS, project_root
from workbench.types import content_hash


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
            raise BadRecord(f"no measure {self.measure}: {error}", where=f"claim {self.id}") from error
        try:
            inspect.signature(found).bind(None, **self.args)
        except (TypeError, ValueError) as error:
            raise BadRecord(
                f"{self.measure} cannot be called as f(run, **args): {error}", where=f"claim {self.id}"
            ) from error
        keys = getattr(found, "keys", None)
        if unknown := [*unknown_keys(self.expected, keys), *unknown_keys(_named(self.if_differs), keys)]:
            raise BadRecord("; ".join(unknown), where=f"claim {self.id}, measured by {self.measure}")
        return found

    def explanation(self, value: Any) -> str:
        """`if_differs` with the measured values in it. Raises BadRecord where it names one that is not there."""
        try:
            return self.if_differs.format_map(value if isinstance(value, Mapping) else {"value": value})
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise BadRecord(f"if_differs cannot be filled: {error!r}", where=f"claim {self.id}") from error


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
            f"no claim {claim_id!r}", where=self.id, do=f"Known: {', '.join(c.id for c in self.claims)}"
        )


def _named(text: str) -> dict[str, None]:
    """The measured keys that a format text names."""
    fields = (re.split(r"[.\[]", name)[0] for _, name, _, _ in string.Formatter().parse(text) if name)
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
            f"no record {record_id!r}", where=str(RECORDS), do=f"Known: {', '.join(known) or 'none'}"
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
        record_id, data["title"].strip(), data["text"].strip(), data["notebook"], data.get("parameters", {}),
        tuple(_claim(c, data) for c in data["claims"]), root, content_hash(plain(data)),
    )  # fmt: skip


def _claim(table: dict[str, Any], record: dict[str, Any]) -> Claim:
    needs = table.get("needs_full", ())
    return Claim(
        table["id"], table["statement"].strip(), table["kind"], plain(table["expected"]),
        plain(table.get("tolerance", 0)), table["measure"], plain(table.get("args", {})),
        table.get("section", ""), table.get("evidence", MEASURED), tuple(table.get("independent", ())),
        (("",) if needs else ()) if isinstance(needs, bool) else tuple(needs),
        table.get("if_differs", "").strip(), table.get("superseded", record.get("superseded", "")),
    )  # fmt: skip
