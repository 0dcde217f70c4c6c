"""Benchmarks by name, their rows, and how rows become `results.json` and a table.

A benchmark is a function that yields rows and is registered once, in any module of this package:

    @benchmark("search")
    def search() -> Iterator[Row]:
        yield Row("search/adr_0172", 1.2, "×", at_most(1.5), against="its engine calls", n=200)

Its rows are named `<benchmark>/<what>`, so that running it alone replaces its own rows and no others.
"""

from __future__ import annotations

import json
import operator
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from workbench.analysis.canonical import canonical, write_text
from workbench.errors import BadParameter, WorkbenchError

HERE = Path(__file__).parent
RESULTS = "results.json"
TABLE = "README.md"

# How often two sides of a ratio are run in turn: odd, so that the median is a measured one.
TURNS = 5

_RELATIONS = {"<=": operator.le, ">=": operator.ge}
_COLUMNS = ("name", "value", "limit", "unit", "against", "n", "machine")
_SKIPPED = ("harness", "__main__")


class ResultsDamaged(WorkbenchError):
    """The results of earlier runs cannot be read, so they cannot be added to."""


@dataclass(frozen=True, slots=True)
class Limit:
    """`<= bound` or `>= bound`: what a value must keep to."""

    relation: str
    bound: float

    def __str__(self) -> str:
        return f"{self.relation} {self.bound:g}"

    def kept(self, value: float) -> bool:
        """Whether the value is within the limit; never for NaN."""
        return _RELATIONS[self.relation](value, self.bound)

    @classmethod
    def parse(cls, text: str) -> Limit:
        relation, _, bound = text.partition(" ")
        if relation not in _RELATIONS:
            raise BadParameter(f"{text!r} is not a limit", do="Write <= 1.5 or >= 8")
        return cls(relation, float(bound))


def at_most(bound: float) -> Limit:
    return Limit("<=", bound)


def at_least(bound: float) -> Limit:
    return Limit(">=", bound)


@cache
def machine() -> str:
    """Processor, cores, system and Python in one line, without the machine's name."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        models = [
            line.partition(":")[2].strip() for line in info.read_text().splitlines() if "model name" in line
        ]
        cpu = models[0] if models else cpu
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{cpu}, {cores} cores, {platform.system()}, Python {platform.python_version()}"


@dataclass(frozen=True, slots=True)
class Row:
    """One measured value. `against` says what it is compared with, `n` how many measurements made it."""

    name: str
    value: float
    unit: str
    limit: Limit | None = None
    against: str = ""
    n: int = 1
    machine: str = ""

    @property
    def missed(self) -> bool:
        return self.limit is not None and not self.limit.kept(self.value)

    @property
    def benchmark(self) -> str:
        return self.name.partition("/")[0]

    def to_dict(self) -> dict[str, object]:
        """The row with its columns in order; the limit as text."""
        row = {column: getattr(self, column) for column in _COLUMNS}
        return {**row, "limit": None if self.limit is None else str(self.limit)}

    @classmethod
    def of(cls, found: dict) -> Row:
        limit = found["limit"]
        return cls(**{**found, "limit": None if limit is None else Limit.parse(limit)})


Benchmark = Callable[[], Iterable[Row]]
_BENCHMARKS: dict[str, Benchmark] = {}


def benchmark(name: str) -> Callable[[Benchmark], Benchmark]:
    """Register a function that yields rows named `<name>/<what>`."""

    def wrap(function: Benchmark) -> Benchmark:
        if name in _BENCHMARKS or "/" in name:
            raise BadParameter(f"the benchmark name {name!r} is taken or holds a slash")
        _BENCHMARKS[name] = function
        return function

    return wrap


def benchmarks() -> dict[str, Benchmark]:
    """Every benchmark of this package by name, sorted."""
    for module in iter_modules([str(HERE)]):
        if module.name not in _SKIPPED:
            import_module(f"benchmarks.{module.name}")
    return dict(sorted(_BENCHMARKS.items()))


def measure(names: Sequence[str] = ()) -> Iterator[tuple[str, list[Row] | Exception]]:
    """Run benchmarks (all without names) and yield each one's rows, or the error that ended it.

    Raises BadParameter for an unknown name before any is run.
    """
    known = benchmarks()
    for name in names:
        if name not in known:
            raise BadParameter(f"unknown benchmark {name!r}", do=f"There are: {', '.join(known) or 'none'}")
    for name in names or known:
        try:
            yield name, [_own(name, row) for row in known[name]()]
        except Exception as error:  # one that fails must not take the others' rows along
            yield name, error


def merged(earlier: Iterable[Row], measured: dict[str, list[Row]], known: Iterable[str]) -> list[Row]:
    """All rows by name: the new ones in place of their benchmark's earlier ones (none where it failed).

    Rows of benchmarks that are gone are dropped.
    """
    kept = [row for row in earlier if row.benchmark in set(known) - set(measured)]
    return sorted([*kept, *(row for rows in measured.values() for row in rows)], key=lambda row: row.name)


def read_results(folder: Path = HERE) -> list[Row]:
    """The rows of earlier runs; none where there was none. Raises ResultsDamaged."""
    path = folder / RESULTS
    if not path.exists():
        return []
    try:
        return [Row.of(found) for found in json.loads(path.read_text(encoding="utf-8"))]
    except (ValueError, TypeError, KeyError, BadParameter) as error:
        raise ResultsDamaged(
            f"not a list of rows: {error}", where=str(path), do="Remove it and run again"
        ) from error


def write_results(rows: Sequence[Row], folder: Path = HERE) -> None:
    """Write results.json and the table made from it, each replaced whole."""
    write_text(folder / RESULTS, canonical([row.to_dict() for row in rows]))
    write_text(folder / TABLE, table(rows))


def table(rows: Sequence[Row]) -> str:
    """The rows as a Markdown page; a value that misses its limit is marked."""
    lines = [
        "# Benchmarks", "",
        "Written by `make bench` from `results.json`. Ratios are of one run on one machine; a value in bold "
        "misses its limit.", "",
        "| what | value | limit | against | n | machine |", "|---|---:|---:|---|---:|---:|",
    ]  # fmt: skip
    machines = sorted({row.machine for row in rows})
    for row in rows:
        value = f"{row.value:.3g} {row.unit}".strip()
        shown = f"**{value}, missed**" if row.missed else value
        lines.append(f"| {row.name} | {shown} | {row.limit or ''} | {row.against} | {row.n} "
                     f"| {machines.index(row.machine) + 1} |")  # fmt: skip
    return "\n".join([*lines, "", *(f"{i}. {m}" for i, m in enumerate(machines, 1))]) + "\n"


def ratio(
    ours: Callable[[], object], theirs: Callable[[], object], *, turns: int = TURNS,
    clock: Callable[[], float] = time.perf_counter,
) -> float:  # fmt: skip
    """The median over turns of ours / theirs, each turn running both, in alternating order: what else the
    machine does meets both sides alike."""
    return statistics.median(_turn(ours, theirs, clock, swap=bool(turn % 2)) for turn in range(turns))


def _turn(
    ours: Callable[[], object], theirs: Callable[[], object], clock: Callable[[], float], *, swap: bool
) -> float:
    spent = {}
    for name, run in (("theirs", theirs), ("ours", ours)) if swap else (("ours", ours), ("theirs", theirs)):
        start = clock()
        run()
        spent[name] = clock() - start
    return spent["ours"] / spent["theirs"]


def _own(name: str, row: Row) -> Row:
    if row.benchmark != name or "/" not in row.name:
        raise BadParameter(f"the benchmark {name!r} yielded a row named {row.name!r}", do=f"Name it {name}/…")
    return Row(row.name, float(row.value), row.unit, row.limit, row.against, row.n, row.machine or machine())
