"""Faults that the claims of the shipped records must notice: a claim that cannot fail says nothing.

A fault changes one behaviour of the code by patching. It is noticed if each of its claims gets another judgement
than without it: another verdict, or other parts that differ. A claim that raises notices nothing.
`make faults` puts all of them in; `test_faults.py` the quick ones.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from pytest import MonkeyPatch

from workbench import registry
from workbench.analysis.ledger.run import Run, open_run
from workbench.analysis.ledger.verdict import NoVerdict, differences

MODULES = {"adr-0172": "adr_0172", "adr-0003": "adr_0003", "notes-search": "notes_search"}
SIZE = "tiny"


@dataclass(frozen=True, slots=True)
class Fault:
    """`name` says what is wrong, `put_in` patches it, `claims` are those that must notice it. A `quick` one runs
    with the tests: True with all its claims, or those that need nothing large. `size` is the run's size; `fresh` loads anew what the claims are measured on."""

    name: str
    claims: Sequence[str]
    put_in: Callable[[MonkeyPatch], None]
    quick: bool | tuple[str, ...] = False
    size: str = SIZE
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one claim said: its verdict without a fault and with it."""

    claim: str
    before: str
    after: str
    noticed: bool
    note: str = ""

    def __str__(self) -> str:
        return f"{self.claim} {self.before} → {self.after}" + (
            "" if self.noticed else ", not noticed"
        )


def faults(record: str) -> list[Fault]:
    """The faults of a record, in the order of its module."""
    return import_module(f"faults.{MODULES[record]}").FAULTS


def quick_faults(record: str) -> list[Fault]:
    """The quick faults of a record, each with the claims that are measured quickly."""
    return [f if f.quick is True else replace(f, claims=f.quick) for f in faults(record) if f.quick]


def put_in(
    record: str, chosen: Iterable[Fault], seed: int = 20261111
) -> Iterator[tuple[Fault, list[Outcome]]]:
    """Measure the claims of each fault without it, then with it; what is loaded is shared, what is computed is not."""
    plain: dict[str, Run] = {}
    for fault in chosen:
        base = plain.setdefault(fault.size, open_run(record, size=fault.size, seed=seed))
        before = {c: _judgement(base, c) for c in fault.claims}
        faulty = open_run(record, size=fault.size, seed=seed)
        if not fault.fresh:
            faulty._opened = base._opened
            faulty.inputs.update(base.inputs)
            faulty.shared.update(
                {
                    k: v
                    for k, v in base.shared.items()
                    if isinstance(k, tuple) and k[0] == "collection"
                }
            )
        with MonkeyPatch.context() as patch:
            fault.put_in(patch)
            after = {c: _judgement(faulty, c) for c in fault.claims}
        found = []
        for claim in fault.claims:
            (was, _), (now, note) = before[claim], after[claim]
            noticed = None not in (was, now) and was != now
            found.append(Outcome(claim, str(was and was[0]), str(now and now[0]), noticed, note))
        yield fault, found


def _judgement(run: Run, claim: str) -> tuple[tuple[str, tuple[str, ...]] | None, str]:
    """The verdict with the paths that differ, None where the claim raised; and the row's note."""
    row = run.row(claim) if claim in run._rows else run.measure(claim)
    if row.verdict is None:
        return None, row.note
    try:
        off = tuple(d.path for d in differences(row.expected, row.measured, row.tolerance))
    except NoVerdict:
        off = ()
    return (row.verdict, off), row.note


def stage(
    patch: MonkeyPatch,
    kind: str,
    name: str,
    change: Callable[[Callable[..., Any]], Callable[..., Any]],
) -> None:
    """Replace a registered function by `change(function)`; its parameters stay declared."""
    entry = registry.lookup(kind, name)
    function = change(entry.function)
    function.__signature__ = inspect.signature(entry.function)  # type: ignore[attr-defined]
    patch.setitem(registry._REGISTRY[kind], name, registry.Entry(kind, name, function, entry.traits))
