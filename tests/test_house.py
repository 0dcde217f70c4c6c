"""The size of the house: bounds that only go down. `make house` prints the figures beside their targets."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# Lower a bound whenever a figure falls; never raise one.
BOUNDS = {
    "files of the package": 196,
    "lines of the package": 47_600,
    "modules of the fullest folder": 15,
    "lines of the records": 7_500,
    "lines of the tests": 28_600,
    "exception classes": 74,
    "exemptions from the format": 0,
}
TARGETS = {
    "files of the package": 190,
    "lines of the package": 28_000,
    "modules of the fullest folder": 15,
    "lines of the records": 4_500,
    "lines of the tests": 19_000,
    "exception classes": 12,
    "exemptions from the format": 0,
}


def python_files(folder: str) -> list[Path]:
    files = sorted((ROOT / folder).rglob("*.py"))
    return [p for p in files if not {"template", "fixtures"} & set(p.parts)]


def lines_of(files: list[Path]) -> int:
    return sum(len(p.read_text(encoding="utf-8").splitlines()) for p in files)


def exceptions_of(files: list[Path]) -> int:
    """Classes that are exceptions, by their bases' names."""
    bases = {}
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                bases[node.name] = {ast.unparse(b).rpartition(".")[2] for b in node.bases}
    found = {"Exception", "BaseException", "KeyboardInterrupt"}
    while grown := {n for n, b in bases.items() if b & found and n not in found}:
        found |= grown
    return len(found) - 3


def figures() -> dict[str, int]:
    """Each figure by its name."""
    package, records = python_files("workbench"), python_files("records")
    modules = Counter(p.parent for p in package if p.name != "__init__.py")
    marked = [p for p in (*package, *records) if "fmt: skip" in p.read_text(encoding="utf-8")]
    return {
        "files of the package": len(package),
        "lines of the package": lines_of(package),
        "modules of the fullest folder": max(modules.values()),
        "lines of the records": lines_of(records),
        "lines of the tests": lines_of(python_files("tests")),
        "exception classes": exceptions_of(package),
        "exemptions from the format": len(marked),
    }


@pytest.mark.parametrize("name", BOUNDS)
def test_the_house_grows_no_further(name: str) -> None:
    assert figures()[name] <= BOUNDS[name]


if __name__ == "__main__":
    for name, found in figures().items():
        print(f"{name:<30} {found:>7,}   target {TARGETS[name]:>7,}")
